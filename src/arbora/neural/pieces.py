"""Words as pieces, as a transformer reads them.

Each word is cut into pieces by the encoder's own tokenizer, without its neighbours, so every distinct word is
cut once. A sentence of more pieces than the encoder reads becomes several windows, which overlap by half: a
piece is taken from the window in which it is farther from the edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from torch import Tensor

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.neural.data import Layout, ranges
from arbora.types import Ints, Longs

Which: TypeAlias = Literal["mean", "first"]
MOST_PIECES = 16
"""Pieces of a word that are read; a longer word is cut off."""


class Window(NamedTuple):
    """Pieces `begin` to `end` of a sentence are read together; those from `first` to `last` are used."""

    begin: int
    end: int
    first: int
    last: int


def windows(count: int, room: int) -> Iterator[Window]:
    """The windows of a sentence with this many pieces, at most `room` in each."""
    step = max(1, room // 2)
    begin = first = 0
    while begin + room < count:
        last = (begin + step + begin + room) // 2  # the middle of this window's overlap with the next
        yield Window(begin, begin + room, first, last)
        begin, first = begin + step, last
    yield Window(begin, count, first, count)


@dataclass(frozen=True, eq=False)
class PieceTokenizer:
    """A tokenizer of the `tokenizers` library, for words."""

    text: str
    """Its definition in JSON."""
    longest: int
    """Pieces that the encoder reads at a time, marks of begin and end included."""
    _known: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def native(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise InputError(
                "a parser with a transformer needs more packages: pip install 'arbora-nlp[transformers]'"
            ) from None
        try:
            made = Tokenizer.from_str(self.text)
        except Exception as error:  # the library raises Exception itself
            raise InputError(f"tokenizer: expected a tokenizer in JSON, got {str(error)[:80]}") from None
        made.no_truncation()
        made.no_padding()
        return made

    @cached_property
    def marks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The marks before and after a sentence."""
        found = self.native.encode(["a"], is_pretokenized=True)
        inner = [place for place, mark in enumerate(found.special_tokens_mask) if not mark]
        if not inner:
            return (), ()
        return tuple(found.ids[: inner[0]]), tuple(found.ids[inner[-1] + 1 :])

    @property
    def room(self) -> int:
        """Pieces of words in a window."""
        return max(1, self.longest - sum(map(len, self.marks)))

    @cached_property
    def unknown(self) -> int:
        """The piece for a word without pieces, such as a word of invisible characters."""
        names = ("[UNK]", "<unk>", "<|endoftext|>")
        found = [number for name in names if (number := self.native.token_to_id(name)) is not None]
        return int(found[0]) if found else 0

    @cached_property
    def largest(self) -> int:
        """The largest number of a piece."""
        return max(self.native.get_vocab(with_added_tokens=True).values(), default=0)

    def pieces(self, form: str) -> tuple[int, ...]:
        """The numbers of a word's pieces, at least one."""
        found = self._known.get(form)
        if found is None:
            ids = self.native.encode([form], is_pretokenized=True, add_special_tokens=False).ids
            found = self._known[form] = tuple(ids[:MOST_PIECES]) or (self.unknown,)
        return found


@dataclass(frozen=True, eq=False)
class PieceRows:
    """The pieces of some sentences: B windows of at most T pieces; P pieces are used, of W words; N nodes."""

    ids: Tensor  # (B, T)
    mask: Tensor  # (B, T), 1 where there is a piece
    rows: Tensor  # (P,), places in the B · T
    words: Tensor  # (P,), whose pieces they are
    counts: Tensor  # (W,), how many pieces each word has
    nodes: Tensor  # (N,), the word of each node, from 1 on; 0 for the root


class PieceReader:
    """A treebank as pieces."""

    def __init__(self, columns: Columns, tokenizer: PieceTokenizer, which: Which) -> None:
        self.tokenizer, self.which = tokenizer, which
        self.lengths: Ints = np.diff(columns.offsets).astype(np.int32)
        used, self.types = np.unique(columns.ids("form"), return_inverse=True)
        strings = columns.strings("form")
        found = [tokenizer.pieces(strings[i]) for i in used.tolist()]
        self.counts = np.array([len(each) for each in found], np.int64)
        self.starts = np.append(0, np.cumsum(self.counts))[:-1].astype(np.int64)
        self.ids = np.array([piece for each in found for piece in each], np.int64)

    @property
    def guide_labels(self) -> Ints:
        raise InputError("a transformer does not read the trees of a guide", field="stack")

    def rows(self, layout: Layout) -> PieceRows:
        """The windows of some sentences."""
        types = self.types[layout.words]
        counts = self.counts[types]
        ids = self.ids[ranges(self.starts[types], counts)]
        word = np.repeat(np.arange(len(types)), counts)
        is_first = np.append(True, word[1:] != word[:-1])[: len(word)]
        ends = np.append(0, np.cumsum(counts))[np.append(0, np.cumsum(layout.nodes - 1))]
        before, after = self.tokenizer.marks
        sequences: list[Longs] = []
        window, place = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            for each in windows(end - start, self.tokenizer.room):
                own = slice(start + each.first, start + each.last)
                window[own] = len(sequences)
                place[own] = np.arange(each.first, each.last) - each.begin + len(before)
                sequences.append(np.concatenate([before, ids[start + each.begin : start + each.end], after]))
        longest = max(map(len, sequences), default=0)
        table, mask = np.zeros((2, len(sequences), longest), np.int64)
        for number, sequence in enumerate(sequences):
            table[number, : len(sequence)] = sequence
            mask[number, : len(sequence)] = 1
        kept = is_first if self.which == "first" else np.ones(len(ids), np.bool_)
        nodes = np.zeros(len(layout.place), np.int64)
        nodes[~layout.is_root] = np.arange(1, len(types) + 1)
        return PieceRows(
            ids=layout.tensor(table),
            mask=layout.tensor(mask),
            rows=layout.tensor((window * longest + place)[kept]),
            words=layout.tensor(word[kept]),
            counts=layout.tensor(np.bincount(word[kept], minlength=len(types))),
            nodes=layout.tensor(nodes),
        )
