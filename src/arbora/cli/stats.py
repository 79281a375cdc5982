"""`arbora stats`: what is in a treebank."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Annotated

import typer

from arbora.cli.files import FormatOption, RootsOption, say_skipped, session
from arbora.cli.named import expand
from arbora.cli.tables import Table, show
from arbora.data.statistics import Statistics, by_count, statistics
from arbora.data.treebank import ColumnReader

Rows = list[tuple[str, ...]]

MOST_TAGS = 40
BAR_WIDTH = 40


def stats(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            callback=expand,
            help="Treebanks, zipped or not; - is stdin; a name such as UD_Danish-DDT or UD_Danish-DDT/test.",
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: counts, shares of 1, labels, lengths.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences with a warning and a count.")
    ] = False,
    format: Annotated[  # noqa: A002
        FormatOption, typer.Option(help="What the files are; auto looks at name and first lines.")
    ] = FormatOption.AUTO,
    roots: Annotated[
        RootsOption, typer.Option(help="What a tree may have; single: a second root is a fault.")
    ] = RootsOption.MULTI,
) -> None:
    """Count what is in treebanks: sentences, words, labels, lengths, crossing arcs, roots, depth.

    An arc is non-projective if a word between its ends is not below its head. Shares are of arcs
    and of trees, where a tree is a sentence in which every head is given.

    Examples:

    - `arbora stats train.conllu dev.conllu`
    - `cat x.conllu | arbora stats - --json`
    """
    with session(lenient=lenient):
        parts: list[tuple[str, Statistics, int]] = []
        for name in files:
            reader = ColumnReader(name, format=format.value, lenient=lenient, roots=roots.value)
            parts.append((reader.source, statistics(reader), reader.skipped))
            say_skipped(reader.skipped, reader.source)
        total = sum((part for _, part, _ in parts), Statistics())
        if as_json:
            print(json.dumps(_report(parts, total), ensure_ascii=False, indent=1))
        else:
            show(_tables(parts, total))


def _report(parts: list[tuple[str, Statistics, int]], total: Statistics) -> dict[str, object]:
    files = [{"file": name, "skipped": skipped, **part.as_dict()} for name, part, skipped in parts]
    return {"skipped": sum(skipped for *_, skipped in parts), **total.as_dict(), "files": files}


def _tables(parts: list[tuple[str, Statistics, int]], total: Statistics) -> list[Table]:
    columns = [(name, part) for name, part, _ in parts]
    if len(columns) > 1:
        columns.append(("all", total))
    tables = [
        Table("", ["", *(name for name, _ in columns)], _summary([part for _, part in columns])),
        Table("", ["length", "sentences", ""], _histogram(total)),
        Table("", ["label", "words", "%"], _ranked(total.labels, total.words)),
        Table("", ["upos", "words", "%"], _ranked(total.upos, total.words)),
    ]
    if len(total.xpos) > 1:
        tables.append(Table("", ["xpos", "words", "%"], _ranked(total.xpos, total.words)))
    return [table for table in tables if table.rows]


def _summary(columns: list[Statistics]) -> Rows:
    def count_and_share(count: int, share: float) -> str:
        return f"{count:,} ({100 * share:.2f}%)"

    missing = [
        ("words without a head", *(count_and_share(c.missing_heads, c.missing_head_share) for c in columns))
    ]
    return [
        ("sentences", *(f"{c.sentences:,}" for c in columns)),
        ("words", *(f"{c.words:,}" for c in columns)),
        ("multiword tokens", *(f"{c.multiword_tokens:,}" for c in columns)),
        ("empty nodes", *(f"{c.empty_nodes:,}" for c in columns)),
        *(missing if any(c.missing_heads for c in columns) else ()),
        ("labels", *(f"{len(c.labels):,}" for c in columns)),
        ("words per sentence", *(f"{c.mean_length:.1f}" for c in columns)),
        ("longest sentence", *(f"{max(c.lengths, default=0):,}" for c in columns)),
        ("trees", *(f"{c.trees:,}" for c in columns)),
        (
            "non-projective arcs",
            *(count_and_share(c.nonprojective_arcs, c.nonprojective_arc_share) for c in columns),
        ),
        (
            "non-projective trees",
            *(count_and_share(c.nonprojective_trees, c.nonprojective_tree_share) for c in columns),
        ),
        (
            "multi-root trees",
            *(count_and_share(c.multiroot_trees, c.multiroot_share) for c in columns),
        ),
        ("mean depth", *(f"{c.mean_depth:.1f}" for c in columns)),
        ("deepest tree", *(f"{max(c.depths, default=0):,}" for c in columns)),
    ]


def _histogram(total: Statistics) -> Rows:
    bins = total.length_histogram()
    most = max((count for *_, count in bins), default=0)
    return [
        (f"{low}-{high}", f"{count:,}", _bar() * -(-BAR_WIDTH * count // most))
        for low, high, count in bins
        if count
    ]


def _bar() -> str:
    return "█" if sys.stdout.isatty() else "#"


def _ranked(counter: Counter[str], words: int) -> Rows:
    ranked = by_count(counter)
    rows = [(name, f"{count:,}", f"{100 * count / words:.2f}") for name, count in ranked]
    if len(rows) <= MOST_TAGS:
        return list(rows)
    rest = sum(count for _, count in ranked[MOST_TAGS:])
    others = (f"{len(rows) - MOST_TAGS} others", f"{rest:,}", f"{100 * rest / words:.2f}")
    return [*rows[:MOST_TAGS], others]
