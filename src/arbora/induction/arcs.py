"""All arcs of a corpus with their features, a set of sentences at a time: what log-linear models learn from.

Only features that some arc of the corpus has are numbered, so that a vector over them stays short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arbora.induction.arc_model import pair_scores
from arbora.induction.corpus import Group, TagCorpus, by_length
from arbora.induction.features import ArcFeatures
from arbora.induction.trees import pieces
from arbora.types import Bools, Doubles, Ints, Longs


class CorpusArcs:
    """The features of a corpus, numbered from 0, and its sentences in sets of equal length."""

    def __init__(self, corpus: TagCorpus) -> None:
        self.corpus = corpus
        self.tags = len(corpus.tags)
        self.features = ArcFeatures(self.tags)
        seen = np.zeros(self.features.size, dtype=bool)
        for group in corpus.groups():
            for piece in pieces(group, 3):
                seen[self.features.places(piece.tags)[:, is_arc(group.length)]] = True
        self.used = np.flatnonzero(seen)
        """Which features of `ArcFeatures` arcs of the corpus have, in order."""
        self._numbers = np.zeros(self.features.size, dtype=np.int32)
        self._numbers[self.used] = np.arange(len(self.used))

    @property
    def size(self) -> int:
        return len(self.used)

    def full(self, weights: Doubles) -> Doubles:
        """Weights of the corpus' features as those of all features; others are 0."""
        found = np.zeros(self.features.size)
        found[self.used] = weights
        return found

    def sets(self, chosen: Longs | None = None) -> Iterator[ArcSet]:
        """Some sentences (all), by length, shortest first; long groups in pieces."""
        if chosen is None:
            groups = self.corpus.groups()
        else:
            groups = by_length([self.corpus.sentences[place] for place in chosen.tolist()])
        for group in groups:
            for piece in pieces(group, 3):
                yield self._set(piece)

    def _set(self, group: Group) -> ArcSet:
        # What is no arc gets some place: its coefficient is always 0, and its score is not looked at.
        return ArcSet(self._numbers[self.features.places(group.tags)], self.features.nodes(group.tags))


@dataclass(frozen=True, eq=False)
class ArcSet:
    """All arcs of m sentences of n words."""

    places: Ints
    """The numbers of each arc's features, (m, n+1, n+1, 7)."""
    nodes: Longs
    """The symbols of nodes -1 to n+1, (m, n+3)."""

    @property
    def length(self) -> int:
        return int(self.places.shape[1]) - 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of an array with a number for each arc: (m, n+1, n+1)."""
        m, size, _, _ = self.places.shape
        return m, size, size

    def scores(self, weights: Doubles) -> Doubles:
        return weights[self.places].sum(axis=-1)

    def pairs(self, table: Doubles) -> Doubles:
        """table[head, dependent] of each arc, (m, n+1, n+1); as in `ArcModel.pairs`."""
        return pair_scores(table, self.nodes)

    def add_features(self, coefficients: Doubles, total: Doubles) -> None:
        """total += Σ coefficient · features over arcs: the adjoint of `scores`."""
        repeated = np.repeat(coefficients.reshape(-1), self.places.shape[-1])
        total += np.bincount(self.places.reshape(-1), weights=repeated, minlength=len(total))

    def add_pairs(self, coefficients: Doubles, total: Doubles) -> None:
        """total[head, dependent] += coefficients of arcs of these tags, (symbols, symbols)."""
        here = self.nodes[:, 1:-1]
        size = len(total)
        numbers = here[:, :, None] * size + here[:, None, :]
        total += np.bincount(
            numbers.reshape(-1), weights=coefficients.reshape(-1), minlength=size**2
        ).reshape(size, size)


def is_arc(n: int) -> Bools:
    """Which entries of (n+1, n+1) are arcs: not the root's column, not the diagonal."""
    found = ~np.eye(n + 1, dtype=bool)
    found[:, 0] = False
    return found


def as_arcs(heads: Ints) -> Doubles:
    """Trees as numbers of arcs: 1 for each of a tree's, (m, n+1, n+1); heads (m, n+1)."""
    m, size = heads.shape
    found = np.zeros((m, size, size))
    words = np.arange(1, size)
    found[np.arange(m)[:, None], heads[:, 1:], words] = 1.0
    return found
