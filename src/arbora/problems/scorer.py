"""A learner's questions about any scorer and any search of part scores, by a loss.

A sentence is scored, the loss gives a gradient with respect to the scores, and the scorer pulls it back to
its parameters. The built-in linear parsers have faster problems of their own, with the same answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arbora._core import SparseVector, Weights
from arbora.data.batch import Batch
from arbora.errors import InputError
from arbora.inference.tree_parts import restricted, tree_parts
from arbora.interfaces import Answer, Cost, GoldTree, Loss, PartScores, Query, Scorer
from arbora.losses import Crf
from arbora.losses.hinge import augmented
from arbora.problems._unanswered import Unanswered
from arbora.types import Doubles, Floats, Longs

BEST = (Query.ARGMAX, Query.COST_AUGMENTED)


class ScorerProblem(Unanswered):
    """One example per sentence; the loss is the one that is given, or that of the query."""

    def __init__(self, search: Any, batch: Batch, loss: Loss, cost: Cost) -> None:
        """`search`: a `arbora.search.parts.PartSearch`, whose family answers the loss."""
        self.scorer: Scorer = search.scorer
        self.family = search.family
        self.loss = loss
        self.cost = cost
        self._batch = batch
        self._current: tuple[bytes, Scorer] | None = None
        answered = self.family.queries | self.family.approximate
        if missing := loss.needs - answered:
            needed = ", ".join(sorted(missing))
            raise InputError(
                f"loss: {loss.name} needs {needed}, which {search.describe()} does not answer; "
                "choose another loss, or another search"
            )

    @property
    def queries(self) -> frozenset[Query]:
        """LOSS always; the best tree and sums where the family has them."""
        answered = self.family.queries | self.family.approximate
        found = {Query.LOSS} | (set(BEST) if Query.ARGMAX in answered else set())
        is_known = bool(np.all(self._batch.heads >= 0))
        found = found if is_known else {Query.LOSS}
        return frozenset(found | ({Query.MARGINALS} if Crf.needs <= answered else set()))

    @property
    def size(self) -> int:
        return self.scorer.size

    def __len__(self) -> int:
        return len(self._batch)

    def initial_weights(self) -> Floats:
        """The parameters to begin with, (size,)."""
        return self.scorer.weights()

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        return self.total(np.array([i], dtype=np.int64), w, query)

    def total(self, indices: Longs, w: Weights, query: Query) -> Answer:
        """The sum over sentences: of the best trees (ARGMAX, COST_AUGMENTED), or of -log P (MARGINALS)."""
        if query not in self.queries:
            raise self._not_answered(query.value)
        batch, scorer = self._batch.select(indices), self._scorer(w)
        losses, margins, gradients = [], [], []
        for scores, gold in zip(scorer.score(batch), batch.gold(), strict=True):
            loss, margin, gradient = self._compared(scores, gold, query)
            losses.append(loss)
            margins.append(margin)
            gradients.append(gradient)
        return Answer(sum(losses), sum(margins), sparse(scorer.pullback(batch, gradients), -1.0))

    def _compared(self, scores: PartScores, gold: GoldTree, query: Query) -> tuple[float, float, PartScores]:
        """The loss, the margin of the gold tree, and the gradient of minus the margin by the scores."""
        if query not in BEST:
            loss, gradient = self._loss_of(query)(scores, gold, self.family, self.cost)
            return loss, 0.0, gradient
        asked = augmented(scores, gold, self.cost) if query is Query.COST_AUGMENTED else scores
        best, right = self.family.argmax(asked), self.family.argmax(restricted(scores, gold))
        cost = self.cost(gold, np.asarray(best.heads), best.labels)
        reached = best.score - (cost if query is Query.COST_AUGMENTED else 0.0)
        found, wanted = tree_parts(best, scores), tree_parts(right, scores)
        return cost, right.score - reached, {kind: found[kind] - wanted[kind] for kind in scores}

    def _loss_of(self, query: Query) -> Loss:
        return self.loss if query is Query.LOSS else Crf()

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """The sum of the loss (LOSS), or of -log P (MARGINALS), and its gradient, (size,)."""
        if query not in (Query.LOSS, Query.MARGINALS):
            raise InputError(f"gradient: expected loss or marginals, got {query}")
        batch, scorer, loss = self._batch.select(indices), self._scorer(w), self._loss_of(query)
        total, gradients = 0.0, []
        for scores, gold in zip(scorer.score(batch), batch.gold(), strict=True):
            value, gradient = loss(scores, gold, self.family, self.cost)
            total += value
            gradients.append(gradient)
        return total, dense(scorer.pullback(batch, gradients), self.size)

    def _scorer(self, w: Weights) -> Scorer:
        """The scorer with these parameters; made once for weights that do not change."""
        values = w.values()
        key = values.tobytes()
        if self._current is None or self._current[0] != key:
            self._current = key, self.scorer.with_weights(values)
        return self._current[1]


def sparse(gradient: SparseVector | Doubles, factor: float) -> SparseVector:
    """A gradient times a factor, as a sparse vector."""
    if isinstance(gradient, SparseVector):
        return SparseVector(np.asarray(gradient.indices), factor * np.asarray(gradient.values))
    (used,) = np.nonzero(gradient)
    return SparseVector(used, factor * gradient[used])


def dense(gradient: SparseVector | Doubles, size: int) -> Doubles:
    """A gradient as an array, (size,)."""
    if not isinstance(gradient, SparseVector):
        return np.asarray(gradient, dtype=np.float64)
    found = np.zeros(size)
    found[np.asarray(gradient.indices)] = gradient.values
    return found
