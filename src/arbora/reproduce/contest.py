"""A contest of learners: the same parser trained by each, on the same treebanks, tested once.

For each language and system: every combination of the learner's grid is trained on all but the last part of
the training data and judged on that part after each epoch; the best combination and epoch are trained anew on
all training data, and that parser's trees of the test set are scored. The test set chooses nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

from arbora.config import to_dict
from arbora.data import treebank
from arbora.data.columns import Columns, Format
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.evaluate import evaluate
from arbora.interfaces import Learner, Roots
from arbora.parser import PrunerSettings
from arbora.registry import features, learners
from arbora.reproduce.courses import Course, Floats, Point, Which, as_columns, hold_out, read_sentences
from arbora.reproduce.study import Journal, Options, Watcher, compute
from arbora.scorers import GraphSettings

Value: TypeAlias = int | float | str
Parameters: TypeAlias = dict[str, Value]


INVENTED = 400, 100
"""Sentences to learn from and to test on, where they are invented and nothing else is said."""


BEHIND = 1.0
"""Points of UAS."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """A treebank; files are relative to the folder of treebanks. Without files it is invented."""

    title: str
    train: str = ""
    test: str = ""
    published: bool = False
    """Whether published scores are of this very test set."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A row of the table: a learner, and which of its weights are used."""

    title: str
    learner: str
    which: Which
    published: Mapping[str, float]
    """The paper's UAS, by language."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """The values of a learner's parameters that are tried, and for how many epochs."""

    grid: Mapping[str, Sequence[Value]]
    epochs: int
    fixed: Mapping[str, Value] = field(default_factory=dict)
    converges: bool = False
    """Ends by itself: the last epoch counts, not the one that is best on what was held out."""
    trial: int | None = None
    """After so many epochs, a combination is given up that is a point behind the best before it was then."""

    def __iter__(self) -> Iterator[Parameters]:
        for values in product(*self.grid.values()):
            yield {**self.fixed, **dict(zip(self.grid, values, strict=True))}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all systems of a contest share."""

    order: Literal[1, 2] = 2
    tree_bits: int = 22
    pruner: PrunerSettings | None = None
    held_out: float = 0.1
    sentences: tuple[int | None, int | None] = (None, None)
    """Of the training and test data, the first so many; None: all."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was best on the held-out part."""

    parameters: Parameters
    epochs: int
    uas: float
    points: Sequence[Point]
    """Of its whole course."""

    @property
    def words(self) -> str:
        """The parameters in few words."""
        return in_words(self.parameters)


def in_words(parameters: Mapping[str, Value]) -> str:
    """`name=value` with commas."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
    )


class Contest:
    """One language's contest."""

    def __init__(
        self,
        name: str,
        language: Language,
        rules: Rules,
        searches: Mapping[str, Search],
        options: Options,
        journal: Journal,
        watcher: Watcher,
    ) -> None:
        self.name = name
        self.language = language
        self.rules = rules
        self.searches = searches
        self.options = options
        self.journal = journal
        self.watcher = watcher
        self.train, self.test, self.format = self._read()

    def _read(self) -> tuple[list[Sentence], list[Sentence], Format]:
        most_train, most_test = self.rules.sentences
        if not self.language.train:
            counts = most_train or INVENTED[0], most_test or INVENTED[1]
            train, test = (list(generate(count, seed=seed)) for seed, count in enumerate(counts, start=1))
            return train, test, "conllu"
        train, form = read_sentences(str(self._path(self.language.train)), most_train)
        test, _ = read_sentences(str(self._path(self.language.test)), most_test)
        return train, test, form

    def _path(self, name: str) -> Path:
        if self.options.data is None:
            raise InputError(
                f"{self.language.title} needs {name}; give the folder of treebanks with --data DIR or in "
                "the environment as ARBORA_DATA"
            )
        path = self.options.data / name
        if not path.is_file():
            raise InputError(
                f"{self.language.title} needs {name} in {self.options.data}; give the folder of treebanks "
                "with --data DIR, or choose among others with --languages"
            )
        return path

    # Courses; what is remembered needs none

    @cached_property
    def _parts(self) -> tuple[Columns, Columns]:
        kept, held_out = hold_out(self.train, self.rules.held_out)
        return as_columns(kept, self.format), as_columns(held_out, self.format)

    @cached_property
    def _whole(self) -> tuple[Columns, Columns]:
        return as_columns(self.train, self.format), as_columns(self.test, self.format)

    @cached_property
    def _choosing(self) -> Course:
        return self._course(*self._parts)

    @cached_property
    def _testing(self) -> Course:
        return self._course(*self._whole)

    @cached_property
    def settings(self) -> GraphSettings:
        """Of the parser: as many roots as the training data asks for."""
        roots: Roots = "single" if all(sentence.heads.count(0) == 1 for sentence in self.train) else "multi"
        return GraphSettings(
            trees="nonprojective",
            roots=roots,
            order=self.rules.order,
            grandparents=False,
            labels="none",
            tree_bits=self.rules.tree_bits,
        )

    def _course(self, train: Columns, judged: Columns) -> Course:
        options = self.options
        return Course(
            train, judged, self.settings, self.rules.pruner, seed=options.seed, threads=options.threads
        )

    def _inputs(self, data: tuple[Columns, Columns], learner: Learner, **more: Any) -> dict[str, Any]:
        """All that a cell depends on."""
        pruner = self.rules.pruner
        sets = [self.settings.features, *([] if pruner is None else [pruner.features])]
        templates = repr([features.create(name).compiled for name in sets])
        return {
            "train": zlib.crc32(data[0].to_bytes()),
            "judged": zlib.crc32(data[1].to_bytes()),
            "settings": to_dict(self.settings),
            "pruner": None if pruner is None else to_dict(pruner),
            "templates": zlib.crc32(templates.encode()),
            "seed": self.options.seed,
            "learner": learner.name,
            "parameters": learner.settings(),
            **more,
        }

    def _learner(self, name: str, parameters: Mapping[str, Value], epochs: int) -> Learner:
        known = {parameter.name for parameter in learners.create(name).parameters()}
        seed = {"seed": self.options.seed} if "seed" in known else {}
        return learners.create(name, **{**parameters, "epochs": epochs, **seed})

    # Cells

    def curves(self, learner_name: str) -> list[tuple[Parameters, list[Point]]]:
        """The course of every combination of a learner's grid, on the held-out part."""
        search = self.searches[learner_name]
        found: list[tuple[Parameters, list[Point]]] = []
        for parameters in search:
            learner = self._learner(learner_name, parameters, search.epochs)
            needed = _needed([points for _, points in found], search.trial)

            def work(learner: Learner = learner, needed: float | None = needed) -> dict[str, Any]:
                def hopeless(point: Point) -> bool:
                    return needed is not None and point.epoch == search.trial and point.best < needed

                ran = self._choosing.run(learner, hopeless=hopeless, asked=self.watcher.asked)
                return {"points": [point.to_json() for point in ran.points]}

            result = compute(
                self.journal,
                self.watcher,
                f"{self.name}, choosing: {learner_name} {in_words(parameters)}",
                self._inputs(self._parts, learner, **({} if needed is None else {"needed": needed})),
                search.epochs * len(self._parts[0]),
                work,
                lambda result: "held-out UAS " + _best(result["points"]),
            )
            found.append((parameters, [Point(**point) for point in result["points"]]))
        return found

    def choose(self, system: System) -> Choice:
        """The best combination of the learner's grid and its best epoch; ties go to the first."""
        converges = self.searches[system.learner].converges
        best: Choice | None = None
        for parameters, points in self.curves(system.learner):
            # Rounded, so that the same data choose alike where the last bits differ.
            point = points[-1] if converges else max(points, key=lambda p: round(getattr(p, system.which), 6))
            uas = getattr(point, system.which)
            if best is None or round(uas, 6) > round(best.uas, 6):
                best = Choice(parameters, point.epoch, uas, points)
        assert best is not None
        return best

    def tested(self, name: str, system: System, choice: Choice) -> dict[str, Any]:
        """The chosen parser's scores on the test set: UAS, and counts per sentence."""
        learner = self._learner(system.learner, choice.parameters, choice.epochs)

        def work() -> dict[str, Any]:
            ran = self._testing.run(learner, judge=False, asked=self.watcher.asked)
            return {**self._scored(name, getattr(ran, system.which)), "seconds": ran.seconds}

        return compute(
            self.journal,
            self.watcher,
            f"{self.name}, testing: {name}",
            self._inputs(self._whole, learner, which=system.which),
            choice.epochs * len(self.train),
            work,
            lambda result: f"test UAS {result['uas']:.2f} with {choice.words}, {choice.epochs} epochs",
        )

    def _scored(self, name: str, weights: Floats) -> dict[str, Any]:
        """Parse the test set, keep the trees for whoever wants to score them again, and count."""
        heads, at = self._testing.heads(weights).tolist(), 0
        predicted = []
        for sentence in self.test:
            end = at + len(sentence)
            predicted.append(sentence.with_tree(Tree.from_heads(heads[at:end], ["_"] * len(sentence))))
            at = end
        scores = evaluate(self.test, predicted, punctuation="form").conllx
        folder = self.options.output / "predictions"
        folder.mkdir(parents=True, exist_ok=True)
        treebank.write(predicted, folder / f"{self.name}-{name}.{self.format}")
        counts = scores.per_sentence
        return {"uas": scores.uas, "tokens": counts.tokens.tolist(), "heads": counts.heads.tolist()}


def _needed(courses: Sequence[Sequence[Point]], trial: int | None) -> float | None:
    """The UAS that a further course must have after `trial` epochs; None: any."""
    reached = [point.best for course in courses for point in course if point.epoch == trial]
    return round(max(reached) - BEHIND, 6) if reached else None


def _best(points: Sequence[Mapping[str, Any]]) -> str:
    """The best of a course, of both kinds of weights."""
    tops = [max(points, key=lambda point: point[which]) for which in ("averaged", "last")]
    shown = [
        f"{top[which]:.2f} ({which}, epoch {top['epoch']})"
        for which, top in zip(("averaged", "last"), tops, strict=True)
    ]
    return ", ".join(shown)
