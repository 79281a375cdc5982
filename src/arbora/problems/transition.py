"""A learner's questions about a treebank where a parser goes through sentences from left to right.

With a beam, the right sequence of actions is held against the best one found [collins-2004]; `update` says
after how many steps:

    early           when the right one has fallen out of the beam, else at the end [collins-2004]
    max-violation   where the one that was found beats the right one by most [huang-2012]
    standard        at the end

Without a beam (greedy), a parser is a classifier of moves, and of labels for the arcs they make: an answer is
the sum over all states of a sentence. Which states these are, the oracle says:

    dynamic   those that the parser comes to by its own choices; right is what loses no arc that can still be
              had [goldberg-2012]. For the arc-eager system
    static    those on the way to the right tree
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, TransitionQuestions, Weights
from arbora.costs import COST, TreeCost
from arbora.interfaces import Answer, Query
from arbora.problems._unanswered import Unanswered
from arbora.scorers.transition import TransitionScorer


class TransitionProblem(Unanswered):
    """One example per sentence. Loss: 1 for each wrong head, 0.5 for each wrong label on a right one.

    Without a beam: 1 for each wrong move, 0.5 for each wrong label. k best trees are always whole trees.
    """

    def __init__(
        self,
        scorer: TransitionScorer,
        sentences: Encoded,
        *,
        cost: TreeCost = COST,
        threads: int = 1,
    ) -> None:
        """Update and oracle are those of the scorer's settings."""
        search = scorer.search.resolved()
        self.scorer = scorer
        self._sentences = sentences
        self._questions = TransitionQuestions(
            scorer.native, sentences, search.update, search.oracle == "dynamic", threads
        )

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
        """What was found for sentence i, as far as the update looks (ARGMAX, COST_AUGMENTED)."""
        return Answer(*self._questions.ask(i, w, query is Query.COST_AUGMENTED))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of sentence i by score, best first (KBEST)."""
        return [Answer(*reply) for reply in self._questions.candidates(i, w, k)]

    def instances(self) -> tuple[NDArray[np.uint32], NDArray[np.int8], NDArray[np.int32]]:
        """All states on the way to the right trees in which there is a choice, with what to do there.

        The hash of each feature of moves, shape (states, templates); the move: 0 shift, 1 reduce or swap,
        2 left, 3 right; the label of the arc that it makes, -1: none.
        """
        hashes, moves, labels = self._questions.instances()
        return hashes.reshape(len(moves), -1), moves, labels

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences, on several threads; the same bytes whatever their number."""
        return Answer(*self._questions.total(np.ascontiguousarray(indices), w, query is Query.COST_AUGMENTED))
