"""Scores of labels, a bilinear form of head and dependent for each label.

On a CPU, a few arcs are scored at a time, so that products stay in the cache, and the backward pass computes
them again. On a GPU it is one product.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

PIECE = 64  # arcs


def label_scores(heads: Tensor, deps: Tensor, labels: Tensor) -> Tensor:
    """(arcs, labels): headᵀ L dep for every label's matrix L.

    `heads`, `deps`: (arcs, size); `labels`: (labels, size, size), [label, head, dep].
    """
    scores: Tensor = _LabelScores.apply(
        heads, deps, labels, PIECE if not heads.is_cuda else max(1, len(heads))
    )
    return scores


def _products(deps: Tensor, labels: Tensor) -> Tensor:
    """L dep, (arcs, labels, size)."""
    return (deps @ labels.flatten(0, 1).t()).view(len(deps), *labels.shape[:2])


class _LabelScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, heads: Tensor, deps: Tensor, labels: Tensor, piece: int) -> Tensor:
        ctx.save_for_backward(heads, deps, labels)
        ctx.piece = piece
        pairs = zip(heads.split(piece), deps.split(piece), strict=True)
        return torch.cat([torch.bmm(_products(d, labels), h[:, :, None])[:, :, 0] for h, d in pairs])

    @staticmethod
    def backward(ctx: Any, slopes: Tensor) -> tuple[Any, ...]:
        heads, deps, labels = ctx.saved_tensors
        of_labels = torch.zeros_like(labels)
        flat, of_flat = labels.flatten(0, 1), of_labels.flatten(0, 1)
        of_heads, of_deps = [], []
        pieces = (each.split(ctx.piece) for each in (heads, deps, slopes))
        for h, d, slope in zip(*pieces, strict=True):
            of_heads.append(torch.bmm(slope[:, None], _products(d, labels))[:, 0])
            outer = torch.bmm(slope[:, :, None], h[:, None]).flatten(1)  # (arcs, labels · size)
            of_deps.append(outer @ flat)
            of_flat.addmm_(outer.t(), d)
        return torch.cat(of_heads), torch.cat(of_deps), of_labels, None
