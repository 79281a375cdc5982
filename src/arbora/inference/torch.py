"""Trees for PyTorch: a distribution over each sentence's trees, differentiable in the scores of a network.

    distribution = arbora.inference.torch.TreeDistribution(scores, lengths=lengths, trees="projective")
    loss = -distribution.log_prob(heads).mean()
    loss.backward()

The answers are those of `arbora.inference`, exact at any scale of scores and computed in float64 by the
native core, on the CPU. Gradients are exact too: that of `log_partition` is `marginals`, and that of
`marginals`, which `entropy` and losses on probabilities need, is a covariance over all trees
(`arbora.inference.marginals_along`). `log_partition` and `log_prob` can be differentiated twice, `marginals`
and `entropy` once.

Needs PyTorch: `pip install 'arbora-nlp[torch]'`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from arbora import _core, inference
from arbora.errors import InputError
from arbora.interfaces import Roots, Trees
from arbora.types import Doubles, Longs

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise ImportError(
        "arbora.inference.torch needs PyTorch, which is not installed: pip install 'arbora-nlp[torch]'"
    ) from error

__all__ = ["Drawn", "TreeDistribution"]


class Drawn(NamedTuple):
    """Trees of every sentence: `heads` (*batch, n+1), or with k trees each (*batch, k, n+1).

    `heads[..., 0]` and entries past a sentence's end are -1. So are the missing trees of a sentence with
    fewer than k; their scores are -inf. `labels` are shaped as `heads`, or None for unlabelled scores.
    """

    heads: Tensor
    scores: Tensor
    labels: Tensor | None


class _Family(NamedTuple):
    """Arguments of the native queries besides scores, (B, n+1, n+1)."""

    nodes: list[int]
    trees: Trees
    roots: Roots
    threads: int

    def split(self, tensor: Tensor) -> list[Doubles]:
        array = tensor.detach().cpu().numpy()
        return [np.ascontiguousarray(each[:m, :m]) for each, m in zip(array, self.nodes, strict=True)]

    def join(self, arrays: list[Doubles], like: Tensor) -> Tensor:
        padded = np.zeros(like.shape)
        for target, array, m in zip(padded, arrays, self.nodes, strict=True):
            target[:m, :m] = array
        return torch.from_numpy(padded).to(like.device)

    def ask(self, query: Callable[..., Any], scores: Tensor, *arguments: Any, **options: Any) -> Any:
        """The result of a query of `arbora.inference`."""
        family: dict[str, Any] = {"trees": self.trees, "roots": self.roots, "threads": self.threads}
        return query(self.split(scores), *arguments, **options, **family)


class _LogPartition(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, family: _Family) -> Tensor:
        ctx.save_for_backward(scores)
        ctx.family = family
        return torch.from_numpy(family.ask(inference.log_partition, scores)).to(scores.device)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor, None]:
        (scores,) = ctx.saved_tensors
        return weights[:, None, None] * _Marginals.apply(scores, ctx.family), None


class _Marginals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, family: _Family) -> Tensor:
        ctx.save_for_backward(scores)
        ctx.family = family
        return family.join(family.ask(inference.marginals, scores), scores)

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor, None]:
        (scores,) = ctx.saved_tensors
        # The Hessian of log Z is symmetric: its product with the direction is what comes back.
        return _MarginalsAlong.apply(scores, direction, ctx.family), None


class _MarginalsAlong(torch.autograd.Function):
    """The Hessian of log Z times a direction; linear in the direction, and where derivatives end."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, direction: Tensor, family: _Family) -> Tensor:
        ctx.save_for_backward(scores)
        ctx.family = family
        return family.join(family.ask(inference.marginals_along, scores, family.split(direction)), scores)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[None, Tensor | None, None]:
        (scores,) = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            raise NotImplementedError(
                "arbora.inference.torch: third derivatives of log_partition (second ones of marginals or "
                "entropy) are not available; detach tensors that need no further derivatives"
            )
        return None, _MarginalsAlong.apply(scores, weights, ctx.family), None


class TreeDistribution:
    """P(tree) proportional to exp(score), for each sentence of a padded batch.

    `scores` has shape (*batch, n+1, n+1), or (*batch, n+1, n+1, labels) with `labelled=True`; the conventions
    are those of `arbora.inference`: `scores[..., head, dep]`, node 0 is the root, column 0 and the diagonal
    are ignored, -inf forbids. `lengths` (*batch) counts the words of each sentence, or `mask` (*batch, n) is
    True for them; without either all have n. What lies beyond is ignored and gets no gradient.

    Answers have the dtype of the scores (float32 for halves) and lie on their device.
    """

    def __init__(
        self,
        scores: Tensor,
        *,
        lengths: Any = None,
        mask: Tensor | None = None,
        labelled: bool = False,
        trees: Trees = "nonprojective",
        roots: Roots = "single",
        threads: int = 1,
    ) -> None:
        axes = 3 if labelled else 2
        if not isinstance(scores, Tensor) or not scores.is_floating_point():
            got = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
            raise InputError(f"scores: expected a tensor of floating-point numbers, got {got}")
        shape = tuple(scores.shape)
        if len(shape) < axes or shape[-axes] != shape[1 - axes] or 0 in shape[-axes:]:
            expected = "(*batch, n+1, n+1, labels)" if labelled else "(*batch, n+1, n+1)"
            hint = "" if labelled else "; labelled=True if the last axis is labels"
            raise InputError(f"scores: expected shape {expected}, got {shape}{hint}")
        inference.argmax(np.zeros((1, 1)), trees=trees, roots=roots, threads=threads)  # checks them
        self.batch_shape = torch.Size(shape[:-axes])
        self.labelled = labelled
        nodes = shape[-axes]
        counts = _lengths(lengths, mask, tuple(self.batch_shape), nodes - 1)
        self._family = _Family((counts.reshape(-1) + 1).tolist(), trees, roots, threads)
        self._dtype = scores.dtype if scores.dtype in (torch.float32, torch.float64) else torch.float32
        exact = scores.to(torch.float64).reshape(-1, *shape[-axes:])
        used = _usable(self._family.nodes, nodes).to(scores.device)
        used = used[..., None] if labelled else used
        # Scores below this forbid, as in the core; a mask of -1e32 would otherwise swallow all differences.
        allowed = used & (exact > -1e300)
        bad = used & ~(exact <= 1e300)
        if bool(bad.any()):
            place = tuple(torch.nonzero(bad)[0].tolist())
            where = f"sentence {place[0]}, {place[1:]}"
            raise InputError(f"scores: expected numbers or -inf, got {exact[place].item()} at {where}")
        self._exact = torch.where(allowed, exact, -torch.inf)

    def __repr__(self) -> str:
        family = f"trees={self._family.trees!r}, roots={self._family.roots!r}"
        return f"TreeDistribution(batch_shape={tuple(self.batch_shape)}, {family}, labelled={self.labelled})"

    @cached_property
    def _arcs(self) -> Tensor:
        """Scores of arcs, (B, n+1, n+1), labels summed out; -inf for impossible arcs."""
        if not self.labelled:
            return self._exact
        some = self._allowed
        # The gradient of the log-sum is undefined for arcs whose labels are all forbidden.
        sums = torch.logsumexp(torch.where(some[..., None], self._exact, 0.0), dim=-1)
        return torch.where(some, sums, -torch.inf)

    @cached_property
    def _allowed(self) -> Tensor:
        return (self._exact > -torch.inf).any(dim=-1) if self.labelled else self._exact > -torch.inf

    @cached_property
    def _labels_given_arcs(self) -> Tensor:
        some = self._allowed[..., None]
        return torch.where(some, torch.softmax(torch.where(some, self._exact, 0.0), dim=-1), 0.0)

    @cached_property
    def _log_partition(self) -> Tensor:
        return _LogPartition.apply(self._arcs, self._family)

    @cached_property
    def _marginals(self) -> Tensor:
        return _Marginals.apply(self._arcs, self._family)

    @property
    def _part_marginals(self) -> Tensor:
        return self._marginals[..., None] * self._labels_given_arcs if self.labelled else self._marginals

    def _answer(self, values: Tensor) -> Tensor:
        return values.reshape(self.batch_shape + values.shape[1:]).to(self._dtype)

    @cached_property
    def log_partition(self) -> Tensor:
        """log of the sum of exp(score) over all trees, shape (*batch)."""
        return self._answer(self._log_partition)

    @cached_property
    def arc_marginals(self) -> Tensor:
        """P(head, dep), labels summed out, shape (*batch, n+1, n+1); each word's column sums to one."""
        return self._answer(self._marginals)

    @cached_property
    def marginals(self) -> Tensor:
        """P(arc), or P(arc and label), shaped as the scores."""
        return self._answer(self._part_marginals)

    @cached_property
    def entropy(self) -> Tensor:
        """Of the distribution over (labelled) trees, in nats, shape (*batch)."""
        # Relative to the best tree: adding a number to all heads of a word changes no probability.
        best = [[each] for each in self._family.ask(inference.argmax, self._arcs)]
        near = self._relative(self._padded(best, 1)[0][:, 0].clamp(min=0))[0]
        partition = _LogPartition.apply(near, self._family)
        marginals = _Marginals.apply(near, self._family)
        values = partition - (marginals * torch.where(self._allowed, near, 0.0)).sum(dim=(1, 2))
        if self.labelled:
            shares = self._labels_given_arcs
            logs = torch.log(torch.where(shares > 0.0, shares, 1.0))
            values = values - (marginals * (shares * logs).sum(dim=-1)).sum(dim=(1, 2))
        return self._answer(values)

    def log_prob(self, heads: Any, labels: Any = None) -> Tensor:
        """log P(tree), shape (*batch); -inf, with no gradient, for trees outside the family.

        `heads` (*batch, n+1); entry 0 and those past a sentence's end are ignored. Labelled scores without
        `labels`: the sum over all labellings.
        """
        trees = self._whole(heads, "heads")
        if labels is not None and not self.labelled:
            raise InputError("expected none without labelled=True", field="labels")
        sizes = torch.tensor(self._family.nodes, device=trees.device)[:, None]
        inside = torch.arange(trees.shape[1], device=trees.device) < sizes
        inside[:, 0] = False
        fits = (trees >= 0) & (trees < sizes)
        safe = torch.where(inside & fits, trees, 0)
        near, own = self._relative(safe)
        possible = (fits & (own > -torch.inf) | ~inside).all(dim=1)
        possible &= torch.tensor(self._in_family(safe), device=trees.device)
        # log P(tree) is -log Z of the scores relative to the tree: never above 0.
        values = -_LogPartition.apply(near, self._family)
        if labels is not None:
            chosen = self._whole(labels, "labels")
            count = self._exact.shape[-1]
            wrong = chosen[inside & ((chosen < 0) | (chosen >= count))]
            if len(wrong):
                raise InputError(f"labels: expected 0 to {count - 1} for each word, got {int(wrong[0])}")
            shares = self._own_scores(safe[:, None], torch.where(inside, chosen, 0)[:, None])[:, 0]
            known = inside & (own > -torch.inf)
            values = values + torch.where(known, shares - torch.where(known, own, 0.0), 0.0).sum(dim=1)
        return self._answer(torch.where(possible, values, -torch.inf))

    def kl_divergence(self, other: TreeDistribution) -> Tensor:
        """KL(self || other) in nats, labels included, shape (*batch); inf where other forbids a tree."""
        if not isinstance(other, TreeDistribution):
            raise InputError(f"kl_divergence: expected a TreeDistribution, got {type(other).__name__}")
        if self._family != other._family or self._exact.shape != other._exact.shape:
            raise InputError("kl_divergence needs distributions over the same sentences and the same family")
        weights = self._part_marginals
        used = weights.detach() > 0.0
        gain = torch.where(used, self._exact, 0.0) - torch.where(used, other._exact, 0.0)
        sums = (weights * gain).flatten(start_dim=1).sum(dim=1)
        return self._answer(sums - self._log_partition + other._log_partition)

    def argmax(self) -> Drawn:
        """The best tree of each sentence, with the score that autograd can follow."""
        return self._drawn([[best] for best in self._family.ask(inference.argmax, self._exact)], None)

    def kbest(self, k: int) -> Drawn:
        """The k best trees of each sentence, best first."""
        return self._drawn(self._family.ask(inference.kbest, self._exact, k), k)

    def sample(self, k: int, *, seed: int | None = None) -> Drawn:
        """`k` random trees of each sentence, drawn exactly; without a seed, one from PyTorch's generator."""
        start = int(torch.randint(2**62, ()).item()) if seed is None else seed
        return self._drawn(self._family.ask(inference.sample, self._exact, k, seed=start), k)

    def minimum_risk(self) -> Drawn:
        """The tree of each sentence with the most expected correct heads; its score is that of the tree."""
        return self._drawn([[best] for best in self._family.ask(inference.minimum_risk, self._exact)], None)

    def _drawn(self, trees: list[list[inference.Best]], k: int | None) -> Drawn:
        heads, labels = self._padded(trees, k or 1)
        counts = torch.tensor([len(each) for each in trees], device=heads.device)
        exists = counts[:, None] > torch.arange(k or 1, device=heads.device)
        sums = torch.where(heads >= 0, self._own_scores(heads, labels), 0.0).sum(dim=-1)
        shape = (*self.batch_shape, heads.shape[2]) if k is None else (*self.batch_shape, *heads.shape[1:])
        scores = torch.where(exists, sums, -torch.inf).reshape(shape[:-1]).to(self._dtype)
        return Drawn(heads.reshape(shape), scores, None if labels is None else labels.reshape(shape))

    def _padded(self, trees: list[list[inference.Best]], count: int) -> tuple[Tensor, Tensor | None]:
        """Heads and labels, (B, count, n+1) each, -1 past the end of a sentence or of its trees."""
        both = np.full((2, len(trees), count, self._exact.shape[1]), -1, dtype=np.int64)
        for i, j, best in ((i, j, best) for i, each in enumerate(trees) for j, best in enumerate(each)):
            both[0, i, j, : len(best.heads)] = best.heads
            if best.labels is not None:
                both[1, i, j, : len(best.labels)] = best.labels
        heads, labels = torch.from_numpy(both).to(self._exact.device)
        return heads, labels if self.labelled else None

    def _own_scores(self, heads: Tensor, labels: Tensor | None) -> Tensor:
        """Scores of each word's own arc in k trees, (B, k, n+1)."""
        index = heads.clamp(min=0)
        if labels is None:
            return torch.gather(self._exact, 1, index)
        every = torch.gather(self._exact, 1, index[..., None].expand(*index.shape, self._exact.shape[-1]))
        return torch.gather(every, 3, labels.clamp(min=0)[..., None])[..., 0]

    def _relative(self, heads: Tensor) -> tuple[Tensor, Tensor]:
        """Arc scores minus those of each word's own arc in a tree, and the latter, (B, n+1)."""
        own = torch.gather(self._arcs, 1, heads[:, None, :])[:, 0]
        shift = torch.where(own > -torch.inf, own, 0.0)
        return torch.where(self._allowed, self._arcs - shift[:, None, :], -torch.inf), own

    def _whole(self, given: Any, name: str) -> Tensor:
        tensor = torch.as_tensor(given, device=self._exact.device)
        expected = (*self.batch_shape, self._exact.shape[1])
        if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
            raise InputError(f"{name}: expected whole numbers, got {tensor.dtype}")
        if tuple(tensor.shape) != expected:
            raise InputError(f"{name}: expected shape {expected}, got {tuple(tensor.shape)}")
        return tensor.reshape(-1, expected[-1]).to(torch.int64)

    def _in_family(self, heads: Tensor) -> list[bool]:
        kind = _core.Trees.__members__[self._family.trees], _core.Roots.__members__[self._family.roots]
        rows = zip(heads.tolist(), self._family.nodes, strict=True)
        return [_core.in_family(row[:m], *kind) for row, m in rows]


def _usable(nodes: list[int], most: int) -> Tensor:
    """(B, most, most): which arcs lie within a sentence, do not enter the root and are no loops."""
    places = torch.arange(most)
    inside = places < torch.tensor(nodes, dtype=torch.int64)[:, None]
    return inside[:, :, None] & (inside & (places > 0))[:, None, :] & (places[:, None] != places)


def _lengths(lengths: Any, mask: Tensor | None, batch: tuple[int, ...], most: int) -> Longs:
    if lengths is not None and mask is not None:
        raise InputError("lengths, mask: expected one of them, got both")
    if mask is not None:
        known = torch.as_tensor(mask).cpu()
        if tuple(known.shape) != (*batch, most) or known.dtype != torch.bool:
            got = f"{known.dtype} {tuple(known.shape)}"
            raise InputError(f"mask: expected truth values of shape {(*batch, most)}, got {got}")
        if bool((known[..., 1:] & ~known[..., :-1]).any()):
            raise InputError("mask: expected the words of a sentence first and padding after them, got a gap")
        lengths = known.sum(dim=-1)
    counts = torch.full(batch, most) if lengths is None else torch.as_tensor(lengths).cpu()
    if tuple(counts.shape) != batch or counts.is_floating_point() or counts.dtype == torch.bool:
        got = f"{counts.dtype} {tuple(counts.shape)}"
        raise InputError(f"lengths: expected whole numbers of shape {batch}, got {got}")
    if bool(((counts < 0) | (counts > most)).any()):
        low, high = counts.min().item(), counts.max().item()
        raise InputError(f"lengths: expected 0 to {most} words, got {low} to {high}")
    return counts.numpy().astype(np.int64)
