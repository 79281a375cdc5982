"""A learner's questions about a filter: does the right tree score above the threshold?

The max-marginal of an arc is the score of the best projective tree that has it. Arcs are dropped whose
max-marginal is below

    t(w) = α max + (1 - α) mean

of all arcs' max-marginals, so that the right tree is left whole where it scores at least t(w). The filter
loss asks for that, with a margin of one per word [rush-2012, weiss-2010]:

    max{0, n + t(w) - <w, f(x, y*)>}

and its negative subgradient is f(x, y*) - α f(x, ŷ) - (1 - α) mean_a f(x, y_a), with ŷ the best tree and y_a
the best one that has arc a. O(n³) per sentence; O(n²) where it is longer than `among` words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, FilterQuestions, Weights
from arbora.interfaces import Answer, Query
from arbora.problems._unanswered import Unanswered
from arbora.scorers.linear import LinearScorer


class FilterProblem(Unanswered):
    """One example per sentence. Loss: its number of words where its tree would not be left whole.

    ARGMAX counts the trees that do not score above the threshold, COST_AUGMENTED those that do not by the
    margin; differences are not whole numbers.
    """

    def __init__(
        self,
        scorer: LinearScorer,
        sentences: Encoded,
        *,
        alpha: float,
        among: int,
        threads: int = 1,
    ) -> None:
        """A first-order scorer of projective trees, and sentences whose trees are projective."""
        self._questions = FilterQuestions(scorer.native, sentences, alpha, among, threads)

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered."""
        return frozenset({Query.ARGMAX, Query.COST_AUGMENTED})

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return self._questions.weight_count

    def __len__(self) -> int:
        return len(self._questions)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The loss of sentence i and its subgradient; nothing where there is no loss."""
        return Answer(*self._questions.ask(i, w, self._with_margin(query)))

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences; the same bytes whatever the number of threads."""
        return Answer(*self._questions.total(np.ascontiguousarray(indices), w, self._with_margin(query)))

    def _with_margin(self, query: Query) -> bool:
        if query not in self.queries:
            raise self._not_answered(query.value)
        return query is Query.COST_AUGMENTED
