"""`arbora convert`: from one treebank format to another, or back byte for byte."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

import typer

from arbora.cli import options
from arbora.cli.console import results_to, say, say_skipped
from arbora.cli.files import existing, not_an_input
from arbora.data import treebank
from arbora.data.columns import Columns, columns_of
from arbora.data.raw_text import has_text, raw_text
from arbora.integrations import prodigy, table
from arbora.storage.files import open_output

Target: TypeAlias = Literal["auto", "conllu", "conllx", "text", "prodigy", "same"]
TEXT = ".txt"


def command(
    source: Annotated[
        str, options.argument("IN: A treebank, compressed or not, .parquet or .jsonl; - is stdin.", existing)
    ],
    output: options.Output = "-",
    to: Target = typer.Option(
        "auto",
        help="Output format; text: the running text alone; prodigy: tasks for Prodigy; same copies the input "
        "byte for byte. auto: by OUT's name (.conllu, .conllx, .conll, .txt or .jsonl for prodigy, each with "
        "or without .gz; .parquet), same if OUT has no ending or that of IN.",
    ),
    format: options.Format = "auto",  # noqa: A002
    lenient: options.Lenient = False,
    roots: options.Roots = "multi",
) -> None:
    """From CoNLL-U to CoNLL-X, comments, multiword tokens, empty nodes, DEPS and MISC are dropped;
    from CoNLL-X to CoNLL-U, PHEAD and PDEPREL move to MISC. The file appears only when it is complete,
    and not if all sentences are malformed. OUT.parquet is a table with a row per word, written
    and read (IN.parquet) in constant memory; it needs `pip install 'arbora-nlp[table]'`. IN.jsonl holds
    Prodigy's tasks; those that an annotator rejected or ignored are skipped.

    Examples:

    - `arbora convert da.conll -o da.conllu.gz`
    - `arbora convert en.conllu --to conllx | head`
    - `arbora convert en.conllu -o en.parquet`
    - `arbora convert en.conllu --to text > en.txt`
    - `arbora convert annotated.jsonl -o annotated.conllu`
    """
    not_an_input(output, [source])
    to = _target(source, output, to)
    if table.is_parquet(source) or prodigy.is_tasks(source):
        _from_records(source, output, to, lenient=lenient, plain=(format, roots) == ("auto", "multi"))
    elif to == "prodigy":
        reader = treebank.ColumnReader(source, format=format, lenient=lenient, roots=roots)
        pieces = (treebank.columns_to_conllu(each, reader.format) for each in treebank.unless_all_bad(reader))
        prodigy.write_tasks((each for piece in pieces for each in piece.sentences()), results_to(output))
        say_skipped(reader.skipped, reader.source)
    elif to == "text":
        reader = treebank.ColumnReader(source, format=format, lenient=lenient, roots=roots)
        _write_text(Columns.concat([*treebank.unless_all_bad(reader)], reader.source), output)
        say_skipped(reader.skipped, reader.source)
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


def _target(source: str, output: str, to: Target) -> Target:
    """What to write; an error of the command line if the ending of OUT names no format."""
    ending = treebank.ending_of(output)
    if (
        to != "auto"
        or output == "-"
        or table.is_parquet(output)
        or ending in ("", treebank.ending_of(source))
    ):
        return to
    if ending in (TEXT, prodigy.ENDING):
        return "text" if ending == TEXT else "prodigy"
    if ending not in treebank.FORMAT_OF_ENDING:
        known = ", ".join([*treebank.FORMAT_OF_ENDING, TEXT, prodigy.ENDING])
        raise typer.BadParameter(
            f"{output}: unsupported output format {ending}; expected a name that ends in {known} (each also "
            f"with .gz) or .parquet, or --to, which allows any name: {', '.join(get_args(Target)[1:])}"
        )
    return "auto"


def _write_text(columns: Columns, output: str) -> None:
    """The running text, with an empty line before paragraphs and documents."""
    if not has_text(columns):
        say("note: spaces are guessed, since the treebank does not mark them (`# text`, SpaceAfter=No)")
    text = raw_text(columns).text
    with open_output(output) as stream:
        stream.write(f"{text}\n".encode() if text else b"")


def _from_records(source: str, output: str, to: Target, *, lenient: bool, plain: bool) -> None:
    """Write the sentences of a table, or of Prodigy's tasks."""
    is_table = table.is_parquet(source)
    what = "a table" if is_table else "a file of tasks"
    reader = table.read_parquet(source) if is_table else prodigy.read_tasks(source, lenient=lenient)
    if not plain or (is_table and lenient):
        raise typer.BadParameter(f"{source}: --format, --lenient and --roots do not apply to {what}")
    if table.is_parquet(output) or to == "same" or treebank.ending_of(output) == treebank.ending_of(source):
        raise typer.BadParameter(f"{source} is {what} already; copy it, or name a .conllu or .conllx file")
    if to == "text":
        _write_text(columns_of(reader, source), output)
    elif to == "prodigy":
        prodigy.write_tasks(reader, results_to(output))
    elif to == "conllx" or (to == "auto" and treebank.ending_of(output) in (".conllx", ".conll")):
        treebank.write(map(treebank.conllu_to_conllx, reader), results_to(output), layout="standard")
    else:
        treebank.write(reader, results_to(output), layout="standard")
    if isinstance(reader, prodigy.TaskReader):
        say_skipped(reader.skipped, source)
        if reader.unaccepted:
            say(f"{source}: {reader.unaccepted} rejected or ignored tasks skipped")
