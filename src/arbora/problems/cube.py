"""A learner's questions about a treebank, where search is inexact: labelled trees of higher order.

Where search has lost the right tree, the tree that it found may have the lower score, and then an update
would move the weights the wrong way [zhang-2013]. `update` says where in the tree the right subtree is held
against the best one found there; how far the weights move is the learner's affair:

    standard   the whole tree, whatever the scores
    skip       the whole tree, unless the one that was found has the worse score
    s-max      the node at which the best subtree found beats the right one by most
    p-max      the frontier of such nodes, which together cover the sentence

Learners that look at margins (MIRA, passive-aggressive) take no step where there is no violation, so that
`standard` and `skip` are the same to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import CubeQuestions, Encoded, KeptArcs, Weights
from arbora.costs import COST, TreeCost
from arbora.interfaces import Answer, Query
from arbora.problems._unanswered import Unanswered
from arbora.scorers.cube import CubeScorer, Update

NON_VIOLATIONS = "non_violations"


class CubeProblem(Unanswered):
    """One example per sentence. Loss: wrong heads and wrong labels of the subtrees that are compared.

    k best trees are compared as wholes, whatever `update` says.
    """

    def __init__(
        self,
        scorer: CubeScorer,
        sentences: Encoded,
        update: Update = "p-max",
        *,
        arcs: KeptArcs | None = None,
        label_filter: NDArray[np.float32] | None = None,
        cost: TreeCost = COST,
        threads: int = 1,
    ) -> None:
        """`arcs`: what a pruner left, gold arcs put back; None for all. `label_filter`: weights, or None."""
        self.scorer = scorer
        self.update = update
        self._sentences = sentences
        self._questions = CubeQuestions(scorer.cube, sentences, arcs, label_filter, update, threads)

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered; none of it exactly."""
        return frozenset({Query.ARGMAX, Query.COST_AUGMENTED, Query.KBEST})

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return int(self._questions.weight_count)

    def __len__(self) -> int:
        return len(self._sentences)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """What was found for sentence i, where the update looks (ARGMAX, COST_AUGMENTED)."""
        return Answer(*self._questions.ask(i, w, query is Query.COST_AUGMENTED))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of sentence i by score, best first (KBEST)."""
        return [Answer(*reply) for reply in self._questions.candidates(i, w, k)]

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences, on several threads; the same bytes whatever their number."""
        return Answer(*self._questions.total(np.ascontiguousarray(indices), w, query is Query.COST_AUGMENTED))

    def take_measures(self) -> dict[str, float]:
        """Since the last call: the share of sentences whose right tree scored better than the one found."""
        asked, lost = self._questions.take_tally()
        return {NON_VIOLATIONS: lost / asked} if asked else {}
