"""First-order models over tags, for the CRF autoencoder, convex MST and the baselines.

    score(i → j) = Σ weights of the arc's features + pairs[tag i, tag j]

The features are Table 1 of [cai-2017], after [mcdonald-2005]. Each is joined with the distance between head i
and dependent j (1 to 5, 6 to 10, more) and the direction of the arc:

    tag i                        tag i, tag i-1, tag j        tag i, tag j, tag j-1
    tag j                        tag i, tag i+1, tag j        tag i, tag j, tag j+1
    tag i, tag j

Every combination has its own place in the weights: nothing is hashed. There are three symbols besides the
tags: an unknown tag, the root, and what lies beyond either end of the sentence. O(n²) per sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora.induction.corpus import TagCorpus, by_length
from arbora.induction.interfaces import TagModel
from arbora.interfaces import PartKind, Trees
from arbora.storage.model_file import ModelFile
from arbora.types import Bools, Doubles, Ints, Longs

TEMPLATES = 7
DISTANCES = 7  # 1, 2, 3, 4, 5, 6 to 10, more
UNKNOWN, ROOT, OUTSIDE = range(3)  # Symbols after the tags, in this order
SYMBOLS = 3


class ArcFeatures:
    """The places of arcs' features in a vector of weights, for a number of tags."""

    def __init__(self, tags: int) -> None:
        self.tags = tags
        self.symbols = s = tags + SYMBOLS
        per_template = [s, s, s**2, s**3, s**3, s**3, s**3]
        self._starts = np.cumsum([0, *per_template[:-1]], dtype=np.int64)
        self.size = sum(per_template) * 2 * DISTANCES  # The length of a weight vector

    def nodes(self, tags: Ints) -> Longs:
        """The symbols of nodes -1 to n+1, (m, n+3), of m sentences of n words, (m, n)."""
        m, n = tags.shape
        found = np.full((m, n + 3), self.tags + OUTSIDE, dtype=np.int64)
        found[:, 1] = self.tags + ROOT
        found[:, 2:-1] = tags
        return found

    def places(self, tags: Ints) -> Longs:
        """The features of all arcs of m sentences of n words: (m, n+1, n+1, 7), [head, dependent].

        Entries that are no arcs (column 0 and the diagonal) hold arbitrary places.
        """
        around = self.nodes(tags)
        here, before, after = around[:, 1:-1], around[:, :-2], around[:, 2:]
        i, j = here[:, :, None], here[:, None, :]
        s = self.symbols
        pair = i * s + j
        triples = (before[:, :, None], after[:, :, None], before[:, None, :], after[:, None, :])
        combined = [i + 0 * j, j + 0 * i, pair, *(pair * s + third for third in triples)]
        stretches = _stretches(tags.shape[1])[None, :, :, None]
        return (np.stack(combined, axis=-1) + self._starts) * (2 * DISTANCES) + stretches


@lru_cache(maxsize=64)
def _stretches(n: int) -> Longs:
    """Distance and direction of all arcs among n words as one number, (n+1, n+1)."""
    offsets = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    distances = np.abs(offsets)
    bins = np.where(distances <= 5, np.maximum(distances, 1) - 1, np.where(distances <= 10, 5, 6))
    return (bins * 2 + (offsets < 0)).astype(np.int64)


@lru_cache(maxsize=64)
def is_arc(n: int) -> Bools:
    """Which entries of (n+1, n+1) are arcs: not the root's column, not the diagonal. Read-only."""
    found = ~np.eye(n + 1, dtype=bool)
    found[:, 0] = False
    found.flags.writeable = False
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class ArcModel(TagModel):
    """Scores of arcs."""

    name: ClassVar[str] = "arcs"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)

    weights: Doubles  # Of `ArcFeatures`, (size,)
    pairs: Doubles  # [head, dependent] by symbols of `ArcFeatures`, (tags + 2, tags + 1); -inf forbids

    @cached_property
    def features(self) -> ArcFeatures:
        return ArcFeatures(len(self.tags))

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        found = self.weights[self.features.places(tags)].sum(axis=-1)
        return {PartKind.ARC: found + pair_scores(self.pairs, self.features.nodes(tags))}

    def tensors(self) -> dict[str, NDArray[Any]]:
        places = np.flatnonzero(self.weights)
        return {"places": places, "weights": self.weights[places], "pairs": self.pairs}

    @classmethod
    def from_file(cls, file: ModelFile, **known: Any) -> Self:
        tags = len(known["tags"])
        size = ArcFeatures(tags).size
        places, values = file.tensor("places", np.int64, [None]), file.tensor("weights", np.float64, [None])
        pairs = file.tensor("pairs", np.float64, [tags + 2, tags + 1])
        good = len(places) == len(values) and (not len(places) or 0 <= places.min() <= places.max() < size)
        if not good or not np.isfinite(values).all() or np.isnan(pairs).any() or (pairs == np.inf).any():
            raise file.error("weights: they do not fit the tags; the file is damaged")
        weights = np.zeros(size)
        weights[places] = values
        return cls(weights=weights, pairs=pairs, **known)


def pair_scores(pairs: Doubles, nodes: Longs) -> Doubles:
    """pairs[head, dependent] of all arcs, (m, n+1, n+1); `nodes` as from `ArcFeatures.nodes`."""
    here = nodes[:, 1:-1]
    # Column 0, the root's, is ignored: any number will do there.
    dependents = np.minimum(here, pairs.shape[1] - 1)
    return pairs[here[:, :, None], dependents[:, None, :]]


def pair_table(known: Doubles) -> Doubles:
    """Add unknown tags, with the mean of finite entries, to a table (tags + 1, tags); the root is last."""
    tags = known.shape[1]
    found = np.zeros((tags + SYMBOLS - 1, tags + 1))
    rows = [*range(tags), tags + ROOT]
    found[rows, :tags] = known
    finite_rows = (row[np.isfinite(row)] for row in known)
    found[rows, tags + UNKNOWN] = [row.mean() if len(row) else -np.inf for row in finite_rows]
    finite = np.isfinite(found[:tags])
    sums = np.where(finite, found[:tags], 0.0).sum(axis=0)
    found[tags + UNKNOWN] = sums / np.maximum(finite.sum(axis=0), 1)
    return found


class CorpusArcs:
    """All arcs of a corpus; the features that occur in it are numbered from 0, so vectors stay short."""

    def __init__(self, corpus: TagCorpus, most: int | None = None) -> None:
        """`most`: use only so many features, the most frequent ones; ties go to the first."""
        self.corpus = corpus
        self.tags = len(corpus.tags)
        self.features = ArcFeatures(self.tags)
        counts = np.zeros(self.features.size, dtype=np.int64)
        for _, tags in by_length(corpus.sentences):
            places = self.features.places(tags)[:, is_arc(tags.shape[1])]
            counts += np.bincount(places.ravel(), minlength=len(counts))
        ranked = np.argsort(-counts, kind="stable")[:most]
        self.used = np.sort(ranked[counts[ranked] > 0])  # Places of the features that are used
        self.size = len(self.used)
        self._numbers = np.full(self.features.size, self.size, dtype=np.int32)
        self._numbers[self.used] = np.arange(self.size)

    def model(self, weights: Doubles, pairs: Doubles, trees: Trees) -> ArcModel:
        """A model with weights of the features that are used; those of all others are 0."""
        found = np.zeros(self.features.size)
        found[self.used] = weights
        return ArcModel(tags=self.corpus.tags, weights=found, pairs=pairs, trees=trees)

    def sets(self, chosen: Longs | None = None) -> Iterator[ArcSet]:
        """The chosen sentences (default: all) by length, shortest first; long groups in pieces."""
        sentences = self.corpus.sentences
        for _, tags in by_length(sentences if chosen is None else [sentences[i] for i in chosen]):
            yield ArcSet(self._numbers[self.features.places(tags)], self.features.nodes(tags))


@dataclass(frozen=True, eq=False)
class ArcSet:
    """All arcs of m sentences of n words."""

    places: Ints  # The numbers of each arc's features, (m, n+1, n+1, 7); all that are not used share one
    nodes: Longs  # The symbols of nodes -1 to n+1, (m, n+3)

    @property
    def length(self) -> int:
        return int(self.places.shape[1]) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        """(m, n+1, n+1)"""
        return self.places.shape[:3]

    def scores(self, weights: Doubles) -> Doubles:
        return np.append(weights, 0.0)[self.places].sum(axis=-1)

    def pairs(self, table: Doubles) -> Doubles:
        return pair_scores(table, self.nodes)

    def add_features(self, coefficients: Doubles, total: Doubles) -> None:
        """total += Σ coefficient · features over arcs: the adjoint of `scores`."""
        repeated = np.repeat(coefficients.reshape(-1), TEMPLATES)
        total += np.bincount(self.places.reshape(-1), weights=repeated, minlength=len(total) + 1)[:-1]

    def add_pairs(self, coefficients: Doubles, total: Doubles) -> None:
        """total[head, dependent] += coefficients of arcs with these tags, (symbols, symbols)."""
        here, size = self.nodes[:, 1:-1], len(total)
        numbers = (here[:, :, None] * size + here[:, None, :]).reshape(-1)
        counts = np.bincount(numbers, weights=coefficients.reshape(-1), minlength=size**2)
        total += counts.reshape(size, size)
