"""A treebank as arrays, from which each step of training takes some sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from arbora.interfaces import GoldTree
from arbora.neural.network import GAP, Group, Sentences
from arbora.scorers.vocabulary import NetworkInput
from arbora.types import Ints, Longs

MOST_PADDING = 0.4
"""The share of a sentence's row that may be padding, on a CPU. On a GPU, one large group is faster."""


@dataclass(frozen=True, eq=False)
class Gold:
    """What is known of some sentences; rows are nodes as in `Sentences`, -1 where nothing is known."""

    trees: list[GoldTree]
    heads: Tensor  # (N,), the rows of heads
    labels: Tensor  # (N,)
    outputs: dict[str, Tensor]  # (N,) each


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Sentences as rows of a network's tables, with what is to be predicted: (W,) each, -1 for unknown."""

    inputs: NetworkInput
    heads: Ints
    labels: Ints
    outputs: Mapping[str, Ints]
    guide: Ints | None = None
    """The heads of a guide's trees."""

    @cached_property
    def first(self) -> Longs:
        """The first word of each sentence, and W."""
        return np.append(0, np.cumsum(self.inputs.lengths)).astype(np.int64)

    def spelled(self, types: Longs) -> tuple[Longs, Longs, Longs]:
        """The characters of some distinct words, separated by -1; their places; how many each word has."""
        ends = self.inputs.ends
        lengths = np.diff(np.append(0, ends))[types]
        sources = _ranges(ends[types] - lengths, lengths)
        places = _ranges(GAP + np.append(0, np.cumsum(lengths + GAP)[:-1]), lengths)
        laid_out = np.full(int(lengths.sum()) + GAP * (len(types) + 1), -1, np.int64)
        laid_out[places] = self.inputs.characters[sources]
        return laid_out, places, lengths

    def select(
        self, chosen: Longs, device: torch.device | str = "cpu", random: torch.Generator | None = None
    ) -> tuple[Sentences, Gold]:
        """Some sentences, in this order."""
        lengths = self.inputs.lengths[chosen].astype(np.int64)
        words = _ranges(self.first[chosen], lengths)
        nodes = lengths + 1
        starts = np.append(0, np.cumsum(nodes))
        sentence = np.repeat(np.arange(len(chosen)), nodes)
        place = np.arange(starts[-1]) - starts[sentence]
        is_root = place == 0

        def spread(values: Ints, fill: int) -> Longs:
            rows = np.full(len(place), fill, np.int64)
            rows[~is_root] = values[words]
            return rows

        used, types = np.unique(self.inputs.types[words], return_inverse=True)
        rows = np.zeros(len(place), np.int64)
        rows[~is_root] = types + 1
        order = np.lexsort((np.repeat(np.argsort(np.argsort(-nodes, kind="stable")), nodes), place))
        heads, labels = spread(self.heads, -1), spread(self.labels, -1)

        def tensor(values: Ints | Longs) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, np.int64)).to(device, non_blocking=True)

        def group(members: Longs) -> Group:
            padded = np.full((len(members), int(nodes[members].max())), len(place), np.int64)
            inside = np.arange(padded.shape[1]) < nodes[members][:, None]
            padded[inside] = _ranges(starts[members], nodes[members])
            return Group(members.tolist(), tensor(padded), tensor(np.append(heads, -1)[padded]))

        padding = 1.0 if torch.device(device).type == "cuda" else MOST_PADDING
        characters, letters, spelling = map(tensor, self.spelled(used.astype(np.int64)))
        sentences = Sentences(
            types=tensor(rows),
            sentence=tensor(sentence),
            is_root=torch.from_numpy(is_root).to(device),
            words=tensor(self.inputs.words[used]),
            vectors=tensor(self.inputs.vectors[used]),
            characters=characters,
            letters=letters,
            spelling=spelling,
            tags=[tensor(spread(column, 0)) for column in self.inputs.tags],
            guide=None if self.guide is None else tensor(spread(self.guide, 0)),
            counts=np.bincount(place).tolist(),
            packed=tensor(order),
            unpacked=tensor(np.argsort(order)),
            groups=[group(each) for each in _similar(nodes, padding)],
            random=random,
        )
        pairs = zip(np.split(heads, starts[1:-1]), np.split(labels, starts[1:-1]), strict=True)
        trees = [GoldTree(*(each.astype(np.int32) for each in pair)) for pair in pairs]
        outputs = {name: tensor(spread(values, -1)) for name, values in self.outputs.items()}
        head_rows = np.where(heads >= 0, heads + starts[sentence], -1)
        return sentences, Gold(trees, tensor(head_rows), tensor(labels), outputs)


def _ranges(starts: Longs, lengths: Longs) -> Longs:
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
