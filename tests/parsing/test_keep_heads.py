"""Parsing around heads that are given: against all trees of tiny sentences, and where there are none."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from errors import rejects
from graph_toys import SHAPES, config, name_of, treebank
from oracle.enumerate_trees import enumerate_forest

from arbora._core import Weights
from arbora.data.columns import columns_of
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.tree import Tree
from arbora.errors import InputError, NoTreeError
from arbora.interfaces import PartKind
from arbora.search.graph import GraphSearch
from arbora.search.request import Temperatures
from arbora.training import train

TRAIN = treebank(40, seed=1, nonprojective=0.2)
SMALL = [s for s in treebank(90, seed=3, nonprojective=0.3, longest=8).sentences() if 2 <= len(s) <= 5][:6]
LONG = list(treebank(30, seed=4, nonprojective=0.3, longest=20).sentences())
KINDS = {
    f"{name_of(shape)}-{labels}": (shape, labels) for shape, labels in product(SHAPES, ("staged", "joint"))
}
SEARCHED = [kind for kind, (s, _) in KINDS.items() if s["order"] == 2 and s["trees"] == "nonprojective"]


@pytest.fixture(scope="module")
def pruned():
    """One of every kind, trained with a pruner that keeps little."""
    return {
        kind: train(TRAIN, config=config(epochs=2, labels=labels, **shape)).parser
        for kind, (shape, labels) in KINDS.items()
    }


@pytest.fixture(scope="module")
def parsers(pruned):
    """The same without their pruners."""
    return {kind: replace(parser, search=GraphSearch(parser.scorer)) for kind, parser in pruned.items()}


def weights_of(values):
    state = Weights(len(values), averaged=False).state()
    state["v"] = values
    state["norm2"] = float(np.sum(values.astype(np.float64) ** 2))
    return Weights.from_state(state)


def forest_of(parser, sentence):
    """All trees of a sentence with their scores."""
    encoded = parser.names.encode(columns_of([sentence]))
    parts = parser.scorer.sentence_scores(encoded, 0, weights_of(parser.scorer.tree))
    scorer = parser.scorer.replaced(settings=replace(parser.scorer.settings, order=1, grandparents=False))
    first = GraphSearch(scorer, None)
    arcs = first.native_confidence.scores(encoded, 0, tree_temperature=1.0, label_temperature=1.0)
    higher = {"siblings": parts.get(PartKind.SIBLING), "grandparents": parts.get(PartKind.GRANDPARENT)}
    return enumerate_forest(
        arcs,
        parser.search.trees,
        parser.search.roots,
        **{name: array for name, array in higher.items() if array is not None},
    )


def partial(sentence, heads, deprels=None):
    n = len(sentence)
    return replace(sentence, heads=tuple(heads), deprels=tuple(deprels or ["_"] * n))


def some_heads(n, random):
    """Heads for some words: any but the word itself."""
    return [
        int(random.choice([h for h in range(n + 1) if h != d])) if random.random() < 0.4 else NO_HEAD
        for d in range(1, n + 1)
    ]


def agrees(heads, given):
    return all(want in (NO_HEAD, got) for got, want in zip(heads, given, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_tree_that_agrees(kind, parsers):
    parser = parsers[kind]
    parser = replace(parser, calibration=Temperatures())
    random = np.random.default_rng(7)
    found = refused = 0
    for sentence in SMALL:
        forest = forest_of(parser, sentence)
        for _ in range(12):
            heads = some_heads(len(sentence), random)
            given = partial(sentence, heads)
            agreeing = np.array([agrees(tree[1:], heads) for tree in forest.heads])
            if not agreeing.any():
                for call in (
                    lambda given=given: parser.parse([given], keep_heads=True),
                    lambda given=given: parser.parse([given], keep_heads=True, probabilities=True),
                ):
                    with pytest.raises(NoTreeError):
                        call()
                refused += 1
                continue
            found += 1
            (plain,) = parser.parse([given], keep_heads=True)
            (sure,) = parser.parse([given], keep_heads=True, probabilities=True)
            assert agrees(plain.heads, heads)
            assert sure.sentence == plain
            if kind in SEARCHED:
                assert agreeing[forest.find(np.array([-1, *plain.heads]))]
                ranked = parser.kbest(given, 3, keep_heads=True)
                assert ranked[0].sentence.heads == plain.heads
                assert all(agrees(tree.sentence.heads, heads) for tree in ranked)
                continue
            scores = forest.scores[agreeing].astype(float)
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            trees = forest.heads[agreeing]
            if "staged" in kind:  # else the best sum over labels need not have the best label
                best = float(forest.scores[forest.find(np.array([-1, *plain.heads]))])
                assert best == pytest.approx(scores.max(), abs=1e-4)
            for dep, word in enumerate(sure, start=1):
                expected = shares[trees[:, dep] == word.head].sum()
                assert word.head_probability == pytest.approx(expected, abs=1e-5)
                if heads[dep - 1] != NO_HEAD:
                    assert word.head_probability == pytest.approx(1.0)
            ranked = parser.kbest(given, 3, keep_heads=True)
            assert len(ranked) == min(3, len(trees))
            expected = np.sort(shares)[::-1][: len(ranked)]
            assert [tree.probability for tree in ranked] == pytest.approx(expected.tolist(), abs=1e-5)
            assert all(agrees(tree.sentence.heads, heads) for tree in ranked)
            (risk,) = parser.parse([given], keep_heads=True, decode="minimum-risk")
            assert agrees(risk.heads, heads)
    assert found >= 10
    assert refused >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruner_leaves_a_tree(kind, pruned):
    """Given heads that the pruner would drop, and long ones: trees of the family are found all the same."""
    parser = pruned[kind]
    random = np.random.default_rng(11)
    for sentence in LONG:
        tree = list(sentence.heads)
        if parser.search.trees == "projective" and not sentence.tree.is_projective():
            continue
        heads = [h if random.random() < 0.3 else NO_HEAD for h in tree]
        turned = [NO_HEAD] * len(tree)
        turned[0] = len(tree)  # the first word on the last: far, and pruned away
        for wanted in (heads, tree, turned):
            (parsed,) = parser.parse([partial(sentence, wanted)], keep_heads=True)
            assert agrees(parsed.heads, wanted)
            made = Tree.from_heads(parsed.heads)
            assert made.is_projective() or parser.search.trees == "nonprojective"
            assert len(made.roots) == 1 or parser.search.roots == "multi"
            (sure,) = parser.parse([partial(sentence, wanted)], keep_heads=True, probabilities=True)
            assert sure.sentence == parsed
            kept = [p for p, h in zip(sure.head_probabilities, wanted, strict=True) if h != NO_HEAD]
            assert kept == pytest.approx([1.0] * len(kept))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_given_is_nothing_kept(kind, pruned):
    sentences = [partial(s, [NO_HEAD] * len(s)) for s in LONG]
    parser = pruned[kind]
    assert parser.parse(sentences, keep_heads=True) == parser.parse(sentences)
    assert parser.parse(LONG, keep_heads=False) == parser.parse(sentences)


@pytest.fixture(scope="module")
def parser(pruned):
    return pruned["projective-single-3-staged"]


def test_labels_that_are_given_are_kept(parser):
    sentence = Sentence.from_lists(
        ["a", "b", "c"], heads=[None, 1, None], deprels=["amod", "my:own", None], upos=["X", "X", "X"]
    )
    (parsed,) = parser.parse([sentence], keep_heads=True)
    assert parsed.deprels[1] == "my:own"
    assert parsed.deprels[0] in parser.names.labels  # a label without a head is no more than a wish
    (sure,) = parser.parse([sentence], keep_heads=True, probabilities=True)
    assert sure.sentence == parsed
    assert sure[1].label_probability == 1.0
    assert sure[1].head_probability == 1.0
    assert all(tree.sentence.deprels[1] == "my:own" for tree in parser.kbest(sentence, 3, keep_heads=True))


@pytest.mark.parametrize(
    "heads",
    [
        [3, None, None, 2, None],  # arcs that cross
        [0, None, 0, None, None],  # two roots
        [None, 3, 4, 2, None],  # a cycle
        [2, None, 1, None, None],
        [3, 0, None, None, None],
    ],
)
def test_given_heads_without_any_tree_are_rejected(parser, heads):
    known = tuple(NO_HEAD if head is None else head for head in heads)
    sentence = replace(Sentence.from_lists(list("abcde")), heads=known)
    with rejects(NoTreeError, field=None):
        parser.parse([sentence], keep_heads=True)
    fine = Sentence.from_lists(["a"])
    with rejects(NoTreeError, field="sentence 1"):
        parser.parse([fine, sentence], keep_heads=True, probabilities=True)
    with rejects(NoTreeError, field=None):
        parser.kbest(sentence, 2, keep_heads=True)


def test_heads_that_are_none(parser):
    for wrong in (6, 1, -2):
        sentence = replace(Sentence.from_lists(list("abcde")), heads=(wrong, *[NO_HEAD] * 4))
        with rejects(InputError, field="sentence 0, word 1"):
            parser.parse([sentence], keep_heads=True)


def test_threads_change_nothing(pruned):
    random = np.random.default_rng(5)
    given = [
        partial(s, [h if random.random() < 0.3 else NO_HEAD for h in s.heads])
        for s in LONG
        if s.tree.is_projective()
    ]
    for kind, parser in pruned.items():
        assert parser.parse(given, keep_heads=True) == parser.parse(given, keep_heads=True, threads=3), kind
