"""Weights of the parsers of an ensemble, fitted on a dev set by expectation maximisation [dempster-1977].

The ensemble gives the right head of a word the probability Σ_k w_k p_k, where p_k is parser k's P(head), and
likewise the right label. The weights maximise the mean logarithm of these. One step is

    w_k ← mean over heads and labels of w_k p_k / Σ_j w_j p_j

The logarithm never falls, and its only maximum is the global one, as it is concave in the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.parsing.ensemble import normalized
from arbora.parsing.parser import Parser
from arbora.types import Doubles

MOST_STEPS = 10_000
PRECISION = 1e-5  # Nats per word
DIGITS = 3  # Of weights


def fit_weights(parsers: Sequence[Parser], dev: Columns, *, threads: int = 1) -> tuple[float, ...]:
    """The weights for `ensemble` with which right heads and labels of a treebank are most probable.

    Words without a head are skipped; InputError if there are no others. Labels count where every parser gives
    the word the right head. One pass with sums over trees per parser.
    """
    shares = gold_probabilities(parsers, dev, threads=threads)
    if not len(shares):
        raise InputError(f"{dev.source}: expected words with heads that a parser considers, got none")
    # Rounded, so that a model's bytes do not depend on the last digits of a search; none is 0.
    rounded = [max(round(weight, DIGITS), 10.0**-DIGITS) for weight in maximize(shares).tolist()]
    return normalized(rounded, len(parsers))


def gold_probabilities(parsers: Sequence[Parser], dev: Columns, *, threads: int = 1) -> Doubles:
    """Each parser's P(right head), then P(right label | head), (words with one, parsers)."""
    found = [parser.confidence(dev, threads=threads) for parser in parsers]
    heads = np.array([each.known_head_probabilities for each in found]).T
    labels = np.array([each.known_label_probabilities for each in found]).T
    right = np.array([each.heads == dev.heads for each in found]).all(axis=0)
    shares = np.concatenate([heads[dev.heads >= 0], labels[right]])
    # Without what no parser knows or considers: weights do not change it.
    return shares[~np.isnan(shares).any(axis=1) & (shares > 0.0).any(axis=1)]


def maximize(shares: Doubles) -> Doubles:
    """The weights with the largest mean of log(shares @ weights), to within `PRECISION`."""
    weights = np.full(shares.shape[1], 1.0 / shares.shape[1])
    for _ in range(MOST_STEPS):
        following = step(shares, weights)
        # By concavity, no weights gain more than the largest slope.
        if np.max(following / weights) < 1.0 + PRECISION:
            break
        weights = following
    return weights


def step(shares: Doubles, weights: Doubles) -> Doubles:
    """One step of expectation maximisation."""
    mixed = shares * weights
    return np.mean(mixed / mixed.sum(axis=1, keepdims=True), axis=0)
