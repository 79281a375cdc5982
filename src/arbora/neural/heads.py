"""The output layers of every network, in PyTorch: scores of arcs, siblings, labels and tags.

core/neural/network.hpp has the definitions and the forward pass. A subclass makes the states:
`arbora.neural.network` by an LSTM, `arbora.neural.transformer` by a transformer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from arbora.interfaces import PartKind
from arbora.neural.settings import NeuralSettings
from arbora.types import Floats

SLOPE = 0.1  # of the rectifiers below 0
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64)
"""Arcs as long as the i-th of these, and shorter than the next, are of class i; core/neural/arcs.cpp."""
LENGTH_CLASSES = 2 * len(LENGTHS) + 1  # of arcs to the left, none (never used), of arcs to the right


@dataclass(frozen=True)
class Counts:
    """The values that a network chooses from, and other parts that it may have."""

    labels: int
    outputs: Mapping[str, int]
    """Values of each column that is predicted."""
    siblings: bool = False
    guide: int = 0
    """Labels of a guide's trees, the unknown one included; 0: it has no guide."""


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of similar lengths, padded."""

    sentences: list[int]
    nodes: Tensor  # (B, T+1), the row of each node; N past the end
    heads: Tensor  # (B, T+1), of the gold trees; -1 for unknown and past the end
    soft: tuple[Tensor, Tensor] | None = None  # the likeliest heads and their shares, (B, T+1, k) each

    def pad(self, rows: Tensor) -> Tensor:
        """(B, T+1, ...), 0 past the end of a sentence, from rows of all nodes."""
        return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])[self.nodes]


@dataclass(frozen=True, eq=False)
class GuideRows:
    """The trees of a guide, (N,) each."""

    heads: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as rows of nodes, N in all: of each sentence the root, then its words."""

    count: int
    sentence: Tensor  # (N,)
    is_root: Tensor  # (N,)
    groups: list[Group]
    inputs: Any
    """The network's inputs: words (`network.WordRows`), or pieces (`transformer.PieceRows`)."""
    guide: GuideRows | None = None
    random: torch.Generator | None = None  # of dropout


class States(NamedTuple):
    """The network's states of each node, (N, ...) each."""

    last: Tensor  # for scores of trees and labels
    tags: Tensor  # for scores of tags
    words: Tensor | None = None  # for distinct words without context, (U, ...)


class Heads(nn.Module):
    """Scores from states; `forward` of a subclass makes the states of a batch."""

    own_threads: ClassVar[bool] = False
    """Whether PyTorch's own threads share its work; else the shards of a batch do."""

    def __init__(self, settings: NeuralSettings, counts: Counts) -> None:
        """`settings` are resolved. A subclass adds its own weights, then calls `add_heads`."""
        super().__init__()
        self.settings, self.counts = settings, counts

    def add_heads(self, states: int, tag_states: int) -> None:
        """Add the weights for scores from `States.last` and `States.tags` of these sizes."""
        s, counts = self.settings, self.counts
        arc, label = int(s.arc_size), int(s.label_size)
        self.hidden = nn.ModuleDict({"arc_head": nn.Linear(states, arc), "arc_dep": nn.Linear(states, arc)})
        self.arcs, self.arc_bias = nn.Parameter(torch.zeros(arc, arc)), nn.Parameter(torch.zeros(arc))
        self.lengths = nn.ParameterDict(
            {
                "head": torch.zeros(LENGTH_CLASSES, arc),
                "dep": torch.zeros(LENGTH_CLASSES, arc),
                "bias": torch.zeros(LENGTH_CLASSES),
            }
        )
        if counts.labels:
            self.hidden.update({name: nn.Linear(states, label) for name in ("label_head", "label_dep")})
            self.labels = nn.Linear(3 * label, counts.labels)
        if counts.guide:
            self.guide = nn.Parameter(torch.zeros(counts.guide))
        if counts.siblings:
            names = ("sibling_head", "sibling_dep", "sibling_sib")
            self.hidden.update({name: nn.Linear(states, s.sibling_size) for name in names})
        if counts.outputs:
            self.hidden["tags"] = nn.Linear(tag_states, int(s.output_size))
        self.output = nn.ModuleDict(
            {name: nn.Linear(int(s.output_size), n) for name, n in counts.outputs.items()}
        )

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """All weights by their names in model files, in a fixed order."""
        for name, linear in self.hidden.items():
            yield f"{name}.weight", linear.weight
            yield f"{name}.bias", linear.bias
        yield from (("arcs", self.arcs), ("arc_bias", self.arc_bias))
        yield from ((f"lengths.{name}", self.lengths[name]) for name in ("head", "dep", "bias"))
        if self.counts.guide:
            yield "guide", self.guide
        if self.counts.labels:
            yield from (("labels.weight", self.labels.weight), ("labels.bias", self.labels.bias))
        for name, linear in self.output.items():
            yield f"output.{name}.weight", linear.weight
            yield f"output.{name}.bias", linear.bias

    def matrices(self) -> dict[str, int]:
        """Weights that multiply vectors, and the number of matrices that each is made up of."""
        return {"arcs": 1} | {f"{name}.weight": 1 for name in self.hidden}

    def rates(self, rate: float) -> dict[str, float]:
        """Factors of the learning rate for some weights; 1 for all others."""
        return {}

    def export(self) -> dict[str, Floats]:
        """A copy of all weights, for a scorer."""
        return {name: weights.detach().cpu().numpy().copy() for name, weights in self.tensors()}

    @torch.no_grad()
    def load(self, values: Mapping[str, Floats]) -> None:
        """Set all weights; the inverse of `export`."""
        for name, weights in self.tensors():
            weights.copy_(torch.from_numpy(np.array(values[name])))

    # Dropout

    def _drop_each(self, x: Tensor, rate: float, batch: Sentences) -> Tensor:
        """Hide units of each row."""
        if not self.training or not rate:
            return x
        return x * (self._random(x.shape, x, batch) >= rate) / (1.0 - rate)

    def _drop(self, x: Tensor, rate: float, batch: Sentences) -> Tensor:
        """Hide the same units in all words of a sentence."""
        if not self.training or not rate:
            return x
        mask = self._random((batch.count, x.shape[1]), x, batch) >= rate
        return x * (mask / (1.0 - rate))[batch.sentence]

    @staticmethod
    def _random(shape: tuple[int, ...], like: Tensor, batch: Sentences) -> Tensor:
        return torch.rand(shape, device=like.device, dtype=like.dtype, generator=batch.random)

    def _units(self, name: str, states: Tensor, batch: Sentences) -> Tensor:
        """One hidden layer, (N, units)."""
        rectified = functional.leaky_relu(self.hidden[name](states), SLOPE)
        return self._drop(rectified, float(self.settings.hidden_dropout), batch)

    # Scores

    def tree_scores(self, states: States, batch: Sentences) -> Iterator[tuple[Group, dict[PartKind, Tensor]]]:
        """The scores of each group of sentences: arcs (B, T+1, T+1), [head, dep], and siblings if wanted,
        (B, T+1, T+1, T+1), [head, dep, sibling]; anything past the end of a sentence.
        """
        arcs = self._arc_units(states, batch)
        names = ("sibling_head", "sibling_dep", "sibling_sib") if self.counts.siblings else ()
        siblings = [self._units(name, states.last, batch) for name in names]
        for group in batch.groups:
            scores = {PartKind.ARC: self._arc_scores(arcs, batch, group)}
            if siblings:
                scores[PartKind.SIBLING] = torch.einsum("bhk,bdk,bsk->bhds", *map(group.pad, siblings))
            yield group, scores

    def _arc_units(self, states: States, batch: Sentences) -> list[Tensor]:
        """What scores of arcs are made of, (N, ...) each: products of the first two, and terms by length."""
        by_head, by_dep = (self._units(name, states.last, batch) for name in ("arc_head", "arc_dep"))
        head_lengths = by_head @ self.lengths["head"].t() + self.lengths["bias"]
        return [by_head, by_dep @ self.arcs + self.arc_bias, head_lengths, by_dep @ self.lengths["dep"].t()]

    def _arc_scores(self, units: list[Tensor], batch: Sentences, group: Group) -> Tensor:
        by_head, by_dep, head_lengths, dep_lengths = map(group.pad, units)
        scores = by_head @ by_dep.transpose(1, 2)
        classes = length_classes(scores.shape[1], scores.device).expand(scores.shape)
        of_deps = dep_lengths.gather(2, classes.transpose(1, 2)).transpose(1, 2)
        scores = scores + head_lengths.gather(2, classes) + of_deps
        if batch.guide is None:
            return scores
        is_word = group.nodes < len(batch.sentence)
        is_word[:, 0] = False
        words = group.nodes[is_word]
        sentence, place = torch.nonzero(is_word, as_tuple=True)
        arcs = (sentence, batch.guide.heads[words], place)
        return scores.index_put(arcs, self.guide[batch.guide.labels[words]], accumulate=True)

    def label_scores(self, states: States, heads: Tensor, deps: Tensor, batch: Sentences) -> Tensor:
        """(arcs, labels), of arcs between rows of nodes."""
        by_head = self._units("label_head", states.last, batch)[heads]
        by_dep = self._units("label_dep", states.last, batch)[deps]
        scores: Tensor = self.labels(torch.cat([by_head * by_dep, by_head, by_dep], dim=1))
        return scores

    def output_scores(self, states: States, batch: Sentences) -> Iterator[tuple[str, Tensor]]:
        """(N, values) of each column that is predicted."""
        if not self.output:
            return
        hidden = functional.leaky_relu(self.hidden["tags"](states.tags), SLOPE)
        for name, layer in self.output.items():
            yield name, layer(hidden)


def length_classes(nodes: int, device: torch.device) -> Tensor:
    """The class of each arc's length, (nodes, nodes), [head, dep]."""
    place = torch.arange(nodes, device=device)
    length = place - place[:, None]
    bounds = torch.tensor(LENGTHS, device=device)
    return torch.bucketize(length.abs(), bounds, right=True) * length.sign() + len(LENGTHS)
