"""`arbora parse`: trees for texts and treebanks, from a stream to a stream."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import numpy as np
import typer

from arbora.annotation.doubt import sentence_doubts
from arbora.cli import options
from arbora.cli.console import counted, draws_bars, say, say_skipped, show_seconds
from arbora.cli.corpus import corpus_format, is_corpus, parse_corpus, reject_corpus_options
from arbora.cli.files import existing_model, not_an_input, writable_or_folder
from arbora.cli.inputs import THE_TEXT, TextReader, is_text, is_typed, open_reader, text_or_file
from arbora.cli.outputs import (
    OutputFormat,
    chosen_format,
    draws,
    format_of_output,
    note_on_probabilities,
    open_sink,
    with_trees,
)
from arbora.data.columns import Columns
from arbora.data.encode import EMPTY_FIELD, INPUT_COLUMNS, Batch, InputColumn, Names, filled, numbers_of
from arbora.data.treebank import ColumnReader
from arbora.distributed.parse_shard import CorpusOptions
from arbora.errors import MOST_THREADS, NoTreeError
from arbora.inference.queries import MOST_TREES
from arbora.integrations.table import is_parquet
from arbora.interfaces import Query
from arbora.parsing.ensemble import Combined, ensemble
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.pipeline.writing import Request, open_table_sink
from arbora.progress import Observer, Silent
from arbora.search.request import Decode
from arbora.storage.files import name_of
from arbora.storage.models import DEFAULT


def command(
    context: typer.Context,
    sources: list[str] = options.argument(
        "INPUT...: A text in quotes; a file of raw text, or of sentences as CoNLL-U or CoNLL-X; - is stdin. "
        "With -o FOLDER, a corpus: files, folders and patterns, also of JSON lines and Parquet tables."
    ),
    models: list[str] = options.option(
        "--model -m MODEL: A model from `arbora train` (default: the bundled English model). With several "
        "models, their probabilities are averaged, and decoded once; the first one tags the words.",
        lambda names: list(map(existing_model, names)),
        default=[],
    ),
    weights: options.Weights = None,
    output: str = options.option(
        "--output -o OUT: Output file (.gz compresses); - is stdout. A folder for a corpus.",
        writable_or_folder,
        default="-",
    ),
    format: OutputFormat = typer.Option(  # noqa: A002
        "auto",
        help="Output format: CoNLL-U, CoNLL-X, JSON (an object per line), a Parquet table, drawn trees, an "
        "SVG picture, or a web page. auto: by the name of OUT (.conllu, .conllx, .json, .svg, .html, "
        ".parquet), without an ending the input's format; on a terminal, drawn trees.",
    ),
    probabilities: bool = options.flag(
        "--probabilities: Add the probabilities of heads, labels and trees: HeadProb and DeprelProb in MISC, "
        "and a comment # tree_probability."
    ),
    kbest: int | None = options.option(
        "--kbest K: Write the K most probable trees of each sentence.", default=None, min=1, max=MOST_TREES
    ),
    decode: Decode = typer.Option(
        "argmax", help="The tree with the best score, or the one with the most expected correct heads."
    ),
    keep_heads: bool = options.flag(
        "--keep-heads: Keep the heads of INPUT, with their labels, and find the best tree with them."
    ),
    sort: Literal["text", "doubt"] = typer.Option(
        "text",
        help="Order of the sentences. text: as in INPUT; doubt: those that the model doubts most first.",
    ),
    threads: options.Threads = 1,
    lenient: options.Lenient = False,
    input_format: options.InputFormat = typer.Option(
        "auto", help="Format of INPUT; auto: by its name and first lines."
    ),
    retag: bool = options.flag("--retag: Predict tags and lemmas, even if INPUT has some."),
    lines: bool = options.flag("--lines: Every line of raw text ends a sentence."),
    offsets: bool = options.flag("--offsets: Add the position in the raw text to MISC: TokenRange=0:3."),
    engine: str = options.option(
        "--engine NAME: Where to parse a corpus. local: in processes on this machine; ray: on a Ray cluster.",
        default="local",
    ),
    workers: int | None = options.option(
        "--workers N: Number of processes or actors for a corpus (default: one per core).",
        default=None,
        min=1,
        max=MOST_THREADS,
    ),
    address: str | None = options.option(
        "--address ADDRESS: Address of a running Ray cluster, or auto (default: start one on this machine).",
        default=None,
    ),
    text_column: str = options.option(
        "--text-column NAME: The field of JSON lines and tables that holds the text.", default="text"
    ),
    id_column: str = options.option(
        "--id-column NAME: The field that holds the id of a text, which becomes `# newdoc id`.", default="id"
    ),
    shard_size: int = options.option(
        "--shard-size BYTES: Larger files of a corpus are parsed in parts of about this size.",
        default=CorpusOptions.shard_size,
        min=1,
    ),
    gzip: bool = options.flag("--gzip: Compress the files of a corpus."),
    time_limit: float | None = options.option(
        "--time-limit SECONDS: A part of a corpus that takes longer counts as failed.", default=None, min=0.1
    ),
    retry_failed: bool = options.flag("--retry-failed: Try parts of a corpus again that failed before."),
    quiet: options.Quiet = False,
) -> None:
    """Raw text is split into sentences and words, tagged and lemmatized first. Sentences of a treebank are
    parsed with their own tags, and every other byte stays the same; those without UPOS are tagged first.

    Sentences are read, parsed and written in order, a megabyte at a time, so a file of any length
    takes the same memory, unless they are sorted. The output file appears only when it is complete.

    With several inputs, a folder, or `-o FOLDER/`, a corpus is parsed on all cores or on a cluster, each file
    or part of a file to a file in FOLDER. The same command, given again, parses only what is missing.

    Examples:

    - `arbora parse "She reads books."`
    - `arbora parse book.txt -o book.conllu --threads 2`
    - `arbora parse in.conllu -m da.arbora -o out.conllu`
    - `cat in.conllu | arbora parse - -m da.arbora | arbora eval gold.conllu -`
    - `arbora parse in.conllu -m da.arbora --format tree | less`
    - `arbora parse in.conllu -m da.arbora -o trees.html`
    - `arbora parse in.conllu -m da.arbora --probabilities --decode minimum-risk -o out.conllu`
    - `arbora parse in.conllu -m one.arbora -m two.arbora -m three.arbora -o out.conllu`
    - `arbora parse in.conllu -m one.arbora -m two.arbora --weights 2,1 -o out.conllu`
    - `arbora parse in.conllu -m da.arbora --sort doubt --format tree | less`
    - `arbora parse texts/ more/*.jsonl.gz -o parsed/ --workers 8`
    """
    if is_corpus(sources, output):
        corpus_only = CorpusOptions(
            format=corpus_format(format, output),
            probabilities=probabilities,
            decode=decode,
            retag=retag,
            lines=lines,
            text_column=text_column,
            id_column=id_column,
            shard_size=shard_size,
            gzip=gzip,
        )
        parse_corpus(
            sources,
            output,
            models,
            corpus_only,
            context,
            engine=engine,
            workers=workers,
            address=address,
            time_limit=time_limit,
            retry_failed=retry_failed,
            quiet=quiet,
        )
        return
    reject_corpus_options(context)
    source = text_or_file(sources[0])
    request = Request(decode, probabilities, kbest or 0, threads, keep_heads)
    _check_options(
        request, models, output, format, decode_is_given="decode" in options.given_options(context)
    )
    if weights is not None and len(models) < 2:
        raise typer.BadParameter("--weights needs several models: -m one.arbora -m two.arbora --weights 2,1")
    numbers = options.parse_weights(weights, len(models))
    not_an_input(output, models if is_text(source) else [source, *models])
    named = format_of_output(format, output)
    pipelines = [load(model) for model in models] or [load()]
    parsers = [pipeline.parser for pipeline in pipelines]
    gains = Gains(models)
    parser = (
        parsers[0] if len(parsers) == 1 else ensemble(parsers, numbers, watch=None if quiet else gains.count)
    )
    if probabilities or sort == "doubt":
        parser.require(Query.MARGINALS)
    tally = Tally(parsers[0].names)
    with _bar(quiet=quiet or draws(output) or is_typed(source)) as observer:
        observer.begin(THE_TEXT if is_text(source) else name_of(source))
        if source == "-":
            observer.status("waiting for input")
        reader = open_reader(
            source,
            pipelines[0],
            input_format,
            lenient=lenient,
            offsets=offsets,
            lines=lines,
            watch=lambda size: observer.status(f"{size:,} bytes read"),
        )
        for_text = {"--offsets": offsets, "--lines": lines}
        for_treebanks = {"--retag": retag, "--keep-heads": keep_heads, "--lenient": lenient}
        _check_input(reader, for_treebanks if isinstance(reader, TextReader) else for_text)
        form = chosen_format(named, output, reader, request)
        is_table = named == "parquet" or (named == "auto" and is_parquet(output))
        moves_offsets = isinstance(reader, TextReader) and not reader.offsets
        if isinstance(reader, TextReader) and (is_table or form == "json"):
            reader.offsets = True  # as numbers
        sink = (
            open_table_sink(parser, output, reader.format, request, moves_offsets=moves_offsets)
            if is_table
            else open_sink(parser, form, output, reader, request)
        )
        prepared = (pipelines[0].prepare(read, retag=retag, threads=threads) for read in reader)
        with sink as put:
            for columns in _most_doubtful_first(prepared, parser, request) if sort == "doubt" else prepared:
                try:
                    put(columns)
                except NoTreeError:
                    fitting = with_trees(parsers[0], columns, lenient=lenient)
                    put(fitting)
                    tally.skipped += len(columns) - len(fitting)
                    columns = fitting
                tally.count(columns)
                observer.advance(len(columns))
    say_skipped(reader.skipped + tally.skipped, reader.source)
    for model, each in zip(models or [DEFAULT], parsers, strict=True):
        # The tags of raw text are the model's own; a short text may have none of some kind.
        for warning in () if isinstance(reader, TextReader) else tally.misfits(each.names, model):
            say(f"warning: {reader.source}: {warning}")
        if (request.needs_probabilities or sort == "doubt") and not quiet:
            note_on_probabilities(model, each)
    if not quiet:
        say(f"{reader.source}: {tally.summary()}")
    for line in gains.lines():
        say(line)


def _most_doubtful_first(pieces: Iterable[Columns], parser: Parser, request: Request) -> Iterator[Columns]:
    """The sentences of all pieces, those with the most expected errors per word first."""
    columns = [*pieces]
    if not columns:
        return
    doubts = [sentence_doubts([trees[0] for trees in request.parsed(parser, piece)]) for piece in columns]
    order = np.argsort(-np.concatenate(doubts), kind="stable")
    yield from Columns.concat(columns).select(order).pieces()


def _check_options(
    request: Request, models: list[str], output: str, form: OutputFormat, *, decode_is_given: bool
) -> None:
    """Reject options that exclude each other."""
    several, argmax = len(models) > 1, request.decode == "argmax"
    for problem, is_found in {
        "--kbest needs one model; several models only have an average over trees": several and request.kbest,
        "several models are decoded by --decode minimum-risk; argmax needs one model": (
            several and decode_is_given and argmax
        ),
        "--kbest ranks trees by probability; omit --decode minimum-risk": request.kbest and not argmax,
        "-m: expected models that are all different, got one twice": len(models) != len(set(models)),
        "--kbest: a table has one tree per sentence; write .conllu or .json": (
            request.kbest and is_parquet(output)
        ),
        "--format parquet: a table goes to a file; name one with -o": form == "parquet" and output == "-",
        "--keep-heads needs one model, got several": request.keep_heads and several,
    }.items():
        if is_found:
            raise typer.BadParameter(problem)


def _check_input(reader: ColumnReader | TextReader, others: dict[str, bool]) -> None:
    """Reject options that have no effect on this kind of input."""
    is_raw = isinstance(reader, TextReader)
    for option, is_given in others.items():
        if is_given and not (isinstance(reader, TextReader) and reader.is_blank):
            wanted, found = ("treebanks", "raw text") if is_raw else ("raw text", "a treebank")
            raise typer.BadParameter(f"{option} is for {wanted}, but {reader.source} is {found}; omit it")


def _bar(*, quiet: bool) -> AbstractContextManager[Observer]:
    if quiet or not draws_bars():
        return nullcontext(Silent())
    from arbora.cli.progress import TerminalProgress  # takes long to import

    return TerminalProgress()


class Tally:
    """Counts sentences and words, and measures the time."""

    def __init__(self, names: Names) -> None:
        self.sentences = self.words = self.unknown_tags = 0
        self.skipped = 0
        """Sentences whose heads fit no tree."""
        self.filled = dict.fromkeys(INPUT_COLUMNS, 0)
        self._names = names
        self._begun = time.monotonic()

    def count(self, columns: Columns) -> None:
        """Count one more piece."""
        self.sentences += len(columns)
        self.words += columns.words
        for column in INPUT_COLUMNS:
            self.filled[column] += filled(columns, column)
        unknown = numbers_of(columns.strings("upos"), self._names.tags)[columns.ids("upos")] < 0
        self.unknown_tags += int(np.count_nonzero(unknown & (columns.ids("upos") != 0)))

    def summary(self) -> str:
        """One line: how much was parsed, and how fast."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = f"{self.sentences / seconds:,.0f} sentences/s, {self.words / seconds:,.0f} words/s"
        done = f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}"
        return f"{done} in {show_seconds(seconds)} ({speed})"

    def misfits(self, names: Names, model: str) -> Iterator[str]:
        """Warn about columns that the model was trained with and the input lacks."""
        tagged: tuple[InputColumn, ...] = ("upos",) if names.tags != (EMPTY_FIELD,) else ()
        trained = tagged if names.columns is None else names.columns  # older versions did not store them
        for column in trained:
            if self.words and not self.filled[column]:
                advice = "tag the words first" if column == "upos" else "fill it for better trees"
                yield f"{column.upper()} is `_` everywhere, but {model} was trained with it; {advice}"
        if "upos" in trained and 2 * self.unknown_tags > self.filled["upos"]:
            yield (
                f"{self.unknown_tags:,} of {self.filled['upos']:,} UPOS tags are unknown to {model}; is it a "
                "model for these tags?"
            )


class Gains:
    """Counts how often several models agree and, if the input has trees, what combining them gains."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._words = self._agreed = 0
        self._right = np.zeros((len(names) + 1, 2), dtype=np.int64)
        self._has_gold = True

    def count(self, batch: Batch, combined: Combined) -> None:
        """Count one more piece."""
        columns, labels = batch.columns, batch.names.labels
        self._words += columns.words
        self._agreed += int(np.count_nonzero(combined.agreement))
        self._has_gold = self._has_gold and bool(np.all(columns.heads >= 0))
        gold = numbers_of(columns.strings("deprel"), labels)[columns.ids("deprel")]
        for i, (heads, own) in enumerate([*combined.alone, (combined.heads, combined.labels)]):
            right = heads == columns.heads
            self._right[i] += [np.count_nonzero(right), np.count_nonzero(right & (own == gold))]

    def lines(self) -> Iterator[str]:
        """Report the counts."""
        if not self._words:
            return
        yield f"the {len(self._names)} models agree on {100 * self._agreed / self._words:.2f}% of the heads"
        if self._has_gold:
            yield "compared with the trees of the input:"
            shares = (100 * self._right / self._words).tolist()
            for name, (heads, arcs) in zip([*self._names, "together"], shares, strict=True):
                yield f"  {name}: UAS {heads:.2f}, LAS {arcs:.2f}"
