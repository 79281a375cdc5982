"""Models and their results in other processes."""

import copy
import gc
import multiprocessing
import pickle
from dataclasses import replace

import pytest
from errors import rejects
from pipeline_toys import trained

import arbora
from arbora.errors import ModelError
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser

TEXT = "Ann calls the dogs. Bob helped the tree!"


@pytest.fixture(scope="module")
def pipeline():
    return trained().pipeline


@pytest.fixture
def loaded(pipeline, tmp_path):
    pipeline.save(tmp_path / "m.arbora")
    return arbora.load(tmp_path / "m.arbora")


def heads(nlp):
    return [parsed.heads for parsed in nlp(TEXT)]


def test_loaded_models_are_pickled_by_file_name(loaded, monkeypatch, tmp_path):
    sent = pickle.dumps((loaded, loaded.parser))
    assert len(sent) < 1000
    assert pickle.loads(sent)[0] is loaded
    assert pickle.loads(sent)[1] is copy.deepcopy(loaded.parser) is loaded.parser
    source, expected = loaded.source, heads(loaded)
    del loaded
    gc.collect()
    monkeypatch.chdir(tmp_path)
    again, parser = pickle.loads(sent)
    assert (again.source, heads(again)) == (source, expected)
    assert parser is again.parser


def test_models_without_a_file_are_pickled_whole(pipeline):
    again = pickle.loads(pickle.dumps(pipeline))
    assert (again.parts, again.about, heads(again)) == (pipeline.parts, pipeline.about, heads(pipeline))
    assert again.parser.scorer.tree.tobytes() == pipeline.parser.scorer.tree.tobytes()
    alone = pickle.loads(pickle.dumps(pipeline.parser))
    assert isinstance(alone, Parser)
    words = [["Ann", "calls", "."]]
    assert alone.parse(words) == pipeline.parser.parse(words)
    both = pickle.loads(pickle.dumps(ensemble([pipeline.parser, alone])))
    assert both.plain_labels == ensemble([pipeline.parser, alone]).plain_labels


def test_modified_models_are_not_pickled_by_file_name(loaded):
    other = replace(loaded, tagger=None, lemmatizer=None)
    again = pickle.loads(pickle.dumps(other))
    assert again.parts == ("segmenter", "parser")
    assert heads(again) == heads(other)


def test_a_replaced_file_is_rejected(pipeline, tmp_path):
    pipeline.save(tmp_path / "m.arbora")
    loaded = arbora.load(tmp_path / "m.arbora")
    sent = pickle.dumps(loaded)
    del loaded
    gc.collect()
    pipeline.save(tmp_path / "m.arbora", quantized=True)
    with rejects(ModelError, source=str(tmp_path / "m.arbora")):
        pickle.loads(sent)
    (tmp_path / "m.arbora").unlink()
    with rejects(ModelError, source=str(tmp_path / "m.arbora")):
        pickle.loads(sent)


def test_process_pools(loaded):
    texts = [TEXT, "Ann calls Bob."]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(loaded, texts)
    assert [[parsed.heads for parsed in each] for each in found] == [
        [parsed.heads for parsed in loaded(text)] for text in texts
    ]
    first = found[0][0]
    assert first.parser is loaded.parser
    assert (first[0].start, len(first.kbest(2))) == (0, 2)
