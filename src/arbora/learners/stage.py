"""One stage of training: a learner on a problem, evaluated on dev after each epoch.

A parser is trained in stages (labels, pruner, tree). Each keeps the weights of its best epoch, and stops if
these have not been beaten for `patience` epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Learner, Problem, Progress, Query, StopTraining
from arbora.progress import EpochReport, Observer, Scores
from arbora.types import Doubles, Floats, Longs

Which: TypeAlias = Literal["averaged", "last"]
PIECE = 4096
SEVERAL_EXAMPLES = ("total", "backward")
ONE_EXAMPLE = ("answer", "candidates", "wrong_candidates", "arc_scores")


@dataclass(slots=True)
class Best:
    """The best weights so far, and the reports of all epochs."""

    weights: NDArray[Any] | None = None
    score: float = -np.inf
    epoch: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A learner on a problem, and how its weights are evaluated."""

    name: str
    learner: Learner
    problem: Problem
    judge: Callable[[Floats], Scores] | None = None
    """Scores of weights on dev, compared by the first; None: the last epoch is the best."""
    patience: int = 0  # Epochs without a better score after which to stop; 0: never
    which: Which = "averaged"

    def run(
        self,
        observer: Observer,
        keep: Callable[[Progress, Best], None],
        resume: tuple[Mapping[str, NDArray[Any]], Best] | None = None,
    ) -> tuple[Best, bool]:
        """Train, with `keep` after each epoch; return the best epoch, and whether Ctrl-C ended training."""
        state, best = resume if resume is not None else (None, Best())
        if best.weights is not None and best.weights.size != self.problem.size:
            raise InputError(f"resume: expected {self.problem.size} weights, got {best.weights.size}")
        epochs = int(self.learner.settings()["epochs"])
        done = best.reports[-1]["epoch"] if best.reports else 0
        observer.begin(self.name, len(self.problem), epochs=epochs, done=done)

        def after(progress: Progress) -> None:
            self._judge(progress, best, observer)
            keep(progress, best)
            if self._is_enough(best):
                raise StopTraining

        interrupted = False
        if not self._is_enough(best):  # else it had stopped before a later stage was interrupted
            watched = Watched(self.problem, observer.advance)
            learned = self.learner.fit(watched, callbacks=[after], resume=state)
            interrupted = learned.stopped == "interrupted"
        observer.end()
        return best, interrupted

    def _is_enough(self, best: Best) -> bool:
        if not self.patience or self.judge is None or not best.reports:
            return False
        return bool(best.reports[-1]["epoch"] - best.epoch >= self.patience)

    def _judge(self, progress: Progress, best: Best, observer: Observer) -> None:
        weights = progress.averaged() if self.which == "averaged" else progress.last()
        scores = self.judge(weights) if self.judge is not None else {}
        decides = next(iter(scores.values()), float(progress.epoch.number))
        better = decides > best.score
        if better:
            best.weights, best.score, best.epoch = weights, decides, progress.epoch.number
        report = EpochReport(self.name, progress.epoch, scores, better)
        best.reports.append(report.to_json())
        observer.report(report)


class Watched:
    """The same problem, which calls `advance` with the number of examples of each query."""

    def __init__(self, problem: Problem, advance: Callable[[int], None]) -> None:
        self._problem: Any = problem
        self.advance = advance

    def __len__(self) -> int:
        return len(self._problem)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._problem, name)
        if name not in SEVERAL_EXAMPLES and name not in ONE_EXAMPLE:
            return member

        def counted(*arguments: Any) -> Any:
            self.advance(len(arguments[0]) if name in SEVERAL_EXAMPLES else 1)
            return member(*arguments)

        return counted

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """As the problem's own; reported piece by piece."""
        piece = getattr(self._problem, "piece", PIECE)
        pieces = np.array_split(indices, max(1, len(indices) // piece))
        loss, gradient = self._problem.gradient(pieces[0], w, query)
        self.advance(len(pieces[0]))
        for piece in pieces[1:]:
            part_loss, part = self._problem.gradient(piece, w, query)
            loss += part_loss
            gradient += part
            self.advance(len(piece))
        return loss, gradient
