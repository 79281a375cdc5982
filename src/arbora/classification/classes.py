"""Classes as they are given: all text, all whole numbers, or all true or false."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError
from arbora.types import Ints

KINDS: tuple[tuple[type, ...], ...] = ((str,), (bool, np.bool_), (int, float, np.integer, np.floating))
"""Of which a list of classes has one: of numbers and texts, an array would make texts, without a word."""
EXPECTED = "expected all text or all whole numbers"


def as_classes(given: Any, what: str) -> NDArray[Any]:
    """An array of classes; InputError where it has several kinds of them, or something else."""
    listed = not isinstance(given, np.ndarray) and isinstance(given, list | tuple)
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise InputError(
            f"{what}: expected one class after the other, got something else ({error})"
        ) from error
    if array.ndim == 1 and (listed or array.dtype.kind == "O"):
        kinds = {type(each) for each in (given if listed else array)}
        found = {next((n for n, types in enumerate(KINDS) if issubclass(kind, types)), -1) for kind in kinds}
        if len(found) > 1 or -1 in found:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise InputError(
                f"{what}: Unknown label type: {EXPECTED}, got {names}; make them one kind, "
                "e.g. `[str(each) for each in y]`"
            )
    elif array.dtype.kind not in "OUTbiuf":
        raise InputError(f"{what}: Unknown label type: {EXPECTED}, got an array of {array.dtype}")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.round(array)).all()):
        raise InputError(
            f"{what}: Unknown label type: continuous, NaN or inf; expected classes, as text or whole numbers"
        )
    return array


def classes_of(y: Any, count: int) -> NDArray[Any]:
    """One class for each of so many rows; a column of them is flattened with a warning."""
    if y is None:
        raise InputError("OnlineClassifier requires y to be passed, but the target y is None")
    given = as_classes(y, "y")
    if given.shape == (count, 1):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: it is flattened; give y.ravel()",
            _conversion_warning(),
            stacklevel=4,
        )
        given = given.ravel()
    if given.shape != (count,):
        raise InputError(f"y: expected one class for each of {count} rows, got the shape {given.shape}")
    return given


def numbers_of(given: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """The number of each among sorted classes; InputError where one is not among them."""
    known = {each: number for number, each in enumerate(classes.tolist())}
    places = [known.get(each, -1) for each in given.tolist()]
    if -1 in places:
        unseen = given.tolist()[places.index(-1)]
        raise InputError(f"y: expected classes that are known, {shown(classes)}, got {unseen!r}")
    return np.array(places, dtype=np.int32)


def shown(classes: NDArray[Any], most: int = 8) -> str:
    """Some of them, for messages."""
    names = [repr(each) for each in classes[:most].tolist()]
    return ", ".join(names + ["..."] * (len(classes) > most))


def _conversion_warning() -> type[Warning]:
    """scikit-learn's own where that is at work, so that its tools recognize it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return UserWarning if exceptions is None else exceptions.DataConversionWarning
