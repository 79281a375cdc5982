"""Tables for people: drawn in a terminal, plain aligned text in a pipe or file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import rich.box
import rich.table
from rich.console import Console
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column headings and rows of text; the first column names the row."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def show(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables on stdout, one after the other with an empty line between."""
    console = console or Console()
    if not console.is_terminal:
        # Not through Rich: it would fold lines at a width that a file does not have, and end the
        # program by itself when a reader such as `head` goes away.
        console.file.write("\n".join(map(plain, tables)))
        return
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(Text(table.title, style="bold"))
        console.print(_drawn(table))


def plain(table: Table) -> str:
    """The table as aligned text: names to the left, numbers to the right, two spaces between."""
    lines = [table.headings, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [f"{table.title}\n"]
    for name, *cells in lines:
        padded = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        text.append("  ".join([f"{name:<{widths[0]}}", *padded]).rstrip() + "\n")
    return "".join(text)


def _drawn(table: Table) -> rich.table.Table:
    # Without lines between columns the widest table fits into 80 characters.
    drawn = rich.table.Table(
        box=rich.box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for number, heading in enumerate(table.headings):
        drawn.add_column(Text(heading), justify="right" if number else "left", no_wrap=True)
    for row in table.rows:
        # Labels and file names are text, never markup.
        drawn.add_row(*map(Text, row))
    return drawn
