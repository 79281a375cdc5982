"""`arbora parse`: trees for texts and tagged words, from a stream to a stream."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from arbora.cli.console import draws_bars
from arbora.cli.files import (
    ThreadsOption,
    existing_model,
    not_an_input,
    say,
    say_skipped,
    session,
    writable,
)
from arbora.cli.inputs import InputFormat, TextReader, is_text, open_reader, text_or_file
from arbora.cli.outputs import OutputFormat, asked_for, chosen, draws, open_sink
from arbora.cli.probabilities import DecodeChoice, Gains, Wanted, with_trees
from arbora.cli.table_sink import table_sink
from arbora.cli.tally import Tally, misfits
from arbora.data.treebank import ColumnReader
from arbora.errors import NoTreeError
from arbora.integrations.table import is_parquet
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parsed import MOST_TREES
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.progress import Observer, Silent
from arbora.storage.bundled import DEFAULT


def all_models(names: list[str] | None) -> list[str]:
    """The same names, if each is that of a model."""
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
            callback=all_models,
            help="From `arbora train`; without it, the English model that comes with Arbora. Several: their "
            "probabilities are averaged, and decoded once.",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="OUT", callback=writable, help="A file (.gz zips); - for stdout."
        ),
    ] = "-",
    format: Annotated[  # noqa: A002
        OutputFormat,
        typer.Option(
            help="What to write: CoNLL-U, CoNLL-X, JSON (an object per line), drawn trees, an SVG picture, "
            "or a web page. auto: what the name of OUT says (.conllu, .conllx, .json, .svg, .html, "
            ".parquet), without an ending what was read; on a terminal, drawn trees."
        ),
    ] = OutputFormat.AUTO,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Say how sure heads, labels and trees are: MISC gets HeadProb and DeprelProb, "
            "a comment # tree_probability.",
        ),
    ] = False,
    kbest: Annotated[
        int | None,
        typer.Option(
            "--kbest", metavar="K", min=1, max=MOST_TREES, help="Write the K most probable trees of each."
        ),
    ] = None,
    decode: Annotated[
        DecodeChoice,
        typer.Option(help="The tree with the best score, or the one with the most expected correct heads."),
    ] = DecodeChoice.ARGMAX,
    keep_heads: Annotated[
        bool,
        typer.Option(
            "--keep-heads",
            help="Heads that INPUT has stay, with their labels; the best tree around them is found.",
        ),
    ] = False,
    threads: ThreadsOption = 1,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences with a warning and a count.")
    ] = False,
    input_format: Annotated[
        InputFormat, typer.Option(help="What INPUT is; auto looks at its name and first lines.")
    ] = InputFormat.AUTO,
    retag: Annotated[
        bool,
        typer.Option("--retag", help="Tags and lemmas of the model, even where INPUT has some."),
    ] = False,
    lines: Annotated[bool, typer.Option("--lines", help="Every line of raw text ends a sentence.")] = False,
    offsets: Annotated[
        bool,
        typer.Option("--offsets", help="MISC says where in the raw text a word stands: TokenRange=0:3."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")
    ] = False,
) -> None:
    """Parse raw text, or sentences of a treebank: every word gets a head and a label.

    Raw text is cut into sentences and words, tagged and lemmatized first. Sentences of a treebank are parsed
    with the tags that they have, and every other byte stays as it is; those without UPOS are tagged first.

    Sentences are read, parsed and written in order, a megabyte at a time, so that a file of any length
    takes the same memory. A file appears only when all went well.

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
    _refuse_what_does_not_fit(context, models, kbest, decode)
    if kbest is not None and is_parquet(output):
        raise typer.BadParameter("--kbest: a table has one tree per sentence; write .conllu or .json")
    if keep_heads and len(models) > 1:
        raise typer.BadParameter("--keep-heads needs one model, got several")
    wanted = Wanted(decode, probabilities, kbest or 0, threads, keep_heads)
    not_an_input(output, models if is_text(source) else [source, *models])
    asked = asked_for(format, output)
    with session(lenient=lenient):
        pipelines = [load(model) for model in models] or [load()]
        parsers = [pipeline.parser for pipeline in pipelines]
        gains = None if quiet or len(models) < 2 else Gains(models)
        watch = None if gains is None else gains.count
        parser = parsers[0] if len(parsers) == 1 else ensemble(parsers, watch)
        reader = open_reader(
            source, pipelines[0], input_format, lenient=lenient, offsets=offsets, lines=lines
        )
        about_text = {"--offsets": offsets, "--lines": lines}
        about_treebanks = {"--retag": retag, "--keep-heads": keep_heads, "--lenient": lenient}
        _refuse_what_does_nothing(reader, about_text, about_treebanks)
        form = chosen(asked, output, reader, wanted)
        if isinstance(reader, TextReader) and form is OutputFormat.JSON:
            reader.offsets = True  # as numbers of their own
        tally = Tally(parsers[0].names)
        is_table = asked is OutputFormat.AUTO and is_parquet(output)
        sink = (
            table_sink(parser, output, reader.format, wanted)
            if is_table
            else open_sink(parser, form, output, reader, wanted)
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
            for warning in misfits(each.names, tally, model):
                say(f"warning: {reader.source}: {warning}")
            if wanted.is_more_than_trees and not each.is_calibrated and not quiet:
                say(f"note: {model} {_uncalibrated(each)}")
        if not quiet:
            say(f"{reader.source}: {tally.summary()}")
            for line in [] if gains is None else gains.lines():
                say(line)


def _uncalibrated(parser: Parser) -> str:
    """Why probabilities are not to be taken by their word."""
    if parser.search.name == "induced":
        return (
            "learned without a treebank: its probabilities tell which arc is surer, but not how sure, and "
            "are mostly far too high"
        )
    return (
        "has no temperature that was fitted on a dev set: its probabilities tell which arc is surer, but not "
        "how sure; train with --dev"
    )


def _refuse_what_does_not_fit(
    context: typer.Context, models: list[str], kbest: int | None, decode: DecodeChoice
) -> None:
    """The command line is at fault where options exclude each other."""
    given = context.get_parameter_source("decode")
    is_given = given is not None and given.name == "COMMANDLINE"
    if len(models) > 1 and kbest is not None:
        raise typer.BadParameter("--kbest needs one model; of several only the trees' average is known")
    if len(models) > 1 and is_given and decode is DecodeChoice.ARGMAX:
        raise typer.BadParameter(
            "several models are decoded by --decode minimum-risk; argmax needs one model"
        )
    if kbest is not None and decode is DecodeChoice.MINIMUM_RISK:
        raise typer.BadParameter("--kbest ranks trees by probability; leave --decode minimum-risk out")
    if len(models) != len(set(models)):
        raise typer.BadParameter("-m: expected models that are all different, got one twice")


def _refuse_what_does_nothing(
    reader: ColumnReader | TextReader, about_text: dict[str, bool], about_treebanks: dict[str, bool]
) -> None:
    """The command line is at fault where it says something about raw text or treebanks that are none."""
    is_text = isinstance(reader, TextReader)
    if isinstance(reader, TextReader) and reader.is_blank:
        return
    for option, is_given in (about_treebanks if is_text else about_text).items():
        if is_given:
            what, found = ("treebanks", "raw text") if is_text else ("raw text", "a treebank")
            raise typer.BadParameter(
                f"{option} is about {what}, but {reader.source} is {found}; leave it out"
            )


def _bar(*, quiet: bool) -> AbstractContextManager[Observer]:
    """A count of sentences, where stderr is a terminal."""
    if quiet or not draws_bars():
        return nullcontext(Silent())
    from arbora.cli.progress import Mode, TerminalProgress  # takes long to import

    return TerminalProgress(Mode.BARS)
