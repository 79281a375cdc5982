"""`arbora parse`: trees for texts and tagged words, from a stream to a stream."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from arbora.bundled import DEFAULT
from arbora.cli.console import draws_bars, make_console
from arbora.cli.drawn import DrawnPage, DrawnPicture, DrawnTrees, drawing
from arbora.cli.files import (
    ThreadsOption,
    counted,
    existing_model,
    not_an_input,
    say,
    say_skipped,
    session,
    writable,
)
from arbora.cli.inputs import InputFormat, TextReader, is_text, open_reader, text_or_file
from arbora.cli.probabilities import (
    DecodeChoice,
    Gains,
    Show,
    Wanted,
    find_parsed,
    kept_labels,
    labels_of,
    show_conllu,
    show_conllx,
    show_json,
    tree_arrays,
)
from arbora.cli.table_sink import table_sink
from arbora.cli.texts import show_seconds
from arbora.confidence import MOST_TREES
from arbora.data import conllu, conllx
from arbora.data.columns import Columns
from arbora.data.encode import INPUT_COLUMNS, NOTHING, InputColumn, Names, filled, numbers_of
from arbora.data.files import open_output
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import ColumnReader, format_by_name
from arbora.ensemble import Ensemble
from arbora.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.table import is_parquet

Trees = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Heads and labels of a piece's words."""
ALWAYS = ("id", "form", "head", "deprel")


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
"""What else than treebanks the name of an output can say."""


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
            "or a web page. auto: what the name of OUT says (.conllu, .json, .svg, .html, .parquet), "
            "else what was read; on a terminal, drawn trees."
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
    with session(lenient=lenient):
        pipelines = [load(model) for model in models] or [load()]
        parsers = [pipeline.parser for pipeline in pipelines]
        parser = parsers[0] if len(parsers) == 1 else Ensemble(parsers)
        reader = open_reader(
            source, pipelines[0], input_format, lenient=lenient, offsets=offsets, lines=lines
        )
        about_text = {"--offsets": offsets, "--lines": lines}
        about_treebanks = {"--retag": retag, "--keep-heads": keep_heads, "--lenient": lenient}
        _refuse_what_does_nothing(reader, about_text, about_treebanks)
        gains = None if quiet or len(models) < 2 else Gains(models)
        chosen = _chosen(format, output, reader)
        drawn = _drawn(chosen, output, reader.source, wanted)
        render = (
            _renderer(parser, chosen, reader.format, wanted, gains)
            if drawn is None
            else drawing(parser, drawn, wanted, gains)
        )
        tally = Tally(parsers[0].names)
        table = is_parquet(output) and format is OutputFormat.AUTO
        finish = (lambda: "") if drawn is None else drawn.finish
        sink = (
            table_sink(parser, output, reader.format, wanted, gains)
            if table
            else _sink(output, render, finish)
        )
        with sink as put, _shown(quiet=quiet or _draws(output)) as tell:
            for read in reader:
                columns = pipelines[0].prepare(read, retag=retag, threads=threads)
                put(columns)
                tally.count(columns)
                tell(tally)
        say_skipped(reader.skipped, reader.source)
        for model, each in zip(models or [DEFAULT], parsers, strict=True):
            for warning in misfits(each.names, tally, model):
                say(f"warning: {reader.source}: {warning}")
            if wanted.is_more_than_trees and not each.is_calibrated and not quiet:
                say(
                    f"note: {model} has no temperature that was fitted on a dev set: its probabilities "
                    "tell which arc is surer, but not how sure; train with --dev"
                )
        if not quiet:
            say(f"{reader.source}: {tally.summary()}")
            for line in [] if gains is None else gains.lines():
                say(line)


@contextmanager
def _sink(
    output: str, render: Callable[[Columns], bytes], finish: Callable[[], str]
) -> Iterator[Callable[[Columns], object]]:
    """What writes each piece as text, and what comes at the end."""
    with open_output(output) as stream:
        yield lambda columns: stream.write(render(columns))
        stream.write(finish().encode())


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


class Tally:
    """How much was parsed, and how fast."""

    def __init__(self, names: Names) -> None:
        self.sentences = self.words = self.unknown_tags = 0
        self.filled = dict.fromkeys(INPUT_COLUMNS, 0)
        self._names = names
        self._begun = time.monotonic()

    def count(self, columns: Columns) -> None:
        """One more piece."""
        self.sentences += len(columns)
        self.words += columns.words
        for column in INPUT_COLUMNS:
            self.filled[column] += filled(columns, column)
        unknown = numbers_of(columns.strings("upos"), self._names.tags)[columns.ids("upos")] < 0
        self.unknown_tags += int(np.count_nonzero(unknown & (columns.ids("upos") != 0)))

    def summary(self) -> str:
        """One line."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = f"{self.sentences / seconds:,.0f} sentences/s, {self.words / seconds:,.0f} words/s"
        done = f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}"
        return f"{done} in {show_seconds(seconds)} ({speed})"


def misfits(names: Names, tally: Tally, model: str) -> Iterator[str]:
    """What the input lacks that the model was trained with: trees are then worse than they could be."""
    tagged: tuple[InputColumn, ...] = ("upos",) if names.tags != (NOTHING,) else ()
    trained = tagged if names.columns is None else names.columns  # which older versions did not store
    for column in trained:
        if tally.words and not tally.filled[column]:
            advice = "tag the words first, or the trees will be poor"
            advice = advice if column == "upos" else "fill it, or the trees will be worse than on dev"
            yield f"{column.upper()} is `_` everywhere, but {model} was trained with it; {advice}"
    if "upos" in trained and 2 * tally.unknown_tags > tally.filled["upos"]:
        yield (
            f"{tally.unknown_tags:,} of {tally.filled['upos']:,} UPOS tags were not in the training of "
            f"{model}; is it a model for these tags?"
        )


def _draws(output: str) -> bool:
    """Whether the output goes to a terminal."""
    return output == "-" and sys.stdout.isatty()


def _chosen(format: OutputFormat, output: str, reader: ColumnReader | TextReader) -> OutputFormat:  # noqa: A002
    """The format that `auto` means; AUTO where what was read is written as it is."""
    if format is OutputFormat.AUTO and _draws(output):
        return OutputFormat.TREE
    name = output.lower().removesuffix(".gz")
    for suffix, named in BY_NAME.items() if format is OutputFormat.AUTO else ():
        if name.endswith(suffix):
            return named
    if format is OutputFormat.AUTO and format_by_name(reader, output) != "same":
        return OutputFormat(format_by_name(reader, output))
    return OutputFormat.AUTO if format.value == reader.format else format


def _drawn(
    format: OutputFormat,  # noqa: A002
    output: str,
    source: str,
    wanted: Wanted,
) -> DrawnTrees | DrawnPicture | DrawnPage | None:
    """What draws trees, where that is asked for."""
    if format is OutputFormat.TREE:
        return DrawnTrees(wanted, to_terminal=_draws(output))
    if format is OutputFormat.SVG:
        return DrawnPicture(wanted)
    return DrawnPage(wanted, title=source) if format is OutputFormat.HTML else None


def _renderer(
    source: Parser | Ensemble,
    format: OutputFormat,  # noqa: A002
    read_as: str,
    wanted: Wanted,
    gains: Gains | None,
) -> Callable[[Columns], bytes]:
    """What makes bytes of a piece: trees, or what is to be said about them."""
    labels = labels_of(source)
    if wanted.is_more_than_trees:
        show_sure = _sure_show(format, read_as)

        def render_sure(columns: Columns) -> bytes:
            trees = find_parsed(source, columns, wanted, gains)
            return "".join(show_sure(each, wanted) for each in trees).encode()

        return render_sure

    def find(columns: Columns) -> tuple[NDArray[np.int32], NDArray[np.int32], Sequence[str]]:
        heads, numbers = tree_arrays(source, columns, wanted, gains)
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
    return conllu.from_conllx(sentence).to_conllu()


def _as_conllx(sentence: Sentence) -> str:
    return "\n".join([*conllx.from_conllu(sentence).lines(), "", ""])


def _as_json(sentence: Sentence) -> str:
    words = [
        {name: value for name, value in word._asdict().items() if name in ALWAYS or value != NOTHING}
        for word in sentence
    ]
    return json.dumps({"comments": sentence.comments, "words": words}, ensure_ascii=False) + "\n"


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[Tally], None]]:
    """What shows the tally so far, on stderr where that is a terminal."""
    if quiet or not draws_bars():
        yield lambda tally: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    bars = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        console=make_console(stderr=True),
        transient=True,
        refresh_per_second=4,
    )
    task = bars.add_task("", total=None)
    with bars:
        yield lambda tally: bars.update(task, description=tally.summary())
