"""A batch: sentences as a parser sees them, as columns of strings and as ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from arbora.data.columns import Columns, TextColumn
from arbora.errors import InputError
from arbora.interfaces import GoldTree
from arbora.types import Ints, Longs

if TYPE_CHECKING:
    from arbora._core import Encoded
    from arbora.data.encode import Names


class Batch:
    """Sentences with the heads and labels that they have; only heads may be replaced."""

    def __init__(self, columns: Columns, names: Names, threads: int = 1) -> None:
        """`names`: what ids refer to; `threads`: for a guide, which parses when ids are first asked for."""
        self.columns = columns
        self.names = names
        self._threads = threads
        self._heads: Ints | None = None

    @cached_property
    def encoded(self) -> Encoded:
        """The same as ids, for native scorers."""
        made = self.names.encode(self.columns, threads=self._threads)
        if self._heads is not None:
            made.set_heads(self._heads)
        return made

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def words(self) -> int:
        """Words of all sentences."""
        return self.columns.words

    @cached_property
    def lengths(self) -> Longs:
        """Words of each sentence, (S,)."""
        return np.diff(self.columns.offsets).astype(np.int64)

    def texts(self, column: TextColumn) -> list[list[str]]:
        """A column of each sentence, such as its forms: one string per word."""
        strings = self.columns.strings(column)
        texts = [strings[number] for number in self.columns.ids(column).tolist()]
        offsets = self.columns.offsets.tolist()
        return [texts[start:end] for start, end in itertools.pairwise(offsets)]

    @property
    def heads(self) -> Ints:
        """Heads of all words, (W,); -1 where there is none."""
        return np.asarray(self.columns.heads) if self._heads is None else self._heads

    @cached_property
    def labels(self) -> Ints:
        """Labels of all words by number, (W,); -1 where there is none, or none that is known."""
        return self.names.label_numbers(self.columns)

    def set_heads(self, heads: Ints) -> None:
        """Replace the heads of all words, (W,); -1 for none. InputError for a head that cannot be."""
        lengths = np.repeat(self.lengths, self.lengths)
        words = np.arange(self.words) - np.repeat(self.columns.offsets[:-1], self.lengths) + 1
        given = np.array(heads, dtype=np.int32)
        if given.shape != words.shape:
            raise InputError(f"heads: expected {len(words)}, one per word, got shape {given.shape}")
        bad = np.flatnonzero((given < -1) | (given > lengths) | (given == words))
        if len(bad):
            first = bad[0]
            sentence = int(np.searchsorted(self.columns.offsets, first, side="right")) - 1
            raise InputError(
                f"sentence {sentence}, word {words[first]}: expected a head of 0 to {lengths[first]} that is "
                f"another word, or -1, got {given[first]}"
            )
        self._heads = given
        if "encoded" in self.__dict__:
            self.encoded.set_heads(given)

    def gold(self) -> list[GoldTree]:
        """What is known of the trees of all sentences."""
        nothing = np.array([-1], dtype=np.int32)
        ends = self.columns.offsets[1:-1]
        pairs = zip(np.split(self.heads, ends), np.split(self.labels, ends), strict=True)
        return [GoldTree(np.append(nothing, heads), np.append(nothing, labels)) for heads, labels in pairs]

    def pieces(self, most_words: int = 2000) -> Iterator[tuple[slice, Batch]]:
        """The batch in pieces of about so many words, each with the sentences that it holds."""
        if self.words <= most_words:
            yield slice(0, len(self)), self
            return
        start = 0
        ends = self.columns.offsets[1:]
        while start < len(self):
            before = int(self.columns.offsets[start])
            end = max(start + 1, int(np.searchsorted(ends, before + most_words, side="right")))
            yield slice(start, end), self.select(np.arange(start, end))
            start = end

    def select(self, sentences: Longs) -> Batch:
        """Some of the sentences, with their present heads."""
        chosen = Batch(self.columns.select(sentences), self.names, self._threads)
        parts = np.split(self.heads, self.columns.offsets[1:-1])
        chosen._heads = np.concatenate([self.heads[:0], *(parts[i] for i in sentences.tolist())])
        return chosen
