"""A first-order model over tags: what CRF autoencoder, convex MST and simple baselines learn.

score(i → j) = Σ weights of the arc's features + pairs[tag i, tag j]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora.errors import ModelError
from arbora.induction.features import ROOT, SYMBOLS, UNKNOWN, ArcFeatures
from arbora.induction.interfaces import Parts
from arbora.interfaces import PartKind, Roots, Trees
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints, Longs


@dataclass(frozen=True, eq=False, kw_only=True)
class ArcModel:
    """Scores of arcs; see `arbora.induction.interfaces.TagModel`."""

    kind: ClassVar[str] = "arcs"

    tags: tuple[str, ...]
    weights: Doubles
    """Of `ArcFeatures`, (size,)."""
    pairs: Doubles
    """[head, dependent]: symbols of `ArcFeatures` but the last, (tags + 2, tags + 1); -inf forbids."""
    trees: Trees = "projective"
    roots: Roots = "single"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_features", ArcFeatures(len(self.tags)))

    @property
    def features(self) -> ArcFeatures:
        return self._features  # type: ignore[attr-defined]

    def scores(self, tags: Ints) -> dict[PartKind, Doubles]:
        """Of m sentences of n words, (m, n): arcs, (m, n+1, n+1). O(m n²)."""
        found: Doubles = self.weights[self.features.places(tags)].sum(axis=-1)
        return {PartKind.ARC: found + pair_scores(self.pairs, self.features.nodes(tags))}

    def to_parts(self) -> Parts:
        places = np.flatnonzero(self.weights)
        tensors: dict[str, NDArray[Any]] = {
            "places": places,
            "weights": self.weights[places],
            "pairs": self.pairs,
        }
        return tensors, {"tags": list(self.tags), "trees": self.trees, "roots": self.roots}

    @classmethod
    def from_file(cls, file: ModelFile, tags: tuple[str, ...], trees: Trees, roots: Roots) -> ArcModel:
        """What a model file holds; ModelError where it does not fit together."""
        size = ArcFeatures(len(tags)).size
        places, values = file.tensor("places", np.int64, [None]), file.tensor("weights", np.float64, [None])
        pairs = file.tensor("pairs", np.float64, [len(tags) + 2, len(tags) + 1])
        good = len(places) == len(values) and (not len(places) or 0 <= places.min() <= places.max() < size)
        if not good or not np.isfinite(values).all() or np.isnan(pairs).any() or (pairs == np.inf).any():
            raise ModelError("weights: they do not fit the tags; the file is damaged", source=file.source)
        weights = np.zeros(size)
        weights[places] = values
        return cls(tags=tags, weights=weights, pairs=pairs, trees=trees, roots=roots)


def pair_scores(pairs: Doubles, nodes: Longs) -> Doubles:
    """pairs[head, dependent] of all arcs; `nodes`: symbols of nodes -1 to n+1, (m, n+3). (m, n+1, n+1)."""
    here = nodes[:, 1:-1]
    # No word has the root's symbol: column 0 means nothing, so any number will do there.
    dependents = np.minimum(here, pairs.shape[1] - 1)
    return pairs[here[:, :, None], dependents[:, None, :]]


def no_pairs(tags: int) -> Doubles:
    """A table of pairs that says nothing: zeros."""
    return np.zeros((tags + SYMBOLS - 1, tags + UNKNOWN + 1))


def pair_table(words: Doubles, roots: Doubles) -> Doubles:
    """A table of pairs from those of known tags, (tags, tags), and of the root with them, (tags,).

    Tags that are not known get the mean over known ones (of what is finite).
    """
    tags = len(roots)
    found = no_pairs(tags)
    found[:tags, :tags] = words
    found[tags + ROOT, :tags] = roots
    rows = [*range(tags), tags + ROOT]
    for row in rows:
        known = found[row, :tags]
        found[row, tags + UNKNOWN] = known[np.isfinite(known)].mean() if np.isfinite(known).any() else -np.inf
    columns = found[:tags, :]
    finite = np.isfinite(columns)
    sums = np.where(finite, columns, 0.0).sum(axis=0)
    found[tags + UNKNOWN, :] = sums / np.maximum(finite.sum(axis=0), 1)
    return found
