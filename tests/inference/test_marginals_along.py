"""How marginals change along a direction: covariances over all trees, and central differences."""

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    STEP,
    answer_and_forest,
    each_family,
    families,
    few,
    forced_through_mask,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
)

from arbora import inference
from arbora.errors import InputError


def covariance(forest, direction):
    """Cov(arc, sum of the direction over the tree), from the list of all trees."""
    result = np.zeros(direction.shape)
    words = np.arange(1, forest.heads.shape[1])
    places = [
        (heads[1:], words) if forest.labels is None else (heads[1:], words, forest.labels[i][1:])
        for i, heads in enumerate(forest.heads)
    ]
    sums = np.array([direction[place].sum() for place in places])
    probabilities = np.asarray(forest.probabilities, dtype=np.float64)
    for place, probability, total in zip(places, probabilities, sums - probabilities @ sums, strict=True):
        result[place] += probability * total
    return result


def check_covariance(scores, family, seed):
    direction = np.random.default_rng(seed).normal(size=scores.shape)
    direction[scores == -np.inf] = np.nan  # nobody may look

    def query(given, **options):
        return inference.marginals_along(given, direction, **options)

    found = answer_and_forest(query, scores, *family)
    if found is None or forced_through_mask(found[1]):
        return
    answer, forest = found
    assert np.allclose(answer, covariance(forest, direction), rtol=0, atol=100 * tolerance(scores))


@seeded
@given(score_arrays(), families, st.integers(0, 10**6))
def test_is_a_covariance(scores, family, seed):
    check_covariance(scores, family, seed)


@few
@given(labelled_arrays(), families, st.integers(0, 10**6))
def test_is_a_covariance_of_labelled_arcs(scores, family, seed):
    check_covariance(scores, family, seed)


@each_family
@pytest.mark.parametrize("kind", ["normal", "parser_like", "shifted_word", "mutual_pair"])
@pytest.mark.parametrize("n", [9, 34])
def test_agrees_with_central_differences(kind, n, trees, roots):
    scores = make_scores(kind, n, 0)
    direction = np.random.default_rng(n).normal(size=scores.shape)
    options = {"trees": trees, "roots": roots}
    up = inference.marginals(scores + STEP * direction, **options)
    down = inference.marginals(scores - STEP * direction, **options)
    found = inference.marginals_along(scores, direction, **options)
    assert np.allclose(found, (up - down) / (2 * STEP), rtol=0, atol=1e-6)


@each_family
def test_is_symmetric_and_keeps_columns(trees, roots):
    rng = np.random.default_rng(5)
    scores, one, other = rng.normal(size=(3, 12, 12))
    options = {"trees": trees, "roots": roots}
    along_one = inference.marginals_along(scores, one, **options)
    along_other = inference.marginals_along(scores, other, **options)
    assert np.sum(along_one * other) == pytest.approx(np.sum(along_other * one), abs=1e-12)
    assert np.allclose(along_one.sum(axis=0), 0.0, atol=1e-13)
    constant = np.ones_like(scores)  # every tree has as many arcs
    assert np.allclose(inference.marginals_along(scores, constant, **options), 0.0, atol=1e-12)


@each_family
def test_batches_of_any_lengths_on_threads(trees, roots):
    rng = np.random.default_rng(6)
    batch = [rng.normal(size=(n + 1, n + 1)) for n in (0, 1, 7, 3, 20)]
    directions = [rng.normal(size=scores.shape) for scores in batch]
    options = {"trees": trees, "roots": roots}
    found = inference.marginals_along(batch, directions, threads=3, **options)
    for scores, direction, answer in zip(batch, directions, found, strict=True):
        assert np.array_equal(answer, inference.marginals_along(scores, direction, **options))


def test_known_heads_do_not_move():
    scores, direction = np.random.default_rng(7).normal(size=(2, 6, 6))
    found = inference.marginals_along(scores, direction, required=[(2, 3)])
    assert not found[:, 3].any()
    assert found.any()


def test_bad_arguments_are_rejected():
    scores = np.zeros((4, 4))
    with rejects(InputError, field="direction"):
        inference.marginals_along(scores, np.zeros((3, 3)))
    with rejects(InputError, field="direction"):
        inference.marginals_along([scores], scores)
    with rejects(InputError, field="direction[2, 1]"):
        inference.marginals_along(scores, np.where(np.arange(16).reshape(4, 4) == 9, np.nan, 0.0))
    with rejects(InputError, field="scores"):
        inference.marginals_along(scores, scores, trees="projective", siblings=np.zeros((4, 4, 4)))
