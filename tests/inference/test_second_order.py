import itertools

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from inference.helpers import (
    MODELS,
    ORDER,
    SURPRISE,
    chi_square,
    counts,
    few,
    identical,
    random_parts,
    seeded,
    tree_key,
)
from oracle.enumerate_trees import enumerate_forest, is_tree, siblings_of

from arbora import inference
from arbora.errors import InputError, NoTreeError
from arbora.inference.families import FoundTrees
from arbora.inference.queries import Marginals
from arbora.interfaces import PartKind

each_model = pytest.mark.parametrize("model", MODELS, ids="+".join)
each_root = pytest.mark.parametrize("roots", ["single", "multi"])
SCALES = [0.0, 1e-12, 1.0, 30.0, 1e3, 1e6]


def slack(scale, n):
    return 1e-9 + 1e-13 * scale * (n + 1)


def check_tree(best, scores, parts, roots, tolerance):
    assert is_tree(best.heads, "projective", roots)
    forest = enumerate_forest(scores, "projective", roots, **parts)
    listed = float(forest.scores[forest.find(best.heads)])
    assert best.score == pytest.approx(listed, abs=tolerance)
    return forest


@each_root
@each_model
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_argmax_log_partition_and_marginals_equal_the_list(n, model, roots):
    for seed in range(3):
        scores, parts = random_parts(n, model, seed)
        options = {"trees": "projective", "roots": roots, **parts}
        best = inference.argmax(scores, **options)
        forest = check_tree(best, scores, parts, roots, 1e-10)
        assert best.score == pytest.approx(forest.best_score, abs=1e-10)
        found = inference.log_partition(scores, **options)
        assert found == pytest.approx(forest.log_partition, abs=1e-10)
        check_marginals(inference.marginals(scores, **options), forest, model, 1e-10)


def check_marginals(found, forest, model, tolerance):
    assert found._fields == ("arcs", "siblings", "grandparents", "grandsiblings")
    for name in found._fields:
        array = getattr(found, name)
        if name != "arcs" and name not in model:
            assert array is None
            continue
        assert np.all(array >= 0.0)
        assert np.all(array <= 1.0)
        assert np.allclose(array, forest.marginals(name), rtol=0, atol=tolerance)
    assert np.allclose(found.arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9)


@few
@given(n=st.integers(0, 5), model=st.sampled_from(MODELS), seed=st.integers(0, 10**6),
       scale=st.sampled_from(SCALES), forbid=st.sampled_from([0.0, 0.3]),
       roots=st.sampled_from(["single", "multi"]))  # fmt: skip
def test_adversarial_scales_and_masks(n, model, seed, scale, forbid, roots):
    scores, parts = random_parts(n, model, seed, scale, forbid)
    options = {"trees": "projective", "roots": roots, **parts}
    forest = enumerate_forest(scores, "projective", roots, **parts)
    queries = (inference.argmax, inference.log_partition, inference.marginals)
    if not len(forest):
        for query in queries:
            with pytest.raises(NoTreeError):
                query(scores, **options)
        return
    best, log_z, marginals = (query(scores, **options) for query in queries)
    tolerance = slack(scale, n)
    check_tree(best, scores, parts, roots, tolerance)
    assert best.score == pytest.approx(forest.best_score, abs=tolerance)
    assert log_z == pytest.approx(forest.log_partition, abs=tolerance)
    assert log_z >= best.score
    check_marginals(marginals, forest, model, tolerance)


@each_root
def test_the_whole_kbest_list_with_siblings(roots):
    for seed, n in itertools.product(range(3), (1, 3, 5)):
        scores, parts = random_parts(n, ("siblings",), seed, forbid=0.2 * (seed == 2))
        forest = enumerate_forest(scores, "projective", roots, **parts)
        if not len(forest):
            continue
        found = inference.kbest(scores, 1000, trees="projective", roots=roots, **parts)
        assert len(found) == len(forest) == len({tree_key(best) for best in found})
        assert [best.score for best in found] == pytest.approx(forest.ranked().tolist(), abs=1e-9)
        for best in found[::11]:
            check_tree(best, scores, parts, roots, 1e-9)


@each_root
def test_samples_with_siblings_follow_the_distribution(roots):
    scores, parts = random_parts(4, ("siblings",), 0)
    forest = enumerate_forest(scores, "projective", roots, **parts)
    found = inference.sample(scores, 20_000, seed=0, trees="projective", roots=roots, **parts)
    assert chi_square(counts(found, forest), forest.probabilities) > SURPRISE
    for best in found[:20]:
        check_tree(best, scores, parts, roots, 1e-9)
    every = inference.sample(scores, 1000, replacement=False, trees="projective", roots=roots, **parts)
    assert np.all(counts(every, forest) == 1)


@each_root
def test_entropy_and_log_prob_with_siblings(roots):
    scores, parts = random_parts(5, ("siblings",), 1)
    options = {"trees": "projective", "roots": roots, **parts}
    forest = enumerate_forest(scores, "projective", roots, **parts)
    assert inference.entropy(scores, **options) == pytest.approx(forest.entropy, abs=1e-9)
    for heads, expected in list(zip(forest.heads, forest.log_probabilities, strict=True))[::9]:
        found = inference.log_prob(scores, heads, **options)
        assert found == pytest.approx(float(expected), abs=1e-10)


@each_root
@each_model
def test_parts_of_zero_change_nothing(model, roots):
    scores = np.random.default_rng(5).normal(size=(13, 13))
    zeros = {name: np.zeros((13,) * ORDER[name]) for name in model}
    plain, with_parts = ({"trees": "projective", "roots": roots, **p} for p in ({}, zeros))
    first = inference.argmax(scores, **plain)
    second = inference.argmax(scores, **with_parts)
    assert np.array_equal(first.heads, second.heads)
    assert inference.log_partition(scores, **with_parts) == pytest.approx(
        inference.log_partition(scores, **plain), abs=1e-10
    )
    arcs = inference.marginals(scores, **with_parts).arcs
    assert np.allclose(arcs, inference.marginals(scores, **plain), rtol=0, atol=1e-10)


@each_root
@each_model
def test_required_heads_and_forbidden_arcs(model, roots):
    scores, parts = random_parts(5, model, 4)
    scores[2, 3] = -np.inf
    required = np.array([-1, 2, -1, -1, -1, 4])
    forest = enumerate_forest(scores, "projective", roots, required=required, **parts)
    options = {"trees": "projective", "roots": roots, "required": required, **parts}
    assert inference.argmax(scores, **options).score == pytest.approx(forest.best_score, abs=1e-10)
    log_z = inference.log_partition(scores, **options)
    assert log_z == pytest.approx(forest.log_partition, abs=1e-10)
    check_marginals(inference.marginals(scores, **options), forest, model, 1e-10)


def total_score(scores, siblings, heads):
    words = np.arange(1, len(heads))
    nearer = siblings_of(heads[None])[0]
    return float(np.sum(scores[heads[1:], words]) + np.sum(siblings[heads[1:], words, nearer[1:]]))


@seeded
@given(n=st.integers(1, 7), seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 100.0]),
       roots=st.sampled_from(["single", "multi"]))  # fmt: skip
def test_approximate_nonprojective_search_is_a_local_optimum(n, seed, scale, roots):
    scores, parts = random_parts(n, ("siblings",), seed, scale)
    best = inference.argmax(scores, trees="nonprojective", roots=roots, **parts)
    assert is_tree(best.heads, "nonprojective", roots)
    start = inference.argmax(scores, trees="projective", roots=roots, **parts)
    tolerance = slack(scale, n)
    assert best.score >= start.score - tolerance
    found = total_score(scores, parts["siblings"], best.heads)
    assert best.score == pytest.approx(found, abs=tolerance)
    for dep, head in itertools.product(range(1, n + 1), range(n + 1)):
        moved = best.heads.copy()
        moved[dep] = head
        if head != dep and is_tree(moved, "nonprojective", roots):
            assert total_score(scores, parts["siblings"], moved) <= best.score + tolerance


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_an_exhaustive_search_lists_all_nonprojective_trees(n, roots):
    scores, parts = random_parts(n, ("siblings",), seed=n)
    forest = enumerate_forest(scores, "nonprojective", roots, **parts)
    options = {"trees": "nonprojective", "roots": roots, **parts}
    expected = np.sort(forest.scores.astype(float))[::-1][:1000]
    listed = inference.kbest(scores, 1000, **options)
    assert len({tuple(tree.heads) for tree in listed}) == len(expected)
    if len(forest) <= 1000:
        assert [tree.score for tree in listed] == pytest.approx(expected.tolist(), abs=1e-9)
    for k in (1, 7, 32):
        short = inference.kbest(scores, k, **options)
        assert [tree.score for tree in short] == pytest.approx(expected[:k].tolist(), abs=1e-9)


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e6])
def test_sums_over_found_trees_are_those_of_all_trees_where_there_are_few(roots, scale):
    family = FoundTrees(roots=roots)
    for n, seed in itertools.product((1, 2, 3), range(3)):
        scores, parts = random_parts(n, ("siblings",), seed, scale)
        forest = enumerate_forest(scores, "nonprojective", roots, **parts)
        given = {PartKind.ARC: scores, PartKind.SIBLING: parts["siblings"]}
        tolerance = slack(scale, n)
        assert family.log_partition(given) == pytest.approx(forest.log_partition, abs=tolerance)
        found = family.marginals(given)
        check_marginals(Marginals(found[PartKind.ARC], found[PartKind.SIBLING]), forest, ("siblings",), 1e-9)


def test_found_trees_use_no_forbidden_part():
    for seed in range(10):
        scores, parts = random_parts(6, ("siblings",), seed)
        scores[np.random.default_rng(seed).random(scores.shape) < 0.3] = -np.inf
        parts["siblings"][np.random.default_rng(seed + 1).random(parts["siblings"].shape) < 0.05] = -np.inf
        try:
            listed = inference.kbest(scores, 50, trees="nonprojective", **parts)
        except NoTreeError:
            continue
        for tree in listed:
            assert is_tree(tree.heads, "nonprojective", "single")
            assert tree.score == pytest.approx(total_score(scores, parts["siblings"], tree.heads), abs=1e-9)


def test_approximate_nonprojective_search_obeys_constraints():
    for seed in range(20):
        scores, parts = random_parts(6, ("siblings",), seed)
        scores[3, 4] = -np.inf
        required = np.array([-1, -1, 5, -1, -1, -1, -1])
        best = inference.argmax(scores, required=required, **parts)
        assert best.heads[2] == 5
        assert best.heads[4] != 3
        assert is_tree(best.heads, "nonprojective", "single")


@each_model
def test_the_empty_sentence(model):
    parts = {name: np.zeros((1,) * ORDER[name]) for name in model}
    for roots in ("single", "multi"):
        options = {"trees": "projective", "roots": roots, **parts}
        assert inference.argmax(np.zeros((1, 1)), **options).heads.tolist() == [-1]
        assert inference.log_partition(np.zeros((1, 1)), **options) == 0.0
        assert inference.marginals(np.zeros((1, 1)), **options).arcs.tolist() == [[0.0]]


@each_model
def test_batches_of_parts_equal_singles(model):
    pairs = [random_parts(n, model, n) for n in (3, 1, 0, 5, 4)]
    scores = [pair[0] for pair in pairs]
    parts = {name: [pair[1][name] for pair in pairs] for name in model}
    for query in (inference.argmax, inference.log_partition, inference.marginals):
        singles = [query(s, trees="projective", **p) for s, p in pairs]
        for threads in (1, 2):
            batch = query(scores, trees="projective", threads=threads, **parts)
            assert all(identical(a, b) for a, b in zip(singles, batch, strict=True))


UNAVAILABLE = [
    ("grandparents", "projective", "kbest", (2,)),
    ("grandparents", "projective", "sample", (2,)),
    ("grandsiblings", "projective", "kbest", (2,)),
    ("grandsiblings", "projective", "sample", (2,)),
    ("grandparents", "nonprojective", "argmax", ()),
    ("grandsiblings", "nonprojective", "argmax", ()),
    ("siblings", "nonprojective", "log_partition", ()),
    ("siblings", "nonprojective", "marginals", ()),
    ("siblings", "nonprojective", "sample", (2,)),
]


@pytest.mark.parametrize(("part", "trees", "query", "arguments"), UNAVAILABLE)
def test_unavailable_queries_are_rejected(part, trees, query, arguments):
    parts = {part: np.zeros((4,) * ORDER[part])}
    with rejects(InputError, field=query):
        getattr(inference, query)(np.zeros((4, 4)), *arguments, trees=trees, **parts)


def test_entropy_is_rejected_without_marginals():
    with rejects(InputError, field="marginals"):
        inference.entropy(np.zeros((4, 4)), trees="nonprojective", siblings=np.zeros((4, 4, 4)))


@each_model
def test_parts_of_the_wrong_shape_are_rejected(model):
    for name in model:
        for shape in [(4,) * (ORDER[name] - 1), (3,) * ORDER[name], (4,) * ORDER[name] + (2,)]:
            with rejects(InputError, field=name):
                inference.argmax(np.zeros((4, 4)), trees="projective", **{name: np.zeros(shape)})


@each_model
def test_parts_that_are_not_numbers_are_rejected(model):
    for name in model:
        array = np.zeros((4,) * ORDER[name])
        index = {"siblings": (1, 3, 2), "grandparents": (0, 1, 2), "grandsiblings": (0, 1, 3, 2)}
        for value in (np.nan, np.inf):
            array[index[name]] = value
            with rejects(InputError, field=name):
                inference.log_partition(np.zeros((4, 4)), trees="projective", **{name: array})


@each_root
def test_twenty_words_at_every_scale_give_probabilities(roots):
    for scale, model in itertools.product((1.0, 1e3, 1e6), MODELS[:2]):
        scores, parts = random_parts(20, model, 0, scale)
        options = {"trees": "projective", "roots": roots, **parts}
        arcs = inference.marginals(scores, **options).arcs
        assert np.all((arcs >= 0) & (arcs <= 1))
        assert np.allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9)
        best = inference.argmax(scores, **options).score
        assert inference.log_partition(scores, **options) >= best
