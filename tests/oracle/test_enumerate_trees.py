import math

import numpy as np
import pytest
from oracle import exact
from oracle.enumerate_trees import (
    FAMILIES,
    enumerate_forest,
    grandparents_of,
    head_matrix,
    is_tree,
    siblings_of,
)

CLOSED_FORMS = {
    ("nonprojective", "single"): lambda n: n ** (n - 1),
    ("nonprojective", "multi"): lambda n: (n + 1) ** (n - 1),
    ("projective", "single"): lambda n: math.comb(3 * n - 2, n - 1) // n,
    ("projective", "multi"): lambda n: math.comb(3 * n, n) // (2 * n + 1),
}


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
@pytest.mark.parametrize("n", range(1, 7))
def test_tree_counts_equal_their_closed_forms(n, trees, roots):
    heads = head_matrix(n, trees, roots)
    assert len(heads) == CLOSED_FORMS[trees, roots](n)
    assert len(np.unique(heads, axis=0)) == len(heads)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
def test_the_empty_sentence_has_one_tree(trees, roots):
    assert head_matrix(0, trees, roots).tolist() == [[-1]]
    forest = enumerate_forest(np.zeros((1, 1)), trees, roots)
    assert forest.log_partition == forest.best_score == forest.entropy == 0.0


def test_membership_by_hand():
    crossing = [-1, 3, 0, 2, 1]  # arc 3 -> 1 spans 2, which 3 does not dominate
    assert is_tree(crossing, "nonprojective", "single")
    assert not is_tree(crossing, "projective", "single")
    assert is_tree([-1, 0, 0], "projective", "multi")
    assert not is_tree([-1, 0, 0], "projective", "single")
    assert not is_tree([-1, 2, 1], "nonprojective", "multi")  # a cycle
    assert not is_tree([-1, 1], "nonprojective", "multi")  # its own head


def test_siblings_and_grandparents_by_hand():
    # 3 has children 1, 2 on its left and 4, 6 on its right; 6 has 5.
    heads = np.array([[-1, 3, 3, 0, 3, 6, 3]])
    assert siblings_of(heads).tolist() == [[-1, 2, 3, 0, 3, 6, 4]]
    assert grandparents_of(heads).tolist() == [[-1, 0, 0, -1, 0, 3, 0]]


def test_second_order_scores_by_hand():
    n = 3
    arcs = np.zeros((n + 1,) * 2)
    siblings = np.random.default_rng(0).normal(size=(n + 1,) * 3)
    grandparents = np.random.default_rng(1).normal(size=(n + 1,) * 3)
    grandsiblings = np.random.default_rng(2).normal(size=(n + 1,) * 4)
    forest = enumerate_forest(
        arcs,
        "projective",
        "single",
        siblings=siblings,
        grandparents=grandparents,
        grandsiblings=grandsiblings,
    )
    found = forest.scores[forest.find([-1, 0, 1, 1])]
    expected = siblings[0, 1, 0] + siblings[1, 2, 1] + siblings[1, 3, 2]
    expected += grandparents[0, 1, 2] + grandparents[0, 1, 3]
    expected += grandsiblings[0, 1, 2, 1] + grandsiblings[0, 1, 3, 2]
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_labelled_lists_are_the_product_of_trees_and_labellings():
    scores = np.random.default_rng(0).normal(size=(4, 4, 2))
    labelled = enumerate_forest(scores, "nonprojective", "single")
    summed = np.logaddexp.reduce(scores, axis=2)
    plain = enumerate_forest(summed, "nonprojective", "single")
    assert len(labelled) == len(plain) * 2**3
    assert labelled.log_partition == pytest.approx(plain.log_partition, abs=1e-12)
    assert labelled.head_marginals() == pytest.approx(plain.marginals(), abs=1e-12)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
def test_required_heads_and_forbidden_arcs_restrict_the_list(trees, roots):
    scores = np.zeros((4, 4))
    scores[0, 2] = -np.inf
    forest = enumerate_forest(scores, trees, roots, required=np.array([-1, 2, -1, -1]))
    assert np.all(forest.heads[:, 1] == 2)
    assert np.all(forest.heads[:, 2] != 0)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
@pytest.mark.parametrize("forbid", [0.0, 0.2])
def test_the_two_oracles_agree(trees, roots, forbid):
    for seed in range(5):
        powers = exact.random_powers(np.random.default_rng(seed), 5, spread=40, forbid=forbid)
        forest = enumerate_forest(exact.to_scores(powers), trees, roots)
        if not len(forest):
            assert exact.tree_sum(powers, trees, roots) == 0
            continue
        total = exact.log_partition(powers, trees, roots)
        assert forest.log_partition == pytest.approx(total, abs=1e-10)
        marginals = exact.marginals(powers, trees, roots)
        assert forest.marginals() == pytest.approx(marginals, abs=1e-12)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
def test_marginals_of_the_list_are_the_slope_of_its_log_partition(trees, roots):
    rng = np.random.default_rng(7)
    parts = {
        "arcs": rng.normal(size=(4, 4)),
        "siblings": rng.normal(size=(4, 4, 4)),
        "grandparents": rng.normal(size=(4, 4, 4)),
        "grandsiblings": rng.normal(size=(4, 4, 4, 4)),
    }

    def log_partition():
        others = {name: parts[name] for name in list(parts)[1:]}
        return enumerate_forest(parts["arcs"], trees, roots, **others)

    forest = log_partition()
    for name, array in parts.items():
        expected = forest.marginals(name)
        for index in zip(*np.nonzero(expected), strict=True):
            array[index] += 1e-5
            up = log_partition().log_partition
            array[index] -= 2e-5
            down = log_partition().log_partition
            array[index] += 1e-5
            assert (up - down) / 2e-5 == pytest.approx(expected[index], abs=1e-6)
