"""Several parsers as one."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank

from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.parsing.ensemble import Ensemble
from arbora.training._parser import train

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


def test_one_parser_is_its_own_minimum_risk(parsers):
    for parser in parsers[:3]:
        combined = Ensemble([parser]).combine(DEV)
        found = parser.judge(DEV, decode="minimum-risk")
        assert combined.head_probabilities.sum() == pytest.approx(found.head_probabilities.sum())
        same = combined.heads == found.heads
        assert np.mean(same) > 0.95  # ties
        assert combined.head_entropies == pytest.approx(found.head_entropies, abs=1e-9)
        assert np.all(combined.agreement)


def test_probabilities_are_means(parsers):
    pair = Ensemble(parsers[:2])
    combined = pair.combine(DEV, threads=2)
    tables = [parser.judge(DEV, arc_table=True).arc_table for parser in parsers[:2]]
    mean = (tables[0] + tables[1]) / 2
    at = word = 0
    for s, (n, one) in enumerate(zip(np.diff(DEV.offsets), pair.parsed(DEV, combined), strict=True)):
        table = mean[at : at + (n + 1) ** 2].reshape(n + 1, n + 1)
        heads = combined.heads[word : word + n]
        sure = combined.head_probabilities[word : word + n]
        assert sure == pytest.approx(table[heads, np.arange(1, n + 1)])
        assert one.head_probabilities == tuple(sure)
        assert one.probability == combined.probabilities[s]
        assert 0 < one.probability <= 1
        at, word = at + (n + 1) ** 2, word + n
    given = parsers[0].names.encode(DEV)
    given.set_heads(combined.heads)
    alone = [parser.judge(given, decode="given").log_probabilities for parser in parsers[:2]]
    assert combined.probabilities == pytest.approx(np.mean(np.exp(alone), axis=0))


def test_all_kinds_together(parsers):
    everyone = Ensemble(parsers)
    heads, labels = everyone.trees(DEV)
    assert np.all(labels >= 0)
    for first, last in zip(DEV.offsets, DEV.offsets[1:], strict=False):
        assert len(Tree.from_heads(heads[first:last].tolist()).roots) == 1
    one = next(everyone.parsed(DEV, everyone.combine(DEV)))
    assert one.probability is None  # one of them does not know
    assert all(0 < w.label_probability <= 1 for w in one)
    assert not everyone.is_calibrated
    with pytest.raises(InputError):
        one.kbest(2)
    with rejects(InputError, field="distribution"):
        _ = one.distribution
    with rejects(InputError, field="parsers"):
        Ensemble([])


def test_labels_of_different_parsers_meet(parsers):
    other = train(treebank(5, seed=9), config=config(epochs=1)).parser
    pair = Ensemble([parsers[0], other])
    assert set(pair.labels) == set(parsers[0].names.labels) | set(other.names.labels)
    combined = pair.combine(DEV)
    _, labels = other.trees(DEV)
    names = [other.names.labels[label] for label in labels]
    assert [pair.labels[label] for label in combined.alone[1][1]] == names
