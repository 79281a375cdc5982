"""Options and arguments that several verbs share, and what they need to check them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from arbora import interfaces
from arbora.cli.files import existing, existing_model, optional, writable
from arbora.data.treebank import FormatOrAuto
from arbora.errors import InputError
from arbora.registry import Registry
from arbora.web.plots import SUFFIXES, require_matplotlib

InputFormat: TypeAlias = Literal["auto", "conllu", "conllx", "text"]
Only: TypeAlias = Literal["all", "parser"]


def json_option(what: str) -> Any:
    """Return the option --json; `what` says what is in the document."""
    return typer.Option("--json", help=f"Print JSON: {what}.")


def plot_option(what: str) -> Any:
    """Return an option for a picture's file; `what` is drawn."""
    return typer.Option(
        metavar="FILE", callback=optional(_plot_name), help=f"Draw {what}: {' or '.join(SUFFIXES)}."
    )


def name_option(registry: Registry[Any], help: str) -> Any:  # noqa: A002
    """Return an option for a registered name."""

    def check(name: str) -> str:
        with usage_errors():
            registry.factory(name)
        return name

    return typer.Option(metavar="NAME", callback=optional(check), help=help)


def _plot_name(name: str) -> str:
    if Path(name).suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{name}: expected a name that ends in {' or '.join(SUFFIXES)}")
    with usage_errors():
        require_matplotlib()
    return writable(name)


def _model_name(name: str) -> str:
    if name == "-":
        raise typer.BadParameter("models are not written to stdout; name a file")
    return writable(name)


Format: TypeAlias = Annotated[
    FormatOrAuto, typer.Option(help="Format of the treebanks; auto: by their names and first lines.")
]
Roots: TypeAlias = Annotated[
    interfaces.Roots, typer.Option(help="Roots of a tree; single: a second root is an error.")
]
Output: TypeAlias = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="OUT", callback=writable, help="Output file (.gz compresses); - is stdout."
    ),
]
Lenient: TypeAlias = Annotated[
    bool, typer.Option("--lenient", help="Skip malformed sentences with a warning, and count them.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")
]
Threads: TypeAlias = Annotated[int, typer.Option(min=1, help="Number of threads. Does not change results.")]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        callback=optional(existing_model),
        help="A model from `arbora train` (default: the bundled English model).",
    ),
]
ModelOutput: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        callback=optional(_model_name),
        help="The model to write. Default: da_ddt.arbora for UD_Danish-DDT; none for files.",
    ),
]
Config: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        callback=optional(existing),
        help="Settings in TOML; command-line options override them.",
    ),
]
Licence: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Licence of the training data (default: from the treebank)."),
]
Attribution: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Attribution for the training data (default: from the treebank)."),
]


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn an InputError within the block into an error of the command line."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the parameters that the command line sets."""
    return {
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    }


def name_values(texts: list[str] | None, option: str) -> dict[str, str]:
    """Split several NAME=VALUE; no name may be given twice."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value:
            raise typer.BadParameter(f"{option}: expected NAME=VALUE, got {text!r}")
        if name in found:
            raise typer.BadParameter(f"{option} {name}: given twice, as {found[name]} and {value}")
        found[name] = value
    return found
