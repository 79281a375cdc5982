"""A network's view of words: rows of its tables for forms, characters, word vectors and given tags.

Everything that depends on the form alone is computed once for each distinct form of a batch.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import GuideTrees, numbers_of
from arbora.data.statistics import by_count
from arbora.types import Ints, Longs

UNKNOWN = 0
"""The row of words, characters and tags that are not in a table; for vectors: none."""
BEGIN, END = 1, 2  # characters around each word
FIRST_CHARACTER = 3
LONGEST = 32
"""Characters of a word that are read: the first and last half of a longer one."""


@dataclass(frozen=True)
class NetworkInput:
    """Sentences as rows of tables; the arguments of the native `Network.encode`."""

    lengths: Ints  # (S,), in words
    types: Ints  # (W,), places in the following
    words: Ints  # (U,)
    vectors: Ints  # (U,)
    characters: Ints  # of all distinct words, one after the other
    ends: Longs  # (U,), where each one's characters end
    tags: list[Ints] = field(default_factory=list)  # (W,) each


@dataclass(frozen=True)
class Vocabulary:
    """The words, characters and tags that a network knows; row 0 of each table is for all others."""

    words: tuple[str, ...]
    """In lower case; row i + 1 is that of word i."""
    characters: str
    """Row i + FIRST_CHARACTER is that of character i."""
    vectors: tuple[str, ...] = ()
    """Words with a vector, as written or in lower case."""
    tags: Mapping[TextColumn, tuple[str, ...]] = field(default_factory=dict)
    """The values of the columns that the network reads."""
    guide: tuple[str, ...] | None = None
    """The labels of a guide's trees, which the network reads like a further column; None: it has no guide."""

    @classmethod
    def of(
        cls,
        columns: Columns,
        *,
        least: int = 2,
        vectors: Sequence[str] = (),
        tags: Sequence[TextColumn] = (),
        guide: tuple[str, ...] | None = None,
    ) -> Vocabulary:
        """The words of a treebank that occur `least` times, its characters, and the values of `tags`."""
        counts: Counter[str] = Counter()
        characters: Counter[str] = Counter()
        for form, count in columns.counts("form").items():
            counts[form.lower()] += count
            for character in form:
                characters[character] += count
        words = tuple(word for word, count in by_count(counts) if count >= least)
        known = "".join(character for character, count in by_count(characters) if count >= least)
        given = {name: tuple(value for value, _ in by_count(columns.counts(name))) for name in tags}
        return cls(words, known, tuple(vectors), given, guide)

    def extended(self, other: Vocabulary) -> Vocabulary:
        """Also the words, characters and tags of another; rows stay, and new ones follow."""
        tags = {name: joined(values, other.tags.get(name, ())) for name, values in self.tags.items()}
        characters = "".join(joined(tuple(self.characters), tuple(other.characters)))
        return Vocabulary(joined(self.words, other.words), characters, self.vectors, tags, self.guide)

    @property
    def _guide_values(self) -> list[tuple[str, ...]]:
        return [] if self.guide is None else [self.guide]

    @cached_property
    def _word_rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words, start=1)}

    @cached_property
    def _vector_rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.vectors, start=1)}

    @cached_property
    def _character_rows(self) -> Ints:
        """The row of each code point."""
        rows = np.zeros(0x110000, np.int32)
        codes = np.array(list(map(ord, self.characters)), np.int64)
        rows[codes] = np.arange(FIRST_CHARACTER, FIRST_CHARACTER + len(codes))
        return rows

    @cached_property
    def _tag_rows(self) -> dict[TextColumn, dict[str, int]]:
        return {
            name: {value: row for row, value in enumerate(values, start=1)}
            for name, values in self.tags.items()
        }

    def encode(self, columns: Columns, guide: GuideTrees | None = None) -> NetworkInput:
        """The rows of all words. O(words + distinct text)."""
        ids = columns.ids("form")
        used, types = np.unique(ids, return_inverse=True)
        strings = columns.strings("form")
        forms = [strings[i] for i in used.tolist()]
        lower = [form.lower() for form in forms]
        words, vectors = self._word_rows, self._vector_rows
        rows = np.array([words.get(word, UNKNOWN) for word in lower], np.int32)
        if vectors:
            pairs = zip(forms, lower, strict=True)
            found = [vectors.get(form) or vectors.get(word, UNKNOWN) for form, word in pairs]
        else:
            found = [UNKNOWN] * len(forms)
        characters, ends = self._spell(forms)
        return NetworkInput(
            np.diff(columns.offsets).astype(np.int32),
            types.astype(np.int32),
            rows,
            np.array(found, np.int32),
            characters,
            ends,
            [*(self._tags(columns, name) for name in self.tags), *self._guide_rows(guide)],
        )

    def digest(self, columns: Columns, guide: GuideTrees | None = None) -> bytes:
        """A digest of all that `encode` reads, in a fraction of its time."""
        parts = [columns.offsets.tobytes()]
        for name in ("form", *self.tags):
            parts += [columns.ids(name).tobytes(), _joined(columns.strings(name))]
        if guide is not None and self.guide is not None:
            parts += [guide.labels.tobytes(), _joined(guide.names)]
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()

    def _spell(self, forms: Sequence[str]) -> tuple[Ints, Longs]:
        """The characters of words between marks of begin and end, and where each word ends."""
        half = LONGEST // 2
        short = [form if len(form) <= LONGEST else form[:half] + form[-half:] for form in forms]
        lengths = np.array([len(form) for form in short], np.int64)
        text = "".join(short).encode("utf-32-le", "surrogatepass")
        ends = np.cumsum(lengths + 2)
        rows = np.full(int(ends[-1]) if len(ends) else 0, END, np.int32)
        is_inner = np.ones(len(rows), np.bool_)
        is_inner[ends - 1] = is_inner[ends - lengths - 2] = False
        rows[ends - lengths - 2] = BEGIN
        rows[is_inner] = self._character_rows[np.frombuffer(text, np.uint32)]
        return rows, ends

    def _tags(self, columns: Columns, name: TextColumn) -> Ints:
        known = self._tag_rows[name]
        rows = np.array([known.get(value, UNKNOWN) for value in columns.strings(name)], np.int32)
        return rows[columns.ids(name)]

    def _guide_rows(self, trees: GuideTrees | None) -> Iterator[Ints]:
        """The labels of a guide's trees, if the network reads them."""
        if self.guide is not None:
            assert trees is not None
            rows = np.append(numbers_of(trees.names, self.guide) + 1, UNKNOWN).astype(np.int32)
            yield rows[trees.labels]

    def counts(self) -> dict[str, Any]:
        """The rows of each table."""
        return {
            "words": len(self.words) + 1,
            "characters": len(self.characters) + FIRST_CHARACTER,
            "tags": [len(values) + 1 for values in (*self.tags.values(), *self._guide_values)],
        }


def joined(first: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """The values of both, each once; those of the first keep their places."""
    return tuple(dict.fromkeys((*first, *others)))


def _joined(texts: Sequence[str]) -> bytes:
    """Fields of a treebank as one text; none has a line end."""
    return "\n".join(texts).encode("utf-8", "surrogatepass")
