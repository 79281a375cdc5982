"""Parsing one shard: the function that every engine runs.

The output is written under a temporary name and renamed when it is complete, so a shard whose output exists
is done. Rows that hold no text are left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from arbora.data.columns import PIECE, Columns
from arbora.data.treebank import ColumnReader, columns_to_conllu
from arbora.distributed.shards import Shard, open_range, open_table
from arbora.errors import DataError, InputError
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.writing import Renderer, Request, open_table_sink
from arbora.search.request import Decode
from arbora.storage.files import open_input, open_output, read_text

CorpusFormat: TypeAlias = Literal["conllu", "json", "parquet"]
ENDINGS: dict[CorpusFormat, str] = {"conllu": ".conllu", "json": ".jsonl", "parquet": ".parquet"}
ROWS = 1000  # of a table that are read at once
LONGEST_REASON = 500
MOST_LISTED = 100
"""Rows of a shard that are listed if they were left out; the others are counted."""


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """Options of parsing a corpus: everything its outputs depend on, except the model."""

    format: CorpusFormat = "conllu"
    probabilities: bool = False
    decode: Decode = "argmax"
    retag: bool = False
    """Predict tags and lemmas, even where the input has some."""
    lines: bool = False
    """Every line of raw text ends a sentence."""
    text_column: str = "text"
    """Of rows: the field that holds the text."""
    id_column: str = "id"
    """Of rows: the field that holds the document's id; rows without it are numbered."""
    shard_size: int = 4 << 20
    """In bytes."""
    gzip: bool = False
    """Compress the outputs; tables are compressed anyway."""

    def __post_init__(self) -> None:
        if self.shard_size < 1:
            raise InputError(f"expected at least 1 byte, got {self.shard_size}", field="shard_size")
        if self.format not in ENDINGS:
            raise InputError(f"expected {', '.join(ENDINGS)}, got {self.format!r}", field="format")

    @property
    def request(self) -> Request:
        return Request(decode=self.decode, probabilities=self.probabilities)

    @property
    def has_offsets(self) -> bool:
        """Whether the output has the offsets of words as numbers."""
        return self.format in ("json", "parquet")

    @property
    def ending(self) -> str:
        """Of outputs."""
        return ENDINGS[self.format] + (".gz" if self.gzip and self.format != "parquet" else "")

    def output(self, folder: str | Path, shard: Shard) -> Path:
        """The file that holds the trees of a shard."""
        return Path(folder, f"{shard.name}{self.ending}")


@dataclass
class Counts:
    """Counts of a shard."""

    sentences: int = 0
    words: int = 0
    bad: int = 0
    """Rows that were left out."""
    bad_rows: list[dict[str, Any]] = field(default_factory=list)
    """The first of them: `row`, from 0, and `reason`."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def parse_shard(
    source: Shard,
    target: Path,
    model: Pipeline,
    options: CorpusOptions,
    *,
    before_done: Callable[[Counts], None] | None = None,
) -> Counts:
    """Parse a shard into a file, whole or not at all. O(words).

    `before_done` gets the counts before the file appears.
    """
    counts = Counts()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _sink(model, target, options, moves_offsets=source.kind != "treebank") as put:
        for columns in _read(source, model, options, counts):
            for piece in columns.pieces():
                prepared = model.prepare(piece, retag=options.retag)
                put(prepared)
                counts.sentences += len(prepared)
                counts.words += prepared.words
        if before_done is not None:
            before_done(counts)
    return counts


@contextmanager
def _sink(
    model: Pipeline, target: Path, options: CorpusOptions, *, moves_offsets: bool
) -> Iterator[Callable[[Columns], object]]:
    """A function that parses pieces and writes them in the format that is wanted."""
    if options.format == "parquet":
        with open_table_sink(
            model.parser, str(target), "conllu", options.request, moves_offsets=moves_offsets
        ) as put:
            yield put
        return
    render = Renderer(model.parser, options.format, "conllu", options.request)
    with open_output(target) as stream:
        yield lambda columns: stream.write(render(columns))


def _read(shard: Shard, model: Pipeline, options: CorpusOptions, counts: Counts) -> Iterator[Columns]:
    """The sentences of a shard as CoNLL-U, piece by piece."""
    if shard.kind == "parquet":
        yield from _documents(shard, _table_rows(shard, options), model.require_segmenter(), options, counts)
        return
    with open_range(shard, lines=options.lines) as stream:
        if shard.kind == "treebank":
            reader = ColumnReader(stream)
            yield from (columns_to_conllu(columns, reader.format) for columns in reader)
        elif shard.kind == "json":
            rows = _json_rows(stream, options)
            yield from _documents(shard, rows, model.require_segmenter(), options, counts)
        else:
            pieces = model.require_segmenter().segment_stream(
                read_text(stream), lines=options.lines, document=shard.document
            )
            # Offsets count from the start of the shard.
            has_offsets = options.has_offsets and shard.start == 0 and shard.end is None
            yield from (found.with_offsets() if has_offsets else found.columns for found in pieces)


Row: TypeAlias = tuple[Any, Any]
"""The id and the text of a row; an error if it could not be read."""


def _documents(
    shard: Shard,
    rows: Iterable[Row | ValueError],
    segmenter: Segmenter,
    options: CorpusOptions,
    counts: Counts,
) -> Iterator[Columns]:
    """The sentences of texts, several texts at once; each begins with the id of its row."""
    waiting: list[Columns] = []
    sentences = words = 0
    number = -1
    for number, row in enumerate(rows):
        try:
            if isinstance(row, ValueError):
                raise row
            identifier, text = row
            if not isinstance(text, str):
                got = "none" if text is None else type(text).__name__
                raise InputError(f"expected a text in {options.text_column!r}, got {got}")
            name = f"{shard.name}:{number}" if identifier is None else str(identifier)
            place: dict[str, Any] = {"document": name, "first_number": 1 + sentences}
            segmented = segmenter.segment(text, lines=options.lines, **place)
            found = segmented.with_offsets() if options.has_offsets else segmented.columns
        except ValueError as error:
            counts.bad += 1
            if counts.bad <= MOST_LISTED:
                counts.bad_rows.append({"row": number, "reason": str(error)[:LONGEST_REASON]})
            continue
        sentences += len(found)
        words += found.words
        waiting.append(found)
        if words >= PIECE:
            yield Columns.concat(waiting)
            waiting, words = [], 0
    if counts.bad and counts.bad == number + 1:
        what = f"expected rows with a text, got {counts.bad:,} without one"
        raise DataError(f"{what}; the first: {counts.bad_rows[0]['reason']}", source=shard.path)
    if words:
        yield Columns.concat(waiting)


def _json_rows(stream: IO[bytes], options: CorpusOptions) -> Iterator[Row | ValueError]:
    with open_input(stream) as file:
        for line in file:
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield InputError(f"expected a line of JSON: {error}")
                continue
            if isinstance(row, dict):
                yield row.get(options.id_column), row.get(options.text_column)
            else:
                yield InputError(f"expected a JSON object, got {type(row).__name__}")


def _table_rows(shard: Shard, options: CorpusOptions) -> Iterator[Row]:
    with open_table(shard.path) as file:
        names = file.schema_arrow.names
        if options.text_column not in names:
            got = ", ".join(names[:20])
            raise InputError(f"{shard.path}: expected a column {options.text_column!r}, got {got}")
        columns = [name for name in (options.id_column, options.text_column) if name in names]
        groups = range(shard.start, file.metadata.num_row_groups if shard.end is None else shard.end)
        if not groups:
            return
        for batch in file.iter_batches(ROWS, row_groups=list(groups), columns=columns):
            texts = batch.column(options.text_column).to_pylist()
            has_ids = options.id_column in columns
            ids = batch.column(options.id_column).to_pylist() if has_ids else [None] * len(texts)
            yield from zip(ids, texts, strict=True)
