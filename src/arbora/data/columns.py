"""A treebank as flat arrays: compact, fast to count over, and lossless.

Words of all sentences stand one after another; sentence s owns words offsets[s] .. offsets[s+1].
Each text column is an int32 array of numbers into its own list of distinct strings, in which
number 0 is always `_`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from arbora import _core
from arbora.data.sentence import EmptyNode, MultiwordToken, Origin, Sentence
from arbora.errors import DataError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Format = Literal["conllu", "conllx"]
Roots = Literal["multi", "single"]
TextColumn = Literal["form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"]

TEXT_COLUMNS: Final[tuple[TextColumn, ...]] = get_args(TextColumn)
COMMENT, MULTIWORD, EMPTY = range(3)


class Columns:
    """Read-only arrays over W words in S sentences, shared with the native reader (no copy)."""

    __slots__ = ("_native", "source")

    def __init__(self, native: _core.ConllColumns, source: str = "<text>") -> None:
        self._native = native
        self.source = source

    def __len__(self) -> int:
        return int(self._native.sentence_offsets.size) - 1

    @property
    def words(self) -> int:
        """W, the number of words."""
        return int(self._native.heads.size)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Shape (S+1,): where each sentence starts, and W."""
        return self._native.sentence_offsets

    @property
    def heads(self) -> NDArray[np.int32]:
        """Shape (W,): heads within the sentence; 0 root, -1 not given."""
        return self._native.heads

    @property
    def lines(self) -> NDArray[np.int64]:
        """Shape (W,): line of each word in the file, from 1."""
        return self._native.lines

    @property
    def multiword_tokens(self) -> int:
        """Number of multiword tokens."""
        return int(np.count_nonzero(self._native.extra_kinds == MULTIWORD))

    @property
    def empty_nodes(self) -> int:
        """Number of empty nodes."""
        return int(np.count_nonzero(self._native.extra_kinds == EMPTY))

    def ids(self, column: TextColumn) -> NDArray[np.int32]:
        """Shape (W,): number of each word's entry in `strings(column)`."""
        return self._native.ids(_index(column))

    def strings(self, column: TextColumn) -> list[str]:
        """Distinct entries of a column in order of appearance; entry 0 is `_`."""
        return self._native.strings(_index(column))

    @property
    def native(self) -> _core.ConllColumns:
        """The core's own object."""
        return self._native

    def with_column(self, column: TextColumn, ids: NDArray[np.int32], names: Sequence[str]) -> Columns:
        """A copy with other texts in one column: `ids`, shape (W,), are places in `names`. O(W)."""
        return Columns(self._native.with_column(_index(column), ids, names), self.source)

    def select(self, sentences: NDArray[np.int64]) -> Columns:
        """A copy of some sentences, by their numbers, in this order. O(words chosen + distinct text)."""
        return Columns(self._native.select(np.ascontiguousarray(sentences, dtype=np.int64)), self.source)

    def to_bytes(self) -> bytes:
        """The bytes these sentences were read from."""
        return self._native.to_bytes()

    def to_bytes_with(
        self, heads: NDArray[np.int32], labels: NDArray[np.int32], names: Sequence[str]
    ) -> bytes:
        """The same bytes with other trees: HEAD and DEPREL of every word, shape (W,) each.

        `labels` are places in `names`; -1 is written as `_`.
        """
        return self._native.to_bytes_with(heads, labels, names)

    def sentences(self) -> Iterator[Sentence]:
        """Each sentence as an object; equal strings are shared. O(W) for all."""
        forms, lemmas, upos, xpos, feats, deprels, deps, misc = map(self._texts, TEXT_COLUMNS)
        heads = self.heads.tolist()
        extras, origins = _Extras(self._native), self._origins()
        offsets = self.offsets.tolist()
        for s, (first, last) in enumerate(pairwise(offsets)):
            yield Sentence(
                tuple(forms[first:last]),
                tuple(lemmas[first:last]),
                tuple(upos[first:last]),
                tuple(xpos[first:last]),
                tuple(feats[first:last]),
                tuple(heads[first:last]),
                tuple(deprels[first:last]),
                tuple(deps[first:last]),
                tuple(misc[first:last]),
                *extras.of_sentence(s),
                next(origins),
            )

    def _texts(self, column: TextColumn) -> list[str]:
        return list(map(self.strings(column).__getitem__, self.ids(column).tolist()))

    def _origins(self) -> Iterator[Origin]:
        native = self._native
        lines = native.sentence_lines.tolist()
        newlines = ["\r\n" if flag else "\n" for flag in native.carriage_returns.tolist()]
        blank_lines = native.blank_lines.tolist()
        for s, line in enumerate(lines):
            before = native.leading_blank_lines if s == 0 else 0
            final_newline = native.final_newline or s + 1 < len(lines)
            mark = native.byte_order_mark and s == 0
            layout = (newlines[s], before, blank_lines[s], final_newline, mark)
            yield Origin(self.source, line, *layout)


class _Extras:
    """Comments, multiword tokens and empty nodes, by sentence."""

    def __init__(self, native: _core.ConllColumns) -> None:
        self._offsets = native.extra_offsets.tolist()
        self._kinds = native.extra_kinds.tolist()
        self._texts = native.extra_texts()

    def of_sentence(
        self, s: int
    ) -> tuple[tuple[str, ...], tuple[MultiwordToken, ...], tuple[EmptyNode, ...]]:
        first, last = self._offsets[s], self._offsets[s + 1]
        kinds, texts = self._kinds[first:last], self._texts[first:last]
        if not any(kinds):
            return tuple(texts), (), ()
        pairs = list(zip(kinds, texts, strict=True))
        return (
            tuple(text for kind, text in pairs if kind == COMMENT),
            tuple(_multiword_token(text) for kind, text in pairs if kind == MULTIWORD),
            tuple(_empty_node(text) for kind, text in pairs if kind == EMPTY),
        )


def _multiword_token(line: str) -> MultiwordToken:
    number, *fields = line.split("\t")
    first, _, last = number.partition("-")
    return MultiwordToken(int(first), int(last), tuple(fields))


def _empty_node(line: str) -> EmptyNode:
    number, *fields = line.split("\t")
    word, _, index = number.partition(".")
    return EmptyNode(int(word), int(index), tuple(fields))


def _index(column: TextColumn) -> int:
    if column not in TEXT_COLUMNS:
        raise InputError(f"column: expected one of {', '.join(TEXT_COLUMNS)}, got {column!r}")
    return TEXT_COLUMNS.index(column)


def native_reader(format: Format, roots: Roots, *, lenient: bool) -> _core.ConllReader:  # noqa: A002
    """A reader of the core for checked options."""
    for name, value, kind in (("format", format, Format), ("roots", roots, Roots)):
        if value not in get_args(kind):
            raise InputError(f"{name}: expected {' or '.join(get_args(kind))}, got {value!r}")
    return _core.ConllReader(conllx=format == "conllx", single_root=roots == "single", lenient=lenient)


def data_error(problem: tuple[int, str, str, str], source: str) -> DataError:
    """The error for a problem of the core: `source:line: what: expected ..., got ...`."""
    line, what, expected, got = problem
    return DataError(f"{what}: expected {expected}, got {got}", source=source, line=line)


def parse_text(text: str, format: Format, roots: Roots = "multi") -> Columns:  # noqa: A002
    """Columns of a whole text; DataError at its first fault. O(length)."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"text: expected text that UTF-8 can hold, got {error}") from None
    reader = native_reader(format, roots, lenient=False)
    reader.parse(data, last=True)
    for problem in reader.take_problems():
        raise data_error(problem, "<text>")
    return Columns(reader.take())


def parse_sentence(text: str, format: Format, roots: Roots = "multi") -> Sentence:  # noqa: A002
    """The one sentence of a text; DataError if it holds none or several."""
    columns = parse_text(text, format, roots)
    if len(columns) != 1:
        raise DataError(f"number of sentences: expected 1, got {len(columns)}")
    return next(columns.sentences())


def columns_of(sentences: Iterable[Sentence], source: str = "<sentences>") -> Columns:
    """Sentences as arrays; `source` is what messages call them. O(length)."""
    lines: list[str] = []
    for s in sentences:
        lines += (*s.lines(), "")
    columns = parse_text("\n".join([*lines, ""]), "conllu")
    columns.source = source
    return columns
