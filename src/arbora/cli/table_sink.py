"""Parses as a Parquet table, written piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arbora.cli.probabilities import Wanted, find_parsed, tree_arrays
from arbora.data.columns import Columns, Format
from arbora.integrations.table import as_conllu, parquet_writer, pieces
from arbora.parsing.parser import Parser


@contextmanager
def table_sink(
    source: Parser,
    output: str,
    format: Format,  # noqa: A002
    wanted: Wanted,
) -> Iterator[Callable[[Columns], None]]:
    """What parses each piece and writes it; the file is there when the block ends without an error."""
    with parquet_writer(output) as writer:

        def put(columns: Columns) -> None:
            given = as_conllu(columns, format)
            if wanted.probabilities:
                parsed = (tree for (tree,) in find_parsed(source, given, wanted))
                for piece, probabilities in pieces(parsed):
                    writer.write(piece, probabilities)
            else:
                heads, labels = tree_arrays(source, given, wanted)
                writer.write(given.with_trees(heads, labels, source.names.labels))

        yield put
