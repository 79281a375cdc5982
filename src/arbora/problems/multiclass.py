"""A learner's questions about examples with classes: tags, entities, a parser's actions.

An example is a sparse row x of features. The features of a class are the row in that class's place, so that
each class has weights of its own, and a difference of features is

    d_c = f(right) - f(c) = x ⊗ (e_right - e_c)        <d_b, d_c> = |x|² (1 + [b = c])

Learners that weigh many classes against each other (MIRA, SPV, MEC) get that matrix and sums of differences
without ever seeing a difference: `wrong_candidates`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import MulticlassCandidates, MulticlassExamples, MulticlassQuestions, Weights
from arbora.errors import InputError, require_threads
from arbora.interfaces import Answer, Query
from arbora.problems._unanswered import Unanswered

SUMS = (Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS)
AUGMENTED = (Query.COST_AUGMENTED, Query.COST_AUGMENTED_MARGINALS)


class BlockCandidates:
    """Wrong classes of one example, as `arbora.interfaces.Candidates`."""

    def __init__(self, native: MulticlassCandidates) -> None:
        self.best = Answer(*native.best())
        self.losses = native.losses()
        self.margins = native.margins()
        self.gram = native.gram
        self.add_to = native.add_to


class MulticlassProblem(Unanswered):
    """One example per row. Loss: the cost of the class, given that which is right. All answers are exact.

    The weight of class c for column j is at place `j * classes + c`. O(features of a row · classes) per
    question.
    """

    def __init__(
        self,
        examples: MulticlassExamples,
        right: NDArray[np.int32],
        costs: NDArray[np.float64],
        *,
        threads: int = 1,
    ) -> None:
        """`right`: the number of each example's class; `costs[right, other]`, 0 on the diagonal."""
        require_threads(threads)
        self._questions = MulticlassQuestions(
            examples,
            np.ascontiguousarray(right, dtype=np.int32),
            np.ascontiguousarray(costs, dtype=np.float64),
            threads,
        )

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered."""
        return frozenset({Query.ARGMAX, Query.COST_AUGMENTED, Query.KBEST, *SUMS})

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return self._questions.weight_count

    def __len__(self) -> int:
        return len(self._questions)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best class of example i (ARGMAX, COST_AUGMENTED), or all of them (MARGINALS, likewise)."""
        return Answer(*self._questions.ask(i, w, query in SUMS, query in AUGMENTED))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best classes of example i by score, best first (KBEST)."""
        return [Answer(*reply) for reply in self._questions.candidates(i, w, k)]

    def wrong_candidates(self, i: int, w: Weights, k: int) -> BlockCandidates:
        """Those of them that cost something, without their differences."""
        return BlockCandidates(self._questions.wrong_candidates(i, w, k))

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over examples; the same bytes whatever the number of threads."""
        chosen = np.ascontiguousarray(indices)
        return Answer(*self._questions.total(chosen, w, query in SUMS, query in AUGMENTED))

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """The sum of -log P over examples, and its gradient."""
        if query not in SUMS:
            raise InputError(f"gradient: expected marginals or cost_augmented_marginals, got {query}")
        return self._questions.gradient(np.ascontiguousarray(indices), w, query in AUGMENTED)
