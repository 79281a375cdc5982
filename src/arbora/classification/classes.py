"""Classes: all text, all whole numbers, or all booleans; and the costs of confusing them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError
from arbora.types import Doubles, Ints

KINDS: tuple[tuple[type, ...], ...] = ((str,), (bool, np.bool_), (int, float, np.integer, np.floating))
"""A list of classes has one of these kinds: NumPy would silently turn numbers among texts into texts."""
HIERARCHICAL = "hierarchical"
EXPECTED = "expected all text or all whole numbers"


def as_classes(given: Any, what: str) -> NDArray[Any]:
    """An array of classes; InputError if they are of several kinds, or no classes."""
    listed = not isinstance(given, np.ndarray) and isinstance(given, list | tuple)
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise InputError(f"{what}: expected a list of classes, got something else ({error})") from error
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
    """One class per row; a column of them is flattened with a warning."""
    if y is None:
        raise InputError("OnlineClassifier requires y to be passed, but the target y is None")
    given = as_classes(y, "y")
    if given.shape == (count, 1):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: it is flattened; give y.ravel()",
            from_sklearn("DataConversionWarning", UserWarning),
            stacklevel=4,
        )
        given = given.ravel()
    if given.shape != (count,):
        raise InputError(f"y: expected one class for each of {count} rows, got the shape {given.shape}")
    return given


def numbers_of(given: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """The index of each among sorted classes; InputError for unknown ones."""
    known = {each: number for number, each in enumerate(classes.tolist())}
    places = [known.get(each, -1) for each in given.tolist()]
    if -1 in places:
        unseen = given.tolist()[places.index(-1)]
        raise InputError(f"y: expected known classes, {shown(classes)}, got {unseen!r}")
    return np.array(places, dtype=np.int32)


def shown(classes: NDArray[Any], most: int = 8) -> str:
    """The first few, for messages."""
    names = [repr(each) for each in classes[:most].tolist()]
    return ", ".join(names + ["..."] * (len(classes) > most))


def from_sklearn(name: str, otherwise: Any) -> Any:
    """scikit-learn's own exception if it is imported, so that its tools recognize it."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, otherwise)


def hierarchical_costs(
    classes: Sequence[str], *, separator: str = ":", type_cost: float = 1.0, subtype_cost: float = 0.5
) -> Doubles:
    """Costs of classes such as `LEFT-ARC:subj`: less if only the part after the separator is wrong.

    The result is `costs[right, other]`: `type_cost` if the parts before the first separator differ,
    `subtype_cost` if only the rest does, 0 on the diagonal [johansson-2007].
    """
    names = [str(name) for name in classes]
    types = np.array([name.partition(separator)[0] for name in names])
    same_type = types[:, None] == types[None, :]
    costs = np.where(same_type, subtype_cost, type_cost).astype(np.float64)
    np.fill_diagonal(costs, 0.0)
    return costs


def cost_matrix(cost: Any, classes: NDArray[Any]) -> Doubles:
    """The costs of these classes: None is 1 per mistake, "hierarchical" as above, or a matrix."""
    count = len(classes)
    if cost is None:
        return 1.0 - np.eye(count)
    if isinstance(cost, str):
        if cost != HIERARCHICAL:
            raise InputError(f"cost: expected None, {HIERARCHICAL!r} or a matrix, got {cost!r}")
        return hierarchical_costs(classes.tolist())
    costs = np.array(cost, dtype=np.float64)
    if costs.shape != (count, count):
        raise InputError(
            f"cost: expected a matrix of {count} x {count}, [right, other] in the order of sorted classes, "
            f"got the shape {costs.shape}"
        )
    if not np.isfinite(costs).all() or (costs < 0).any() or np.diag(costs).any():
        raise InputError("cost: expected finite numbers of at least 0, and 0 on the diagonal")
    return costs
