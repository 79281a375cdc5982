"""Options that set how a parser is trained, shared by `train` and `tune`, and the configuration they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Annotated, Literal, TypeAlias

import typer

from arbora import interfaces
from arbora.cli.console import say
from arbora.cli.files import existing_model, optional
from arbora.cli.options import name_option, name_values, usage_errors
from arbora.registry import learners, losses, scorers, searches
from arbora.scorers import cube, linear
from arbora.settings import load_config
from arbora.training.config import (
    TrainConfig,
    lost_parameters,
    make_learner,
    override,
    say_lost,
    with_learner,
)

Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="TRAIN",
        help="Treebanks to train on, compressed or not; - is stdin; a name such as UD_Danish-DDT is its "
        "train part.",
    ),
]
Learner: TypeAlias = Annotated[
    str | None,
    name_option(
        learners,
        "One of `arbora list learners`. Default: passive_aggressive; perceptron with --parser transition.",
    ),
]
Loss: TypeAlias = Annotated[
    str | None, name_option(losses, "One of `arbora list losses`. Default: the learner's own.")
]
Scorer: TypeAlias = Annotated[
    str | None, name_option(scorers, "One of `arbora list scorers`. Default: linear.")
]
Parameters: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the learner (`arbora info learner NAME`), or any setting of --config. "
        "Repeatable.",
    ),
]
Order: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=3,
        help="1: arcs; 2: also siblings and grandparents (the default); 3: also larger contexts, with "
        "--parser cube, where it is the default.",
    ),
]
Parser: TypeAlias = Annotated[
    str | None,
    name_option(
        searches,
        "One of `arbora list parsers`. graph: exact search (the default); cube: features of any order, "
        "heads and labels together, by inexact search: slower and more accurate; transition: from left to "
        "right, in linear time: the fastest (-p transition.beam=64: more accurate).",
    ),
]
Update: TypeAlias = Annotated[
    cube.Update | None,
    typer.Option(
        help="With --parser cube: where in a tree weights are updated. At its root (standard; skip: if that "
        "helps), at the largest violation (s-max), or at every violation (p-max, the default)."
    ),
]
Trees: TypeAlias = Annotated[
    Literal["auto", interfaces.Trees] | None,
    typer.Option(help="Whether arcs may cross; auto, the default: as in the treebank."),
]
Roots: TypeAlias = Annotated[
    Literal["auto", interfaces.Roots] | None,
    typer.Option(help="Roots of a tree; auto, the default: as in the treebank."),
]
Labels: TypeAlias = Annotated[
    linear.Labels | None,
    typer.Option(
        help="Labels are predicted on the finished tree (staged), together with it (joint), or not at all "
        "(none). Default: staged; joint with --parser cube or transition."
    ),
]
Stack: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        callback=optional(existing_model),
        help="Use the trees of another parser, the guide, as features. The guide must have been trained on "
        "TRAIN, and not on DEV. Parsers like it are trained on folds of TRAIN first, so that the new parser "
        "sees trees of unseen sentences. The new model contains both parsers.",
    ),
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Passes over TRAIN at most. Default: the learner's own, mostly 10.")
]
Patience: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Stop after so many epochs without improvement on DEV; 0: never. "
        f"Default: {TrainConfig.patience}.",
    ),
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, help=f"Random seed. The same seed gives the same model. Default: {TrainConfig.seed}."
    ),
]


def chosen_config(context: typer.Context) -> TrainConfig:
    """Return the configuration of --config, changed by the other options.

    An option with the name of a field of TrainConfig sets that field.
    """
    given = {name: value for name, value in context.params.items() if value is not None}
    overrides = name_values(given.pop("parameters", None), "-p")
    names = {field.name for field in fields(TrainConfig)}
    for name in overrides:
        if name in given and name in {*names, "epochs"}:
            raise typer.BadParameter(f"-p {name}: given twice, since --{name} sets it, too")
    with usage_errors():
        config = load_config(given["config"], TrainConfig) if "config" in given else TrainConfig()
        learner = given.pop("learner", None) or overrides.get("learner", config.learner)
        if lost := say_lost(config, learner):
            say(f"warning: {lost}")
        config = with_learner(config, learner)
        of_learner: dict[str, str] = {
            name: str(given.pop(name)) for name in ("epochs", "seed") if name in given
        }
        config = replace(config, **{name: value for name, value in given.items() if name in names})
        config = override(config, of_learner, option="--")
        config = override(config, overrides)
        make_learner(config, config.parameters)  # checks the parameters of the file, too
    return config


def require_in_all(texts: list[str] | None, config: TrainConfig, names: Iterable[str]) -> None:
    """Check that every learner of a grid has the parameters that -p sets."""
    given = name_values(texts, "-p")
    for learner in names:
        for name in lost_parameters(config, learner):
            for text in (name, f"parameters.{name}"):
                if text in given:
                    raise typer.BadParameter(
                        f"-p {text}={given[text]}: {learner}, which --grid selects, has no parameter {name}"
                    )
