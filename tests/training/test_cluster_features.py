"""Linear parsers and taggers with clusters of words, from vectors or from text."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

from arbora.errors import InputError, ModelError
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.storage.model_file import read_model, write_model
from arbora.training import train

TRAIN, DEV = treebank(60, seed=1), treebank(20, seed=2)
SMALL = {"tree_bits": 12, "label_bits": 12, "order": 1, "parameters": {"epochs": 2}}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "v.vec"
    rng = np.random.default_rng(0)
    words = dict.fromkeys(form.lower() for form in TRAIN.strings("form")[1:] if " " not in form)
    rows = [" ".join([word, *(f"{x:.3f}" for x in rng.normal(size=6))]) for word in words]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "raw.txt"
    path.write_text("\n\n".join(" ".join(s.forms) for s in TRAIN.sentences()), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", ["vectors", "text"])
def test_a_whole_model_with_clusters_goes_through_a_file(kind, vectors, text, tmp_path):
    trained = train(TRAIN, DEV, config={**SMALL, kind: vectors if kind == "vectors" else text})
    assert trained.parser.about["config"]["features"] == "graph-v1+clusters-v1"
    assert trained.parser.names.clusters is not None
    trained.save(tmp_path / "m.arbora")
    again = Pipeline.load(tmp_path / "m.arbora")
    assert all(map(np.array_equal, trained.parser.trees(DEV), again.parser.trees(DEV)))
    assert again.prepare(DEV, retag=True).to_bytes() == trained.pipeline.prepare(DEV, retag=True).to_bytes()
    again.save(tmp_path / "n.arbora")
    assert (tmp_path / "n.arbora").read_bytes() == (tmp_path / "m.arbora").read_bytes()


def test_clusters_change_the_weights_of_a_parser(with_clusters):
    plain = train(TRAIN, DEV, config={**SMALL, "only": "parser"})
    assert plain.parser.names.clusters is None
    assert not np.array_equal(plain.parser.scorer.tree, with_clusters.parser.scorer.tree)


@pytest.mark.parametrize(("parser", "features"), [("cube", "cube-v1"), ("transition", "zhang-nivre-v1")])
def test_other_linear_parsers_have_clusters_too(parser, features, vectors):
    config = {"parser": parser, "tree_bits": 12, "label_bits": 12, "only": "parser", "vectors": vectors}
    trained = train(TRAIN, DEV, config={**config, "parameters": {"epochs": 1}})
    assert trained.parser.about["config"]["features"] == f"{features}+clusters-v1"


def test_a_guided_parser_has_clusters_too(vectors, tmp_path):
    config = {**SMALL, "only": "parser", "vectors": vectors}
    train(TRAIN, DEV, config=config).save(tmp_path / "guide.arbora")
    stacked = train(TRAIN, DEV, config={**config, "stack": str(tmp_path / "guide.arbora"), "folds": 2})
    stacked.save(tmp_path / "m.arbora")
    assert np.array_equal(Parser.load(tmp_path / "m.arbora").trees(DEV)[0], stacked.parser.trees(DEV)[0])


def test_vectors_and_text_together_are_rejected(vectors, text):
    with rejects(InputError):
        train(TRAIN, DEV, config={**SMALL, "vectors": vectors, "text": text})


@pytest.fixture(scope="module")
def with_clusters(vectors):
    return train(TRAIN, DEV, config={**SMALL, "only": "parser", "vectors": vectors})


@pytest.mark.parametrize("name", ["clusters.keys", "clusters.codes"])
@pytest.mark.parametrize("fault", ["missing", "shorter", "float"])
def test_damaged_clusters_are_rejected(name, fault, with_clusters, tmp_path):
    with_clusters.save(tmp_path / "m.arbora")
    file = read_model(tmp_path / "m.arbora")
    tensors = dict(file.tensors)
    array = tensors.pop(name)
    if fault != "missing":
        tensors[name] = array[:-1] if fault == "shorter" else array.astype(np.float32)
    write_model(tmp_path / "n.arbora", tensors, file.metadata)
    with rejects(ModelError):
        Parser.load(tmp_path / "n.arbora")
