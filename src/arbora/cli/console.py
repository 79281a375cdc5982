"""Output of verbs: messages on stderr, tables and numbers on stdout, and escape codes on terminals.

All that comes from files and arguments goes through `printable`, so that no file can send escape codes to the
terminal.

Rich is imported when something is drawn: it takes long, and few runs need it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import typer

from arbora.formatting import counted as counted
from arbora.formatting import show_scores as show_scores
from arbora.web.writing import safe_in_terminal

if TYPE_CHECKING:
    import rich.table
    from rich.console import Console

STOPPING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Signals that end a command; Windows has no SIGHUP."""
REPEATED = 1.0
"""Seconds after a signal in which another one counts as the same."""


def printable(text: str) -> str:
    """Replace control characters by escapes such as `\\x1b`, except tabs and line breaks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(part if part in "\n\t" else safe_in_terminal(part) for part in re.split("([\n\t])", text))


def say(text: str) -> None:
    """Print one line on stderr; a closed stderr is no error."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{printable(text)}\n")
            sys.stderr.flush()


def show_line(text: str) -> None:
    """Print one line on stdout."""
    print(printable(text))


class _TerminalOutput:
    """Stdout as a stream of treebanks: without their control characters."""

    def write(self, data: bytes) -> int:
        sys.stdout.buffer.write(printable(data.decode(errors="replace")).encode())
        return len(data)

    def flush(self) -> None:
        sys.stdout.buffer.flush()


def results_to(output: str) -> Any:
    """The target for results: the named file, or for `-` on a terminal, a stream that is safe there."""
    return _TerminalOutput() if output == "-" and sys.stdout.isatty() else output


def complain(message: str) -> None:
    """Print an error on stderr."""
    say(f"error: {message}")


class Interrupts:
    """SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) as KeyboardInterrupt.

    So all of them clean up, and keep the best model.

    Signals that closely follow each other count as one: `timeout` may send two. The second one would end the
    work that the first one leaves to do, such as writing the best model.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._number = signal.SIGINT
        self._time = -float("inf")

    def catch(self) -> None:
        """Install the handler, except for signals that are ignored, as in `nohup`, or handled already."""
        self._forget()
        for number in STOPPING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._handle)

    def _handle(self, number: int, _frame: object) -> None:
        is_repeated = time.monotonic() - self._time < REPEATED
        self._time = time.monotonic()
        if not is_repeated:
            self._number = signal.Signals(number)
            raise KeyboardInterrupt

    @property
    def name(self) -> str:
        """The signal that stopped the command."""
        return "Ctrl-C" if self._number == signal.SIGINT else self._number.name

    @property
    def status(self) -> int:
        """The exit status of a command that a signal stopped: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)."""
        return 128 + self._number


interrupts = Interrupts()


def stopped(then: str) -> typer.Exit:
    """Report the signal and what it means for the results; return what to raise."""
    complain(f"stopped by {interrupts.name}{then}")
    return typer.Exit(interrupts.status)


def drop_output() -> None:
    """Send buffered output to /dev/null, since stdout cannot take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_skipped(skipped: int, source: str) -> None:
    """Print how many sentences were skipped, if any."""
    if skipped:
        say(f"{source}: {counted(skipped, 'sentence')} skipped")


class _WarningLines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {record.getMessage()}")


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Print the warnings that Arbora logs within the block, a line each."""
    logger, handler = logging.getLogger("arbora"), _WarningLines(logging.WARNING)
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def wants_codes() -> bool:
    """Whether terminals may get escape codes: not if NO_COLOR is set (no-color.org).

    Rich drops only colours then, and still sends codes for bold text and the like.
    """
    return not os.environ.get("NO_COLOR")


def draws_bars() -> bool:
    """Whether stderr is a terminal that may get escape codes."""
    return sys.stderr is not None and sys.stderr.isatty() and wants_codes()


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on stdout or stderr that highlights nothing by itself."""
    from rich.console import Console

    colours = "auto" if wants_codes() else None
    return Console(stderr=stderr, highlight=False, color_system=colours)  # type: ignore[arg-type]


def drawing_style(*, to_terminal: bool, encoding: str | None) -> dict[str, Any]:
    """Return the options of `arbora.web.terminal.draw` for stdout."""
    return {
        "width": shutil.get_terminal_size().columns if to_terminal else None,
        "ascii_only": not (encoding or "").lower().startswith("utf"),
        "colour": to_terminal and wants_codes() and os.environ.get("TERM") != "dumb",
    }


def print_json(value: object) -> None:
    """Print one JSON document."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    print(printable(text) if sys.stdout.isatty() else text)


def show_loss(loss: float) -> str:
    """Format a number of mistakes, `1,204`, or a mean, `0.0312`."""
    return f"{loss:,.0f}" if loss >= 1 or loss == 0 else f"{loss:.2g}"


def show_seconds(seconds: float) -> str:
    """Format a time: `4.2 s`, `3:05 min`, `1:02:03 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


class Table:
    """A title (or none, ""), column headings and rows: text, counts, percentages (floats) or None.

    The first column, which names the row, and columns without a heading are left-aligned, all others
    right-aligned.
    """

    def __init__(self, title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.title, self.headings = printable(title), list(map(printable, headings))
        self.rows = [list(map(_cell, row)) for row in rows]

    def is_number(self, column: int) -> bool:
        """Whether a column is right-aligned."""
        return column > 0 and self.headings[column] != ""

    def plain(self) -> str:
        """The table as aligned text, with two spaces between columns."""
        lines = [self.headings, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [f"{self.title}\n"] if self.title else []
        for line in lines:
            cells = [
                cell.rjust(width) if self.is_number(column) else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ]
            text.append("  ".join(cells).rstrip() + "\n")
        return "".join(text)


def _cell(value: object) -> str:
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else printable(str(value))


def show(tables: Sequence[Table], console: Console | None = None) -> None:
    """Print tables on stdout with an empty line between: drawn on a terminal, else as aligned text."""
    console = console or make_console()
    if not console.is_terminal:
        # Rich would fold lines, and exit by itself when a reader such as `head` goes away.
        console.file.write("\n".join(table.plain() for table in tables))
        return
    from rich.text import Text

    for number, table in enumerate(tables):
        if number:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        cells = [max(map(len, column)) for column in zip(*table.rows, strict=True)]
        if sum(cells) + 2 * (len(table.headings) - 1) <= console.width:
            console.print(_drawn(table))
        else:  # wrapped lines are better than truncated numbers
            console.print(Text(Table("", table.headings, table.rows).plain()), soft_wrap=True, end="")


def _drawn(table: Table) -> rich.table.Table:
    import rich.box
    import rich.table
    from rich.text import Text

    # Without lines between columns the widest table fits into 80 characters.
    drawn = rich.table.Table(box=rich.box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for column, heading in enumerate(table.headings):
        width = max((len(row[column]) for row in table.rows), default=0)  # headings may be folded, cells not
        justify: Any = "right" if table.is_number(column) else "left"
        drawn.add_column(Text(heading), justify=justify, overflow="fold", min_width=width)
    for row in table.rows:
        drawn.add_row(*map(Text, row))  # labels and file names are never markup
    return drawn


def _in_line(text: str) -> str:
    return safe_in_terminal(" ".join(text.split()) if "\n" in text or "\t" in text else text)


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of texts: columns on a terminal, else separated by tabs."""
    header = list(map(_in_line, header))
    rows = [list(map(_in_line, row)) for row in rows]
    if not sys.stdout.isatty():
        for row in (header, *rows):
            print("\t".join(row))
        return
    import rich.table
    from rich.text import Text

    table = rich.table.Table(show_edge=False, pad_edge=False, box=None)
    for number, title in enumerate(header):
        table.add_column(Text(title, style="bold"), no_wrap=number == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    make_console().print(table)
