"""What `arbora info` says of a classifier's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from arbora.cli.files import counted
from arbora.storage.model_file import ModelFile

KIND = "classifier"
MOST_NAMES = 20


def is_classifier(metadata: Mapping[str, Any]) -> bool:
    """Whether a file says that it holds one."""
    return bool(metadata.get("kind") == KIND)


def about_classifier(file: ModelFile, everything: bool) -> Iterator[tuple[str, str]]:
    """What its file says, row by row, as far as it is there."""
    settings = file.metadata.get("settings")
    given = settings if isinstance(settings, Mapping) else {}
    if everything:
        yield from flat(given, "settings")
    else:
        own = given.get("parameters")
        parameters = [f"{name} {value}" for name, value in own.items()] if isinstance(own, Mapping) else []
        yield "learner", ", ".join([str(given.get("learner")), *parameters])
        chosen = [f"{name} {given[name]}" for name in ("epochs", "weights", "intercept") if name in given]
        yield "settings", ", ".join(chosen)
    yield from _sizes(file, given)
    course = file.metadata.get("course")
    steps = course.get("steps") if isinstance(course, Mapping) else None
    can = (
        f"goes on after {counted(steps, 'step')}" if isinstance(steps, int) else "cannot go on from this file"
    )
    yield "partial_fit", can
    classes = file.metadata.get("classes")
    if isinstance(classes, list):
        yield "classes", named(classes, everything)


def _sizes(file: ModelFile, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How many features there are, and what mistakes cost."""
    weights, costs = file.tensors.get("weights"), file.tensors.get("costs")
    if weights is not None and weights.ndim == 2:
        yield "features", f"{len(weights) - bool(settings.get('intercept')):,}"
    if costs is not None and costs.ndim == 2 and costs.shape[0] == costs.shape[1] > 1:
        others = costs[~np.eye(len(costs), dtype=bool)]
        yield "costs", " to ".join(f"{cost:g}" for cost in sorted({others.min(), others.max()}))


def named(names: Sequence[object], everything: bool) -> str:
    """How many there are, and which; some of them, where they are many."""
    shown = names if everything or len(names) <= MOST_NAMES else [*names[:MOST_NAMES], "..."]
    return f"{len(names)}: {' '.join(map(str, shown))}"


def flat(table: object, prefix: str) -> Iterator[tuple[str, str]]:
    """A table of tables, row by row; of anything else, nothing."""
    if not isinstance(table, Mapping):
        return
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", str(value).lower() if isinstance(value, bool) else str(value)
