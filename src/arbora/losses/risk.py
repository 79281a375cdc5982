"""The expected cost of a tree drawn from the model [smith-2006].

    loss = E[cost(tree)] = <marginals(scores), cost of each arc>

Its gradient is the covariance of parts with the cost: the derivative of the marginals along the cost table.
First-order scores; words whose head is unknown cost nothing.
"""

from __future__ import annotations

import numpy as np

from arbora.interfaces import Cost, Family, GoldTree, Loss, PartKind, PartScores, Query


class Risk(Loss):
    """Expected cost of a tree drawn from the model."""

    name = "risk"
    needs = frozenset({Query.MARGINALS})

    def __call__(
        self, scores: PartScores, gold: GoldTree, family: Family, cost: Cost
    ) -> tuple[float, PartScores]:
        labels = scores.get(PartKind.LABEL)
        zeros = np.zeros_like(scores[PartKind.ARC])
        direction: PartScores = {PartKind.ARC: cost.table(gold)}
        if labels is not None:
            direction = {PartKind.ARC: zeros, PartKind.LABEL: cost.table(gold, labels.shape[2])}
        marginals = family.marginals(scores)
        loss = sum(float(np.sum(marginals[kind] * direction[kind])) for kind in direction)
        return loss, family.marginals_along(scores, direction)
