"""Steps adapted to each weight with a penalty |w|₁: FOBOS with AdaGrad's lengths [duchi-2011].

To make f(w) - λ|w|₁ large, from a gradient g of f (or an estimate of it):

    G_j ← G_j + g_j²        η_j = η / (δ + √G_j)
    w_j ← argmin_v  (v - (w_j + η_j g_j))² / 2 + η_j λ |v|
        = sign(u) max(0, |u| - η_j λ),     u = w_j + η_j g_j

so that weights which do not pull their penalty become 0, exactly. O(length of w) per step.
"""

from __future__ import annotations

import numpy as np

from arbora.types import Doubles

FLOOR = 1e-8
"""δ: only keeps the first step of a weight finite."""


class ProximalAdagrad:
    """Weights, and how much each was moved."""

    def __init__(self, size: int, rate: float) -> None:
        self.weights: Doubles = np.zeros(size)
        self.rate = rate
        self._squares = np.zeros(size)

    def step(self, gradient: Doubles, penalty: float) -> None:
        """Uphill along the gradient; then towards 0 by the penalty λ. Weights change in place."""
        self._squares += gradient**2
        rates = self.rate / (FLOOR + np.sqrt(self._squares))
        moved = self.weights + rates * gradient
        # Where no gradient was ever seen the weight is 0, and stays so: rates are large, but moved is 0.
        self.weights[:] = np.sign(moved) * np.maximum(0.0, np.abs(moved) - rates * penalty)
