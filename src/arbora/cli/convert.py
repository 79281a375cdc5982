"""`arbora convert`: from one treebank format to another, or back byte for byte."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

from arbora.cli import options
from arbora.cli.console import results_to, say_skipped
from arbora.cli.files import existing, not_an_input
from arbora.data import treebank
from arbora.integrations import table

Target: TypeAlias = Literal["auto", "conllu", "conllx", "same"]


def command(
    source: Annotated[
        str, options.argument("IN: A treebank, compressed or not, or .parquet; - is stdin.", existing)
    ],
    output: options.Output,
    to: Target = typer.Option(
        "auto",
        help="Output format; same copies the input byte for byte. auto: by OUT's name (.conllu, .conllx "
        "or .conll, each with or without .gz; .parquet), else same.",
    ),
    format: options.Format = "auto",  # noqa: A002
    lenient: options.Lenient = False,
    roots: options.Roots = "multi",
) -> None:
    """From CoNLL-U to CoNLL-X, comments, multiword tokens, empty nodes, DEPS and MISC are dropped;
    from CoNLL-X to CoNLL-U, PHEAD and PDEPREL move to MISC. The file appears only when it is complete,
    and not if all sentences are malformed. OUT.parquet is a table with a row per word, written
    and read (IN.parquet) in constant memory; it needs `pip install 'arbora-nlp[table]'`.

    Examples:

    - `arbora convert da.conll -o da.conllu.gz`
    - `arbora convert en.conllu -o - --to conllx | head`
    - `arbora convert en.conllu -o en.parquet`
    """
    not_an_input(output, [source])
    if table.is_parquet(source):
        _from_table(source, output, to, plain=not lenient and (format, roots) == ("auto", "multi"))
    elif table.is_parquet(output) and to == "auto":
        reader = treebank.ColumnReader(source, format=format, lenient=lenient, roots=roots)
        with table.parquet_writer(output) as writer:
            for columns in treebank.unless_all_bad(reader):
                writer.write(treebank.columns_to_conllu(columns, reader.format))
        say_skipped(reader.skipped, reader.source)
    else:
        reader = treebank.convert(
            source, results_to(output), to=to, format=format, lenient=lenient, roots=roots
        )
        say_skipped(reader.skipped, reader.source)


def _from_table(source: str, output: str, to: Target, *, plain: bool) -> None:
    if not plain:
        raise typer.BadParameter(f"{source}: --format, --lenient and --roots are not for tables")
    if table.is_parquet(output) or to == "same":
        raise typer.BadParameter(f"{source} is a table already; copy it, or name a .conllu or .conllx file")
    sentences = table.read_parquet(source)
    if to == "conllx" or (to == "auto" and treebank.ending_of(output) in (".conllx", ".conll")):
        sentences = map(treebank.conllu_to_conllx, sentences)
    treebank.write(sentences, results_to(output), layout="standard")
