"""The entry point: runs a verb (see verbs.py), and turns errors into messages and exit statuses."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer

from arbora import __version__
from arbora.cli.console import (
    complain,
    drop_output,
    interrupts,
    wants_codes,
    warnings_on_stderr,
)
from arbora.cli.verbs import HELP, VerbsOnDemand, add_verbs, make_command
from arbora.errors import ArboraError, DataError

# Typer does not export the base class of its errors about the command line.
UsageError: type[Any] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="arbora",
    cls=VerbsOnDemand,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": HELP},
)
add_verbs(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"arbora {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Dependency parsing with exact inference over trees.

    Results go to stdout, warnings and errors to stderr; a file named - is stdin or stdout. Exit status:
    0 success, 1 bad data or model, 2 bad command line, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP. `arbora VERB
    --help` shows examples.
    """


def run() -> None:
    """Run the command line; an error is one line on stderr, with exit status 1 (data) or 2 (command line)."""
    arguments = sys.argv[1:]
    interrupts.catch()
    if sys.stdout is None:
        complain("stdout is closed; send it to a file, a pipe or /dev/null")
        sys.exit(1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for ASCII terminals
    if not wants_codes():
        from typer import rich_utils  # the help has consoles of its own

        rich_utils.COLOR_SYSTEM = None
    try:
        with warnings_on_stderr():
            status = app(arguments or ["--help"], prog_name="arbora", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        if message := _message(error):  # empty if the verb has shown its help instead
            command = "arbora" if error.ctx is None else error.ctx.command_path
            hint = "" if "see `arbora " in message else f" (see `{command} --help`)"
            complain(f"{message}{hint}")
        sys.exit(2)
    except ArboraError as error:
        complain(f"{error}{_lenient_hint(error, arguments)}")
        sys.exit(1)
    except MemoryError:
        complain("not enough memory; split long sentences, or use fewer threads or a smaller model")
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        complain("stopped")
        sys.exit(interrupts.status)
    except (BrokenPipeError, SystemExit):
        # Verbs end by returning. Only Rich exits, if the reader of our output has gone away
        # (`arbora --help | true`); that is no error.
        drop_output()
        sys.exit(0)
    except OSError as error:  # errors about files carry their names (see `arbora.storage.files`)
        complain(f"{error.filename or 'stdout could not be written'}: {error.strerror or error}")
        drop_output()
        sys.exit(1)
    # Without arguments, help is shown, but the command line is wrong.
    sys.exit((status or 0) if arguments else 2)


def _lenient_hint(error: ArboraError, arguments: Sequence[str]) -> str:
    """Point to --lenient if the verb has it and it would skip the sentence at fault."""
    if not isinstance(error, DataError) or error.line is None or "--lenient" in arguments:
        return ""
    options = [first for first, second in pairwise(arguments) if second == error.source]
    if {"--vectors", "--text", "--config"} & {*options}:
        return ""
    from arbora.data.treebank import NO_TREEBANK  # not before: `arbora --help` reads no treebank

    has_option = any("--lenient" in option.opts for option in make_command(arguments[0]).params)
    return " (--lenient skips such sentences)" if has_option and NO_TREEBANK not in error.what else ""


def _message(error: Any) -> str:
    """Return Typer's message as part of a line: no capital, no full stop, no line break."""
    text = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    text = text.removeprefix("Invalid value: ")  # names no option
    if "nput should be" in text and (given := _given(error, sys.argv[1:])) is not None:
        text = re.sub(r"Input should be a valid (integer|number)\b.*", r"expected a \1", text)
        text = text.replace("a integer", "a whole number").replace("Input should be", "expected a number")
        text += f", got {given}"
    verb = "" if error.ctx is None else error.ctx.info_name
    if "unexpected extra argument" in text and verb == "convert":
        text += "; convert takes one file at a time"
    first = text.partition(" ")[0]
    is_word = first.isalpha() and first[1:].islower()  # not the name of a file
    return str(text[:1].lower() + text[1:] if is_word else text)


def _given(error: Any, arguments: Sequence[str]) -> str | None:
    """Return the value of the option at fault, which Typer's message does not repeat."""
    names = getattr(getattr(error, "param", None), "opts", ())
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            return value if equals else next(iter(arguments[place + 1 :]), None)
    return None
