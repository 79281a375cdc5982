"""Probabilities of trained parsers: against all trees of tiny sentences, and by what they promise."""

from dataclasses import fields, replace
from itertools import pairwise, product

import numpy as np
import pytest
from errors import rejects
from graph_toys import SHAPES, config, name_of, treebank
from oracle.enumerate_trees import enumerate_forest

from arbora._core import Weights
from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.errors import InputError, ModelError
from arbora.interfaces import PartKind
from arbora.parsing.parsed import with_probabilities
from arbora.parsing.parser import Parser
from arbora.search.graph import GraphSearch
from arbora.search.request import Temperatures
from arbora.storage.model_file import read_model, write_model
from arbora.training import train

TRAIN, DEV = treebank(40, seed=1, nonprojective=0.2), treebank(15, seed=2, nonprojective=0.2)
SMALL = columns_of(
    [s for s in treebank(90, seed=3, nonprojective=0.3, longest=8).sentences() if len(s) <= 5][:8]
)
HOT = Temperatures(trees=0.7, labels=0.4)


def is_exact(shape):
    return shape["order"] == 1 or shape["trees"] == "projective"


KINDS = {
    f"{name_of(shape)}-{labels}": (shape, labels) for shape, labels in product(SHAPES, ("staged", "joint"))
}
EXACT = [kind for kind, (shape, _) in KINDS.items() if is_exact(shape)]
SEARCHED = [kind for kind in KINDS if kind not in EXACT]


@pytest.fixture(scope="module")
def parsers():
    """One of every kind, with temperatures that differ from 1."""
    made = {}
    for kind, (shape, labels) in KINDS.items():
        parser = train(TRAIN, config=config(epochs=2, labels=labels, **shape)).parser
        made[kind] = replace(parser, calibration=HOT, is_calibrated=True)
    return made


def weights_of(values):
    state = Weights(len(values), averaged=False).state()
    state["v"] = values
    state["norm2"] = float(np.sum(values.astype(np.float64) ** 2))
    return Weights.from_state(state)


def forest_of(parser, s):
    """All trees of a sentence with their scores by its parts, labels summed out by `label_scores`."""
    encoded = parser.names.encode(SMALL)
    parts = parser.scorer.sentence_scores(encoded, s, weights_of(parser.scorer.tree))
    kept = parser.search.pruner.prune(encoded)
    arcs = parts[PartKind.ARC] / HOT.trees
    for dep in range(1, len(arcs)):
        allowed = kept.heads_of(s, dep)
        arcs[[h for h in range(len(arcs)) if h not in allowed], dep] = -np.inf
    if parser.scorer.settings.labels == "joint":
        # Sums over labels are told by the parser's own tempered scores; first order has them as they are.
        arcs = joint_arcs(parser, encoded, s)
    higher = {
        "siblings": parts.get(PartKind.SIBLING),
        "grandparents": parts.get(PartKind.GRANDPARENT),
    }
    return enumerate_forest(
        arcs,
        parser.search.trees,
        parser.search.roots,
        **{name: array / HOT.trees for name, array in higher.items() if array is not None},
    )


def joint_arcs(parser, encoded, s):
    """Arc scores with labels summed out: those of the same parser at first order."""
    scorer = parser.scorer.replaced(settings=replace(parser.scorer.settings, order=1, grandparents=False))
    first = GraphSearch(scorer, parser.search.pruner)
    return first.native_confidence.scores(
        encoded, s, tree_temperature=HOT.trees, label_temperature=HOT.labels
    )


def pieces(columns):
    offsets = columns.offsets.tolist()
    return list(pairwise(offsets))


@pytest.mark.parametrize("kind", EXACT)
def test_probabilities_are_those_of_all_trees(kind, parsers):
    parser = parsers[kind]
    found = parser.confidence(SMALL, arc_table=True)
    risk = parser.confidence(SMALL, decode="minimum-risk", temperatures=replace(HOT, risk=1.0))
    ranked = parser.confidence(SMALL, k=4)
    heads, labels = parser.trees(SMALL)
    assert np.array_equal(found.heads, heads)
    assert np.array_equal(found.labels, labels)
    at = tree = word = 0
    for s, (first, last) in enumerate(pieces(SMALL)):
        n = last - first
        forest = forest_of(parser, s)
        marginals = forest.head_marginals()
        table = found.arc_table[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        at += (n + 1) ** 2
        assert table == pytest.approx(marginals, abs=1e-5)
        words = np.arange(1, n + 1)
        assert found.head_probabilities[first:last] == pytest.approx(
            marginals[heads[first:last], words], abs=1e-5
        )
        logs = np.log(np.where(marginals > 0, marginals, 1))
        assert found.head_entropies[first:last] == pytest.approx(
            -(marginals * logs).sum(axis=0)[1:], abs=1e-4
        )
        assert found.entropies[s] == pytest.approx(forest.entropy, abs=1e-4)
        own = forest.find(np.array([-1, *heads[first:last]]))
        assert np.exp(found.log_probabilities[s]) == pytest.approx(float(forest.probabilities[own]), abs=1e-5)
        assert risk.head_probabilities[first:last].sum() == pytest.approx(
            forest.most_expected_correct(), abs=1e-5
        )
        count = int(ranked.counts[s])
        assert count == min(4, len(forest))
        best = np.sort(forest.probabilities)[::-1][:count].astype(float)
        assert np.exp(ranked.log_probabilities[tree : tree + count]) == pytest.approx(best, abs=1e-5)
        different = {tuple(ranked.heads[word + i * n : word + (i + 1) * n]) for i in range(count)}
        assert len(different) == count
        for i in range(count):
            place = forest.find(np.array([-1, *ranked.heads[word + i * n : word + (i + 1) * n]]))
            assert forest.probabilities[place] == pytest.approx(best[i], abs=1e-5)
        tree, word = tree + count, word + count * n


@pytest.mark.parametrize("kind", KINDS)
def test_what_always_holds(kind, parsers):
    parser = parsers[kind]
    found = parser.confidence(DEV, arc_table=True, label_table=True)
    at = 0
    for first, last in pieces(DEV):
        n = last - first
        table = found.arc_table[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        at += (n + 1) ** 2
        assert table[:, 1:].sum(axis=0) == pytest.approx(np.ones(n))
        assert np.all(np.diag(table) == 0.0)
    labels = found.label_table.reshape(DEV.words, -1)
    assert labels.sum(axis=1) == pytest.approx(np.ones(DEV.words))
    assert found.label_probabilities == pytest.approx(labels[np.arange(DEV.words), found.labels])
    assert found.label_probabilities == pytest.approx(labels.max(axis=1), abs=1e-6)
    risk = parser.confidence(DEV, decode="minimum-risk", temperatures=replace(HOT, risk=1.0))
    assert risk.head_probabilities.sum() >= found.head_probabilities.sum() - 1e-6
    for (first, last), best in zip(pieces(DEV), found.log_probabilities, strict=True):
        tree = Tree.from_heads(risk.heads[first:last].tolist())
        assert tree.is_projective() or parser.search.trees == "nonprojective"
        assert parser.search.roots == "multi" or len(tree.roots) == 1
        assert best <= 0.0
    cold = parser.confidence(DEV, decode="minimum-risk", temperatures=replace(HOT, risk=0.01))
    if "staged" in kind:  # else labels are summed out before trees are compared
        assert np.mean(cold.heads == found.heads) > 0.99  # one tree has it all, the best
    missed = parser.confidence(DEV, temperatures=replace(HOT, missed=0.25))
    assert missed.head_probabilities == pytest.approx(0.75 * found.head_probabilities)


@pytest.mark.parametrize("labels", ["staged", "joint"])
def test_temperatures_are_powers(labels, parsers):
    """P at temperature 2 is proportional to the root of P at 1, for labels; scores of trees are halved."""
    parser = parsers[f"projective-single-1-{labels}"]
    cold, warm = (
        parser.confidence(DEV, temperatures=Temperatures(labels=t), label_table=True) for t in (1.0, 2.0)
    )
    roots = np.sqrt(cold.label_table.reshape(DEV.words, -1))
    expected = roots / roots.sum(axis=1, keepdims=True)
    assert warm.label_table.reshape(DEV.words, -1) == pytest.approx(expected, abs=1e-6)
    if labels == "staged":
        asked = [Temperatures(), Temperatures(trees=2.0)]
        cold, warm = (parser.confidence(DEV, temperatures=t, k=2) for t in asked)
        assert warm.scores == pytest.approx(cold.scores / 2, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_depends_on_threads(kind, parsers):
    parser = parsers[kind]
    for options in ({"decode": "argmax"}, {"decode": "minimum-risk"}, {"k": 3}):
        one, three = (
            parser.confidence(DEV, arc_table=True, label_table=True, threads=threads, **options)
            for threads in (1, 3)
        )
        for name in (field.name for field in fields(one)):
            assert np.array_equal(getattr(one, name), getattr(three, name), equal_nan=name != "heads"), name


@pytest.mark.parametrize("kind", SEARCHED)
def test_an_exhaustive_search_gives_the_probabilities_of_all_trees(kind, parsers):
    parser = parsers[kind]
    for s, one in enumerate(SMALL.sentences()):
        found = parser.confidence(columns_of([one]), k=1000, arc_table=True)
        forest, trees = forest_of(parser, s), found.heads.reshape(-1, len(one))
        trees = np.insert(trees, 0, -1, axis=1)
        assert len(forest) <= 1000
        places = [forest.find(heads) for heads in trees]
        assert len(set(places)) == len(forest)
        assert np.array_equal(trees[0, 1:], parser.trees(columns_of([one]))[0])
        assert np.all(np.diff(found.log_probabilities[1:]) <= 1e-6)
        shares = np.exp(found.log_probabilities)
        assert shares.sum() == pytest.approx(1.0)
        assert shares == pytest.approx(forest.probabilities[places].astype(float), abs=1e-5)
        assert found.arc_table == pytest.approx(forest.head_marginals().reshape(-1), abs=1e-5)
        assert found.entropies[0] == pytest.approx(forest.entropy, abs=1e-4)


@pytest.mark.parametrize("kind", SEARCHED)
def test_a_short_search_finds_nearly_all_probability(kind, parsers):
    """What it does not find makes the trees that it finds look a little surer."""
    parser = parsers[kind]
    found, ranked = parser.confidence(SMALL, arc_table=True), parser.confidence(SMALL, k=16)
    at = tree = word = 0
    for s, (first, last) in enumerate(pieces(SMALL)):
        n, count, forest = last - first, int(ranked.counts[s]), forest_of(parser, s)
        own = float(forest.probabilities[forest.find(np.array([-1, *found.heads[first:last]]))])
        assert own - 1e-6 <= np.exp(found.log_probabilities[s]) <= own + 0.05
        table = found.arc_table[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        assert table == pytest.approx(forest.head_marginals(), abs=0.1)
        best = np.sort(forest.probabilities)[::-1][:count].astype(float)
        shares = np.exp(ranked.log_probabilities[tree : tree + count])
        assert np.sort(shares)[::-1] == pytest.approx(best, abs=0.05)
        assert np.array_equal(ranked.heads[word : word + n], found.heads[first:last])
        at, tree, word = at + (n + 1) ** 2, tree + count, word + count * n


@pytest.mark.parametrize("kind", SEARCHED)
def test_a_tree_that_was_not_found_has_a_probability(kind, parsers):
    parser = parsers[kind]
    for one in DEV.sentences():
        given = parser.confidence(columns_of([one]), decode="given")
        own = parser.confidence(columns_of([one]))
        assert given.log_probabilities[0] <= max(own.log_probabilities[0], np.log(0.5)) + 1e-6


# From Python


@pytest.fixture(scope="module")
def parser(parsers):
    return parsers["projective-single-1-staged"]


def test_parsed_sentences(parser):
    sentences = list(DEV.sentences())
    parsed = parser.parse(sentences, probabilities=True)
    assert [each.sentence for each in parsed] == parser.parse(sentences)
    found = parser.confidence(DEV)
    assert [w.head_probability for each in parsed for w in each] == found.head_probabilities.tolist()
    assert [w.label_probability for each in parsed for w in each] == found.label_probabilities.tolist()
    one = parsed[0]
    assert one[0] == next(iter(one))
    assert one[-1].form == one.sentence[-1].form
    assert one.tree == one.sentence.tree
    assert len(one) == len(one.sentence)
    assert one.distribution.arc_marginals[one[0].head, 1] == pytest.approx(one[0].head_probability)
    assert one.entropy == pytest.approx(one.distribution.entropy)
    best = one.kbest(4)
    assert best[0].sentence == one.sentence
    assert best[0].probability == pytest.approx(one.probability)
    assert [b.probability for b in best] == sorted((b.probability for b in best), reverse=True)
    expected = one.distribution.kbest(4)
    assert [list(b.sentence.heads) for b in best] == [b.heads[1:].tolist() for b in expected]
    risky = parser.parse(sentences, decode="minimum-risk")
    assert risky == [p.sentence for p in parser.parse(sentences, decode="minimum-risk", probabilities=True)]
    assert parser.parse([], probabilities=True) == []


def test_unavailable_queries_are_rejected(parsers):
    crossing = parsers["nonprojective-single-3-staged"]
    (one,) = crossing.parse([["a", "b", "c"]], probabilities=True)
    with rejects(InputError, field="distribution"):
        _ = one.distribution
    for k in (0, 1001, 1.5, True):
        with rejects(InputError, field="k"):
            crossing.kbest(["a"], k)
    with rejects(InputError, field="decode"):
        crossing.parse([["a"]], decode="best")
    bare = train(TRAIN, config=config(epochs=1, labels="none", order=1)).parser
    (one,) = bare.parse([["a", "b"]], probabilities=True)
    assert [w.label_probability for w in one] == [None, None]
    assert "DeprelProb" not in one.to_conllu()


def test_long_sentences_have_probabilities_too(parsers):
    words = [f"w{i % 9}" for i in range(700)]
    (one,) = parsers["projective-single-3-staged"].parse([words], probabilities=True)
    assert one.probability is None
    assert all(0 <= w.head_probability <= 1 for w in one)
    with pytest.raises(InputError):
        one.kbest(2)


def test_misc_keeps_what_it_had():
    assert with_probabilities("_", 0.5, 1.0) == "HeadProb=0.5000|DeprelProb=1.0000"
    assert with_probabilities("SpaceAfter=No", 0.98765, None) == "SpaceAfter=No|HeadProb=0.9877"
    old = "HeadProb=0.1|SpaceAfter=No|DeprelProb=0.2|X"
    assert with_probabilities(old, 0.25, 0.75) == "SpaceAfter=No|X|HeadProb=0.2500|DeprelProb=0.7500"


def test_comments_keep_what_they_had(parser):
    given = Sentence.from_lists(
        ["a", "b"], comments=["# text = a b", "# tree_probability = 1", "# kbest = 1/2"]
    )
    (one,) = parser.parse([given], probabilities=True)
    comments = one.annotated("# more = 1").comments
    assert comments == ("# text = a b", "# more = 1", f"# tree_probability = {one.probability:.4g}")
    assert one.annotated().heads == one.sentence.heads
    told = one.to_json()
    assert told["tree_probability"] == one.probability
    assert told["words"][1]["head_probability"] == one[1].head_probability


# Temperatures in model files


def test_temperatures_are_stored(parser, tmp_path):
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    assert loaded.calibration == HOT
    assert loaded.is_calibrated
    expected = parser.confidence(DEV).head_probabilities
    assert np.array_equal(loaded.confidence(DEV).head_probabilities, expected)


def test_models_without_temperatures_load(parser, tmp_path):
    old = replace(parser, calibration=Temperatures(), is_calibrated=False)
    old.save(tmp_path / "old")
    loaded = Parser.load(tmp_path / "old")
    assert loaded.calibration == Temperatures()
    assert not loaded.is_calibrated
    assert np.all(loaded.confidence(DEV).head_probabilities > 0)


@pytest.mark.parametrize(
    "bad", [3, [], {"trees": 0.0}, {"trees": "1"}, {"labels": -1.0}, {"missed": 1.0}, {"other": 1.0}]
)
def test_damaged_temperatures_are_rejected(bad, parser, tmp_path):
    parser.save(tmp_path / "model")
    file = read_model(tmp_path / "model")
    metadata = {**file.metadata, "calibration": bad}
    write_model(tmp_path / "bad", dict(file.tensors), metadata)
    with rejects(ModelError, source=str(tmp_path / "bad")):
        Parser.load(tmp_path / "bad")


def test_what_is_certain_can_be_kept(parsers):
    """Heads go with their labels; what is left is a treebank that is known in part."""
    parser = parsers[EXACT[0]]
    parsed = parser.parse(list(TRAIN.sentences()), probabilities=True)
    for threshold in (0.0, 0.6, 1.0):
        for one in parsed:
            part = one.certain(threshold)
            assert part.forms == one.sentence.forms
            for word, head, label in zip(one, part.heads, part.deprels, strict=True):
                sure = word.head_probability * word.label_probability >= threshold
                assert (head, label) == ((word.head, word.deprel) if sure else (-1, "_"))
    assert all(one.certain(0.0) == one.sentence for one in parsed)
    half = [one.certain(0.6) for one in parsed]
    shares = [head == -1 for part in half for head in part.heads]
    assert 0 < sum(shares) < len(shares)
    again = train(half, config=config(learner="adagrad", order=1)).parser
    assert again.parse([parsed[0].sentence])
    for threshold in (-0.1, 1.1, float("nan")):
        with rejects(InputError, field="threshold"):
            parsed[0].certain(threshold)


def test_words_have_their_features_as_a_dictionary(parsers):
    parser = next(iter(parsers.values()))
    tagged = Sentence.from_lists(["a", "b"], upos=["N", "V"], feats=["Number=Sing|Person=3", "_"])
    (parsed,) = parser.parse([tagged], probabilities=True)
    assert [word.features for word in parsed] == [{"Number": "Sing", "Person": "3"}, {}]
