"""A corpus as a table, one row per word: for pandas, Polars, DuckDB and other readers of Arrow or Parquet.

Columns: `document` (the last `# newdoc id`), `sentence` (from 0), `sent_id`, `id`, `form`, `lemma`,
`upos`, `xpos`, `feats`, `head` (0 is the root), `deprel`, `deps`, `misc`, `start` and `end` (offsets in the
text, as words know them or from `TokenRange=` in MISC), `head_probability`, `label_probability`,
`tree_probability` (given, or from MISC and comments as `arbora parse --probabilities` writes them), and
`other_lines`: the sentence's comments, multiword tokens and empty nodes, at its first word. `_` in CoNLL-U is
null: tables round-trip. Texts are dictionary-encoded.

Files are written and read in row groups: a corpus of any length takes the same memory.
Needs pyarrow: `pip install 'arbora-nlp[table]'`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arbora.data.columns import TEXT_COLUMNS, Columns, TextColumn, columns_of
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import DataError, InputError, import_package
from arbora.parsing.parsed import HEAD, LABEL, TREE, Parsed
from arbora.storage.files import replacing
from arbora.types import Doubles

Given: TypeAlias = "Columns | Iterable[Sentence] | Iterable[Parsed]"


class Known(NamedTuple):
    """Values of W words and S trees other than their columns; NaN for unknown."""

    starts: Doubles  # in the text, (W,)
    ends: Doubles
    probabilities: tuple[Doubles, Doubles, Doubles] | None
    """Of heads and labels, (W,), and of trees, (S,); None: those in MISC and comments."""


ROWS_PER_GROUP, ROWS_AT_ONCE, SENTENCES_AT_ONCE = 1 << 17, 1 << 14, 4096
READ = ("sentence", "id", "head", "sent_id", "other_lines", *TEXT_COLUMNS)
TOKEN_RANGE, PROBABILITY = r"TokenRange=(\d{1,9}):(\d{1,9})", r"([01](?:\.\d+)?)"


def _arrow(name: str = "pyarrow") -> Any:
    return import_package(name, "pip install 'arbora-nlp[table]'")


def to_arrow(given: Given) -> Any:
    """Return a `pyarrow.Table`, one row per word. O(words)."""
    tables, first = [_empty_table()], 0
    document: str | None = None
    for columns, known in pieces(given):
        table, document = _table(columns, first, known, document)
        tables.append(table)
        first += len(columns)
    return _arrow().concat_tables(tables).unify_dictionaries()


def to_pandas(given: Given) -> Any:
    """Return a `pandas.DataFrame` with texts as categories; needs pandas."""
    pandas = import_package("pandas", "pip install pandas")
    # Without this, one unknown head would turn all heads into floats.
    whole = {_arrow().int32(): pandas.Int32Dtype()}
    return to_arrow(given).to_pandas(types_mapper=whole.get)


def to_polars(given: Given) -> Any:
    """Return a `polars.DataFrame` with texts as categories; needs Polars."""
    return import_package("polars", "pip install polars").from_arrow(to_arrow(given))


class ParquetWriter:
    """Writes pieces of a corpus to one Parquet file: `writer.write(columns)`; see `parquet_writer`."""

    def __init__(self, file: Any, *, moves_offsets: bool = False) -> None:
        """`moves_offsets`: `TokenRange` moves from MISC to `start` and `end`."""
        self._file, self._moves_offsets = file, moves_offsets
        self._waiting: list[Any] = []
        self._document: str | None = None
        self.sentences = 0

    def write(self, columns: Columns, known: Known | None = None) -> None:
        """Add a piece; a row group is written when it has enough words."""
        table, self._document = _table(columns, self.sentences, known, self._document)
        if self._moves_offsets:
            place = table.schema.get_field_index("misc")
            table = table.set_column(place, "misc", _without_ranges(columns))
        self._waiting.append(table)
        self.sentences += len(columns)
        if sum(table.num_rows for table in self._waiting) >= ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            table = _arrow().concat_tables(self._waiting).unify_dictionaries()
            self._file.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting.clear()


@contextmanager
def parquet_writer(target: str | os.PathLike[str], *, moves_offsets: bool = False) -> Iterator[ParquetWriter]:
    """Open a writer to a file that appears, complete, when the block ends without an error."""
    parquet, schema = _arrow("pyarrow.parquet"), _empty_table().schema
    with replacing(target) as stream, parquet.ParquetWriter(stream, schema, compression="zstd") as file:
        writer = ParquetWriter(file, moves_offsets=moves_offsets)
        yield writer
        writer.flush()


def write_parquet(given: Given, target: str | os.PathLike[str]) -> int:
    """Write a corpus as Parquet, in constant memory; return the number of sentences."""
    with parquet_writer(target) as writer:
        for piece in pieces(given):
            writer.write(*piece)
        return writer.sentences


def is_parquet(name: str) -> bool:
    """Return whether a file has the name of a Parquet file."""
    return name.lower().endswith(".parquet")


def pieces(given: Any) -> Iterator[tuple[Columns, Known | None]]:
    """Yield the corpus as arrays, some thousand sentences at a time."""
    if isinstance(given, Columns):
        yield given, None
        return
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise InputError(f"expected sentences or Columns, got {kind}; read a file with arbora.read first")
    left = iter(given)
    while some := list(islice(left, SENTENCES_AT_ONCE)):
        for kind in {type(each).__name__ for each in some if not isinstance(each, Sentence | Parsed)}:
            raise InputError(f"expected an iterable of Sentence or Parsed, got one of {kind}")
        columns = columns_of(each.sentence if isinstance(each, Parsed) else each for each in some)
        yield columns, _known(some)


def _known(some: Sequence[Any]) -> Known:
    starts, ends, heads, labels = np.full((4, sum(map(len, some))), np.nan)
    trees, at = np.full(len(some), np.nan), 0
    for number, each in enumerate(some):
        words = slice(at, at + len(each))
        at = words.stop
        sentence = each
        if isinstance(each, Parsed):
            sentence = each.sentence
            heads[words], labels[words] = each.head_probabilities, each.label_probabilities
            trees[number] = np.nan if each.probability is None else each.probability
        for place, span in enumerate(sentence.spans or (), start=words.start):
            starts[place], ends[place] = span
    is_parsed = any(isinstance(each, Parsed) for each in some)
    return Known(starts, ends, (heads, labels, trees) if is_parsed else None)


def _table(columns: Columns, first: int, known: Known | None, document: str | None) -> tuple[Any, str | None]:
    """A table of the words, and the document that it ends in. O(words).

    Sentences are numbered from `first`; the first ones belong to `document`.
    """
    pa = _arrow()
    sentence = np.repeat(np.arange(len(columns)), np.diff(columns.offsets))
    numbers = (np.arange(columns.words) - columns.offsets[sentence] + 1).astype(np.int32)
    misc, misc_ids = columns.strings("misc"), columns.ids("misc")
    lines, sent_ids, newdocs, trees = _other_lines(columns)
    documents = [document]
    for new in newdocs:
        documents.append(documents[-1] if new is None else new)
    heads, labels = (_misc_numbers(misc, f"{name}={PROBABILITY}")[0, misc_ids] for name in (HEAD, LABEL))
    start, end = _misc_numbers(misc, TOKEN_RANGE)[:, misc_ids]
    if known is not None:
        start, end = (
            np.where(np.isnan(own), old, own) for own, old in ((known.starts, start), (known.ends, end))
        )
        if known.probabilities is not None:
            heads, labels, trees = known.probabilities

    def optional(numbers: Doubles, kind: Any) -> Any:
        return pa.array(numbers, type=kind, from_pandas=True)  # NaN becomes null

    def of_sentences(texts: Sequence[str | None], places: Any) -> Any:
        return pa.array(texts, type=pa.string()).take(places)

    def texts(name: TextColumn) -> Any:
        ids = columns.ids(name)
        missing = np.zeros(len(ids), dtype=bool) if name == "form" else ids == 0  # entry 0 is `_`
        strings = pa.array(columns.strings(name), type=pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(ids, mask=missing), strings)

    arrays: dict[str, Any] = {
        "document": of_sentences(documents[1:], pa.array(sentence)).dictionary_encode(),
        "sentence": pa.array(sentence + first),
        "sent_id": of_sentences(sent_ids, pa.array(sentence)).dictionary_encode(),
        "id": pa.array(numbers),
        **{name: texts(name) for name in TEXT_COLUMNS[:5]},
        "head": pa.array(columns.heads, mask=columns.heads == NO_HEAD),
        **{name: texts(name) for name in TEXT_COLUMNS[5:]},
        "start": optional(start, pa.int32()),
        "end": optional(end, pa.int32()),
        "head_probability": optional(heads, pa.float64()),
        "label_probability": optional(labels, pa.float64()),
        "tree_probability": optional(trees[sentence], pa.float64()),
        "other_lines": of_sentences(lines, pa.array(sentence, mask=numbers > 1)),
    }
    return pa.table(arrays), documents[-1]


def _without_ranges(columns: Columns) -> Any:
    """The column `misc` without `TokenRange`."""
    pa = _arrow()
    strings = [re.sub(rf"(^|\|){TOKEN_RANGE}(?![^|])", "", text) or "_" for text in columns.strings("misc")]
    texts = pa.array([None if text == "_" else text for text in strings], type=pa.string())
    return texts.take(pa.array(columns.ids("misc"))).dictionary_encode()


def _misc_numbers(strings: Sequence[str], entry: str) -> Doubles:
    """The numbers in an entry of MISC of each string, NaN for none; shape (groups, strings)."""
    pattern = re.compile(rf"(?:^|\|){entry}(?![^|])")
    result = np.full((pattern.groups, len(strings)), np.nan)
    for i, text in enumerate(strings):
        if "=" in text and (match := pattern.search(text)) is not None:
            result[:, i] = [float(number) for number in match.groups()]
    return result


def _other_lines(
    columns: Columns,
) -> tuple[list[str | None], list[str | None], list[str | None], Doubles]:
    """Of each sentence: lines that are not words, sent_id, id of a new document, the tree's probability."""
    texts = columns.native.extra_texts()
    joined: list[str | None] = []
    names: list[str | None] = []
    documents: list[str | None] = []
    probabilities = np.full(len(columns), np.nan)
    for s, (first, last) in enumerate(pairwise(columns.native.extra_offsets.tolist())):
        own = texts[first:last]
        pairs = (line[1:].partition("=") for line in own if line.startswith("#"))
        values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
        joined.append("\n".join(own) if own else None)
        names.append(values.get("sent_id"))
        documents.append(values.get("newdoc id"))
        with suppress(ValueError):
            probabilities[s] = float(values.get(TREE, "nan"))
    return joined, names, documents, probabilities


def _empty_table() -> Any:
    return _table(columns_of([]), 0, None, None)[0]


def from_table(table: Any) -> Iterator[Sentence]:
    """Yield the sentences of a table of pyarrow, pandas or Polars; unknown columns are ignored.

    Needs `sentence` and `form`; null or missing values are unknown. InputError if rows are not words.
    """
    return _sentences_of([_as_arrow(table)], "table")


def read_parquet(path: str | os.PathLike[str]) -> Iterator[Sentence]:
    """Yield the sentences of a Parquet file, read by row group. DataError if it holds no corpus."""
    pa, parquet = _arrow(), _arrow("pyarrow.parquet")
    source = os.fspath(path)
    try:
        with parquet.ParquetFile(source) as file:
            names = [name for name in _empty_table().column_names if name in file.schema_arrow.names]
            groups = (file.read_row_group(i, columns=names) for i in range(file.num_row_groups))
            yield from _sentences_of(groups, source)
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


def _sentences_of(tables: Iterable[Any], source: str) -> Iterator[Sentence]:
    """Yield the sentences of consecutive tables; a sentence may begin in one and end in the next."""
    rows: dict[str, list[Any]] = {name: [] for name in READ}
    for table in tables:
        for name in ("sentence", "form"):
            if name not in table.column_names:
                raise InputError(f"{source}: expected columns sentence and form, got none named {name}")
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            for name, values in rows.items():
                values += _values(batch, name)
            changes = enumerate(pairwise(rows["sentence"]), start=1)
            starts = [0, *(i for i, (one, other) in changes if one != other)]
            yield from _whole_sentences(rows, starts, source)
            rows = {name: values[starts[-1] :] for name, values in rows.items()}
    yield from _whole_sentences(rows, [0, len(rows["form"])], source)


def _values(batch: Any, name: str) -> list[Any]:
    """A column as Python objects; texts as strings, `_` for null."""
    clean = _text if name in TEXT_COLUMNS else lambda value: value
    if name not in batch.schema.names:
        return [clean(None)] * batch.num_rows
    array = batch.column(name)
    if not hasattr(array, "indices"):
        return [*map(clean, array.to_pylist())]
    values = [*map(clean, array.dictionary.to_pylist()), clean(None)]
    return [values[-1 if place is None else place] for place in array.indices.to_pylist()]


def _text(value: Any) -> str:
    return "_" if value is None or value != value else str(value)


def _head(value: Any) -> int | None:
    """A head as a number; None for anything else than numbers and nulls."""
    if type(value) is int:
        return value
    if value is None or value != value or value == "_":
        return NO_HEAD
    # Tables that have no nulls among integers turn integers into floats.
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return int(text) if re.fullmatch(r"-?\d{1,9}", text, re.ASCII) else None


def _whole_sentences(rows: dict[str, list[Any]], offsets: Sequence[int], source: str) -> Iterator[Sentence]:
    """Yield the sentences between `offsets`; InputError names the one at fault."""
    if offsets[-1] == 0:
        return
    try:
        yield from _columns(rows, offsets).sentences()
    except DataError as error:
        if len(offsets) == 2:
            raise InputError(f"{source}: sentence {rows['sentence'][0]}: {error.what}") from None
        for first, last in pairwise(offsets):
            own = {name: values[first:last] for name, values in rows.items()}
            yield from _whole_sentences(own, [0, last - first], source)


def _columns(rows: dict[str, list[Any]], offsets: Sequence[int]) -> Columns:
    ids = rows["id"]
    other_lines = []
    for first, last in pairwise(offsets):
        if any(ids[first:last]) and ids[first:last] != list(range(1, last - first + 1)):
            expected = f"rows with id 1 to {last - first} in order"
            raise DataError(f"expected {expected}; were some left out or sorted?")
        given, sent_id = rows["other_lines"][first], rows["sent_id"][first]
        lines = given.split("\n") if isinstance(given, str) else []
        if isinstance(sent_id, str) and not any(line.startswith("#") for line in lines):
            lines.insert(0, f"# sent_id = {sent_id}")
        other_lines.append(lines)
    texts = {name: rows[name][: offsets[-1]] for name in TEXT_COLUMNS}
    heads: Any = [_head(value) for value in rows["head"][: offsets[-1]]]
    return Columns.from_arrays(offsets, texts, heads=heads, other_lines=other_lines)
