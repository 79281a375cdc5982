"""A treebank as arrays, from which each step of training takes some sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from arbora.interfaces import GoldTree
from arbora.neural.network import Sentences
from arbora.scorers.vocabulary import NetworkInput
from arbora.types import Ints, Longs


@dataclass(frozen=True, eq=False)
class Gold:
    """What is known of some sentences; rows are nodes as in `Sentences`, -1 where nothing is known."""

    trees: list[GoldTree]
    heads: Tensor  # (N,), the rows of heads
    padded_heads: Tensor  # (B, T+1)
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

    @cached_property
    def spelling(self) -> tuple[Longs, Longs]:
        """The characters of each distinct word, padded by -1, (U, C), and their number, (U,)."""
        ends = self.inputs.ends
        lengths = np.diff(np.append(0, ends))
        padded = np.full((len(ends), int(lengths.max(initial=1))), -1, np.int64)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = self.inputs.characters
        return padded, lengths

    def select(
        self, chosen: Longs, device: torch.device | str = "cpu", random: torch.Generator | None = None
    ) -> tuple[Sentences, Gold]:
        """Some sentences, in this order."""
        lengths = self.inputs.lengths[chosen].astype(np.int64)
        words = np.concatenate([np.arange(*pair) for pair in zip(*self._ranges(chosen), strict=True)])
        nodes = lengths + 1
        starts = np.append(0, np.cumsum(nodes))
        sentence = np.repeat(np.arange(len(chosen)), nodes)
        place = np.arange(starts[-1]) - starts[sentence]
        is_root = place == 0

        def spread(values: Ints, fill: int) -> Longs:
            rows = np.full(len(place), fill, np.int64)
            rows[~is_root] = values[words]
            return rows

        used, types = np.unique(spread(self.inputs.types, 0), return_inverse=True)
        characters, sizes = self.spelling
        order = np.lexsort((np.repeat(np.argsort(np.argsort(-nodes, kind="stable")), nodes), place))
        padded = np.full((len(chosen), int(nodes.max())), len(place), np.int64)
        padded[sentence, place] = np.arange(len(place))

        def tensor(values: Ints | Longs) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values, np.int64)).to(device, non_blocking=True)

        sentences = Sentences(
            types=tensor(types),
            sentence=tensor(sentence),
            is_root=torch.from_numpy(is_root).to(device),
            words=tensor(self.inputs.words[used]),
            vectors=tensor(self.inputs.vectors[used]),
            characters=tensor(characters[used, : int(sizes[used].max(initial=1))]),
            tags=[tensor(spread(column, 0)) for column in self.inputs.tags],
            guide=None if self.guide is None else tensor(spread(self.guide, 0)),
            counts=np.bincount(place).tolist(),
            packed=tensor(order),
            unpacked=tensor(np.argsort(order)),
            padded=tensor(padded),
            random=random,
        )
        heads, labels = spread(self.heads, -1), spread(self.labels, -1)
        pairs = zip(np.split(heads, starts[1:-1]), np.split(labels, starts[1:-1]), strict=True)
        trees = [GoldTree(*(each.astype(np.int32) for each in pair)) for pair in pairs]
        outputs = {name: tensor(spread(values, -1)) for name, values in self.outputs.items()}
        rows = np.where(heads >= 0, heads + starts[sentence], -1)
        shown = np.append(heads, -1)[padded]
        return sentences, Gold(trees, tensor(rows), tensor(shown), tensor(labels), outputs)

    def _ranges(self, chosen: Longs) -> tuple[Longs, Longs]:
        return self.first[chosen], self.first[chosen + 1]
