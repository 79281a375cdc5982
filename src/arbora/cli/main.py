"""Wires the verbs (see verbs.py); each lives in its own file and does its own work."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from arbora import __version__
from arbora.cli.console import silence_help
from arbora.cli.files import complain, complain_about_system, drop_output
from arbora.cli.verbs import VerbsOnDemand, add_verbs
from arbora.errors import ArboraError

# Typer does not export the base of its own errors about the command line.
UsageError: type[Any] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="arbora",
    cls=VerbsOnDemand,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["--help", "-h"]},
)
add_verbs(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"arbora {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Dependency parsing with exact inference over trees.

    Results go to stdout, warnings and errors to stderr; a file named - is stdin or stdout. Exit status:
    0 done, 1 the data is at fault, 2 the command line is. `arbora VERB --help` has examples.
    """


def run() -> None:
    """Entry point: an error is one line on stderr, with exit status 1 (data) or 2 (command line)."""
    arguments = sys.argv[1:]
    if sys.stdout is None:
        complain("stdout is closed; send it to a file, a pipe or /dev/null")
        sys.exit(1)
    silence_help()
    try:
        status = app(arguments or ["--help"], prog_name="arbora", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        if _message(error):  # a verb that shows its help instead has said all
            complain(f"{_message(error)} (see `{_command(error)} --help`)")
        sys.exit(2)
    except ArboraError as error:
        complain(str(error))
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        complain("stopped")
        sys.exit(130)
    except (BrokenPipeError, SystemExit):
        # Verbs end by returning; what exits by itself is printing when the reader of our output has
        # gone away (`arbora --help | true`), and then nothing is wrong.
        drop_output()
        sys.exit(0)
    except OSError as error:
        complain_about_system(error)
        sys.exit(1)
    # Nothing asked for is a command line at fault, though help is all that it needs.
    sys.exit((status or 0) if arguments else 2)


def _message(error: Any) -> str:
    """Typer's message as part of a line: no capital, no full stop, no line break."""
    text = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    text = text.removeprefix("Invalid value: ")  # which names no option: the rest says it all
    if "nput should be" in text and (given := _given(error, sys.argv[1:])) is not None:
        text = f"{text.replace('Input should be', 'expected a number')}, got {given}"
    verb = "" if error.ctx is None else error.ctx.info_name
    if "unexpected extra argument" in text and verb in ("parse", "convert"):
        text += f"; {verb} takes one file at a time"
    first = text.partition(" ")[0]
    is_word = first.isalpha() and first[1:].islower()  # and not the name of a file
    return str(text[:1].lower() + text[1:] if is_word else text)


def _given(error: Any, arguments: Sequence[str]) -> str | None:
    """What the command line has for the option at fault; Typer does not repeat it."""
    names = getattr(getattr(error, "param", None), "opts", ())
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[place + 1 :]), None)
    return None


def _command(error: Any) -> str:
    return "arbora" if error.ctx is None else str(error.ctx.command_path)
