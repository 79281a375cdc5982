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
    """Sentences with the heads and labels that are known; only heads may be replaced."""

    def __init__(self, columns: Columns, names: Names, threads: int = 1) -> None:
        """`names` defines the ids; `threads` are for a guide, which parses when `encoded` is first used."""
        self.columns = columns
        self.names = names
        self._threads = threads
        self._heads: Ints | None = None

    @cached_property
    def encoded(self) -> Encoded:
        """The sentences as ids, for native scorers."""
        encoded = self.names.encode(self.columns, threads=self._threads)
        if self._heads is not None:
            encoded.set_heads(self._heads)
        return encoded

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def words(self) -> int:
        """W, the number of words."""
        return self.columns.words

    @cached_property
    def lengths(self) -> Longs:
        """Words of each sentence, shape (S,)."""
        return np.diff(self.columns.offsets).astype(np.int64)

    def texts(self, column: TextColumn) -> list[list[str]]:
        """A column of each sentence, such as its forms: one string per word."""
        strings = self.columns.strings(column)
        texts = [strings[number] for number in self.columns.ids(column).tolist()]
        offsets = self.columns.offsets.tolist()
        return [texts[start:end] for start, end in itertools.pairwise(offsets)]

    @property
    def heads(self) -> Ints:
        """Heads of all words, shape (W,); -1 for unknown."""
        return np.asarray(self.columns.heads) if self._heads is None else self._heads

    @cached_property
    def labels(self) -> Ints:
        """Label ids of all words, shape (W,); -1 for no label, or one that `names` lacks."""
        return self.names.label_numbers(self.columns)

    def set_heads(self, heads: Ints) -> None:
        """Replace the heads of all words, shape (W,), -1 for unknown; InputError if one is out of range."""
        lengths = np.repeat(self.lengths, self.lengths)
        words = np.arange(self.words) - np.repeat(self.columns.offsets[:-1], self.lengths) + 1
        given = np.array(heads, dtype=np.int32)
        if given.shape != words.shape:
            raise InputError(f"heads: expected {len(words)}, one per word, got shape {given.shape}")
        for bad in np.flatnonzero((given < -1) | (given > lengths) | (given == words)):
            sentence = int(np.searchsorted(self.columns.offsets, bad, side="right")) - 1
            expected = f"a head of 0 to {lengths[bad]} that is another word, or -1"
            raise InputError(f"sentence {sentence}, word {words[bad]}: expected {expected}, got {given[bad]}")
        self._heads = given
        if "encoded" in self.__dict__:
            self.encoded.set_heads(given)

    def gold(self) -> list[GoldTree]:
        """Return the known heads and labels of each sentence."""
        root = np.array([-1], dtype=np.int32)
        ends = self.columns.offsets[1:-1]
        pairs = zip(np.split(self.heads, ends), np.split(self.labels, ends), strict=True)
        return [GoldTree(np.append(root, heads), np.append(root, labels)) for heads, labels in pairs]

    def pieces(self, most_words: int = 2000) -> Iterator[tuple[slice, Batch]]:
        """Yield the batch in pieces of about `most_words` words, each with its range of sentences."""
        if self.words <= most_words:
            yield slice(0, len(self)), self
            return
        start, offsets = 0, self.columns.offsets
        while start < len(self):
            fitting = int(np.searchsorted(offsets[1:], offsets[start] + most_words, side="right"))
            end = max(start + 1, fitting)
            yield slice(start, end), self.select(np.arange(start, end))
            start = end

    def select(self, sentences: Longs) -> Batch:
        """Return a batch of some of the sentences, with their present heads."""
        chosen = Batch(self.columns.select(sentences), self.names, self._threads)
        parts = np.split(self.heads, self.columns.offsets[1:-1])
        chosen._heads = np.concatenate([self.heads[:0], *(parts[i] for i in sentences.tolist())])
        return chosen
