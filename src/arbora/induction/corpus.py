"""Tagged sentences without punctuation, as tag ids, for learning and parsing.

Punctuation is tagged PUNCT, or written with punctuation characters alone. Sentences of nothing else
are left out of training. It is left out before parsing, too, and put back afterwards: each mark hangs on the
highest word that it can hang on without crossing an arc, going up from the word before it. Marks whose heads
or dependents are given are treated as words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.evaluation.attachment import is_punctuation
from arbora.interfaces import Roots, Trees
from arbora.search.given_heads import conflict
from arbora.types import Bools, Doubles, Ints, Longs

PUNCTUATION = "PUNCT"
MOST_PARTS = 4_000_000  # Parts of the sentences that are scored together: 32 MB of scores


@dataclass(frozen=True, eq=False)
class TagCorpus:
    """Tagged sentences; `tags[number]` is a tag's name."""

    tags: tuple[str, ...]
    sentences: tuple[Ints, ...]  # Numbers of tags, below `len(tags)`, (n,) each

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def words(self) -> int:
        return sum(map(len, self.sentences))

    @classmethod
    def of(cls, columns: Columns, *, longest: int | None = 10) -> TagCorpus:
        """Take the sentences of 1 to `longest` words, without punctuation; tags in alphabetical order."""
        kept = is_word(columns)
        ids = columns.ids("upos")
        chosen = [part[kept[part]] for part in columns.split(np.arange(columns.words))]
        chosen = [part for part in chosen if len(part) and (longest is None or len(part) <= longest)]
        used = np.unique(ids[np.concatenate(chosen)]) if chosen else np.zeros(0, dtype=np.int64)
        strings = columns.strings("upos")
        names = tuple(sorted(strings[number] for number in used.tolist()))
        numbers = numbers_of(strings, names)
        return cls(names, tuple(numbers[ids[part]] for part in chosen))


def by_length(sentences: Sequence[Ints]) -> Iterator[tuple[Longs, Ints]]:
    """Group sentences by length, shortest first: places, (m,), and tags, (m, n); large groups are cut."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    for length in np.unique(lengths).tolist():
        places, most = np.flatnonzero(lengths == length), max(1, MOST_PARTS // (length + 1) ** 3)
        for at in range(0, len(places), most):
            own = places[at : at + most]
            yield own, np.stack([sentences[i] for i in own.tolist()])


def is_word(columns: Columns) -> Bools:
    """Which words are not punctuation, (W,)."""
    forms = np.array([is_punctuation(form) for form in columns.strings("form")], dtype=bool)
    tags = np.array([tag == PUNCTUATION for tag in columns.strings("upos")], dtype=bool)
    return ~(forms[columns.ids("form")] | tags[columns.ids("upos")])


def strip(columns: Columns, heads: Ints, tags: Sequence[str], *, keep_heads: bool) -> list[Stripped]:
    """Each sentence without punctuation; `keep_heads` keeps marks that have given heads or dependents.

    Tags that are not in `tags` have the number after the last. `heads`: of all words, (W,), -1 for none.
    """
    numbers = numbers_of(columns.strings("upos"), tags)
    tag_numbers = np.where(numbers < 0, len(tags), numbers)[columns.ids("upos")].astype(np.int32)
    parts = map(columns.split, (tag_numbers, np.asarray(heads), is_word(columns)))
    found = []
    for own_tags, own_heads, words in zip(*parts, strict=True):
        kept = words if words.any() else ~words
        if keep_heads:
            is_head = np.zeros(len(words) + 1, dtype=bool)
            is_head[own_heads[own_heads >= 0]] = True
            kept = kept | is_head[1:] | (own_heads >= 0)
        found.append(Stripped(own_tags[kept], kept, own_heads, ~words))
    return found


@dataclass(frozen=True, eq=False)
class Stripped:
    """One sentence of n words, m of which are kept."""

    tags: Ints  # Of kept words, (m,)
    kept: Bools
    all_heads: Ints  # As given, -1 where there are none, (n,)
    marks: Bools  # Which words are punctuation, kept or not, (n,)

    @cached_property
    def nodes(self) -> Ints:
        """The places of kept nodes among all, the root first, (m+1,)."""
        return np.concatenate([[0], np.flatnonzero(self.kept) + 1]).astype(np.int32)

    def known_heads(self) -> Ints:
        """The given heads of kept words among these, (m,), -1 for none; marks left out pass on their own."""
        number = np.full(len(self.kept) + 1, -1)
        number[self.nodes] = np.arange(len(self.nodes))
        heads = self.all_heads[self.kept].copy()
        for _ in range(len(self.kept)):
            gone = (heads > 0) & (number[heads] < 0)
            if not gone.any():
                break
            heads[gone] = self.all_heads[heads[gone] - 1]
        return np.where(heads >= 0, number[heads], -1).astype(np.int32)

    def enforce_heads(self, arcs: Doubles) -> None:
        """Forbid arcs, (m+1, m+1), that contradict known heads; of these, any that is forbidden scores 0."""
        heads = self.known_heads()
        words = np.flatnonzero(heads >= 0) + 1
        given = arcs[heads[words - 1], words]
        arcs[:, words] = -np.inf
        arcs[heads[words - 1], words] = np.where(np.isfinite(given), given, 0.0)

    def put_back(self, heads: Ints) -> Ints:
        """The tree of all words, (n,), from that of kept ones, (m,)."""
        nodes = self.nodes.tolist()
        found = {word: nodes[head] for word, head in zip(nodes[1:], heads.tolist(), strict=True)}
        for mark in (np.flatnonzero(~self.kept) + 1).tolist():
            found[mark] = self._highest(found, mark)
        return np.array([found[word] for word in range(1, len(found) + 1)], dtype=np.int32)

    def neighbour(self, mark: int) -> int:
        """The kept word before a mark, or else the first one after it; words are numbered from 1."""
        return int(self.nodes[max(1, int(np.searchsorted(self.nodes, mark)) - 1)])

    def _highest(self, heads: dict[int, int], mark: int) -> int:
        """The word that a mark hangs on; `heads` has those of words, and of marks that are attached."""
        chain = [self.neighbour(mark)]
        while heads[chain[-1]] > 0 and len(chain) <= len(heads):
            chain.append(heads[chain[-1]])
        arcs = [(min(arc), max(arc)) for arc in heads.items() if arc[1] > 0]
        for word in reversed(chain):
            left, right = min(mark, word), max(mark, word)
            if not any(low < left < high < right or left < low < right < high for low, high in arcs):
                return word
        return chain[0]

    def table(self, small: Doubles, listed: Sequence[tuple[Ints, float]]) -> Doubles:
        """P(arc) of all nodes, (n+1, n+1), from that of kept ones, and from weighted trees for the others."""
        found = np.zeros((len(self.kept) + 1,) * 2)
        found[np.ix_(self.nodes, self.nodes)] = small
        marks = np.flatnonzero(~self.kept) + 1
        total = sum(weight for _, weight in listed)
        for heads, weight in listed:
            found[heads[marks - 1], marks] += weight / total
        return found

    def conflict(self, trees: Trees, roots: Roots) -> str:
        """Why no tree has the given heads; see `arbora.search.given_heads`."""
        return conflict(self.all_heads.tolist(), trees, roots)
