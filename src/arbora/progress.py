"""Progress of long work: one protocol for training, tuning, induction, parsing, downloads and studies.

A piece of work begins a task, advances it, reports its epochs and ends it. Work inside other work, such as
the trainings of a search or the folds of jackknifing, goes to a `child`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from arbora.interfaces import Epoch

Scores: TypeAlias = dict[str, float]
"""Scores on dev by name, in percent. Models are compared by the first one."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The result of one epoch of a stage of training."""

    stage: str
    epoch: Epoch
    scores: Scores
    """On dev; empty without dev."""
    best: bool
    """Whether this is the best epoch so far."""

    def to_json(self) -> dict[str, Any]:
        """All but the time, so that equal trainings have equal records."""
        e = self.epoch
        sums = {"loss": e.loss, "hinge": e.hinge, "updates": e.updates}
        dev = {"best": self.best, "measures": dict(e.measures), "dev": dict(self.scores)}
        return {"stage": self.stage, "epoch": e.number, **sums, **dev}


class Observer:
    """Follows long work: for progress bars, logs and plots. This one does nothing: override some methods."""

    def begin(
        self,
        task: str,
        total: int | None = None,
        *,
        epochs: int | None = None,
        done: int = 0,
        unit: str = "sentence",
    ) -> None:
        """Begin a task of `total` steps, or of `epochs` passes over `total` steps.

        `total` is None if it is unknown. `done` epochs (or steps, without `epochs`) were finished before.
        `unit` names one step: "sentence", "round", "byte".
        """

    def advance(self, steps: int = 1) -> None:
        """Count more steps of the task. Called for every sentence, so it must be fast."""

    def report(self, report: EpochReport) -> None:
        """Take the result of an epoch or a round."""

    def status(self, text: str = "") -> None:
        """Show how far the task is, and a short text beside it, such as its speed or its best result."""

    def end(self, result: str = "") -> None:
        """End the task; `result` is a short text to show, if any."""

    def note(self, text: str) -> None:
        """Show a message to the user."""

    def child(self, name: str) -> Observer:
        """An observer of work inside this work, which puts `name` before the names of tasks."""
        return Prefixed(self, name)


Silent = Observer
"""The observer that does nothing."""


class Prefixed(Observer):
    """Passes everything on to another observer, with a prefix before the names of tasks."""

    def __init__(self, observer: Observer, prefix: str) -> None:
        self._observer, self._prefix = observer, prefix
        self.advance = observer.advance  # type: ignore[method-assign]  # saves a call per sentence
        self.end = observer.end  # type: ignore[method-assign]
        self.status = observer.status  # type: ignore[method-assign]

    def begin(self, task: str, total: int | None = None, **options: Any) -> None:
        self._observer.begin(f"{self._prefix}: {task}", total, **options)

    def report(self, report: EpochReport) -> None:
        self._observer.report(replace(report, stage=f"{self._prefix}: {report.stage}"))

    def note(self, text: str) -> None:
        self._observer.note(f"{self._prefix}: {text}")
