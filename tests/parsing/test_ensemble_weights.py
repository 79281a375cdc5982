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


def brier_score(parsers, weights):
    """Of the mean P(head) of DEV, word by word."""
    tables = [
        parser.confidence(DEV, temperatures=parser.calibration.for_minimum_risk, arc_table=True).arc_table
        for parser in parsers
    ]
    mean = sum(weight * table for weight, table in zip(weights, tables, strict=True))
    at, score = 0, 0.0
    for sentence in DEV.sentences():
        n = len(sentence)
        table = mean[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        for dep, right in enumerate(sentence.heads, start=1):
            score += sum((table[head, dep] - (head == right)) ** 2 for head in range(n + 1))
        at += (n + 1) ** 2
    return score / DEV.words


def simplex(count, steps):
    """All weights that are multiples of 1/steps."""
    for parts in product(range(steps + 1), repeat=count - 1):
        if sum(parts) <= steps:
            yield (*(part / steps for part in parts), 1 - sum(parts) / steps)


def test_the_quadratic_is_the_brier_score(parsers):
    products, right = ensemble_weights.head_products(parsers, DEV)
    for weights in ([1, 0, 0], [0.2, 0.3, 0.5]):
        quadratic = weights @ products @ weights - 2 * right @ weights + 1
        assert quadratic == pytest.approx(brier_score(parsers, weights))


@pytest.mark.parametrize("count", [2, 3])
def test_no_weights_of_a_grid_are_better(parsers, count):
    products, right = ensemble_weights.head_products(parsers[:count], DEV)

    def score(weights):
        return np.array(weights) @ products @ weights - 2 * right @ weights

    found = fit_weights(parsers[:count], DEV)
    assert score(found) <= min(map(score, simplex(count, 50))) + 1e-4  # they are rounded


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
