"""A learner's questions about a treebank: trees, labelled trees, or labels on given trees."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, GraphLikelihood, GraphQuestions, KeptArcs, SparseVector, Weights
from arbora.costs import COST, TreeCost
from arbora.errors import InputError
from arbora.interfaces import Answer, PartKind, Query
from arbora.scorers.linear import LinearScorer, Task

SUMS = (Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS)


class GraphProblem:
    """One example per sentence. Loss: the number of wrong heads, of wrong labels, or of both.

    Exact but for second-order non-projective trees, which are searched by hill climbing [mcdonald-2006] and
    have no k best and no sums. k-best joint answers are the k best trees, each with its best labels.

    Where some heads or labels are not known, only sums are answered: of all trees that agree with the rest.
    """

    def __init__(
        self,
        scorer: LinearScorer,
        sentences: Encoded,
        task: Task = "tree",
        *,
        arcs: KeptArcs | None = None,
        cost: TreeCost = COST,
        threads: int = 1,
    ) -> None:
        """`arcs`: what a pruner left, gold arcs put back; None for all."""
        self.task = task
        self.scorer = scorer
        self._given = (scorer.native, sentences, task, arcs, threads)
        self._sentences = sentences
        # What does not fit together is told at once.
        _ = self._questions if sentences.is_annotated(task) else self._likelihood

    @cached_property
    def _questions(self) -> GraphQuestions:
        return GraphQuestions(*self._given)

    @cached_property
    def _likelihood(self) -> GraphLikelihood:
        return GraphLikelihood(*self._given)

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered."""
        first_order = self.scorer.parts == (PartKind.ARC,)
        projective = self.scorer.settings.trees == "projective"
        found = {Query.ARGMAX, Query.COST_AUGMENTED} if self._sentences.is_annotated(self.task) else set()
        if found and self.task != "labels":
            if first_order or (projective and PartKind.GRANDPARENT not in self.scorer.parts):
                found |= {Query.KBEST}
            if first_order and self.task == "tree":
                found |= {Query.ARC_MARGINALS}
        if first_order or projective or self.task == "labels":
            found |= {Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS}
        return frozenset(found)

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return self.scorer.weight_count(self.task)

    def __len__(self) -> int:
        return len(self._sentences)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best tree of sentence i (ARGMAX, COST_AUGMENTED), or all of them (MARGINALS, likewise)."""
        if query in SUMS:
            return Answer(*self._likelihood.ask(i, w, query is Query.COST_AUGMENTED_MARGINALS))
        return Answer(*self._questions.ask(i, w, query is Query.COST_AUGMENTED))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of sentence i by score, best first (KBEST)."""
        return [Answer(*reply) for reply in self._questions.candidates(i, w, k)]

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences, on several threads; the same bytes whatever their number."""
        chosen = np.ascontiguousarray(indices)
        if query in SUMS:
            return Answer(*self._likelihood.total(chosen, w, query is Query.COST_AUGMENTED_MARGINALS))
        return Answer(*self._questions.total(chosen, w, query is Query.COST_AUGMENTED))

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """The sum of -log P over sentences, and its gradient, on several threads; the same bytes, too."""
        if query not in SUMS:
            raise InputError(f"gradient: expected marginals or cost_augmented_marginals, got {query}")
        augmented = query is Query.COST_AUGMENTED_MARGINALS
        return self._likelihood.gradient(np.ascontiguousarray(indices), w, augmented)

    def arc_scores(self, i: int, w: Weights) -> NDArray[np.float64]:
        """The score of each arc of sentence i."""
        return self._likelihood.arc_scores(i, w)

    def arc_gold(self, i: int) -> NDArray[np.float64]:
        """1 for the arcs of the right tree, 0 for the others."""
        return self._likelihood.gold_arcs(i)

    def arc_marginals(self, i: int, scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """log Z and the probability of each arc where arcs have these scores."""
        return self._likelihood.arc_sums(i, scores)

    def arc_features(self, i: int, coefficients: NDArray[np.float64]) -> SparseVector:
        """The sum of the features of all arcs, each times its coefficient."""
        return self._likelihood.arc_features(i, coefficients)
