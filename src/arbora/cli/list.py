"""`arbora list`: what there is to choose from."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, TypedDict

import typer
from rich.table import Table
from rich.text import Text

from arbora.cli.console import make_console
from arbora.errors import unknown
from arbora.interfaces import Family, Query
from arbora.registry import families

KINDS = {"families": families}


def _kind(name: str) -> str:
    if name not in KINDS:
        raise typer.BadParameter(unknown("kind", name, sorted(KINDS)))
    return name


def list_kind(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", callback=_kind, help=f"One of: {', '.join(sorted(KINDS))}.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout: a list of objects.")] = False,
) -> None:
    """List what can be chosen by name, with a line about each.

    Examples: arbora list families; arbora list families --json
    """
    described = [describe_family(families.create(name)) for name in KINDS[kind]]
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
