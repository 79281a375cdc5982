import itertools

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    check_best,
    each_family,
    families,
    identical,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
    tree_key,
)
from oracle.enumerate_trees import enumerate_forest

from arbora import inference
from arbora.errors import InputError, NoTreeError


def check_list(scores, k, trees, roots):
    """In order, no repeats, the scores of the oracle's first k, all of them when fewer exist."""
    forest = enumerate_forest(scores, trees, roots)
    if not len(forest):
        with pytest.raises(NoTreeError):
            inference.kbest(scores, k, trees=trees, roots=roots)
        return
    found = inference.kbest(scores, k, trees=trees, roots=roots)
    assert len(found) == min(k, len(forest))
    assert len({tree_key(best) for best in found}) == len(found)
    expected = forest.ranked()[: len(found)]
    for best, score in zip(found, expected, strict=True):
        check_best(best, scores, trees, roots, tolerance(scores))
        assert best.score == pytest.approx(score, rel=1e-14, abs=tolerance(scores))
    listed = [best.score for best in found]
    assert all(high >= low for high, low in itertools.pairwise(listed))


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_list_of_four_words(kind, trees, roots):
    check_list(make_scores(kind, 4, 0), 1000, trees, roots)


@each_family
def test_a_thousand_of_six_words(trees, roots):
    check_list(make_scores("normal", 6, 1), 1000, trees, roots)


@seeded
@given(scores=score_arrays(), k=st.integers(1, 40), family=families)
def test_adversarial_scores(scores, k, family):
    check_list(scores, k, *family)


@seeded
@given(scores=labelled_arrays(), k=st.integers(1, 60), family=families)
def test_adversarial_labelled_scores(scores, k, family):
    check_list(scores, k, *family)


@each_family
def test_trees_themselves_match_where_scores_are_distinct(trees, roots):
    scores = make_scores("normal", 5, 2)
    forest = enumerate_forest(scores, trees, roots)
    order = np.argsort(-forest.scores)[:200]
    found = inference.kbest(scores, 200, trees=trees, roots=roots)
    assert [best.heads.tolist() for best in found] == forest.heads[order].tolist()


@each_family
def test_the_first_is_the_argmax_and_lists_are_prefixes(trees, roots):
    scores = np.random.default_rng(4).normal(size=(31, 31))
    long = inference.kbest(scores, 50, trees=trees, roots=roots)
    assert long[0].score == pytest.approx(inference.argmax(scores, trees=trees, roots=roots).score, abs=1e-12)
    assert identical(inference.kbest(scores, 7, trees=trees, roots=roots), long[:7])
    assert len({tree_key(best) for best in long}) == 50


@each_family
def test_all_tied_trees_are_listed_once_each(trees, roots):
    forest = enumerate_forest(np.zeros((5, 5)), trees, roots)
    found = inference.kbest(np.zeros((5, 5)), 1000, trees=trees, roots=roots)
    assert {tree_key(b)[0] for b in found} == {tuple(heads) for heads in forest.heads.tolist()}
    assert len(found) == len(forest)


@each_family
def test_the_empty_sentence_has_one_tree(trees, roots):
    found = inference.kbest(np.zeros((1, 1)), 5, trees=trees, roots=roots)
    assert [best.heads.tolist() for best in found] == [[-1]]


@pytest.mark.parametrize("k", [0, -1, 1001, 2.5, "3", None])
def test_k_out_of_range(k):
    with rejects(InputError, field="k"):
        inference.kbest(np.zeros((3, 3)), k)


@each_family
def test_wide_ranges_of_negative_scores_keep_the_order(trees, roots):
    rng = np.random.default_rng(5)
    scores = -(10.0 ** rng.uniform(-3, 6, size=(6, 6)))
    check_list(scores, 1000, trees, roots)
