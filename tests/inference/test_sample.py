import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    SURPRISE,
    check_best,
    chi_square,
    counts,
    each_family,
    families,
    few,
    identical,
    make_scores,
    score_arrays,
    tolerance,
    tree_key,
)
from oracle.enumerate_trees import enumerate_forest, is_tree

from arbora import inference
from arbora.errors import InputError, NoTreeError

DRAWS = 8_000


@each_family
@pytest.mark.parametrize("kind", ["normal", "parser_like", "ties", "mutual_pair", "shifted_word"])
@pytest.mark.parametrize("n", [2, 4])
def test_frequencies_follow_the_distribution(n, kind, trees, roots):
    scores = make_scores(kind, n, 0)
    forest = enumerate_forest(scores, trees, roots)
    found = inference.sample(scores, DRAWS, seed=1, trees=trees, roots=roots)
    assert len(found) == DRAWS
    assert chi_square(counts(found, forest), forest.probabilities) > SURPRISE


@each_family
def test_frequencies_of_labelled_trees(trees, roots):
    scores = make_scores("normal", 3, 1, labels=2)
    forest = enumerate_forest(scores, trees, roots)
    found = inference.sample(scores, DRAWS, seed=2, trees=trees, roots=roots)
    assert chi_square(counts(found, forest), forest.probabilities) > SURPRISE


@each_family
def test_uniform_over_six_words(trees, roots):
    scores = np.zeros((7, 7))
    forest = enumerate_forest(scores, trees, roots)
    found = inference.sample(scores, 60_000, seed=3, trees=trees, roots=roots)
    assert chi_square(counts(found, forest), forest.probabilities) > SURPRISE


@each_family
def test_arc_frequencies_of_a_longer_sentence(trees, roots):
    scores = np.random.default_rng(8).normal(size=(16, 16))
    marginals = inference.marginals(scores, trees=trees, roots=roots)
    found = inference.sample(scores, DRAWS, seed=4, trees=trees, roots=roots)
    heads = np.array([best.heads for best in found])
    for dep in range(1, 16):
        observed = np.bincount(heads[:, dep], minlength=16)
        assert chi_square(observed, marginals[:, dep]) > SURPRISE


@each_family
def test_drawing_all_without_replacement_lists_every_tree_once(trees, roots):
    for kind in ("normal", "parser_like", "shifted_word", "mutual_pair"):
        scores = make_scores(kind, 4, 0)
        forest = enumerate_forest(scores, trees, roots)
        found = inference.sample(scores, 1000, seed=5, replacement=False, trees=trees, roots=roots)
        assert np.all(counts(found, forest) == 1), kind


@each_family
def test_without_replacement_labelled_lists_every_tree_once(trees, roots):
    scores = make_scores("normal", 3, 0, labels=2)
    forest = enumerate_forest(scores, trees, roots)
    found = inference.sample(scores, 1000, seed=5, replacement=False, trees=trees, roots=roots)
    assert np.all(counts(found, forest) == 1)


@each_family
def test_without_replacement_is_sequential_sampling(trees, roots):
    """Ordered pairs (a, b) come up with probability p(a) p(b) / (1 - p(a))."""
    scores = make_scores("normal", 3, 4)
    forest = enumerate_forest(scores, trees, roots)
    p = forest.probabilities
    pairs = list(itertools.permutations(range(len(forest)), 2))
    index = {pair: i for i, pair in enumerate(pairs)}
    observed = np.zeros(len(pairs), dtype=int)
    for seed in range(4000):
        first, second = inference.sample(scores, 2, seed=seed, replacement=False, trees=trees, roots=roots)
        observed[index[forest.find(first.heads), forest.find(second.heads)]] += 1
    expected = [float(p[a] * p[b] / (1 - p[a])) for a, b in pairs]
    assert chi_square(observed, expected) > SURPRISE


@each_family
def test_without_replacement_never_repeats_in_a_long_sentence(trees, roots):
    scores = make_scores("parser_like", 25, 0)
    found = inference.sample(scores, 100, seed=6, replacement=False, trees=trees, roots=roots)
    assert len({tree_key(best) for best in found}) == 100


@few
@given(scores=score_arrays(), family=families, seed=st.integers(0, 2**32), both=st.booleans())
def test_adversarial_scores_give_valid_trees_that_are_allowed(scores, family, seed, both):
    trees, roots = family
    forest = enumerate_forest(scores, trees, roots)
    options = {"seed": seed, "replacement": both, "trees": trees, "roots": roots}
    if not len(forest):
        with pytest.raises(NoTreeError):
            inference.sample(scores, 5, **options)
        return
    found = inference.sample(scores, 5, **options)
    assert len(found) == (5 if both else min(5, len(forest)))
    for best in found:
        check_best(best, scores, trees, roots, tolerance(scores))
    if not both:
        assert len({tree_key(best) for best in found}) == len(found)


@each_family
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"masked", "one_tree"}))
def test_a_root_is_a_root_at_any_scale(kind, trees, roots):
    for best in inference.sample(make_scores(kind, 20, 0), 5, trees=trees, roots=roots):
        assert is_tree(best.heads, trees, roots)


@each_family
def test_one_seed_one_sample(trees, roots):
    scores = np.random.default_rng(0).normal(size=(11, 11))
    options = {"trees": trees, "roots": roots}
    for replacement in (True, False):
        first = inference.sample(scores, 20, seed=7, replacement=replacement, **options)
        again = inference.sample(scores, 20, seed=7, replacement=replacement, **options)
        other = inference.sample(scores, 20, seed=8, replacement=replacement, **options)
        assert identical(first, again)
        assert not identical(first, other)


@each_family
def test_the_empty_sentence(trees, roots):
    found = inference.sample(np.zeros((1, 1)), 3, trees=trees, roots=roots)
    assert [best.heads.tolist() for best in found] == [[-1]] * 3
    only = inference.sample(np.zeros((1, 1)), 3, replacement=False, trees=trees, roots=roots)
    assert [best.heads.tolist() for best in only] == [[-1]]


@pytest.mark.parametrize("k", [-1, 1.5, "2", None])
def test_k_must_be_a_count(k):
    with pytest.raises(InputError):
        inference.sample(np.zeros((3, 3)), k)
