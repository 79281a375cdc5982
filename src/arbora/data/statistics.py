"""Counts over a treebank: sizes, labels, tags, lengths, non-projective arcs, roots, depth.

O(words) time, in pieces; memory for the distinct labels and tags. An arc (h, d) is non-projective if some
word between h and d is not below h; a tree is, if one of its arcs is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from arbora import _core

if TYPE_CHECKING:
    from arbora.data.columns import Columns

LENGTH_BIN = 10


def _ratio(part: str, whole: str) -> property:
    return property(lambda counts: getattr(counts, part) / max(1, getattr(counts, whole)))


@dataclass
class Statistics:
    """Counts of one treebank or, added up, of several; shares and means are 0 where nothing was counted."""

    sentences: int = 0
    words: int = 0
    multiword_tokens: int = 0
    empty_nodes: int = 0
    missing_heads: int = 0  # words with an unknown head
    trees: int = 0  # sentences whose heads are all known
    arcs: int = 0  # words of these trees
    nonprojective_arcs: int = 0
    nonprojective_trees: int = 0
    multiroot_trees: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    upos: Counter[str] = field(default_factory=Counter)
    xpos: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    depths: Counter[int] = field(default_factory=Counter)

    nonprojective_arc_share = _ratio("nonprojective_arcs", "arcs")
    nonprojective_tree_share = _ratio("nonprojective_trees", "trees")
    multiroot_share = _ratio("multiroot_trees", "trees")
    missing_head_share = _ratio("missing_heads", "words")
    mean_length = _ratio("words", "sentences")

    @property
    def mean_depth(self) -> float:
        """Arcs from the root to the deepest word, averaged over trees."""
        return sum(self.depths.elements()) / max(1, self.trees)

    @classmethod
    def of(cls, columns: Columns) -> Statistics:
        """Count one treebank, or a piece of one."""
        crossed, depths, roots = _core.measure_trees(columns.heads, columns.offsets)
        known = depths >= 0
        lengths = np.diff(columns.offsets)
        sentence_of_word = np.repeat(np.arange(len(columns)), lengths)
        return cls(
            sentences=len(columns),
            words=columns.words,
            multiword_tokens=columns.multiword_tokens,
            empty_nodes=columns.empty_nodes,
            missing_heads=int(np.count_nonzero(columns.heads < 0)),
            trees=int(known.sum()),
            arcs=int(lengths[known].sum()),
            nonprojective_arcs=int(crossed.sum()),
            nonprojective_trees=len(np.unique(sentence_of_word[crossed > 0])),
            multiroot_trees=int((roots > 1).sum()),
            labels=columns.counts("deprel"),
            upos=columns.counts("upos"),
            xpos=columns.counts("xpos"),
            lengths=Counter(lengths.tolist()),
            depths=Counter(depths[known].tolist()),
        )

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(**{name: getattr(self, name) + getattr(other, name) for name in vars(self)})

    def length_histogram(self) -> list[tuple[int, int, int]]:
        """Return (shortest, longest, sentences) for bins of ten: 1-10, 11-20, ... up to the longest."""
        longest = max(self.lengths, default=0)
        bins = (range(low, low + LENGTH_BIN) for low in range(1, longest + 1, LENGTH_BIN))
        return [(each[0], each[-1], sum(self.lengths[length] for length in each)) for each in bins]

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON; shares are fractions of 1, counters start with the most common."""
        counts = [field.name for field in fields(self) if field.default == 0]
        shares = ("nonprojective_arc_share", "nonprojective_tree_share", "multiroot_share")
        names = (*counts, *shares, "mean_length", "mean_depth")
        plain: dict[str, object] = {name: getattr(self, name) for name in names}
        plain["max_length"] = max(self.lengths, default=0)
        plain["max_depth"] = max(self.depths, default=0)
        for name in ("labels", "upos", "xpos"):
            plain[name] = dict(by_count(getattr(self, name)))
        for name in ("lengths", "depths"):
            plain[name] = {str(key): count for key, count in sorted(getattr(self, name).items())}
        return plain


def by_count(counter: Counter[str]) -> list[tuple[str, int]]:
    """Sort the entries from the most common; equal counts are in alphabetical order."""
    return sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))


def statistics(pieces: Iterable[Columns]) -> Statistics:
    """Count a treebank given as `Columns`: `[read_columns(path)]`, or a stream of pieces."""
    return sum(map(Statistics.of, pieces), Statistics())
