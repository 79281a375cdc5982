"""The output of `arbora parse`: computations for each sentence, and the formats."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count, repeat
from typing import Literal, TypeAlias, get_args

import numpy as np
import typer

from arbora.cli.console import drawing_style, results_to, say
from arbora.cli.inputs import TextReader
from arbora.data.columns import Columns
from arbora.data.treebank import FORMAT_OF_ENDING, ColumnReader, ending_of, format_by_name
from arbora.errors import DataError, NoTreeError
from arbora.integrations.table import is_parquet
from arbora.parsing.parsed import Parsed
from arbora.parsing.parser import Parser
from arbora.pipeline.writing import Renderer, Request
from arbora.storage.files import open_output
from arbora.web.terminal import draw

logger = logging.getLogger("arbora")

Captioned: TypeAlias = list[tuple[Parsed, str]]
Drawing: TypeAlias = tuple[Callable[[Captioned], str], Callable[[], str]]
"""What each sentence adds to a drawing, and how the drawing ends."""
OutputFormat: TypeAlias = Literal["auto", "conllu", "conllx", "json", "parquet", "tree", "svg", "html"]

BY_NAME: dict[str, OutputFormat] = {
    ".json": "json",
    ".jsonl": "json",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
}
"""Endings of outputs other than treebanks and tables."""


def with_trees(parser: Parser, columns: Columns, *, lenient: bool) -> Columns:
    """Select the sentences whose heads are part of a tree; unless `lenient`, DataError at any other."""
    bad = []
    for number, sentence in enumerate(columns.sentences()):
        try:
            parser.parse([sentence], keep_heads=True)
        except NoTreeError as error:
            found = DataError(str(error), source=sentence.origin.source, line=sentence.origin.line)
            if not lenient:
                raise found from None
            logger.warning("%s (sentence skipped)", found)
            bad.append(number)
    return columns.select(np.setdiff1d(np.arange(len(columns)), bad))


UNCALIBRATED = (
    "has no temperature fitted on a dev set: its probabilities rank arcs, but do not say how often an arc is "
    "correct; `arbora calibrate` fits it to a treebank"
)
UNCALIBRATED_INDUCED = (
    "was learned without a treebank: its probabilities rank arcs, but are mostly far too high to say how "
    "often an arc is correct"
)


def note_on_probabilities(model: str, parser: Parser) -> None:
    """Say what the probabilities of a parser are no estimate of, if anything."""
    if parser.search.caveat:
        say(f"note: {model} {parser.search.caveat}")
    elif not parser.is_calibrated:
        say(f"note: {model} {UNCALIBRATED if parser.search.is_supervised else UNCALIBRATED_INDUCED}")


def format_of_output(form: OutputFormat, output: str) -> OutputFormat:
    """Return the format that --format or the ending of the output names; auto: it depends on the input."""
    if form != "auto" or output == "-":
        return form
    ending = ending_of(output)
    if ending and ending not in {*BY_NAME, *FORMAT_OF_ENDING} and not is_parquet(output):
        known = ", ".join([*FORMAT_OF_ENDING, *BY_NAME])
        formats = ", ".join(get_args(OutputFormat)[1:])
        raise typer.BadParameter(
            f"{output}: unsupported output format {ending}; expected a name that ends in {known} (each also "
            f"with .gz) or .parquet, or --format, which allows any name: {formats}"
        )
    return BY_NAME.get(ending, "auto")


def chosen_format(
    named: OutputFormat, output: str, reader: ColumnReader | TextReader, request: Request
) -> OutputFormat:
    """Return what to write; auto: the input with its trees replaced."""
    if named == "auto" and draws(output):
        return "tree"
    wanted = FORMAT_OF_ENDING.get(ending_of(output)) if named == "auto" else named
    is_same = wanted == reader.format
    if named == "auto" and not is_same:
        found = format_by_name(reader.source, reader.format, output)
        named = "auto" if found == "same" else found
    if "conllx" in (named, is_same and wanted) and request.needs_probabilities:
        option = "--probabilities" if request.probabilities else "--kbest"
        raise typer.BadParameter(
            f"{option}: CoNLL-X has no place for it, having neither MISC nor comments; write CoNLL-U or JSON "
            "(--format conllu, --format json)"
        )
    return "auto" if is_same else named


def draws(output: str) -> bool:
    """Whether the output goes to a terminal."""
    return output == "-" and sys.stdout.isatty()


@contextmanager
def open_sink(
    parser: Parser, form: OutputFormat, output: str, reader: ColumnReader | TextReader, request: Request
) -> Iterator[Callable[[Columns], object]]:
    """Yield a function that parses each piece and writes it in the format of `chosen_format`."""
    drawing: Drawing | None = None
    if form == "tree":
        drawing = _draw_text(request, output), str
    elif form in ("svg", "html"):
        drawing = _draw_pictures(request, form, reader.source)

    def draw_pieces(columns: Columns, add: Callable[[Captioned], str]) -> bytes:
        found = request.parsed(parser, columns)  # drawings mark uncertain heads
        return "".join(add(list(_captioned(trees, request))) for trees in found).encode()

    render: Callable[[Columns], bytes] = Renderer(parser, form, reader.format, request)
    if drawing is not None:
        render = partial(draw_pieces, add=drawing[0])
    with open_output(output if drawing else results_to(output)) as stream:  # drawings are safe

        def put(columns: Columns) -> None:
            is_blank = isinstance(reader, TextReader) and reader.answers and not len(columns)
            stream.write(b"\n" if is_blank else render(columns))
            if output == "-":
                stream.flush()

        yield put
        if drawing is not None:
            stream.write(drawing[1]().encode())


def _captioned(trees: list[Parsed], request: Request) -> Iterator[tuple[Parsed, str]]:
    """Add captions: the rank of each tree and its probability, as far as they are wanted and known."""
    for i, tree in enumerate(trees, start=1):
        rank = [f"{i}/{len(trees)}"] if request.kbest else []
        is_shown = request.needs_probabilities and tree.probability is not None
        yield tree, ", ".join(rank + ([f"tree probability {tree.probability:.4g}"] if is_shown else []))


def _draw_text(request: Request, output: str) -> Callable[[Captioned], str]:
    to_terminal = draws(output)
    style = drawing_style(to_terminal=to_terminal, encoding=sys.stdout.encoding if to_terminal else "utf-8")
    style["every_probability"] = request.probabilities

    def show(trees: Captioned) -> str:
        text = ""
        for tree, caption in trees:
            drawn = draw(tree.tree, tree.sentence.forms, probabilities=tree.head_probabilities, **style)
            text += f"{caption}\n{drawn}\n\n" if caption else f"{drawn}\n\n"
        return text

    return show


def _draw_pictures(request: Request, form: OutputFormat, source: str) -> Drawing:
    """One SVG document, whose size is known only at the end, or one page with a section for each sentence."""
    from arbora.web import html, svg

    look = svg.Look(every_probability=request.probabilities, max_width=html.WIDTH)
    pictures: list[svg.Picture] = []
    start, numbers = chain([html.page_start(source)], repeat("")), count(1)

    def add(trees: Captioned) -> str:
        pictures.extend(svg.draw_picture(tree, look, caption=text) for tree, text in trees)
        return ""

    if form == "svg":
        return add, lambda: svg.join_pictures(pictures)
    return (
        lambda trees: next(start) + html.page_section(next(numbers), trees, look),
        lambda: next(start) + html.page_end(),
    )
