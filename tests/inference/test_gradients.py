"""Marginals are the gradient of log_partition: compared with central differences."""

import numpy as np
import pytest
from inference.helpers import MODELS, STEP, each_family, make_scores, random_parts, slope

from arbora import inference


def coordinates(shape, count, seed):
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(0, size) for size in shape) for _ in range(count)]


@each_family
@pytest.mark.parametrize("kind", ["normal", "parser_like", "shifted_word", "mutual_pair"])
def test_arcs(kind, trees, roots):
    scores = make_scores(kind, 9, 0)
    options = {"trees": trees, "roots": roots}
    marginals = inference.marginals(scores, **options)
    for index in coordinates(scores.shape, 40, 0):
        if not np.isnan(scores[index]):
            found = slope(lambda: inference.log_partition(scores, **options), scores, index)
            assert found == pytest.approx(marginals[index], abs=1e-6)


@each_family
def test_labelled_arcs(trees, roots):
    scores = make_scores("normal", 6, 1, labels=3)
    options = {"trees": trees, "roots": roots}
    marginals = inference.marginals(scores, **options)
    for index in coordinates(scores.shape, 60, 1):
        if not np.isnan(scores[index]):
            found = slope(lambda: inference.log_partition(scores, **options), scores, index)
            assert found == pytest.approx(marginals[index], abs=1e-6)


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("model", MODELS, ids="+".join)
def test_second_order_parts(model, roots):
    scores, parts = random_parts(8, model, 2)
    options = {"trees": "projective", "roots": roots, **parts}
    marginals = inference.marginals(scores, **options)
    for name, array in {"arcs": scores, **parts}.items():
        expected = getattr(marginals, name)
        likely = np.argwhere(expected > 1e-3)
        for index in map(tuple, likely[:: max(1, len(likely) // 15)]):
            found = slope(lambda: inference.log_partition(scores, **options), array, index)
            assert found == pytest.approx(expected[index], abs=1e-6)


@each_family
def test_a_large_sentence_along_a_random_direction(trees, roots):
    rng = np.random.default_rng(3)
    scores, direction = rng.normal(size=(2, 41, 41))
    options = {"trees": trees, "roots": roots}
    up = inference.log_partition(scores + STEP * direction, **options)
    down = inference.log_partition(scores - STEP * direction, **options)
    marginals = inference.marginals(scores, **options)
    assert (up - down) / (2 * STEP) == pytest.approx(np.sum(marginals * direction), abs=1e-5)
