"""The network of a neural parser in PyTorch; core/neural/network.hpp has its definition and forward pass.

    x   word embedding, character convolutions, rectified projection of the word vector,
        embeddings of given tags
    s   bidirectional LSTM over the root and the words
    scores of arcs and of labels from the last layer's states, of siblings if wanted; of arcs
    also from their lengths [qi-2018]
    scores of tags and lemmas from a hidden layer over all layers' states, and from x
    without given tags

In training, dropout hides features and units of distinct words wherever they occur in a batch, units of later
layers in all words of a sentence, and recurrent weights [gal-2016, merity-2018]. So what depends on the word
alone is multiplied once for each distinct word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from arbora.neural.heads import SLOPE, Counts, Heads, Sentences, States
from arbora.neural.lstm import bidirectional
from arbora.neural.settings import NeuralSettings
from arbora.types import Floats

WIDTHS = (3, 5)  # characters that a convolution sees
GAP = max(WIDTHS) // 2  # no convolution sees the characters of two words with so many places in between
SIDES = ("forward", "backward")


@dataclass(frozen=True)
class Tables:
    """The rows of a network's tables."""

    words: int
    characters: int
    tags: tuple[int, ...] = ()
    """Values of each column that is given."""
    vectors: int = 0
    """Numbers of a word vector; 0: there are none."""


@dataclass(frozen=True, eq=False)
class WordRows:
    """The network's inputs for the words of some sentences; U distinct words, N nodes."""

    types: Tensor  # (N,), places among the distinct words, from 1 on; 0 for the root
    words: Tensor  # (U,), of the distinct words
    vectors: Tensor  # (U,)
    characters: Tensor  # of all distinct words, with GAP places of -1 before, between and after them
    letters: Tensor  # where the other places are, (P,)
    spelling: Tensor  # how many letters each distinct word has, (U,)
    tags: list[Tensor]  # (N,) each
    counts: list[int]  # how many sentences have a t-th node
    packed: Tensor  # (N,), the rows sorted by place in the sentence, longest sentences first
    unpacked: Tensor  # (N,), its inverse


class Network(Heads):
    """States of nodes by an LSTM, and scores from them."""

    table: Tensor

    def __init__(
        self, settings: NeuralSettings, counts: Counts, tables: Tables, vectors: Floats | None = None
    ) -> None:
        """`settings` are resolved. `vectors`: fixed word vectors, (rows, tables.vectors); row 0 is zero."""
        s, units = settings, int(settings.units)
        super().__init__(settings, counts)
        self.word = nn.Embedding(tables.words, s.word_size)
        self.character = nn.Embedding(tables.characters, s.character_size)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(s.character_size, s.filters, width, padding=width // 2) for width in WIDTHS
        )
        self.tag = nn.ModuleList(nn.Embedding(count, s.tag_size) for count in tables.tags)
        word = s.word_size + s.filters * len(WIDTHS)
        self.has_vectors = tables.vectors > 0
        if self.has_vectors:
            assert vectors is not None
            self.register_buffer("table", torch.from_numpy(vectors), persistent=False)
            self.projection = nn.Linear(tables.vectors, s.vector_size, bias=False)
            word += s.vector_size
        inputs = word + s.tag_size * len(tables.tags)
        self.root = nn.Parameter(torch.zeros(inputs))
        self.lstm = nn.ModuleList(
            nn.ParameterDict(
                {
                    f"{side}_{name}": torch.zeros(shape)
                    for side in SIDES
                    for name, shape in (
                        ("input", (4 * units, 2 * units if layer else inputs)),
                        ("recurrent", (4 * units, units)),
                        ("bias", (4 * units,)),
                    )
                }
            )
            for layer in range(int(s.layers))
        )
        self.add_heads(2 * units, 2 * units * int(s.layers))
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
            for side in SIDES:
                nn.init.xavier_uniform_(layer[f"{side}_input"])
                for gate in layer[f"{side}_recurrent"].data.chunk(4):
                    nn.init.orthogonal_(gate)
                layer[f"{side}_bias"].data[units : 2 * units] = 1.0

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield "word", self.word.weight
        yield "character", self.character.weight
        for i, convolution in enumerate(self.convolutions):
            yield f"convolution{i}.weight", convolution.weight
            yield f"convolution{i}.bias", convolution.bias
        if self.has_vectors:
            yield "projection", self.projection.weight
        for i, table in enumerate(self.tag):
            yield f"tag{i}", table.weight
        yield "root", self.root
        for i, layer in enumerate(self.lstm):
            for name, weights in layer.items():
                yield f"lstm{i}.{name.replace('_', '.')}", weights
        yield from super().tensors()
        for name, linear in self.output_words.items():
            yield f"output.{name}.words", linear.weight

    def matrices(self) -> dict[str, int]:
        found = super().matrices() | ({"projection": 1} if self.has_vectors else {})
        gates = {
            name: 4 for name, _ in self.tensors() if re.fullmatch(r"lstm\d+\..*\.(input|recurrent)", name)
        }
        return found | gates

    # States

    def forward(self, batch: Sentences) -> States:
        s, rows = self.settings, batch.inputs
        words = torch.cat(self._drop_features(self._type_features(rows), batch), dim=1)
        x, shared = self._first_inputs(words, batch)
        layers: list[Tensor] = []
        for layer in self.lstm:
            sides = [[layer[f"{side}_{n}"] for n in ("input", "recurrent", "bias")] for side in SIDES]
            for side in sides:
                side[1] = self._drop_weights(side[1], batch)
            if layers:
                x, shared = self._drop(layers[-1], float(s.dropout), batch)[rows.packed], None
            layers.append(bidirectional(x, rows.counts, sides[0], sides[1], shared)[rows.unpacked])
        return States(layers[-1], torch.cat(layers, dim=1), words)

    def _first_inputs(self, words: Tensor, batch: Sentences) -> tuple[Tensor, Tensor | None]:
        """The first layer's inputs, and the row of each node if nodes share rows; in packed order."""
        rate, rows = float(self.settings.dropout), batch.inputs
        if not self.tag:
            x = torch.cat([self.root[None], self._drop_each(words, rate, batch)])
            return x, rows.types[rows.packed]
        tags = [table(values) for table, values in zip(self.tag, rows.tags, strict=True)]
        read = words[(rows.types - 1).clamp(min=0)]
        x = torch.where(batch.is_root[:, None], self.root, torch.cat([read, *tags], dim=1))
        return self._drop(x, rate, batch)[rows.packed], None

    def _type_features(self, rows: WordRows) -> list[Tensor]:
        """Values of distinct words without context, (U, ...) each."""
        features = [self.word(rows.words), self._character_features(rows)]
        if self.has_vectors:
            features.append(functional.leaky_relu(self.projection(self.table[rows.vectors]), SLOPE))
        return features

    def _character_features(self, given: WordRows) -> Tensor:
        """The largest value of each filter over the letters of a word, at least 0, (U, filters).

        A filter's value is a sum of rows: what each character adds at each of the places around a letter.
        """
        found = []
        for convolution in self.convolutions:
            kernel = convolution.weight  # (filters, size, width)
            width = kernel.shape[2]
            rows = torch.einsum("ce,fek->kcf", self.character.weight, kernel)
            rows = torch.cat([rows, rows.new_zeros(width, 1, len(kernel))], dim=1).flatten(0, 1)
            places = given.letters[:, None] + torch.arange(width, device=rows.device) - width // 2
            near = given.characters[places] % (len(self.character.weight) + 1)  # -1: the row of zeros
            near = near + torch.arange(width, device=rows.device) * (len(self.character.weight) + 1)
            values = functional.embedding_bag(near, rows, mode="sum") + convolution.bias
            found.append(
                torch.segment_reduce(values, "max", lengths=given.spelling, initial=0.0, unsafe=True)
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

    def _drop_weights(self, weights: Tensor, batch: Sentences) -> Tensor:
        return self._drop_each(weights, float(self.settings.recurrent_dropout), batch)

    def output_scores(self, states: States, batch: Sentences) -> Iterator[tuple[str, Tensor]]:
        for name, scores in super().output_scores(states, batch):
            words = functional.pad(self.output_words[name](states.words), (0, 0, 1, 0))  # 0 for the root
            yield name, scores + words[batch.inputs.types]
