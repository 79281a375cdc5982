"""Problems that report how far a learner has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights
from arbora.interfaces import Problem, Query

PIECE = 4096
ONE_EXAMPLE = ("answer", "candidates", "wrong_candidates", "arc_scores")


def watch(problem: Problem, advance: Callable[[int], None]) -> Problem:
    """A problem that answers as the given one does, and reports how many examples each query was about."""
    return Watched(problem, advance)


class Watched:
    """A problem that reports its progress; what it does not define is the given problem's."""

    def __init__(self, problem: Problem, advance: Callable[[int], None]) -> None:
        self._problem: Any = problem
        self._advance = advance

    def __len__(self) -> int:
        return len(self._problem)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._problem, name)
        if name == "total":
            return lambda indices, *rest: self._after(len(indices), found, indices, *rest)
        if name in ONE_EXAMPLE:
            return lambda *arguments: self._after(1, found, *arguments)
        return found

    def _after(self, examples: int, method: Callable[..., Any], *arguments: Any) -> Any:
        self._advance(examples)
        return method(*arguments)

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """As the problem's own; reported piece by piece."""
        pieces = np.array_split(indices, max(1, len(indices) // PIECE))
        loss, gradient = self._problem.gradient(pieces[0], w, query)
        self._advance(len(pieces[0]))
        for piece in pieces[1:]:
            part_loss, part = self._problem.gradient(piece, w, query)
            loss += part_loss
            gradient += part
            self._advance(len(piece))
        return loss, gradient
