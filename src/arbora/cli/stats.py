"""`arbora stats`: statistics of a treebank."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

from arbora.cli import options
from arbora.cli.console import Table, print_json, say_skipped, show
from arbora.cli.files import at_most_one_stdin, treebank_files
from arbora.cli.options import json_option
from arbora.data.statistics import Statistics, by_count, statistics
from arbora.data.treebank import ColumnReader

Rows = list[tuple[object, ...]]

MOST_TAGS = 40
BAR_WIDTH = 40


def _share(count: int, share: float) -> str:
    return f"{count:,} ({100 * share:.2f}%)"


MISSING = "words without a head"
SUMMARY: dict[str, Callable[[Statistics], str]] = {
    "sentences": lambda s: f"{s.sentences:,}",
    "words": lambda s: f"{s.words:,}",
    "multiword tokens": lambda s: f"{s.multiword_tokens:,}",
    "empty nodes": lambda s: f"{s.empty_nodes:,}",
    MISSING: lambda s: _share(s.missing_heads, s.missing_head_share),
    "labels": lambda s: f"{len(s.labels):,}",
    "words per sentence": lambda s: f"{s.mean_length:.1f}",
    "longest sentence": lambda s: f"{max(s.lengths, default=0):,}",
    "trees": lambda s: f"{s.trees:,}",
    "non-projective arcs": lambda s: _share(s.nonprojective_arcs, s.nonprojective_arc_share),
    "non-projective trees": lambda s: _share(s.nonprojective_trees, s.nonprojective_tree_share),
    "multi-root trees": lambda s: _share(s.multiroot_trees, s.multiroot_share),
    "mean depth": lambda s: f"{s.mean_depth:.1f}",
    "deepest tree": lambda s: f"{max(s.depths, default=0):,}",
}


def _expand(names: list[str]) -> list[str]:
    at_most_one_stdin(names)
    return [file for name in names for file in treebank_files(name)]


def command(
    files: list[str] = options.argument(
        "FILE: Treebanks, compressed or not; - is stdin; a name such as UD_Danish-DDT or UD_Danish-DDT/test.",
        _expand,
    ),
    as_json: bool = json_option("counts, shares as fractions, labels, lengths"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
    roots: options.Roots = "multi",
) -> None:
    """An arc is non-projective if a word between its ends is not below its head. Shares are of arcs
    and of trees; a tree is a sentence in which every head is given.

    Examples:

    - `arbora stats train.conllu dev.conllu`
    - `cat x.conllu | arbora stats - --json`
    """
    parts: list[tuple[str, Statistics, int]] = []
    for name in files:
        reader = ColumnReader(name, format=format, lenient=lenient, roots=roots)
        parts.append((reader.source, statistics(reader), reader.skipped))
        say_skipped(reader.skipped, reader.source)
    total = sum((part for _, part, _ in parts), Statistics())
    if as_json:
        each = [{"file": name, "skipped": skipped, **part.as_dict()} for name, part, skipped in parts]
        skipped = sum(skipped for *_, skipped in parts)
        print_json({"skipped": skipped, **total.as_dict(), "files": each})
    else:
        columns = [(name, part) for name, part, _ in parts]
        show(_tables([*columns, ("all", total)] if len(parts) > 1 else columns, total))


def _tables(columns: list[tuple[str, Statistics]], total: Statistics) -> list[Table]:
    rows = [
        (name, *(format_value(part) for _, part in columns))
        for name, format_value in SUMMARY.items()
        if name != MISSING or total.missing_heads
    ]
    tables = [
        Table("", ["", *(name for name, _ in columns)], rows),
        Table("", ["length", "sentences", ""], _histogram(total)),
    ]
    for name, counter in {"label": total.labels, "upos": total.upos, "xpos": total.xpos}.items():
        if name != "xpos" or len(counter) > 1:
            tables.append(Table("", [name, "words", "%"], _ranked(counter, total.words)))
    return [table for table in tables if table.rows]


def _histogram(total: Statistics) -> Rows:
    bins = total.length_histogram()
    most = max((count for *_, count in bins), default=0)
    bar = "█" if sys.stdout.isatty() else "#"
    return [
        (f"{low}-{high}", f"{count:,}", bar * -(-BAR_WIDTH * count // most))
        for low, high, count in bins
        if count
    ]


def _ranked(counter: Counter[str], words: int) -> Rows:
    ranked = by_count(counter)
    if others := ranked[MOST_TAGS:]:
        ranked = [*ranked[:MOST_TAGS], (f"{len(others)} others", sum(count for _, count in others))]
    return [(name, f"{count:,}", 100 * count / words) for name, count in ranked]
