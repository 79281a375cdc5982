"""`arbora select`: the sentences, or the single arcs, to annotate next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import typer

from arbora.annotation.doubt import (
    DoubtfulArc,
    Measure,
    Order,
    order_arcs,
    order_sentences,
    sentence_doubts,
)
from arbora.annotation.draft import Draft
from arbora.cli import options
from arbora.cli.console import counted, print_json, print_rows, say, say_skipped
from arbora.cli.files import existing, not_an_input
from arbora.cli.inputs import TextReader, is_text, open_reader, text_or_file
from arbora.cli.outputs import note_on_probabilities
from arbora.data import treebank
from arbora.data.columns import Columns
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.parsing.parsed import Parsed
from arbora.pipeline.pipeline import Pipeline, load
from arbora.storage.files import open_output
from arbora.storage.models import DEFAULT

DOUBT = "doubt"
HEADINGS = ("sentence", "sent_id", "word", "form", "head", "deprel", DOUBT)


def command(
    source: str = options.argument(
        "FILE: A file of raw text, or of sentences as CoNLL-U or CoNLL-X; - is stdin.", text_or_file
    ),
    model: options.Model = None,
    count: int = options.option("-n COUNT: How many sentences or arcs.", default=100, min=1),
    by: Order = typer.Option(
        "doubt",
        help="The order. doubt: the most doubtful first; diversity: doubtful, and unlike those chosen or "
        "annotated; text: as in FILE; random.",
    ),
    measure: Measure = typer.Option(
        "wrong-arcs",
        help="The measure of doubt. entropy: of trees, or of a word's heads; wrong-heads, wrong-arcs: "
        "expected errors, without or with labels; margin: how close the second-best tree or head is.",
    ),
    arcs: bool = options.flag("--arcs: Choose single arcs, and print a table of them instead of sentences."),
    annotated: list[str] = options.option(
        "--annotated FILE: A treebank that is annotated already, for --by diversity. Repeatable.",
        lambda names: list(map(existing, names)),
        default=[],
    ),
    ignore_heads: bool = options.flag("--ignore-heads: Treat the heads of FILE as unknown."),
    output: options.Output = "-",
    as_json: bool = options.json_option("one object per arc; with --arcs"),
    seed: int = typer.Option(0, min=0, help="Random seed of --by random."),
    threads: options.Threads = 1,
    lenient: options.Lenient = False,
    input_format: options.InputFormat = typer.Option(
        "auto", help="Format of FILE; auto: by its name and first lines."
    ),
    quiet: options.Quiet = False,
) -> None:
    """Words with a head are annotated: they keep it, and are not selected, unless `arbora annotate` marks it
    as the parser's. Sentences in which all words are annotated are left out, too. Sentences are written as
    they are in FILE, without the parser's trees, the first to annotate first, with their doubt in a comment.
    The doubt of a sentence is divided by its words.

    Examples:

    - `arbora select raw.txt -n 50 -m da.arbora -o next.conllu`
    - `arbora select da.conllu -n 200 --by diversity --annotated done.conllu -o next.conllu`
    - `arbora select da.conllu --arcs -n 20 -m da.arbora`
    """
    if as_json and (not arcs or output != "-"):
        raise typer.BadParameter("--json prints arcs on stdout; it needs --arcs, and no -o")
    not_an_input(output, [*([] if is_text(source) else [source]), model, *annotated])
    pipeline = load(model)
    sentences, name = _read(source, pipeline, input_format, lenient=lenient, threads=threads)
    given = [_with_decided_heads(each, none=ignore_heads) for each in sentences]
    is_open = [NO_HEAD in each.heads for each in given]
    done = [each for each, still in zip(given, is_open, strict=True) if not still]
    done += chain.from_iterable(map(treebank.read, annotated))
    kept = [number for number, still in enumerate(is_open) if still]
    asked = [given[number] for number in kept]
    parsed = pipeline.parser.parse(asked, probabilities=True, keep_heads=True, threads=threads)
    more: Any = {"n": count, "measure": measure, "annotated": done, "given": asked, "seed": seed}
    if arcs:
        rows = [_row(arc, kept[arc.sentence], parsed[arc.sentence]) for arc in order_arcs(parsed, by, **more)]
        _write_arcs(rows, output, as_json=as_json)
    else:
        numbers = order_sentences(parsed, by, **more)
        doubts = sentence_doubts([parsed[n] for n in numbers], measure, given=[asked[n] for n in numbers])
        pairs = zip(numbers, doubts.tolist(), strict=True)
        chosen = (_with_doubt(sentences[kept[number]], doubt) for number, doubt in pairs)
        treebank.write(chosen, output, layout="standard")
    if by in ("doubt", "diversity") and not quiet:
        note_on_probabilities(model or DEFAULT, pipeline.parser)
    selected = counted(len(rows), "arc") if arcs else f"{len(numbers):,}"
    if not quiet:
        say(f"{name}: {selected} of {counted(len(sentences), 'sentence')}")
    if sentences and not kept:
        say("note: all words have heads, so none is left to annotate; --ignore-heads makes them unknown")


def _read(
    source: str, pipeline: Pipeline, form: options.InputFormat, *, lenient: bool, threads: int
) -> tuple[list[Sentence], str]:
    """The sentences, with tags if the model gives some, and the name of the file."""
    reader = open_reader(source, pipeline, form, lenient=lenient, offsets=False, lines=False)
    pieces = [pipeline.prepare(read, threads=threads) for read in reader]
    if not isinstance(reader, TextReader):
        pieces = [treebank.columns_to_conllu(piece, reader.format) for piece in pieces]
    say_skipped(reader.skipped, reader.source)
    return [*chain.from_iterable(map(Columns.sentences, pieces))], reader.source


def _with_decided_heads(sentence: Sentence, *, none: bool) -> Sentence:
    """The sentence with the arcs that a human decided (see `arbora.annotation.draft`), or with none."""
    keeps = [not none and node.by("head") == "human" for node in Draft.of(sentence).nodes]
    heads = zip(sentence.heads, keeps, strict=True)
    labels = zip(sentence.deprels, keeps, strict=True)
    return replace(
        sentence,
        heads=tuple(head if keep else NO_HEAD for head, keep in heads),
        deprels=tuple(label if keep else "_" for label, keep in labels),
    )


def _with_doubt(sentence: Sentence, doubt: float) -> Sentence:
    kept = [each for each in sentence.comments if each[1:].partition("=")[0].strip() != DOUBT]
    return replace(sentence, comments=(*kept, f"# {DOUBT} = {doubt:.4f}"))


def _row(arc: DoubtfulArc, number: int, parsed: Parsed) -> dict[str, str | int | float | None]:
    """One row of the table: the arc that the parser proposes."""
    word = parsed[arc.word - 1]
    sent_id = parsed.sentence.metadata.get("sent_id")
    values = (number + 1, sent_id, arc.word, word.form, word.head, word.deprel, arc.doubt)
    return dict(zip(HEADINGS, values, strict=True))


def _write_arcs(rows: Sequence[dict[str, str | int | float | None]], output: str, *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    shown = [[_cell(row[name]) for name in HEADINGS] for row in rows]
    if output == "-":
        print_rows(HEADINGS, shown)
        return
    text = "".join("\t".join(row) + "\n" for row in (list(HEADINGS), *shown))
    with open_output(output) as stream:
        stream.write(text.encode())


def _cell(value: str | float | None) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
