"""Options that set how a parser is trained, shared by `train` and `tune`, and the configuration they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeAlias

import typer

from arbora.cli.console import say
from arbora.cli.options import name_values, usage_errors
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
Parameters: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the learner (`arbora info learner NAME`), or any setting of --config. "
        "Repeatable.",
    ),
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Passes over TRAIN at most. Default: the learner's own, mostly 10.")
]
SHARED = "learner loss scorer parser order update trees roots labels patience seed"
"""Settings of a training that are options of `train` and `tune`."""


def chosen_config(
    file: str | None, parameters: list[str] | None, epochs: int | None, options: Mapping[str, Any]
) -> TrainConfig:
    """Return the configuration of --config, changed by -p and by the options that set its fields."""
    given = {name: value for name, value in {**options, "epochs": epochs}.items() if value is not None}
    overrides = name_values(parameters, "-p")
    for name in overrides:
        if name in given:
            raise typer.BadParameter(f"-p {name}: given twice, since --{name} sets it, too")
    with usage_errors():
        config = load_config(file, TrainConfig) if file is not None else TrainConfig()
        learner = given.pop("learner", None) or overrides.get("learner", config.learner)
        if lost := say_lost(config, learner):
            say(f"warning: {lost}")
        config = with_learner(config, learner)
        of_learner: dict[str, str] = {
            name: str(given.pop(name)) for name in ("epochs", "seed") if name in given
        }
        config = override(replace(config, **given), of_learner, option="--")
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
