"""Tagged sentences without punctuation, as numbers of tags: what trees are learned from.

Punctuation is what is tagged PUNCT, or written with punctuation characters alone. Sentences of nothing else
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.evaluation.attachment import is_punctuation
from arbora.types import Bools, Ints, Longs

PUNCTUATION = "PUNCT"
MOST_PARTS = 4_000_000  # Parts of the sentences that are scored together: 32 MB of scores


@dataclass(frozen=True, eq=False)
class Group:
    """Sentences of one length."""

    tags: Ints  # (sentences, n)
    places: Longs  # Their places in the corpus, (sentences,)

    @property
    def length(self) -> int:
        return int(self.tags.shape[1])


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


def by_length(sentences: Sequence[Ints]) -> Iterator[Group]:
    """Groups of sentences, shortest first, so small that (n+1)³ numbers per sentence fit into memory."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    for length in np.unique(lengths).tolist():
        places, most = np.flatnonzero(lengths == length), max(1, MOST_PARTS // (length + 1) ** 3)
        for at in range(0, len(places), most):
            own = places[at : at + most]
            yield Group(np.stack([sentences[i] for i in own.tolist()]), own)


def is_word(columns: Columns) -> Bools:
    """Which words are not punctuation, (W,)."""
    forms = np.array([is_punctuation(form) for form in columns.strings("form")], dtype=bool)
    tags = np.array([tag == PUNCTUATION for tag in columns.strings("upos")], dtype=bool)
    return ~(forms[columns.ids("form")] | tags[columns.ids("upos")])
