"""Features of arcs from tags alone: Table 1 of [cai-2017], after [mcdonald-2005].

For an arc from node i to word j, each with the distance between the two (1 to 5, 6 to 10, more) and its
direction:

    tag i                        tag i, tag i-1, tag j        tag i, tag j, tag j-1
    tag j                        tag i, tag i+1, tag j        tag i, tag j, tag j+1
    tag i, tag j

Every combination has a place of its own: nothing is hashed. Beside the tags there are three more symbols: a
tag that is not known, the root, and what lies beyond either end.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arbora.types import Ints, Longs

TEMPLATES = 7
DISTANCES = 7
"""1, 2, 3, 4, 5, 6 to 10, more."""
UNKNOWN, ROOT, OUTSIDE = range(3)
"""Symbols after the tags, in this order."""
SYMBOLS = 3


class ArcFeatures:
    """The places of arcs' features in a vector of weights, for so many tags."""

    def __init__(self, tags: int) -> None:
        self.tags = tags
        self.symbols = s = tags + SYMBOLS
        per_template = [s, s, s**2, s**3, s**3, s**3, s**3]
        self._starts = np.cumsum([0, *per_template[:-1]], dtype=np.int64)
        self.size = sum(per_template) * 2 * DISTANCES
        """The length of a weight vector."""

    def nodes(self, tags: Ints) -> Longs:
        """The symbols of m sentences of n words, (m, n): of nodes -1 to n+1, (m, n+3)."""
        m, n = tags.shape
        found = np.full((m, n + 3), self.tags + OUTSIDE, dtype=np.int64)
        found[:, 1] = self.tags + ROOT
        found[:, 2:-1] = tags
        return found

    def places(self, tags: Ints) -> Longs:
        """The features of all arcs of m sentences of n words: (m, n+1, n+1, 7), [head, dependent].

        Column 0 and the diagonal hold places, too, which mean nothing. O(m n²).
        """
        around = self.nodes(tags)
        here, before, after = around[:, 1:-1], around[:, :-2], around[:, 2:]
        i, j = here[:, :, None], here[:, None, :]
        s = self.symbols
        pair = i * s + j
        combined = [
            i + 0 * j,
            j + 0 * i,
            pair,
            pair * s + before[:, :, None],
            pair * s + after[:, :, None],
            pair * s + before[:, None, :],
            pair * s + after[:, None, :],
        ]
        stretches = _stretches(tags.shape[1])[None, :, :, None]
        return (np.stack(combined, axis=-1) + self._starts) * (2 * DISTANCES) + stretches


@lru_cache(maxsize=64)
def _stretches(n: int) -> Longs:
    """Distance and direction of all arcs among n words as one number, (n+1, n+1)."""
    offsets = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    distances = np.abs(offsets)
    bins = np.where(distances <= 5, np.maximum(distances, 1) - 1, np.where(distances <= 10, 5, 6))
    return (bins * 2 + (offsets < 0)).astype(np.int64)
