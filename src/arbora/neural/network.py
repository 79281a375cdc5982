"""The network of a neural parser in PyTorch; core/neural/network.hpp has its definition and forward pass.

    x   word embedding, character convolutions, projected word vector, embeddings of given tags
    s   bidirectional LSTM over the root and the words
    scores of arcs and of labels from the last layer's states, of siblings if wanted; of tags from the first's

In training, dropout hides whole features of words (word, characters, vector), the same units of the LSTM's
inputs and of hidden layers in all words of a sentence, and recurrent weights [gal-2016, merity-2018].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from arbora.neural.lstm import bidirectional
from arbora.neural.settings import NeuralSettings
from arbora.types import Floats

SLOPE = 0.1  # of the rectifiers below 0
WIDTHS = (3, 5)  # characters that a convolution sees
OUTPUT_LAYER = 0  # tags are read from this layer of the LSTM


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
class Sentences:
    """B sentences as rows of nodes, N in all: of each sentence the root, then its words."""

    types: Tensor  # (N,), places among the distinct words; 0 for the root
    sentence: Tensor  # (N,)
    is_root: Tensor  # (N,)
    words: Tensor  # (U,), of the distinct words
    vectors: Tensor  # (U,)
    characters: Tensor  # (U, C), -1 past the end
    tags: list[Tensor]  # (N,) each
    guide: Tensor | None  # (N,), the heads of a guide's trees
    counts: list[int]  # how many sentences have a t-th node
    packed: Tensor  # (N,), the rows sorted by place in the sentence, longest sentences first
    unpacked: Tensor  # (N,), its inverse
    padded: Tensor  # (B, T+1), the row of each node; N past the end
    random: torch.Generator | None = None  # of dropout


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
        inputs = s.word_size + s.filters * len(WIDTHS) + s.tag_size * len(counts.tags)
        if counts.vectors:
            assert vectors is not None
            self.register_buffer("table", torch.from_numpy(vectors), persistent=False)
            self.projection = nn.Linear(counts.vectors, s.vector_size, bias=False)
            inputs += s.vector_size
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
        if counts.labels:
            self.hidden.update({name: nn.Linear(states, label) for name in ("label_head", "label_dep")})
            self.labels = nn.Parameter(torch.zeros(counts.labels, label + 1, label + 1))
        if counts.guide:
            self.guide = nn.Parameter(torch.zeros(counts.tags[-1]))
        if counts.siblings:
            names = ("sibling_head", "sibling_dep", "sibling_sib")
            self.hidden.update({name: nn.Linear(states, s.sibling_size) for name in names})
        self.output = nn.ModuleDict({name: nn.Linear(states, n) for name, n in counts.outputs.items()})
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
        if self.counts.guide:
            yield "guide", self.guide
        if self.counts.labels:
            yield "labels", self.labels
        for name, linear in self.output.items():
            yield f"output.{name}.weight", linear.weight
            yield f"output.{name}.bias", linear.bias

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

    def forward(self, batch: Sentences) -> tuple[Tensor, Tensor]:
        """States of nodes, (N, 2 · units), of the last layer and of the layer that tags are read from."""
        s = self.settings
        features = [rows[batch.types] for rows in self._type_features(batch)]
        tags = [table(rows) for table, rows in zip(self.tag, batch.tags, strict=True)]
        x = torch.cat([*self._drop_features(features, batch), *tags], dim=1)
        x = torch.where(batch.is_root[:, None], self.root, x)
        layers = []
        for layer in self.lstm:
            x = self._drop(x, float(s.dropout), batch)
            sides = [[layer[f"{side}_{n}"] for n in ("input", "recurrent", "bias")] for side in SIDES]
            for side in sides:
                side[1] = self._drop_weights(side[1], batch)
            x = bidirectional(x[batch.packed], batch.counts, *sides)[batch.unpacked]
            layers.append(x)
        return layers[-1], layers[OUTPUT_LAYER]

    def _type_features(self, batch: Sentences) -> list[Tensor]:
        """What depends on the distinct word alone, (U, ...) each."""
        inside = batch.characters >= 0
        embedded = self.character(batch.characters.clamp(min=0)) * inside[..., None]
        found = []
        for convolution in self.convolutions:
            places = convolution(embedded.transpose(1, 2))
            found.append(places.masked_fill(~inside[:, None], 0.0).amax(dim=2).relu())
        features = [self.word(batch.words), torch.cat(found, dim=1)]
        return [*features, self.projection(self.table[batch.vectors])] if self.counts.vectors else features

    def _drop_features(self, features: list[Tensor], batch: Sentences) -> list[Tensor]:
        """Hide whole features of words; those that are left make up for it."""
        rate = self.settings.feature_dropout
        if not self.training or not rate:
            return features
        kept = self._random((len(features), len(features[0]), 1), features[0], batch) >= rate
        factors = kept * (len(features) / kept.sum(dim=0).clamp(min=1))
        return [feature * factor for feature, factor in zip(features, factors, strict=True)]

    def _drop(self, x: Tensor, rate: float, batch: Sentences) -> Tensor:
        """Hide the same units in all words of a sentence."""
        if not self.training or not rate:
            return x
        mask = self._random((len(batch.padded), x.shape[1]), x, batch) >= rate
        return x * (mask / (1.0 - rate))[batch.sentence]

    def _drop_weights(self, weights: Tensor, batch: Sentences) -> Tensor:
        rate = float(self.settings.recurrent_dropout)
        if not self.training or not rate:
            return weights
        return weights * (self._random(weights.shape, weights, batch) >= rate) / (1.0 - rate)

    @staticmethod
    def _random(shape: tuple[int, ...], like: Tensor, batch: Sentences) -> Tensor:
        return torch.rand(shape, device=like.device, dtype=like.dtype, generator=batch.random)

    def _units(self, name: str, states: Tensor, batch: Sentences) -> Tensor:
        """One hidden layer, (N, units)."""
        rectified = functional.leaky_relu(self.hidden[name](states), SLOPE)
        return self._drop(rectified, float(self.settings.hidden_dropout), batch)

    # Scores

    def arc_scores(self, states: Tensor, batch: Sentences) -> Tensor:
        """(B, T+1, T+1), [head, dep]; anything past the end of a sentence."""
        by_head, by_dep = (self._units(name, states, batch) for name in ("arc_head", "arc_dep"))
        heads, deps = _pad(by_head, batch), _pad(by_dep @ self.arcs, batch)
        scores = heads @ deps.transpose(1, 2) + _pad((by_head @ self.arc_bias)[:, None], batch)
        if batch.guide is None:
            return scores
        (words,) = torch.nonzero(~batch.is_root, as_tuple=True)
        place = words - torch.nonzero(batch.is_root)[:, 0][batch.sentence[words]]
        arcs = (batch.sentence[words], batch.guide[words], place)
        return scores.index_put(arcs, self.guide[batch.tags[-1][words]], accumulate=True)

    def sibling_scores(self, states: Tensor, batch: Sentences) -> Tensor:
        """(B, T+1, T+1, T+1), [head, dep, sibling]; anything past the end of a sentence."""
        names = ("sibling_head", "sibling_dep", "sibling_sib")
        head, dep, sib = (_pad(self._units(name, states, batch), batch) for name in names)
        return torch.einsum("bhk,bdk,bsk->bhds", head, dep, sib)

    def label_scores(self, states: Tensor, heads: Tensor, deps: Tensor, batch: Sentences) -> Tensor:
        """(arcs, labels), of arcs between rows of nodes."""
        one = states.new_ones(len(heads), 1)
        by_head = torch.cat([self._units("label_head", states, batch)[heads], one], dim=1)
        by_dep = torch.cat([self._units("label_dep", states, batch)[deps], one], dim=1)
        size = by_dep.shape[1]
        products = by_dep @ self.labels.reshape(-1, size).t()  # (arcs, labels · size)
        return (products.view(len(heads), -1, size) * by_head[:, None]).sum(dim=2)


SIDES = ("forward", "backward")


def _pad(rows: Tensor, batch: Sentences) -> Tensor:
    """(B, T+1, ...), 0 past the end of a sentence."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])[batch.padded]
