"""Several parsers as one."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from graph_toys import config, treebank

import arbora
from arbora.data.tree import Tree
from arbora.errors import InputError, ModelError
from arbora.interfaces import Query
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.search.request import ParseRequest
from arbora.storage.model_file import read_model
from arbora.training import train

TRAIN, DEV = treebank(40, seed=1, nonprojective=0.2), treebank(15, seed=2, nonprojective=0.2)
SHAPES = [
    {"order": 1},
    {"trees": "projective"},
    {"trees": "nonprojective", "order": 1, "labels": "joint"},
    {"trees": "nonprojective", "labels": "none"},
]


@pytest.fixture(scope="module")
def parsers():
    return [train(TRAIN, config=config(epochs=2, **shape)).parser for shape in SHAPES]


def combine(parser, columns, **options):
    return parser.search.combine(parser.encode(columns), ParseRequest(**options))


def test_one_parser_is_its_own_minimum_risk(parsers):
    for parser in parsers[:3]:
        alone = ensemble([parser])
        combined = alone.confidence(DEV)
        found = parser.confidence(DEV, decode="minimum-risk")
        assert combined.head_probabilities.sum() == pytest.approx(found.head_probabilities.sum())
        same = combined.heads == found.heads
        assert np.mean(same) > 0.95  # ties
        assert combined.head_entropies == pytest.approx(found.head_entropies, abs=1e-9)
        assert np.all(combine(alone, DEV).agreement)


def test_probabilities_are_means(parsers):
    pair = ensemble(parsers[:2])
    combined = pair.confidence(DEV, threads=2)
    tables = [parser.confidence(DEV, arc_table=True).arc_table for parser in parsers[:2]]
    mean = (tables[0] + tables[1]) / 2
    parsed = pair.parse(DEV.sentences(), probabilities=True)
    at = word = 0
    for s, (n, one) in enumerate(zip(np.diff(DEV.offsets), parsed, strict=True)):
        table = mean[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        heads = combined.heads[word : word + n]
        sure = combined.head_probabilities[word : word + n]
        assert sure == pytest.approx(table[heads, np.arange(1, n + 1)])
        assert one.head_probabilities == tuple(sure)
        assert one.probability == pytest.approx(np.exp(combined.log_probabilities[s]))
        assert 0 < one.probability <= 1
        at, word = at + (n + 1) ** 2, word + n
    alone = []
    for parser in parsers[:2]:
        given = parser.encode(DEV)
        given.set_heads(combined.heads)
        alone.append(parser.confidence(given, decode="given").log_probabilities)
    assert np.exp(combined.log_probabilities) == pytest.approx(np.mean(np.exp(alone), axis=0))


def test_all_kinds_together(parsers):
    everyone = ensemble(parsers)
    heads, labels = everyone.trees(DEV)
    assert np.all(labels >= 0)
    for first, last in zip(DEV.offsets, DEV.offsets[1:], strict=False):
        assert len(Tree.from_heads(heads[first:last].tolist()).roots) == 1
    one = everyone.parse(DEV.sentences(), probabilities=True)[0]
    assert 0 < one.probability <= 1
    assert all(0 < w.label_probability <= 1 for w in one)
    assert not everyone.is_calibrated


def test_columns_are_those_that_parsers_read(parsers):
    bare = replace(parsers[0], names=replace(parsers[0].names, columns=()))
    tagged = replace(parsers[0], names=replace(parsers[0].names, columns=("upos",)))
    assert ensemble([bare, bare]).names.columns == ()
    assert ensemble([bare, tagged]).names.columns == ("upos",)


def test_queries_say_what_an_ensemble_does_not_answer(parsers):
    pair = ensemble(parsers[:2])
    (one,) = pair.parse([next(DEV.sentences())], probabilities=True)
    assert pair.queries == {Query.ARGMAX, Query.MARGINALS, Query.LOG_PARTITION}
    with pytest.raises(InputError):
        one.kbest(2)
    with pytest.raises(InputError):
        _ = one.distribution
    with pytest.raises(InputError):
        pair.parse([one.sentence], keep_heads=True)
    with pytest.raises(InputError):
        ensemble([])


def test_an_ensemble_is_a_model_like_others(parsers, tmp_path):
    pair = ensemble(parsers[:2])
    pair.save(tmp_path / "pair.arbora")
    again = arbora.load(tmp_path / "pair.arbora")
    assert again.parse(DEV.sentences()) == pair.parse(DEV.sentences())
    assert pickle.loads(pickle.dumps(pair)).parse(DEV.sentences()) == pair.parse(DEV.sentences())
    assert repr(again.parser) == repr(pair)
    member = again.parser.search.parsers[0]
    assert repr(pickle.loads(pickle.dumps(member))) == repr(member)  # not the ensemble


@pytest.mark.parametrize("weights", [[3, 3], [0.1, 0.1], (np.float32(0.5), np.float64(0.5))])
def test_equal_weights_are_plain_means(parsers, weights):
    without, given = (ensemble(parsers[:2], each).confidence(DEV, arc_table=True) for each in (None, weights))
    for field in fields(without):
        np.testing.assert_array_equal(getattr(given, field.name), getattr(without, field.name))
    members = ensemble(parsers[:2]).search._confidences(parsers[0].encode(DEV), without.heads, 1)
    assert np.array_equal(without.arc_table, np.mean([each.arc_table for each in members], axis=0))


def test_weighted_means(parsers):
    pair = ensemble(parsers[:2], [3, 1])
    assert pair.search.weights == (0.75, 0.25)
    found = combine(pair, DEV)
    members = pair.search._confidences(pair.encode(DEV), found.heads, 1)
    for name, mean in {
        "arc_table": np.concatenate([table.ravel() for table in found.tables]),
        "label_table": found.label_table.ravel(),
    }.items():
        one, other = (getattr(each, name) for each in members)
        assert mean == pytest.approx(0.75 * one + 0.25 * other)
    one, other = (np.exp(each.log_probabilities) for each in members)
    assert found.probabilities == pytest.approx(0.75 * one + 0.25 * other)
    decided = ensemble(parsers, [1, 1e-9, 1e-9, 1e-9])
    assert np.mean(decided.trees(DEV)[0] == parsers[0].trees(DEV, decode="minimum-risk")[0]) > 0.95  # ties


@pytest.mark.parametrize(
    "weights",
    [
        [1],
        [1, 1, 1],
        [1, 0],
        [1, -1],
        [1, np.nan],
        [1, np.inf],
        [1, 10**400],
        [1, True],
        [1, None],
        "12",
        [[1], [1]],
    ],
)
def test_weights_are_checked(parsers, weights):
    with pytest.raises(InputError, match="weights: expected 2 positive numbers"):
        ensemble(parsers[:2], weights)


def test_weights_in_a_model_file(parsers, tmp_path):
    three = ensemble(parsers[:3], [0.1, 0.2, 0.4])
    three.save(tmp_path / "three.arbora")
    again = arbora.load(tmp_path / "three.arbora").parser
    assert again.search.weights == three.search.weights == pickle.loads(pickle.dumps(three)).search.weights
    assert again.parse(DEV.sentences()) == three.parse(DEV.sentences())
    file = read_model(tmp_path / "three.arbora")
    old = {name: value for name, value in file.metadata.items() if name != "weights"}
    assert Parser.from_file(replace(file, metadata=old)).search.weights == (1 / 3, 1 / 3, 1 / 3)
    for damaged in ([1, 2], [1, 2, 0], [1, 2, "3"], [1, 2, True], [1, 2, 10**400], [], None, 1):
        with pytest.raises(ModelError, match="weights"):
            Parser.from_file(replace(file, metadata={**old, "weights": damaged}))


def test_labels_of_different_parsers_meet(parsers):
    other = train(treebank(5, seed=9), config=config(epochs=1)).parser
    pair = ensemble([parsers[0], other])
    assert set(pair.names.labels) == set(parsers[0].names.labels) | set(other.names.labels)
    combined = combine(pair, DEV)
    _, labels = other.trees(DEV)
    names = [other.names.labels[label] for label in labels]
    assert [pair.names.labels[label] for label in combined.alone[1][1]] == names
