"""Options and arguments of several verbs, and their checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import typer

from arbora import interfaces
from arbora.cli.files import existing, existing_model, optional, writable
from arbora.cli.verbs import METAVARS
from arbora.data.treebank import FormatOrAuto
from arbora.errors import MOST_THREADS, InputError
from arbora.settings import Parameter, parameters_of
from arbora.web.plots import SUFFIXES, require_matplotlib

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool

InputFormat: TypeAlias = Literal["auto", "conllu", "conllx", "text"]
Verb = TypeVar("Verb", bound=Callable[..., None])


def option(usage: str, check: Callable[[Any], Any] | None = None, default: Any = ..., **more: Any) -> Any:
    """Return an option declared as its help shows it: `--output -o OUT: where to write`.

    Without names it is an argument: `IN: what to read`. `check` takes the value and returns what the verb
    gets; what is left out is not checked.
    """
    names, about = usage.split(": ", maxsplit=1)
    words = names.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    callback = None if check is None else optional(check)
    declare: Any = typer.Option if words else typer.Argument
    return declare(default, *words, metavar=metavar, callback=callback, help=about, **more)


argument = option


def flag(usage: str) -> Any:
    """Return an option without a value, declared as its help shows it."""
    return option(usage, default=False)


def json_option(what: str) -> Any:
    """Return the option --json; `what` says what is in the document."""
    return flag(f"--json: Print JSON: {what}.")


def plot_option(what: str) -> Any:
    """Return an option for a picture's file; `what` is drawn."""
    return option(f"--plot FILE: Draw {what}: {' or '.join(SUFFIXES)}.", _plot_name, None)


def _plot_name(name: str) -> str:
    if Path(name).suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{name}: expected a name that ends in {' or '.join(SUFFIXES)}")
    with usage_errors():
        require_matplotlib()
    return writable(name)


def model_name(name: str) -> str:
    """Check that a name can be a model to write."""
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
    str, option("--output -o OUT: Output file (.gz compresses); - is stdout.", writable)
]
Lenient: TypeAlias = Annotated[
    bool, option("--lenient: Skip malformed sentences with a warning, and count them.")
]
Quiet: TypeAlias = Annotated[bool, option("--quiet -q: Print nothing but warnings and errors.")]
Threads: TypeAlias = Annotated[
    int, typer.Option(min=1, max=MOST_THREADS, help="Number of threads. Does not change results.")
]
AllThreads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, max=MOST_THREADS, help="Number of threads (default: all cores). Does not change results."
    ),
]
"""None: all cores."""
Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_THREADS,
        help="Number of workers, with --threads threads each. Does not change results.",
    ),
]
Engine: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="<local|ray>",
        help="The kind of workers. local: processes on this machine; ray: actors of a Ray cluster.",
    ),
]
Address: TypeAlias = Annotated[
    str | None,
    option(
        "--address ADDRESS: The Ray cluster; auto: the one that this machine is part of (default: one is "
        "started on this machine)."
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    option(
        "--model -m MODEL: A model from `arbora train` (default: the bundled English model).", existing_model
    ),
]
FirstModel: TypeAlias = Annotated[
    str | None,
    option(
        "--model -m MODEL: A model that proposes the first trees (default: one that is learned from words "
        "alone).",
        existing_model,
    ),
]
ModelOutput: TypeAlias = Annotated[
    str | None,
    option(
        "--output -o MODEL: The model to write. Default: da_ddt.arbora for UD_Danish-DDT; none for files.",
        model_name,
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    option("--weights W1,W2,...: A weight for each model, in order: 2,1 counts the first twice."),
]
Config: TypeAlias = Annotated[
    str | None, option("--config FILE: Settings in TOML; command-line options override them.", existing)
]
Licence: TypeAlias = Annotated[
    str | None, option("--licence TEXT: Licence of the training data (default: from the treebank).")
]
Attribution: TypeAlias = Annotated[
    str | None, option("--attribution TEXT: Attribution for the training data (default: from the treebank).")
]


def setting_options(cls: type[Any], names: str, **checks: Callable[[str], str]) -> Callable[[Verb], Verb]:
    """Give a verb an option for each of these settings of `cls`, after its option `parameters`.

    Help, range and default are those of the setting. The verb gets the values as keyword arguments, None for
    options that are not set. `checks` are further checks of single options.
    """
    declared = {each.name: each for each in parameters_of(cls)}

    def add_options(verb: Verb) -> Verb:
        signature = inspect.signature(verb, eval_str=True)
        kind = inspect.Parameter.KEYWORD_ONLY
        given = signature.parameters.values()
        own = [each.replace(kind=kind) for each in given if each.kind is not inspect.Parameter.VAR_KEYWORD]
        place = list(signature.parameters).index("parameters") + 1
        for name in reversed(names.split()):
            annotation = Annotated[str | None, _setting_option(declared[name], checks.get(name))]
            own.insert(place, inspect.Parameter(name, kind, default=None, annotation=annotation))
        verb.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return verb

    return add_options


def _setting_option(declared: Parameter, check: Callable[[str], str] | None) -> Any:
    def value(text: str) -> Any:
        with usage_errors():
            return unnamed.from_text(text if check is None else check(text))

    unnamed = replace(declared, name="")  # Typer's message names the option
    flat = [inner for member in get_args(declared.kind) for inner in get_args(member) or (member,)]
    named = ["true", "false"] if declared.kind is bool else flat
    words = [METAVARS.get(each, str(each)) for each in named if each is not type(None)]
    choices = "|".join(words) if words not in ([], ["NAME"]) else ""
    other = declared.range.replace("whole number", "N") if declared.kind is int else "NAME"
    other = "NUMBER" if declared.kind is float else other
    default = "" if declared.default is None else f" Default: {declared.default}."
    about = f"{declared.help[0].upper()}{declared.help[1:]}.{default}"
    return typer.Option(metavar=f"<{choices}>" if choices else other, callback=optional(value), help=about)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn an InputError within the block into an error of the command line."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def parse_weights(text: str | None, models: int) -> tuple[float, ...] | None:
    """Return the weights of --weights, one per model; None if they are not set."""
    if text is None:
        return None
    from arbora.parsing.ensemble import normalized  # takes long to import

    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--weights: expected numbers such as 2,1, got {text}") from None
    with usage_errors():
        return normalized(numbers, models)


def make_pool(workers: int, engine: str, address: str | None) -> Pool:
    """Return the workers of --workers, --engine and --address."""
    from arbora.distributed.engines import Pool  # not before it is needed: `arbora --help` is fast

    with usage_errors():
        pool = Pool(engine, workers, address)
    if pool.count == 1 and pool != Pool():
        raise typer.BadParameter("--engine and --address are for several workers; add --workers N")
    return pool


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the parameters that the command line sets."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


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
