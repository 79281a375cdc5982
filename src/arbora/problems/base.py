"""Shared by problems: errors for queries that a problem does not answer, and answers by native code."""

from __future__ import annotations

from typing import Any

import numpy as np

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Answer, Query
from arbora.types import Doubles, Longs

SUMS = frozenset({Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS})
AUGMENTED = frozenset({Query.COST_AUGMENTED, Query.COST_AUGMENTED_MARGINALS})


def _rejected(method: str) -> Any:
    def reject(self: BaseProblem, *_: Any) -> Any:
        raise self._not_answered(method)

    return reject


class BaseProblem:
    """Rejects every optional query with an InputError; subclasses override what they answer."""

    queries: frozenset[Query]

    candidates = _rejected("candidates")
    gradient = _rejected("gradient")
    arc_scores = _rejected("arc_scores")
    arc_gold = _rejected("arc_gold")
    arc_marginals = _rejected("arc_marginals")
    arc_features = _rejected("arc_features")

    def _require(self, query: Query) -> None:
        if query not in self.queries:
            raise self._not_answered(query.value)

    def _not_answered(self, what: str) -> InputError:
        answered = ", ".join(query.value for query in Query if query in self.queries)
        name = type(self).__name__
        return InputError(
            f"{what}: not answered by a {name}, which answers {answered}; choose a learner that needs no more"
        )


class NativeProblem(BaseProblem):
    """A problem that a native object answers; results do not depend on the number of threads."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def size(self) -> int:
        return int(self._native.weight_count)

    def __len__(self) -> int:
        return len(self._native)

    def _solver(self, query: Query) -> tuple[Any, tuple[bool, ...]]:
        """The native object that answers a query, and the flags that it takes: [sums,] with costs."""
        augmented = query in AUGMENTED
        return self._native, (query in SUMS, augmented) if self.queries & SUMS else (augmented,)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        self._require(query)
        native, flags = self._solver(query)
        return Answer(*native.ask(i, w, *flags))

    def total(self, indices: Longs, w: Weights, query: Query) -> Answer:
        self._require(query)
        native, flags = self._solver(query)
        return Answer(*native.total(np.ascontiguousarray(indices), w, *flags))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        if Query.KBEST not in self.queries:
            return super().candidates(i, w, k)
        return [Answer(*each) for each in self._solver(Query.KBEST)[0].candidates(i, w, k)]

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        if not self.queries & SUMS:
            return super().gradient(indices, w, query)
        if query not in SUMS:
            raise InputError(f"gradient: expected marginals or cost_augmented_marginals, got {query}")
        loss, gradient = self._solver(query)[0].gradient(np.ascontiguousarray(indices), w, query in AUGMENTED)
        return loss, gradient
