"""Sentences beyond the limit are parsed in pieces: whole trees, kept heads, probabilities, a warning."""

import logging

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank

from arbora.data.columns import Columns, columns_of
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.parsing import long_sentences
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.ensemble_weights import fit_weights
from arbora.search.base import Search
from arbora.search.request import ParseRequest
from arbora.training import train

TRAIN = treebank(40, seed=1)
LONGEST = 15
KINDS = {
    "single": {},
    "multi": {"trees": "projective", "roots": "multi"},
    "nonprojective": {"trees": "nonprojective", "order": 1},
    "lifted": {"projectivize": "pseudo-projective"},
    "cube": {"parser": "cube"},
}


@pytest.fixture(scope="module")
def parsers():
    treebanks = {"lifted": treebank(40, seed=1, nonprojective=0.3)}
    return {
        name: train(treebanks.get(name, TRAIN), config=config(epochs=1, **options)).parser
        for name, options in KINDS.items()
    }


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setattr(Search, "longest", LONGEST)


def joined(sentences):
    """One sentence of the words of several, without trees."""
    columns = ([], [], [])
    for sentence in sentences:
        for whole, own in zip(columns, (sentence.forms, sentence.lemmas, sentence.upos), strict=True):
            whole += own
    forms, lemmas, upos = columns
    return Sentence.from_lists(forms, lemmas=lemmas, upos=upos)


SHORT = list(treebank(12, seed=3).sentences())
LONG = joined(SHORT)
MIXED = columns_of([SHORT[0], LONG, SHORT[1]])


@pytest.mark.parametrize("kind", KINDS)
def test_long_sentences_get_whole_trees_and_others_their_own(kind, parsers, caplog):
    parser = parsers[kind]
    with caplog.at_level(logging.WARNING, "arbora"):
        heads, labels = parser.trees(MIXED)
    assert len(caplog.records) == 1
    MIXED.with_trees(heads, labels, parser.names.labels)  # InputError unless they are trees
    first, middle, last = np.split(heads, MIXED.offsets[1:-1])
    if parser.search.roots == "single":
        assert np.count_nonzero(middle == 0) == 1
    for sentence, own in ((SHORT[0], first), (SHORT[1], last)):
        assert own.tolist() == parser.trees(columns_of([sentence]))[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_the_pieces(kind, parsers):
    parser = parsers[kind]
    found = parser.confidence(MIXED, label_table=True)
    assert found.counts.tolist() == [1, 1, 1]
    assert found.heads.tolist() == parser.trees(MIXED)[0].tolist()
    assert len(found.head_probabilities) == len(found.label_probabilities) == MIXED.words
    assert len(found.label_table) == MIXED.words * len(parser.names.labels)
    pieces = long_sentences.pieces_of(parser.encode(MIXED), parser.search, ParseRequest())
    parts = parser.confidence(pieces.batch, label_table=True)
    assert pieces.lengths.max() <= LONGEST
    assert found.log_probabilities[1] == pytest.approx(parts.log_probabilities[1:-1].sum())
    assert found.entropies[1] == pytest.approx(parts.entropies[1:-1].sum())
    assert found.log_probabilities[2] == parts.log_probabilities[-1]


def test_known_heads_are_kept(parsers):
    parser, words = parsers["single"], len(LONG)
    columns = columns_of([LONG])
    batch = parser.encode(columns)
    given = np.full(words, -1)
    given[20:40] = np.arange(20, 40)  # a chain of more words than a piece has less one
    with rejects(InputError):
        batch.set_heads(given)
        parser.trees(batch, keep_heads=True)
    given[20:27] = -1
    given[40] = 0
    batch.set_heads(given)
    heads, labels = parser.trees(batch, keep_heads=True)
    assert heads[given >= 0].tolist() == given[given >= 0].tolist()
    assert np.flatnonzero(heads == 0).tolist() == [40]
    columns.with_trees(heads, labels, parser.names.labels)


def test_cuts_are_made_after_punctuation():
    forms = [f"w{i}" for i in range(40)]
    forms[9], forms[12], forms[24] = ".", ",", "!"
    columns = columns_of([Sentence.from_lists(forms)])
    ranks = long_sentences._ranks_of_cuts(columns)
    free = np.full(40, -1)
    assert long_sentences._starts(0, 40, 15, ranks, free) == [0, 10, 25]
    assert long_sentences._starts(0, 40, 40, ranks, free) == [0]
    assert long_sentences._starts(0, 40, 8, np.zeros(40, int), free) == [0, 8, 16, 24, 32]


@pytest.mark.parametrize("options", [{"k": 2}, {"arc_table": True}, {"decode": "given"}])
def test_queries_that_need_whole_sentences_are_rejected(options, parsers):
    with rejects(InputError, field="sentence 1"):
        parsers["single"].confidence(MIXED, **options)


def test_memory_and_time_grow_linearly(parsers, monkeypatch):
    monkeypatch.setattr(Search, "longest", 100)
    words = 30_000
    columns = Columns.from_arrays([0, words], {"form": ["a"] * words})
    heads, labels = parsers["single"].trees(columns)
    columns.with_trees(heads, labels, parsers["single"].names.labels)


TREES = list(treebank(12, seed=3).sentences())
LONG_TREE = LONG.with_tree(Tree.from_heads(range(len(LONG)), labels=["root"] + ["dep"] * (len(LONG) - 1)))


def test_temperatures_are_fitted_without_long_sentences(parsers):
    parser = parsers["single"]
    assert fit_temperatures(parser, columns_of([*TREES, LONG_TREE])) == fit_temperatures(
        parser, columns_of(TREES)
    )
    with pytest.raises(InputError):
        fit_temperatures(parser, columns_of([LONG_TREE]))


@pytest.mark.parametrize("options", [{}, {"members": 2}])
def test_training_ends_well_if_all_sentences_of_dev_are_long(options):
    trained = train(TRAIN, columns_of([LONG_TREE]), config=config(epochs=1), **options)
    assert not trained.parser.is_calibrated
    assert trained.parser.trees(MIXED)[0].shape == (MIXED.words,)


def test_weights_of_ensembles_are_fitted_without_long_sentences(parsers, caplog):
    members = [parsers["single"], parsers["nonprojective"]]
    assert fit_weights(members, columns_of([*TREES, LONG_TREE])) == fit_weights(members, columns_of(TREES))
    assert len(caplog.records) == 1
    with pytest.raises(InputError):
        fit_weights(members, columns_of([LONG_TREE]))
