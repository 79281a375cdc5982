"""Training with clusters of words: from vectors and text, in every linear parser, in files and processes."""

import gzip
import json
import pickle
from dataclasses import replace
from itertools import combinations, takewhile
from pathlib import Path

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank
from pipeline_toys import SMALL
from pipeline_toys import columns as language
from training_toys import Recorder

import arbora
from arbora.data.columns import columns_of
from arbora.data.raw_text import split_plainly
from arbora.errors import DataError, InputError, ModelError
from arbora.features import clustered, guided
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.registry import features, transition_features
from arbora.storage.model_file import read_model, write_model
from arbora.training import TrainConfig, train
from arbora.training.clusters import LEAST_COUNT, cluster_text
from arbora.training.config import make_config, storable
from arbora.training.resolve import resolve
from arbora.training.tune import tune

TRAIN, DEV = treebank(60, seed=1), treebank(16, seed=2)
CLUSTERED = (
    "graph-v1+clusters-v1",
    "cube-v1+clusters-v1",
    "zhang-nivre-v1+clusters-v1",
    "nivre-v1+clusters-v1",
)
PARSERS = {
    "graph": {"order": 2},
    "cube": {"order": 3, "labels": "auto"},
    "transition": {"labels": "auto"},
}


def write_vectors(path, words, size=4, seed=0):
    values = np.random.default_rng(seed).normal(size=(len(words), size))
    lines = [" ".join([word, *(f"{x:.4f}" for x in row)]) for word, row in zip(words, values, strict=True)]
    path.write_text("".join(f"{line}\n" for line in (f"{len(words)} {size}", *lines)), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Vectors of most words of the treebank."""
    words = sorted({form.lower() for form in TRAIN.strings("form")} - {"_"})[::2]
    return write_vectors(tmp_path_factory.mktemp("vectors") / "few.vec", [*words, "unseen"])


def plan(vectors, **options):
    return config(**{"vectors": vectors, "only": "parser", **options})


def trees(parser, columns=DEV):
    heads, labels = parser.trees(columns)
    return heads.tolist(), labels.tolist()


# Settings


@pytest.mark.parametrize("name", CLUSTERED)
def test_sets_with_clusters_are_named_after_their_parts(name):
    known = features if name in features else transition_features
    base = known.create(name.partition("+")[0])
    made, with_guide = known.create(name), known.create(f"{name}+guide-v1")
    assert (made.name, clustered(base), guided(clustered(base))) == (name, made, with_guide)
    assert made.needs_clusters
    assert with_guide.needs_clusters
    assert not base.needs_clusters
    for kind, templates in base.compiled.items():
        if not getattr(base, "quadratic", False):
            assert made.compiled[kind][: len(templates)] == templates  # which so keep their weights


@pytest.mark.parametrize("setting", ["vectors", "text"])
def test_features_have_clusters_if_there_are_some(setting):
    for parser, default in (("graph", "graph-v1"), ("cube", "cube-v1"), ("transition", "zhang-nivre-v1")):
        given = {"parser": parser, setting: "some.file"}
        assert resolve(make_config(given), TRAIN).features == f"{default}+clusters-v1"
        stacked = resolve(make_config({**given, "stack": "guide"}), TRAIN)
        assert stacked.features == f"{default}+clusters-v1+guide-v1"
    named = resolve(make_config({"features": "graph-v1+guide-v1", setting: "x", "stack": "guide"}), TRAIN)
    assert named.features == "graph-v1+clusters-v1+guide-v1"


def test_settings_that_do_not_go_together_are_rejected():
    with rejects(InputError, field="features"):
        resolve(make_config({"features": "graph-v1+clusters-v1"}), TRAIN)
    with rejects(InputError, field="features"):
        resolve(make_config({"features": "pruner-v1", "vectors": "x"}), TRAIN)
    with rejects(InputError, field="text"):
        TrainConfig(vectors="x", text="y")
    with rejects(InputError):
        TrainConfig(vector_words=0)


def test_models_store_names_of_files_without_folders():
    assert storable(TrainConfig(vectors="/some/folder/few.vec"))["vectors"] == "few.vec"
    assert storable(TrainConfig(text="some/text.gz", vector_words=5))["vector_words"] == 5
    assert not {"vectors", "vector_words", "text"} & storable(TrainConfig()).keys()


# Parsers


@pytest.mark.parametrize("parser", PARSERS)
def test_parsers_with_clusters_round_trip(parser, vectors, tmp_path):
    watcher = Recorder()
    trained = train(TRAIN, DEV, config=plan(vectors, parser=parser, **PARSERS[parser]), observer=watcher)
    assert any(note.startswith("clusters: ") for note in watcher.notes)
    trained.save(tmp_path / "m.arbora")
    loaded = arbora.load(tmp_path / "m.arbora").parser
    assert len(loaded.names.clusters) == len(trained.parser.names.clusters) > 0
    assert trees(loaded) == trees(trained.parser)
    assert trees(pickle.loads(pickle.dumps(trained.parser))) == trees(loaded)
    assert trees(trained.parser.rounded())[0]
    with rejects(InputError):
        trees(replace(loaded, names=replace(loaded.names, clusters=None)))


def test_one_seed_gives_one_model(vectors, tmp_path):
    for name, threads in (("a", 1), ("b", 2)):
        train(TRAIN, DEV, config=plan(vectors), threads=threads).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_any_search_with_linear_scores_has_clusters(vectors, tmp_path):
    options = {"parser": "exact", "loss": "hinge", "only": "parser", "scorer_settings": {"tree_bits": 10}}
    trained = train(TRAIN, config={**options, "vectors": vectors, "parameters": {"epochs": 1}})
    assert trained.parser.scorer.templates.name == "graph-v1+clusters-v1"
    trained.save(tmp_path / "m.arbora")
    assert trees(arbora.load(tmp_path / "m.arbora").parser) == trees(trained.parser)


def test_a_guide_is_trained_again_with_its_own_clusters(vectors, tmp_path):
    """The file of vectors is not needed any more."""
    gone = tmp_path / "gone.vec"
    gone.write_bytes(Path(vectors).read_bytes())
    train(TRAIN, config=plan(str(gone), order=1, epochs=1)).save(tmp_path / "guide.arbora")
    gone.unlink()
    stack = {"stack": str(tmp_path / "guide.arbora"), "folds": 2, "epochs": 1}
    for options in ({}, {"vectors": vectors}):
        trained = train(TRAIN, DEV, config=config(only="parser", **stack, **options))
        assert trained.parser.names.guide.names.clusters is not None
        assert (trained.parser.names.clusters is not None) == bool(options)
        trained.save(tmp_path / "both.arbora")
        assert trees(arbora.load(tmp_path / "both.arbora").parser) == trees(trained.parser)


def test_tuning_takes_vectors(vectors):
    found = tune(TRAIN, DEV, grid={"C": [0.01, 0.1]}, config=plan(vectors, epochs=1))
    assert len(found.trials) == 2
    assert found.best.vectors == vectors


def test_other_vectors_cannot_resume(vectors, tmp_path):
    own = tmp_path / "own.vec"
    own.write_bytes(Path(vectors).read_bytes())
    path = tmp_path / "m.checkpoint"
    expected = train(TRAIN, DEV, config=plan(str(own)))
    stopped = train(TRAIN, DEV, config=plan(str(own)), observer=Recorder(("tree", 1)), checkpoint=path)
    assert stopped.interrupted
    before = own.read_bytes()
    own.write_bytes(before.replace(b"1", b"2"))
    with rejects(ModelError, source=str(path)):
        train(TRAIN, DEV, config=plan(str(own)), checkpoint=path, resume=True)
    own.write_bytes(before)
    resumed = train(TRAIN, DEV, config=plan(str(own)), checkpoint=path, resume=True)
    assert trees(resumed.parser) == trees(expected.parser)


def test_files_without_the_clusters_that_features_need_are_rejected(vectors, tmp_path):
    train(TRAIN, config=plan(vectors, epochs=1)).save(tmp_path / "m.arbora")
    file = read_model(tmp_path / "m.arbora")
    tensors = dict(file.tensors)
    for changes in (
        {"clusters.keys": None, "clusters.codes": None},
        {"clusters.codes": None},
        {"clusters.keys": tensors["clusters.keys"][::-1]},
        {"clusters.codes": np.zeros_like(tensors["clusters.codes"])},
    ):
        changed = {name: array for name, array in {**tensors, **changes}.items() if array is not None}
        write_model(tmp_path / "bad.arbora", changed, file.metadata)
        with rejects(ModelError, source=str(tmp_path / "bad.arbora")):
            Parser.load(tmp_path / "bad.arbora")


# Whole models


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    path = write_vectors(folder / "all.vec", ["ann", "bob", "carla", "call", "dogs", "tree", "the", "."])
    trained = train(language(30, 1), language(10, 2), config={**SMALL, "vectors": path})
    trained.save(folder / "m.arbora")
    return trained, folder / "m.arbora"


def test_pipelines_tag_with_clusters(whole):
    trained, path = whole
    loaded = arbora.load(path)
    text = "Ann calls the dogs. Zoe visited the tree!"
    rows = [parsed.to_conllu() for parsed in loaded(text)]
    assert rows == [parsed.to_conllu() for parsed in trained.pipeline(text)]
    assert rows == [parsed.to_conllu() for parsed in pickle.loads(pickle.dumps(trained.pipeline))(text)]
    assert loaded.tagger.to_parts()[1]["features"] == ["upos-v2", "morph-v2"]
    assert loaded.tagger.clusters.bits("Ann") == loaded.parser.names.clusters.bits("ann")
    assert "all.vec" in json.dumps(loaded.parser.about["config"])


def test_compact_models_keep_their_clusters(whole, tmp_path):
    trained, _ = whole
    trained.save(tmp_path / "m.arbora", quantized=True)
    loaded = arbora.load(tmp_path / "m.arbora")
    clusters = trained.parser.names.clusters.native
    for found in (loaded.tagger.clusters, loaded.parser.names.clusters):
        assert (found.native.codes() == clusters.codes()).all()


def test_damaged_clusters_of_taggers_are_rejected(whole, tmp_path):
    file = read_model(whole[1])
    tensors = {name: array for name, array in file.tensors.items() if not name.startswith("tagger/clusters")}
    write_model(tmp_path / "bad.arbora", tensors, file.metadata)
    with rejects(ModelError, source=str(tmp_path / "bad.arbora")):
        Pipeline.load(tmp_path / "bad.arbora")


# Text


def sentences(count, seed=0):
    """Sentences of two kinds of nouns and verbs, which occur in the same places."""
    chance = np.random.default_rng(seed)
    nouns, verbs = ["dog", "cat", "bird", "fish"], ["sees", "likes", "hears"]
    for _ in range(count):
        yield f"The {chance.choice(nouns)} {chance.choice(verbs)} a {chance.choice(nouns)} ."


def test_words_in_the_same_places_share_a_cluster():
    text = "\n".join([*sentences(300), "The unicorn sleeps ."])
    clusters = cluster_text([columns_of(split_plainly(text))])

    def shared(one, other):
        bits = zip(clusters.bits(one), clusters.bits(other), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], bits))

    nouns, verbs = ["dog", "cat", "bird", "fish"], ["sees", "likes", "hears"]
    alike = [shared(one, other) for kind in (nouns, verbs) for one, other in combinations(kind, 2)]
    assert min(alike) > max(shared(noun, verb) for noun in nouns for verb in verbs)
    assert clusters.bits("The") == clusters.bits("the")
    assert clusters.bits("unicorn") == ""


def test_text_in_pieces_has_the_same_clusters():
    lines = [*sentences(200)]
    parts = [columns_of(split_plainly("\n".join(lines[first : first + 30]))) for first in range(0, 200, 30)]
    one = cluster_text([columns_of(split_plainly("\n".join(lines)))])
    several = cluster_text(parts)
    assert [one.bits(word) for word in ("dog", "sees", "a")] == [
        several.bits(word) for word in ("dog", "sees", "a")
    ]


def test_a_text_of_rare_words_is_rejected():
    rare = " ".join(f"word{number}" for number in range(50))
    for text in ("", rare, "same " * LEAST_COUNT):
        with rejects(DataError, source="few.txt"):
            cluster_text([columns_of(split_plainly(text))], "few.txt")


@pytest.mark.parametrize("only", ["all", "parser"])
def test_models_learn_clusters_from_text(only, tmp_path):
    text = "\n".join(" ".join(sentence.forms) for sentence in language(60, 3).sentences())
    with gzip.open(tmp_path / "raw.txt.gz", "wt", encoding="utf-8") as stream:
        stream.write(text)
    options = {**SMALL, "text": str(tmp_path / "raw.txt.gz"), "only": only}
    trained = train(language(30, 1), language(10, 2), config=options)
    assert trained.parser.names.clusters.bits("the")
    trained.save(tmp_path / "m.arbora")
    assert trees(arbora.load(tmp_path / "m.arbora").parser, language(10, 2)) == trees(
        trained.parser, language(10, 2)
    )


def test_text_that_is_not_utf_8_is_rejected(tmp_path):
    (tmp_path / "raw.txt").write_bytes(b"good\n\xff\xfe bad")
    with rejects(DataError, source=str(tmp_path / "raw.txt")):
        train(TRAIN, config=config(only="parser", text=str(tmp_path / "raw.txt")))
