import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    KINDS,
    answer_and_forest,
    check_best,
    each_family,
    families,
    labelled_arrays,
    make_scores,
    score_arrays,
    seeded,
    tolerance,
)

from arbora import inference


def expect_best(scores, trees, roots):
    answer = answer_and_forest(inference.argmax, scores, trees, roots)
    if answer is None:
        return
    best, forest = answer
    check_best(best, scores, trees, roots, tolerance(scores))
    assert best.score == pytest.approx(forest.best_score, rel=1e-14, abs=tolerance(scores))


@each_family
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_tree_of_six_words_is_the_best_of_the_list(kind, trees, roots):
    for seed in range(3):
        expect_best(make_scores(kind, 6, seed), trees, roots)


@seeded
@given(scores=score_arrays(), family=families)
def test_adversarial_scores(scores, family):
    expect_best(scores, *family)


@seeded
@given(scores=labelled_arrays(), family=families)
def test_adversarial_labelled_scores(scores, family):
    expect_best(scores, *family)


@each_family
def test_the_empty_sentence(trees, roots):
    best = inference.argmax(np.zeros((1, 1)), trees=trees, roots=roots)
    assert best.heads.tolist() == [-1]
    assert best.score == 0.0
    labelled = inference.argmax(np.zeros((1, 1, 3)), trees=trees, roots=roots)
    assert labelled.labels.tolist() == [-1]


@each_family
def test_one_word(trees, roots):
    scores = np.array([[np.nan, 2.5], [np.nan, np.nan]])
    best = inference.argmax(scores, trees=trees, roots=roots)
    assert best.heads.tolist() == [-1, 0]
    assert best.score == 2.5


def test_nonprojective_single_root_is_the_default():
    scores = np.zeros((5, 5))
    scores[0] = 5.0
    for head, dep in [(3, 1), (0, 2), (2, 3), (1, 4)]:
        scores[head, dep] = 20.0
    best = inference.argmax(scores)
    assert best.heads.tolist() == [-1, 3, 0, 2, 1]
    assert not np.array_equal(inference.argmax(scores, trees="projective").heads, best.heads)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_one_root_even_when_every_word_wants_to_be_the_root(trees):
    scores = np.full((8, 8), -1e6)
    scores[0, 1:] = 1e6
    best = inference.argmax(scores, trees=trees, roots="single")
    assert np.sum(best.heads == 0) == 1
    several = inference.argmax(scores, trees=trees, roots="multi")
    assert np.all(several.heads[1:] == 0)


@each_family
def test_the_same_question_gets_the_same_answer(trees, roots):
    scores = np.zeros((7, 7))
    answers = [inference.argmax(scores, trees=trees, roots=roots).heads for _ in range(3)]
    assert all(np.array_equal(answers[0], other) for other in answers)


@each_family
def test_labels_are_the_best_of_their_arc(trees, roots):
    scores = np.random.default_rng(3).normal(size=(7, 7, 5))
    best = inference.argmax(scores, trees=trees, roots=roots)
    for dep in range(1, 7):
        assert best.labels[dep] == np.argmax(scores[best.heads[dep], dep])


@seeded
@given(seed=st.integers(0, 10**6), n=st.integers(7, 40), family=families)
def test_longer_sentences_beat_any_tree_we_can_name(seed, n, family):
    trees, roots = family
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n + 1, n + 1))
    best = inference.argmax(scores, trees=trees, roots=roots)
    check_best(best, scores, trees, roots, 1e-9)
    for chain in (np.arange(-1, n), np.r_[-1, np.arange(2, n + 1), 0]):
        assert best.score >= np.sum(scores[chain[1:], np.arange(1, n + 1)]) - 1e-9
