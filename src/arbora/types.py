"""Array types used across the package, and weight vectors from arrays."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights

Ints: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def weights_of(values: Floats, averaged: Floats | None = None, steps: int = 0) -> Weights:
    """Weights with these values after a number of steps; without `averaged`, they keep no average."""
    total = np.zeros(0) if averaged is None else averaged.astype(np.float64) * steps
    state: dict[str, Any] = {"v": values, "u": total, "ticks": float(steps), "norm2": squared_norm(values)}
    return Weights.from_state({**state, "scale": 1.0, "carried": 0.0, "norm2_error": 0.0})


def squared_norm(values: Floats) -> float:
    """|w|², in float64 without a copy of w."""
    return float(np.einsum("i,i->", values, values, dtype=np.float64))
