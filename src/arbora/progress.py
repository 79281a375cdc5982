"""Progress of long work: one protocol for training, tuning, induction and studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from arbora.interfaces import Epoch

Scores: TypeAlias = dict[str, float]
"""Scores on dev by name, in percent; the first one decides."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What there is to say about one epoch of a stage."""

    stage: str
    epoch: Epoch
    scores: Scores
    """On dev; empty where there is none."""
    best: bool
    """Whether it is the best so far."""

    def to_json(self) -> dict[str, Any]:
        """Without the time that it took, so that equal trainings have equal records."""
        e = self.epoch
        about = {
            "stage": self.stage,
            "epoch": e.number,
            "loss": e.loss,
            "hinge": e.hinge,
            "updates": e.updates,
        }
        return {**about, "best": self.best, "measures": dict(e.measures), "dev": dict(self.scores)}


class Observer(Protocol):
    """Is told how training goes: for progress bars, logs and plots."""

    def stage_begins(self, stage: str, examples: int, epochs: int, done: int) -> None:
        """A stage of so many examples and epochs, of which `done` were finished before."""

    def asked(self, examples: int) -> None:
        """So many more examples were worked on."""

    def epoch_ends(self, report: EpochReport) -> None:
        """An epoch was finished and judged."""

    def note(self, text: str) -> None:
        """Something that the user should know."""


class Silent:
    """An observer that keeps quiet."""

    def stage_begins(self, stage: str, examples: int, epochs: int, done: int) -> None:
        """Nothing."""

    def asked(self, examples: int) -> None:
        """Nothing."""

    def epoch_ends(self, report: EpochReport) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
