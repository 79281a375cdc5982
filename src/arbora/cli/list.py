"""`arbora list`, and all kinds of things that can be chosen by name; `arbora info` describes one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias, get_args

import typer

from arbora import registry
from arbora.cli.console import complain, print_json, print_rows
from arbora.cli.options import json_option, usage_errors
from arbora.cli.verbs import require_studies
from arbora.errors import require_known
from arbora.induction import rules
from arbora.interfaces import Query, Roots
from arbora.settings import Parameter, flat_parameters

Description: TypeAlias = dict[str, Any]
"""One thing, as JSON."""
Names: TypeAlias = Callable[[], Iterable[str]]
Describe: TypeAlias = Callable[[str], Description]


OF_LINEAR_PARSERS = ("features", "tree_bits", "pruner")


def _parameter(declared: Parameter) -> Description:
    shown = ("name", "default", "range", "help")
    return {name: getattr(declared, name) for name in shown}


def _queries(queries: Iterable[Query]) -> list[str]:
    return [query.value for query in Query if query in queries]


FIELDS: dict[str, Callable[[Any], Any]] = {
    "roots": lambda thing: list(get_args(Roots)),
    "parts": lambda thing: [kind.value for kind in thing.parts],
    "shapes": lambda thing: [f"{kind.value} ({', '.join(['n+1'] * kind.axes)})" for kind in thing.parts],
    "exact": lambda thing: _queries(thing.queries),
    "approximate": lambda thing: _queries(thing.approximate),
    "needs": lambda thing: _queries(thing.needs),
    "needs_more": lambda thing: getattr(thing, "needs_more", ""),
    "parameters": lambda thing: [{**_parameter(p), "type": p.kind.__name__} for p in thing.parameters()],
    "languages": lambda thing: dict(thing.languages),
    "learners": lambda thing: dict(thing.learners),
}
"""Fields of a description, from a registered object; others are its attributes of that name."""

TEXTS: dict[str, Callable[[Description], str]] = {
    "parts": lambda d: " ".join(d["parts"]),
    "answers (~ approximately)": lambda d: " ".join([*d["exact"], *(f"{q}~" for q in d["approximate"])]),
    "roots": lambda d: " or ".join(d["roots"]),
    "shapes": lambda d: "; ".join(d["shapes"]),
    "exactly": lambda d: " ".join(d["exact"]) or "nothing",
    "approximately": lambda d: " ".join(d["approximate"]) or "nothing",
    "needs": lambda d: "; ".join(filter(None, [" ".join(d["needs"]), d.get("needs_more")])),
    "parameters": lambda d: " ".join(parameter["name"] for parameter in d["parameters"]),
    "templates": lambda d: " ".join(f"{part}:{len(found)}" for part, found in d["templates"].items()),
    "features": lambda d: d["defaults"].get("features", "none"),
    "pairs": lambda d: str(len(d["pairs"])),
}
"""Columns of `arbora list` and rows of `arbora info`; others are fields of the description."""


def show_field(name: str, described: Description) -> str:
    """Return the text of a column of `arbora list` or a row of `arbora info`."""
    return TEXTS[name](described) if name in TEXTS else str(described[name])


@dataclass(frozen=True)
class Kind:
    """A kind of thing, and how `arbora list` and `arbora info` show it."""

    singular: str
    help: str
    """What `arbora info SINGULAR` does."""
    example: str
    names: Names
    describe: Describe
    """InputError if the name is unknown."""
    columns: Sequence[str] = ()
    """Of `TEXTS`, in `arbora list`, between name and summary."""
    rows: Sequence[str] = ()
    """Of `TEXTS`, in `arbora info`."""


def _described(things: registry.Registry[Any], name: str, *fields: str) -> Description:
    """Describe a registered object by its `FIELDS`."""
    about = inspect.getdoc(things.factory(name)) or ""
    described = {"name": name, "summary": things.summary(name), "about": about}
    thing = things.create(name) if fields else None
    return described | {each: FIELDS.get(each, attrgetter(each))(thing) for each in fields}


def _registered(things: registry.Registry[Any], *fields: str) -> tuple[Names, Describe]:
    return lambda: things, lambda name: _described(things, name, *fields)


def _parser_names() -> list[str]:
    from arbora.training.recipes import trained_parsers  # takes long to import

    return trained_parsers()


def _parser(name: str) -> Description:
    from arbora.training.config import TrainConfig

    recipe = TrainConfig(parser=name).recipe
    unused = () if recipe.is_linear else OF_LINEAR_PARSERS
    defaults = {setting: value for setting, value in recipe.defaults.items() if setting not in unused}
    own = [setting for setting in recipe.own_settings if "." not in setting]
    settings = [
        declared
        for setting, declared in flat_parameters(TrainConfig).items()
        if setting.partition(".")[0] in own and "." in setting
    ]
    parameters = {"parameters": [_parameter(each) for each in settings]} if settings else {}
    return _described(registry.searches, name) | {"defaults": defaults} | parameters


def _features(name: str) -> Description:
    sets = registry.transition_features if name in registry.transition_features else registry.features
    made: Any = sets.create(name)
    lines = {
        part: [" ".join(line.partition("#")[0].split()) for line in text.splitlines()]
        for part, text in made.texts.items()
    }
    templates = {part: list(filter(None, found)) for part, found in lines.items() if any(found)}
    return {"name": name, "summary": made.summary, "templates": templates}


def _settings() -> dict[str, Parameter]:
    from arbora.training.config import TrainConfig

    return {name: each for name, each in flat_parameters(TrainConfig).items() if name != "parameters"}


def _setting(name: str) -> Description:
    known = _settings()
    require_known("setting", name, known)
    described = _parameter(known[name])
    return {**described, "summary": described.pop("help")}


def _model(name: str) -> Description:
    from arbora.cli.get import described_model

    return described_model(name)


def _models() -> list[str]:
    from arbora.cli.get import model_names

    return model_names()


def _rules(name: str) -> Description:
    require_known("rules", name, rules.RULES)
    summary = rules.TEXTS[name].partition("\n")[0].removeprefix("# ")
    return {"name": name, "summary": summary, "pairs": rules.RULES[name].to_list(), "text": rules.TEXTS[name]}


FEATURES_HELP = """Show every template of a feature set, by the kind of part that it scores.

Atoms are role.field: h head, d dependent, s and t the next dependents towards the head, g the head's
head, b each word between, l and r the outermost dependents of d, q the head that a guide gives to d; h-1
is the word before the head, and d.guide the label that the guide gives to d. d.cluster is the cluster of
a word, and d.cluster4 the first 4 bits of its code.

In transition parsers: l and r, the words between which an arc may be added; u below l on the stack, n and
m next in the buffer; lh the head of l, ll and lr its outermost dependents, rl and rr those of r, ll2 and
the like the next ones inwards; lq and rq the heads that a guide gives to l and r. For labels: h and d as
above, s, dl and dr the outermost dependents of h and d."""

KINDS = {
    "families": Kind(
        "family",
        "Show which trees a family contains, which parts it scores, and how it answers queries.",
        "projective",
        *_registered(registry.families, "trees", "roots", "parts", "shapes", "exact", "approximate"),
        columns=("parts", "answers (~ approximately)"),
        rows=("trees", "roots", "shapes", "exactly", "approximately"),
    ),
    "learners": Kind(
        "learner",
        "Show what a learner does, which queries it needs, and its parameters with ranges and defaults.",
        "pegasos",
        *_registered(registry.learners, "needs", "needs_more", "paper", "parameters"),
        columns=("needs", "parameters"),
        rows=("needs", "paper"),
    ),
    "losses": Kind(
        "loss",
        "Show what a loss computes, and which queries it needs.",
        "crf",
        *_registered(registry.losses, "needs"),
        columns=("needs",),
        rows=("needs",),
    ),
    "scorers": Kind("scorer", "Show what a scorer computes.", "linear", *_registered(registry.scorers)),
    "features": Kind(
        "features",
        FEATURES_HELP,
        "graph-v1",
        lambda: [*registry.features, *registry.transition_features],
        _features,
        columns=("templates",),
    ),
    "parsers": Kind(
        "parser",
        "Show how a parser searches for trees, its default settings, and those that only it has.",
        "cube",
        _parser_names,
        _parser,
        columns=("features",),
    ),
    "settings": Kind(
        "setting",
        "Show what a setting of `arbora train` does, its values and its default.",
        "patience",
        _settings,
        _setting,
        columns=("default",),
        rows=("default", "range"),
    ),
    "inducers": Kind(
        "inducer",
        "Show how a model learns trees without a treebank, and its parameters.",
        "crfae",
        *_registered(registry.inducers, "paper", "parameters"),
        columns=("parameters",),
        rows=("paper",),
    ),
    "rules": Kind(
        "rules",
        "Print rules for `arbora induce` as a file of rules, to read or to start your own from.",
        "universal",
        lambda: rules.RULES,
        _rules,
        columns=("pairs",),
    ),
    "models": Kind(
        "model",
        "",  # `arbora info MODEL` is a command of its own
        "english",
        _models,
        _model,
        columns=("state", "treebank"),
    ),
    "studies": Kind(
        "study",
        "Show what a study reproduces, and its languages and learners.",
        "pegasos",
        require_studies,
        lambda name: _described(require_studies(), name, "paper", "languages", "learners"),
        columns=("paper",),
        rows=("paper",),
    ),
}


def _kind(name: str) -> str:
    with usage_errors():
        require_known("kind", name, sorted(KINDS))
    return name


def command(
    kind: str = typer.Argument(..., metavar="KIND", callback=_kind, help=f"One of: {', '.join(KINDS)}."),
    as_json: bool = json_option("a list of objects"),
) -> None:
    """Examples: arbora list families; arbora list learners --json"""
    chosen = KINDS[kind]
    found = []
    for name in chosen.names():
        try:
            found.append(chosen.describe(name))
        except Exception as error:  # one broken plugin must not hide the others
            complain(f"the {chosen.singular} {name!r} cannot be described: {error}")
    if as_json:
        print_json(found)
        return
    shown = ("name", *chosen.columns, "summary")
    rows = [[show_field(column, each) for column in shown] for each in found]
    print_rows(("name", *chosen.columns, "what"), rows)
