"""Any scorer with any search of part scores as a problem, by a loss.

The scorer scores a sentence, the loss gives a gradient with respect to the scores, and the scorer pulls it
back to its parameters. The built-in linear parsers have faster problems of their own, with the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from arbora._core import SparseVector, Weights
from arbora.data.encode import Batch
from arbora.errors import InputError
from arbora.inference.tree_parts import restricted, tree_parts
from arbora.interfaces import Answer, Cost, GoldTree, Loss, PartScores, Query, Scorer
from arbora.losses import Crf
from arbora.losses.hinge import augmented
from arbora.problems.base import BaseProblem
from arbora.types import Doubles, Floats, Longs

BEST = frozenset({Query.ARGMAX, Query.COST_AUGMENTED})


class ScorerProblem(BaseProblem):
    """One example per sentence, over any scorer and any search of part scores; its loss is LOSS."""

    def __init__(self, search: Any, batch: Batch, loss: Loss, cost: Cost) -> None:
        """`search`: an `arbora.search.parts.PartSearch`, whose family answers the queries of the loss."""
        self.scorer: Scorer = search.scorer
        self.family = search.family
        self.loss = loss
        self.cost = cost
        self._batch = batch
        self._current: tuple[Floats, Scorer] | None = None
        if not isinstance(getattr(loss, "needs", None), frozenset):
            raise InputError(f"expected {type(loss).__name__}.needs to be a frozenset of Query", field="loss")
        answered = self.family.queries | self.family.approximate
        # Best trees if all heads are known, and sums, where the family has them.
        self.queries = frozenset({Query.LOSS})
        if Query.ARGMAX in answered and np.all(batch.heads >= 0):
            self.queries |= BEST
        if Crf.needs <= answered:
            self.queries |= {Query.MARGINALS}
        if missing := loss.needs - answered:
            needed = ", ".join(sorted(missing))
            raise InputError(
                f"loss: {loss.name} needs {needed}, which {search.describe()} does not answer; "
                "choose another loss, or another search"
            )

    @property
    def size(self) -> int:
        return self.scorer.size

    def __len__(self) -> int:
        return len(self._batch)

    def initial_weights(self) -> Floats:
        """The weights to begin with, (size,)."""
        return self.scorer.weights()

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        return self.total(np.array([i], dtype=np.int64), w, query)

    def total(self, indices: Longs, w: Weights, query: Query) -> Answer:
        """The sum over sentences: of the best trees (ARGMAX, COST_AUGMENTED), or of -log P (MARGINALS)."""
        self._require(query)
        losses, margins, gradient = self._sums(indices, w, query)
        return Answer(losses, margins, sparse(gradient, -1.0))

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """The sum of the loss (LOSS), or of -log P (MARGINALS), and its gradient, (size,)."""
        if query not in (Query.LOSS, Query.MARGINALS):
            raise InputError(f"gradient: expected loss or marginals, got {query}")
        loss, _, gradient = self._sums(indices, w, query)
        return loss, dense(gradient, self.size)

    def _sums(self, indices: Longs, w: Weights, query: Query) -> tuple[float, float, SparseVector | Doubles]:
        """Losses, margins and the gradient by parameters, summed over sentences."""
        batch, scorer = self._batch.select(indices), self._scorer(w)
        answers = [
            self._compare(scores, gold, query)
            for scores, gold in zip(scorer.score(batch), batch.gold(), strict=True)
        ]
        gradient = scorer.pullback(batch, [each[2] for each in answers])
        return sum(each[0] for each in answers), sum(each[1] for each in answers), gradient

    def _compare(self, scores: PartScores, gold: GoldTree, query: Query) -> tuple[float, float, PartScores]:
        """The loss, the margin of the gold tree, and the gradient of minus the margin by the scores."""
        if query not in BEST:
            loss = self.loss if query is Query.LOSS else Crf()
            value, gradient = _checked(loss.name, loss(scores, gold, self.family, self.cost), scores)
            return value, 0.0, gradient
        is_augmented = query is Query.COST_AUGMENTED
        rival = self.family.argmax(augmented(scores, gold, self.cost) if is_augmented else scores)
        right = self.family.argmax(restricted(scores, gold))
        cost = self.cost(gold, np.asarray(rival.heads), rival.labels)
        margin = right.score - (rival.score - cost if is_augmented else rival.score)
        predicted, wanted = tree_parts(rival, scores), tree_parts(right, scores)
        return cost, margin, {kind: predicted[kind] - wanted[kind] for kind in scores}

    def _scorer(self, w: Weights) -> Scorer:
        """The scorer with these weights; made once for weights that do not change."""
        values = w.values()
        if self._current is None or not np.array_equal(self._current[0], values):
            self._current = values, self.scorer.with_weights(values)
        return self._current[1]


def _checked(name: str, result: Any, scores: PartScores) -> tuple[float, PartScores]:
    """What a loss returned; InputError unless it is a finite value and finite arrays shaped as the scores."""
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)):
        what = (
            f"{name} must return a value and its gradient (a mapping of arrays), got {type(result).__name__}"
        )
        raise InputError(what, field="loss")
    value, gradient = result
    shapes = {str(kind): np.shape(array) for kind, array in scores.items()}
    found = {str(kind): np.shape(array) for kind, array in gradient.items()}
    if found != shapes:
        raise InputError(f"{name} must give a gradient of shapes {shapes}, got {found}", field="loss")
    if not np.isfinite(value) or not all(np.isfinite(array).all() for array in gradient.values()):
        what = f"{name} gave a value or gradient that is not finite; scores of -inf forbid arcs"
        raise InputError(what, field="loss")
    return value, gradient


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
    values = np.zeros(size)
    values[np.asarray(gradient.indices)] = gradient.values
    return values
