"""Search with a network's scores: the fast way against all trees, and labels against their definition."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank
from neural_toys import neural_scorer
from oracle.enumerate_trees import head_matrix

from arbora.data.columns import parse_text
from arbora.data.encode import Names
from arbora.errors import InputError, NoTreeError
from arbora.interfaces import PartKind
from arbora.parsing.parser import Parser
from arbora.search.neural import NeuralSearch
from arbora.search.ranked import ranked_lists
from arbora.search.request import ParseRequest, Temperatures

COLUMNS = treebank(40, seed=3)
ALL_SHORT = treebank(60, seed=4, longest=8)
SHORT = ALL_SHORT.select(np.flatnonzero(np.diff(ALL_SHORT.offsets) <= 5)[:12])
NAMES = Names.of(COLUMNS)
each_family = pytest.mark.parametrize("trees", ["projective", "nonprojective"])
each_roots = pytest.mark.parametrize("roots", ["single", "multi"])


def search_of(trees="nonprojective", roots="single", **options):
    return NeuralSearch(neural_scorer(COLUMNS, **options), trees=trees, roots=roots)


def parser_of(*arguments, **options):
    return Parser(names=NAMES, search=search_of(*arguments, **options))


@each_family
@each_roots
@pytest.mark.parametrize("siblings", [0, 3])
def test_best_trees_are_the_best_of_all(trees, roots, siblings):
    if siblings and trees == "nonprojective":
        pytest.skip("non-projective trees with siblings are found by hill climbing")
    search = search_of(trees, roots, siblings=siblings)
    batch = NAMES.batch(SHORT)
    heads, _ = search.best(batch, ParseRequest())
    for scores, own in zip(search.scorer.score(batch), SHORT.split(heads), strict=True):
        every = head_matrix(len(own), trees=trees, roots=roots)
        totals = [tree_score(scores, tree) for tree in every]
        assert tree_score(scores, np.append(-1, own)) == pytest.approx(max(totals), abs=1e-9)


def tree_score(scores, heads):
    deps = range(1, len(heads))
    total = sum(scores[PartKind.ARC][heads[dep], dep] for dep in deps)
    if PartKind.SIBLING in scores:
        for dep in deps:
            head = int(heads[dep])
            step = 1 if dep < head else -1
            towards = range(dep + step, head, step)
            total += scores[PartKind.SIBLING][head, dep, next((k for k in towards if heads[k] == head), head)]
    return total


@each_family
def test_probabilities_sum_over_all_trees(trees):
    search = search_of(trees)
    batch = NAMES.batch(SHORT)
    temperature = 20.0
    found = search.confidence_at(batch, ParseRequest(arc_table=True))(Temperatures(trees=temperature))
    tables = np.split(found.arc_table, np.cumsum((batch.lengths + 1) ** 2)[:-1])
    parts = zip(search.scorer.score(batch), tables, SHORT.split(found.heads), strict=True)
    for i, (scores, table, own) in enumerate(parts):
        every = head_matrix(len(own), trees=trees, roots="single")
        totals = np.array([tree_score(scores, tree) for tree in every]) / temperature
        shares = np.exp(totals - totals.max())
        shares /= shares.sum()
        expected = np.zeros((len(own) + 1, len(own) + 1))
        for tree, share in zip(every, shares, strict=True):
            expected[tree[1:], np.arange(1, len(tree))] += share
        np.testing.assert_allclose(table.reshape(expected.shape), expected, atol=1e-9)
        place = [tree.tolist() for tree in every].index([-1, *own.tolist()])
        assert np.exp(found.log_probabilities[i]) == pytest.approx(shares[place])


def test_labels_are_the_most_probable_of_their_arcs():
    search = search_of()
    batch = NAMES.batch(COLUMNS)
    heads, labels = search.best(batch, ParseRequest())
    scores = search.scorer.native.labels(search.scorer.states(COLUMNS), heads, 1)
    assert np.array_equal(labels, scores.argmax(axis=1))
    found = search.confidence_at(batch, ParseRequest(label_table=True))(Temperatures(labels=2.0))
    assert np.array_equal(found.heads, heads)
    assert np.array_equal(found.labels, labels)
    shares = np.exp(scores.astype(float) / 2.0)
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.label_table.reshape(shares.shape), shares, atol=1e-6)


def test_only_labels_of_the_root_go_to_the_root():
    scorer = neural_scorer(COLUMNS)
    root = NAMES.labels.index("root")
    others = [label for label in range(len(NAMES.labels)) if label != root]
    object.__setattr__(scorer, "root_labels", np.array([root], np.int32))
    object.__setattr__(scorer, "other_labels", np.array(others, np.int32))
    search = NeuralSearch(scorer)
    heads, labels = search.best(NAMES.batch(COLUMNS), ParseRequest())
    assert np.array_equal(heads == 0, labels == root)
    found = search.confidence_at(NAMES.batch(COLUMNS), ParseRequest())(Temperatures())
    assert np.array_equal(found.labels, labels)


def test_the_best_of_the_list_is_the_best_tree():
    parser = parser_of("projective")
    for sentence in list(COLUMNS.sentences())[:8]:
        (own,) = parser.parse([sentence])
        listed = parser.kbest(sentence, 4)
        assert listed[0].tree.heads.tolist() == own.tree.heads.tolist()
        chances = [tree.probability for tree in listed]
        assert chances == sorted(chances, reverse=True)


@each_family
def test_given_heads_are_kept(trees):
    parser = parser_of(trees)
    heads = np.where(np.arange(COLUMNS.words) % 2 == 0, COLUMNS.heads, -1).astype(np.int32)
    batch = NAMES.batch(COLUMNS)
    batch.set_heads(heads)
    found, _ = parser.trees(batch, keep_heads=True)
    assert np.array_equal(found[heads >= 0], heads[heads >= 0])
    slow = parser.confidence(batch, keep_heads=True)
    assert np.array_equal(slow.heads, found)


def test_given_heads_without_a_tree_are_rejected():
    cycle = parse_text("1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "conllu")
    batch = NAMES.batch(cycle)
    batch.set_heads(np.array([2, 1], np.int32))
    with rejects(NoTreeError):
        parser_of().trees(batch, keep_heads=True)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads):
    parser = parser_of()
    one, several = parser.trees(COLUMNS), parser.trees(COLUMNS, threads=threads)
    assert all(map(np.array_equal, one, several))


def test_pieces_change_nothing(monkeypatch):
    whole = parser_of().trees(COLUMNS)
    monkeypatch.setattr("arbora.search.neural.PIECE", 10)
    assert all(map(np.array_equal, whole, parser_of().trees(COLUMNS)))


def test_a_distribution_has_the_marginals_of_the_parser():
    parser = parser_of("projective")
    sentence = next(iter(SHORT.sentences()))
    table = parser.confidence(SHORT.select(np.array([0])), arc_table=True).arc_table
    distribution = parser.distribution(sentence)
    np.testing.assert_allclose(distribution.marginals.reshape(-1), table, atol=1e-9)
    assert len(distribution.sample(5, seed=1)) == 5


def test_siblings_of_crossing_trees_have_the_sums_of_the_trees_that_are_found():
    search = search_of(siblings=3)
    batch, at = NAMES.batch(SHORT), Temperatures(trees=20.0)
    found = search.confidence_at(batch, ParseRequest(arc_table=True))(at)
    ranked = search.confidence_at(batch, ParseRequest(k=5))(at)
    tables = np.split(found.arc_table, np.cumsum((batch.lengths + 1) ** 2)[:-1])
    assert np.all(found.log_probabilities <= 0.0)
    trees = ranked_lists(batch.lengths, ranked.counts, ranked.scores, ranked.heads, ranked.labels)
    parts = zip(search.scorer.score(batch), tables, SHORT.split(found.heads), trees, strict=True)
    for i, (scores, table, own, listed) in enumerate(parts):
        assert np.array_equal(listed.heads[0], own)
        assert len({tuple(heads) for heads in listed.heads}) == len(listed.heads)
        np.testing.assert_allclose(table.reshape(len(own) + 1, -1)[:, 1:].sum(axis=0), 1.0, atol=1e-9)
        if len(own) > 3:
            continue
        every = head_matrix(len(own), trees="nonprojective", roots="single")
        totals = np.array([tree_score(scores, tree) / 20.0 for tree in every])
        own_score = tree_score(scores, np.append(-1, own)) / 20.0
        assert found.log_probabilities[i] == pytest.approx(own_score - np.logaddexp.reduce(totals), abs=1e-6)
    with rejects(InputError):
        search.with_trees("projective")


def test_other_trees_take_the_same_scores():
    search = search_of().with_trees("projective")
    assert search.trees == "projective"
    heads, _ = search.best(NAMES.batch(COLUMNS), ParseRequest())
    assert np.array_equal(heads, search_of("projective").best(NAMES.batch(COLUMNS), ParseRequest())[0])
