"""Temperature scaling: turns scores into calibrated probabilities [guo-2017].

P(tree) is proportional to exp(score / T). A log-linear learner fits its scores for T = 1; a margin learner
fits only the order of trees, so its scores may be off by any factor. No T makes up for gold heads that a
pruner removed, so there is a second number, the share of words that are missed:
P(head) = (1 - missed) · P(head | it was considered), and the same for P(tree).

Both are fitted on the heads that the parser predicts for a dev set: they minimise the mean of -log P(head)
over right and -log(1 - P(head)) over wrong ones. A third, the temperature of labels, minimises -log P(label)
over words with the right head. None of them changes which tree or label is the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.parsing.long_sentences import without_long
from arbora.parsing.parser import Parser
from arbora.search.request import ParseRequest, Temperatures
from arbora.types import Bools, Doubles

LOWEST, HIGHEST = 0.02, 50.0
PRECISION = 0.02  # Of log T
MOST_MISSED = 0.5
CERTAIN = 1e-6  # Probabilities are clipped to this distance from 0 and 1

GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0
ROUNDING = math.sqrt(2.0**-52)
MOST_STEPS = 500


def fit_temperatures(parser: Parser, dev: Columns, *, threads: int = 1) -> Temperatures:
    """The temperatures that best predict which heads and labels of a treebank are right.

    About a dozen passes with sums over trees. Without labels, or without a right head, theirs is 1. Sentences
    that the parser would cut are left out; InputError if there are no others.
    """
    source, dev = dev.source, without_long(dev, parser.search)
    if not len(dev):
        what = f"expected sentences of at most {parser.search.longest:,} words, to fit probabilities on"
        raise InputError(f"{source}: {what}, got none; split its sentences, or add shorter ones")
    batch = parser.encode(dev, threads=threads)
    right = parser.trees(batch, threads=threads)[0] == dev.heads
    # Probabilities of pseudo-projective parsers are those of the lifted trees.
    parser = replace(parser, search=parser.search.uncalibrated)
    batch.set_heads(parser.trees(batch, threads=threads)[0])
    labels = _label_temperature(parser, dev, threads) if parser.gives_labels else 1.0
    confidence_at = parser.confidence_at(batch, ParseRequest(decode="given", threads=threads))

    def head_probabilities(temperature: float) -> Doubles:
        return confidence_at(Temperatures(trees=temperature, labels=labels)).head_probabilities

    trees = minimize(lambda temperature: _fit_missed(head_probabilities(temperature), right)[1])
    missed = _fit_missed(head_probabilities(trees), right)[0]
    return Temperatures(trees=trees, labels=labels, missed=float(f"{missed:.2g}"))


def _fit_missed(probabilities: Doubles, right: Bools) -> tuple[float, float]:
    """The share of missed words that fits best, and the loss with it."""

    def loss(share: float) -> float:
        p = np.clip((1.0 - share) * probabilities, CERTAIN, 1.0 - CERTAIN)
        return float(-np.mean(np.log(np.where(right, p, 1.0 - p))))

    if np.all(right):
        return 0.0, loss(0.0)
    best = minimize_between(loss, 0.0, MOST_MISSED, 1e-5)
    return best, loss(best)


def _label_temperature(parser: Parser, dev: Columns, threads: int) -> float:
    """P(label) at T is proportional to P(label) at 1 to the power of 1/T, so one pass is enough."""
    confidence = parser.confidence(dev, temperatures=Temperatures(), label_table=True, threads=threads)
    gold = confidence.known_label_probabilities
    used = (confidence.heads == dev.heads) & (gold > 0.0)
    if not np.any(used):
        return 1.0
    with np.errstate(divide="ignore"):
        logs = np.log(confidence.label_table.reshape(len(gold), -1)[used])
    right = np.log(gold[used])
    return minimize(lambda t: float(np.mean(np.log(np.sum(np.exp(logs / t), axis=1)) - right / t)))


def minimize(loss: Callable[[float], float]) -> float:
    """The temperature with the smallest loss, searched in log T."""
    low, high = math.log(LOWEST), math.log(HIGHEST)
    best = minimize_between(lambda log: loss(math.exp(log)), low, high, PRECISION)
    # Rounded, so that a model's bytes do not depend on the last digits of a search.
    return float(f"{math.exp(best):.3g}")


def minimize_between(loss: Callable[[float], float], low: float, high: float, precision: float) -> float:
    """The argument between `low` and `high` with the smallest loss, by Brent's method [brent-1973].

    SciPy has the same (`minimize_scalar`, bounded), but is optional, and the stored temperatures must not
    depend on it. A parabola through the three best points gives the next one; if that step leaves the
    interval or does not halve every second time, the golden section divides the larger side of the best.
    """
    x = low + GOLDEN * (high - low)
    best = second = third = (x, loss(x))
    step = before = 0.0  # the last step, and the one before it
    for _ in range(MOST_STEPS):
        x, middle = best[0], 0.5 * (low + high)
        smallest = ROUNDING * abs(x) + precision / 3.0
        if abs(x - middle) + 0.5 * (high - low) <= 2.0 * smallest:
            break
        parabolic = _parabolic_step(best, second, third) if abs(before) > smallest else math.inf
        if abs(parabolic) < 0.5 * abs(before) and low < x + parabolic < high:
            before, step = step, parabolic
            if min(x + step - low, high - x - step) < 2.0 * smallest:  # too near to an end
                step = math.copysign(smallest, middle - x)
        else:
            before = (low if x >= middle else high) - x
            step = GOLDEN * before
        place = x + (step if abs(step) >= smallest else math.copysign(smallest, step))
        point = (place, loss(place))
        if point[1] <= best[1]:
            low, high = (x, high) if place >= x else (low, x)
            best, second, third = point, best, second
            continue
        low, high = (place, high) if place < x else (low, place)
        if point[1] <= second[1] or second[0] == x:
            second, third = point, second
        elif point[1] <= third[1] or third[0] in (x, second[0]):
            third = point
    return best[0]


def _parabolic_step(best: tuple[float, float], *others: tuple[float, float]) -> float:
    """The step from `best` to the vertex of the parabola through three points; inf if there is none."""
    (x, at_x), ((v, at_v), (w, at_w)) = best, others
    one = (x - v) * (at_x - at_w)
    other = (x - w) * (at_x - at_v)
    under = 2.0 * (other - one)
    return math.inf if under == 0.0 else -((x - w) * other - (x - v) * one) / under
