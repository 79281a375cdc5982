"""A contest of learners: the same parser trained by each, on the same treebanks, tested once.

For each language and system: every combination of the learner's grid is trained on all but the last part of
the training data and judged on that part after each epoch; the best combination and epoch are trained anew on
all training data, and that parser's trees of the test set are scored. The test set chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from arbora.data.columns import Columns
from arbora.interfaces import Learner, Progress
from arbora.reproduce.courses import Course, Point, Which, as_columns, hold_out, inputs
from arbora.reproduce.languages import Limits, Material
from arbora.reproduce.search import Parameters, Search, in_words, make_learner, points_needed
from arbora.reproduce.study import Journal, Watcher, compute
from arbora.scorers import GraphSettings
from arbora.search.pruner import PrunerSettings


@dataclass(frozen=True, kw_only=True)
class System:
    """A row of the table: a learner, and which of its weights are used."""

    title: str
    learner: str
    which: Which
    published: Mapping[str, float]
    """The paper's UAS, by language."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all systems of a contest share."""

    order: Literal[1, 2] = 2
    tree_bits: int = 22
    pruner: PrunerSettings | None = None
    held_out: float = 0.1
    sentences: Limits = (None, None)


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


class Contest:
    """One language's contest."""

    def __init__(
        self,
        material: Material,
        rules: Rules,
        searches: Mapping[str, Search],
        journal: Journal,
        watcher: Watcher,
    ) -> None:
        self.material = material
        self.name = material.name
        self.options = material.options
        self.rules = rules
        self.searches = searches
        self.journal = journal
        self.watcher = watcher

    # Courses; what is remembered needs none

    @cached_property
    def _parts(self) -> tuple[Columns, Columns]:
        kept, held_out = hold_out(self.material.train, self.rules.held_out)
        return as_columns(kept, self.material.format), as_columns(held_out, self.material.format)

    @cached_property
    def _whole(self) -> tuple[Columns, Columns]:
        material = self.material
        return as_columns(material.train, material.format), as_columns(material.test, material.format)

    @cached_property
    def _choosing(self) -> Course:
        return self._course(*self._parts)

    @cached_property
    def _testing(self) -> Course:
        return self._course(*self._whole)

    @cached_property
    def settings(self) -> GraphSettings:
        """Of the parser: as many roots as the training data asks for."""
        return GraphSettings(
            trees="nonprojective",
            roots=self.material.roots,
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
        return inputs(data, self.settings, self.rules.pruner, learner, self.options.seed, **more)

    # Cells

    def curves(self, learner_name: str) -> list[tuple[Parameters, list[Point]]]:
        """The course of every combination of a learner's grid, on the held-out part."""
        search = self.searches[learner_name]
        found: list[tuple[Parameters, list[Point]]] = []
        for parameters in search:
            learner = make_learner(learner_name, parameters, search.epochs, self.options.seed)
            needed = points_needed([points for _, points in found], search.trial)

            def work(learner: Learner = learner, needed: float | None = needed) -> dict[str, Any]:
                points: list[Point] = []

                def note(progress: Progress, seconds: float) -> None:
                    points.append(self._choosing.point(progress, seconds))
                    search.give_up(points[-1], needed)

                self._choosing.run(learner, note=note, asked=self.watcher.asked)
                return {"points": [point.to_json() for point in points]}

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
        learner = make_learner(system.learner, choice.parameters, choice.epochs, self.options.seed)

        def work() -> dict[str, Any]:
            ran = self._testing.run(learner, asked=self.watcher.asked)
            heads = self._testing.heads(getattr(ran, system.which))
            return {**self.material.scored(name, heads), "seconds": ran.seconds}

        return compute(
            self.journal,
            self.watcher,
            f"{self.name}, testing: {name}",
            self._inputs(self._whole, learner, which=system.which),
            choice.epochs * len(self.material.train),
            work,
            lambda result: f"test UAS {result['uas']:.2f} with {choice.words}, {choice.epochs} epochs",
        )


def _best(points: Sequence[Mapping[str, Any]]) -> str:
    """The best of a course, of both kinds of weights."""
    tops = [max(points, key=lambda point: point[which]) for which in ("averaged", "last")]
    shown = [
        f"{top[which]:.2f} ({which}, epoch {top['epoch']})"
        for which, top in zip(("averaged", "last"), tops, strict=True)
    ]
    return ", ".join(shown)
