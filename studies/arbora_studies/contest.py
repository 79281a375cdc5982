"""The search for a learner's parameters: every value of a grid is trained, and the best is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal, TypeAlias

from arbora.data.columns import Columns
from arbora.data.sentence import Sentence
from arbora.interfaces import Learner, Progress, StopTraining, Trees
from arbora.registry import learners
from arbora.scorers import GraphSettings
from arbora.search.pruner import PrunerSettings
from arbora.types import Floats
from arbora_studies.courses import Course, Point, Variants, course_inputs
from arbora_studies.runner import Result, Runner
from arbora_studies.treebanks import Heads, Limits, Material, Tested

Value: TypeAlias = int | float | str
Parameters: TypeAlias = dict[str, Value]

BEHIND = 1.0
"""Points of UAS."""
ALL_HEADS = 1e9
"""A pruner with this threshold keeps its `keep` best heads, however unlikely they are."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """The values of a learner's parameters to try, and for how many epochs."""

    grid: Mapping[str, Sequence[Value]]
    epochs: int
    fixed: Mapping[str, Value] = field(default_factory=dict)
    converges: bool = False
    """Whether training ends by itself: the last epoch counts, not the best one."""
    trial: int | None = None
    """After so many epochs, values are dropped that are a point behind the best value before them."""

    def __iter__(self) -> Iterator[Parameters]:
        for values in product(*self.grid.values()):
            yield {**self.fixed, **dict(zip(self.grid, values, strict=True))}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What all trainings of a study of learners share."""

    order: Literal[1, 2]
    tree_bits: int = 22
    pruner: PrunerSettings | None = None
    held_out: float = 0.1
    """The share of the training data that parameters are chosen on, if there is no dev."""
    sentences: Limits = (None, None)

    @property
    def notes(self) -> list[str]:
        if self.pruner is None:
            return []
        return [f"A first-order pruner leaves each word {self.pruner.keep} heads at most."]


@dataclass(frozen=True, slots=True)
class Choice:
    """The best parameters, epoch and variant."""

    parameters: Parameters
    epochs: int
    variant: str
    uas: float
    points: Sequence[Point]
    """All epochs with these parameters."""

    @property
    def text(self) -> str:
        return in_words(self.parameters)

    @property
    def seconds(self) -> float:
        """Processor time of training up to the chosen epoch."""
        return self.points[self.epochs - 1].seconds


@dataclass(frozen=True, kw_only=True)
class Row(Tested):
    """A system on one language."""

    choice: Choice
    seconds: float = 0.0
    """Processor time of the training that was tested, if it was one of its own."""


class Contest:
    """One parser, trained by several learners on the same sentences."""

    def __init__(
        self,
        runner: Runner,
        material: Material,
        parts: tuple[list[Sentence], list[Sentence]],
        rules: Rules,
        trees: Trees,
    ) -> None:
        """`parts` are the sentences to train on and to evaluate on."""
        self.runner = runner
        self.material = material
        self.parts = parts
        self.rules = rules
        self.settings = GraphSettings(
            trees=trees,
            roots=material.roots,
            order=rules.order,
            grandparents=False,
            labels="none",
            tree_bits=rules.tree_bits,
        )
        self._kept: dict[str, tuple[dict[str, Any], float, Floats]] = {}

    @cached_property
    def data(self) -> tuple[Columns, Columns]:
        train, evaluated = self.material.columns(*self.parts)
        return train, evaluated

    @cached_property
    def course(self) -> Course:
        """Made when the first cell is computed: stored results do not need it."""
        options = self.runner.options
        return Course(self.data, self.settings, self.rules.pruner, seed=options.seed, threads=options.threads)

    def _cell(
        self,
        name: str,
        learner: Learner,
        compute: Callable[[], Result],
        summary: Callable[[Result], str],
        **more: Any,
    ) -> Result:
        inputs = course_inputs(self.data, self.settings, self.rules.pruner, learner, self.runner.options)
        return self.runner.cell(
            f"{self.material.name}, {name}".rstrip(),
            {**inputs, **more},
            compute,
            examples=int(learner.settings()["epochs"]) * len(self.data[0]),
            summary=summary,
        )

    def test(
        self,
        label: str,
        name: str,
        choice: Choice,
        parse: Callable[[Learner], tuple[Heads, Result]],
        *,
        key: str,
        **inputs: Any,
    ) -> Row:
        """Score the trees that `parse` finds for the test set with the chosen learner."""
        learner = make_learner(name, choice.parameters, choice.epochs, self.runner.options.seed)

        def compute() -> Result:
            heads, more = parse(learner)
            return {**self.material.score(key, heads), **more}

        summary = f"test UAS {{uas:.2f}} with {choice.text or '-'}, {choice.epochs} epochs".format_map
        return Row(choice=choice, **self._cell(f"testing: {label}", learner, compute, summary, **inputs))

    def curves(
        self, label: str, name: str, search: Search, variants: Variants
    ) -> list[tuple[Parameters, list[Point]]]:
        """Train with every combination of a learner's grid, and evaluate each after every epoch."""
        found: list[tuple[Parameters, list[Point]]] = []
        for parameters in search:
            learner = make_learner(name, parameters, search.epochs, self.runner.options.seed)
            reached = [point.best for _, curve in found for point in curve if point.epoch == search.trial]
            needed = {"needed": round(max(reached) - BEHIND, 6)} if reached else {}

            def compute(learner: Learner = learner, needed: Mapping[str, float] = needed) -> Result:
                points: list[Point] = []

                def after_epoch(progress: Progress, seconds: float) -> None:
                    point = self.course.evaluate(progress, seconds, variants)
                    points.append(point)
                    self._keep(learner, point, progress)
                    if needed and point.epoch == search.trial and point.best < needed["needed"]:
                        raise StopTraining

                self.course.run(learner, self.runner.observer.advance, after_epoch)
                return {"points": [point.to_json() for point in points]}

            title = f"{label}: {name} {in_words(parameters)}"
            result = self._cell(title, learner, compute, _best_point, **needed)
            found.append((parameters, list(map(Point.from_json, result["points"]))))
        return found

    def weights(self, learner: Learner) -> Floats:
        """The averaged weights of a learner: kept from its best epoch, or trained again."""
        settings, _, weights = self._kept.get(learner.name, ({}, 0.0, None))
        if weights is not None and settings == learner.settings():
            return weights
        return self.course.run(learner, self.runner.observer.advance).averaged

    def _keep(self, learner: Learner, point: Point, progress: Progress) -> None:
        if learner.name not in self._kept or point.best > self._kept[learner.name][1]:
            settings = {**learner.settings(), "epochs": point.epoch}
            self._kept[learner.name] = settings, point.best, progress.averaged()


def choose_best(
    curves: Sequence[tuple[Parameters, list[Point]]], variants: Sequence[str], *, converges: bool = False
) -> Choice:
    """Return the parameters, epoch and variant with the best UAS; ties go to the first."""
    choices = [
        Choice(parameters, point.epoch, variant, point.uas[variant], points)
        for parameters, points in curves
        for point in (points[-1:] if converges else points)
        for variant in variants
    ]
    # Rounded: equal data must give the same choice even if the last bits differ.
    return max(choices, key=lambda choice: round(choice.uas, 6))


def make_learner(name: str, parameters: Mapping[str, Value], epochs: int, seed: int) -> Learner:
    """Make a learner with these parameters, and with the seed if it has one."""
    known = {parameter.name for parameter in learners.create(name).parameters()}
    seeds = {"seed": seed} if "seed" in known else {}
    return learners.create(name, **{**parameters, "epochs": epochs, **seeds})


def in_words(parameters: Mapping[str, Value]) -> str:
    """Format parameters as `name=value, name=value`."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
    )


def _best_point(result: Result) -> str:
    point = max(map(Point.from_json, result["points"]), key=lambda point: point.best)
    variant = max(point.uas, key=lambda name: point.uas[name])
    return f"UAS {point.best:.2f} ({variant}, epoch {point.epoch})"
