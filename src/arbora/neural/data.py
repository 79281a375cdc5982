"""A treebank as arrays, from which each step of training takes some sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from arbora.data.soft import Likeliest, SoftTrees
from arbora.interfaces import GoldTree
from arbora.neural.heads import Group, GuideRows, Sentences
from arbora.neural.network import GAP, WordRows
from arbora.scorers.vocabulary import NetworkInput
from arbora.types import Ints, Longs

MOST_PADDING = 0.4
"""The share of a sentence's row that may be padding, on a CPU. On a GPU, one large group is faster."""


@dataclass(frozen=True, eq=False)
class Gold:
    """Gold annotation of some sentences; rows are nodes as in `Sentences`, -1 for unknown."""

    trees: list[GoldTree]
    heads: Tensor  # (N,), the rows of heads
    labels: Tensor  # (N,)
    outputs: dict[str, Tensor]  # (N,) each
    soft_labels: tuple[Tensor, Tensor] | None = None  # the likeliest labels and their shares, (N, k) each


@dataclass(frozen=True, eq=False)
class Layout:
    """The places of the nodes of some sentences: for each sentence the root, then its words; N in all."""

    words: Longs  # the words of these sentences, among all
    nodes: Longs  # (sentences,), how many each has
    device: torch.device | str

    @cached_property
    def starts(self) -> Longs:
        """The first node of each sentence, and N."""
        return np.append(0, np.cumsum(self.nodes))

    @cached_property
    def sentence(self) -> Longs:
        """(N,)."""
        return np.repeat(np.arange(len(self.nodes)), self.nodes)

    @cached_property
    def place(self) -> Longs:
        """Of each node in its sentence, (N,)."""
        return np.arange(self.starts[-1]) - self.starts[self.sentence]

    @cached_property
    def is_root(self) -> NDArray[np.bool_]:
        return self.place == 0

    def spread(self, values: Ints | Longs, fill: int) -> Longs:
        """The values of nodes, (N,), from those of all words; `fill` for the root."""
        rows = np.full(len(self.place), fill, np.int64)
        rows[~self.is_root] = values[self.words]
        return rows

    def tensor(self, values: Ints | Longs) -> Tensor:
        whole = torch.from_numpy(np.ascontiguousarray(values, np.int64))
        return whole.to(self.device, non_blocking=True)

    def likeliest(self, given: Likeliest, nodes: Longs | None = None) -> tuple[Tensor, Tensor]:
        """The values of nodes and their shares, (N, k) or (*nodes, k); no shares for the root and for N."""
        rows = np.append(np.where(self.is_root, 0, np.cumsum(~self.is_root)), 0)
        rows = rows[:-1] if nodes is None else rows[nodes]
        values = np.append(np.zeros_like(given.values[:1]), given.values, axis=0)[rows]
        shares = np.append(np.zeros_like(given.shares[:1]), given.shares, axis=0)[rows]
        return self.tensor(values), torch.from_numpy(shares.astype(np.float32)).to(self.device)


class Reader(Protocol):
    """A treebank as a network's input."""

    @property
    def lengths(self) -> Ints:
        """Of sentences, in words."""

    @property
    def guide_labels(self) -> Ints:
        """The rows of the labels of a guide's trees, (W,), if it reads them."""

    def rows(self, layout: Layout) -> Any:
        """The inputs of the sentences in a layout: `Sentences.inputs`."""


@dataclass(frozen=True, eq=False)
class WordReader:
    """Rows of tables, for `arbora.neural.network`."""

    inputs: NetworkInput

    @property
    def lengths(self) -> Ints:
        return self.inputs.lengths

    @property
    def guide_labels(self) -> Ints:
        return self.inputs.tags[-1]

    def spelled(self, types: Longs) -> tuple[Longs, Longs, Longs]:
        """The characters of some distinct words, separated by -1; their places; how many each word has."""
        ends = self.inputs.ends
        lengths = np.diff(np.append(0, ends))[types]
        sources = ranges(ends[types] - lengths, lengths)
        places = ranges(GAP + np.append(0, np.cumsum(lengths + GAP)[:-1]), lengths)
        laid_out = np.full(int(lengths.sum()) + GAP * (len(types) + 1), -1, np.int64)
        laid_out[places] = self.inputs.characters[sources]
        return laid_out, places, lengths

    def rows(self, layout: Layout) -> WordRows:
        """The rows of distinct words and of nodes."""
        tensor, nodes, place = layout.tensor, layout.nodes, layout.place
        used, types = np.unique(self.inputs.types[layout.words], return_inverse=True)
        rows = np.zeros(len(place), np.int64)
        rows[~layout.is_root] = types + 1
        rank = np.argsort(np.argsort(-nodes, kind="stable"))
        order = np.lexsort((np.repeat(rank, nodes), place))
        characters, letters, spelling = map(tensor, self.spelled(used.astype(np.int64)))
        return WordRows(
            types=tensor(rows),
            words=tensor(self.inputs.words[used]),
            vectors=tensor(self.inputs.vectors[used]),
            characters=characters,
            letters=letters,
            spelling=spelling,
            tags=[tensor(layout.spread(column, 0)) for column in self.inputs.tags],
            counts=np.bincount(place).tolist(),
            packed=tensor(order),
            unpacked=tensor(np.argsort(order)),
        )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sentences as a network's input, with gold predictions: (W,) each, -1 for unknown."""

    reader: Reader
    heads: Ints
    labels: Ints
    outputs: Mapping[str, Ints]
    guide: Ints | None = None
    """The heads of a guide's trees; the reader has the rows of their labels."""
    soft: SoftTrees | None = None
    """The likeliest heads and labels, where those above are not certain."""

    @cached_property
    def first(self) -> Longs:
        """The first word of each sentence, and W."""
        return np.append(0, np.cumsum(self.reader.lengths)).astype(np.int64)

    def select(
        self, chosen: Longs, device: torch.device | str = "cpu", random: torch.Generator | None = None
    ) -> tuple[Sentences, Gold]:
        """Some sentences, in this order."""
        lengths = self.reader.lengths[chosen].astype(np.int64)
        layout = Layout(ranges(self.first[chosen], lengths), lengths + 1, device)
        tensor, nodes, starts = layout.tensor, layout.nodes, layout.starts
        heads, labels = layout.spread(self.heads, -1), layout.spread(self.labels, -1)

        soft = None if self.soft is None else self.soft.select(layout.words)

        def group(members: Longs) -> Group:
            padded = np.full((len(members), int(nodes[members].max())), starts[-1], np.int64)
            inside = np.arange(padded.shape[1]) < nodes[members][:, None]
            padded[inside] = ranges(starts[members], nodes[members])
            likely = None if soft is None else layout.likeliest(soft.heads, padded)
            return Group(members.tolist(), tensor(padded), tensor(np.append(heads, -1)[padded]), likely)

        padding = 1.0 if torch.device(device).type == "cuda" else MOST_PADDING
        guide = None
        if self.guide is not None:
            columns = (self.guide, self.reader.guide_labels)
            guide = GuideRows(*(tensor(layout.spread(column, 0)) for column in columns))
        sentences = Sentences(
            count=len(chosen),
            sentence=tensor(layout.sentence),
            is_root=torch.from_numpy(layout.is_root).to(device),
            groups=[group(each) for each in _similar(nodes, padding)],
            inputs=self.reader.rows(layout),
            guide=guide,
            random=random,
        )
        pairs = zip(np.split(heads, starts[1:-1]), np.split(labels, starts[1:-1]), strict=True)
        trees = [GoldTree(*(each.astype(np.int32) for each in pair)) for pair in pairs]
        outputs = {name: tensor(layout.spread(values, -1)) for name, values in self.outputs.items()}
        head_rows = np.where(heads >= 0, heads + starts[layout.sentence], -1)
        soft_labels = None if soft is None else layout.likeliest(soft.labels)
        return sentences, Gold(trees, tensor(head_rows), tensor(labels), outputs, soft_labels)


def ranges(starts: Longs, lengths: Longs) -> Longs:
    """The ranges of numbers with these starts and lengths, concatenated."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _similar(nodes: Longs, padding: float) -> list[Longs]:
    """Groups of sentences, the longest first; `padding` is the largest share of a row that is padding."""
    order = np.argsort(-nodes, kind="stable")
    groups = []
    while len(order):
        count = int(np.count_nonzero(nodes[order] >= (1.0 - padding) * nodes[order[0]]))
        groups.append(order[:count])
        order = order[count:]
    return groups
