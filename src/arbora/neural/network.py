"""The network of a neural parser in PyTorch; core/neural/network.hpp has its definition and forward pass.

    x   word embedding, character convolutions, rectified projection of the word vector,
        embeddings of given tags
    s   bidirectional LSTM over the root and the words
    scores of arcs and of labels from the last layer's states, of siblings if wanted; of arcs
    also from their lengths [qi-2018]
    scores of tags and lemmas from a hidden layer over the last two layers' states, and from x
    without given tags

In training, dropout hides features and units of distinct words wherever they occur in a batch, units of later
layers in all words of a sentence, and recurrent weights [gal-2016, merity-2018]. So what depends on the word
alone is multiplied once for each distinct word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from arbora.interfaces import PartKind
from arbora.neural.lstm import bidirectional
from arbora.neural.settings import NeuralSettings
from arbora.types import Floats

SLOPE = 0.1  # of the rectifiers below 0
WIDTHS = (3, 5)  # characters that a convolution sees
GAP = max(WIDTHS) // 2  # no convolution sees the characters of two words with so many places in between
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64)
"""Arcs as long as the i-th of these, and shorter than the next, are of class i; core/neural/arcs.cpp."""
LENGTH_CLASSES = 2 * len(LENGTHS) + 1  # of arcs to the left, none (never used), of arcs to the right


@dataclass(frozen=True)
class Counts:
    """The rows of a network's tables, and the values that it chooses from."""

    words: int
    characters: int
    labels: int
    outputs: Mapping[str, int]
    """Values of each column that is predicted."""
    tags: tuple[int, ...] = ()
    """Values of each column that is given."""
    vectors: int = 0
    """Numbers of a word vector; 0: there are none."""
    siblings: bool = False
    guide: bool = False
    """Whether the last column of given tags has the labels of a guide's trees."""


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of similar lengths, padded."""

    sentences: list[int]
    nodes: Tensor  # (B, T+1), the row of each node; N past the end
    heads: Tensor  # (B, T+1), of the gold trees; -1 for unknown and past the end

    def pad(self, rows: Tensor) -> Tensor:
        """(B, T+1, ...), 0 past the end of a sentence, from rows of all nodes."""
        return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])[self.nodes]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as rows of nodes, N in all: of each sentence the root, then its words."""

    types: Tensor  # (N,), places among the distinct words, from 1 on; 0 for the root
    sentence: Tensor  # (N,)
    is_root: Tensor  # (N,)
    words: Tensor  # (U,), of the distinct words
    vectors: Tensor  # (U,)
    characters: Tensor  # of all distinct words, with GAP places of -1 before, between and after them
    letters: Tensor  # where the other places are, (P,)
    spelling: Tensor  # how many letters each distinct word has, (U,)
    tags: list[Tensor]  # (N,) each
    guide: Tensor | None  # (N,), the heads of a guide's trees
    counts: list[int]  # how many sentences have a t-th node
    packed: Tensor  # (N,), the rows sorted by place in the sentence, longest sentences first
    unpacked: Tensor  # (N,), its inverse
    groups: list[Group]
    random: torch.Generator | None = None  # of dropout


class States(NamedTuple):
    """What the network makes of each node, (N, ...) each, and of each distinct word."""

    last: Tensor  # the last layer of the LSTM
    both: Tensor  # the last two layers, side by side
    words: Tensor  # what depends on the word alone, (U, ...)


class Network(nn.Module):
    """States of nodes, and scores from them."""

    table: Tensor

    def __init__(self, settings: NeuralSettings, counts: Counts, vectors: Floats | None = None) -> None:
        """`settings` are resolved. `vectors`: fixed word vectors, (rows, counts.vectors); row 0 is zero."""
        super().__init__()
        self.settings, self.counts = settings, counts
        s, units = settings, int(settings.units)
        self.word = nn.Embedding(counts.words, s.word_size)
        self.character = nn.Embedding(counts.characters, s.character_size)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(s.character_size, s.filters, width, padding=width // 2) for width in WIDTHS
        )
        self.tag = nn.ModuleList(nn.Embedding(count, s.tag_size) for count in counts.tags)
        word = s.word_size + s.filters * len(WIDTHS)
        if counts.vectors:
            assert vectors is not None
            self.register_buffer("table", torch.from_numpy(vectors), persistent=False)
            self.projection = nn.Linear(counts.vectors, s.vector_size, bias=False)
            word += s.vector_size
        inputs = word + s.tag_size * len(counts.tags)
        self.root = nn.Parameter(torch.zeros(inputs))
        self.lstm = nn.ModuleList(
            nn.ParameterDict(
                {
                    f"{side}_{name}": torch.zeros(shape)
                    for side in ("forward", "backward")
                    for name, shape in (
                        ("input", (4 * units, 2 * units if layer else inputs)),
                        ("recurrent", (4 * units, units)),
                        ("bias", (4 * units,)),
                    )
                }
            )
            for layer in range(int(s.layers))
        )
        states = 2 * units
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
            self.guide = nn.Parameter(torch.zeros(counts.tags[-1]))
        if counts.siblings:
            names = ("sibling_head", "sibling_dep", "sibling_sib")
            self.hidden.update({name: nn.Linear(states, s.sibling_size) for name in names})
        if counts.outputs:
            self.hidden["tags"] = nn.Linear(states * min(2, int(s.layers)), int(s.output_size))
        self.output = nn.ModuleDict(
            {name: nn.Linear(int(s.output_size), n) for name, n in counts.outputs.items()}
        )
        self.output_words = nn.ModuleDict(
            {name: nn.Linear(word, n, bias=False) for name, n in counts.outputs.items()}
        )
        self._initialise(units)

    def _initialise(self, units: int) -> None:
        """Small embeddings, orthogonal recurrences, and forget gates that start open."""
        for table in (self.word, *self.tag):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.normal_(self.root, std=0.1)
        nn.init.normal_(self.character.weight, std=0.3)
        for layer in self.lstm:
            for side in ("forward", "backward"):
                nn.init.xavier_uniform_(layer[f"{side}_input"])
                for gate in layer[f"{side}_recurrent"].data.chunk(4):
                    nn.init.orthogonal_(gate)
                layer[f"{side}_bias"].data[units : 2 * units] = 1.0

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """All weights by their names in model files, in a fixed order."""
        yield "word", self.word.weight
        yield "character", self.character.weight
        for i, convolution in enumerate(self.convolutions):
            yield f"convolution{i}.weight", convolution.weight
            yield f"convolution{i}.bias", convolution.bias
        if self.counts.vectors:
            yield "projection", self.projection.weight
        for i, table in enumerate(self.tag):
            yield f"tag{i}", table.weight
        yield "root", self.root
        for i, layer in enumerate(self.lstm):
            for name, weights in layer.items():
                yield f"lstm{i}.{name.replace('_', '.')}", weights
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
            yield f"output.{name}.words", self.output_words[name].weight

    def matrices(self) -> dict[str, int]:
        """Weights that multiply vectors, and the number of matrices that each is made up of."""
        found = {"arcs": 1} | ({"projection": 1} if self.counts.vectors else {})
        found |= {f"{name}.weight": 1 for name in self.hidden}
        gates = {
            name: 4 for name, _ in self.tensors() if re.fullmatch(r"lstm\d+\..*\.(input|recurrent)", name)
        }
        return found | gates

    def export(self) -> dict[str, Floats]:
        """A copy of all weights, for `arbora.scorers.neural`."""
        return {name: weights.detach().cpu().numpy().copy() for name, weights in self.tensors()}

    @torch.no_grad()
    def load(self, values: Mapping[str, Floats]) -> None:
        """Set all weights; the inverse of `export`."""
        for name, weights in self.tensors():
            weights.copy_(torch.from_numpy(np.array(values[name])))

    # States

    def forward(self, batch: Sentences) -> States:
        s = self.settings
        words = torch.cat(self._drop_features(self._type_features(batch), batch), dim=1)
        x, rows = self._first_inputs(words, batch)
        layers: list[Tensor] = []
        for layer in self.lstm:
            sides = [[layer[f"{side}_{n}"] for n in ("input", "recurrent", "bias")] for side in SIDES]
            for side in sides:
                side[1] = self._drop_weights(side[1], batch)
            if layers:
                x, rows = self._drop(layers[-1], float(s.dropout), batch)[batch.packed], None
            layers.append(bidirectional(x, batch.counts, sides[0], sides[1], rows)[batch.unpacked])
        return States(layers[-1], torch.cat(layers[-2:], dim=1), words)

    def _first_inputs(self, words: Tensor, batch: Sentences) -> tuple[Tensor, Tensor | None]:
        """What the first layer reads, and the row of each node if nodes share rows; in packed order."""
        rate = float(self.settings.dropout)
        if not self.tag:
            x = torch.cat([self.root[None], self._drop_each(words, rate, batch)])
            return x, batch.types[batch.packed]
        tags = [table(rows) for table, rows in zip(self.tag, batch.tags, strict=True)]
        read = words[(batch.types - 1).clamp(min=0)]
        x = torch.where(batch.is_root[:, None], self.root, torch.cat([read, *tags], dim=1))
        return self._drop(x, rate, batch)[batch.packed], None

    def _type_features(self, batch: Sentences) -> list[Tensor]:
        """What depends on the distinct word alone, (U, ...) each."""
        features = [self.word(batch.words), self._character_features(batch)]
        if self.counts.vectors:
            features.append(functional.leaky_relu(self.projection(self.table[batch.vectors]), SLOPE))
        return features

    def _character_features(self, batch: Sentences) -> Tensor:
        """The largest value of each filter over the letters of a word, at least 0, (U, filters).

        A filter's value is a sum of rows: what each character adds at each of the places around a letter.
        """
        found = []
        for convolution in self.convolutions:
            kernel = convolution.weight  # (filters, size, width)
            width = kernel.shape[2]
            rows = torch.einsum("ce,fek->kcf", self.character.weight, kernel)
            rows = torch.cat([rows, rows.new_zeros(width, 1, len(kernel))], dim=1).flatten(0, 1)
            places = batch.letters[:, None] + torch.arange(width, device=rows.device) - width // 2
            near = batch.characters[places] % (len(self.character.weight) + 1)  # -1: the row of zeros
            near = near + torch.arange(width, device=rows.device) * (len(self.character.weight) + 1)
            values = functional.embedding_bag(near, rows, mode="sum") + convolution.bias
            found.append(
                torch.segment_reduce(values, "max", lengths=batch.spelling, initial=0.0, unsafe=True)
            )
        return torch.cat(found, dim=1)

    def _drop_features(self, features: list[Tensor], batch: Sentences) -> list[Tensor]:
        """Hide whole features of words; those that are left make up for it."""
        rate = self.settings.feature_dropout
        if not self.training or not rate:
            return features
        kept = self._random((len(features), len(features[0]), 1), features[0], batch) >= rate
        factors = kept * (len(features) / kept.sum(dim=0).clamp(min=1))
        return [feature * factor for feature, factor in zip(features, factors, strict=True)]

    def _drop_each(self, x: Tensor, rate: float, batch: Sentences) -> Tensor:
        """Hide units of each row."""
        if not self.training or not rate:
            return x
        return x * (self._random(x.shape, x, batch) >= rate) / (1.0 - rate)

    def _drop(self, x: Tensor, rate: float, batch: Sentences) -> Tensor:
        """Hide the same units in all words of a sentence."""
        if not self.training or not rate:
            return x
        mask = self._random((batch.counts[0], x.shape[1]), x, batch) >= rate
        return x * (mask / (1.0 - rate))[batch.sentence]

    def _drop_weights(self, weights: Tensor, batch: Sentences) -> Tensor:
        return self._drop_each(weights, float(self.settings.recurrent_dropout), batch)

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
        is_word = group.nodes < len(batch.types)
        is_word[:, 0] = False
        words = group.nodes[is_word]
        sentence, place = torch.nonzero(is_word, as_tuple=True)
        arcs = (sentence, batch.guide[words], place)
        return scores.index_put(arcs, self.guide[batch.tags[-1][words]], accumulate=True)

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
        hidden = functional.leaky_relu(self.hidden["tags"](states.both), SLOPE)
        for name, layer in self.output.items():
            words = functional.pad(self.output_words[name](states.words), (0, 0, 1, 0))  # 0 for the root
            yield name, layer(hidden) + words[batch.types]


def length_classes(nodes: int, device: torch.device) -> Tensor:
    """The class of each arc's length, (nodes, nodes), [head, dep]."""
    place = torch.arange(nodes, device=device)
    length = place - place[:, None]
    bounds = torch.tensor(LENGTHS, device=device)
    return torch.bucketize(length.abs(), bounds, right=True) * length.sign() + len(LENGTHS)


SIDES = ("forward", "backward")
