"""Transition parsing from left to right as a problem.

With a beam, the gold sequence of actions is compared with the best one found [collins-2004]; `update` says
after how many steps:

    early           when the gold one falls out of the beam, else at the end [collins-2004]
    max-violation   where the predicted one beats the gold one by most [huang-2012]
    standard        at the end

Without a beam (greedy), the parser is a classifier of moves, and of labels for the arcs that they make. An
answer is the sum over all states of a sentence. The oracle says which states:

    dynamic   those that the parser reaches by its own choices; a gold move loses no arc that can still be
              reached [goldberg-2012]. For the arc-eager system
    static    those on the way to the gold tree
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, TransitionQuestions
from arbora.costs import COST, TreeCost
from arbora.interfaces import Query
from arbora.problems.base import NativeProblem
from arbora.scorers.transition import TransitionScorer
from arbora.types import Ints


class TransitionProblem(NativeProblem):
    """One example per sentence. Loss: the cost of each wrong head and of each wrong label.

    By default a wrong label costs 1, as much as a wrong head, as in other parsers. Without a beam, a wrong
    move costs as much as a wrong head. An unfinished sequence that left the right one costs at least half a
    head. No answer is exact. The k best trees are always whole trees.
    """

    queries = frozenset({Query.ARGMAX, Query.COST_AUGMENTED, Query.KBEST})

    def __init__(
        self, scorer: TransitionScorer, sentences: Encoded, *, cost: TreeCost = COST, threads: int = 1
    ) -> None:
        """Update and oracle are those of the scorer's settings."""
        search = scorer.search.resolved()
        explores = search.oracle == "dynamic"
        costs = (cost.head, cost.label)
        super().__init__(
            TransitionQuestions(scorer.native, sentences, search.update, explores, threads, costs)
        )
        self.scorer = scorer

    def instances(self) -> tuple[NDArray[np.uint32], NDArray[np.int8], Ints]:
        """All states on the way to the gold trees in which there is a choice, with the gold action.

        The hash of each feature of moves, (states, templates); the move: 0 shift, 1 reduce or swap, 2 left,
        3 right; the label of the arc that it makes, -1 for none.
        """
        hashes, moves, labels = self._native.instances()
        return hashes.reshape(len(moves), -1), moves, labels
