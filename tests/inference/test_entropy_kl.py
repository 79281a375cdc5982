import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    answer_and_forest,
    each_family,
    families,
    forced_through_mask,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
)
from oracle.enumerate_trees import enumerate_forest

from arbora import inference

FINITE_KINDS = tuple(sorted(set(KINDS) - {"masked", "one_tree", "soft_masked"}))


def expect_entropy(scores, trees, roots):
    answer = answer_and_forest(inference.entropy, scores, trees, roots)
    if answer is None:
        return
    found, forest = answer
    assert 0.0 <= found <= math.log(len(forest)) + 1e-9
    if not forced_through_mask(forest):
        assert found == pytest.approx(forest.entropy, abs=100 * tolerance(scores))


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_entropy_of_five_words_of_every_kind(kind, trees, roots):
    expect_entropy(make_scores(kind, 5, 0), trees, roots)


@seeded
@given(scores=score_arrays(), family=families)
def test_entropy_of_adversarial_scores(scores, family):
    expect_entropy(scores, *family)


@seeded
@given(scores=labelled_arrays(), family=families)
def test_entropy_of_labelled_scores_is_over_labelled_trees(scores, family):
    expect_entropy(scores, *family)


@each_family
def test_entropy_of_equal_scores_is_the_log_of_the_count(trees, roots):
    for n in (1, 4, 15):
        zeros = np.full((n + 1, n + 1), 123.0)
        count = inference.log_partition(np.zeros((n + 1, n + 1)), trees=trees, roots=roots)
        assert inference.entropy(zeros, trees=trees, roots=roots) == pytest.approx(count, abs=1e-9)


@each_family
@pytest.mark.parametrize("kind", FINITE_KINDS)
def test_kl_of_four_words_of_every_kind(kind, trees, roots):
    p, q = make_scores(kind, 4, 0), make_scores(kind, 4, 1)
    expected = enumerate_forest(p, trees, roots).kl_divergence(enumerate_forest(q, trees, roots))
    found = inference.kl_divergence(p, q, trees=trees, roots=roots)
    assert found >= 0.0
    assert found == pytest.approx(expected, rel=1e-9, abs=1000 * tolerance(p, q))


@each_family
def test_kl_of_labelled_scores(trees, roots):
    p, q = (make_scores("normal", 3, seed, labels=2) for seed in (0, 1))
    expected = enumerate_forest(p, trees, roots).kl_divergence(enumerate_forest(q, trees, roots))
    found = inference.kl_divergence(p, q, trees=trees, roots=roots)
    assert found == pytest.approx(expected, abs=1e-10)


@seeded
@given(scores=score_arrays(kinds=FINITE_KINDS), family=families, shift=st.floats(-100, 100))
def test_kl_to_itself_and_to_a_shift_of_itself_is_zero(scores, family, shift):
    trees, roots = family
    if not len(enumerate_forest(scores, trees, roots)):
        return
    slack = 1000 * tolerance(scores)
    found = inference.kl_divergence(scores, scores, trees=trees, roots=roots)
    assert found == pytest.approx(0.0, abs=slack)
    moved = inference.kl_divergence(scores, scores + shift, trees=trees, roots=roots)
    assert 0.0 <= moved <= slack


def test_kl_is_infinite_where_q_forbids_what_p_allows():
    p, q = np.zeros((4, 4)), np.zeros((4, 4))
    q[0, 1] = -np.inf
    assert inference.kl_divergence(p, q) == np.inf
    assert math.isfinite(inference.kl_divergence(q, p))


@each_family
def test_kl_with_the_same_arcs_forbidden_in_both(trees, roots):
    p, q = make_scores("normal", 4, 2), make_scores("normal", 4, 3)
    p[2, 3] = q[2, 3] = -np.inf
    expected = enumerate_forest(p, trees, roots).kl_divergence(enumerate_forest(q, trees, roots))
    found = inference.kl_divergence(p, q, trees=trees, roots=roots)
    assert found == pytest.approx(expected, abs=1e-10)


@each_family
def test_the_empty_sentence(trees, roots):
    empty = np.zeros((1, 1))
    assert inference.entropy(empty, trees=trees, roots=roots) == 0.0
    assert inference.kl_divergence(empty, empty, trees=trees, roots=roots) == 0.0
