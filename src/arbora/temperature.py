"""Temperatures: one number each for trees and labels that makes probabilities of scores [guo-2017].

P(tree) is proportional to exp(score / T). A log-linear learner fits its scores to be used with T = 1; a
margin learner cares for the order of trees alone, so that its scores may be too large or too small by any
factor. T is what makes the right heads of a dev set most probable: it minimises the mean of -log P(head),
over words whose right head the pruner left; likewise for labels, over words with the right head. Neither
changes which tree or label is the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from arbora.data.columns import Columns
from arbora.parser import Parser, Temperatures

LOWEST, HIGHEST = 0.02, 50.0
PRECISION = 0.02
"""Of log T."""


def fit_temperatures(parser: Parser, dev: Columns, *, threads: int = 1) -> Temperatures:
    """The temperatures under which the heads and labels of a treebank are the most probable.

    A dozen passes with sums over trees. Where dev has nothing to learn from, 1.
    """
    encoded = parser.names.encode(dev)
    labels = _label_temperature(parser, dev, threads) if parser.labels is not None else 1.0

    def loss(temperature: float) -> float:
        asked = Temperatures(trees=temperature, labels=labels)
        known = parser.judge(encoded, temperatures=asked, threads=threads).known_head_probabilities
        return _surprise(known[known > 0.0])

    return Temperatures(trees=minimize(loss), labels=labels)


def _label_temperature(parser: Parser, dev: Columns, threads: int) -> float:
    """P(label) at T is proportional to P(label) at 1 to the power of 1/T, so that one pass is enough."""
    found = parser.judge(dev, temperatures=Temperatures(), label_table=True, threads=threads)
    known = found.known_label_probabilities
    used = (found.heads == dev.heads) & (known > 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(found.label_table.reshape(len(known), -1)[used])
    right = np.log(known[used])
    if not len(right):
        return 1.0

    def loss(temperature: float) -> float:
        return float(np.mean(np.log(np.sum(np.exp(logs / temperature), axis=1)) - right / temperature))

    return minimize(loss)


def minimize(loss: Callable[[float], float]) -> float:
    """The temperature of the smallest loss, searched in log T by parabolas and golden sections."""
    if not math.isfinite(loss(1.0)):
        return 1.0
    found = minimize_scalar(
        lambda log: loss(math.exp(log)),
        bounds=(math.log(LOWEST), math.log(HIGHEST)),
        method="bounded",
        options={"xatol": PRECISION},
    )
    # Rounded, so that a model's bytes do not hang on the last digits of a search.
    return float(f"{math.exp(found.x):.3g}")


def _surprise(probabilities: NDArray[np.float64]) -> float:
    return float(-np.mean(np.log(probabilities))) if len(probabilities) else math.nan
