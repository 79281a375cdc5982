"""Projective sums in plain doubles where scores leave room, else in extended range: none may notice which."""

import numpy as np
import pytest
from inference.helpers import check_marginals
from oracle.enumerate_trees import enumerate_forest

from arbora import inference

each_root = pytest.mark.parametrize("roots", ["single", "multi"])
each_order = pytest.mark.parametrize("order", [1, 2])

FAR_BELOW = -1000.0  # as good as forbidden, but not for plain doubles, whose weights end at e^-76


def problem(n, order, seed):
    rng = np.random.default_rng([n, order, seed])
    siblings = {"siblings": rng.normal(size=(n + 1,) * 3)} if order == 2 else {}
    return rng.normal(size=(n + 1, n + 1)), siblings


def answers(scores, **options):
    """log Z and all marginals in one array, after what must hold of them."""
    options["trees"] = "projective"
    log_z = inference.log_partition(scores, **options)
    marginals = inference.marginals(scores, **options)
    assert log_z >= inference.argmax(scores, **options).score
    if "siblings" not in options:
        check_marginals(marginals)
        return log_z, marginals.ravel()
    check_marginals(marginals.arcs)
    # Every arc has exactly one sibling part.
    assert np.abs(marginals.siblings.sum(axis=2) - marginals.arcs).max() <= 1e-9
    return log_z, np.concatenate([marginals.arcs.ravel(), marginals.siblings.ravel()])


@each_root
@each_order
@pytest.mark.parametrize("n", [2, 5, 17, 40])
def test_both_kinds_of_sums_agree(n, order, roots):
    scores, parts = problem(n, order, 0)
    scores[1, n] = -np.inf
    plain = answers(scores, roots=roots, **parts)
    scores[1, n] = FAR_BELOW
    extended = answers(scores, roots=roots, **parts)
    assert plain[0] == pytest.approx(extended[0], rel=1e-12)
    assert np.abs(plain[1] - extended[1]).max() <= 1e-12


@each_root
@pytest.mark.parametrize("n", [5, 17, 40])
def test_both_kinds_of_sums_agree_on_siblings(n, roots):
    scores, parts = problem(n, 2, 1)
    parts["siblings"][1, n, 2] = -np.inf
    plain = answers(scores, roots=roots, **parts)
    parts["siblings"][1, n, 2] = FAR_BELOW
    extended = answers(scores, roots=roots, **parts)
    assert plain[0] == pytest.approx(extended[0], rel=1e-12)
    assert np.abs(plain[1] - extended[1]).max() <= 1e-12


@each_root
@each_order
@pytest.mark.parametrize("n", [6, 30, 60])
def test_values_of_spans_leave_the_bounds_one_after_the_other(n, order, roots):
    """Every word prefers the first by ever more, so spans without it are worth ever less."""
    scores, parts = problem(n, order, 2)
    before = -np.inf
    for gap in np.arange(0.0, 100.0, 4.0):
        preferred = scores.copy()
        preferred[1, 2:] += gap
        log_z, _ = answers(preferred, roots=roots, **parts)
        # log Z is convex in the gap, with the expected number of such arcs as its slope.
        assert before - 1e-9 <= log_z <= before + 4.0 * (n - 1) + 1e-9 or before == -np.inf
        before = log_z


@each_root
@each_order
@pytest.mark.parametrize("score", [-80.0, -76.0, -75.0, -72.0, -71.0, 71.0, 72.0, 75.0, 76.0, 80.0, 300.0])
def test_the_bounds_of_weights_against_the_list(score, order, roots):
    for arc in [(1, 4), (4, 1), (0, 2), (2, 3)]:
        scores, parts = problem(5, order, 3)
        scores[arc] = score
        if order == 2:
            parts["siblings"][2, 4, 3] = parts["siblings"][4, 1, 4] = -score
        forest = enumerate_forest(scores, "projective", roots, **parts)
        log_z, marginals = answers(scores, roots=roots, **parts)
        assert log_z == pytest.approx(forest.log_partition, rel=1e-12, abs=1e-10)
        assert np.abs(marginals[: scores.size] - forest.marginals().ravel()).max() <= 1e-10


@each_root
@each_order
def test_what_all_arcs_to_a_word_share_changes_no_probability(order, roots):
    scores, parts = problem(25, order, 4)
    log_z, marginals = answers(scores, roots=roots, **parts)
    shift = np.random.default_rng(5).choice([-1e6, -700.0, 0.0, 700.0, 1e6], size=26)
    shift[0] = 0.0
    moved_log_z, moved = answers(scores + shift, roots=roots, **parts)
    assert moved_log_z == pytest.approx(log_z + shift.sum(), abs=1e-8)
    assert np.abs(moved - marginals).max() <= 1e-8
