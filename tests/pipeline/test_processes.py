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
def path(pipeline, tmp_path):
    pipeline.save(tmp_path / "m.arbora")
    return tmp_path / "m.arbora"


@pytest.fixture
def loaded(path):
    return arbora.load(path)


def heads(nlp):
    return [parsed.heads for parsed in nlp(TEXT)]


def test_loaded_models_are_pickled_once_with_their_bytes(loaded, path):
    size = path.stat().st_size
    sent = pickle.dumps((loaded, loaded.parser))
    assert size < len(sent) < size + 1000
    assert pickle.loads(sent)[0] is loaded
    assert pickle.loads(sent)[1] is copy.deepcopy(loaded.parser) is loaded.parser


@pytest.mark.parametrize("change", ["none", "removed", "replaced"])
def test_pickled_models_need_no_file(pipeline, path, change, monkeypatch, tmp_path):
    first = arbora.load(path)
    sent, source, expected = pickle.dumps((first, first.parser)), first.source, heads(first)
    del first
    gc.collect()
    if change == "removed":
        path.unlink()
    if change == "replaced":
        pipeline.save(path, quantized=True)
    monkeypatch.chdir(tmp_path)
    again, parser = pickle.loads(sent)
    assert (again.source, heads(again)) == (source, expected)
    assert parser is again.parser
    assert pickle.loads(pickle.dumps(again)) is again


def test_pickled_results_hold_no_model(path):
    found = arbora.load(path)(TEXT)
    sent = pickle.dumps(found)
    assert len(sent) < 10_000
    assert pickle.loads(sent)[0].parser is found[0].parser
    expected = [tree.heads for tree in found[0].kbest(2)]
    del found
    gc.collect()
    again = pickle.loads(sent)
    assert [tree.heads for tree in again[0].kbest(2)] == expected
    del again
    gc.collect()
    path.unlink()
    again = pickle.loads(sent)
    assert again[0].heads
    with rejects(ModelError, source=str(path)):
        again[0].kbest(2)


def test_results_of_a_replaced_model_say_so(pipeline, path):
    sent = pickle.dumps(arbora.load(path)(TEXT))
    gc.collect()
    pipeline.save(path, quantized=True)
    with rejects(ModelError, source=str(path)):
        pickle.loads(sent)[0].kbest(2)


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


def test_modified_models_are_not_pickled_as_the_file(loaded):
    other = replace(loaded, tagger=None, lemmatizer=None)
    again = pickle.loads(pickle.dumps(other))
    assert again.parts == ("segmenter", "parser")
    assert heads(again) == heads(other)


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
