"""Options that say how to train, shared by `train` and `tune`, and the configuration that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import typer

from arbora.cli.files import ThreadsOption as ThreadsOption
from arbora.cli.files import existing_if_given, existing_model_if_given, say
from arbora.errors import InputError
from arbora.registry import learners
from arbora.settings import load_config
from arbora.training.config import TrainConfig, make_learner
from arbora.training.overrides import lost_parameters, override, say_lost, with_learner


class TreesChoice(StrEnum):
    """Which trees a parser may give."""

    AUTO = "auto"
    PROJECTIVE = "projective"
    NONPROJECTIVE = "nonprojective"


class RootsChoice(StrEnum):
    """How many roots a tree may have."""

    AUTO = "auto"
    SINGLE = "single"
    MULTI = "multi"


class LabelsChoice(StrEnum):
    """How labels are chosen."""

    STAGED = "staged"
    JOINT = "joint"
    NONE = "none"


class ParserChoice(StrEnum):
    """How trees are found."""

    GRAPH = "graph"
    CUBE = "cube"
    TRANSITION = "transition"


class UpdateChoice(StrEnum):
    """Where weights are updated when search is inexact."""

    STANDARD = "standard"
    SKIP = "skip"
    S_MAX = "s-max"
    P_MAX = "p-max"


@contextmanager
def told_as_usage() -> Iterator[None]:
    """Within the block, settings that do not fit are the command line's fault."""
    try:
        yield
    except InputError as error:
        raise typer.BadParameter(str(error)) from error


def _known_learner(name: str | None) -> str | None:
    if name is not None:
        with told_as_usage():
            learners.factory(name)
    return name


def pair(text: str) -> tuple[str, str]:
    """NAME=VALUE as its two parts."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value.strip()


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Several NAME=VALUE; none twice."""
    found: dict[str, str] = {}
    for name, value in map(pair, texts):
        if name in found:
            raise typer.BadParameter(f"{option} {name}: given twice, as {found[name]} and {value}")
        found[name] = value
    return found


ConfigOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", callback=existing_if_given, help="Settings in TOML; options go before it."
    ),
]
LearnerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_known_learner,
        help="One of `arbora list learners`. "
        "Default: passive_aggressive; perceptron with --parser transition.",
        show_default=False,
    ),
]
ParametersOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the learner (`arbora info learner NAME`), or any setting of --config; "
        "may be given several times.",
    ),
]
OrderOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=3,
        help="1: arcs; 2: siblings and grandparents, too (the default); 3: larger contexts, too, with "
        "--parser cube, whose default it is.",
    ),
]
ParserOption: TypeAlias = Annotated[
    ParserChoice | None,
    typer.Option(
        help="graph: exact search (the default); cube: features of any order, heads and labels together, by "
        "inexact search: slower and more accurate; transition: from left to right, in linear time: the "
        "fastest (-p transition.beam=64: more accurate)."
    ),
]
UpdateOption: TypeAlias = Annotated[
    UpdateChoice | None,
    typer.Option(
        help="With --parser cube: where in a tree weights are updated. At its root (standard; skip: if that "
        "helps), where search went most wrong (s-max), or wherever it went wrong (p-max, the default)."
    ),
]
TreesOption: TypeAlias = Annotated[
    TreesChoice | None,
    typer.Option(help="Whether arcs may cross; auto, the default: as the treebank has it."),
]
RootsOrAuto: TypeAlias = Annotated[
    RootsChoice | None,
    typer.Option(help="How many roots a tree may have; auto, the default: as the treebank has it."),
]
LabelsOption: TypeAlias = Annotated[
    LabelsChoice | None,
    typer.Option(
        help="Chosen on the finished tree (staged), together with it (joint), or not at all (none). "
        "Default: staged; joint with --parser cube or transition."
    ),
]
StackOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        callback=existing_model_if_given,
        help="Let the parser look at the trees of another one, its guide, which must have been trained on "
        "TRAIN, too, and not on DEV. Parsers like it are trained on parts of TRAIN first, so that what is "
        "learned from are trees of sentences that they have not seen. The new model holds both.",
        show_default=False,
    ),
]
EpochsOption: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Passes over TRAIN at most. Default: the learner's own, mostly 10.")
]
PatienceOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        help=f"Stop when DEV has not improved for so many epochs; 0: never. Default: {TrainConfig.patience}.",
    ),
]
LicenceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Licence of the data, which the model then names. Default: what the treebank says.",
        show_default=False,
    ),
]
AttributionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Whom to thank for the data; likewise.", show_default=False),
]
QuietOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")
]
LenientOption: TypeAlias = Annotated[
    bool, typer.Option("--lenient", help="Skip bad sentences with a warning and a count.")
]
SeedOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, help=f"Of the order of examples; one seed gives one model. Default: {TrainConfig.seed}."
    ),
]


def chosen_config(
    file: str | None,
    *,
    learner: str | None,
    parameters: Sequence[str],
    epochs: int | None,
    seed: int | None,
    **fields: int | str | None,
) -> TrainConfig:
    """The configuration of a file, changed by what was given; the command line is at fault otherwise.

    `fields`: of TrainConfig, None where not given.
    """
    overrides = pairs(parameters, "-p")
    named = {"learner": learner, "epochs": epochs, "seed": seed, **fields}
    for name, value in named.items():
        if value is not None and name in overrides:
            raise typer.BadParameter(f"-p {name}: given twice, since --{name} says it, too")
    with told_as_usage():
        config = TrainConfig() if file is None else load_config(file, TrainConfig)
        chosen = learner or overrides.get("learner", config.learner)
        if told := say_lost(config, chosen):
            say(f"warning: {told}")
        config = with_learner(config, chosen)
        changes: dict[str, Any] = {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value in fields.items()
            if value is not None
        }
        config = replace(config, **changes)
        both = {"epochs": epochs, "seed": seed}
        config = override(config, {n: str(v) for n, v in both.items() if v is not None}, option="--")
        config = override(config, overrides)
        make_learner(config, config.parameters)  # which checks what a file says, too
    return config


def require_in_all(parameters: Sequence[str], config: TrainConfig, chosen: Iterable[str]) -> None:
    """The command line is at fault if it gives a parameter that one of the chosen learners does not have."""
    given = pairs(parameters, "-p")
    for learner in chosen:
        for name in lost_parameters(config, learner):
            for text in (name, f"parameters.{name}"):
                if text in given:
                    raise typer.BadParameter(
                        f"-p {text}={given[text]}: {learner}, which --grid asks for, has no parameter {name}"
                    )
