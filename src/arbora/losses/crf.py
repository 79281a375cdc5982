"""The negative log-likelihood of a conditional random field over trees [koo-2007].

    loss = log Z(scores) - log Z(scores restricted to the gold tree)

The second term is the gold tree's score. Where a gold tree is known in part, it sums over all trees that
agree with the known part. The gradient is the difference of the two distributions' marginals.
"""

from __future__ import annotations

from typing import Any

from arbora.inference.tree_parts import restricted
from arbora.interfaces import Cost, Family, GoldTree, Loss, PartScores, Query
from arbora.losses.local import expected


class Crf(Loss):
    """Log-likelihood of the gold tree, or of its known part."""

    name = "crf"
    needs = frozenset({Query.LOG_PARTITION, Query.MARGINALS})

    def __call__(
        self, scores: PartScores, gold: GoldTree, family: Family, cost: Cost
    ) -> tuple[float, PartScores]:
        known = restricted(scores, gold)
        loss = family.log_partition(scores) - family.log_partition(known)
        expected, observed = family.marginals(scores), family.marginals(known)
        return max(0.0, loss), {kind: expected[kind] - observed[kind] for kind in scores}

    def on_tensors(self, arcs: Any, heads: Any, inside: Any, family: Family, soft: Any = None) -> Any:
        """The same, summed over a padded batch of PyTorch's tensors; None where a head is unknown.

        `arcs`: (B, T+1, T+1); `heads`: (B, T+1); `inside`: (B, T+1), whether there is a node. `soft`: the
        likeliest heads and their shares, (B, T+1, k) each, where gold trees are not certain; then the loss is
        log Z minus the mean score of a tree: the cross-entropy of two distributions over trees.
        """
        if bool(((heads < 0) & inside)[:, 1:].any()):
            return None
        from arbora.inference.torch import TreeDistribution

        options: Any = {"mask": inside[:, 1:], "trees": family.trees, "roots": family.roots}
        trees = TreeDistribution(arcs, **options)
        if soft is not None:
            return trees.log_partition.sum() - expected(arcs.transpose(1, 2), *soft)
        return -trees.log_prob(heads).sum()
