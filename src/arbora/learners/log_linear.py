"""Log-linear training on all examples at once [koo-2007, sha-2003, lafferty-2001].

    L(w) = -C Σ_i log P(y_i | x_i; w) + ½ |w|²             P(y | x; w) = exp <w, f(x, y)> / Z(x; w)

    ∂L/∂w = w + C Σ_i ( E[f(x_i, y)] - f(x_i, y_i) )

L is convex and is minimized by SciPy's L-BFGS with few pairs of vectors (extra `optimize`), or by nonlinear
conjugate gradients (Polak-Ribière) as in [koo-2007], which need no SciPy. If only part of a tree is known, P
is that of the known part; L is then not convex, and the result is a local minimum.

Some features are in every tree and some in one: steps that suit the rare ones are far too long for the common
ones. So both methods work on z_j = √H_j w_j, where H_j = 1 + |∂L/∂w_j| at w = 0 grows with a feature's
frequency and roughly estimates the second derivative. This changes the path to the minimum, not the minimum.

An epoch is `iterations` iterations that start afresh from the present weights, so resuming needs nothing
else. Each takes one pass over the examples, sometimes two or three. After an epoch `objective` L, `gradient`
|∂L/∂w| and `passes` are reported. Training ends when the gradient is at most `tolerance` times as long as at
w = 0, or when no step lowers L.

Weights are float64 here and rounded to float32 for the problem; L and its gradient are those at the rounded
weights. Memory: about 2 `pairs` + 20 vectors of float64, or 14 with `cg`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arbora.errors import InputError
from arbora.interfaces import Problem, Query
from arbora.learners._conjugate import Found, Vector, conjugate_gradients
from arbora.learners._online import Run, Stored, Tally, Trainer, require_size, squared_norm, weights_of
from arbora.settings import parameter
from arbora.types import Floats


@dataclass(frozen=True, kw_only=True)
class LogLinear(Trainer):
    """Log-linear: weights under which the gold trees are most probable, by L-BFGS or conjugate gradients.

    An epoch is a number of iterations over all examples; it ends when the gradient vanishes [koo-2007].
    """

    name: ClassVar[str] = "log_linear"
    paper: ClassVar[str] = "koo-2007"
    needs = frozenset({Query.MARGINALS})

    C: float = parameter(1.0, "the weight of the sum of -log P against |w|²/2", above=0.0)
    method: str = parameter(
        "lbfgs", "L-BFGS (needs SciPy), or nonlinear conjugate gradients", choices=("lbfgs", "cg")
    )
    iterations: int = parameter(10, "iterations per epoch", least=1)
    pairs: int = parameter(3, "steps that L-BFGS remembers; each takes two vectors of float64", least=1)
    tolerance: float = parameter(1e-4, "ends when the gradient has shrunk to this share", least=0.0)

    def require_installed(self) -> None:
        if self.method == "lbfgs" and not importlib.util.find_spec("scipy"):
            raise InputError(
                "log_linear: L-BFGS needs SciPy, which is not installed: pip install 'arbora-nlp[optimize]'; "
                "or choose conjugate gradients, method=cg"
            )

    def begin(self, problem: Problem) -> Run:
        return LogLinearRun(self, problem)


class LogLinearRun(Run):
    """The weights, and the objective at them."""

    kept = ("z", "roots", "first", "converged")

    def __init__(self, learner: LogLinear, problem: Problem) -> None:
        super().__init__(learner, problem)
        self.z: Vector = np.zeros(problem.size)
        self.roots: Vector = np.ones(problem.size)  # √H, set by `_start`
        self.first = -1.0  # |∂L/∂w| at w = 0, set by `_start`
        self.passes = 0

    def objective(self, z: Vector) -> tuple[float, Vector]:
        """L and its gradient by w at w = z / √H, one pass over the examples."""
        rounded = self._weights(z)
        loss, gradient = self.problem.gradient(self.everyone, weights_of(rounded), Query.MARGINALS)
        gradient *= self.learner.C
        gradient += rounded
        self.passes += 1
        return self.learner.C * loss + 0.5 * squared_norm(rounded), gradient

    def _start(self) -> None:
        """Set the scales from the gradient at w = 0."""
        _, gradient = self.objective(self.z)
        self.first = float(np.linalg.norm(gradient))
        self.roots = np.sqrt(1.0 + np.abs(gradient))

    def _scaled(self, z: Vector) -> tuple[float, Vector]:
        """L and its gradient by z."""
        value, gradient = self.objective(z)
        gradient /= self.roots
        return value, gradient

    def epoch(self, number: int) -> Tally:
        learner, self.passes = self.learner, 0
        if self.first < 0.0:
            self._start()
        found = self._lbfgs() if learner.method == "lbfgs" else self._conjugate()
        norm = float(np.sqrt(np.einsum("i,i,i,i->", *[found.gradient, self.roots] * 2)))
        self.z = found.x
        self.converged = found.iterations == 0 or norm <= learner.tolerance * self.first
        tally = Tally()
        tally.loss = max(0.0, found.value - 0.5 * squared_norm(self.last())) / learner.C
        tally.updates = found.iterations
        tally.measures = {"objective": found.value, "gradient": norm, "passes": float(self.passes)}
        return tally

    def _move(self, xk: Vector) -> None:
        """Keep each iteration's result, in case the next is interrupted."""
        self.z[:] = xk

    def _conjugate(self) -> Found:
        return conjugate_gradients(self._scaled, self.z, self.learner.iterations, self._move)

    def _lbfgs(self) -> Found:
        from scipy.optimize import minimize  # lazy: it loads slowly

        # Iterate until the epoch is over; `epoch` decides whether to stop.
        limits = {"maxiter": self.learner.iterations, "maxcor": self.learner.pairs}
        options: Any = {**limits, "gtol": 0.0, "ftol": 0.0}
        found = minimize(
            self._scaled, self.z, jac=True, callback=self._move, method="L-BFGS-B", options=options
        )
        return Found(found.x, float(found.fun), found.jac, int(found.nit))

    def last(self) -> Floats:
        return self._weights(self.z)

    def _weights(self, z: Vector) -> Floats:
        return np.divide(z, self.roots, out=np.empty(z.shape, dtype=np.float32), casting="same_kind")

    def restore(self, state: Stored) -> None:
        super().restore(state)
        for values in (self.z, self.roots):
            require_size(values.size, self.problem.size)
