"""Sentences in the form that parsers read: columns of strings, and ids of the names that a model knows.

Words are hashed, so a model stores no vocabulary; only coarse tags and labels have names and ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from arbora._core import Encoded
from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns, TextColumn
from arbora.data.statistics import by_count
from arbora.errors import InputError
from arbora.interfaces import GoldTree
from arbora.types import Ints, Longs

if TYPE_CHECKING:
    from arbora.parsing.parser import Parser

EMPTY_FIELD = "_"
InputColumn: TypeAlias = Literal["lemma", "upos", "xpos", "feats"]
INPUT_COLUMNS: Final[tuple[InputColumn, ...]] = get_args(InputColumn)
"""The columns that a parser uses besides the forms, where they are filled."""


@dataclass(frozen=True, slots=True)
class Names:
    """Coarse tags and labels, whose ids are their positions, and the columns that a parser uses."""

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    columns: tuple[InputColumn, ...] | None = None
    """Those that were filled in training; others are ignored. None: unknown, so none is ignored."""
    guide: Parser | None = field(default=None, kw_only=True)
    """The parser whose trees are features besides the words [nivre-2008]; None unless parsers are stacked."""
    clusters: WordClusters | None = field(default=None, kw_only=True)
    """The clusters of words that features look at; None unless there are such features."""

    @classmethod
    def of(cls, columns: Columns) -> Names:
        """Return all names in a treebank, the most common first, so that common ids lie close together."""
        return cls(
            used(columns, "upos"),
            tuple(name for name in used(columns, "deprel") if name != EMPTY_FIELD),
            tuple(column for column in INPUT_COLUMNS if filled(columns, column)),
        )

    def encode(self, columns: Columns) -> Encoded:
        """Encode sentences as ids, without a guide's trees; unknown labels count as none.

        O(words + distinct text).
        """
        known = INPUT_COLUMNS if self.columns is None else self.columns
        ignored = [column for column in INPUT_COLUMNS if column not in known]
        clusters = None if self.clusters is None else self.clusters.native
        return Encoded(columns.native, self.tags, self.labels, ignored, clusters)

    def batch(self, columns: Columns, *, threads: int = 1) -> Batch:
        """Return sentences in the form that parsers read."""
        return Batch(columns, self, threads)

    def label_numbers(self, columns: Columns) -> Ints:
        """Return the label id of every word, shape (W,); -1 for unknown labels."""
        return numbers_of(columns.strings("deprel"), self.labels)[columns.ids("deprel")]


class GuideTrees(NamedTuple):
    """A guide's trees for all words, (W,) each; labels are indices into `names`, -1: none."""

    heads: Ints
    labels: Ints
    names: tuple[str, ...]


class Batch:
    """Sentences with the heads and labels that are known; only heads and a guide's trees may be replaced."""

    def __init__(self, columns: Columns, names: Names, threads: int = 1) -> None:
        """`names` defines the ids; `threads` are for a guide, which parses when its trees are first used."""
        self.columns = columns
        self.names = names
        self._threads = threads
        self._heads: Ints | None = None
        self._guide: GuideTrees | None = None

    @cached_property
    def encoded(self) -> Encoded:
        """The sentences as ids, for native scorers."""
        encoded = self.names.encode(self.columns)
        if self._heads is not None:
            encoded.set_heads(self._heads)
        if self.guide is not None:
            encoded.set_guide(*self.guide)
        return encoded

    @property
    def guide(self) -> GuideTrees | None:
        """The trees of the guide, if there is one."""
        parser = self.names.guide
        if self._guide is None and parser is not None:
            self._guide = GuideTrees(*parser.trees(self.columns, threads=self._threads), parser.names.labels)
        return self._guide

    def set_guide(self, trees: GuideTrees) -> None:
        """Replace the trees of the guide."""
        self._guide = trees
        if "encoded" in self.__dict__:
            self.encoded.set_guide(*trees)

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
        texts = self.columns.texts(column)
        return [texts[start:end] for start, end in pairwise(self.columns.offsets.tolist())]

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
        pairs = zip(self.columns.split(self.heads), self.columns.split(self.labels), strict=True)
        return [GoldTree(np.append(root, heads), np.append(root, labels)) for heads, labels in pairs]

    def pieces(self, most_words: int = 2000) -> Iterator[tuple[slice, Batch]]:
        """Yield the batch in pieces of about `most_words` words, each with its range of sentences."""
        for part in self.columns.ranges(most_words):
            is_whole = part == slice(0, len(self))
            yield part, self if is_whole else self.select(np.arange(part.start, part.stop))

    def select(self, sentences: Longs) -> Batch:
        """Return a batch of some of the sentences, with their present heads."""
        chosen = Batch(self.columns.select(sentences), self.names, self._threads)

        def picked(values: Ints) -> Ints:
            parts = self.columns.split(values)
            return np.concatenate([values[:0], *(parts[i] for i in sentences.tolist())])

        chosen._heads = picked(self.heads)
        if self._guide is not None:
            heads, labels, names = self._guide
            chosen._guide = GuideTrees(picked(heads), picked(labels), names)
        return chosen


def filled(columns: Columns, column: TextColumn) -> int:
    """Count the words for which a column is not `_`."""
    return int(np.count_nonzero(columns.ids(column)))


def numbers_of(strings: Sequence[str], names: Sequence[str]) -> Ints:
    """Return the position of each string in `names`, or -1."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(text, -1) for text in strings], dtype=np.int32)


def used(columns: Columns, column: TextColumn) -> tuple[str, ...]:
    """Return the distinct texts of a column, the most common first."""
    return tuple(name for name, _ in by_count(columns.counts(column)))
