"""Training of max-marginal pruning as a problem: the gold tree must score above the threshold.

The max-marginal of an arc is the score of the best projective tree that has it. The pruner drops arcs whose
max-marginal is below

    t(w) = α max + (1 - α) mean

of all arcs' max-marginals, so the gold tree survives if it scores at least t(w). The filter loss demands that
with a margin of one per word [rush-2012, weiss-2010]:

    max{0, n + t(w) - <w, f(x, y*)>}

Its negative subgradient is f(x, y*) - α f(x, ŷ) - (1 - α) mean_a f(x, y_a), with ŷ the best tree and y_a the
best one that has arc a. O(n³) per sentence; O(n²) where it is longer than `among` words.
"""

from __future__ import annotations

from arbora._core import Encoded, FilterQuestions
from arbora.interfaces import Query
from arbora.problems.base import NativeProblem
from arbora.scorers.linear import LinearScorer


class FilterProblem(NativeProblem):
    """One example per sentence. Loss: its number of words if its tree does not survive, else 0.

    ARGMAX counts the trees that do not score above the threshold, COST_AUGMENTED those that do not by the
    margin. Differences are not whole numbers.
    """

    queries = frozenset({Query.ARGMAX, Query.COST_AUGMENTED})

    def __init__(
        self, scorer: LinearScorer, sentences: Encoded, *, alpha: float, among: int, threads: int = 1
    ) -> None:
        """A first-order scorer of projective trees, and sentences whose trees are projective."""
        super().__init__(FilterQuestions(scorer.native, sentences, alpha, among, threads))
