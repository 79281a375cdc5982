"""The verbs, and where each lives: its file is imported when it is called.

To add a verb, write its file and a line here. Another package adds a verb with an entry point in the group
`arbora.verbs`: its name, and a function for Typer. `arbora --help` imports that function's module, so the
module should be light.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Verb(NamedTuple):
    """A verb as `arbora --help` shows it."""

    name: str
    place: str
    """The file in this folder, and the function or group of verbs in it."""
    help: str
    """The first paragraph of that function's docstring."""


VERBS: Sequence[Verb] = (
    Verb(
        "train",
        "train.train_files",
        "Train a model on a treebank: segmenter, tagger, lemmatizer and parser, as far as it can teach them.",
    ),
    Verb(
        "induce",
        "induce.induce_files",
        "Learn a parser from text without trees: from tagged sentences, or from words alone.",
    ),
    Verb(
        "parse",
        "parse.parse_file",
        "Parse raw text, or sentences of a treebank: every word gets a head and a label.",
    ),
    Verb(
        "serve",
        "serve.serve_model",
        "Serve a page that shows trees, their probabilities and the alternatives, and a JSON API.",
    ),
    Verb(
        "tune",
        "tune.tune_files",
        "Try settings: train with every combination, compare on DEV or by cross-validation.",
    ),
    Verb("demo", "demo.demo", "Parse a text with the model that comes with Arbora, and draw its trees."),
    Verb(
        "stats",
        "stats.stats",
        "Count what is in treebanks: sentences, words, labels, lengths, crossing arcs, roots, depth.",
    ),
    Verb("convert", "convert.convert", "Convert a treebank between CoNLL-U, CoNLL-X and Parquet."),
    Verb(
        "eval",
        "eval.evaluate_files",
        "Score PREDICTED against GOLD: UAS, LAS, label accuracy, CLAS, exact match, roots.",
    ),
    Verb("list", "list.list_kind", "List what can be chosen by name, with a line about each."),
    Verb(
        "info",
        "info.info",
        "Say all about one thing: arbora info family projective; or about a model: arbora info da.arbora",
    ),
    Verb(
        "data",
        "data.data",
        "Treebanks of Universal Dependencies: list them, get them by name (arbora data get UD_Danish-DDT), "
        "check them.",
    ),
)


GROUP = "arbora.verbs"
"""Entry points of verbs in other packages."""
EXTRAS = {"reproduce": "studies"}
"""Verbs of packages that an extra of ours installs."""


@cache
def find_plugins() -> dict[str, EntryPoint]:
    """Find the verbs of other packages; searched only when a verb is not ours."""
    from importlib.metadata import entry_points

    ours = {verb.name for verb in VERBS}
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in ours}


def require_studies() -> Any:
    """Return the registry of studies, which are a package of their own."""
    try:
        return import_module("arbora_studies.catalog").studies
    except ModuleNotFoundError as error:
        if error.name not in ("arbora_studies", "arbora_studies.catalog"):
            raise
        raise _missing("studies") from None


def _missing(verb: str) -> typer.BadParameter:
    extra = EXTRAS.get(verb, verb)
    return typer.BadParameter(f"the package for {verb} is not installed: pip install 'arbora-nlp[{extra}]'")


class VerbsOnDemand(TyperGroup):
    """Lists its verbs without importing them; a verb is imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *find_plugins()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        return make_command(cmd_name) if known is None and cmd_name in find_plugins() else known

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in EXTRAS and args[0] not in find_plugins():
            raise _missing(args[0])
        name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None else make_command(str(name)), rest


def add_verbs(app: typer.Typer) -> None:
    """Every verb by its name and help."""
    for verb in VERBS:
        app.command(verb.name, help=verb.help)(_listed)


def _listed() -> None:
    """Stands for a verb until it is called."""


@cache
def make_command(name: str) -> Any:
    """The command of a verb, with its options, as Typer has it."""
    places = {verb.name: verb.place.split(".") for verb in VERBS}
    if name in places:
        file, attribute = places[name]
        made = getattr(import_module(f"arbora.cli.{file}"), attribute)
    else:
        made = find_plugins()[name].load()
    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    if isinstance(made, typer.Typer):
        app.add_typer(made, name=name)
    else:
        app.command(name)(made)
    app.callback()(_listed)  # without which Typer would make one command of a single verb
    group: Any = typer.main.get_command(app)
    return group.commands[name]
