"""Tables for people: drawn in a terminal, plain aligned text in a pipe or file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import rich.box
import rich.table
from rich.console import Console
from rich.text import Text

from arbora.cli.console import make_console


@dataclass(frozen=True, slots=True)
class Table:
    """A title (or none, ""), column headings and rows of text.

    The first column, which names the row, and columns without a heading are set to the left, all others
    to the right, as numbers are.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables on stdout, one after the other with an empty line between."""
    console = console or make_console()
    if not console.is_terminal:
        # Not through Rich: it would fold lines at a width that a file does not have, and end the
        # program by itself when a reader such as `head` goes away.
        console.file.write("\n".join(map(plain, tables)))
        return
    for number, table in enumerate(tables):
        if number:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        if _least_width(table) <= console.width:
            console.print(_drawn(table))
        else:  # lines that go on below are better than numbers that are not there
            console.print(Text(plain(Table("", table.headings, table.rows))), soft_wrap=True, end="")


def _least_width(table: Table) -> int:
    """How wide it is with headings folded, but no number."""
    columns = zip(*table.rows, strict=True)
    return sum(max(map(len, column)) for column in columns) + 2 * (len(table.headings) - 1)


def plain(table: Table) -> str:
    """The table as aligned text, two spaces between columns."""
    lines = [table.headings, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [f"{table.title}\n"] if table.title else []
    for line in lines:
        cells = [
            f"{cell:>{width}}" if _is_number(table, column) else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip() + "\n")
    return "".join(text)


def _is_number(table: Table, column: int) -> bool:
    return column > 0 and table.headings[column] != ""


def _drawn(table: Table) -> rich.table.Table:
    # Without lines between columns the widest table fits into 80 characters.
    drawn = rich.table.Table(
        box=rich.box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for column, heading in enumerate(table.headings):
        drawn.add_column(
            Text(heading),
            justify="right" if _is_number(table, column) else "left",
            # A heading may be folded (file names are long), a number may not.
            overflow="fold",
            min_width=max((len(row[column]) for row in table.rows), default=0),
        )
    for row in table.rows:
        # Labels and file names are text, never markup.
        drawn.add_row(*map(Text, row))
    return drawn
