"""What every family promises, asked of all that are registered: a new one is tested by existing."""

import itertools

import numpy as np
import pytest
from errors import rejects
from inference.helpers import slope
from oracle.enumerate_trees import is_tree

from arbora.errors import InputError, NoTreeError
from arbora.interfaces import FAMILY_QUERIES, PartKind, Query
from arbora.registry import families

WORDS = 4
EACH = [
    families.create(name, roots=roots) for name, roots in itertools.product(families, ("single", "multi"))
]
ANSWERS = [
    (family, query) for family in EACH for query in Query if query in family.queries | family.approximate
]


def name_of(value):
    return str(value) if isinstance(value, Query) else f"{value.name}-{value.roots}"


def each_answering(*queries):
    """Every family that promises to answer all of these exactly."""
    return pytest.mark.parametrize("family", [f for f in EACH if f.queries >= set(queries)], ids=name_of)


each_family = each_answering()
each_answer = pytest.mark.parametrize(("family", "query"), ANSWERS, ids=name_of)
each_seed = pytest.mark.parametrize("seed", range(5))

ASK = {
    Query.ARGMAX: lambda family, scores: family.argmax(scores),
    Query.KBEST: lambda family, scores: family.kbest(scores, 30),
    Query.LOG_PARTITION: lambda family, scores: family.log_partition(scores),
    Query.MARGINALS: lambda family, scores: family.marginals(scores),
    Query.SAMPLE: lambda family, scores: family.sample(scores, 20, seed=3),
}


def random_scores(family, seed, n=WORDS, scale=1.0):
    """Scores of every part that the family knows."""
    rng = np.random.default_rng([seed, n])
    return {kind: scale * rng.normal(size=(n + 1,) * kind.axes) for kind in family.parts}


def check_trees(family, answers, n):
    for best in answers:
        assert best.heads.shape == (n + 1,)
        assert is_tree(best.heads, family.trees, family.roots), best.heads


def score_of(family, scores, heads):
    """The score of a tree, part by part, from the definitions in `arbora.inference`."""
    n = len(heads) - 1
    total = 0.0
    for dep in range(1, n + 1):
        head = int(heads[dep])
        between = range(dep + 1, head) if dep < head else range(dep - 1, head, -1)
        sibling = next((word for word in between if heads[word] == head), head)
        above = int(heads[head])
        indices = {
            PartKind.ARC: (head, dep),
            PartKind.SIBLING: (head, dep, sibling),
            PartKind.GRANDPARENT: (above, head, dep) if head else None,
            PartKind.GRANDSIBLING: (above, head, dep, sibling) if head else None,
        }
        total += sum(scores[kind][indices[kind]] for kind in scores if indices[kind] is not None)
    return total


def test_something_is_registered():
    assert len(families) >= 5
    assert all(families.create(name).name == name for name in families)


@each_family
def test_what_it_says_of_itself(family):
    assert family.parts[0] is PartKind.ARC
    assert len(set(family.parts)) == len(family.parts)
    assert family.queries | family.approximate
    assert not family.queries & family.approximate
    assert families.summary(family.name)
    with pytest.raises((AttributeError, TypeError)):
        family.roots = "multi"
    assert family == families.create(family.name, roots=family.roots)
    assert hash(family) == hash(families.create(family.name, roots=family.roots))


@pytest.mark.parametrize("family", [f for f, query in ANSWERS if query is Query.ARGMAX], ids=name_of)
@each_seed
@pytest.mark.parametrize("n", [1, 2, WORDS, 7])
def test_argmax_is_a_tree_of_the_family_with_its_score(family, seed, n):
    scores = random_scores(family, seed, n)
    best = family.argmax(scores)
    check_trees(family, [best], n)
    assert best.score == pytest.approx(score_of(family, scores, best.heads), abs=1e-12)


@each_answering(Query.KBEST, Query.ARGMAX)
@each_seed
def test_kbest_is_in_order_and_begins_with_the_best(family, seed):
    scores = random_scores(family, seed)
    trees = family.kbest(scores, 30)
    check_trees(family, trees, WORDS)
    assert all(first.score >= second.score for first, second in itertools.pairwise(trees))
    assert len({tuple(tree.heads) for tree in trees}) == len(trees)
    assert tuple(trees[0].heads) == tuple(family.argmax(scores).heads)
    assert [tree.score for tree in trees] == pytest.approx(
        [score_of(family, scores, tree.heads) for tree in trees], abs=1e-12
    )


@each_answering(Query.LOG_PARTITION, Query.ARGMAX)
@each_seed
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_log_partition_is_not_below_the_best(family, seed, scale):
    scores = random_scores(family, seed, scale=scale)
    assert family.log_partition(scores) >= family.argmax(scores).score


@each_answering(Query.LOG_PARTITION)
@each_seed
def test_log_partition_sums_over_all_trees(family, seed):
    n = 3
    scores = random_scores(family, seed, n)
    vectors = itertools.product([-1], *[range(n + 1)] * n)
    trees = [heads for heads in map(np.array, vectors) if is_tree(heads, family.trees, family.roots)]
    total = np.logaddexp.reduce([score_of(family, scores, heads) for heads in trees])
    assert family.log_partition(scores) == pytest.approx(total, abs=1e-10)


@each_answering(Query.MARGINALS)
@each_seed
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_marginals_are_probabilities(family, seed, scale):
    scores = random_scores(family, seed, scale=scale)
    marginals = family.marginals(scores)
    assert set(marginals) == set(scores)
    for kind, array in marginals.items():
        assert array.shape == scores[kind].shape
        assert np.all((array >= 0.0) & (array <= 1.0))
    arcs = marginals[PartKind.ARC]
    assert np.all(arcs[:, 0] == 0.0)
    assert np.all(np.diagonal(arcs) == 0.0)
    assert np.allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0.0, atol=1e-9)
    if family.roots == "single":
        assert arcs[0].sum() == pytest.approx(1.0, abs=1e-9)


@each_answering(Query.MARGINALS, Query.LOG_PARTITION)
@pytest.mark.parametrize("seed", range(2))
def test_marginals_are_the_gradient_of_log_partition(family, seed):
    scores = random_scores(family, seed)
    marginals = family.marginals(scores)
    for kind, array in scores.items():
        for index in np.ndindex(array.shape):
            found = slope(lambda: family.log_partition(scores), array, index)
            assert found == pytest.approx(marginals[kind][index], abs=1e-7), (kind, index)


@each_answering(Query.SAMPLE)
@each_seed
def test_samples_are_trees_of_the_family(family, seed):
    scores = random_scores(family, seed)
    trees = family.sample(scores, 40, seed=seed)
    assert len(trees) == 40
    check_trees(family, trees, WORDS)
    again = family.sample(scores, 40, seed=seed)
    assert [tuple(tree.heads) for tree in trees] == [tuple(tree.heads) for tree in again]


@each_answering(Query.SAMPLE, Query.MARGINALS)
def test_sample_frequencies_follow_the_marginals(family):
    scores = random_scores(family, 9)
    count = 4000
    frequencies = np.zeros((WORDS + 1, WORDS + 1))
    for tree in family.sample(scores, count, seed=1):
        frequencies[tree.heads[1:], np.arange(1, WORDS + 1)] += 1.0 / count
    spread = 6.0 * np.sqrt(0.25 / count)
    assert np.allclose(frequencies, family.marginals(scores)[PartKind.ARC], rtol=0.0, atol=spread)


@each_family
@pytest.mark.parametrize("query", [query for query in Query if query in FAMILY_QUERIES])
def test_declared_queries_work_and_others_are_rejected(family, query):
    scores = random_scores(family, 0)
    if query in family.queries | family.approximate:
        assert ASK[query](family, scores) is not None
        return
    for given in (scores, {PartKind.ARC: scores[PartKind.ARC]}):
        with rejects(InputError, field=query.value):
            ASK[query](family, given)


@each_answer
def test_no_score_is_changed(family, query):
    scores = random_scores(family, 1)
    for array in scores.values():
        array.setflags(write=False)
    before = {kind: array.copy() for kind, array in scores.items()}
    ASK[query](family, scores)
    assert all(np.array_equal(before[kind], array) for kind, array in scores.items())


@each_answer
def test_ignored_entries_may_hold_anything(family, query):
    scores = random_scores(family, 2)
    expected = ASK[query](family, scores)
    scores[PartKind.ARC][:, 0] = np.nan
    np.fill_diagonal(scores[PartKind.ARC], np.nan)
    found = ASK[query](family, scores)
    if query is Query.LOG_PARTITION:
        assert found == expected
    elif query is Query.ARGMAX:
        assert tuple(found.heads) == tuple(expected.heads)


@each_answer
def test_no_tree_is_said(family, query):
    scores = random_scores(family, 3)
    scores[PartKind.ARC][:, 2] = -np.inf
    with pytest.raises(NoTreeError):
        ASK[query](family, scores)


@each_family
def test_parts_left_out_count_nothing(family):
    scores = random_scores(family, 4)
    nothing = {kind: array if kind is PartKind.ARC else 0.0 * array for kind, array in scores.items()}
    arcs = {PartKind.ARC: scores[PartKind.ARC]}
    if Query.LOG_PARTITION in family.queries:
        assert family.log_partition(arcs) == pytest.approx(family.log_partition(nothing), abs=1e-12)
    if Query.MARGINALS in family.queries:
        assert set(family.marginals(arcs)) == {PartKind.ARC}


@each_family
def test_foreign_and_missing_parts_are_rejected(family):
    scores = random_scores(family, 5)
    query = next(iter(family.queries | family.approximate))
    with rejects(InputError, field="scores"):
        ASK[query](family, {})
    for kind in set(PartKind) - {*family.parts, PartKind.LABEL}:
        with rejects(InputError, field="scores"):
            ASK[query](family, {**scores, kind: np.zeros((WORDS + 1,) * kind.axes)})
