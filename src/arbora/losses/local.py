"""A softmax per word over its heads, or over its labelled arcs: the loss of a parser that ignores trees.

    loss = Σ over words of  log Σ exp(scores of the word's arcs) - log Σ exp(scores of its gold arcs)

The second sum runs over the labels of the gold head where the label is unknown. Words whose head is unknown
count nothing. Trees are used only when parsing, so training costs O(n²) and asks nothing of the family.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arbora.inference.tree_parts import labelled_arcs, restricted, split_labels
from arbora.interfaces import Cost, Family, GoldTree, Loss, PartKind, PartScores
from arbora.types import Doubles


class Local(Loss):
    """Log-likelihood of each word's head and label by itself."""

    name = "local"
    needs = frozenset()

    def __call__(
        self, scores: PartScores, gold: GoldTree, family: Family, cost: Cost
    ) -> tuple[float, PartScores]:
        used = {kind: scores[kind] for kind in (PartKind.ARC, PartKind.LABEL) if kind in scores}
        all_sums, all_shares = _softmax(labelled_arcs(used))
        gold_sums, gold_shares = _softmax(labelled_arcs(restricted(used, gold)))
        known = gold.heads >= 0
        loss = float(np.sum((all_sums - gold_sums)[known]))
        difference = all_shares - gold_shares
        difference[:, ~known] = 0.0
        zeros = {kind: np.zeros(np.shape(array)) for kind, array in scores.items()}
        return loss, {**zeros, **split_labels(difference, used)}

    def on_tensors(self, arcs: Any, heads: Any, inside: Any, family: Family, soft: Any = None) -> Any:
        """The same, summed over a padded batch of PyTorch's tensors; differentiable.

        `arcs`: (B, T+1, T+1); `heads`: (B, T+1), -1 for unknown; `inside`: (B, T+1), whether there is a node;
        `soft`: the likeliest heads and their shares, (B, T+1, k) each, where gold trees are not certain.
        """
        known = heads >= 0
        rows = head_rows(arcs, inside, known)
        if soft is not None:
            return rows.logsumexp(dim=1).sum() - expected(rows, *(each[known] for each in soft))
        return (rows.logsumexp(dim=1) - rows.gather(1, heads[known][:, None])[:, 0]).sum()


def expected(scores: Any, values: Any, shares: Any) -> Any:
    """Σ over rows of the mean of scores under shares; PyTorch's tensors (..., V), (..., k) and (..., k)."""
    return (shares * scores.gather(-1, values).masked_fill(shares == 0.0, 0.0)).sum()


def head_rows(arcs: Any, inside: Any, words: Any) -> Any:
    """The scores of the heads of some words, (words, T+1); -inf where there is no arc.

    Takes PyTorch's tensors: `arcs`, (B, T+1, T+1); `inside`, (B, T+1), which nodes exist; `words`, (B, T+1),
    which words are wanted.
    """
    node = inside.new_ones(arcs.shape[1]).cumsum(0)
    allowed = inside[:, :, None] & (node[:, None] != node)
    return arcs.masked_fill(~allowed, -np.inf).transpose(1, 2)[words]


def _softmax(arcs: Doubles) -> tuple[Doubles, Doubles]:
    """The log of the sum of exp(score) over each word's arcs, (n+1,), and each arc's share of it."""
    rows = np.array(arcs)
    rows[np.arange(len(rows)), np.arange(len(rows))] = -np.inf
    rows[:, 0] = -np.inf
    axes = (0, 2) if rows.ndim == 3 else (0,)
    top = rows.max(axis=axes)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(rows - np.expand_dims(top, axes))
        sums = weights.sum(axis=axes)
        shares = weights / np.expand_dims(sums, axes)
        return top + np.log(sums), np.where(np.isfinite(shares), shares, 0.0)
