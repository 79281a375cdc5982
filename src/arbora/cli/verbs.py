"""Which verbs there are, and where each lives: its file is imported when it is called.

To add a verb, write its file and a line here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


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
    Verb(
        "reproduce",
        "reproduce.reproduce",
        "Reproduce a paper: its tables and figures, with its own numbers beside ours.",
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


class VerbsOnDemand(TyperGroup):
    """Its commands can only be listed; the one that is called is made then."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command for these arguments."""
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
    (verb,) = (verb for verb in VERBS if verb.name == name)
    file, _, attribute = verb.place.partition(".")
    made = getattr(import_module(f"arbora.cli.{file}"), attribute)
    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    if isinstance(made, typer.Typer):
        app.add_typer(made, name=name)
    else:
        app.command(name)(made)
    app.callback()(_listed)  # without which Typer would make one command of a single verb
    group: Any = typer.main.get_command(app)
    return group.commands[name]
