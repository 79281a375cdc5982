"""What `arbora parse` writes: which format is asked for, and what makes bytes of parsed sentences."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

import numpy as np
import typer
from numpy.typing import NDArray

from arbora.cli.drawn import DrawnPage, DrawnPicture, DrawnTrees, drawing
from arbora.cli.inputs import TextReader
from arbora.cli.probabilities import (
    Show,
    Wanted,
    find_parsed,
    kept_labels,
    show_conllu,
    show_conllx,
    show_json,
    tree_arrays,
)
from arbora.data import conllx
from arbora.data.columns import Columns
from arbora.data.encode import NOTHING
from arbora.data.files import open_output
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import FORMAT_OF_ENDING, ColumnReader, ending_of, format_by_name
from arbora.integrations.table import is_parquet
from arbora.parsing.parser import Parser

Trees = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Heads and labels of a piece's words."""


class OutputFormat(StrEnum):
    """What parses can be written as."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"
    JSON = "json"
    TREE = "tree"
    SVG = "svg"
    HTML = "html"


BY_NAME = {
    ".json": OutputFormat.JSON,
    ".jsonl": OutputFormat.JSON,
    ".svg": OutputFormat.SVG,
    ".html": OutputFormat.HTML,
    ".htm": OutputFormat.HTML,
}
"""What else than treebanks and tables the name of an output can say."""


def asked_for(format: OutputFormat, output: str) -> OutputFormat:  # noqa: A002
    """The format that was named, by itself or by the ending of the output; AUTO: it depends on what is read.

    The command line is at fault where the ending is none that is written.
    """
    if format is not OutputFormat.AUTO or output == "-":
        return format
    ending = ending_of(output)
    if ending in BY_NAME:
        return BY_NAME[ending]
    if ending and ending not in FORMAT_OF_ENDING and not is_parquet(output):
        known = ", ".join([*FORMAT_OF_ENDING, *BY_NAME])
        formats = ", ".join(each for each in OutputFormat if each is not OutputFormat.AUTO)
        raise typer.BadParameter(
            f"{output}: no {ending} is written; expected a name that ends in {known} (each also "
            f"with .gz) or .parquet, or --format, which goes with any name: {formats}"
        )
    return OutputFormat.AUTO


def chosen(
    asked: OutputFormat, output: str, reader: ColumnReader | TextReader, wanted: Wanted
) -> OutputFormat:
    """What to write; AUTO where that is what was read, as it is. See `asked_for`."""
    if asked is OutputFormat.AUTO and draws(output):
        return OutputFormat.TREE
    named = FORMAT_OF_ENDING.get(ending_of(output)) if asked is OutputFormat.AUTO else asked.value
    same = named == reader.format
    if asked is OutputFormat.AUTO and not same:
        found = format_by_name(reader.source, reader.format, output)
        asked = OutputFormat.AUTO if found == "same" else OutputFormat(found)
    is_conllx = asked is OutputFormat.CONLLX or (same and named == OutputFormat.CONLLX)
    if is_conllx and wanted.is_more_than_trees:
        option = "--probabilities" if wanted.probabilities else "--kbest"
        raise typer.BadParameter(
            f"{option}: CoNLL-X has no place for it, having neither MISC nor comments; write CoNLL-U or JSON "
            "(--format conllu, --format json)"
        )
    return OutputFormat.AUTO if same else asked


@contextmanager
def open_sink(
    source: Parser,
    format: OutputFormat,  # noqa: A002
    output: str,
    reader: ColumnReader | TextReader,
    wanted: Wanted,
) -> Iterator[Callable[[Columns], object]]:
    """What parses each piece and writes it as text, in the format that `chosen` says."""
    drawn = _drawn(format, output, reader.source, wanted)
    render = (
        _renderer(source, format, reader.format, wanted) if drawn is None else drawing(source, drawn, wanted)
    )
    with open_output(output) as stream:
        yield lambda columns: stream.write(render(columns))
        if drawn is not None:
            stream.write(drawn.finish().encode())


def draws(output: str) -> bool:
    """Whether the output goes to a terminal."""
    return output == "-" and sys.stdout.isatty()


def _drawn(
    format: OutputFormat,  # noqa: A002
    output: str,
    source: str,
    wanted: Wanted,
) -> DrawnTrees | DrawnPicture | DrawnPage | None:
    """What draws trees, where that is asked for."""
    if format is OutputFormat.TREE:
        return DrawnTrees(wanted, to_terminal=draws(output))
    if format is OutputFormat.SVG:
        return DrawnPicture(wanted)
    return DrawnPage(wanted, title=source) if format is OutputFormat.HTML else None


def _renderer(
    source: Parser,
    format: OutputFormat,  # noqa: A002
    read_as: str,
    wanted: Wanted,
) -> Callable[[Columns], bytes]:
    """What makes bytes of a piece: trees, or what is to be said about them."""
    labels = source.names.labels
    if wanted.is_more_than_trees:
        show_sure = _sure_show(format, read_as)

        def render_sure(columns: Columns) -> bytes:
            trees = find_parsed(source, columns, wanted)
            return "".join(show_sure(each, wanted) for each in trees).encode()

        return render_sure

    def find(columns: Columns) -> tuple[NDArray[np.int32], NDArray[np.int32], Sequence[str]]:
        heads, numbers = tree_arrays(source, columns, wanted)
        return (
            (heads, *kept_labels(columns, numbers, labels)) if wanted.keep_heads else (heads, numbers, labels)
        )

    if format is OutputFormat.AUTO:
        return lambda columns: columns.to_bytes_with(*find(columns))
    show = {
        OutputFormat.CONLLU: _as_conllu,
        OutputFormat.CONLLX: _as_conllx,
        OutputFormat.JSON: _as_json,
    }[format]

    def render(columns: Columns) -> bytes:
        heads, numbers, names = find(columns)
        return "".join(map(show, _parsed(names, columns, (heads, numbers)))).encode()

    return render


def _sure_show(format: OutputFormat, read_as: str) -> Show:  # noqa: A002
    """What shows trees with probabilities: only CoNLL-U has room for them."""
    if format is OutputFormat.JSON:
        return show_json
    return show_conllu if read_as == "conllu" else show_conllx


def _parsed(names: Sequence[str], columns: Columns, trees: Trees) -> Iterator[Sentence]:
    heads, labels = (part.tolist() for part in trees)
    at = 0
    for sentence in columns.sentences():
        end = at + len(sentence)
        of_words = [names[label] if label >= 0 else NOTHING for label in labels[at:end]]
        yield sentence.with_tree(Tree.from_heads(heads[at:end], labels=of_words))
        at = end


def _as_conllu(sentence: Sentence) -> str:
    return conllx.to_conllu(sentence).to_conllu()


def _as_conllx(sentence: Sentence) -> str:
    return "\n".join([*conllx.from_conllu(sentence).lines(), "", ""])


def _as_json(sentence: Sentence) -> str:
    return json.dumps(sentence.to_json(), ensure_ascii=False) + "\n"
