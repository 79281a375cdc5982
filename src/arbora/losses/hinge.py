"""The structured hinge loss: the gold tree must beat every other tree by that tree's cost [taskar-2003].

    loss = max over trees of score(tree) + cost(tree)  -  score(gold)

The cost is added to the scores of arcs and labels, so the search itself is unchanged. The subgradient is the
parts of the best tree minus those of the gold tree. Where a gold tree is known in part, its score is that of
the best tree that agrees with the known part.
"""

from __future__ import annotations

from arbora.inference.tree_parts import restricted, tree_parts
from arbora.interfaces import Cost, Family, GoldTree, Loss, PartKind, PartScores, Query


class Hinge(Loss):
    """Margin of the gold tree over the best other tree, scaled by its cost."""

    name = "hinge"
    needs = frozenset({Query.ARGMAX})

    def __call__(
        self, scores: PartScores, gold: GoldTree, family: Family, cost: Cost
    ) -> tuple[float, PartScores]:
        right = family.argmax(restricted(scores, gold))
        best = family.argmax(augmented(scores, gold, cost))
        loss = best.score - right.score
        rival, wanted = tree_parts(best, scores), tree_parts(right, scores)
        if loss <= 0.0:
            return 0.0, {kind: 0.0 * rival[kind] for kind in scores}
        return loss, {kind: rival[kind] - wanted[kind] for kind in scores}


def augmented(scores: PartScores, gold: GoldTree, cost: Cost) -> PartScores:
    """Scores with the cost of each arc, or labelled arc, added."""
    labels = scores.get(PartKind.LABEL)
    if labels is None:
        return {**scores, PartKind.ARC: scores[PartKind.ARC] + cost.table(gold)}
    return {**scores, PartKind.LABEL: labels + cost.table(gold, labels.shape[2])}
