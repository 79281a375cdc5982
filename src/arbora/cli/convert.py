"""`arbora convert`: from one treebank format to another, or back byte for byte."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from arbora.cli.files import FormatOption, RootsOption, existing, not_an_input, say_skipped, session, writable
from arbora.data import treebank


class Target(StrEnum):
    """Formats that a treebank can be written in."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"
    SAME = "same"


def convert(
    source: Annotated[
        str,
        typer.Argument(metavar="IN", callback=existing, help="A treebank, zipped or not; - for stdin."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", callback=writable, help="A file (.gz zips); - for stdout."
        ),
    ],
    to: Annotated[
        Target,
        typer.Option(
            help="What to write; same gives back what was read, byte for byte. auto: what OUT's name says "
            "(.conllu, or .conllx and .conll, each with or without .gz), else same."
        ),
    ] = Target.AUTO,
    format: Annotated[  # noqa: A002
        FormatOption, typer.Option(help="What IN is; auto looks at its name and first lines.")
    ] = FormatOption.AUTO,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences with a warning and a count.")
    ] = False,
    roots: Annotated[
        RootsOption, typer.Option(help="What a tree may have; single: a second root is a fault.")
    ] = RootsOption.MULTI,
) -> None:
    """Convert a treebank between CoNLL-U and CoNLL-X.

    From CoNLL-U to CoNLL-X, comments, multiword tokens, empty nodes, DEPS and MISC are dropped;
    from CoNLL-X to CoNLL-U, PHEAD and PDEPREL move to MISC. A file appears only when all went well,
    and never without a sentence because all were bad.

    Examples:

    - `arbora convert da.conll -o da.conllu.gz`
    - `arbora convert en.conllu -o - --to conllx | head`
    """
    not_an_input(output, [source])
    with session(lenient=lenient):
        reader = treebank.convert(
            source, output, to=to.value, format=format.value, lenient=lenient, roots=roots.value
        )
        say_skipped(reader.skipped, reader.columns.source)
