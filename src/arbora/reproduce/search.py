"""The search for a learner's parameters: what is tried, for how long, and when it is given up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Protocol, TypeAlias

from arbora.interfaces import Learner, StopTraining
from arbora.registry import learners

Value: TypeAlias = int | float | str
Parameters: TypeAlias = dict[str, Value]

BEHIND = 1.0
"""Points of UAS."""


class Reached(Protocol):
    """How far a combination was after an epoch."""

    @property
    def epoch(self) -> int:
        """Its number, from 1."""

    @property
    def best(self) -> float:
        """The UAS of its better weights or trees."""


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

    def give_up(self, point: Reached, needed: float | None) -> None:
        """StopTraining if that is how it stands with a combination that needed so much after its trial."""
        if needed is not None and point.epoch == self.trial and point.best < needed:
            raise StopTraining

    def __iter__(self) -> Iterator[Parameters]:
        for values in product(*self.grid.values()):
            yield {**self.fixed, **dict(zip(self.grid, values, strict=True))}


def in_words(parameters: Mapping[str, Value]) -> str:
    """`name=value` with commas."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
    )


def points_needed(courses: Sequence[Sequence[Reached]], trial: int | None) -> float | None:
    """The UAS that a further course must have after `trial` epochs; None: any."""
    reached = [point.best for course in courses for point in course if point.epoch == trial]
    return round(max(reached) - BEHIND, 6) if reached else None


def make_learner(name: str, parameters: Mapping[str, Value], epochs: int, seed: int) -> Learner:
    """A learner with these parameters, and with the seed if it takes one."""
    known = {parameter.name for parameter in learners.create(name).parameters()}
    seeds = {"seed": seed} if "seed" in known else {}
    return learners.create(name, **{**parameters, "epochs": epochs, **seeds})
