"""Problems that tell how far a learner has come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from arbora._core import SparseVector, Weights
from arbora.interfaces import Answer, Candidates, Listing, Measured, Problem, Query

PIECE = 4096


def watch(problem: Problem, asked: Callable[[int], None]) -> Watched:
    """A problem that answers as the given one does, and tells `asked` of each example that is asked about."""
    return (
        WatchedListing(problem, problem, asked) if isinstance(problem, Listing) else Watched(problem, asked)
    )


class Watched:
    """A problem that reports how many examples were asked about, so that progress can be shown."""

    def __init__(self, problem: Problem, asked: Callable[[int], None]) -> None:
        self._problem = problem
        self._asked = asked

    @property
    def queries(self) -> frozenset[Query]:
        """As the problem's own."""
        return self._problem.queries

    @property
    def size(self) -> int:
        """As the problem's own."""
        return self._problem.size

    def __len__(self) -> int:
        return len(self._problem)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """As the problem's own."""
        self._asked(1)
        return self._problem.answer(i, w, query)

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """As the problem's own."""
        self._asked(1)
        return self._problem.candidates(i, w, k)

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """As the problem's own."""
        self._asked(len(indices))
        return self._problem.total(indices, w, query)

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """As the problem's own; told piece by piece."""
        pieces = np.array_split(indices, max(1, len(indices) // PIECE))
        loss, gradient = self._problem.gradient(pieces[0], w, query)
        self._asked(len(pieces[0]))
        for piece in pieces[1:]:
            part_loss, part = self._problem.gradient(piece, w, query)
            loss += part_loss
            gradient += part
            self._asked(len(piece))
        return loss, gradient

    def take_measures(self) -> dict[str, float]:
        """As the problem's own, where it has any."""
        return self._problem.take_measures() if isinstance(self._problem, Measured) else {}

    def arc_scores(self, i: int, w: Weights) -> NDArray[np.float64]:
        """As the problem's own."""
        self._asked(1)
        return self._problem.arc_scores(i, w)

    def arc_gold(self, i: int) -> NDArray[np.float64]:
        """As the problem's own."""
        return self._problem.arc_gold(i)

    def arc_marginals(self, i: int, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """As the problem's own."""
        return self._problem.arc_marginals(i, scores)

    def arc_features(self, i: int, coefficients: NDArray[np.float64]) -> SparseVector:
        """As the problem's own."""
        return self._problem.arc_features(i, coefficients)


class WatchedListing(Watched):
    """The same of a problem with a short way to its wrong candidates, which learners then take here, too."""

    def __init__(self, problem: Problem, listing: Listing, asked: Callable[[int], None]) -> None:
        """`listing`: the problem once more, as what it is besides."""
        super().__init__(problem, asked)
        self._listing = listing

    def wrong_candidates(self, i: int, w: Weights, k: int) -> Candidates:
        """As the problem's own."""
        self._asked(1)
        return self._listing.wrong_candidates(i, w, k)
