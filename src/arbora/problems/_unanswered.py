"""Questions that only some problems answer: the others say so in one voice."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from arbora._core import SparseVector, Weights
from arbora.errors import InputError
from arbora.interfaces import Answer, Query


class Unanswered(ABC):
    """A base of problems: every question but the common ones is an InputError until a problem answers it."""

    @property
    @abstractmethod
    def queries(self) -> frozenset[Query]:
        """What is answered."""

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """Not answered."""
        raise self._not_answered("candidates")

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """Not answered."""
        raise self._not_answered("gradient")

    def arc_scores(self, i: int, w: Weights) -> NDArray[np.float64]:
        """Not answered."""
        raise self._not_answered("arc_scores")

    def arc_gold(self, i: int) -> NDArray[np.float64]:
        """Not answered."""
        raise self._not_answered("arc_gold")

    def arc_marginals(self, i: int, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Not answered."""
        raise self._not_answered("arc_marginals")

    def arc_features(self, i: int, coefficients: NDArray[np.float64]) -> SparseVector:
        """Not answered."""
        raise self._not_answered("arc_features")

    def _not_answered(self, what: str) -> InputError:
        answered = ", ".join(query.value for query in Query if query in self.queries)
        name = type(self).__name__
        return InputError(f"{what}: a {name} answers {answered}; choose a learner that asks no more")
