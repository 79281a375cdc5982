"""`arbora convert`: from one treebank format to another, or back byte for byte."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from arbora.cli.files import FormatOption, RootsOption, existing, not_an_input, say_skipped, session, writable
from arbora.data import conllx, treebank
from arbora.integrations import table


class Target(StrEnum):
    """Formats that a treebank can be written in."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"
    SAME = "same"


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", callback=existing, help="A treebank, zipped or not, or .parquet; - for stdin."
        ),
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
            "(.conllu, or .conllx and .conll, each with or without .gz; .parquet), else same."
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
    """Convert a treebank between CoNLL-U, CoNLL-X and Parquet.

    From CoNLL-U to CoNLL-X, comments, multiword tokens, empty nodes, DEPS and MISC are dropped;
    from CoNLL-X to CoNLL-U, PHEAD and PDEPREL move to MISC. A file appears only when all went well,
    and never without a sentence because all were bad. OUT.parquet is a table with a row per word, written
    and read (IN.parquet) in constant memory; it needs `pip install 'arbora-nlp[table]'`.

    Examples:

    - `arbora convert da.conll -o da.conllu.gz`
    - `arbora convert en.conllu -o - --to conllx | head`
    - `arbora convert en.conllu -o en.parquet`
    """
    not_an_input(output, [source])
    with session(lenient=lenient):
        if table.is_parquet(source):
            _from_table(source, output, to, plain=not lenient and (format, roots) == ("auto", "multi"))
            return
        if table.is_parquet(output) and to is Target.AUTO:
            columns = treebank.ColumnReader(source, format=format.value, lenient=lenient, roots=roots.value)
            table.convert_to_parquet(columns, output)
            say_skipped(columns.skipped, columns.source)
            return
        reader = treebank.convert(
            source, output, to=to.value, format=format.value, lenient=lenient, roots=roots.value
        )
        say_skipped(reader.skipped, reader.source)


def _from_table(source: str, output: str, to: Target, *, plain: bool) -> None:
    """A table back to CoNLL-U, or CoNLL-X where that is asked for."""
    if not plain:
        raise typer.BadParameter(f"{source}: --format, --lenient and --roots are not for tables")
    if table.is_parquet(output) or to is Target.SAME:
        raise typer.BadParameter(f"{source} is a table already; copy it, or name a .conllu or .conllx file")
    sentences = table.read_parquet(source)
    ending = output.lower().removesuffix(".gz")
    if to is Target.CONLLX or (to is Target.AUTO and ending.endswith((".conllx", ".conll"))):
        sentences = map(conllx.from_conllu, sentences)
    treebank.write(sentences, output, layout="standard")
