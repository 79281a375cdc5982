"""Settings of a training given as text: parameters of the learner and fields of TrainConfig, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arbora.errors import InputError, UnknownNameError
from arbora.registry import learners
from arbora.settings import flat_parameters, merge
from arbora.training.config import TrainConfig


def override(config: TrainConfig, given: Mapping[str, str], *, option: str = "-p") -> TrainConfig:
    """A copy with other values, e.g. `{"C": "0.1", "order": "1", "pruner_settings.keep": "4"}`.

    A name is a parameter of the learner, or a field of TrainConfig; `seed` is the latter. InputError for
    unknown names and invalid values; `option` is what messages put before NAME=VALUE.
    """
    named = {name.removeprefix("parameters."): text for name, text in given.items()}
    if "learner" in named:
        config = with_learner(config, named["learner"])
    factory: Any = learners.factory(config.learner_name)
    parameters = [declared.name for declared in factory.parameters() if declared.name != "seed"]
    fields = {name: text for name, text in named.items() if name not in parameters}
    settings = [name for name in flat_parameters(TrainConfig) if not name.endswith("parameters")]
    known = [*parameters, *settings]
    lasts = {name.rpartition(".")[2] for name in known}
    for name, text in fields.items():
        if name not in known and name not in lasts and not name.startswith("scorer_settings."):
            where = f"{option} {name}={text}: with the learner {config.learner_name}"
            raise UnknownNameError("setting", name, known, where=where)
    config = merge(config, fields, option=option)
    try:
        values = factory.parse({name: text for name, text in named.items() if name in parameters})
    except InputError as error:
        raise InputError(str(error), where=option) from None
    kept = {n: value for n, value in config.parameters.items() if n != "seed" or "seed" not in fields}
    return replace(config, parameters={**kept, **values})


def with_learner(config: TrainConfig, name: str) -> TrainConfig:
    """A copy with this learner; it keeps the parameters that both have, such as the number of epochs."""
    lost = lost_parameters(config, name)
    kept = {each: value for each, value in config.parameters.items() if each not in lost}
    return config if name == config.learner else replace(config, learner=name, parameters=kept)


def lost_parameters(config: TrainConfig, name: str) -> list[str]:
    """Parameters of a configuration that another learner does not have."""
    if name in (config.learner, config.learner_name):
        return []
    factory: Any = learners.factory(name)
    known = {declared.name for declared in factory.parameters()}
    return [each for each in config.parameters if each not in known]


def say_lost(config: TrainConfig, name: str) -> str:
    """A message about lost parameters, empty if there are none. The seed is also a setting of its own."""
    lost = [each for each in lost_parameters(config, name) if each != "seed"]
    ignored = f"{name} has no parameter {', '.join(lost)}: the values for {config.learner_name} are ignored"
    return ignored if lost else ""
