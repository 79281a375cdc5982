"""What it costs to take one class for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError
from arbora.types import Doubles

HIERARCHICAL = "hierarchical"


def hierarchical_costs(
    classes: Sequence[str], *, separator: str = ":", type_cost: float = 1.0, subtype_cost: float = 0.5
) -> Doubles:
    """Costs of classes such as `LEFT-ARC:subj`: less where only what follows the separator is wrong.

    The result is `costs[right, other]`: `type_cost` where what precedes the first separator differs,
    `subtype_cost` where only the rest does, 0 on the diagonal [johansson-2007].
    """
    names = [str(name) for name in classes]
    types = np.array([name.partition(separator)[0] for name in names])
    same_type = types[:, None] == types[None, :]
    costs = np.where(same_type, subtype_cost, type_cost).astype(np.float64)
    np.fill_diagonal(costs, 0.0)
    return costs


def cost_matrix(cost: Any, classes: NDArray[Any]) -> Doubles:
    """The costs of these classes: None is 1 for every mistake, "hierarchical" as above, else a matrix."""
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
