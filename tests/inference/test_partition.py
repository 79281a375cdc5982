import math

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    answer_and_forest,
    each_family,
    families,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
)
from oracle import exact
from oracle.enumerate_trees import enumerate_forest

from arbora import inference
from arbora.errors import InputError


def check_partition(scores, trees, roots):
    answer = answer_and_forest(inference.log_partition, scores, trees, roots)
    if answer is None:
        return
    found, forest = answer
    assert found == pytest.approx(forest.log_partition, rel=1e-13, abs=tolerance(scores))
    assert found >= inference.argmax(scores, trees=trees, roots=roots).score


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_six_words_of_every_kind(kind, trees, roots):
    for seed in range(2):
        check_partition(make_scores(kind, 6, seed), trees, roots)


@seeded
@given(scores=score_arrays(), family=families)
def test_adversarial_scores(scores, family):
    check_partition(scores, *family)


@seeded
@given(scores=labelled_arrays(), family=families)
def test_adversarial_labelled_scores(scores, family):
    check_partition(scores, *family)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
def test_zero_scores_count_trees(n):
    zeros = np.zeros((n + 1, n + 1))
    counts = {
        ("nonprojective", "single"): n ** (n - 1),
        ("nonprojective", "multi"): (n + 1) ** (n - 1),
        ("projective", "single"): math.comb(3 * n - 2, n - 1) // n,
        ("projective", "multi"): math.comb(3 * n, n) // (2 * n + 1),
    }
    for (trees, roots), count in counts.items():
        found = inference.log_partition(zeros, trees=trees, roots=roots)
        assert found == pytest.approx(math.log(count), rel=1e-13, abs=1e-12)


@each_family
@pytest.mark.parametrize("spread", [1, 30, 400, 1400])
def test_ten_words_in_exact_arithmetic(spread, trees, roots):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        powers = exact.random_powers(rng, 10, spread, forbid=0.15 * (seed % 2))
        expected = exact.log_partition(powers, trees, roots)
        found = inference.log_partition(exact.to_scores(powers), trees=trees, roots=roots)
        assert found == pytest.approx(expected, rel=1e-14, abs=1e-11)


@each_family
def test_the_empty_sentence(trees, roots):
    assert inference.log_partition(np.zeros((1, 1)), trees=trees, roots=roots) == 0.0
    assert inference.log_partition(np.zeros((1, 1, 2)), trees=trees, roots=roots) == 0.0


@each_family
def test_log_prob_of_every_tree(trees, roots):
    scores = make_scores("normal", 4, 0)
    forest = enumerate_forest(scores, trees, roots)
    for heads, expected in zip(forest.heads, forest.log_probabilities, strict=True):
        found = inference.log_prob(scores, heads, trees=trees, roots=roots)
        assert found == pytest.approx(float(expected), abs=1e-11)


@each_family
def test_log_prob_of_every_labelled_tree(trees, roots):
    scores = make_scores("normal", 3, 0, labels=2)
    forest = enumerate_forest(scores, trees, roots)
    for heads, labels, expected in zip(forest.heads, forest.labels, forest.log_probabilities, strict=True):
        found = inference.log_prob(scores, heads, labels, trees=trees, roots=roots)
        assert found == pytest.approx(float(expected), abs=1e-11)


@seeded
@given(scores=score_arrays(), family=families)
def test_log_prob_is_never_positive(scores, family):
    trees, roots = family
    forest = enumerate_forest(scores, trees, roots)
    if len(forest):
        best = inference.argmax(scores, trees=trees, roots=roots)
        assert inference.log_prob(scores, best.heads, trees=trees, roots=roots) <= 0.0


@seeded
@given(seed=st.integers(0, 10**6), shift=st.sampled_from([-1e6, -800.0, 3.0, 1e5]), family=families)
def test_a_shift_of_one_word_shifts_log_z_by_as_much(seed, shift, family):
    trees, roots = family
    scores = np.random.default_rng(seed).normal(size=(13, 13))
    moved = scores.copy()
    moved[:, 4] += shift
    before = inference.log_partition(scores, trees=trees, roots=roots)
    after = inference.log_partition(moved, trees=trees, roots=roots)
    assert after - before == pytest.approx(shift, abs=1e-9 + 1e-14 * abs(shift))


def test_log_prob_outside_the_support_is_minus_infinity():
    scores = np.zeros((4, 4))
    scores[0, 1] = -np.inf
    assert inference.log_prob(scores, [-1, 0, 1, 1]) == -np.inf  # a forbidden arc
    assert inference.log_prob(scores, [-1, 2, 0, 0]) == -np.inf  # two roots
    assert inference.log_prob(scores, [-1, 2, 1, 0]) == -np.inf  # a cycle
    assert inference.log_prob(scores, [-1, 2, 0, 2], required=[(3, 1)]) == -np.inf
    crossing = [-1, 3, 0, 2, 1]
    assert inference.log_prob(np.zeros((5, 5)), crossing, trees="projective") == -np.inf
    assert inference.log_prob(np.zeros((5, 5)), crossing) > -np.inf


@pytest.mark.parametrize(
    "heads",
    [
        [-1, 0, 1],  # too short
        [-1, 0, 1, 4],  # no such head
        [-1, 0, 2, 2],  # its own head
        [-1, 0, 1, -1],  # a word without a head
        [-1, 0.5, 1, 1],
        "heads",
        None,
    ],
)
def test_log_prob_wants_a_tree(heads):
    with pytest.raises(InputError):
        inference.log_prob(np.zeros((4, 4)), heads)


@each_family
def test_log_prob_without_labels_sums_over_them(trees, roots):
    scores = make_scores("normal", 3, 0, labels=2)
    forest = enumerate_forest(scores, trees, roots)
    for heads in np.unique(forest.heads, axis=0):
        same = np.all(forest.heads == heads, axis=1)
        expected = np.log(float(forest.probabilities[same].sum()))
        found = inference.log_prob(scores, heads, trees=trees, roots=roots)
        assert found == pytest.approx(expected, abs=1e-11)


def test_log_prob_checks_its_labels():
    heads = np.array([-1, 0, 1])
    with rejects(InputError, field="labels"):
        inference.log_prob(np.zeros((3, 3)), heads, labels=np.array([-1, 0, 0]))
    for labels in ([-1, 0, 2], [-1, 0, -1], [-1, 0], [-1, 0.0, 0.5], "labels"):
        with rejects(InputError, field="labels"):
            inference.log_prob(np.zeros((3, 3, 2)), heads, labels=labels)
