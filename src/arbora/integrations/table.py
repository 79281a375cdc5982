"""A corpus as a table, one row per word: for pandas, Polars, DuckDB and all that reads Arrow or Parquet.

    arbora.integrations.table.to_pandas(sentences)     # sentences, or parse(..., probabilities=True)
    arbora.integrations.table.to_polars(sentences)
    arbora.integrations.table.write_parquet(sentences, "corpus.parquet")
    for sentence in arbora.integrations.table.read_parquet("corpus.parquet"): ...

Columns: `sentence` (from 0), `sent_id`, `id`, `form`, `lemma`, `upos`, `xpos`, `feats`, `head` (0 is the
root), `deprel`, `deps`, `misc`, `start` and `end` (offsets in the text, from `TokenRange=` in MISC),
`head_probability`, `label_probability`, `tree_probability` (given, or from MISC and comments as
`arbora parse --probabilities` writes them), and `other_lines`: the sentence's comments, multiword tokens and
empty nodes, at its first word. `_` in CoNLL-U is null: tables round-trip. Texts are dictionary-encoded.

Files are written and read in row groups: a corpus of any length takes the same memory.
Needs pyarrow: `pip install 'arbora-nlp[table]'`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from arbora.data import conllu
from arbora.data.columns import Columns, Format, columns_of
from arbora.data.sentence import Sentence
from arbora.data.treebank import ColumnReader, unless_all_bad
from arbora.errors import DataError, InputError
from arbora.integrations._table_rows import Probabilities, arrays_of, sentences_of
from arbora.parsing.parsed import Parsed
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

Given: TypeAlias = "Columns | Iterable[Sentence] | Iterable[Parsed]"

ROWS_PER_GROUP = 1 << 17
SENTENCES_AT_ONCE = 4096


def _import(name: str, hint: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"{name} is not installed: {hint}") from error


def _arrow() -> Any:
    return _import("pyarrow", "pip install 'arbora-nlp[table]'")


def _table(columns: Columns, first: int, probabilities: Probabilities | None) -> Any:
    pa = _arrow()
    return pa.table(arrays_of(pa, columns, first, probabilities))


def _empty_table() -> Any:
    return _table(columns_of([]), 0, None)


# To tables


def to_arrow(given: Given) -> Any:
    """Return a `pyarrow.Table`, one row per word. O(words)."""
    tables, first = [_empty_table()], 0
    for columns, probabilities in pieces(given):
        tables.append(_table(columns, first, probabilities))
        first += len(columns)
    return _arrow().concat_tables(tables).unify_dictionaries()


def to_pandas(given: Given) -> Any:
    """Return a `pandas.DataFrame` with texts as categories; needs pandas."""
    pandas = _import("pandas", "pip install pandas")
    # Without this, one unknown head would turn all heads into floats.
    whole = {_arrow().int32(): pandas.Int32Dtype()}
    return to_arrow(given).to_pandas(types_mapper=whole.get)


def to_polars(given: Given) -> Any:
    """Return a `polars.DataFrame` with texts as categories; needs Polars."""
    return _import("polars", "pip install polars").from_arrow(to_arrow(given))


class ParquetWriter:
    """Writes pieces of a corpus to one Parquet file: `writer.write(columns)`; see `parquet_writer`."""

    def __init__(self, stream: Any) -> None:
        parquet = _import("pyarrow.parquet", "pip install 'arbora-nlp[table]'")
        self._writer = parquet.ParquetWriter(stream, _empty_table().schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = self.sentences = 0

    def write(self, columns: Columns, probabilities: Probabilities | None = None) -> None:
        """Add a piece; a row group is written when it has enough words."""
        self._waiting.append(_table(columns, self.sentences, probabilities))
        self.sentences += len(columns)
        self._rows += columns.words
        if self._rows >= ROWS_PER_GROUP:
            self._flush()

    def close(self) -> None:
        """Write the remaining rows and the end of the file."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Close the stream without the remaining rows."""
        with suppress(OSError):
            self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            table = _arrow().concat_tables(self._waiting).unify_dictionaries()
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting, self._rows = [], 0


@contextmanager
def parquet_writer(target: str | os.PathLike[str]) -> Iterator[ParquetWriter]:
    """Open a writer to a file that appears, complete, when the block ends without an error."""
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
    """Write a corpus as Parquet, in constant memory; return the number of sentences."""
    with parquet_writer(target) as writer:
        for columns, probabilities in pieces(given):
            writer.write(columns, probabilities)
        return writer.sentences


def is_parquet(name: str) -> bool:
    """Return whether a file has the name of a Parquet file."""
    return name.lower().endswith(".parquet")


def convert_to_parquet(reader: ColumnReader, target: str | os.PathLike[str]) -> None:
    """Write all sentences of a reader as Parquet. DataError, and no file, if every sentence was bad."""
    with parquet_writer(target) as writer:
        for columns in unless_all_bad(reader, reader):
            writer.write(as_conllu(columns, reader.format))


def as_conllu(columns: Columns, format: Format) -> Columns:  # noqa: A002
    """Return the same sentences with the columns of CoNLL-U."""
    return columns if format == "conllu" else conllu.columns_from_conllx(columns)


def pieces(given: Given) -> Iterator[tuple[Columns, Probabilities | None]]:
    """Yield the corpus as arrays, some thousand sentences at a time."""
    if isinstance(given, Columns):
        yield given, None
        return
    several: object = given
    if isinstance(several, str | bytes) or not isinstance(several, Iterable):
        kind = type(several).__name__
        raise InputError(f"expected sentences or Columns, got {kind}; read a file with arbora.read first")
    left: Iterator[Any] = iter(several)
    while some := list(islice(left, SENTENCES_AT_ONCE)):
        for each in some:
            if not isinstance(each, Sentence | Parsed):
                raise InputError(
                    f"expected an iterable of Sentence or Parsed, got one of {type(each).__name__}"
                )
        columns = columns_of(each.sentence if isinstance(each, Parsed) else each for each in some)
        yield columns, _probabilities(some) if any(isinstance(each, Parsed) for each in some) else None


def _probabilities(some: Sequence[Sentence | Parsed]) -> Probabilities:
    heads: list[float | None] = []
    labels: list[float | None] = []
    for each in some:
        unknown = (None,) * len(each)
        heads += each.head_probabilities if isinstance(each, Parsed) else unknown
        labels += each.label_probabilities if isinstance(each, Parsed) else unknown
    trees = [each.probability if isinstance(each, Parsed) else None for each in some]
    return Probabilities(*(np.array(numbers, dtype=np.float64) for numbers in (heads, labels, trees)))


# From tables


def from_table(table: Any) -> Iterator[Sentence]:
    """Yield the sentences of a table of pyarrow, pandas or Polars; unknown columns are ignored.

    Needs `sentence` and `form`; null or missing values are unknown. InputError if rows are not words.
    """
    return sentences_of([_as_arrow(table)], "table")


def read_parquet(path: str | os.PathLike[str]) -> Iterator[Sentence]:
    """Yield the sentences of a Parquet file, read by row group. DataError if it holds no corpus."""
    pa, parquet = _arrow(), _import("pyarrow.parquet", "pip install 'arbora-nlp[table]'")
    source = os.fspath(path)
    try:
        with parquet.ParquetFile(source) as file:
            names = [name for name in _empty_table().column_names if name in file.schema_arrow.names]
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
