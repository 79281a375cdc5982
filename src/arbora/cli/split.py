"""`arbora split`: parts of a treebank, such as train, dev and test."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import typer

from arbora.cli import options
from arbora.cli.console import counted, print_json, say, say_skipped
from arbora.cli.files import existing, not_an_input, writable
from arbora.data.split import parse_shares, split_sentences
from arbora.data.treebank import FORMAT_OF_ENDING, ColumnReader, ending_of
from arbora.storage.files import open_output

NAMES = {2: "train,dev", 3: "train,dev,test"}


def command(
    source: str = options.argument("FILE: A treebank, compressed or not; - is stdin.", existing),
    shares: str = options.argument("SHARES: Sizes of the parts: 80/10/10, or 9/1."),
    names: str | None = options.option(
        "--names NAMES: Names of the parts (default: train,dev or train,dev,test).", default=None
    ),
    prefix: str | None = options.option(
        "--output -o PREFIX: Prefix of the files' names, PREFIX-train.conllu (default: the name of FILE, in "
        "the current folder).",
        default=None,
    ),
    documents: bool = options.flag("--documents: Keep the sentences of a document (# newdoc) together."),
    in_order: bool = options.flag("--in-order: Do not shuffle: the first sentences are the first part."),
    seed: int = typer.Option(0, min=0, help="Random seed. The same seed gives the same parts."),
    as_json: bool = options.json_option("file, sentences and words of each part"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
) -> None:
    """Every sentence goes to exactly one part, unchanged and in the order of FILE. The files appear when all
    are complete.

    Examples:

    - `arbora split da.conllu 80/10/10`
    - `arbora split da.conllu 9/1 --documents --seed 3`
    - `arbora split da.conllu 1/1 --names first,second -o halves/da`
    """
    with options.usage_errors():
        numbers = parse_shares(shares)
    outputs = _outputs(source, prefix, _part_names(names, len(numbers)))
    for output in outputs:
        not_an_input(writable(output), [source])
    reader = ColumnReader(source, format=format, lenient=lenient)
    columns = reader.read_all()
    parts = split_sentences(columns, numbers, seed=seed, shuffle=not in_order, documents=documents)
    report = []
    with ExitStack() as stack:
        for output, sentences in zip(outputs, parts, strict=True):
            chosen = columns.select(sentences)
            stack.enter_context(open_output(output)).write(chosen.to_bytes())
            report.append({"file": output, "sentences": len(chosen), "words": chosen.words})
    say_skipped(reader.skipped, reader.source)
    if as_json:
        print_json(report)
        return
    for output, sentences in zip(outputs, parts, strict=True):
        say(f"{output}: {counted(len(sentences), 'sentence')}")


def _part_names(given: str | None, count: int) -> list[str]:
    if given is None and count not in NAMES:
        raise typer.BadParameter(f"{count} parts: name them all, such as --names a,b,c")
    names = (NAMES[count] if given is None else given).split(",")
    if len(names) != count or len(set(names)) != count or not all(name.strip() for name in names):
        raise typer.BadParameter(f"--names: expected {count} different names, one per part, got {given}")
    return [name.strip() for name in names]


def _outputs(source: str, prefix: str | None, names: list[str]) -> list[str]:
    """The names of the files; they end as the source does."""
    if source == "-" and prefix is None:
        raise typer.BadParameter("stdin has no name: name the files with -o PREFIX")
    ending = ending_of(source)
    ending = ending if ending in FORMAT_OF_ENDING else ".conllu"
    packed = ".gz" if source.lower().endswith(".gz") else ""
    if prefix is None:
        name = Path(source).name
        prefix = name[: len(name) - len(packed)].removesuffix(ending)
    return [f"{prefix}-{name}{ending}{packed}" for name in names]
