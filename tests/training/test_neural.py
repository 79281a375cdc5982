"""Training of neural parsers, from a treebank to a model file and back."""

import os
import signal
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank
from neural_toys import SMALL

import arbora
from arbora.errors import InputError, ModelError
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.progress import Observer
from arbora.training import train
from arbora.training.config import make_config
from arbora.training.resolve import choose_parser
from arbora.training.tune import tune

TRAIN, DEV = treebank(60, seed=1), treebank(20, seed=2)
QUICK = {
    "parser": "neural",
    "neural": {**SMALL, "dropout": 0.1, "feature_dropout": 0.1, "hidden_dropout": 0.1},
}
PARAMETERS = {"epochs": 12, "words": 60, "rate": 0.02, "matrix_rate": 0.05, "warmup": 10}


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("arbora.training.recipes.find_spec", lambda name: None)
    with rejects(InputError, field="parser"):
        train(TRAIN, DEV, config=QUICK)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"order": 3}, "order"),
        ({"labels": "joint"}, "labels"),
        ({"text": "x.txt"}, "text"),
        ({"pruner": True}, "pruner"),
        ({"cube": {"beam": 3}}, "cube"),
        ({"neural": {"sibling_size": 3}}, "neural.sibling_size"),
        ({"neural": {"size": "huge"}}, "neural.size"),
        ({"neural": {"dropout": 1.0}}, "neural.dropout"),
        ({"parser": "graph", "tags": "none"}, "tags"),
        ({"parser": "graph", "neural": {"size": "large"}}, "neural"),
    ],
)
def test_settings_that_do_not_fit_are_rejected(changes, field):
    with pytest.raises(InputError) as caught:
        train(TRAIN, DEV, config={"parser": "neural", **changes})
    assert field.rpartition(".")[2] in str(caught.value)


# The parser that is chosen


AUTO = {
    "words and PyTorch": ({}, True, 6_000, "neural"),
    "few words": ({"vectors": "v.vec"}, True, 4_000, "graph"),
    "no PyTorch": ({"vectors": "v.vec"}, False, 60_000, "graph"),
    "epochs": ({"parameters": {"epochs": 3}}, True, 6_000, "neural"),
    "a loss": ({"loss": "crf"}, True, 6_000, "neural"),
    "a linear parser's parameter": ({"parameters": {"C": 0.1}}, True, 60_000, "graph"),
    "a linear parser's setting": ({"vectors": "v.vec", "order": 2}, True, 60_000, "graph"),
    "gold tags": ({"tags": "gold"}, True, 60_000, "graph"),
    "gold tags and vectors": ({"tags": "gold", "vectors": "v.vec"}, True, 60_000, "neural"),
    "gold tags, vectors, few words": ({"tags": "gold", "vectors": "v.vec"}, True, 40_000, "graph"),
    "the treebank's tags": ({"only": "parser"}, True, 60_000, "graph"),
}
NO_CHOICE = {
    "a network's setting": ({"neural": {"size": "large"}}, "neural"),
    "no tags": ({"tags": "none"}, "neural"),
    "a parser": ({"parser": "cube", "vectors": "v.vec"}, "cube"),
}


@pytest.mark.parametrize(("settings", "has_torch", "words", "expected"), AUTO.values(), ids=AUTO)
def test_auto_chooses_by_tags_vectors_size_and_what_is_installed(
    settings, has_torch, words, expected, monkeypatch
):
    monkeypatch.setattr("arbora.training.resolve.find_spec", lambda name: "there" if has_torch else None)
    chosen, why = choose_parser(make_config(settings), SimpleNamespace(words=words))
    assert chosen.parser == expected
    assert expected in why


@pytest.mark.parametrize(("settings", "expected"), NO_CHOICE.values(), ids=NO_CHOICE)
def test_settings_of_one_kind_leave_no_choice(settings, expected):
    chosen, why = choose_parser(make_config(settings), SimpleNamespace(words=60_000))
    assert (chosen.parser, why) == (expected, "")


torch = pytest.importorskip("torch", reason="networks are trained with PyTorch")


def quickly(**changes):
    parameters = {**PARAMETERS, **changes.pop("parameters", {})}
    return {**QUICK, "parameters": parameters, **changes}


@pytest.fixture(scope="module")
def trained():
    return train(TRAIN, DEV, config=quickly())


def test_it_learns_trees_labels_tags_and_lemmas(trained):
    assert trained.scores["las"] > 30
    assert trained.pipeline.about["dev"]["upos"] > 50
    assert trained.pipeline.parts == ("segmenter", "parser")
    assert trained.parser.is_calibrated
    (sentence,) = trained.pipeline(" ".join(next(DEV.sentences()).forms))
    assert sentence.probability is not None
    assert all(word.upos != "_" and word.lemma != "_" for word in sentence)


def test_a_model_file_gives_the_same_trees_and_scores(trained, tmp_path):
    trained.save(tmp_path / "m.arbora")
    again = Pipeline.load(tmp_path / "m.arbora")
    assert all(map(np.array_equal, trained.parser.trees(DEV), again.parser.trees(DEV)))
    assert again.prepare(DEV, retag=True).to_bytes() == trained.pipeline.prepare(DEV, retag=True).to_bytes()
    assert trained.scores_of(again, DEV) == trained.scores


@pytest.mark.parametrize("loss", ["local", "crf", "hinge", "risk"])
@pytest.mark.parametrize(
    ("trees", "roots"), list(product(("projective", "nonprojective"), ("single", "multi")))
)
def test_every_loss_trains_over_every_family(loss, trees, roots):
    config = quickly(loss=loss, trees=trees, roots=roots, only="parser", parameters={"epochs": 6})
    found = train(TRAIN, DEV, config=config)
    assert found.scores["uas"] > 25
    assert (found.parser.search.trees, found.parser.search.roots) == (trees, roots)


@pytest.mark.parametrize("loss", ["crf", "hinge"])
def test_siblings_are_scored_with_order_2(loss):
    config = quickly(order=2, loss=loss, trees="projective", only="parser", parameters={"epochs": 6})
    found = train(TRAIN, DEV, config=config)
    assert found.scores["uas"] > 40
    assert found.parser.search.order == 2
    assert len(found.parser.kbest(next(DEV.sentences()), 3)) == 3


def test_given_tags_are_read():
    found = train(TRAIN, DEV, config=quickly(tags="gold", only="parser", parameters={"epochs": 6}))
    assert found.parser.names.columns == ("upos",)
    assert not found.parser.scorer.outputs
    untagged = DEV.with_column("upos", np.zeros(DEV.words, np.int32), ["_"])
    assert not np.array_equal(found.parser.trees(DEV)[0], found.parser.trees(untagged)[0])


def test_tags_of_a_tagger_are_read():
    config = quickly(tags="jackknife", folds=2, parameters={"epochs": 2})
    found = train(TRAIN, DEV, config=config)
    assert found.retagged
    assert "tagger" in found.pipeline.parts


def test_trees_without_labels():
    found = train(TRAIN, DEV, config=quickly(labels="none", only="parser", parameters={"epochs": 2}))
    assert list(found.scores) == ["uas"]
    assert not found.parser.gives_labels


@pytest.mark.parametrize("loss", ["crf", "local"])
def test_partial_trees_are_learned_from(loss):
    heads = np.where(np.arange(TRAIN.words) % 2 == 0, TRAIN.heads, -1).astype(np.int32)
    labels = np.where(heads < 0, -1, TRAIN.ids("deprel")).astype(np.int32)
    sentences = [s.to_conllu() for s in TRAIN.sentences()]
    lines, at = [], 0
    for line in "".join(sentences).splitlines():
        fields = line.split("\t")
        if len(fields) == 10:
            if heads[at] < 0:
                fields[6] = fields[7] = "_"
            at += 1
        lines.append("\t".join(fields))
    assert at == TRAIN.words
    assert (labels < 0).any()
    partial = arbora.data.columns.parse_text("\n".join(lines) + "\n\n", "conllu")
    found = train(partial, DEV, config=quickly(loss=loss, only="parser", parameters={"epochs": 8}))
    assert found.scores["uas"] > 40


def test_lifted_trees_are_restored():
    columns = treebank(60, seed=1, nonprojective=0.5)
    config = quickly(projectivize="pseudo-projective", only="parser", parameters={"epochs": 2})
    found = train(columns, DEV, config=config)
    assert set(found.parser.plain_labels) < set(found.parser.names.labels)
    assert not any("|" in label for label in found.parser.plain_labels)


# Determinism, checkpoints and interruption


def bytes_of(trained, path):
    trained.save(path)
    return path.read_bytes()


def test_one_seed_gives_one_model_for_any_number_of_threads(tmp_path):
    config = quickly(parameters={"epochs": 2}, only="parser")
    files = [
        bytes_of(train(TRAIN, DEV, config={**config, "seed": seed}, threads=threads), tmp_path / "m")
        for seed, threads in ((0, 1), (0, 2), (1, 1))
    ]
    assert files[0] == files[1]
    assert files[0] != files[2]


class Stopper(Observer):
    """Presses Ctrl-C after some epochs of the tree stage."""

    def __init__(self, epochs):
        self.left = epochs

    def report(self, report):
        self.left -= report.stage == "tree"
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_keeps_the_best_epoch_and_resume_goes_on_to_the_same_bytes(tmp_path):
    config, path = quickly(parameters={"epochs": 4}, only="parser"), tmp_path / "checkpoint"
    whole = train(TRAIN, DEV, config=config)
    stopped = train(TRAIN, DEV, config=config, checkpoint=path, observer=Stopper(2))
    assert stopped.interrupted
    assert stopped.scores["uas"] > 0
    resumed = train(TRAIN, DEV, config=config, checkpoint=path, resume=True)
    assert bytes_of(resumed, tmp_path / "a") == bytes_of(whole, tmp_path / "b")


def test_a_checkpoint_of_another_network_is_rejected(tmp_path):
    config, path = quickly(parameters={"epochs": 1}, only="parser"), tmp_path / "checkpoint"
    train(TRAIN, DEV, config=config, checkpoint=path)
    other = {**config, "neural": {**QUICK["neural"], "units": 9}}
    with rejects(ModelError):
        train(TRAIN, DEV, config=other, checkpoint=path, resume=True)


# Vectors


def write_vectors(path, words, size=5, seed=0):
    rng = np.random.default_rng(seed)
    rows = [" ".join([word, *(f"{value:.3f}" for value in rng.normal(size=size))]) for word in words]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_words_have_vectors_that_training_never_saw(tmp_path):
    words = list(dict.fromkeys(form.lower() for form in TRAIN.strings("form")[1:] if " " not in form))
    path = write_vectors(tmp_path / "v.vec", [*words, "unseenword", "another"])
    config = quickly(vectors=path, vector_words=len(words) + 1, only="parser", parameters={"epochs": 2})
    scorer = train(TRAIN, DEV, config=config).parser.scorer
    assert scorer.vocabulary.vectors[-1] == "unseenword"
    assert scorer.vectors.values.shape == (len(words) + 2, 5)
    found = scorer.vocabulary.encode(
        arbora.data.columns.columns_of([arbora.Sentence.from_lists(["Unseenword"])])
    )
    assert found.words.tolist() == [0]
    assert found.vectors.tolist() == [len(words) + 1]


# With the rest of Arbora


def test_an_ensemble_with_a_linear_parser(trained):
    linear = train(TRAIN, DEV, config={"order": 1, "only": "parser", "parameters": {"epochs": 2}})
    both = ensemble([trained.parser, linear.parser])
    assert both.search.annotator is trained.parser.search.annotator  # tags are those of the first
    assert ensemble([linear.parser, trained.parser]).search.annotator is None
    heads, labels = both.trees(DEV)
    assert np.mean(heads == DEV.heads) > 0.4
    assert (labels >= 0).all()


def test_tuning_compares_networks():
    found = tune(
        TRAIN,
        DEV,
        grid={"neural.units": [4, 8]},
        config=make_config(quickly(parameters={"epochs": 2})),
    )
    assert len(found.trials) == 2


def test_a_neural_guide_for_a_linear_parser(trained, tmp_path):
    config = quickly(parameters={"epochs": 3}, only="parser")
    words = [form for form in TRAIN.strings("form")[1:] if " " not in form]
    config["vectors"] = write_vectors(tmp_path / "v.vec", words)
    train(TRAIN, DEV, config=config).save(tmp_path / "guide.arbora")
    (tmp_path / "v.vec").unlink()  # parsers like the guide take the vectors of its model
    stacked = train(
        TRAIN,
        DEV,
        config={
            "stack": str(tmp_path / "guide.arbora"),
            "order": 1,
            "only": "parser",
            "folds": 2,
            "parameters": {"epochs": 2},
        },
    )
    stacked.save(tmp_path / "m.arbora")
    again = Parser.load(tmp_path / "m.arbora")
    assert again.names.guide is not None
    assert np.array_equal(again.trees(DEV)[0], stacked.parser.trees(DEV)[0])


@pytest.mark.parametrize("loss", ["local", "crf"])
def test_a_linear_guide_for_a_neural_parser(loss, tmp_path):
    linear = {"order": 1, "only": "parser", "parameters": {"epochs": 4}}
    guide = train(TRAIN, DEV, config=linear)
    guide.save(tmp_path / "guide.arbora")
    config = quickly(stack=str(tmp_path / "guide.arbora"), only="parser", folds=2, loss=loss)
    stacked = train(TRAIN, DEV, config=config)
    assert stacked.scores["uas"] > 62  # the network alone has below 50
    stacked.save(tmp_path / "m.arbora")
    again = Parser.load(tmp_path / "m.arbora")
    assert again.names.guide is not None
    assert again.scorer.needs_guide
    heads, labels = stacked.parser.trees(DEV)
    assert all(map(np.array_equal, again.trees(DEV), (heads, labels)))
    found = again.confidence(DEV)
    assert np.array_equal(found.heads, heads)
    assert np.array_equal(found.labels, labels)
