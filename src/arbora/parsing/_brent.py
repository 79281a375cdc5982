"""The minimum of a function of one number, without derivatives [brent-1973].

Three points are kept: the best, the second best, and the one that was second before. The parabola through
them says where to look next. Where it is of no use (it opens downwards, leads out of the interval, or its
steps do not shrink by half with every second one), the larger side of the best point is divided by the golden
section. The minimum of a function with one valley is found; of several valleys, one of their lowest points.
"""

from __future__ import annotations

import math
from collections.abc import Callable

GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0
ROUNDING = math.sqrt(2.0**-52)
"""Points that are nearer to each other, relatively, have values that do not differ but by rounding."""
MOST = 500


def minimize_between(loss: Callable[[float], float], low: float, high: float, precision: float) -> float:
    """Where between `low` and `high` the loss is smallest, to about `precision`."""
    best = second = third = low + GOLDEN * (high - low)
    least = below_second = below_third = loss(best)
    step = before = 0.0  # the last step, and the one before it
    for _ in range(MOST):
        middle = 0.5 * (low + high)
        smallest = ROUNDING * abs(best) + precision / 3.0
        if abs(best - middle) + 0.5 * (high - low) <= 2.0 * smallest:
            break
        by_parabola = None
        if abs(before) > smallest:
            by_parabola = _valley(
                (best, least), (second, below_second), (third, below_third), low, high, 0.5 * abs(before)
            )
        if by_parabola is None:
            before = (low if best >= middle else high) - best
            step = GOLDEN * before
        else:
            before, step = step, by_parabola
            if min(best + step - low, high - best - step) < 2.0 * smallest:  # not too near to what is known
                step = math.copysign(smallest, middle - best)
        place = best + (step if abs(step) >= smallest else math.copysign(smallest, step))
        value = loss(place)
        if value <= least:
            low, high = (best, high) if place >= best else (low, best)
            third, below_third = second, below_second
            second, below_second = best, least
            best, least = place, value
            continue
        low, high = (place, high) if place < best else (low, place)
        if value <= below_second or second == best:
            third, below_third = second, below_second
            second, below_second = place, value
        elif value <= below_third or third in (best, second):
            third, below_third = place, value
    return best


Point = tuple[float, float]


def _valley(best: Point, second: Point, third: Point, low: float, high: float, most: float) -> float | None:
    """The step from `best` to the lowest point of the parabola; None if that is no step to take."""
    (x, at_x), (v, at_v), (w, at_w) = best, second, third
    one = (x - v) * (at_x - at_w)
    other = (x - w) * (at_x - at_v)
    over = (x - w) * other - (x - v) * one
    under = 2.0 * (other - one)
    if under == 0.0:
        return None
    step = -over / under
    return step if abs(step) < most and low < x + step < high else None
