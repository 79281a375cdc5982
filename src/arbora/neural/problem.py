"""Sentences with gold trees and tags as a problem: the loss of a network's scores, and its gradient.

The loss of a batch is the sum of

    the tree loss      any of `arbora.losses`, on the scores of arcs (and siblings)
    labels             cross-entropy of each word's label, given its gold head
    tags, lemmas       cross-entropy of each column, times its weight

divided by the number of words. With `consistency` > 0, each batch is scored twice with different dropout
masks. The loss is then the mean of both passes' losses, plus `consistency` times the divergence between their
distributions of heads, labels and tags: the mean of both Kullback-Leibler divergences [liang-2021].

On a CPU a batch is always cut into the same shards, which threads share, so the number of threads does not
change the sum. Several processes with the same network share them, too (`arbora.neural.group`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Answer, Cost, Family, GoldTree, Loss, PartKind, Query
from arbora.losses.local import expected, head_rows
from arbora.neural.data import Gold, TrainingData
from arbora.neural.group import GradientGroup
from arbora.neural.heads import Heads, Sentences, States
from arbora.neural.run import MuonRun, NetworkRun
from arbora.problems.base import BaseProblem
from arbora.scorers.network import NetworkScorer
from arbora.types import Doubles, Floats, Longs

SHARDS = 2

Choice: TypeAlias = tuple[float, Tensor]
"""A weight, and the scores of the values that each row chooses from, (rows, values)."""

A = TypeVar("A")
B = TypeVar("B")


class NetworkProblem(BaseProblem):
    """One example per sentence; its loss is LOSS."""

    queries = frozenset({Query.LOSS})
    runs: ClassVar = {"adamw": NetworkRun, "muon": MuonRun}

    def __init__(
        self,
        scorer: NetworkScorer,
        network: Heads,
        data: TrainingData,
        *,
        family: Family,
        loss: Loss,
        cost: Cost,
        weights: Mapping[str, float],
        consistency: float = 0.0,
        accumulate: int = 1,
        device: str = "cpu",
        threads: int = 1,
    ) -> None:
        """`scorer` has the network's weights; `weights`: what each output counts.

        `accumulate`: in how many parts a batch is computed, one after the other, to save memory.
        """
        if missing := loss.needs - (family.queries | family.approximate):
            needed = ", ".join(sorted(missing))
            raise InputError(f"loss: {loss.name} needs {needed}, which {family.name} trees do not answer")
        self.scorer, self.network, self.data = scorer, network.to(device), data
        self.family, self.loss, self.cost = family, loss, cost
        self.weights, self.consistency = dict(weights), consistency
        self.accumulate, self.device, self.threads = accumulate, device, threads
        self.lengths: Longs = data.reader.lengths.astype(np.int64)
        in_shards = device == "cpu" and not network.own_threads
        self.group: GradientGroup | None = None
        self._pool = ThreadPoolExecutor(max_workers=min(threads, SHARDS)) if in_shards else None

    @property
    def size(self) -> int:
        return self.scorer.size

    def __len__(self) -> int:
        return len(self.lengths)

    def initial_weights(self) -> Floats:
        """The weights to begin with, (size,)."""
        return self.scorer.weights()

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        raise self._not_answered(query.value)

    total: Any = answer

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """The loss per word and its gradient, (size,), without dropout."""
        self._require(query)
        self.network.load(self.scorer.with_weights(w.values()).tensors)
        self.network.eval()
        loss = self.backward(indices)
        named = {name: weights.grad for name, weights in self.network.tensors()}
        flat = [named[name].cpu().numpy().reshape(-1) for name in self.scorer.order]
        self.network.train()
        return loss, np.concatenate(flat).astype(np.float64)

    def backward(self, chosen: Longs, seed: tuple[int, ...] = (0,)) -> float:
        """Set the gradients of the network's parameters; return the loss per word."""
        weights = [each for _, each in self.network.tensors()]
        words = max(1, int(self.lengths[chosen].sum()))

        def loss(number: int, part: Longs) -> tuple[float, Tensor]:
            random = torch.Generator(self.device)
            random.manual_seed(int(np.random.SeedSequence([*seed, number]).generate_state(1)[0]))
            value, tensor = self._loss(*self.data.select(part, self.device, random))
            return value / words, tensor / words

        def shard(numbered: tuple[int, Longs]) -> tuple[float, tuple[Tensor, ...]]:
            value, tensor = loss(*numbered)
            return value, torch.autograd.grad(tensor, weights, materialize_grads=True)

        parts = self._parts(chosen)
        total = 0.0
        if self._pool is not None and parts:
            found = self.in_parallel(shard, parts)
            for place, each in enumerate(weights):
                each.grad = torch.stack([gradient[place] for _, gradient in found]).sum(dim=0)
            total = sum(value for value, _ in found)
        else:
            for each in weights:
                each.grad = torch.zeros_like(each)
            for numbered in parts:
                value, tensor = loss(*numbered)
                tensor.backward()
                total += value
        return total if self.group is None else self._sum_over(self.group, weights, total)

    def _parts(self, chosen: Longs) -> list[tuple[int, Longs]]:
        """The parts of a batch that this process computes, numbered among all parts."""
        rank, size = (0, 1) if self.group is None else (self.group.rank, self.group.size)
        count = max(size, self.accumulate if self._pool is None else SHARDS)
        order = chosen if count == 1 else chosen[np.argsort(-self.lengths[chosen], kind="stable")]
        return [(i, order[i::count]) for i in range(rank, min(count, len(order)), size)]

    def _sum_over(self, group: GradientGroup, weights: Sequence[Tensor], loss: float) -> float:
        """Sum gradients over processes, and the loss, which is returned."""
        group.add([each.grad for each in weights if each.grad is not None])
        total = torch.tensor([loss], dtype=torch.float64, device=weights[0].device)
        group.add([total])
        return float(total)

    def in_parallel(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply a function to all items: on a CPU by threads, on a GPU one after the other."""
        return list(map(function, items) if self._pool is None else self._pool.map(function, items))

    def _loss(self, batch: Sentences, gold: Gold) -> tuple[float, Tensor]:
        """The sum over words, and a tensor with the same gradient."""
        value, total, choices = self._loss_of_pass(batch, gold)
        if not self.consistency or not self.network.training:
            return value, total
        again, other, others = self._loss_of_pass(batch, gold)
        pairs = zip(choices, others, strict=True)
        apart = self.consistency * sum(weight * _difference(a, b) for (weight, a), (_, b) in pairs)
        return 0.5 * (value + again) + float(apart.detach()), 0.5 * (total + other) + apart

    def _loss_of_pass(self, batch: Sentences, gold: Gold) -> tuple[float, Tensor, list[Choice]]:
        """The same for one pass; with `consistency`, also its scores of heads, labels and tags."""
        states = self.network(batch)
        value, total, choices = self._tree_loss(states, batch, gold)
        parts = []
        known = torch.nonzero((gold.heads >= 0) & (gold.labels >= 0))[:, 0]
        if self.network.counts.labels and len(known):
            scores = self.network.label_scores(states, gold.heads[known], known, batch)
            parts.append(_label_loss(scores, known, gold))
            if self.consistency:
                choices.append((1.0, scores))
        for name, scores in self.network.output_scores(states, batch):
            loss = functional.cross_entropy(scores, gold.outputs[name], ignore_index=-1, reduction="sum")
            parts.append(self.weights[name] * loss)
            if self.consistency:
                choices.append((self.weights[name], scores[~batch.is_root]))
        rest = sum(parts, start=total.new_zeros(()))
        return value + float(rest.detach()), total + rest, choices

    def _tree_loss(self, states: States, batch: Sentences, gold: Gold) -> tuple[float, Tensor, list[Choice]]:
        """The loss of the trees, a tensor with the same gradient by the scores, and scores of heads."""
        on_tensors = getattr(self.loss, "on_tensors", None)  # losses may have a faster way
        value, total, choices = 0.0, states.last.new_zeros(()), []
        for group, scores in self.network.tree_scores(states, batch):
            arcs, inside = scores[PartKind.ARC], group.nodes < len(batch.sentence)
            if self.consistency:
                is_word = inside.clone()
                is_word[:, 0] = False
                choices.append((1.0, head_rows(arcs, inside, is_word)))
            loss = None
            if on_tensors is not None and len(scores) == 1:
                loss = on_tensors(arcs, group.heads, inside, self.family, group.soft)
            if loss is None and group.soft is not None:
                raise InputError("expected the loss local or crf over whole trees of order 1", field="soft")
            if loss is None:
                own, loss = self._loss_of_sentences(scores, [gold.trees[i] for i in group.sentences])
            else:
                own = float(loss.detach())
            value, total = value + own, total + loss
        return value, total, choices

    def _loss_of_sentences(
        self, given: dict[PartKind, Tensor], trees: list[GoldTree]
    ) -> tuple[float, Tensor]:
        """The same for a group, sentence by sentence, in NumPy."""
        arrays = {kind: scores.detach().cpu().numpy().astype(np.float64) for kind, scores in given.items()}
        slopes = {kind: np.zeros(array.shape) for kind, array in arrays.items()}
        value = 0.0
        for i, tree in enumerate(trees):
            inside = slice(len(tree.heads))
            cut: dict[PartKind, Any] = {k: (i, *[inside] * (a.ndim - 1)) for k, a in arrays.items()}
            own = {kind: arrays[kind][place] for kind, place in cut.items()}
            loss, gradient = self.loss(own, tree, self.family, self.cost)
            value += loss
            for kind, place in cut.items():
                slopes[kind][place] = gradient[kind]
        tensors = {kind: torch.from_numpy(slope).to(given[kind]) for kind, slope in slopes.items()}
        return value, sum((tensors[k] * given[k]).sum() for k in given)


def _label_loss(scores: Tensor, words: Tensor, gold: Gold) -> Tensor:
    """The cross-entropy of the labels of some words, summed; scores: (words, labels)."""
    if gold.soft_labels is None:
        return functional.cross_entropy(scores, gold.labels[words], reduction="sum")
    values, shares = (each[words] for each in gold.soft_labels)
    return -expected(scores.log_softmax(dim=1), values, shares)


def _difference(first: Tensor, second: Tensor) -> Tensor:
    """The mean of the two divergences of softmax distributions, summed over rows; -inf is of both or none."""
    a, b = first.log_softmax(dim=1), second.log_softmax(dim=1)
    return 0.5 * ((a.exp() - b.exp()) * (a - b).nan_to_num(nan=0.0)).sum()
