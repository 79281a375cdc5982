"""What the verbs share: options, checks of file names, warnings, pipes."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from arbora.errors import DataError
from arbora.formatting import counted as counted
from arbora.storage.atomic import is_special
from arbora.storage.bundled import NO_MODEL, is_bundled


class FormatOption(StrEnum):
    """Formats that a treebank can be read as."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"


class RootsOption(StrEnum):
    """How many roots a tree may have."""

    MULTI = "multi"
    SINGLE = "single"


ThreadsOption: TypeAlias = Annotated[
    int, typer.Option(min=1, help="How many cores to use; the result does not depend on it.")
]


def existing(name: str) -> str:
    """`name` if it is `-` or a file that can be read; the command line is at fault otherwise.

    A part of a treebank on disk, such as `UD_Danish-DDT/test`, is that file.
    """
    path = Path(name)
    if name == "-":
        return name
    if not path.is_file():
        from arbora.cli.named import advice, part_file  # most names are those of files

        name = part_file(name) or name
        path = Path(name)
        if not path.exists():
            hint = advice(name)
            raise typer.BadParameter(f"{name}: no such file{f', and {hint}' if hint else ''}")
    if path.is_dir():
        raise typer.BadParameter(f"{name}: expected a file, got a directory")
    if not os.access(path, os.R_OK):
        raise typer.BadParameter(f"{name}: not allowed to read it")
    return name


def existing_model(name: str) -> str:
    """The same for a model, which may be one that comes with Arbora; its name stays as it is."""
    if is_bundled(name):
        return name
    if name != "-" and not Path(name).exists():
        raise typer.BadParameter(f"{name}: {NO_MODEL}")
    return existing(name)


def existing_model_if_given(name: str | None) -> str | None:
    """The same for an option that may be left out."""
    return None if name is None else existing_model(name)


def existing_if_given(name: str | None) -> str | None:
    """The same for an option that may be left out."""
    return None if name is None else existing(name)


def at_most_one_stdin(names: Sequence[str | None]) -> None:
    """The command line is at fault if two files are `-`: what is read once is gone."""
    if names.count("-") > 1:
        raise typer.BadParameter("only one of the files can be read from stdin (-)")


def writable(name: str) -> str:
    """`name` if it is `-` or could be a file; the command line is at fault otherwise."""
    path = Path(name)
    if name == "-":
        return name
    if path.is_dir():
        raise typer.BadParameter(f"{name}: expected a file, got a directory")
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{name}: no such directory: {path.parent}")
    return name


def not_an_input(output: str | None, inputs: Sequence[str | None]) -> None:
    """The command line is at fault if a file that is read is to be replaced by what is made of it."""
    if output is None or output == "-" or is_special(Path(output)):
        return
    for name in inputs:
        if name is not None and name != "-" and _is_same(output, name):
            raise typer.BadParameter(f"{output}: the output is also an input ({name}); choose another name")


def warn_of_same(dev: str | None, names: Sequence[str]) -> None:
    """A line on stderr if what is learned from is to judge, too."""
    if dev is not None and any("-" not in (dev, name) and _is_same(dev, name) for name in names):
        say(f"warning: --dev {dev} is also TRAIN: how well a parser knows what it has seen says little")


def _is_same(one: str, other: str) -> bool:
    if Path(one).exists() and Path(other).exists():
        return Path(one).samefile(other)
    return Path(one).resolve() == Path(other).resolve()


class _WarningLines(logging.Handler):
    """Log records as plain lines on stderr."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        say(f"{record.levelname.lower()}: {record.getMessage()}")


@contextmanager
def session(*, lenient: bool | None = None) -> Iterator[None]:
    """Warnings go to stderr; a reader of our output that goes away (`| head`) is no fault.

    `lenient` is the verb's option of that name, if it has one: bad data is then told with what it does.
    """
    logger, handler = logging.getLogger("arbora"), _WarningLines()
    logger.addHandler(handler)
    propagate, logger.propagate = logger.propagate, False
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an ASCII terminal is no reason to fail
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        raise typer.Exit(0) from None
    except DataError as error:
        from arbora.data.treebank import NO_TREEBANK  # not before: `arbora --help` reads no treebank

        may_skip = lenient is False and error.line is not None and NO_TREEBANK not in error.what
        complain(f"{error} (--lenient skips such sentences)" if may_skip else f"{error}")
        raise typer.Exit(1) from None
    except OSError as error:
        complain_about_system(error)
        raise typer.Exit(1) from None
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def say(text: str) -> None:
    """One line on stderr, however long; where nobody can be told, the exit status must do."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def complain(message: str) -> None:
    """A line about what went wrong."""
    say(f"error: {message}")


def complain_about_system(error: OSError) -> None:
    """A full disk, a directory that may not be written to; what is still buffered is lost.

    Files carry their names (see `arbora.data.files`), so what has none is stdout.
    """
    why = error.strerror or error
    complain(f"{error.filename}: {why}" if error.filename else f"stdout could not be written: {why}")
    drop_output()


def drop_output() -> None:
    """Let what is still buffered go nowhere, since it cannot be taken."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_skipped(skipped: int, source: str) -> None:
    """One line on stderr if sentences were left out."""
    if skipped:
        say(f"{source}: {counted(skipped, 'sentence')} skipped")
