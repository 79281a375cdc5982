"""Multiclass classification as a problem: tags, entities, a parser's actions.

An example is a sparse row x of features. Each class has weights of its own, so a difference of features is

    d_c = f(gold) - f(c) = x ⊗ (e_gold - e_c)        <d_b, d_c> = |x|² (1 + [b = c])

Learners that compare many classes (MIRA, SPV, MEC) get that matrix and sums of differences without building
the differences: `wrong_candidates`.
"""

from __future__ import annotations

import numpy as np

from arbora._core import MulticlassCandidates, MulticlassExamples, MulticlassQuestions, Weights
from arbora.errors import require_threads
from arbora.interfaces import Answer, Query
from arbora.problems.base import SUMS, NativeProblem
from arbora.types import Doubles, Ints


class ClassCandidates:
    """Wrong classes of one example, as `arbora.interfaces.Candidates`."""

    def __init__(self, native: MulticlassCandidates) -> None:
        self.best = Answer(*native.best())
        self.losses = native.losses()
        self.margins = native.margins()
        self.gram = native.gram
        self.add_to = native.add_to


class MulticlassProblem(NativeProblem):
    """One example per row. Loss: the cost of the predicted class. All answers are exact.

    The weight of class c for column j is at index `j * classes + c`. O(features · classes) per
    query.
    """

    queries = frozenset({Query.ARGMAX, Query.COST_AUGMENTED, Query.KBEST}) | SUMS

    def __init__(
        self, examples: MulticlassExamples, right: Ints, costs: Doubles, *, threads: int = 1
    ) -> None:
        """`right`: the class of each example; `costs[right, other]`, 0 on the diagonal."""
        require_threads(threads)
        classes = np.ascontiguousarray(right, dtype=np.int32)
        table = np.ascontiguousarray(costs, dtype=np.float64)
        super().__init__(MulticlassQuestions(examples, classes, table, threads))

    def wrong_candidates(self, i: int, w: Weights, k: int) -> ClassCandidates:
        return ClassCandidates(self._native.wrong_candidates(i, w, k))
