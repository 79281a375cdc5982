"""`arbora info`: all about one thing that can be chosen by name."""

from __future__ import annotations

import inspect
import json
from typing import Annotated

import typer

from arbora.cli.list import describe_family, describe_learner, describe_study, print_rows
from arbora.errors import InputError
from arbora.interfaces import ROOTS
from arbora.registry import families, learners

info = typer.Typer(no_args_is_help=True, help="Say all about one thing: arbora info family projective")


@info.command("family")
def family(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list families`.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout: one object.")] = False,
) -> None:
    """Say what a family of trees holds, what it scores, and which questions it answers at what price.

    Examples: arbora info family projective; arbora info family projective_sibling --json
    """
    try:
        made = families.create(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    described = describe_family(made)
    about = inspect.getdoc(type(made)) or ""
    if as_json:
        print(json.dumps({**described, "about": about, "roots": list(ROOTS)}, ensure_ascii=False, indent=1))
        return
    print(f"{about}\n")
    shapes = [f"{kind.value} ({', '.join(['n+1'] * kind.axes)})" for kind in made.parts]
    print_rows(
        ("name", made.name),
        [
            ("trees", made.trees),
            ("roots", " or ".join(ROOTS)),
            ("parts", "; ".join(shapes)),
            ("exactly", " ".join(described["exact"]) or "nothing"),
            ("approximately", " ".join(described["approximate"]) or "nothing"),
        ],
    )


@info.command("learner")
def learner(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list learners`.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout: one object.")] = False,
) -> None:
    """Say what a learner does, what it asks for, and which parameters it has, with ranges and defaults.

    Examples: arbora info learner pegasos; arbora info learner mira --json
    """
    try:
        described = describe_learner(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    about = inspect.getdoc(learners.factory(name)) or ""
    if as_json:
        print(json.dumps({**described, "about": about}, ensure_ascii=False, indent=1))
        return
    print(f"{about}\n")
    print_rows(("name", name), [("needs", " ".join(described["needs"])), ("paper", described["paper"])])
    print()
    print_rows(
        ("parameter", "default", "range", "what"),
        [
            (parameter["name"], str(parameter["default"]), parameter["range"], parameter["help"])
            for parameter in described["parameters"]
        ],
    )


@info.command("study")
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `arbora list studies`.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout: one object.")] = False,
) -> None:
    """Say what a study reproduces, and which languages and learners it has to choose from.

    Examples: arbora info study pegasos; arbora info study pegasos --json
    """
    from arbora.reproduce import studies  # see list.py

    try:
        described = describe_study(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    about = inspect.getdoc(studies.factory(name)) or ""
    if as_json:
        print(json.dumps({**described, "about": about}, ensure_ascii=False, indent=1))
        return
    print(f"{about}\n")
    print_rows(("name", name), [("paper", described["paper"])])
    for kind in ("languages", "learners"):
        print()
        print_rows((kind, "what"), list(described[kind].items()))
