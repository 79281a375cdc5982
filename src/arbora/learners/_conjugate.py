"""Nonlinear conjugate gradients with the rule of Polak and Ribière [nocedal-2006].

    d_0     = -g_0                      g: the gradient at x
    x_{k+1} = x_k + a d_k
    d_{k+1} = -g_{k+1} + b d_k          b = max(0, <g_{k+1}, g_{k+1} - g_k> / |g_k|²)

The search restarts if b is 0 or the direction does not descend. The step `a` satisfies the strong Wolfe
conditions; steps that do not are bracketed, and the minimum of a cubic through two points is tried next. The
first trial is the step that would gain as much as the iteration before. Each trial evaluates the objective
once. Memory: eight vectors, with those of an evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Objective = Callable[[Vector], tuple[float, Vector]]

DECREASE = 1e-4  # The value falls by this share of what the slope promises
CURVATURE = 0.4  # The slope along d shrinks to this share
MOST_TRIALS = 12
EPSILON = 2.0**-52
EXPANSION = 4.0  # The factor for a step that was too short
INSIDE = 0.1  # A step between two others keeps this share of their distance from both


@dataclass(frozen=True)
class Found:
    """The end of a search."""

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
    """Make `iterations` iterations from x, fewer if no step lowers the objective; call `moved` after each."""
    value, gradient = objective(x)
    direction = -gradient
    gain = 0.5 * float(np.linalg.norm(gradient))  # so that the first step is about 1 long
    done = 0
    while done < iterations:
        slope = _dot(gradient, direction)
        if slope >= 0.0:  # rounding, or many iterations without a restart
            direction, slope = -gradient, -_dot(gradient, gradient)
        if not slope < 0.0:
            break
        wanted = min(1.0, 2.02 * gain / -slope)
        trial = _line_search(objective, x, direction, Trial(0.0, value, slope), wanted)
        if trial.x is None or trial.gradient is None:
            break
        old = _dot(gradient, gradient)
        bend = (_dot(trial.gradient, trial.gradient) - _dot(trial.gradient, gradient)) / old
        direction *= max(0.0, bend)
        direction -= trial.gradient
        gain = value - trial.value
        x, value, gradient = trial.x, trial.value, trial.gradient
        done += 1
        moved(x)
    return Found(x, value, gradient, done)


def _line_search(objective: Objective, x: Vector, direction: Vector, start: Trial, step: float) -> Trial:
    """A step that meets the conditions; else the best one that lowers the value; else `start`."""
    low, high = start, None
    for _ in range(MOST_TRIALS):
        point = x + step * direction
        value, gradient = objective(point)
        trial = Trial(step, value, _dot(gradient, direction), point, gradient)
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


def _dot(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other))
