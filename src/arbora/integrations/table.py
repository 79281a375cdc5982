"""A corpus as a table, one row per word: for pandas, Polars, DuckDB and whatever reads Arrow or Parquet.

    arbora.integrations.table.to_pandas(sentences)     # sentences, or parse(..., probabilities=True)
    arbora.integrations.table.to_polars(sentences)
    arbora.integrations.table.write_parquet(sentences, "corpus.parquet")
    for sentence in arbora.integrations.table.read_parquet("corpus.parquet"): ...

Columns: `sentence` (from 0), `sent_id`, `id`, `form`, `lemma`, `upos`, `xpos`, `feats`, `head` (0 is the
root), `deprel`, `deps`, `misc`, `start` and `end` (offsets in the text, from `TokenRange=` in MISC),
`head_probability`, `label_probability`, `tree_probability` (given, or from MISC and comments as
`arbora parse --probabilities` writes them), and `other_lines`: the sentence's comments, multiword tokens and
empty nodes, at its first word. What CoNLL-U leaves open with `_` is null, so that nothing is lost on the way
back. Texts are dictionary-encoded.

Files are written and read in row groups: a corpus of any length takes the same memory.
Needs pyarrow: `pip install arbora[table]`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.data import conllu
from arbora.data.columns import TEXT_COLUMNS, Columns, Format, TextColumn, columns_of, parse_text
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.treebank import ColumnReader
from arbora.errors import DataError, InputError
from arbora.integrations._table_rows import sentences_of
from arbora.parsing.parsed import HEAD, LABEL, TREE, Parsed
from arbora.storage.atomic import replacing

__all__ = [
    "ParquetWriter",
    "Probabilities",
    "from_table",
    "parquet_writer",
    "read_parquet",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "write_parquet",
]

Floats: TypeAlias = NDArray[np.float64]
Given: TypeAlias = "Columns | Iterable[Sentence] | Iterable[Parsed]"

ROWS_PER_GROUP = 1 << 17
SENTENCES_AT_ONCE = 4096
NUMBER = r"([01](?:\.\d+)?)"
TOKEN_RANGE = re.compile(r"(?:^|\|)TokenRange=(\d{1,9}):(\d{1,9})(?![^|])")
HEAD_PROBABILITY = re.compile(rf"(?:^|\|){HEAD}={NUMBER}(?![^|])")
LABEL_PROBABILITY = re.compile(rf"(?:^|\|){LABEL}={NUMBER}(?![^|])")


@dataclass(frozen=True)
class Probabilities:
    """Of W words' heads and labels and of S sentences' trees; NaN where nothing is known."""

    heads: Floats
    labels: Floats
    trees: Floats


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise InputError(
            "tables need pyarrow, which is not installed: pip install 'arbora[table]'"
        ) from error
    return pyarrow


def _schema() -> Any:
    pa = _arrow()
    text = pa.dictionary(pa.int32(), pa.string())
    fields = [("sentence", pa.int64()), ("sent_id", text), ("id", pa.int32())]
    fields += [(name, text) for name in ("form", "lemma", "upos", "xpos", "feats")]
    fields += [("head", pa.int32()), ("deprel", text), ("deps", text), ("misc", text)]
    fields += [("start", pa.int32()), ("end", pa.int32())]
    fields += [(name, pa.float64()) for name in ("head_probability", "label_probability", "tree_probability")]
    fields += [("other_lines", pa.string())]
    return pa.schema(fields)


# To tables


def to_arrow(given: Given) -> Any:
    """A `pyarrow.Table`, one row per word. O(words)."""
    pa = _arrow()
    tables, first = [], 0
    for columns, probabilities in pieces(given):
        tables.append(_table(columns, first, probabilities))
        first += len(columns)
    if not tables:
        return _schema().empty_table()
    return pa.concat_tables(tables).unify_dictionaries()


def to_pandas(given: Given) -> Any:
    """A `pandas.DataFrame`, texts as categories; needs pandas, too."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("pandas is not installed: pip install pandas") from error
    # A head that is not given would otherwise make floats of all the others.
    whole = {_arrow().int32(): pandas.Int32Dtype()}
    return to_arrow(given).to_pandas(types_mapper=whole.get)


def to_polars(given: Given) -> Any:
    """A `polars.DataFrame`, texts as categories; needs Polars, too."""
    try:
        import polars
    except ImportError as error:
        raise InputError("Polars is not installed: pip install polars") from error
    return polars.from_arrow(to_arrow(given))


class ParquetWriter:
    """Writes pieces of a corpus to one Parquet file: `writer.write(columns)`; see `parquet_writer`."""

    def __init__(self, stream: Any) -> None:
        _arrow()
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(stream, _schema(), compression="zstd")
        self._waiting: list[Any] = []
        self._rows = self.sentences = 0

    def write(self, columns: Columns, probabilities: Probabilities | None = None) -> None:
        """The next piece; row groups are written when enough words are there."""
        self._waiting.append(_table(columns, self.sentences, probabilities))
        self.sentences += len(columns)
        self._rows += columns.words
        if self._rows >= ROWS_PER_GROUP:
            self._flush()

    def close(self) -> None:
        """Writes what is left and the end of the file."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Ends it without what is left, while there still is a stream to end."""
        with suppress(OSError):
            self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            table = _arrow().concat_tables(self._waiting).unify_dictionaries()
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._rows = [], 0


@contextmanager
def parquet_writer(target: str | os.PathLike[str]) -> Iterator[ParquetWriter]:
    """A writer to a file that is there, whole, when the block ends without an error."""
    _arrow()
    with replacing(target) as stream:
        writer = ParquetWriter(stream)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
        writer.close()


def write_parquet(given: Given, target: str | os.PathLike[str]) -> int:
    """Writes a corpus as Parquet, in constant memory; returns the number of sentences."""
    with parquet_writer(target) as writer:
        for columns, probabilities in pieces(given):
            writer.write(columns, probabilities)
        return writer.sentences


def is_parquet(name: str) -> bool:
    """Whether a file's name says that it is Parquet."""
    return name.lower().endswith(".parquet")


def convert_to_parquet(reader: ColumnReader, target: str | os.PathLike[str]) -> None:
    """All that a reader gives, as Parquet. DataError, and no file, where every sentence was bad."""
    with parquet_writer(target) as writer:
        for columns in reader:
            writer.write(as_conllu(columns, reader.format))
        if reader.skipped and not writer.sentences:
            what = f"no good sentence: expected at least one to write, got {reader.skipped} bad"
            raise DataError(what, source=reader.source)


def as_conllu(columns: Columns, format: Format) -> Columns:  # noqa: A002
    """The same as CoNLL-U, whose columns these tables have."""
    if format == "conllu":
        return columns
    return parse_text("".join(conllu.from_conllx(s).to_conllu() for s in columns.sentences()), "conllu")


# From tables


def from_table(table: Any) -> Iterator[Sentence]:
    """The sentences of a table of pyarrow, pandas or Polars; other columns than ours are ignored.

    Needs `sentence` and `form`; what is absent or null is "not given". InputError where rows are no words.
    """
    return sentences_of([_as_arrow(table)], "table")


def read_parquet(path: str | os.PathLike[str]) -> Iterator[Sentence]:
    """The sentences of a Parquet file, read by row group. DataError where it is none, or no corpus."""
    pa = _arrow()
    from pyarrow import parquet

    source = os.fspath(path)
    try:
        with parquet.ParquetFile(source) as file:
            names = [name for name in _schema().names if name in file.schema_arrow.names]
            groups = (file.read_row_group(i, columns=names) for i in range(file.num_row_groups))
            yield from sentences_of(groups, source)
    except (pa.ArrowException, InputError) as error:
        what = " ".join(str(error).removeprefix(f"{source}: ").split())
        raise DataError(f"expected a Parquet file of words, got another: {what}", source=source) from None


def _as_arrow(table: Any) -> Any:
    pa = _arrow()
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "to_arrow"):  # Polars
        return table.to_arrow()
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (AttributeError, TypeError, pa.ArrowException) as error:
        kind = type(table).__name__
        raise InputError(f"table: expected one of pyarrow, pandas or Polars, got {kind}: {error}") from error


# Columns to rows


def pieces(given: Given) -> Iterator[tuple[Columns, Probabilities | None]]:
    """What is given as arrays, some thousand sentences at a time."""
    if isinstance(given, Columns):
        yield given, None
        return
    several: object = given
    if isinstance(several, (str, bytes)) or not isinstance(several, Iterable):
        kind = type(several).__name__
        raise InputError(f"expected sentences or Columns, got {kind}; read a file with arbora.read first")
    left: Iterator[Any] = iter(several)
    while some := list(islice(left, SENTENCES_AT_ONCE)):
        for each in some:
            if not isinstance(each, (Sentence, Parsed)):
                raise InputError(
                    f"expected an iterable of Sentence or Parsed, got one of {type(each).__name__}"
                )
        plain = [each.sentence if isinstance(each, Parsed) else each for each in some]
        columns = columns_of(plain)
        yield columns, _probabilities(some) if any(isinstance(each, Parsed) for each in some) else None


def _probabilities(some: Sequence[Sentence | Parsed]) -> Probabilities:
    heads: list[float | None] = []
    labels: list[float | None] = []
    for each in some:
        nothing = (None,) * len(each)
        heads += each.head_probabilities if isinstance(each, Parsed) else nothing
        labels += each.label_probabilities if isinstance(each, Parsed) else nothing
    trees = [each.probability if isinstance(each, Parsed) else None for each in some]
    return Probabilities(*(np.array(numbers, dtype=np.float64) for numbers in (heads, labels, trees)))


def _table(columns: Columns, first: int, given: Probabilities | None) -> Any:
    pa = _arrow()
    lengths = np.diff(columns.offsets)
    numbers = np.repeat(np.arange(len(columns)), lengths)
    starts = columns.offsets[:-1]
    texts = {name: _dictionary(columns, name) for name in TEXT_COLUMNS}
    misc, misc_ids = columns.strings("misc"), columns.ids("misc")
    offsets = _misc_numbers(misc, TOKEN_RANGE)[:, misc_ids]
    other, sent_ids, told = _around(columns)
    if given is None:
        heads = _misc_numbers(misc, HEAD_PROBABILITY)[0, misc_ids]
        labels = _misc_numbers(misc, LABEL_PROBABILITY)[0, misc_ids]
        given = Probabilities(heads, labels, told)
    lines: list[str | None] = [None] * columns.words
    for at, text in zip(starts.tolist(), other, strict=True):
        lines[at] = text
    unnamed = np.array([name is None for name in sent_ids], dtype=bool)[numbers]
    arrays = {
        "sentence": pa.array(numbers + first),
        "sent_id": pa.DictionaryArray.from_arrays(
            pa.array(numbers.astype(np.int32), mask=unnamed),
            pa.array([name or "" for name in sent_ids], type=pa.string()),
        ),
        "id": pa.array((np.arange(columns.words) - np.repeat(starts, lengths) + 1).astype(np.int32)),
        **{name: texts[name] for name in ("form", "lemma", "upos", "xpos", "feats")},
        "head": pa.array(columns.heads, mask=columns.heads == NO_HEAD),
        **{name: texts[name] for name in ("deprel", "deps", "misc")},
        "start": _optional(pa, offsets[0], pa.int32()),
        "end": _optional(pa, offsets[1], pa.int32()),
        "head_probability": _optional(pa, given.heads, pa.float64()),
        "label_probability": _optional(pa, given.labels, pa.float64()),
        "tree_probability": _optional(pa, given.trees[numbers], pa.float64()),
        "other_lines": pa.array(lines, type=pa.string()),
    }
    return pa.table(arrays, schema=_schema())


def _optional(pa: Any, numbers: Floats, kind: Any) -> Any:
    """NaN as null."""
    unknown = np.isnan(numbers)
    return pa.array(np.where(unknown, 0, numbers), mask=unknown).cast(kind)


def _dictionary(columns: Columns, name: TextColumn) -> Any:
    pa = _arrow()
    ids = columns.ids(name)
    nothing = np.zeros(len(ids), dtype=bool) if name == "form" else ids == 0  # entry 0 is `_`
    words = pa.array(columns.strings(name), type=pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(ids, mask=nothing), words)


def _misc_numbers(strings: Sequence[str], pattern: re.Pattern[str]) -> Floats:
    """(groups, strings): the numbers that a pattern finds in each distinct entry, NaN where it does not."""
    result = np.full((pattern.groups, len(strings)), np.nan)
    for i, text in enumerate(strings):
        if "=" in text and (found := pattern.search(text)) is not None:
            result[:, i] = [float(number) for number in found.groups()]
    return result


def _around(columns: Columns) -> tuple[list[str | None], list[str | None], Floats]:
    """Of each sentence: the lines that are no words, its sent_id, and P(tree) from its comments."""
    offsets, texts = columns.native.extra_offsets.tolist(), columns.native.extra_texts()
    other: list[str | None] = []
    names: list[str | None] = []
    sure = np.full(len(columns), np.nan)
    for s in range(len(columns)):
        own = texts[offsets[s] : offsets[s + 1]]
        other.append("\n".join(own) if own else None)
        name = None
        for line in own:
            if line.startswith("#"):
                key, equals, value = line[1:].partition("=")
                if equals and key.strip() == "sent_id":
                    name = value.strip()
                elif equals and key.strip() == TREE:
                    sure[s] = _number(value)
        names.append(name)
    return other, names, sure


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
