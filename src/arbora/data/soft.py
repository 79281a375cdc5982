"""Distributions over trees, stored as the most probable heads and labels of each word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arbora.data.encode import numbers_of
from arbora.errors import InputError
from arbora.formatting import describe
from arbora.types import Doubles, Ints, Longs

KEPT = 4
"""Values stored for each word; the rest of the probability is dropped."""


class Likeliest(NamedTuple):
    """The most probable values of each word, and their probabilities (`shares`), which sum to 1.

    A value without a share is 0.
    """

    values: NDArray[np.int16]  # (W, KEPT)
    shares: NDArray[np.float16]  # (W, KEPT)

    @classmethod
    def of(cls, rows: Doubles) -> Likeliest:
        """The largest of the probabilities of each word, (W, values)."""
        rows = np.pad(rows, ((0, 0), (0, max(0, KEPT - rows.shape[1]))))
        values = np.argpartition(-rows, KEPT - 1, axis=1)[:, :KEPT]
        shares = np.take_along_axis(rows, values, axis=1)
        sums = shares.sum(axis=1, keepdims=True)
        kept = (shares / np.where(sums > 0.0, sums, 1.0)).astype(np.float16)
        return cls(np.where(kept > 0, values, 0).astype(np.int16), kept)

    @classmethod
    def certain(cls, values: ArrayLike) -> Likeliest:
        """One value for each word; -1: none, with no share."""
        given = np.asarray(values)
        found = cls(np.zeros((len(given), KEPT), np.int16), np.zeros((len(given), KEPT), np.float16))
        found.values[:, 0], found.shares[:, 0] = np.maximum(given, 0), given >= 0
        return found

    def renumbered(self, places: Ints | Longs) -> Likeliest:
        """With new ids for the values; values with id -1 lose their share."""
        values = places[self.values]
        return Likeliest(np.maximum(values, 0).astype(np.int16), np.where(values >= 0, self.shares, 0))

    def select(self, words: Any) -> Likeliest:
        return Likeliest(self.values[words], self.shares[words])


@dataclass(frozen=True, eq=False)
class SoftTrees:
    """Heads and labels of all words of some sentences; a label is that of the likeliest tree's arc."""

    heads: Likeliest
    labels: Likeliest  # indices into `names`
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.heads.values)

    @classmethod
    def of(cls, arcs: Sequence[Doubles], labels: Doubles, names: tuple[str, ...]) -> SoftTrees:
        """From the probabilities of arcs, (n+1, n+1) [head, dep] per sentence, and of labels, (W, labels)."""
        most = max(map(len, arcs), default=0)
        lengths = [0, *np.cumsum([len(each) - 1 for each in arcs]).tolist()]
        rows = np.zeros((lengths[-1], most))
        for table, (start, end) in zip(arcs, pairwise(lengths), strict=True):
            rows[start:end, : len(table)] = table[:, 1:].T
        return cls(Likeliest.of(rows), Likeliest.of(labels), names)

    @classmethod
    def certain(cls, heads: Ints, labels: Ints, names: tuple[str, ...]) -> SoftTrees:
        """Trees without doubts, (W,) each; -1 for unknown."""
        return cls(Likeliest.certain(heads), Likeliest.certain(labels), names)

    @classmethod
    def concat(cls, parts: Sequence[SoftTrees]) -> SoftTrees:
        """All parts in order; the first one's names include those of the others."""

        def joined(each: Sequence[Likeliest]) -> Likeliest:
            return Likeliest(*(np.concatenate(arrays) for arrays in zip(*each, strict=True)))

        names = parts[0].names
        labels = [part.with_names(names).labels for part in parts]
        return cls(joined([part.heads for part in parts]), joined(labels), names)

    def with_names(self, names: tuple[str, ...]) -> SoftTrees:
        """The same trees with labels of these names; those without a name lose their share."""
        if names == self.names:
            return self
        places = np.append(numbers_of(self.names, names), -1)
        return SoftTrees(self.heads, self.labels.renumbered(places), names)

    def select(self, words: Any) -> SoftTrees:
        return SoftTrees(self.heads.select(words), self.labels.select(words), self.names)

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        return {
            "heads": self.heads.values,
            "heads.shares": self.heads.shares,
            "labels": self.labels.values,
            "labels.shares": self.labels.shares,
        }

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, NDArray[Any]], lengths: Longs, names: tuple[str, ...]
    ) -> SoftTrees:
        """The inverse of `to_tensors`; InputError unless it fits sentences of these lengths."""
        found = []
        most = {"heads": np.repeat(lengths, lengths)[:, None], "labels": max(1, len(names)) - 1}
        for name, largest in most.items():
            values, shares = tensors.get(name), tensors.get(f"{name}.shares")
            shape = (int(lengths.sum()), KEPT)
            if values is None or values.dtype != np.int16 or values.shape != shape:
                raise InputError(f"{name}: expected {shape} in int16, got {describe(values)}")
            if shares is None or shares.dtype != np.float16 or shares.shape != shape:
                raise InputError(f"{name}.shares: expected {shape} in float16, got {describe(shares)}")
            is_used = shares > 0
            fits = (values >= 0) & (values <= largest)
            if not (is_share := (shares >= 0) & (shares <= 1)).all():
                raise InputError(f"{name}.shares: expected 0 to 1, got {shares[~is_share][0]}")
            if (wrong := is_used & ~fits).any():
                what = "nodes of the sentence" if name == "heads" else f"labels, 0 to {largest}"
                raise InputError(f"{name}: expected numbers of {what}, got {values[wrong][0]}")
            found.append(Likeliest(np.where(is_used, values, 0), np.array(shares)))
        return cls(found[0], found[1], names)
