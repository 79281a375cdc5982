"""Counts over a treebank: sizes, labels, tags, lengths, crossing arcs, roots, depth.

A pure function over `Columns`, piece by piece: O(words) time, memory of the distinct labels. An arc
(h, d) is non-projective if some word between h and d is not below h; a tree is, if an arc of it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from arbora import _core

if TYPE_CHECKING:
    from arbora.data.columns import Columns, TextColumn

LENGTH_BIN = 10


@dataclass
class Statistics:
    """Counts of one treebank or, added up, of several."""

    sentences: int = 0
    words: int = 0
    multiword_tokens: int = 0
    empty_nodes: int = 0
    missing_heads: int = 0  # words whose head is not given
    trees: int = 0  # sentences in which every head is given
    arcs: int = 0  # words of those
    nonprojective_arcs: int = 0
    nonprojective_trees: int = 0
    multiroot_trees: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    upos: Counter[str] = field(default_factory=Counter)
    xpos: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    depths: Counter[int] = field(default_factory=Counter)

    def add(self, columns: Columns) -> None:
        """Counts one piece more."""
        self.sentences += len(columns)
        self.words += columns.words
        self.multiword_tokens += columns.multiword_tokens
        self.empty_nodes += columns.empty_nodes
        self.labels.update(_counts(columns, "deprel"))
        self.upos.update(_counts(columns, "upos"))
        self.xpos.update(_counts(columns, "xpos"))
        self.missing_heads += int(np.count_nonzero(columns.heads < 0))
        lengths = np.diff(columns.offsets)
        self.lengths.update(Counter(lengths.tolist()))
        crossed, depths, roots = _core.measure_trees(columns.heads, columns.offsets)
        known = depths >= 0
        self.trees += int(known.sum())
        self.arcs += int(lengths[known].sum())
        self.nonprojective_arcs += int(crossed.sum())
        self.multiroot_trees += int((roots > 1).sum())
        self.depths.update(Counter(depths[known].tolist()))
        if len(columns):
            per_tree = np.add.reduceat(crossed.astype(np.int64), columns.offsets[:-1])
            self.nonprojective_trees += int((per_tree > 0).sum())

    def __add__(self, other: Statistics) -> Statistics:
        pairs = ((name, getattr(self, name) + getattr(other, name)) for name in vars(self))
        return Statistics(**dict(pairs))

    @property
    def nonprojective_arc_share(self) -> float:
        """Of all arcs of trees, those of the root included; 0 without trees."""
        return self.nonprojective_arcs / self.arcs if self.arcs else 0.0

    @property
    def nonprojective_tree_share(self) -> float:
        """Of all trees; 0 without trees."""
        return self.nonprojective_trees / self.trees if self.trees else 0.0

    @property
    def multiroot_share(self) -> float:
        """Trees with two roots or more, of all trees; 0 without trees."""
        return self.multiroot_trees / self.trees if self.trees else 0.0

    @property
    def missing_head_share(self) -> float:
        """Words without a head, of all words; 0 without words."""
        return self.missing_heads / self.words if self.words else 0.0

    @property
    def mean_length(self) -> float:
        """Words per sentence."""
        return self.words / self.sentences if self.sentences else 0.0

    @property
    def mean_depth(self) -> float:
        """Arcs from the root to the deepest word, on average over trees."""
        total = sum(depth * count for depth, count in self.depths.items())
        return total / self.trees if self.trees else 0.0

    def length_histogram(self) -> list[tuple[int, int, int]]:
        """(shortest, longest, sentences) for bins of ten: 1-10, 11-20, ... up to the longest."""
        top = max(self.lengths, default=0)
        bins = [(low, low + LENGTH_BIN - 1, 0) for low in range(1, top + 1, LENGTH_BIN)]
        totals = Counter[int]()
        for length, count in self.lengths.items():
            totals[(length - 1) // LENGTH_BIN] += count
        return [(low, high, totals[i]) for i, (low, high, _) in enumerate(bins)]

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON; shares are fractions of 1, counters fall from the commonest."""
        names = ("sentences", "words", "multiword_tokens", "empty_nodes", "missing_heads", "trees", "arcs")
        shapes = ("nonprojective_arcs", "nonprojective_trees", "multiroot_trees")
        shares = ("nonprojective_arc_share", "nonprojective_tree_share", "multiroot_share")
        means = ("mean_length", "mean_depth")
        plain: dict[str, object] = {name: getattr(self, name) for name in (*names, *shapes, *shares, *means)}
        plain["max_length"] = max(self.lengths, default=0)
        plain["max_depth"] = max(self.depths, default=0)
        for name in ("labels", "upos", "xpos"):
            plain[name] = dict(by_count(getattr(self, name)))
        for name in ("lengths", "depths"):
            plain[name] = {str(key): count for key, count in sorted(getattr(self, name).items())}
        return plain


def by_count(counter: Counter[str]) -> list[tuple[str, int]]:
    """Entries from the commonest; equal counts in alphabetical order."""
    return sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))


def statistics(pieces: Iterable[Columns]) -> Statistics:
    """Statistics of a treebank given as `Columns` (`[read_columns(path)]` or a stream of them)."""
    total = Statistics()
    for columns in pieces:
        total.add(columns)
    return total


def _counts(columns: Columns, column: TextColumn) -> Counter[str]:
    strings = columns.strings(column)
    counts = np.bincount(columns.ids(column), minlength=len(strings)).tolist()
    return Counter({text: count for text, count in zip(strings, counts, strict=True) if count})
