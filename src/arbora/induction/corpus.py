"""Tagged sentences without punctuation, as numbers of tags: what trees are learned from.

Punctuation is what is tagged PUNCT, or written with punctuation characters alone. Sentences of nothing else
are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.evaluation.attachment import is_punctuation
from arbora.types import Bools, Ints, Longs

PUNCTUATION = "PUNCT"
MOST_PARTS = 4_000_000  # Parts of the sentences that are scored together: 32 MB of scores


@dataclass(frozen=True, eq=False)
class Group:
    """All sentences of one length."""

    tags: Ints  # (sentences, n)
    places: Longs  # Their places in the corpus, (sentences,)

    @property
    def length(self) -> int:
        return int(self.tags.shape[1])

    def pieces(self) -> Iterator[Group]:
        """Split the group so that arrays of (n+1)³ numbers per sentence stay small."""
        most = max(1, MOST_PARTS // (self.length + 1) ** 3)
        for at in range(0, len(self.tags), most):
            yield Group(self.tags[at : at + most], self.places[at : at + most])


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
        parts = np.split(np.arange(columns.words), columns.offsets[1:-1])
        chosen = [part[kept[part]] for part in parts]
        chosen = [part for part in chosen if len(part) and (longest is None or len(part) <= longest)]
        used = np.unique(ids[np.concatenate(chosen)]) if chosen else np.zeros(0, dtype=np.int64)
        strings = columns.strings("upos")
        names = tuple(sorted(strings[number] for number in used.tolist()))
        numbers = numbers_of(strings, names)
        return cls(names, tuple(numbers[ids[part]] for part in chosen))


def by_length(sentences: Iterable[Ints]) -> list[Group]:
    """Sentences of equal length together, shortest first."""
    places: dict[int, list[int]] = {}
    listed = list(sentences)
    for place, sentence in enumerate(listed):
        places.setdefault(len(sentence), []).append(place)
    return [
        Group(np.stack([listed[i] for i in found]), np.array(found, dtype=np.int64))
        for _, found in sorted(places.items())
    ]


def by_length_in_pieces(sentences: Iterable[Ints]) -> Iterator[Group]:
    """As `by_length`, with large groups in pieces."""
    return chain.from_iterable(group.pieces() for group in by_length(sentences))


def is_word(columns: Columns) -> Bools:
    """Which words are not punctuation, (W,)."""
    forms = np.array([is_punctuation(form) for form in columns.strings("form")], dtype=bool)
    tags = np.array([tag == PUNCTUATION for tag in columns.strings("upos")], dtype=bool)
    return ~(forms[columns.ids("form")] | tags[columns.ids("upos")])
