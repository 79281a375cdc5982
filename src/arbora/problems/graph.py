"""A learner's questions about a treebank: trees, labelled trees, or labels on given trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, GraphQuestions, KeptArcs, Weights
from arbora.interfaces import Answer, PartKind, Problem, Query
from arbora.scorers.linear import LinearScorer, Task


class GraphProblem:
    """One example per sentence. Loss: the number of wrong heads, of wrong labels, or of both.

    Exact but for second-order non-projective trees, which are searched by hill climbing [mcdonald-2006] and
    have no k best. k-best joint answers are the k best trees, each with its best labels.
    """

    def __init__(
        self,
        scorer: LinearScorer,
        sentences: Encoded,
        task: Task = "tree",
        *,
        arcs: KeptArcs | None = None,
        threads: int = 1,
    ) -> None:
        """`arcs`: what a pruner left, gold arcs put back; None for all."""
        self.task = task
        self.scorer = scorer
        self._questions = GraphQuestions(scorer.native, sentences, task, arcs, threads)

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered."""
        kbest = self.task != "labels" and (
            self.scorer.parts == (PartKind.ARC,)
            or (self.scorer.settings.trees == "projective" and PartKind.GRANDPARENT not in self.scorer.parts)
        )
        always = {Query.ARGMAX, Query.COST_AUGMENTED}
        return frozenset(always | {Query.KBEST} if kbest else always)

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return int(self._questions.weight_count)

    def __len__(self) -> int:
        return len(self._questions)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best tree of sentence i by score (ARGMAX), or by score plus cost (COST_AUGMENTED)."""
        return Answer(*self._questions.ask(i, w, query is Query.COST_AUGMENTED))

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """The k best trees of sentence i by score, best first (KBEST)."""
        return [Answer(*reply) for reply in self._questions.candidates(i, w, k)]

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences, on several threads; the same bytes whatever their number."""
        return Answer(*self._questions.total(np.ascontiguousarray(indices), w, query is Query.COST_AUGMENTED))


class Watched:
    """A problem that reports how many examples were asked about, so that progress can be shown."""

    def __init__(self, problem: Problem, asked: Callable[[int], None]) -> None:
        self._problem = problem
        self._asked = asked

    @property
    def queries(self) -> frozenset[Query]:
        """As the problem's own."""
        return self._problem.queries

    @property
    def size(self) -> int:
        """As the problem's own."""
        return self._problem.size

    def __len__(self) -> int:
        return len(self._problem)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """As the problem's own."""
        self._asked(1)
        return self._problem.answer(i, w, query)

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        """As the problem's own."""
        self._asked(1)
        return self._problem.candidates(i, w, k)

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """As the problem's own."""
        self._asked(len(indices))
        return self._problem.total(indices, w, query)
