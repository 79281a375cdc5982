"""`arbora list`: what there is to choose from."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import typer
from rich.table import Table
from rich.text import Text

from arbora.cli.console import make_console
from arbora.cli.verbs import require_studies
from arbora.errors import InputError, unknown
from arbora.interfaces import Family, Parameter, Query
from arbora.registry import families, features, inducers, learners, searches, transition_features


def _kind(name: str) -> str:
    if name not in KINDS:
        raise typer.BadParameter(unknown("kind", name, sorted(KINDS)))
    return name


def list_kind(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            callback=_kind,
            help="One of: families, learners, features, parsers, inducers, rules, studies.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout: a list of objects.")] = False,
) -> None:
    """List what can be chosen by name, with a line about each.

    Examples: arbora list families; arbora list learners --json
    """
    KINDS[kind](as_json)


def list_families(as_json: bool) -> None:
    """All families, with the parts they score and the questions they answer."""
    described = [describe_family(families.create(name)) for name in families]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    rows = [
        (
            family["name"],
            " ".join(family["parts"]),
            " ".join([*family["exact"], *(f"{query}~" for query in family["approximate"])]),
            family["summary"],
        )
        for family in described
    ]
    print_rows(("name", "parts", "answers (~ approximately)", "what"), rows)


def list_learners(as_json: bool) -> None:
    """All learners, with what they need and the names of their parameters."""
    described = [describe_learner(name) for name in learners]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    rows = [
        (
            learner["name"],
            "; ".join(filter(None, [" ".join(learner["needs"]), learner["needs_more"]])),
            " ".join(parameter["name"] for parameter in learner["parameters"]),
            learner["summary"],
        )
        for learner in described
    ]
    print_rows(("name", "needs", "parameters", "what"), rows)


def list_features(as_json: bool) -> None:
    """All template sets, with how many templates they have for what."""
    described = [describe_features(name) for name in (*features, *transition_features)]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    rows = [
        (
            each["name"],
            " ".join(f"{part}:{len(templates)}" for part, templates in each["templates"].items()),
            each["summary"],
        )
        for each in described
    ]
    print_rows(("name", "templates", "what"), rows)


def list_parsers(as_json: bool) -> None:
    """All kinds of parsers, with the features and the order that they have unless told otherwise."""
    from arbora.training.config import TrainConfig, trained_searches  # see list_studies

    described: list[dict[str, Any]] = [
        {"name": name, "summary": searches.summary(name), "defaults": TrainConfig(parser=name).defaults}
        for name in trained_searches()
    ]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    rows = [(each["name"], each["defaults"]["features"], each["summary"]) for each in described]
    print_rows(("name", "features", "what"), rows)


def list_inducers(as_json: bool) -> None:
    """All ways to learn trees without a treebank, with the names of their parameters."""
    described = [describe_inducer(name) for name in inducers]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    rows = [
        (each["name"], " ".join(parameter["name"] for parameter in each["parameters"]), each["summary"])
        for each in described
    ]
    print_rows(("name", "parameters", "what"), rows)


def list_rules(as_json: bool) -> None:
    """All rules for learning without a treebank, with how many pairs of tags they have."""
    from arbora.induction.rules import RULES

    described = [describe_rules(name) for name in RULES]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    print_rows(
        ("name", "pairs", "what"),
        [(each["name"], str(len(each["pairs"])), each["summary"]) for each in described],
    )


def list_studies(as_json: bool) -> None:
    """All studies, with their papers."""
    described = [describe_study(name) for name in require_studies()]
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    print_rows(
        ("name", "paper", "what"), [(study["name"], study["paper"], study["summary"]) for study in described]
    )


KINDS = {
    "families": list_families,
    "learners": list_learners,
    "features": list_features,
    "parsers": list_parsers,
    "inducers": list_inducers,
    "rules": list_rules,
    "studies": list_studies,
}


class FamilyDescription(TypedDict):
    """A family as JSON can hold it."""

    name: str
    summary: str
    trees: str
    parts: list[str]
    exact: list[str]
    approximate: list[str]


def describe_family(family: Family) -> FamilyDescription:
    """What `arbora list` and `arbora info` say about a family."""
    return {
        "name": family.name,
        "summary": families.summary(family.name),
        "trees": family.trees,
        "parts": [kind.value for kind in family.parts],
        "exact": [query.value for query in Query if query in family.queries],
        "approximate": [query.value for query in Query if query in family.approximate],
    }


class ParameterDescription(TypedDict):
    """A learner's parameter as JSON can hold it."""

    name: str
    type: str
    default: int | float | str
    range: str
    help: str


class LearnerDescription(TypedDict):
    """A learner as JSON can hold it."""

    name: str
    summary: str
    needs: list[str]
    needs_more: str
    paper: str
    parameters: list[ParameterDescription]


def describe_learner(name: str) -> LearnerDescription:
    """What `arbora list` and `arbora info` say about a learner, at its defaults."""
    learner = learners.create(name)
    return {
        "name": name,
        "summary": learners.summary(name),
        "needs": [query.value for query in Query if query in learner.needs],
        "needs_more": getattr(learner, "needs_more", ""),
        "paper": learner.paper,
        "parameters": describe_parameters(learner.parameters()),
    }


def describe_parameters(declared: Sequence[Parameter]) -> list[ParameterDescription]:
    """Parameters as JSON can hold them."""
    return [
        {
            "name": parameter.name,
            "type": parameter.kind.__name__,
            "default": parameter.default,
            "range": parameter.range,
            "help": parameter.help,
        }
        for parameter in declared
    ]


class InducerDescription(TypedDict):
    """A way to learn without a treebank, as JSON can hold it."""

    name: str
    summary: str
    paper: str
    parameters: list[ParameterDescription]


def describe_inducer(name: str) -> InducerDescription:
    """What `arbora list` and `arbora info` say about a way to learn without a treebank."""
    made = inducers.create(name)
    return {
        "name": name,
        "summary": inducers.summary(name),
        "paper": made.paper,
        "parameters": describe_parameters(made.parameters()),
    }


class RulesDescription(TypedDict):
    """Rules for learning without a treebank, as JSON can hold them."""

    name: str
    summary: str
    pairs: list[list[str]]
    """Tags, head first."""
    text: str
    """As a file of rules."""


def describe_rules(name: str) -> RulesDescription:
    """What `arbora list` and `arbora info` say about rules."""
    from arbora.induction.rules import RULES, TEXTS

    if name not in RULES:
        raise InputError(unknown("rules", name, list(RULES)))
    summary = TEXTS[name].partition("\n")[0].removeprefix("# ")
    return {"name": name, "summary": summary, "pairs": RULES[name].to_list(), "text": TEXTS[name]}


class FeaturesDescription(TypedDict):
    """A template set as JSON can hold it."""

    name: str
    summary: str
    templates: dict[str, list[str]]


def describe_features(name: str) -> FeaturesDescription:
    """What `arbora list` and `arbora info` say about a template set."""
    made = (transition_features if name in transition_features else features).create(name)
    lines = {
        part: [line.partition("#")[0].split() for line in text.splitlines()]
        for part, text in made.texts.items()
    }
    templates = {part: [" ".join(line) for line in found if line] for part, found in lines.items()}
    return {
        "name": name,
        "summary": made.summary,
        "templates": {part: found for part, found in templates.items() if found},
    }


class StudyDescription(TypedDict):
    """A study as JSON can hold it."""

    name: str
    summary: str
    paper: str
    languages: dict[str, str]
    learners: dict[str, str]


def describe_study(name: str) -> StudyDescription:
    """What `arbora list` and `arbora info` say about a study."""
    studies = require_studies()
    study = studies.create(name)
    return {
        "name": name,
        "summary": studies.summary(name),
        "paper": study.paper,
        "languages": dict(study.languages),
        "learners": dict(study.learners),
    }


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; tabs in a pipe."""
    if not sys.stdout.isatty():
        for row in (header, *rows):
            print("\t".join(row))
        return
    table = Table(show_edge=False, pad_edge=False, box=None)
    for number, title in enumerate(header):
        table.add_column(Text(title, style="bold"), no_wrap=number == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    make_console().print(table)
