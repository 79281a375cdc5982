"""The output of `arbora parse`: what is computed for each sentence, and how it is written in which format."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count, repeat
from typing import Literal, TypeAlias, get_args

import numpy as np
import typer

from arbora.cli.console import drawing_style
from arbora.cli.inputs import TextReader
from arbora.data import treebank
from arbora.data.columns import Columns, Format
from arbora.data.encode import numbers_of
from arbora.data.sentence import Sentence
from arbora.data.treebank import FORMAT_OF_ENDING, ColumnReader, ending_of, format_by_name
from arbora.errors import DataError, NoTreeError
from arbora.integrations.table import is_parquet, parquet_writer, pieces
from arbora.parsing.parsed import RANK, Parsed, make_parsed
from arbora.parsing.parser import Parser
from arbora.search.request import Decode
from arbora.storage.files import open_output
from arbora.types import Ints
from arbora.web.terminal import draw

logger = logging.getLogger("arbora")

Captioned: TypeAlias = list[tuple[Parsed, str]]
Drawing: TypeAlias = tuple[Callable[[Captioned], str], Callable[[], str]]
"""What each sentence adds to a drawing, and how the drawing ends."""
OutputFormat: TypeAlias = Literal["auto", "conllu", "conllx", "json", "tree", "svg", "html"]

BY_NAME: dict[str, OutputFormat] = {
    ".json": "json",
    ".jsonl": "json",
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
}
"""Endings of outputs that are neither treebanks nor tables."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    decode: Decode = "argmax"
    probabilities: bool = False
    kbest: int = 0
    """Number of trees per sentence; 0: the one that is decoded."""
    threads: int = 1
    keep_heads: bool = False
    """Keep the heads of the input, with their labels."""

    @property
    def needs_probabilities(self) -> bool:
        """Whether the output shows probabilities."""
        return self.probabilities or self.kbest > 0

    def parsed(self, parser: Parser, columns: Columns) -> Iterator[list[Parsed]]:
        """Parse with probabilities: the trees of each sentence, one or the k best."""
        found = parser.confidence(
            columns, decode=self.decode, k=self.kbest, keep_heads=self.keep_heads, threads=self.threads
        )
        return make_parsed(columns.sentences(), found, parser, keep_heads=self.keep_heads)

    def trees(self, parser: Parser, columns: Columns) -> tuple[Ints, Ints, Sequence[str]]:
        """Parse without probabilities: heads and labels of all words, and the names of labels."""
        names = parser.names.labels
        heads, labels = parser.trees(
            columns, decode=self.decode, keep_heads=self.keep_heads, threads=self.threads
        )
        if not self.keep_heads:
            return heads, labels, names
        strings = columns.strings("deprel")
        known = set(names)
        names = (*names, *dict.fromkeys(name for name in strings if name not in known))
        given = numbers_of(strings, names)[columns.ids("deprel")]
        is_kept = (columns.heads >= 0) & (columns.ids("deprel") != 0)
        return heads, np.where(is_kept, given, labels).astype(np.int32), names


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

    def render(columns: Columns) -> bytes:
        if drawing is None and not request.needs_probabilities:
            parsed = columns.with_trees(*request.trees(parser, columns))
            is_same = form == "auto"
            return parsed.to_bytes() if is_same else "".join(map(WRITERS[form], parsed.sentences())).encode()
        found = request.parsed(parser, columns)  # drawings mark uncertain heads
        if drawing is not None:
            return "".join(drawing[0](list(_captioned(trees, request))) for trees in found).encode()
        show = _ranked_json if form == "json" else _annotated
        return "".join(show(trees, reader.format, request) for trees in found).encode()

    with open_output(output) as stream:
        yield lambda columns: stream.write(render(columns))
        if drawing is not None:
            stream.write(drawing[1]().encode())


@contextmanager
def open_table_sink(
    parser: Parser, output: str, read_as: Format, request: Request
) -> Iterator[Callable[[Columns], None]]:
    """Yield a function that parses each piece and writes it to a Parquet table."""
    with parquet_writer(output) as writer:

        def put(columns: Columns) -> None:
            given = treebank.columns_to_conllu(columns, read_as)
            if request.probabilities:
                for piece, probabilities in pieces(tree for (tree,) in request.parsed(parser, given)):
                    writer.write(piece, probabilities)
            else:
                writer.write(given.with_trees(*request.trees(parser, given)))

        yield put


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


WRITERS: dict[OutputFormat, Callable[[Sentence], str]] = {
    "conllu": lambda sentence: treebank.conllx_to_conllu(sentence).to_conllu(),
    "conllx": lambda sentence: "\n".join([*treebank.conllu_to_conllx(sentence).lines(), "", ""]),
    "json": lambda sentence: json.dumps(sentence.to_json(), ensure_ascii=False) + "\n",
}


def _ranked_json(trees: list[Parsed], read_as: Format, request: Request) -> str:
    """One object per tree and line."""
    ranks = [{RANK: i, "trees": len(trees)} if request.kbest else {} for i in range(1, len(trees) + 1)]
    objects = [{**rank, **tree.to_json()} for rank, tree in zip(ranks, trees, strict=True)]
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


def _annotated(trees: list[Parsed], read_as: Format, request: Request) -> str:
    """CoNLL-U with comments, and with probabilities in MISC if wanted; lines end as in the input."""
    text = []
    for i, tree in enumerate(trees, start=1):
        if read_as == "conllx":
            tree = replace(tree, sentence=treebank.conllx_to_conllu(tree.sentence))
        sentence = tree.annotated(*([f"# {RANK} = {i}/{len(trees)}"] if request.kbest else []))
        if not request.probabilities:
            sentence = replace(sentence, misc=tree.sentence.misc)
        text.append(sentence.to_conllu().replace("\n", sentence.origin.newline))
    return "".join(text)
