"""Sentences as a model of tags sees them, without punctuation, and their trees with it.

Punctuation was no part of what a model learned from, so it is left out before parsing and put back after:
each mark hangs on the highest word that it can hang on without crossing an arc, going up from the word before
it. Marks whose heads or dependents are given are treated as words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.data.batch import Batch
from arbora.data.encode import numbers_of
from arbora.induction.corpus import is_word
from arbora.interfaces import Roots, Trees

Ints: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]


class TagSentences:
    """Tags of the words of a batch, and their heads."""

    def __init__(self, batch: Batch, tags: Sequence[str]) -> None:
        """`tags`: the names of those that are known; all others have the number after the last."""
        columns = batch.columns
        self.offsets = columns.offsets
        numbers = numbers_of(columns.strings("upos"), tags)
        self.tags: Ints = np.where(numbers < 0, len(tags), numbers)[columns.ids("upos")].astype(np.int32)
        self.is_word = is_word(columns)
        self.heads: Ints = np.array(batch.heads, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def split(self, *, keep_heads: bool) -> list[Stripped]:
        """Each sentence without punctuation; `keep_heads`: with what is given of its tree."""
        found = []
        for start, end in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            heads, words = self.heads[start:end], self.is_word[start:end]
            kept = words if words.any() else ~words
            if keep_heads:
                is_head = np.zeros(end - start + 1, dtype=bool)
                is_head[heads[heads >= 0]] = True
                kept = kept | is_head[1:] | (heads >= 0)
            found.append(Stripped(self.tags[start:end], kept, heads, ~words))
        return found


@dataclass(frozen=True, eq=False)
class Stripped:
    """One sentence with its punctuation told apart; n words, m of which are kept."""

    all_tags: Ints
    kept: Bools
    all_heads: Ints
    """As they came, -1 where there are none, (n,)."""
    marks: Bools
    """Which words are punctuation, kept or not, (n,)."""

    @property
    def tags(self) -> Ints:
        """Of kept words, (m,)."""
        return self.all_tags[self.kept]

    @property
    def nodes(self) -> Ints:
        """Where kept nodes stand among all, the root first, (m+1,)."""
        return np.concatenate([[0], np.flatnonzero(self.kept) + 1]).astype(np.int32)

    def known_heads(self) -> Ints:
        """The heads that kept words came with, numbered among these; -1 where there are none, (m,).

        What hangs on a mark that goes hangs on the mark's head, and so on up.
        """
        number = np.full(len(self.kept) + 1, -1)
        number[self.nodes] = np.arange(len(self.nodes))
        heads = self.all_heads[self.kept].copy()
        for _ in range(len(self.kept)):
            gone = (heads > 0) & (number[heads] < 0)
            if not gone.any():
                break
            heads[gone] = self.all_heads[heads[gone] - 1]
        return np.where(heads >= 0, number[heads], -1).astype(np.int32)

    def put_back(self, heads: Ints) -> Ints:
        """The tree of all words, (n,), from that of kept ones, (m,)."""
        nodes = self.nodes
        found = np.full(len(self.kept), -1, dtype=np.int32)
        found[self.kept] = nodes[heads]
        for mark in np.flatnonzero(~self.kept).tolist():
            found[mark] = _highest(found, self.kept, mark)
        return found

    def table(self, small: NDArray[np.float64], listed: Sequence[tuple[Ints, float]]) -> NDArray[np.float64]:
        """P(arc) among all nodes, (n+1, n+1), from that among kept ones.

        `listed`: trees of all words with their weights, by whose shares marks that were put back have heads.
        """
        n = len(self.kept)
        found = np.zeros((n + 1, n + 1))
        nodes = self.nodes
        found[np.ix_(nodes, nodes)] = small
        marks = np.flatnonzero(~self.kept) + 1
        total = sum(weight for _, weight in listed)
        for heads, weight in listed:
            found[heads[marks - 1], marks] += weight / total
        return found

    def refusal(self, trees: Trees, roots: Roots) -> str:
        """Why no tree has the heads that are given, as far as two of them tell."""
        given = self.all_heads
        words = (np.flatnonzero(given >= 0) + 1).tolist()
        first, *more = [word for word in words if given[word - 1] == 0] or [0]
        if more and roots == "single":
            return (
                f"words {first} and {more[0]} are both given as roots, but the trees of this parser have "
                "one; unpin one of them"
            )
        for word in words:
            seen, at = {word}, int(given[word - 1])
            while at > 0 and at not in seen:
                seen.add(at)
                at = int(given[at - 1])
            if at == word:
                return f"word {word} is below itself by the given heads; unpin one of them"
        for one in words if trees == "projective" else ():
            for other in words:
                (a, b), (c, d) = (sorted((word, int(given[word - 1]))) for word in (one, other))
                if a < c < b < d:
                    return (
                        f"the arcs given to words {one} and {other} cross, but the trees of this parser are "
                        "projective; unpin one of them, or learn with -p trees=nonprojective, where the "
                        "model has that"
                    )
        return "no tree of this parser has all heads that are given; unpin some"


def _highest(heads: Ints, kept: Bools, mark: int) -> int:
    """The number of the word that a mark hangs on; `mark` counts from 0, heads of marks to come are -1."""
    words = np.flatnonzero(kept)
    before = words[words < mark]
    start = int(before[-1] if len(before) else words[0]) + 1
    chain = [start]
    while heads[chain[-1] - 1] > 0 and len(chain) <= len(heads):
        chain.append(int(heads[chain[-1] - 1]))
    ends = np.flatnonzero(heads > 0) + 1
    low, high = np.minimum(ends, heads[ends - 1]), np.maximum(ends, heads[ends - 1])
    for word in reversed(chain):
        left, right = min(mark + 1, word), max(mark + 1, word)
        crossed = ((low < left) & (left < high) & (high < right)) | (
            (left < low) & (low < right) & (right < high)
        )
        if not crossed.any():
            return word
    return start
