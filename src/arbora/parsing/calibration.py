"""Temperatures: what makes probabilities of scores [guo-2017].

P(tree) is proportional to exp(score / T). A log-linear learner fits its scores to be used with T = 1; a
margin learner cares for the order of trees alone, so that its scores may be too large or too small by any
factor. No T makes up for heads that a pruner took away, so there is a second number, the share of words
that are missed: P(head) = (1 - missed) · P(head | it was considered), and likewise P(tree).

Both are those that best foretell, for each head that the parser chooses on a dev set, whether it is right:
they minimise the mean of -log P(head) over right and -log(1 - P(head)) over wrong ones. A third, the
temperature of labels, minimises -log P(label) over words with the right head. None of them changes which
tree or label is the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns
from arbora.parsing._brent import minimize_between
from arbora.parsing.parser import Parser
from arbora.search.request import ParseRequest, Temperatures

LOWEST, HIGHEST = 0.02, 50.0
PRECISION = 0.02
"""Of log T."""
MOST_MISSED = 0.5
CERTAIN = 1e-6
"""Nothing counts as surer than all but this."""


def fit_temperatures(parser: Parser, dev: Columns, *, threads: int = 1) -> Temperatures:
    """The temperatures that best foretell which heads and labels of a treebank are right.

    A dozen passes with sums over trees. What dev does not tell is 1.
    """
    batch = parser.encode(dev, threads=threads)
    right = parser.trees(batch, threads=threads)[0] == dev.heads
    # Where trees are pseudo-projective, probabilities are those of lifted trees.
    parser = replace(parser, search=parser.search.uncalibrated)
    batch.set_heads(parser.trees(batch, threads=threads)[0])
    labels = _label_temperature(parser, dev, threads) if parser.gives_labels else 1.0
    confidence_at = parser.confidence_at(batch, ParseRequest(decode="given", threads=threads))

    def sure(temperature: float) -> NDArray[np.float64]:
        return confidence_at(Temperatures(trees=temperature, labels=labels)).head_probabilities

    trees = minimize(lambda temperature: _missed(sure(temperature), right)[1])
    return Temperatures(trees=trees, labels=labels, missed=float(f"{_missed(sure(trees), right)[0]:.2g}"))


def _missed(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """The share of missed words that fits best, and the loss with it."""

    def loss(share: float) -> float:
        p = np.clip((1.0 - share) * sure, CERTAIN, 1.0 - CERTAIN)
        return float(-np.mean(np.log(np.where(right, p, 1.0 - p))))

    if np.all(right):
        return 0.0, loss(0.0)
    best = minimize_between(loss, 0.0, MOST_MISSED, 1e-5)
    return best, loss(best)


def _label_temperature(parser: Parser, dev: Columns, threads: int) -> float:
    """P(label) at T is proportional to P(label) at 1 to the power of 1/T, so that one pass is enough."""
    found = parser.confidence(dev, temperatures=Temperatures(), label_table=True, threads=threads)
    known = found.known_label_probabilities
    used = (found.heads == dev.heads) & (known > 0.0)
    if not np.any(used):
        return 1.0
    with np.errstate(divide="ignore"):
        logs = np.log(found.label_table.reshape(len(known), -1)[used])
    right = np.log(known[used])
    return minimize(lambda t: float(np.mean(np.log(np.sum(np.exp(logs / t), axis=1)) - right / t)))


def minimize(loss: Callable[[float], float]) -> float:
    """The temperature of the smallest loss, searched in log T by parabolas and golden sections."""
    low, high = math.log(LOWEST), math.log(HIGHEST)
    best = minimize_between(lambda log: loss(math.exp(log)), low, high, PRECISION)
    # Rounded, so that a model's bytes do not hang on the last digits of a search.
    return float(f"{math.exp(best):.3g}")
