"""Weights of an ensemble that are fitted on a dev set."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from graph_toys import config, treebank

from arbora.data.columns import columns_of
from arbora.errors import InputError
from arbora.parsing import ensemble_weights
from arbora.parsing.ensemble_weights import fit_weights
from arbora.training import train

TRAIN, DEV = treebank(60, seed=1), treebank(40, seed=2)


@pytest.fixture(scope="module")
def parsers():
    good = train(TRAIN, DEV, config=config(epochs=3, order=1)).parser
    other = train(TRAIN, DEV, config=config(epochs=2, order=2, seed=5)).parser
    bad = train(treebank(4, seed=7), DEV, config=config(epochs=1, order=1)).parser
    return [good, other, bad]


def log_likelihood(shares, weights):
    return float(np.mean(np.log(shares @ np.array(weights))))


def simplex(count, steps):
    """All weights that are multiples of 1/steps."""
    for parts in product(range(steps + 1), repeat=count - 1):
        if sum(parts) <= steps:
            yield (*(part / steps for part in parts), 1 - sum(parts) / steps)


@pytest.mark.parametrize("count", [2, 3])
def test_no_weights_of_a_grid_are_better(parsers, count):
    shares = ensemble_weights.gold_probabilities(parsers[:count], DEV)
    best = log_likelihood(shares, ensemble_weights.maximize(shares))
    with np.errstate(divide="ignore"):
        assert best >= max(log_likelihood(shares, each) for each in simplex(count, 50)) - 1e-5


def test_the_likelihood_never_falls(parsers):
    shares = ensemble_weights.gold_probabilities(parsers, DEV)
    weights = np.full(3, 1 / 3)
    for _ in range(100):
        following = ensemble_weights.step(shares, weights)
        assert log_likelihood(shares, following) >= log_likelihood(shares, weights) - 1e-12
        assert following.sum() == pytest.approx(1)
        weights = following


def test_better_parsers_weigh_more(parsers):
    weights = fit_weights(parsers, DEV)
    assert weights == fit_weights(parsers, DEV, threads=2)
    assert sum(weights) == pytest.approx(1)
    assert min(weights) == weights[2] < 0.1
    assert fit_weights([parsers[0]] * 2, DEV) == (0.5, 0.5)
    assert fit_weights(parsers[:1], DEV) == (1.0,)


def test_words_without_heads_are_skipped(parsers):
    first = [sentence for sentence, _ in zip(DEV.sentences(), range(20), strict=False)]
    bare = [replace(each, heads=(-1,) * len(each), deprels=("_",) * len(each)) for each in first]
    assert fit_weights(parsers, columns_of([*first, *bare])) == fit_weights(parsers, columns_of(first))
    for nothing in (columns_of(bare), columns_of([])):
        with pytest.raises(InputError, match="expected words with heads"):
            fit_weights(parsers, nothing)
