"""Clusters of words in a binary tree: features of words that training has not seen.

A cluster's code is a bit string, the branches from the root of the tree to a leaf; a prefix of it is a larger
cluster. Parsers with linear scores look at prefixes of several lengths [koo-2008], as [miller-2004] did for
names with the clusters of [brown-1992], and [turian-2010] compared with word vectors. Here the tree is made
from the top: the words of a node are divided by 2-means of their vectors, weighted by frequency.

    start with the direction in which the vectors vary most (power iteration);
    put each word on the side of the nearer mean and compute the means again, until no word moves

Time O(words · dimensions · DEPTH · ROUNDS), memory O(words · dimensions). Vectors have length 1 and are
rounded to a grid, weights are whole numbers, and every sum is one of whole numbers below 2^53, which is
exact in any order: the tree is the same on every machine and for any number of threads. Ties go left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arbora._core import Clusters
from arbora.storage.model_file import ModelFile
from arbora.storage.vectors import WordVectors
from arbora.types import Bools, Doubles, Longs

GRID = 1 << 12  # steps from 0 to 1 of a coordinate
WEIGHT = 1 << 26  # all words together
ROUNDS = 12  # at most, of power iteration and of 2-means
DEPTH = 12
TENSORS = {"clusters.keys": np.uint32, "clusters.codes": np.uint16}


@dataclass(frozen=True, eq=False)
class WordClusters:
    """The clusters of words; immutable."""

    native: Clusters

    @classmethod
    def of(cls, words: Sequence[str], codes: Iterable[int]) -> WordClusters:
        """Clusters by their codes: a 1, then a bit per branch, so that 0b1011 is left, right, right."""
        return cls(Clusters.of(list(words), np.fromiter(codes, np.uint16)))

    @classmethod
    def of_vectors(cls, vectors: WordVectors) -> WordClusters:
        """Clusters of vectors; the weight of a word is 1 / √rank, so that rare words decide less."""
        ranks = np.arange(1, len(vectors.words) + 1)
        return cls.of(vectors.words, split_tree(vectors.values, 1 / np.sqrt(ranks)))

    def __len__(self) -> int:
        """The number of words."""
        return len(self.native)

    def bits(self, word: str) -> str:
        """The bit string of a word, or of the word in lower case; empty if both are unknown."""
        return f"{self.native.find(word):b}"[1:]

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """Tensors for a model file."""
        return dict(zip(TENSORS, (self.native.keys(), self.native.codes()), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_arrays, (*self.to_tensors().values(),)

    @classmethod
    def from_file(cls, file: ModelFile) -> WordClusters | None:
        """The clusters in a file, None if there are none; ModelError or InputError if they are damaged."""
        if not file.tensors.keys() & TENSORS:
            return None
        keys, codes = (file.tensor(name, dtype, [None]) for name, dtype in TENSORS.items())
        return _from_arrays(keys, codes)


def _from_arrays(keys: NDArray[Any], codes: NDArray[Any]) -> WordClusters:
    return WordClusters(Clusters.from_arrays(np.ascontiguousarray(keys), np.ascontiguousarray(codes)))


def split_tree(vectors: ArrayLike, weights: ArrayLike, depth: int = DEPTH) -> Longs:
    """The code of each vector's leaf, see `WordClusters.of`; shapes (N, d) and (N,). A code has depth bits
    at most, and fewer if vectors are indistinguishable."""
    points, shares = _unit_vectors(np.asarray(vectors, np.float64)), np.asarray(weights, np.float64)
    whole = np.maximum(np.round(shares * (WEIGHT / math.fsum(shares))), 1)
    codes = np.ones(len(points), np.int64)
    nodes = [(np.arange(len(points)), points)]
    for _ in range(depth):
        below = []
        for members, own in nodes:
            right = _halve(own, whole[members])
            if right is not None:
                codes[members] = 2 * codes[members] + right
                below += [(members[side], own[side]) for side in (~right, right)]
        nodes = below
    return codes


def _unit_vectors(vectors: Doubles) -> Doubles:
    """Centred vectors of length 1, in steps of the grid."""
    points = _on_grid(vectors)
    points -= np.round(points.sum(axis=0) / max(1, len(points)))
    lengths = np.sqrt((points * points).sum(axis=1))
    return np.round(points * (GRID / np.maximum(lengths, 1))[:, None])


def _on_grid(values: Doubles) -> Doubles:
    """The values as whole numbers, of which the largest is GRID."""
    largest = float(np.abs(values).max(initial=0))
    return np.round(values * (GRID / largest)) if largest else values


def _halve(points: Doubles, weights: Doubles) -> Bools | None:
    """Whether each point goes right; None if all points are the same."""
    total, weight = weights @ points, float(weights.sum())
    centred = points - np.round(total / weight)
    axis = centred[np.argmax((centred * centred).sum(axis=1))]
    for _ in range(ROUNDS):
        axis = _on_grid((weights * _on_grid(centred @ _on_grid(axis))) @ centred)
    right: Bools = centred @ axis > 0
    for _ in range(ROUNDS):
        moved = float(weights[right].sum())
        if not 0 < moved < weight:
            return None
        sums = (weights * right) @ points
        low, high = np.round((total - sums) / (weight - moved)), np.round(sums / moved)
        before, right = right, 2 * (points @ (high - low)) > (high - low) @ (high + low)
        if np.array_equal(before, right):
            break
    return right if 0 < np.count_nonzero(right) < len(right) else None
