"""The verbs, and where each lives: its file is imported when it is called.

To add a verb, write a file with a function `command`, whose docstring continues the help, and a line here.
Another package adds a verb with an entry point in the group `arbora.verbs`: its name, and a function for
Typer. `arbora --help` imports that function's module, so the module should be light.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from arbora.cli.console import stopped
from arbora.errors import MOST_SEED, is_whole

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VERBS = {
    "get": "Make a model for a language: download a treebank of it, train on it, install the model.",
    "train": "Train a model on a treebank: segmenter, tagger, lemmatizer and parser.",
    "induce": "Learn a parser without trees: from tagged sentences, or from words alone.",
    "distil": "Train a model on raw text that another model has parsed, and on a treebank.",
    "ensemble": "Combine several models into one, with weights fitted on a dev set.",
    "calibrate": "Fit the probabilities of a model to another treebank.",
    "parse": "Parse raw text or treebanks: every word gets a head and a label.",
    "serve": "Serve a web page that shows trees and probabilities, and a JSON API.",
    "annotate": "Annotate a treebank in a web page, with a parser that learns while you work.",
    "tune": "Try settings: train with each combination and compare the scores.",
    "demo": "Parse a text with the bundled model, and draw its trees.",
    "stats": "Describe treebanks: sentences, words, labels, lengths, crossing arcs, roots, depth.",
    "select": "Choose the sentences, or the single arcs, to annotate next.",
    "check": "List the faults of a treebank, and the arcs that are probably wrong.",
    "convert": "Convert a treebank between CoNLL-U, CoNLL-X, Parquet and text.",
    "split": "Split a treebank into parts, such as train, dev and test.",
    "eval": "Score PREDICTED against GOLD: UAS, LAS, CLAS, exact match, roots.",
    "list": "List what can be chosen by name, with a line about each.",
    "info": "Describe one choice (arbora info learner mira), or a model (info da.arbora).",
    "data": "List, download and check treebanks of Universal Dependencies.",
}
HELP = ["--help", "-h"]
METAVARS: dict[Any, str] = {int: "N", float: "NUMBER", str: "NAME"}
GROUP = "arbora.verbs"
"""Entry points of verbs in other packages."""
STUDIES = "reproduce"
"""The verb of the package that the extra `studies` installs."""


@cache
def find_plugins() -> dict[str, EntryPoint]:
    """Find the verbs of other packages."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in VERBS}


def require_studies() -> Any:
    """Return the registry of studies, which are a package of their own."""
    try:
        return import_module("arbora_studies.catalog").studies
    except ModuleNotFoundError as error:
        if error.name not in ("arbora_studies", "arbora_studies.catalog"):
            raise
        raise _missing("studies") from None


def _missing(what: str) -> typer.BadParameter:
    return typer.BadParameter(f"the package for {what} is not installed: pip install 'arbora-nlp[studies]'")


@contextmanager
def _reporting_stops() -> Iterator[None]:
    """Report signals: Typer would end with the status of Ctrl-C, and say nothing."""
    try:
        yield
    except KeyboardInterrupt:
        raise stopped("") from None


class VerbsOnDemand(TyperGroup):
    """Lists the verbs without importing them; a verb is imported when it is called."""

    def get_help(self, ctx: Any) -> str:
        show_values_plainly(self, ctx)
        return super().get_help(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *find_plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        return make_command(cmd_name) if known is None and cmd_name in find_plugins() else known

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _reporting_stops():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        with _reporting_stops():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] == STUDIES and STUDIES not in find_plugins():
            raise _missing(STUDIES)
        name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None else make_command(str(name)), rest


def add_verbs(app: typer.Typer) -> None:
    """Add every verb with its name and help."""
    for name, about in VERBS.items():
        app.command(name, help=about)(_listed)


def _listed() -> None:
    """Stand for a verb until it is called."""


@cache
def make_command(name: str) -> Any:
    """Import a verb and return its command, with its options."""
    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    app.callback()(_listed)  # or Typer would make one command of a single verb
    about = VERBS.get(name)
    made = find_plugins()[name].load() if about is None else import_module(f"arbora.cli.{name}").command
    if isinstance(made, typer.Typer):
        app.add_typer(made, name=name, help=about)
    else:
        app.command(name, help=about and f"{about}\n\n{inspect.getdoc(made)}")(made)
    group: Any = typer.main.get_command(app)
    command = group.commands[name]
    show_values_plainly(command, typer.Context(command, help_option_names=HELP))
    bound_numbers(command)
    return command


def bound_numbers(command: Any) -> None:
    """Refuse whole numbers that no computation can take, whatever the option's own range is."""
    for each in command.params:
        each.callback = _bounded(each.callback)
    for inner in getattr(command, "commands", {}).values():
        bound_numbers(inner)


def _bounded(check: Callable[..., Any] | None) -> Callable[..., Any]:
    def callback(context: Any, parameter: Any, value: Any) -> Any:
        if is_whole(value) and abs(value) > MOST_SEED:
            what = f"expected a whole number of at most {MOST_SEED}, got {value}"
            raise typer.BadParameter(what, ctx=context, param=parameter)
        return value if check is None else check(context, parameter, value)

    return callback


def show_values_plainly(command: Any, context: typer.Context) -> None:
    """Let the help show `--quiet`, `--threads N` and `FILE`, without the names of Python's types."""
    for each in command.get_params(context):
        kind = getattr(getattr(each, "type_descriptor", None), "annotation", None)
        if each.param_type_name == "argument":
            each.display_type_rich = _no_type
        elif getattr(each, "is_flag", False):
            each.metavar = ""
        elif each.metavar is None:
            each.metavar = METAVARS.get(kind)
    for inner in getattr(command, "commands", {}).values():
        show_values_plainly(inner, typer.Context(inner, parent=context))


def _no_type(ctx: typer.Context) -> None:
    """Show nothing beside the name of an argument."""
