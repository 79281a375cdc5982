"""The traps on which other libraries fall: overflow, cancellation, penalties, shared state."""

import itertools
import math

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    MODELS,
    check_marginals,
    each_family,
    families,
    make_scores,
    random_parts,
    right_or_refused,
    seeded,
)
from oracle.enumerate_trees import enumerate_forest, is_tree

from arbora import inference
from arbora.errors import InputError

SCALES = [1e-300, 1e-12, 1e-3, 1.0, 50.0, 800.0, 1e4, 1e6]


def check_everything(scores, trees, roots):
    """The promises that hold whatever the scores; returns (best, log Z, marginals)."""
    options = {"trees": trees, "roots": roots}
    best = inference.argmax(scores, **options)
    log_z = inference.log_partition(scores, **options)
    marginals = inference.marginals(scores, **options)
    assert is_tree(best.heads, trees, roots)
    assert math.isfinite(log_z)
    assert log_z >= best.score
    check_marginals(marginals)
    if roots == "single":
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-9)
    assert inference.log_prob(scores, best.heads, **options) <= 0.0
    assert inference.entropy(scores, **options) >= 0.0
    for tree in inference.sample(scores, 3, **options):
        assert is_tree(tree.heads, trees, roots)
        assert inference.log_prob(scores, tree.heads, **options) <= 0.0
    assert is_tree(inference.minimum_risk(scores, **options).heads, trees, roots)
    return best, log_z, marginals


@each_family
@pytest.mark.parametrize("scale", SCALES)
def test_thirty_words_at_every_scale(scale, trees, roots):
    rng = np.random.default_rng(0)
    for scores in (rng.normal(size=(31, 31)), rng.uniform(-1, 1, size=(31, 31))):
        check_everything(scale * scores, trees, roots)


@seeded
@given(n=st.integers(1, 25), kind=st.sampled_from(sorted(set(KINDS) - {"one_tree", "masked"})),
       seed=st.integers(0, 10**6), family=families)  # fmt: skip
def test_the_promises_hold_for_adversarial_scores(n, kind, seed, family):
    check_everything(make_scores(kind, n, seed), *family)


@each_family
@pytest.mark.parametrize("n", [2, 5, 40])
def test_two_words_score_each_other_far_above_the_root(n, trees, roots):
    """The words' weights swallow the root's in a determinant, which then is 0."""
    scores = np.zeros((n + 1, n + 1))
    scores[1, 2] = scores[2, 1] = 1000.0
    best, log_z, marginals = check_everything(scores, trees, roots)
    assert best.score == 1000.0
    assert marginals[1, 2] + marginals[2, 1] == pytest.approx(1.0, abs=1e-9)
    if n <= 5:
        forest = enumerate_forest(scores, trees, roots)
        assert log_z == pytest.approx(forest.log_partition, abs=1e-9)
        assert np.allclose(marginals, forest.marginals(), rtol=0, atol=1e-9)


@each_family
def test_every_adjacent_pair_loves_each_other(trees, roots):
    n = 6
    scores = np.random.default_rng(1).normal(size=(n + 1, n + 1))
    for left in (1, 3, 5):
        scores[left, left + 1] = scores[left + 1, left] = 1000.0
    _, log_z, marginals = check_everything(scores, trees, roots)
    forest = enumerate_forest(scores, trees, roots)
    assert log_z == pytest.approx(forest.log_partition, abs=1e-9)
    assert np.allclose(marginals, forest.marginals(), rtol=0, atol=1e-9)


@each_family
@pytest.mark.parametrize("shift", [-1e6, -800.0, 800.0, 1e6])
def test_one_word_shifted_changes_no_probability(shift, trees, roots):
    scores = np.random.default_rng(2).normal(size=(26, 26))
    _, before, expected = check_everything(scores, trees, roots)
    scores[:, 7] += shift
    _, after, found = check_everything(scores, trees, roots)
    assert np.allclose(found, expected, rtol=0, atol=1e-8)
    assert after == pytest.approx(before + shift, abs=1e-8)


@each_family
def test_all_words_shifted_by_different_amounts(trees, roots):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(26, 26))
    expected = inference.marginals(scores, trees=trees, roots=roots)
    shifted = scores + rng.uniform(-1e5, 1e5, size=26)
    found = inference.marginals(shifted, trees=trees, roots=roots)
    assert np.allclose(found, expected, rtol=0, atol=1e-8)


@each_family
@pytest.mark.parametrize("mask", [-1e32, -1e300, -1e9])
def test_a_large_negative_mask_works_as_minus_infinity(mask, trees, roots):
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(7, 7))
    barred = rng.random((7, 7)) < 0.4
    barred[np.arange(6), np.arange(1, 7)] = False  # a chain stays
    soft, hard = np.where(barred, mask, scores), np.where(barred, -np.inf, scores)
    best, log_z, marginals = check_everything(soft, trees, roots)
    forest = enumerate_forest(hard, trees, roots)
    assert best.score == pytest.approx(forest.best_score, abs=1e-9)
    assert log_z == pytest.approx(forest.log_partition, abs=1e-9)
    assert np.allclose(marginals, forest.marginals(), rtol=0, atol=1e-9)
    listed = inference.kbest(soft, min(5, len(forest)), trees=trees, roots=roots)
    expected = forest.ranked()[: len(listed)].tolist()
    assert [tree.score for tree in listed] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("mask", [-1e32, -1e300])
def test_a_masked_root_row_still_gives_exactly_one_root(trees, mask):
    """A penalty for the second root drowns in the mask; a constraint does not."""
    scores = np.random.default_rng(5).normal(size=(9, 9))
    scores[0, :] = mask
    best, _, marginals = check_everything(scores, trees, "single")
    assert np.sum(best.heads == 0) == 1
    assert marginals[0].sum() == pytest.approx(1.0, abs=1e-9)
    for tree in inference.kbest(scores, 20, trees=trees, roots="single"):
        assert np.sum(tree.heads == 0) == 1
    for tree in inference.sample(scores, 20, trees=trees, roots="single"):
        assert np.sum(tree.heads == 0) == 1


@each_family
@pytest.mark.parametrize("n", [1, 2, 10, 200])
def test_a_mask_that_leaves_one_tree(n, trees, roots):
    heads = np.r_[-1, 0, np.arange(1, n)]
    scores = np.full((n + 1, n + 1), -np.inf)
    words = np.arange(1, n + 1)
    scores[heads[1:], words] = np.random.default_rng(6).normal(size=n) * 1e3
    best, log_z, marginals = check_everything(scores, trees, roots)
    assert best.heads.tolist() == heads.tolist()
    assert log_z == pytest.approx(best.score, abs=1e-9)
    assert np.allclose(marginals[heads[1:], words], 1.0, rtol=0, atol=1e-12)
    options = {"trees": trees, "roots": roots}
    assert len(inference.kbest(scores, 10, **options)) == 1
    assert len(inference.sample(scores, 10, replacement=False, **options)) == 1
    assert inference.entropy(scores, **options) == pytest.approx(0.0, abs=1e-9)


@each_family
@pytest.mark.parametrize("gap", [1e-15, 1e-12, 1e-9])
def test_near_ties_are_all_but_uniform(gap, trees, roots):
    scores = gap * np.random.default_rng(7).normal(size=(11, 11))
    uniform = inference.marginals(np.zeros((11, 11)), trees=trees, roots=roots)
    _, _, marginals = check_everything(scores, trees, roots)
    assert np.allclose(marginals, uniform, rtol=0, atol=1e-7)


@each_family
def test_hugely_unequal_scores_put_all_mass_on_one_tree(trees, roots):
    scores = np.random.default_rng(8).uniform(-1e6, 1e6, size=(21, 21))
    best, log_z, marginals = check_everything(scores, trees, roots)
    assert log_z == pytest.approx(best.score, rel=1e-14)
    assert np.allclose(marginals[best.heads[1:], np.arange(1, 21)], 1.0, rtol=0, atol=1e-9)


@each_family
def test_k_beyond_the_number_of_trees(trees, roots):
    for n in (1, 2, 3, 4):
        forest = enumerate_forest(np.zeros((n + 1, n + 1)), trees, roots)
        scores = -1e6 * np.random.default_rng(n).random((n + 1, n + 1))
        found = inference.kbest(scores, 1000, trees=trees, roots=roots)
        assert len({tuple(tree.heads) for tree in found}) == len(found) == len(forest)


@each_family
def test_kbest_over_a_wide_range_in_a_longer_sentence(trees, roots):
    rng = np.random.default_rng(9)
    scores = -(10.0 ** rng.uniform(-6, 6, size=(16, 16)))
    found = inference.kbest(scores, 300, trees=trees, roots=roots)
    assert len({tuple(tree.heads) for tree in found}) == 300
    for tree in found:
        assert is_tree(tree.heads, trees, roots)
        arcs = math.fsum(scores[tree.heads[1:], np.arange(1, 16)])
        assert tree.score == pytest.approx(arcs, rel=1e-13)
    listed = [tree.score for tree in found]
    assert listed == sorted(listed, reverse=True)


@each_family
def test_labels_of_hugely_different_scores(trees, roots):
    rng = np.random.default_rng(10)
    scores = rng.normal(size=(6, 6, 3)) + np.array([0.0, -1e6, -np.inf])
    marginals = inference.marginals(scores, trees=trees, roots=roots)
    check_marginals(marginals)
    assert np.all(marginals[:, :, 2] == 0.0)
    plain = inference.log_partition(scores[:, :, 0], trees=trees, roots=roots)
    found = inference.log_partition(scores, trees=trees, roots=roots)
    assert found == pytest.approx(plain, abs=1e-9)


def test_options_of_one_call_do_not_leak_into_the_next():
    scores = np.random.default_rng(11).normal(size=(8, 8)) * 3
    settings = [
        {"trees": trees, "roots": roots, "required": required}
        for trees, roots, required in itertools.product(
            ("projective", "nonprojective"), ("single", "multi"), (None, [(2, 1)])
        )
    ]
    alone = [inference.log_partition(scores, **setting) for setting in settings]
    assert len(set(alone)) == len(alone)
    for order in (settings, settings[::-1], settings[::2] + settings[1::2]):
        for setting in order:
            expected = alone[settings.index(setting)]
            assert inference.log_partition(scores, **setting) == expected
            inference.argmax(-scores, **setting)


# In extended range sums take several times as long as in plain doubles: half as many words there.
LONG = pytest.mark.parametrize(("words", "roots", "scale"), [(1000, "single", 1.0), (500, "multi", 1e6)])


@LONG
def test_a_thousand_words_nonprojective(words, roots, scale):
    scores = np.random.default_rng(12).normal(size=(words + 1, words + 1)) * scale
    best = inference.argmax(scores, roots=roots)
    log_z = inference.log_partition(scores, roots=roots)
    assert is_tree(best.heads, "nonprojective", roots)
    assert math.isfinite(log_z)
    assert log_z >= best.score
    check_marginals(inference.marginals(scores, roots=roots))


@LONG
def test_a_thousand_words_projective(words, roots, scale):
    scores = np.random.default_rng(13).normal(size=(words + 1, words + 1)) * scale
    best = inference.argmax(scores, trees="projective", roots=roots)
    log_z = inference.log_partition(scores, trees="projective", roots=roots)
    assert np.sum(best.heads == 0) == 1 or roots == "multi"
    assert math.isfinite(log_z)
    assert log_z >= best.score


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_marginals_of_three_hundred_awkward_words(trees):
    scores = make_scores("mutual_pair", 300, 0)
    scores[:, 9] -= 800.0
    scores[4, 20] = scores[20, 4] = 1e6
    check_marginals(inference.marginals(scores, trees=trees, roots="single"))


@each_family
@pytest.mark.parametrize("value", [-1e12, 2e12, -2e12, 1e15, -1e15, 1e20, -1e20, 1e299, -1e299])
def test_log_partition_of_large_scores(value, trees, roots):
    scores = np.zeros((4, 4))
    scores[:, 1] = value
    expected = value + inference.log_partition(np.zeros((4, 4)), trees=trees, roots=roots)
    assert inference.log_partition(scores, trees=trees, roots=roots) == pytest.approx(expected, rel=1e-15)
    marginals = inference.marginals(scores, trees=trees, roots=roots)
    assert np.allclose(marginals, inference.marginals(np.zeros((4, 4)), trees=trees, roots=roots), atol=1e-12)


@each_family
@pytest.mark.parametrize("scale", [1e12, 1e15, 1e20, 1e290])
def test_with_large_scores_the_best_tree_has_all_probability(scale, trees, roots):
    for seed in range(20):
        scores = np.random.default_rng(seed).normal(size=(5, 5)) * scale
        best = inference.argmax(scores, trees=trees, roots=roots)
        assert inference.log_partition(scores, trees=trees, roots=roots) == pytest.approx(
            best.score, rel=1e-14
        )
        assert inference.entropy(scores, trees=trees, roots=roots) == pytest.approx(0.0, abs=1e-9)
        marginals = inference.marginals(scores, trees=trees, roots=roots)
        assert marginals[best.heads[1:], np.arange(1, 5)] == pytest.approx(1.0)
        drawn = inference.sample(scores, 3, trees=trees, roots=roots)
        assert all(tree.heads.tolist() == best.heads.tolist() for tree in drawn)


def with_large_scores(array, rng, size):
    """Some scores raised or lowered by `size`, or by a part of it."""
    sign = rng.choice([-1, 0, 1], p=[0.5, 0.2, 0.3], size=array.shape) if rng.random() < 0.7 else -1.0
    part = rng.random(array.shape) if rng.random() < 0.3 else 1.0
    return array + np.where(rng.random(array.shape) < rng.choice([0.05, 0.2, 0.5]), sign * part * size, 0.0)


@pytest.mark.parametrize("model", [(), *MODELS], ids=lambda model: "+".join(model) or "arcs")
@pytest.mark.parametrize("seed", range(40))
def test_queries_of_large_scores_are_right_or_refused(seed, model):
    rng = np.random.default_rng([7, seed])
    n, size = int(rng.integers(2, 5)), 10.0 ** rng.uniform(5, 17)
    scores, parts = random_parts(n, model, seed)
    scores = with_large_scores(scores, rng, size)
    parts = {name: with_large_scores(array, rng, size) for name, array in parts.items()}
    if rng.random() < 0.2:
        scores[0] -= size
    trees = "projective" if model or rng.random() < 0.5 else "nonprojective"
    roots = str(rng.choice(["single", "multi"]))
    options = {"trees": trees, "roots": roots, **parts}
    forest = enumerate_forest(scores, trees, roots, **parts)
    best = int(forest.scores.argmax())
    rounding = 1e-6 + 4e-16 * n * size  # of the scores themselves
    log_z = right_or_refused(inference.log_partition, scores, **options)
    if log_z is not None:
        assert log_z == pytest.approx(forest.log_partition, rel=1e-13, abs=rounding)
    entropy = right_or_refused(inference.entropy, scores, **options)
    if entropy is not None:
        assert entropy == pytest.approx(forest.entropy, abs=min(0.01, rounding))
    log_prob = right_or_refused(inference.log_prob, scores, forest.heads[best], **options)
    if log_prob is not None:
        assert log_prob == pytest.approx(float(forest.log_probabilities[best]), abs=rounding)
    found = right_or_refused(inference.marginals, scores, **options)
    if size < 1e10:
        assert None not in (log_z, entropy, log_prob)
        assert found is not None
    if found is not None:
        arcs = found.arcs if model else found
        words = np.arange(1, n + 1)
        assert np.allclose(arcs[:, words], forest.marginals()[:, words], rtol=0, atol=rounding)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("mask", [-1e7, -1e9, -1e11])
def test_entropy_with_soft_masks(trees, mask):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(5, 5))
        scores[rng.random((5, 5)) < 0.4] += mask
        scores[0, 1:] += mask
        forest = enumerate_forest(scores, trees, "single")
        assert inference.entropy(scores, trees=trees) == pytest.approx(
            forest.entropy, abs=1e-12 * abs(mask) + 1e-9
        )


@each_family
def test_a_root_row_masked_far_below_the_range_is_computed(trees, roots):
    scores = np.random.default_rng(5).normal(size=(6, 6))
    expected = enumerate_forest(scores, trees, "single").marginals()
    scores[0] -= 1e14  # which leaves each score two digits
    found = inference.marginals(scores, trees=trees, roots=roots)
    assert np.allclose(found, expected, rtol=0, atol=0.02)
    assert inference.log_partition(scores, trees=trees, roots=roots) == pytest.approx(-1e14, rel=1e-13)


def test_large_scores_that_cancel_in_the_best_trees_are_refused():
    scores = np.zeros((4, 4))
    scores[3, 2] = 4e12
    scores[0, 1] = scores[0, 3] = -4e12
    scores[0, 2] = 0.0
    for query in (inference.log_partition, inference.marginals, inference.entropy):
        with rejects(InputError, field="scores"):
            query(scores, trees="projective", roots="multi")


def test_second_order_scores_that_are_all_large_are_computed():
    scores = np.random.default_rng(1).normal(size=(4, 4))
    siblings = np.random.default_rng(2).normal(size=(4, 4, 4))
    expected = inference.marginals(scores, siblings=siblings, trees="projective")
    found = inference.marginals(scores, siblings=siblings - 2.0**42, trees="projective")
    assert np.allclose(found.arcs, expected.arcs, rtol=0, atol=0.01)
    log_z = inference.log_partition(scores, siblings=siblings - 2.0**42, trees="projective")
    assert log_z == pytest.approx(-3 * 2.0**42, rel=1e-12)
