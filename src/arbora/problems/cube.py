"""Labelled trees of higher order as a problem, with inexact search by cube pruning.

If search loses the gold tree, it may return a tree that scores lower, and an update would move the weights
the wrong way [zhang-2013]. `update` says where the gold subtree is compared with the best one found; the
learner decides the size of the step:

    standard   the whole tree, whatever the scores
    skip       the whole tree, unless the predicted one scores lower
    s-max      the node where the best subtree beats the gold one by most
    p-max      the frontier of such nodes, which together cover the sentence

Learners that use margins (MIRA, passive-aggressive) take no step without a violation, so `standard` and
`skip` are the same for them.
"""

from __future__ import annotations

from arbora._core import CubeQuestions, Encoded, KeptArcs
from arbora.costs import COST, TreeCost
from arbora.interfaces import Query
from arbora.problems.base import NativeProblem
from arbora.scorers.cube import CubeScorer, Update
from arbora.types import Floats

NON_VIOLATIONS = "non_violations"


class CubeProblem(NativeProblem):
    """One example per sentence. Loss: the cost of the subtrees that are compared. No answer is exact.

    A wrong label counts whether or not the head is right. The k best trees are compared as wholes, whatever
    `update` says.
    """

    queries = frozenset({Query.ARGMAX, Query.COST_AUGMENTED, Query.KBEST})

    def __init__(
        self,
        scorer: CubeScorer,
        sentences: Encoded,
        update: Update = "p-max",
        *,
        arcs: KeptArcs | None = None,
        label_filter: Floats | None = None,
        cost: TreeCost = COST,
        threads: int = 1,
    ) -> None:
        """`arcs`: those that a pruner kept and the gold arcs; None: all. `label_filter`: weights, or None."""
        costs = (cost.head, cost.label)
        super().__init__(CubeQuestions(scorer.cube, sentences, arcs, label_filter, update, threads, costs))
        self.scorer = scorer
        self.update = update

    def take_measures(self) -> dict[str, float]:
        """Since the last call: the share of sentences whose gold tree outscored the predicted one."""
        searches, lost = self._native.take_tally()
        return {NON_VIOLATIONS: lost / searches} if searches else {}
