"""Nonlinear conjugate gradients with the rule of Polak and Ribière [nocedal-2006].

    d_0     = -g_0                      g: the gradient at x
    x_{k+1} = x_k + a d_k
    d_{k+1} = -g_{k+1} + b d_k          b = max(0, <g_{k+1}, g_{k+1} - g_k> / |g_k|²)

Where b is 0, and where a direction does not lead down, the search begins anew. The step `a` satisfies the
strong Wolfe conditions: the value falls by a share of what the slope promises, and the slope along d shrinks
to a share of what it was. Steps that do not are bracketed, and the minimum of a cubic through two points is
tried next. The first step to try is the one that would win as much as the iteration before did.

Every trial evaluates the objective once. Memory: eight vectors, with those that an evaluation makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Objective = Callable[[Vector], tuple[float, Vector]]

FALL = 1e-4
FLATTER = 0.4
MOST_TRIALS = 12
EPSILON = 2.0**-52
FARTHER = 4.0  # How much longer a step that was too short may become at once
INSIDE = 0.1  # A step between two others keeps this share of their distance from both


@dataclass(frozen=True)
class Found:
    """Where a search ended."""

    x: Vector
    value: float
    gradient: Vector
    iterations: int


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
    """So many iterations from x, fewer where no step lowers the objective; `moved` is told of each."""
    value, gradient = objective(x)
    direction = -gradient
    won = 0.5 * float(np.linalg.norm(gradient))  # a guess, so that the first step is about 1 long
    done = 0
    while done < iterations:
        slope = _dot(gradient, direction)
        if slope >= 0.0:  # rounding, or a long way without a fresh start
            direction, slope = -gradient, -_dot(gradient, gradient)
        if not slope < 0.0:
            break
        wanted = min(1.0, 2.02 * won / -slope)
        trial = _line_search(objective, x, direction, Trial(0.0, value, slope), wanted)
        if trial.x is None or trial.gradient is None:
            break
        old = _dot(gradient, gradient)
        bend = (_dot(trial.gradient, trial.gradient) - _dot(trial.gradient, gradient)) / old
        direction *= max(0.0, bend)
        direction -= trial.gradient
        won = value - trial.value
        x, value, gradient = trial.x, trial.value, trial.gradient
        done += 1
        moved(x)
    return Found(x, value, gradient, done)


def _line_search(objective: Objective, x: Vector, direction: Vector, start: Trial, step: float) -> Trial:
    """A step that meets the conditions; else the best that lowers the value; else `start`."""
    low, high = start, None
    for _ in range(MOST_TRIALS):
        point = x + step * direction
        value, gradient = objective(point)
        trial = Trial(step, value, _dot(gradient, direction), point, gradient)
        fallen = value <= start.value + FALL * step * start.slope
        if not fallen or value >= low.value:  # a value that is no number has not fallen
            high = Trial(step, value, trial.slope)
        elif abs(trial.slope) <= -FLATTER * start.slope:
            return trial
        else:
            if (trial.slope >= 0.0) if high is None else (trial.slope * (high.step - low.step) >= 0.0):
                high = low
            low = trial
        if high is None:
            step *= FARTHER
        else:
            step = _between(low, high)
        if abs(step - low.step) * -start.slope <= EPSILON * abs(start.value):  # no number could tell
            break
    return low


def _between(low: Trial, high: Trial) -> float:
    """The minimum of the cubic with these values and slopes, not too near to either end."""
    width = high.step - low.step
    share = 0.5
    if math.isfinite(high.value) and math.isfinite(high.slope):
        a, b = low.slope * width, high.slope * width  # slopes by the share of the way from low to high
        c = a + b - 3.0 * (high.value - low.value)
        root = c * c - a * b
        if root >= 0.0 and (b - a + 2.0 * math.sqrt(root)) != 0.0:
            share = 1.0 - (b + math.sqrt(root) - c) / (b - a + 2.0 * math.sqrt(root))
    return low.step + min(max(share, INSIDE), 1.0 - INSIDE) * width


def _dot(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other))
