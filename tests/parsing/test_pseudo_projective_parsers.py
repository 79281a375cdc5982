"""Parsers of projective trees that find crossing arcs by marks in labels."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank

from arbora._core import measure_trees
from arbora.data.columns import columns_of
from arbora.data.treebank import read_columns
from arbora.errors import InputError, ModelError
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.search.lifted import LiftedSearch
from arbora.search.request import ParseRequest
from arbora.storage.model_file import read_model, write_model
from arbora.training import TrainConfig, train
from arbora.training.resolve import resolve

TRAIN, DEV = treebank(150, seed=1, nonprojective=0.6), treebank(30, seed=2, nonprojective=0.6)
LIFTED = {"projectivize": "pseudo-projective"}


def crossing(heads, columns):
    return np.array(measure_trees(heads, columns.offsets)[0], dtype=bool)


def is_plain(parser, labels):
    names = (parser.names.labels[label] for label in labels.tolist())
    return all(map(parser.search.lifts.is_free_of_marks, names))


@pytest.fixture(scope="module")
def trained():
    return train(TRAIN, DEV, config=config(epochs=4, **LIFTED))


@pytest.fixture(scope="module")
def parser(trained):
    return trained.parser


def test_crossing_arcs_are_learned(trained, parser):
    flat = train(TRAIN, DEV, config=config(epochs=4, trees="projective"))
    heads, labels = parser.trees(DEV)
    there = crossing(DEV.heads, DEV)
    assert there.sum() > 10
    assert parser.search.trees == "projective"
    assert crossing(heads, DEV).any()
    assert not crossing(flat.parser.trees(DEV)[0], DEV).any()
    assert (heads == DEV.heads)[there].mean() > 0.3
    assert trained.scores["uas"] > flat.scores["uas"]
    assert is_plain(parser, labels)
    assert trained.scores["uas"] == pytest.approx(100 * np.mean(heads == DEV.heads))


@pytest.mark.parametrize(
    "options", [{"labels": "joint", "order": 1}, {"encoding": "head+path"}, {"encoding": "path"}]
)
def test_other_settings(options):
    parser = train(TRAIN, config=config(epochs=3, **LIFTED, **options)).parser
    assert parser.search.lifts.encoding == options.get("encoding", "head")
    heads, labels = parser.trees(DEV)
    assert crossing(heads, DEV).any()
    assert is_plain(parser, labels)


def test_marks_that_the_treebank_uses_are_not_taken():
    labels = [name.replace("obj", "ob^j~") for name in TRAIN.strings("deprel")]
    odd = TRAIN.with_column("deprel", TRAIN.ids("deprel"), labels)
    parser = train(odd, config=config(epochs=1, **LIFTED)).parser
    assert (parser.search.lifts.lifted, parser.search.lifts.on_path) == ("↑", "↓")
    assert any("ob^j~" in parser.names.labels[label] for label in parser.trees(DEV)[1])


def test_probabilities(parser):
    confidence = parser.confidence(DEV, label_table=True)
    heads, labels = parser.trees(DEV)
    assert np.array_equal(confidence.heads, heads)
    assert np.array_equal(confidence.labels, labels)
    table = confidence.label_table.reshape(DEV.words, -1)
    assert table.sum(axis=1) == pytest.approx(1.0)
    assert confidence.label_probabilities == pytest.approx(table[np.arange(DEV.words), labels])
    raw = replace(parser, search=parser.search.inner).confidence(DEV)
    assert not np.array_equal(raw.heads, heads)
    assert np.array_equal(raw.head_probabilities, confidence.head_probabilities)
    assert np.all(confidence.label_probabilities >= raw.label_probabilities - 1e-9)
    parsed = parser.parse(DEV.sentences(), probabilities=True)
    assert [head for each in parsed for head in each.heads] == heads.tolist()
    risky, labels = parser.trees(DEV, decode="minimum-risk")
    assert crossing(risky, DEV).any()
    assert is_plain(parser, labels)


def test_given_trees_stay(parser):
    encoded = parser.encode(DEV)
    encoded.set_heads(replace(parser, search=parser.search.inner).trees(encoded)[0])
    confidence = parser.confidence(encoded, decode="given")
    assert np.array_equal(confidence.heads, encoded.heads)
    assert is_plain(parser, confidence.labels)


def test_kbest_trees_are_restored(parser):
    sentence = next(s for s in parser.parse(DEV.sentences()) if not s.tree.is_projective())
    best = parser.kbest(sentence, 5)
    assert best[0].heads == sentence.heads
    assert all(set(each.deprels) <= set(DEV.strings("deprel") + TRAIN.strings("deprel")) for each in best)
    probabilities = [each.probability for each in best]
    assert probabilities == sorted(probabilities, reverse=True)


def test_given_heads_are_kept(parser):
    encoded = parser.encode(DEV)
    raw = replace(parser, search=parser.search.inner).trees(encoded)[0]
    free = parser.trees(encoded)[0]
    moved = np.flatnonzero(raw != free)
    given = np.full(DEV.words, -1, dtype=np.int32)
    given[moved] = raw[moved]
    encoded.set_heads(given)
    kept = parser.trees(encoded, keep_heads=True)[0]
    assert np.array_equal(kept[moved], raw[moved])
    confidence = parser.confidence(encoded, keep_heads=True)
    assert np.array_equal(confidence.heads, kept)
    assert np.array_equal(
        parser.confidence(encoded, keep_heads=True, k=2).heads[: encoded.lengths[0]],
        kept[: encoded.lengths[0]],
    )


def test_files(parser, tmp_path):
    parser.save(tmp_path / "da.arbora")
    again = Parser.load(tmp_path / "da.arbora")
    assert again.search.lifts == parser.search.lifts
    assert all(np.array_equal(a, b) for a, b in zip(again.trees(DEV), parser.trees(DEV), strict=True))
    (tmp_path / "in.conllu").write_bytes(DEV.to_bytes())
    again.parse_file(tmp_path / "in.conllu", tmp_path / "out.conllu")
    written = read_columns(tmp_path / "out.conllu")
    assert np.array_equal(written.heads, parser.trees(DEV)[0])
    assert all(map(parser.search.lifts.is_free_of_marks, written.strings("deprel")))


def test_models_without_marks_know_nothing_of_them(tmp_path):
    tensors, metadata = train(TRAIN, config=config(epochs=1, trees="projective")).parser.to_parts()
    assert "lifts" not in metadata
    write_model(tmp_path / "old.arbora", tensors, metadata)
    assert not isinstance(Parser.load(tmp_path / "old.arbora").search, LiftedSearch)


@pytest.mark.parametrize(
    ("lifts", "field"),
    [
        ("head", "lifts"),
        ({"encoding": "heads"}, "encoding"),
        ({"lifted": ""}, "marks"),
        ({"lifted": "s"}, "labels"),
        ({"mark": "x"}, "setting"),
    ],
)
def test_damaged_files(parser, tmp_path, lifts, field):
    parser.save(tmp_path / "good.arbora")
    file = read_model(tmp_path / "good.arbora")
    write_model(tmp_path / "bad.arbora", file.tensors, {**file.metadata, "lifts": lifts})
    with rejects(ModelError, field=field):
        Parser.load(tmp_path / "bad.arbora")


def test_the_setting_decides_about_trees():
    assert resolve(TrainConfig(), TRAIN).trees == "nonprojective"
    assert resolve(TrainConfig(**LIFTED), TRAIN).trees == "projective"
    with rejects(InputError, field="projectivize"):
        TrainConfig(trees="nonprojective", **LIFTED)
    with rejects(InputError, field="projectivize"):
        TrainConfig(labels="none", **LIFTED)


def test_an_ensemble_has_no_marks(parser):
    other = train(TRAIN, config=config(epochs=1, trees="projective")).parser
    pair = ensemble([parser, other])
    assert is_plain(parser, pair.trees(columns_of(DEV.sentences()))[1])
    assert set(pair.plain_labels) == set(parser.plain_labels) | set(other.plain_labels)


def test_lists_of_trees_are_restored(parser):
    batch = parser.encode(DEV)
    lists = parser.search.kbest(batch, 3, ParseRequest())
    heads, _ = parser.trees(DEV)
    assert np.array_equal(np.concatenate([each.heads[0] for each in lists]), heads)
    assert all(1 <= len(each.heads) <= 3 for each in lists)
