"""A problem that reports how many examples each query is about, so that progress can be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arbora._core import Weights
from arbora.interfaces import Problem, Query
from arbora.types import Doubles, Longs

PIECE = 4096
ONE_EXAMPLE = ("answer", "candidates", "wrong_candidates", "arc_scores")


class Watched:
    """The same problem, which calls `advance` with the number of examples of each query."""

    def __init__(self, problem: Problem, advance: Callable[[int], None]) -> None:
        self._problem: Any = problem
        self._advance = advance

    def __len__(self) -> int:
        return len(self._problem)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._problem, name)
        if name != "total" and name not in ONE_EXAMPLE:
            return member

        def counted(*arguments: Any) -> Any:
            self._advance(len(arguments[0]) if name == "total" else 1)
            return member(*arguments)

        return counted

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
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
