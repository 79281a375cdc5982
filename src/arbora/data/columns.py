"""A treebank as flat arrays: compact, fast to count over, and lossless.

The words of all sentences follow each other; sentence s has words offsets[s] to offsets[s+1]. Each text
column is an int32 array of ids into its own list of distinct strings, in which id 0 is always `_`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np

from arbora import _core
from arbora.data.sentence import NO_HEAD, EmptyNode, MultiwordToken, Origin, Sentence
from arbora.errors import DataError, as_utf8, require_known
from arbora.interfaces import Roots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from arbora.types import Bools, Ints, Longs

Format = Literal["conllu", "conllx"]
TextColumn = Literal["form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"]

TEXT_COLUMNS: Final[tuple[TextColumn, ...]] = get_args(TextColumn)
Texts: TypeAlias = "Sequence[str] | tuple[NDArray[Any], Sequence[str]]"
"""A column of words: strings, or ids and the strings that they number."""
Extras: TypeAlias = tuple[tuple[str, ...], tuple[MultiwordToken, ...], tuple[EmptyNode, ...]]
COMMENT, MULTIWORD, EMPTY = range(3)
HEAD_PLACE = 5  # place of HEAD among the columns of a sentence
PIECE = 6_000
"""Words of a piece: few enough for a network to keep their states, which tags and trees share."""


@dataclass(slots=True, eq=False, repr=False)
class Columns:
    """Read-only arrays over W words in S sentences, shared with the native reader (no copy)."""

    native: _core.ConllColumns
    source: str = "<text>"

    @classmethod
    def from_arrays(
        cls,
        offsets: ArrayLike,
        texts: Mapping[TextColumn, Texts],
        *,
        heads: ArrayLike | None = None,
        other_lines: Sequence[Sequence[str]] | None = None,
        source: str = "<arrays>",
    ) -> Columns:
        """Build columns from flat arrays of S sentences with W words. O(W + text).

        `offsets`: shape (S+1,), the start of each sentence, and W. `texts`: each column as W strings, or as
        ids of shape (W,) and the strings that they number; a missing column is `_`. `heads`: shape (W,), -1
        for unknown. `other_lines`: the comments, multiword tokens and empty nodes of each sentence, as lines
        of CoNLL-U in any order.

        The content is checked like that of a file: DataError gives the line that it would have in one.
        """
        starts = np.ascontiguousarray(offsets, dtype=np.int64)
        words = max(0, int(starts[-1])) if starts.size else 0
        given: list[list[str] | tuple[Ints, list[str]] | None] = [None] * len(TEXT_COLUMNS)
        for column, content in texts.items():
            if isinstance(content, tuple) and len(content) == 2 and isinstance(content[0], np.ndarray):
                given[_index(column)] = np.ascontiguousarray(content[0], dtype=np.int32), list(content[1])
            else:
                given[_index(column)] = list(cast("Sequence[str]", content))
        numbers = np.full(words, NO_HEAD) if heads is None else np.asarray(heads)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise DataError("heads: expected integers, -1 for unknown", source=source)
        numbers = np.clip(numbers, -2, np.iinfo(np.int32).max).astype(np.int32)
        lines = [()] * (starts.size - 1) if other_lines is None else list(other_lines)
        reader = native_reader("conllu", "multi", lenient=False)
        reader.read_arrays(given, numbers, starts, lines)
        return _taken(reader, source)

    @classmethod
    def concat(cls, parts: Sequence[Columns], source: str | None = None) -> Columns:
        """Join the sentences of several Columns; pieces of a file give the file. O(words + distinct text)."""
        name = " + ".join(dict.fromkeys(part.source for part in parts)) if source is None else source
        return cls(_core.ConllColumns.concat([part.native for part in parts]), name)

    def __reduce__(self) -> tuple[Any, ...]:
        # As text: native code cannot be pickled. A copy is equal but for `lines`, which count in this text.
        return _from_bytes, (self.to_bytes(), self.source)

    def __len__(self) -> int:
        return int(self.native.sentence_offsets.size) - 1

    @property
    def words(self) -> int:
        """W, the number of words."""
        return int(self.native.heads.size)

    @property
    def offsets(self) -> Longs:
        """Shape (S+1,): start of each sentence, and W."""
        return self.native.sentence_offsets

    @property
    def heads(self) -> Ints:
        """Shape (W,): heads within the sentence; 0 root, -1 unknown."""
        return self.native.heads

    @property
    def lines(self) -> Longs:
        """Shape (W,): line of each word in the file, from 1."""
        return self.native.lines

    @property
    def multiword_tokens(self) -> int:
        return int(np.count_nonzero(self.native.extra_kinds == MULTIWORD))

    @property
    def empty_nodes(self) -> int:
        return int(np.count_nonzero(self.native.extra_kinds == EMPTY))

    def ids(self, column: TextColumn) -> Ints:
        """Shape (W,): place of each word's text in `strings(column)`."""
        return self.native.ids(_index(column))

    def strings(self, column: TextColumn) -> list[str]:
        """Distinct texts of a column in order of appearance; text 0 is `_`."""
        return self.native.strings(_index(column))

    def texts(self, column: TextColumn) -> list[str]:
        """Return the text of every word in a column."""
        return list(map(self.strings(column).__getitem__, self.ids(column).tolist()))

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split values of all words, shape (W, ...), by sentence."""
        return np.split(values, self.offsets[1:-1]) if len(self) else []

    def any_word(self, mask: Bools) -> Bools:
        """Return whether each sentence has a word of the mask, which has shape (W,). Shape (S,)."""
        before = np.concatenate([[0], np.cumsum(mask)])
        return np.asarray(np.diff(before[self.offsets]) > 0)

    def counts(self, column: TextColumn) -> Counter[str]:
        """Count the words with each text of a column."""
        strings = self.strings(column)
        counts = np.bincount(self.ids(column), minlength=len(strings)).tolist()
        return Counter({text: count for text, count in zip(strings, counts, strict=True) if count})

    def with_column(self, column: TextColumn, ids: Ints, names: Sequence[str]) -> Columns:
        """Return a copy with other texts in a column: `ids`, shape (W,), are places in `names`. O(W)."""
        return Columns(self.native.with_column(_index(column), ids, names), self.source)

    def select(self, sentences: Longs) -> Columns:
        """Return a copy of the sentences with these numbers, in this order. O(words + distinct text)."""
        return Columns(self.native.select(np.ascontiguousarray(sentences, dtype=np.int64)), self.source)

    def ranges(self, most_words: int) -> Iterator[slice]:
        """Yield ranges of sentences with about `most_words` words each, at least one sentence."""
        start, offsets = 0, self.offsets
        while start < len(self):
            fitting = int(np.searchsorted(offsets[1:], offsets[start] + most_words, side="right"))
            end = max(start + 1, fitting)
            yield slice(start, end)
            start = end

    def pieces(self, most_words: int = PIECE) -> Iterator[Columns]:
        """Yield pieces of about `most_words` words each."""
        for part in self.ranges(most_words):
            is_whole = part == slice(0, len(self))
            yield self if is_whole else self.select(np.arange(part.start, part.stop))

    def to_bytes(self) -> bytes:
        """Return the bytes that these sentences were read from."""
        return self.native.to_bytes()

    def with_trees(self, heads: Ints, labels: Ints, names: Sequence[str]) -> Columns:
        """Return a copy with the HEAD and DEPREL of other trees, shape (W,) each.

        `labels` are places in `names`; -1 is `_`. InputError if the heads are no trees. O(W).
        """
        return Columns(self.native.with_trees(heads, labels, names), self.source)

    def sentences(self) -> Iterator[Sentence]:
        """Yield each sentence as an object; equal strings are shared. O(W) for all."""
        columns: list[list[Any]] = [self.texts(column) for column in TEXT_COLUMNS]
        columns.insert(HEAD_PLACE, self.heads.tolist())
        native = self.native
        arrays = native.sentence_lines, native.carriage_returns, native.blank_lines
        layouts = zip(*(array.tolist() for array in arrays), strict=True)
        rows = zip(pairwise(self.offsets.tolist()), self.extras(), layouts, strict=True)
        for s, ((first, last), extras, (line, carriage_return, blank_lines)) in enumerate(rows):
            before = native.leading_blank_lines if s == 0 else 0
            final_newline = native.final_newline or s + 1 < len(self)
            layout = ("\r\n" if carriage_return else "\n", before, blank_lines, final_newline)
            origin = Origin(self.source, line, *layout, native.byte_order_mark and s == 0)
            fields: list[Any] = [tuple(column[first:last]) for column in columns]
            yield Sentence(*(*fields, *extras, origin))

    def extras(self) -> Iterator[Extras]:
        """Yield the comments, multiword tokens and empty nodes of each sentence."""
        all_kinds, all_texts = self.native.extra_kinds.tolist(), self.native.extra_texts()
        for first, last in pairwise(self.native.extra_offsets.tolist()):
            kinds, texts = all_kinds[first:last], all_texts[first:last]
            if not any(kinds):
                yield tuple(texts), (), ()
                continue
            by_kind: tuple[list[Any], ...] = ([], [], [])
            for kind, text in zip(kinds, texts, strict=True):
                by_kind[kind].append(_extra(kind, text))
            yield cast("Extras", tuple(map(tuple, by_kind)))


def _extra(kind: int, line: str) -> Any:
    if kind == COMMENT:
        return line
    number, *fields = line.split("\t")
    first, second = map(int, re.split("[-.]", number))  # 3-4 or 5.1
    return (MultiwordToken if kind == MULTIWORD else EmptyNode)(first, second, tuple(fields))


def _index(column: TextColumn) -> int:
    require_known("column", column, TEXT_COLUMNS)
    return TEXT_COLUMNS.index(column)


def native_reader(format: Format, roots: Roots, *, lenient: bool) -> _core.ConllReader:
    """Make a native reader; InputError for unknown options."""
    require_known("format", format, get_args(Format))
    require_known("roots", roots, get_args(Roots))
    return _core.ConllReader(conllx=format == "conllx", single_root=roots == "single", lenient=lenient)


def data_error(problem: tuple[int, str, str, str], source: str) -> DataError:
    """Make the error for a problem of the core: `source:line: what: expected ..., got ...`."""
    line, what, expected, got = problem
    return DataError(f"{what}: expected {expected}, got {got}", source=source, line=line)


def parse_text(text: str, format: Format = "conllu", roots: Roots = "multi") -> Columns:
    """Parse a whole text; DataError at its first fault. O(length)."""
    reader = native_reader(format, roots, lenient=False)
    reader.parse(as_utf8("text", text), last=True)
    return _taken(reader, "<text>")


def _from_bytes(text: bytes, source: str) -> Columns:
    reader = native_reader("conllu", "multi", lenient=False)
    reader.parse(text, last=True)
    return _taken(reader, source)


def _taken(reader: _core.ConllReader, source: str) -> Columns:
    for problem in reader.take_problems():
        raise data_error(problem, source)
    return Columns(reader.take(), source)


def parse_sentence(text: str, format: Format = "conllu", roots: Roots = "multi") -> Sentence:
    """Parse a text of one sentence; DataError if it holds none or several."""
    columns = parse_text(text, format, roots)
    if len(columns) != 1:
        raise DataError(f"number of sentences: expected 1, got {len(columns)}")
    return next(columns.sentences())


def columns_of(sentences: Iterable[Sentence], source: str = "<sentences>") -> Columns:
    """Return sentences as arrays; error messages call them `source`. O(length)."""
    columns: tuple[list[Any], ...] = tuple([] for _ in range(len(TEXT_COLUMNS) + 1))
    offsets, other_lines = [0], []
    for sentence in sentences:
        for whole, own in zip(columns, sentence.columns(), strict=True):
            whole += own
        offsets.append(len(columns[0]))
        other_lines.append(sentence.other_lines())
    heads = columns[HEAD_PLACE]
    texts = dict(zip(TEXT_COLUMNS, columns[:HEAD_PLACE] + columns[HEAD_PLACE + 1 :], strict=True))
    return Columns.from_arrays(offsets, texts, heads=heads, other_lines=other_lines, source=source)
