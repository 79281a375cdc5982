"""A contest of learners and of the trees they train over, on the same treebank, tested once.

For each learner, and for projective and non-projective training: every combination of the learner's grid is
trained and judged on dev after each epoch, a non-projective model over both kinds of trees. The weights of
the best combination, epoch and kind of trees then parse the test set. Nothing is trained anew on more data,
and the test set chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from arbora.data.columns import Columns
from arbora.interfaces import Learner, Progress, Trees
from arbora.reproduce.courses import Course, Floats, as_columns, checksum, inputs
from arbora.reproduce.languages import Limits, Material, Tested
from arbora.reproduce.search import Parameters, Search, in_words, make_learner, points_needed
from arbora.reproduce.study import Journal, Watcher, compute
from arbora.scorers import GraphSettings
from arbora.search.pruner import PrunerSettings


@dataclass(frozen=True, kw_only=True)
class FamilyRules:
    """What all trainings of a contest share."""

    tree_bits: int = 22
    pruner: PrunerSettings | None = None
    held_out: float = 0.1
    """The share of training data that takes the place of dev where there is none."""
    sentences: Limits = (None, None)


@dataclass(frozen=True, slots=True)
class Judged:
    """How good the weights were on dev after an epoch."""

    epoch: int
    seconds: float
    """Processor time of learning since the first epoch began; judging is not in it."""
    uas: dict[Trees, float]
    """By the trees that were parsed, in percent; those of training first."""
    measures: dict[str, float]
    """What the learner itself reports."""

    @property
    def best(self) -> float:
        """The better UAS."""
        return max(self.uas.values())

    @property
    def trees(self) -> Trees:
        """The trees with the better UAS; of equals, those of training. The last bits do not choose."""
        return max(self.uas, key=lambda trees: round(self.uas[trees], 6))

    def to_json(self) -> dict[str, Any]:
        """The fields by name; the inverse is `Judged(**...)`."""
        return {"epoch": self.epoch, "seconds": self.seconds, "uas": self.uas, "measures": self.measures}


@dataclass(frozen=True, slots=True)
class Choice:
    """What was best on dev."""

    parameters: Parameters
    epoch: int
    trees: Trees
    """To parse."""
    uas: float
    seconds: float
    """Processor time of learning, up to that epoch."""

    @property
    def words(self) -> str:
        """The parameters in few words."""
        return in_words(self.parameters) or "-"


@dataclass(frozen=True, slots=True)
class Kept:
    """The best weights of a learner so far, so that they need not be learned again to be tested."""

    settings: dict[str, Any]
    """Of the learner, with the number of the epoch as its last."""
    uas: float
    weights: Floats


@dataclass(frozen=True, kw_only=True)
class Result(Tested):
    """A learner, trained over one kind of trees, on one language."""

    choice: Choice


class FamiliesContest:
    """One language's contest."""

    def __init__(
        self,
        material: Material,
        rules: FamilyRules,
        searches: Mapping[str, Search],
        journal: Journal,
        watcher: Watcher,
    ) -> None:
        self.material = material
        self.rules = rules
        self.searches = searches
        self.options = material.options
        self.journal = journal
        self.watcher = watcher
        self._course = cache(self._make_course)
        self._kept: dict[tuple[str, Trees], Kept] = {}

    # Courses; what is remembered needs none

    @cached_property
    def _data(self) -> tuple[Columns, Columns]:
        train, dev = self.material.with_dev(self.rules.held_out)
        return as_columns(train, self.material.format), as_columns(dev, self.material.format)

    @cached_property
    def _test(self) -> Columns:
        return as_columns(self.material.test, self.material.format)

    def settings(self, trees: Trees) -> GraphSettings:
        """Of the parser: first order, as many roots as the training data asks for."""
        return GraphSettings(
            trees=trees,
            roots=self.material.roots,
            order=1,
            grandparents=False,
            labels="none",
            tree_bits=self.rules.tree_bits,
        )

    def _make_course(self, trees: Trees) -> Course:
        options = self.options
        return Course(
            *self._data, self.settings(trees), self.rules.pruner, seed=options.seed, threads=options.threads
        )

    def _inputs(self, learner: Learner, trees: Trees, **more: Any) -> dict[str, Any]:
        settings, pruner = self.settings(trees), self.rules.pruner
        return inputs(self._data, settings, pruner, learner, self.options.seed, **more)

    # Cells

    def curves(self, name: str, trees: Trees) -> list[tuple[Parameters, list[Judged]]]:
        """The course of every combination of a learner's grid, on dev."""
        search = self.searches[name]
        found: list[tuple[Parameters, list[Judged]]] = []
        for parameters in search:
            learner = make_learner(name, parameters, search.epochs, self.options.seed)
            needed = points_needed([points for _, points in found], search.trial)

            def work(learner: Learner = learner, needed: float | None = needed) -> dict[str, Any]:
                points: list[Judged] = []

                def note(progress: Progress, seconds: float) -> None:
                    points.append(self._judge(trees, progress, seconds))
                    self._keep(learner, trees, points[-1], progress)
                    search.give_up(points[-1], needed)

                self._course(trees).run(learner, note=note, asked=self.watcher.asked)
                return {"points": [point.to_json() for point in points]}

            result = compute(
                self.journal,
                self.watcher,
                f"{self.material.name}, {trees} training: {name} {in_words(parameters)}".rstrip(),
                self._inputs(learner, trees, **({} if needed is None else {"needed": needed})),
                search.epochs * len(self._data[0]),
                work,
                _told,
            )
            found.append((parameters, [Judged(**point) for point in result["points"]]))
        return found

    def _judge(self, trees: Trees, progress: Progress, seconds: float) -> Judged:
        """On dev; projective models know nothing of crossing trees, so only others are asked for both."""
        course, weights, epoch = self._course(trees), progress.averaged(), progress.epoch
        kinds: list[Trees] = [trees] if trees == "projective" else [trees, "projective"]
        uas = {kind: course.uas(weights, kind) for kind in kinds}
        return Judged(epoch.number, seconds, uas, dict(epoch.measures))

    def choose(self, name: str, trees: Trees) -> Choice:
        """The best combination, epoch and trees to parse; ties go to the first."""
        choices = [
            Choice(parameters, point.epoch, point.trees, point.best, point.seconds)
            for parameters, points in self.curves(name, trees)
            for point in points
        ]
        return max(choices, key=lambda choice: round(choice.uas, 6))

    def result(self, name: str, trees: Trees) -> Result:
        """The chosen model on the test set."""
        choice = self.choose(name, trees)
        learner = make_learner(name, choice.parameters, choice.epoch, self.options.seed)

        def work() -> dict[str, Any]:
            parser = self._course(trees).parser(self._weights(learner, trees), choice.trees)
            heads, _ = parser.trees(self._test, threads=self.options.threads)
            return self.material.scored(f"{name}-{trees}", heads)

        tested = compute(
            self.journal,
            self.watcher,
            f"{self.material.name}, testing: {name}, {trees} training",
            self._inputs(learner, trees, parsed=choice.trees, test=checksum(self._test)),
            choice.epoch * len(self._data[0]),
            work,
            lambda result: f"test UAS {result['uas']:.2f} with {choice.words}, {choice.epoch} epochs",
        )
        return Result(choice=choice, **tested)

    def _keep(self, learner: Learner, trees: Trees, point: Judged, progress: Progress) -> None:
        before = self._kept.get((learner.name, trees))
        if before is None or point.best > before.uas:
            settings = {**learner.settings(), "epochs": point.epoch}
            self._kept[learner.name, trees] = Kept(settings, point.best, progress.averaged())

    def _weights(self, learner: Learner, trees: Trees) -> Floats:
        """What a learner learns: from memory, or learned again."""
        kept = self._kept.get((learner.name, trees))
        if kept is not None and kept.settings == learner.settings():
            return kept.weights
        return self._course(trees).run(learner, asked=self.watcher.asked).averaged


def _told(result: Mapping[str, Any]) -> str:
    best = max((Judged(**point) for point in result["points"]), key=lambda point: point.best)
    return f"dev UAS {best.best:.2f} (epoch {best.epoch}, {best.trees} trees)"
