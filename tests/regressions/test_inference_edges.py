"""Faults of `arbora.inference` that were found once, each with the smallest input that shows it."""

import subprocess
import sys

import numpy as np
import pytest
from errors import rejects
from inference.helpers import ONE_ARRAY_QUERIES, unaligned

from arbora import inference
from arbora.errors import InputError, NoTreeError
from arbora.inference._parts import make_parts

BELOW_RANGE = np.finfo(np.float64).min  # what people write for minus infinity

QUERIES = {
    name: ONE_ARRAY_QUERIES[name] for name in ("argmax", "kbest", "log_partition", "marginals", "sample")
}
each_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)


@each_query
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_single_roots_sibling_score_is_checked(query, n, bad):
    """It was read unchecked: with n = 1 and NaN, `argmax` answered with memory that nobody had written."""
    scores, siblings = np.zeros((n + 1,) * 2), np.zeros((n + 1,) * 3)
    siblings[0, 1, 0] = bad
    with rejects(InputError, field="siblings"):
        query(scores, trees="projective", roots="single", siblings=siblings)


def test_a_single_roots_sibling_score_is_checked_in_approximate_search():
    siblings = np.zeros((2, 2, 2))
    siblings[0, 1, 0] = np.nan
    with rejects(InputError, field="siblings"):
        inference.argmax(np.zeros((2, 2)), trees="nonprojective", roots="single", siblings=siblings)


def test_what_a_single_root_cannot_use_is_ignored_everywhere():
    """The root has one dependent, hence no siblings: some queries looked there and some did not."""
    scores, siblings = np.zeros((3, 3)), np.zeros((3, 3, 3))
    siblings[0, 2, 1] = np.nan
    options = {"trees": "projective", "roots": "single", "siblings": siblings}
    assert inference.log_prob(scores, np.array([-1, 0, 1]), **options) == pytest.approx(-np.log(2))
    best = inference.argmax(scores, grandparents=np.zeros((3, 3, 3)), **options)
    assert best.heads.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("below", [BELOW_RANGE, -1e301])
@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_root_arcs_below_the_range_are_forbidden(trees, roots, below):
    scores = np.array([[0.0, below], [0.0, 0.0]])
    for query in QUERIES.values():
        with pytest.raises(NoTreeError):
            query(scores, trees=trees, roots=roots)


@each_query
@pytest.mark.parametrize("roots", ["single", "multi"])
def test_siblings_below_the_range_are_forbidden(query, roots):
    scores, siblings = np.zeros((3, 3)), np.full((3, 3, 3), -1e301)
    with pytest.raises(NoTreeError):
        query(scores, trees="projective", roots=roots, siblings=siblings)


@pytest.mark.parametrize("part", ["grandparents", "grandsiblings"])
def test_grandparents_below_the_range_are_forbidden(part):
    scores, parts = np.zeros((3, 3)), np.full((3,) * (3 if part == "grandparents" else 4), -1e301)
    with pytest.raises(NoTreeError):
        inference.argmax(scores, trees="projective", roots="single", **{part: parts})


def test_labels_below_the_range_are_forbidden():
    scores = np.zeros((2, 2, 2))
    scores[0, 1, 1] = -1e301
    assert [best.labels.tolist() for best in inference.kbest(scores, 5)] == [[-1, 0]]


SINGLE_TREE_HOLDS_ALL = [[0.0, 1359.7, 1224.7], [0.0, 0.0, -527.4], [0.0, -56.1, 0.0]]


def test_log_partition_is_not_below_the_best_by_rounding():
    """1168.6 against 1168.6000000000001: the columns' scales add up in another order than the tree's arcs."""
    scores = np.array(SINGLE_TREE_HOLDS_ALL)
    assert inference.log_partition(scores) >= inference.argmax(scores).score


@pytest.mark.parametrize("scale", [30.0, 1e3, 1e6])
@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_log_partition_is_never_below_the_best(trees, roots, scale):
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 9))
        scores = scale * rng.normal(size=(n + 1, n + 1))
        options = {"trees": trees, "roots": roots}
        assert inference.log_partition(scores, **options) >= inference.argmax(scores, **options).score


def test_the_core_never_sees_an_unaligned_array():
    """C++ may assume that a double lies on its boundary, and vector code may crash where it does not."""
    scores, siblings = unaligned(np.zeros((4, 4))), unaligned(np.zeros((4, 4, 4)))
    assert not scores.flags.aligned
    parts = make_parts(scores, siblings=siblings, trees="projective")
    assert parts.siblings is not None
    assert all(array.flags.aligned for array in (*parts.arcs, *parts.siblings))


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("n", range(9, 20))
def test_answers_do_not_depend_on_what_was_asked_before(n, roots):
    """Charts reuse memory: lanes without a span once multiplied what an earlier sentence had left there."""
    rng = np.random.default_rng(n)
    scores, siblings = rng.normal(size=(n + 1,) * 2), rng.normal(size=(n + 1,) * 3)
    options = {"trees": "projective", "roots": roots}
    for parts in ({}, {"siblings": siblings}):
        expected = inference.log_partition(scores, **options, **parts)
        for scale in (1.0, 1e5, 1e300):
            inference.argmax(
                scale * scores / np.max(np.abs(scores)), **options, siblings=scale * siblings / 10
            )
            found = inference.marginals(scores, **options, **parts)
            arcs = found.arcs if parts else found
            assert np.allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0.0, atol=1e-9)
            if parts:
                assert np.allclose(found.siblings.sum(axis=2), arcs, rtol=0.0, atol=1e-9)
            assert inference.log_partition(scores, **options, **parts) == expected


HUNGRY = """
import resource
import numpy as np
from arbora import errors, inference
scores = np.zeros((4001, 4001))
resource.setrlimit(resource.RLIMIT_AS, (int(0.8 * 2**30),) * 2)
try:
    inference.{query}(scores, trees="projective")
except errors.OutOfMemoryError:
    print("too little memory")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize("query", ["argmax", "log_partition", "marginals"])
def test_too_little_memory_is_an_error_of_arbora(query):
    done = subprocess.run([sys.executable, "-c", HUNGRY.format(query=query)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("too little memory\n", "")
