import numpy as np
import pytest
from hypothesis import given
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

from arbora import inference


def expect_minimum_risk(scores, trees, roots):
    answer = answer_and_forest(inference.minimum_risk, scores, trees, roots)
    if answer is None:
        return
    best, forest = answer
    assert any(np.array_equal(best.heads, heads) for heads in forest.heads)
    if forced_through_mask(forest):
        return
    slack = 10 * tolerance(scores)
    assert best.score == pytest.approx(forest.most_expected_correct(), abs=slack)
    arcs = forest.head_marginals()
    words = np.arange(1, len(best.heads))
    assert best.score == pytest.approx(arcs[best.heads[1:], words].sum(), abs=slack)


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_five_words_of_every_kind(kind, trees, roots):
    expect_minimum_risk(make_scores(kind, 5, 0), trees, roots)


@seeded
@given(scores=score_arrays(), family=families)
def test_adversarial_scores(scores, family):
    expect_minimum_risk(scores, *family)


@seeded
@given(scores=labelled_arrays(), family=families)
def test_adversarial_labelled_scores(scores, family):
    expect_minimum_risk(scores, *family)


@each_family
def test_labels_are_the_most_probable_of_their_arc(trees, roots):
    scores = make_scores("normal", 5, 1, labels=4)
    best = inference.minimum_risk(scores, trees=trees, roots=roots)
    for dep in range(1, 6):
        assert best.labels[dep] == np.argmax(scores[best.heads[dep], dep])


def test_it_may_differ_from_the_most_probable_tree():
    """Somewhere among a hundred sentences the safest tree is not the best one."""
    different = 0
    for seed in range(100):
        scores = make_scores("normal", 5, seed)
        best, safest = inference.argmax(scores), inference.minimum_risk(scores)
        risks = [inference.expected_wrong_heads(scores, tree.heads) for tree in (best, safest)]
        assert risks[1] <= risks[0] + 1e-9
        assert risks[1] == pytest.approx(5 - safest.score, abs=1e-9)
        different += not np.array_equal(best.heads, safest.heads)
    assert different > 0


@each_family
def test_the_empty_sentence(trees, roots):
    best = inference.minimum_risk(np.zeros((1, 1)), trees=trees, roots=roots)
    assert best.heads.tolist() == [-1]
    assert best.score == 0.0
