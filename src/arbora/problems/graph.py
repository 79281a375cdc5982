"""Graph parsing as a problem: trees, labelled trees, or labels on given trees."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from arbora._core import Encoded, GraphLikelihood, GraphQuestions, KeptArcs, SparseVector, Weights
from arbora.costs import COST, TreeCost
from arbora.interfaces import PartKind, Query
from arbora.problems.base import AUGMENTED, SUMS, NativeProblem
from arbora.scorers.linear import LinearScorer, Task
from arbora.types import Doubles


class GraphProblem(NativeProblem):
    """One example per sentence. Loss: the cost of wrong heads, of wrong labels, or of both.

    A wrong label counts whether or not the head is right.

    Exact, except for second-order non-projective trees, which are searched by hill climbing [mcdonald-2006]
    and have no k best trees and no sums. k-best joint answers are the k best trees with their best labels.

    If some heads or labels are unknown, only sums are answered: over all trees that agree with the rest.
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
        """`arcs`: those kept by a pruner, plus the gold arcs; None for all."""
        self.task = task
        self.scorer = scorer
        self._arguments = (scorer.native, sentences, task, arcs, threads, (cost.head, cost.label))
        self._is_annotated = sentences.is_annotated(task)
        super().__init__(self._trees if self._is_annotated else self._likelihood)

    @cached_property
    def _trees(self) -> GraphQuestions:
        return GraphQuestions(*self._arguments)

    @cached_property
    def _likelihood(self) -> GraphLikelihood:
        return GraphLikelihood(*self._arguments)

    def _solver(self, query: Query) -> tuple[Any, tuple[bool, ...]]:
        return self._likelihood if query in SUMS else self._trees, (query in AUGMENTED,)

    def _require(self, query: Query) -> None:
        """Checked by the native object, whose error names the sentence and the word."""

    @cached_property
    def queries(self) -> frozenset[Query]:  # type: ignore[override]
        first_order = self.scorer.parts == (PartKind.ARC,)
        projective = self.scorer.settings.trees == "projective"
        answered: set[Query] = set()
        if self._is_annotated:
            answered |= {Query.ARGMAX, Query.COST_AUGMENTED}
            if self.task != "labels":
                if first_order or (projective and PartKind.GRANDPARENT not in self.scorer.parts):
                    answered |= {Query.KBEST}
                if first_order and self.task == "tree":
                    answered |= {Query.ARC_MARGINALS}
        return frozenset(answered | (SUMS if first_order or projective or self.task == "labels" else set()))

    def arc_scores(self, i: int, w: Weights) -> Doubles:
        return self._likelihood.arc_scores(i, w)

    def arc_gold(self, i: int) -> Doubles:
        return self._likelihood.gold_arcs(i)

    def arc_marginals(self, i: int, scores: Doubles) -> tuple[float, Doubles]:
        return self._likelihood.arc_sums(i, scores)

    def arc_features(self, i: int, coefficients: Doubles) -> SparseVector:
        return self._likelihood.arc_features(i, coefficients)
