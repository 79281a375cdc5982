"""What a classifier's file says, checked: it may come from anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.classification.classes import as_classes
from arbora.classification.course import OTHER, Course, Which
from arbora.errors import InputError, ModelError
from arbora.storage.model_file import ModelFile
from arbora.types import Floats

KIND = "classifier"


def stored_settings(file: ModelFile, names: list[str]) -> dict[str, Any]:
    """The constructor's arguments from a file; ModelError where it holds no classifier."""
    file.require_kind(KIND, "a classifier, as `OnlineClassifier.save` writes it")
    settings = file.entry("settings", dict)
    intercept, weights = settings.get("intercept"), settings.get("weights")
    if not isinstance(intercept, int | float) or weights not in OTHER or not settings.keys() <= set(names):
        raise ModelError(
            f"settings: expected those of a classifier, {', '.join(names)}, got {str(settings)[:200]}",
            source=file.source,
        )
    return settings


def stored_classes(file: ModelFile) -> NDArray[Any]:
    """Its classes; ModelError where they are none."""
    try:
        classes = as_classes(file.entry("classes", list), "classes")
    except InputError as error:
        raise ModelError(str(error), source=file.source) from error
    if classes.ndim != 1 or not len(classes):
        raise ModelError(
            f"classes: expected a list of them, got {classes.tolist()!r:.80}", source=file.source
        )
    return classes


def stored_course(file: ModelFile, which: Which, weights: Floats) -> Course:
    """How far it has come; such that it cannot go on, where the file does not say."""
    if "course" not in file.metadata:
        return Course.closed(which, weights)
    counts = [file.entry("course", dict).get(name) for name in ("passes", "steps")]
    passes, steps = (each if type(each) is int and each >= 0 else -1 for each in counts)
    if passes < 0 or steps < 0:
        raise ModelError(
            f"course: expected numbers of passes and steps, got {counts!r:.80}", source=file.source
        )
    (other,) = OTHER[which]
    both: dict[Which, Floats] = {which: weights, other: file.tensor(other, np.float32, weights.shape)}
    return Course.after(which, both["last"], both["averaged"], passes=passes, steps=steps)
