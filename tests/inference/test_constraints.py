import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    ONE_ARRAY_QUERIES,
    each_family,
    families,
    make_scores,
    seeded,
    tolerance,
    tree_key,
)
from oracle.enumerate_trees import enumerate_forest, is_tree

from arbora import inference
from arbora.errors import InputError, NoTreeError


@st.composite
def partial_trees(draw):
    n = draw(st.integers(1, 5))
    required = np.full(n + 1, -1)
    for dep in range(1, n + 1):
        if draw(st.booleans()):
            required[dep] = draw(st.sampled_from([h for h in range(n + 1) if h != dep]))
    kind = draw(st.sampled_from(["normal", "masked", "ties", "mutual_pair", "wide", "million"]))
    return make_scores(kind, n, draw(st.integers(0, 10**6))), required


@seeded
@given(problem=partial_trees(), family=families)
def test_every_query_sees_only_the_trees_with_the_required_arcs(problem, family):
    scores, required = problem
    trees, roots = family
    forest = enumerate_forest(scores, trees, roots, required=required)
    options = {"trees": trees, "roots": roots, "required": required}
    if not len(forest):
        for query in ONE_ARRAY_QUERIES.values():
            with pytest.raises(NoTreeError):
                query(scores, **options)
        return
    slack = tolerance(scores)
    found = {name: query(scores, **options) for name, query in ONE_ARRAY_QUERIES.items()}
    best, safest, listed = found["argmax"], found["minimum_risk"], found["kbest"]
    assert best.score == pytest.approx(forest.best_score, abs=slack)
    assert found["log_partition"] == pytest.approx(forest.log_partition, abs=slack)
    assert np.allclose(found["marginals"], forest.marginals(), rtol=0, atol=slack)
    assert found["entropy"] == pytest.approx(forest.entropy, abs=100 * slack)
    assert safest.score == pytest.approx(forest.most_expected_correct(), abs=10 * slack)
    assert len(listed) == min(5, len(forest))
    assert [b.score for b in listed] == pytest.approx(forest.ranked()[: len(listed)].tolist(), abs=slack)
    for tree in [best, safest, *listed, *found["sample"], *found["sample_distinct"]]:
        forest.find(tree.heads)
    assert len({tree_key(b) for b in found["sample_distinct"]}) == min(3, len(forest))


@each_family
def test_pairs_and_head_vectors_mean_the_same(trees, roots):
    scores = make_scores("normal", 5, 0)
    options = {"trees": trees, "roots": roots}
    vector = np.array([-1, 2, -1, -1, 3, -1])
    by_vector = inference.log_partition(scores, required=vector, **options)
    for pairs in ([(2, 1), (3, 4)], ((3, 4), (2, 1)), iter([(2, 1), (3, 4)]), {(2, 1), (3, 4)}):
        assert inference.log_partition(scores, required=pairs, **options) == by_vector
    vector[0] = 4  # entry 0 is nobody's head
    assert inference.log_partition(scores, required=vector, **options) == by_vector


@each_family
def test_no_requirement_is_no_constraint(trees, roots):
    scores = make_scores("normal", 5, 0)
    free = inference.log_partition(scores, trees=trees, roots=roots)
    for required in (None, [], np.full(6, -1)):
        found = inference.log_partition(scores, required=required, trees=trees, roots=roots)
        assert found == pytest.approx(free, abs=1e-12)


@each_family
def test_a_whole_tree_required_is_the_only_tree(trees, roots):
    scores = make_scores("normal", 5, 1)
    heads = np.array([-1, 2, 0, 2, 5, 3])
    options = {"trees": trees, "roots": roots, "required": heads}
    assert inference.argmax(scores, **options).heads.tolist() == heads.tolist()
    assert inference.entropy(scores, **options) == pytest.approx(0.0, abs=1e-12)
    assert len(inference.kbest(scores, 10, **options)) == 1
    assert inference.log_prob(scores, heads, **options) == pytest.approx(0.0, abs=1e-12)


@each_family
def test_labelled_scores_with_required_heads(trees, roots):
    scores = make_scores("normal", 3, 2, labels=2)
    required = np.array([-1, 2, -1, -1])
    forest = enumerate_forest(scores, trees, roots, required=required)
    options = {"trees": trees, "roots": roots, "required": required}
    assert inference.argmax(scores, **options).score == pytest.approx(forest.best_score, abs=1e-12)
    marginals = inference.marginals(scores, **options)
    assert np.allclose(marginals, forest.marginals(), rtol=0, atol=1e-12)
    assert len(inference.kbest(scores, 1000, **options)) == len(forest)


IMPOSSIBLE = {
    "a word without any head": ([(1, 3), (2, 3), (0, 3)], None),
    "a required cycle": ([], [(1, 2), (2, 1)]),
    "a required arc that is forbidden": ([(2, 1)], [(2, 1)]),
    "no root": ([(0, 1), (0, 2), (0, 3)], None),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
@each_family
def test_constraints_without_any_tree_are_rejected(case, trees, roots):
    forbidden, required = IMPOSSIBLE[case]
    scores = np.zeros((4, 4))
    for head, dep in forbidden:
        scores[head, dep] = -np.inf
    for query in ONE_ARRAY_QUERIES.values():
        with pytest.raises(NoTreeError):
            query(scores, trees=trees, roots=roots, required=required)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_two_required_roots_fit_only_several_roots(trees):
    scores, required = np.zeros((4, 4)), [(0, 1), (0, 3)]
    with pytest.raises(NoTreeError):
        inference.argmax(scores, trees=trees, roots="single", required=required)
    best = inference.argmax(scores, trees=trees, roots="multi", required=required)
    assert is_tree(best.heads, trees, "multi")


def test_required_crossing_arcs_fit_only_nonprojective_trees():
    scores, required = np.zeros((5, 5)), [(3, 1), (2, 4)]
    with pytest.raises(NoTreeError):
        inference.argmax(scores, trees="projective", required=required)
    assert inference.argmax(scores, required=required).heads[[1, 4]].tolist() == [3, 2]


@pytest.mark.parametrize(
    "required",
    [
        [-1, 0, 0],  # too short for a head vector, and not pairs
        np.array([-1, 0, 1, 9]),
        np.array([-1, 0, 1, -2]),
        np.array([-1, 1, -1, -1]),  # its own head
        np.array([-1.0, 0.5, 1.0, 1.0]),
        np.array([-1, np.nan, 1, 1]),
        np.zeros((4, 4)),
        [(0, 0)],  # the root has no head
        [(0, 4)],
        [(4, 1)],
        [(-1, 1)],
        [(2, 2)],
        [(1, 2, 3)],
        [("a", "b")],
        [(0.5, 1)],
        "heads",
        7,
    ],
)
def test_malformed_required_arcs_are_rejected(required):
    with rejects(InputError, field="required"):
        inference.argmax(np.zeros((4, 4)), required=required)


def test_two_required_heads_of_one_word_are_rejected():
    with pytest.raises((InputError, NoTreeError)):
        inference.argmax(np.zeros((4, 4)), required=[(0, 1), (2, 1)])


def test_the_error_names_the_sentence_of_a_batch():
    good, bad = np.zeros((3, 3)), np.full((3, 3), -np.inf)
    with rejects(NoTreeError, field="sentence 2"):
        inference.argmax([good, good, bad])


@each_family
def test_a_batch_takes_one_requirement_per_sentence(trees, roots):
    scores = [make_scores("normal", n, n) for n in (3, 4, 2)]
    required = [[(2, 1)], None, np.array([-1, -1, 1])]
    options = {"trees": trees, "roots": roots}
    batch = inference.log_partition(scores, required=required, **options)
    for found, one, asked in zip(batch, scores, required, strict=True):
        assert found == inference.log_partition(one, required=asked, **options)
