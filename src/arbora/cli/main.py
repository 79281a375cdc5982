"""Wires the verbs; each lives in its own file and does its own work."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from arbora.cli import convert, demo, stats
from arbora.cli.eval import evaluate_files
from arbora.cli.info import info
from arbora.cli.list import list_kind
from arbora.errors import ArboraError

app = typer.Typer(
    name="arbora",
    help="Dependency parsing with exact inference over trees.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("demo")(demo.demo)
app.command("stats")(stats.stats)
app.command("convert")(convert.convert)
app.command("eval")(evaluate_files)
app.command("list")(list_kind)
app.add_typer(info, name="info")


@app.callback()
def main() -> None:
    """Dependency parsing with exact inference over trees.

    Exit status: 0 done, 1 the data or model is at fault, 2 the command line is.
    """


def run() -> None:
    """Entry point: data errors become one line on stderr and exit status 1."""
    try:
        app()
    except ArboraError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"error: {error}", markup=False)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output went away (`arbora ... | head`); nothing is wrong.
        sys.stderr.close()
        sys.exit(0)
