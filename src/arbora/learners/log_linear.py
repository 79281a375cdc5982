"""Log-linear training on all examples at once [koo-2007, sha-2003, lafferty-2001].

    L(w) = -C Σ_i log P(y_i | x_i; w) + ½ |w|²             P(y | x; w) = exp <w, f(x, y)> / Z(x; w)

    ∂L/∂w = w + C Σ_i ( E[f(x_i, y)] - f(x_i, y_i) )

L is convex and is minimized by SciPy's L-BFGS with few pairs of vectors (extra `optimize`), or by nonlinear
conjugate gradients (Polak-Ribière) as in [koo-2007], which need no SciPy. If only part of a tree is known, P
is that of the known part; L is then not convex, and the result is a local minimum.

Steps that suit rare features are far too long for common ones. So both methods work on z_j = √H_j w_j, where
H_j = 1 + |∂L/∂w_j| at w = 0 roughly estimates the second derivative; the minimum is the same.

An epoch is `iterations` iterations that start afresh from the present weights. Each takes one to three passes
over the examples. After an epoch `objective` L, `gradient` |∂L/∂w| and `passes` are reported. Training ends
when the gradient is at most `tolerance` times as long as at w = 0, or when no step lowers L.

L and its gradient are those at weights that are rounded to float32. Memory: about 2 `pairs` + 20 vectors of
float64, or 14 with `cg`.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arbora.errors import InputError
from arbora.interfaces import Epoch, Problem, Query
from arbora.learners._online import Run, Trainer
from arbora.settings import parameter
from arbora.types import Floats, squared_norm, weights_of

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Objective = Callable[[Vector], tuple[float, Vector]]
Found: TypeAlias = tuple[Vector, float, Vector, int]

DECREASE = 1e-4  # The value falls by this share of what the slope promises
CURVATURE = 0.4  # The slope along d shrinks to this share
MOST_TRIALS = 12
EPSILON = 2.0**-52
EXPANSION = 4.0  # The factor for a step that was too short
INSIDE = 0.1  # A step between two others keeps this share of their distance from both


class LogLinearRun(Run):
    """The weights, and the objective at them."""

    kept = ("z", "roots", "first", "converged")

    def __init__(self, learner: Any, problem: Problem) -> None:
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

    def pass_over(self, number: int) -> Epoch:
        learner, self.passes = self.learner, 0
        if self.first < 0.0:
            self._start()
        if learner.method == "lbfgs":
            self.z, value, gradient, iterations = self._lbfgs()
        else:
            options = (learner.iterations, self._move)
            self.z, value, gradient, iterations = conjugate_gradients(self._scaled, self.z, *options)
        norm = float(np.sqrt(np.einsum("i,i,i,i->", *[gradient, self.roots] * 2)))
        self.converged = iterations == 0 or norm <= learner.tolerance * self.first
        loss = max(0.0, value - 0.5 * squared_norm(self.last())) / learner.C
        measures = {"objective": value, "gradient": norm, "passes": float(self.passes)}
        return Epoch(number, loss, 0.0, iterations, measures=measures)

    def _move(self, xk: Vector) -> None:
        """Keep each iteration's result, in case the next is interrupted."""
        self.z[:] = xk

    def _lbfgs(self) -> Found:
        """As `conjugate_gradients`, by SciPy."""
        from scipy.optimize import minimize  # lazy: it loads slowly

        # Iterate until the epoch is over; `epoch` decides whether to stop.
        limits = {"maxiter": self.learner.iterations, "maxcor": self.learner.pairs}
        options: Any = {**limits, "gtol": 0.0, "ftol": 0.0}
        found = minimize(
            self._scaled, self.z, jac=True, callback=self._move, method="L-BFGS-B", options=options
        )
        return found.x, float(found.fun), found.jac, int(found.nit)

    def last(self) -> Floats:
        return self._weights(self.z)

    def _weights(self, z: Vector) -> Floats:
        return np.divide(z, self.roots, out=np.empty(z.shape, dtype=np.float32), casting="same_kind")


@dataclass(frozen=True, kw_only=True)
class LogLinear(Trainer):
    """Log-linear: weights under which the gold trees are most probable, by L-BFGS or conjugate gradients.

    An epoch is a number of iterations over all examples; it ends when the gradient vanishes [koo-2007].
    """

    name = "log_linear"
    paper = "koo-2007"
    run_kind = LogLinearRun
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


@dataclass(frozen=True)
class Trial:
    """A step along a direction: the value and the slope there, and the point with its gradient."""

    step: float
    value: float
    slope: float
    x: Vector | None = None
    gradient: Vector | None = None


def conjugate_gradients(
    objective: Objective, x: Vector, iterations: int, moved: Callable[[Vector], None]
) -> Found:
    """Nonlinear conjugate gradients with the rule of Polak and Ribière [nocedal-2006], from x.

    Returns the last x with its value and gradient, and the number of iterations.

        d_0     = -g_0                      g: the gradient at x
        x_{k+1} = x_k + a d_k
        d_{k+1} = -g_{k+1} + b d_k          b = max(0, <g_{k+1}, g_{k+1} - g_k> / |g_k|²)

    The search restarts if b is 0 or the direction does not descend. The step `a` satisfies the strong Wolfe
    conditions; steps that do not are bracketed, and the minimum of a cubic through two points is tried next.
    The first trial is the step that would gain as much as the iteration before. Each trial evaluates the
    objective once. There are fewer iterations if no step lowers the objective; `moved` is called after each.
    Memory: eight vectors, with those of an evaluation.
    """
    value, gradient = objective(x)
    direction = -gradient
    gain = 0.5 * float(np.linalg.norm(gradient))  # so that the first step is about 1 long
    done = 0
    while done < iterations:
        slope = np.dot(gradient, direction)
        if slope >= 0.0:  # rounding, or many iterations without a restart
            direction, slope = -gradient, -np.dot(gradient, gradient)
        if not slope < 0.0:
            break
        wanted = min(1.0, 2.02 * gain / -slope)
        trial = _line_search(objective, x, direction, Trial(0.0, value, slope), wanted)
        if trial.x is None or trial.gradient is None:
            break
        old = np.dot(gradient, gradient)
        bend = (np.dot(trial.gradient, trial.gradient) - np.dot(trial.gradient, gradient)) / old
        direction *= max(0.0, bend)
        direction -= trial.gradient
        gain = value - trial.value
        x, value, gradient = trial.x, trial.value, trial.gradient
        done += 1
        moved(x)
    return x, value, gradient, done


def _line_search(objective: Objective, x: Vector, direction: Vector, start: Trial, step: float) -> Trial:
    """A step that meets the conditions; else the best one that lowers the value; else `start`."""
    low, high = start, None
    for _ in range(MOST_TRIALS):
        point = x + step * direction
        value, gradient = objective(point)
        trial = Trial(step, value, np.dot(gradient, direction), point, gradient)
        fallen = value <= start.value + DECREASE * step * start.slope
        if not fallen or value >= low.value:  # also if the value is NaN
            high = Trial(step, value, trial.slope)
        elif abs(trial.slope) <= -CURVATURE * start.slope:
            return trial
        else:
            if (trial.slope >= 0.0) if high is None else (trial.slope * (high.step - low.step) >= 0.0):
                high = low
            low = trial
        if high is None:
            step *= EXPANSION
        else:
            step = _between(low, high)
        if abs(step - low.step) * -start.slope <= EPSILON * abs(start.value):  # below rounding
            break
    return low


def _between(low: Trial, high: Trial) -> float:
    """The minimum of the cubic with these values and slopes, but not too near to either end."""
    width = high.step - low.step
    share = 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        a, b = low.slope * width, high.slope * width  # slopes by the share of the way from low to high
        c = a + b - 3.0 * (high.value - low.value)
        root = c * c - a * b
        if root >= 0.0 and (b - a + 2.0 * math.sqrt(root)) != 0.0:
            share = 1.0 - (b + math.sqrt(root) - c) / (b - a + 2.0 * math.sqrt(root))
    return low.step + min(max(share, INSIDE), 1.0 - INSIDE) * width
