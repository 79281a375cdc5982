import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    answer_and_forest,
    check_marginals,
    each_family,
    families,
    forced_through_mask,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
)
from oracle import exact
from oracle.enumerate_trees import enumerate_forest

from arbora import inference


def expect_marginals(scores, trees, roots):
    answer = answer_and_forest(inference.marginals, scores, trees, roots)
    if answer is None:
        return
    found, forest = answer
    assert found.shape == scores.shape
    assert found.dtype == np.float64
    check_marginals(found)
    assert np.all(found[np.isneginf(scores)] == 0.0)
    if not forced_through_mask(forest):
        assert np.allclose(found, forest.marginals(), rtol=0, atol=tolerance(scores))


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_six_words_of_every_kind(kind, trees, roots):
    for seed in range(2):
        expect_marginals(make_scores(kind, 6, seed), trees, roots)


@seeded
@given(scores=score_arrays(), family=families)
def test_adversarial_scores(scores, family):
    expect_marginals(scores, *family)


@seeded
@given(scores=labelled_arrays(), family=families)
def test_adversarial_labelled_scores(scores, family):
    expect_marginals(scores, *family)


@each_family
@pytest.mark.parametrize(("n", "spread"), [(8, 1), (8, 40), (8, 200), (6, 1400)])
def test_exact_arithmetic_agrees(n, spread, trees, roots):
    for seed in range(2):
        powers = exact.random_powers(np.random.default_rng(seed), n, spread, forbid=0.2 * seed)
        found = inference.marginals(exact.to_scores(powers), trees=trees, roots=roots)
        expected = exact.marginals(powers, trees, roots)
        assert np.allclose(found, expected, rtol=0, atol=1e-11)


@seeded
@given(n=st.integers(7, 40), kind=st.sampled_from(sorted(set(KINDS) - {"one_tree", "masked"})),
       seed=st.integers(0, 10**6), family=families)  # fmt: skip
def test_longer_sentences_still_give_probabilities(n, kind, seed, family):
    trees, roots = family
    check_marginals(inference.marginals(make_scores(kind, n, seed), trees=trees, roots=roots))


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_root_marginals_sum_to_one_when_one_root_is_asked_for(trees):
    for kind in ("normal", "mutual_pair", "shifted_word", "million"):
        scores = make_scores(kind, 12, 0)
        marginals = inference.marginals(scores, trees=trees, roots="single")
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-9)


@each_family
def test_expected_wrong_heads(trees, roots):
    scores = make_scores("normal", 4, 3)
    forest = enumerate_forest(scores, trees, roots)
    for heads in forest.heads[::7]:
        wrong = np.sum(forest.heads[:, 1:] != heads[1:], axis=1)
        expected = float(np.sum(forest.probabilities * wrong))
        found = inference.expected_wrong_heads(scores, heads, trees=trees, roots=roots)
        assert found == pytest.approx(expected, abs=1e-10)


@each_family
def test_expected_wrong_heads_ignores_labels(trees, roots):
    scores = make_scores("normal", 4, 3, labels=3)
    heads = inference.argmax(scores, trees=trees, roots=roots).heads
    flat = np.logaddexp.reduce(np.nan_to_num(scores), axis=2)
    found = inference.expected_wrong_heads(scores, heads, trees=trees, roots=roots)
    expected = inference.expected_wrong_heads(flat, heads, trees=trees, roots=roots)
    assert found == pytest.approx(expected, abs=1e-10)


@each_family
def test_the_empty_sentence(trees, roots):
    assert inference.marginals(np.zeros((1, 1)), trees=trees, roots=roots).tolist() == [[0.0]]
    wrong = inference.expected_wrong_heads(np.zeros((1, 1)), [-1], trees=trees, roots=roots)
    assert wrong == 0.0
