"""`arbora parse`: trees for texts and treebanks, from a stream to a stream."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from arbora.cli import options
from arbora.cli.console import draws_bars, say, say_skipped, session
from arbora.cli.files import existing_model, not_an_input
from arbora.cli.inputs import TextReader, is_text, open_reader, text_or_file
from arbora.cli.outputs import (
    OutputFormat,
    chosen_format,
    draws,
    format_of_output,
    open_sink,
    open_table_sink,
)
from arbora.cli.request import Request, with_trees
from arbora.cli.tally import Gains, Tally
from arbora.data.treebank import ColumnReader
from arbora.errors import NoTreeError
from arbora.inference.queries import MOST_TREES
from arbora.integrations.table import is_parquet
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.progress import Observer, Silent
from arbora.search.request import Decode
from arbora.storage.bundled import DEFAULT


def _models(names: list[str] | None) -> list[str]:
    return [existing_model(name) for name in names or []]


def parse_file(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            callback=text_or_file,
            help="A text in quotes; a file of raw text, or of sentences as CoNLL-U or CoNLL-X; - is stdin.",
        ),
    ],
    given_models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            callback=_models,
            help="A model from `arbora train` (default: the bundled English model). With several models, "
            "their probabilities are averaged, and decoded once.",
        ),
    ] = None,
    output: options.Output = "-",
    format: Annotated[  # noqa: A002
        OutputFormat,
        typer.Option(
            help="Output format: CoNLL-U, CoNLL-X, JSON (an object per line), drawn trees, an SVG picture, "
            "or a web page. auto: by the name of OUT (.conllu, .conllx, .json, .svg, .html, "
            ".parquet), without an ending the input's format; on a terminal, drawn trees."
        ),
    ] = "auto",
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Add the probabilities of heads, labels and trees: HeadProb and DeprelProb in MISC, "
            "and a comment # tree_probability.",
        ),
    ] = False,
    kbest: Annotated[
        int | None,
        typer.Option(
            "--kbest", metavar="K", min=1, max=MOST_TREES, help="Write the K most probable trees of each."
        ),
    ] = None,
    decode: Annotated[
        Decode,
        typer.Option(help="The tree with the best score, or the one with the most expected correct heads."),
    ] = "argmax",
    keep_heads: Annotated[
        bool,
        typer.Option(
            "--keep-heads",
            help="Keep the heads of INPUT, with their labels, and find the best tree with them.",
        ),
    ] = False,
    threads: options.Threads = 1,
    lenient: options.Lenient = False,
    input_format: Annotated[
        options.InputFormat, typer.Option(help="Format of INPUT; auto: by its name and first lines.")
    ] = "auto",
    retag: Annotated[
        bool, typer.Option("--retag", help="Predict tags and lemmas, even if INPUT has some.")
    ] = False,
    lines: Annotated[bool, typer.Option("--lines", help="Every line of raw text ends a sentence.")] = False,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Add the position in the raw text to MISC: TokenRange=0:3.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Raw text is split into sentences and words, tagged and lemmatized first. Sentences of a treebank are
    parsed with their own tags, and every other byte stays the same; those without UPOS are tagged first.

    Sentences are read, parsed and written in order, a megabyte at a time, so a file of any length
    takes the same memory. The output file appears only when it is complete.

    Examples:

    - `arbora parse "She reads books."`
    - `arbora parse book.txt -o book.conllu --threads 2`
    - `arbora parse in.conllu -m da.arbora -o out.conllu`
    - `cat in.conllu | arbora parse - -m da.arbora | arbora eval gold.conllu -`
    - `arbora parse in.conllu -m da.arbora --format tree | less`
    - `arbora parse in.conllu -m da.arbora -o trees.html`
    - `arbora parse in.conllu -m da.arbora --probabilities --decode minimum-risk -o out.conllu`
    - `arbora parse in.conllu -m one.arbora -m two.arbora -m three.arbora -o out.conllu`
    """
    models = given_models or []
    request = Request(decode, probabilities, kbest or 0, threads, keep_heads)
    _check_options(request, models, output, decode_is_given="decode" in options.given_options(context))
    not_an_input(output, models if is_text(source) else [source, *models])
    named = format_of_output(format, output)
    with session(lenient=lenient):
        pipelines = [load(model) for model in models] or [load()]
        parsers = [pipeline.parser for pipeline in pipelines]
        gains = Gains(models) if len(models) > 1 and not quiet else None
        watch = None if gains is None else gains.count
        parser = parsers[0] if len(parsers) == 1 else ensemble(parsers, watch)
        reader = open_reader(
            source, pipelines[0], input_format, lenient=lenient, offsets=offsets, lines=lines
        )
        _check_input(
            reader,
            about_text={"--offsets": offsets, "--lines": lines},
            about_treebanks={"--retag": retag, "--keep-heads": keep_heads, "--lenient": lenient},
        )
        form = chosen_format(named, output, reader, request)
        if isinstance(reader, TextReader) and form == "json":
            reader.offsets = True  # JSON has them as numbers
        tally = Tally(parsers[0].names)
        sink = (
            open_table_sink(parser, output, reader.format, request)
            if named == "auto" and is_parquet(output)
            else open_sink(parser, form, output, reader, request)
        )
        with sink as put, _bar(quiet=quiet or draws(output)) as observer:
            observer.begin(reader.source)
            for read in reader:
                columns = pipelines[0].prepare(read, retag=retag, threads=threads)
                try:
                    put(columns)
                except NoTreeError:
                    if not lenient:
                        raise
                    columns = with_trees(parsers[0], columns)
                    put(columns)
                    tally.skipped += len(read) - len(columns)
                tally.count(columns)
                observer.advance(len(columns))
        say_skipped(reader.skipped + tally.skipped, reader.source)
        for model, each in zip(models or [DEFAULT], parsers, strict=True):
            for warning in tally.misfits(each.names, model):
                say(f"warning: {reader.source}: {warning}")
            if request.needs_probabilities and not each.is_calibrated and not quiet:
                say(f"note: {model} {_uncalibrated(each)}")
        if not quiet:
            say(f"{reader.source}: {tally.summary()}")
        for line in gains.lines() if gains is not None else ():
            say(line)


def _uncalibrated(parser: Parser) -> str:
    """Explain why probabilities are not reliable."""
    if parser.search.name == "induced":
        return (
            "was learned without a treebank: its probabilities rank arcs, but are mostly far too high to say "
            "how often an arc is correct"
        )
    return (
        "has no temperature fitted on a dev set: its probabilities rank arcs, but do not say how often an "
        "arc is correct; train with --dev"
    )


def _check_options(request: Request, models: list[str], output: str, *, decode_is_given: bool) -> None:
    """Reject options that exclude each other."""
    problem = None
    if len(models) > 1 and request.kbest:
        problem = "--kbest needs one model; several models only have an average over trees"
    elif len(models) > 1 and decode_is_given and request.decode == "argmax":
        problem = "several models are decoded by --decode minimum-risk; argmax needs one model"
    elif request.kbest and request.decode == "minimum-risk":
        problem = "--kbest ranks trees by probability; omit --decode minimum-risk"
    elif len(models) != len(set(models)):
        problem = "-m: expected models that are all different, got one twice"
    elif request.kbest and is_parquet(output):
        problem = "--kbest: a table has one tree per sentence; write .conllu or .json"
    elif request.keep_heads and len(models) > 1:
        problem = "--keep-heads needs one model, got several"
    if problem is not None:
        raise typer.BadParameter(problem)


def _check_input(
    reader: ColumnReader | TextReader, about_text: dict[str, bool], about_treebanks: dict[str, bool]
) -> None:
    """Reject options that have no effect on this kind of input."""
    is_raw = isinstance(reader, TextReader)
    if isinstance(reader, TextReader) and reader.is_blank:
        return
    for option, is_given in (about_treebanks if is_raw else about_text).items():
        if is_given:
            wanted, found = ("treebanks", "raw text") if is_raw else ("raw text", "a treebank")
            raise typer.BadParameter(f"{option} is for {wanted}, but {reader.source} is {found}; omit it")


def _bar(*, quiet: bool) -> AbstractContextManager[Observer]:
    """Return a counter of sentences, if stderr is a terminal."""
    if quiet or not draws_bars():
        return nullcontext(Silent())
    from arbora.cli.progress import Mode, TerminalProgress  # takes long to import

    return TerminalProgress(Mode.BARS)
