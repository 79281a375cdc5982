import contextlib

import numpy as np
import pytest
from inference.helpers import each_family, identical, make_scores, random_parts
from oracle.enumerate_trees import enumerate_forest

from arbora import inference
from arbora.errors import InputError, NoTreeError
from arbora.inference.distribution import TreeDistribution


@each_family
def test_it_answers_as_the_functions_do(trees, roots):
    scores, other = make_scores("normal", 6, 0), make_scores("normal", 6, 1)
    options = {"trees": trees, "roots": roots}
    p, q = TreeDistribution(scores, **options), TreeDistribution(other, **options)
    heads = p.best.heads
    assert identical(p.best, inference.argmax(scores, **options))
    assert p.log_partition == inference.log_partition(scores, **options)
    assert identical(p.marginals, inference.marginals(scores, **options))
    assert identical(p.arc_marginals, p.marginals)
    assert p.entropy == pytest.approx(inference.entropy(scores, **options), abs=1e-12)
    assert identical(p.kbest(5), inference.kbest(scores, 5, **options))
    for replacement in (True, False):
        drawn = inference.sample(scores, 4, seed=9, replacement=replacement, **options)
        assert identical(p.sample(4, seed=9, replacement=replacement), drawn)
    assert p.log_prob(heads) == pytest.approx(inference.log_prob(scores, heads, **options), abs=1e-12)
    assert identical(p.minimum_risk().heads, inference.minimum_risk(scores, **options).heads)
    assert p.expected_wrong_heads(heads) == pytest.approx(
        inference.expected_wrong_heads(scores, heads, **options), abs=1e-12
    )
    assert p.kl_divergence(q) == pytest.approx(inference.kl_divergence(scores, other, **options), abs=1e-10)


@each_family
def test_labels_given_arcs(trees, roots):
    scores = make_scores("normal", 3, 0, labels=3)
    distribution = TreeDistribution(scores, trees=trees, roots=roots)
    forest = enumerate_forest(scores, trees, roots)
    assert np.allclose(distribution.arc_marginals, forest.head_marginals(), rtol=0, atol=1e-12)
    assert np.allclose(distribution.marginals, forest.marginals(), rtol=0, atol=1e-12)
    given = distribution.label_marginals
    for head, dep in zip(*np.nonzero(forest.head_marginals()), strict=True):
        assert given[head, dep].sum() == pytest.approx(1.0, abs=1e-12)
        joint = given[head, dep] * distribution.arc_marginals[head, dep]
        assert np.allclose(joint, distribution.marginals[head, dep], rtol=0, atol=1e-12)
    best = distribution.best
    log_prob = distribution.log_prob(best.heads, best.labels)
    found = float(forest.log_probabilities[forest.find(best.heads, best.labels)])
    assert log_prob == pytest.approx(found, abs=1e-11)


def test_labels_given_arcs_of_unlikely_and_forbidden_arcs():
    scores = make_scores("normal", 4, 0, labels=2)
    scores[2, 3] -= 5000.0  # the arc has probability 0, its labels have not
    scores[1, 3] = -np.inf
    given = TreeDistribution(scores).label_marginals
    expected = np.exp(scores[2, 3] - np.logaddexp.reduce(scores[2, 3]))
    assert given[2, 3] == pytest.approx(expected, abs=1e-9)
    assert np.all(given[1, 3] == 0.0)
    assert not np.any(np.isnan(given))


def test_second_order_distributions():
    scores, parts = random_parts(5, ("siblings",), 0)
    distribution = TreeDistribution(scores, trees="projective", **parts)
    options = {"trees": "projective", **parts}
    assert identical(distribution.best, inference.argmax(scores, **options))
    assert distribution.log_partition == inference.log_partition(scores, **options)
    assert identical(distribution.marginals, inference.marginals(scores, **options))
    assert identical(distribution.arc_marginals, distribution.marginals.arcs)
    assert identical(distribution.kbest(3), inference.kbest(scores, 3, **options))
    assert identical(distribution.sample(3, seed=1), inference.sample(scores, 3, seed=1, **options))


def test_required_heads():
    scores = make_scores("normal", 5, 0)
    distribution = TreeDistribution(scores, required=[(2, 1)])
    assert distribution.best.heads[1] == 2
    assert distribution.arc_marginals[2, 1] == pytest.approx(1.0, abs=1e-12)


def test_questions_are_answered_once_and_answers_cannot_be_spoilt():
    distribution = TreeDistribution(make_scores("normal", 5, 0))
    marginals = distribution.marginals
    assert identical(distribution.marginals, marginals)
    kept = marginals.copy()
    with contextlib.suppress(ValueError):  # read-only is the clearest answer
        marginals[:] = 7.0
    fresh = TreeDistribution(make_scores("normal", 5, 0))
    assert np.array_equal(fresh.marginals, kept)


def test_changing_the_scores_afterwards_changes_no_answer():
    scores = make_scores("normal", 5, 0)
    expected = inference.argmax(scores)
    distribution = TreeDistribution(scores)
    scores[:] = 0.0
    assert identical(distribution.best, expected)


def test_one_distribution_does_not_change_another():
    scores = np.zeros((6, 6))
    scores[0, 1:] = 10.0
    single = TreeDistribution(scores, roots="single")
    multi = TreeDistribution(scores, roots="multi")
    projective = TreeDistribution(scores, trees="projective", roots="multi")
    assert np.sum(single.best.heads == 0) == 1
    assert np.sum(multi.best.heads == 0) == 5
    assert projective.log_partition < multi.log_partition
    assert np.sum(single.kbest(2)[1].heads == 0) == 1
    assert single.marginals[0].sum() == pytest.approx(1.0, abs=1e-9)


def test_the_empty_sentence():
    distribution = TreeDistribution(np.zeros((1, 1)))
    assert distribution.best.heads.tolist() == [-1]
    assert distribution.log_partition == distribution.entropy == 0.0


def test_errors_are_those_of_the_functions():
    with pytest.raises(InputError):
        TreeDistribution(np.zeros((2, 3))).best  # noqa: B018 - asking is what may fail
    with pytest.raises(InputError):
        TreeDistribution(np.zeros((3, 3)), trees="planar").best  # noqa: B018
    with pytest.raises(NoTreeError):
        TreeDistribution(np.full((3, 3), -np.inf)).best  # noqa: B018
    with pytest.raises(InputError):
        TreeDistribution(np.zeros((3, 3))).kl_divergence(TreeDistribution(np.zeros((4, 4))))
