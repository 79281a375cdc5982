"""Transition parsers from end to end: training, trees, probabilities, files, the command line."""

import json

import numpy as np
import pytest
from errors import rejects
from graph_toys import check_probabilities, config, treebank
from typer.testing import CliRunner

from arbora.cli.main import app
from arbora.data.tree import Tree
from arbora.errors import InputError, ModelError, NoTreeError
from arbora.parsing.parser import Parser
from arbora.progress import Silent
from arbora.scorers import TransitionSettings
from arbora.search.pruner import PrunerSettings
from arbora.storage.model_file import read_model, write_model
from arbora.training import train

TRAIN, DEV = treebank(120, seed=1), treebank(40, seed=2)


def plan(*, epochs=4, **options):
    search = options.pop("search", {})
    small = {"tree_bits": 16, "label_bits": 14, **options}
    return config(parser="transition", epochs=epochs, transition=TransitionSettings(**search), **small)


@pytest.fixture(scope="module")
def greedy():
    return train(TRAIN, DEV, config=plan())


@pytest.fixture(scope="module")
def beam():
    return train(TRAIN, DEV, config=plan(search={"beam": 8}))


@pytest.fixture(params=["greedy", "beam"])
def trained(request):
    return request.getfixturevalue(request.param)


def test_training_decides_and_reports(greedy, beam):
    settings = greedy.parser.scorer.settings
    assert (settings.labels, settings.features, settings.trees) == ("joint", "zhang-nivre-v1", "projective")
    assert greedy.parser.search.settings.oracle == "dynamic"
    assert [r["stage"] for r in greedy.reports] == ["tree"] * len(greedy.reports)
    assert greedy.scores["las"] > 80
    assert beam.scores["las"] > 80
    assert repr(greedy.parser) == "<Parser: projective trees, arc-eager transitions, beam 1, 15 labels>"


def test_the_same_bytes_on_two_threads(trained, tmp_path):
    again = train(TRAIN, DEV, config=plan(search={"beam": trained.parser.search.settings.beam}), threads=2)
    for name, parser in (("one", trained.parser), ("two", again.parser)):
        parser.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_files_keep_everything(trained, tmp_path):
    trained.parser.save(tmp_path / "m")
    loaded = Parser.load(tmp_path / "m")
    assert loaded.search.settings == trained.parser.search.settings
    encoded = loaded.encode(DEV)
    for mine, theirs in zip(loaded.trees(encoded), trained.parser.trees(encoded, threads=2), strict=True):
        assert np.array_equal(mine, theirs)
    trained.parser.save(tmp_path / "small", quantized=True)
    heads, _ = Parser.load(tmp_path / "small").trees(encoded)
    assert np.mean(heads == trained.parser.trees(encoded)[0]) > 0.95


@pytest.mark.parametrize(
    "change",
    [
        {"transition": {"system": "left-corner"}},
        {"transition": {"beam": 10**9}},
        {"transition": {"system": "swap"}},
        {"transition": {"beams": 3}},
        {"transition": []},
        {"transition": None},
    ],
)
def test_damaged_files_are_refused(greedy, tmp_path, change):
    greedy.parser.save(tmp_path / "m")
    file = read_model(tmp_path / "m")
    write_model(tmp_path / "bad", dict(file.tensors), {**file.metadata, **change})
    with pytest.raises(ModelError):
        Parser.load(tmp_path / "bad")


def test_trees_are_trees(trained):
    for sentence in trained.parser.parse(list(DEV.sentences())):
        assert Tree.from_heads(sentence.heads).is_projective()
        assert sentence.heads.count(0) == 1


def test_probabilities_come_from_the_best_trees(trained):
    sentences = list(DEV.sentences())
    check_probabilities(trained.parser, sentences)
    risk = trained.parser.parse(sentences, decode="minimum-risk")
    assert all(Tree.from_heads(s.heads).is_projective() for s in risk)


def test_k_best_trees(trained):
    sentence = max(DEV.sentences(), key=len)
    found = trained.parser.kbest(sentence, 8)
    assert 2 <= len(found) <= 8
    assert len({tree.heads for tree in found}) == len(found)
    shares = [tree.probability for tree in found]
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert sum(shares) <= 1.0 + 1e-9


@pytest.mark.parametrize("keep_heads", [False, True])
def test_the_first_of_the_k_best_is_the_parsers_own(trained, keep_heads):
    sentences = list(DEV.sentences())
    parsed = trained.parser.parse(sentences, keep_heads=keep_heads)
    for sentence, own in zip(sentences, parsed, strict=True):
        for k in (1, 4):
            first = trained.parser.kbest(sentence, k, keep_heads=keep_heads)[0]
            assert (first.heads, first.deprels) == (own.heads, own.deprels)


def test_a_greedy_parser_stands_by_its_tree(greedy):
    """Also where its list has trees of greater score, which it never saw when it went its way."""
    shares = [[tree.probability for tree in greedy.parser.kbest(s, 8)] for s in DEV.sentences()]
    assert any(of_one[0] < max(of_one) for of_one in shares)


def test_given_heads_are_kept(trained):
    sentences = list(DEV.sentences())[:20]
    kept = trained.parser.parse(sentences, keep_heads=True)
    assert [s.heads for s in kept] == [s.heads for s in sentences]
    crossing = next(
        s for s in treebank(20, seed=3, nonprojective=1.0).sentences() if not s.tree.is_projective()
    )
    with pytest.raises(NoTreeError):
        trained.parser.parse([crossing], keep_heads=True)


def test_some_given_heads_are_kept(trained):
    names = trained.parser.names
    for stride in (2, 3, 5):
        encoded = names.batch(DEV)
        given = np.where(np.arange(DEV.words) % stride == 0, DEV.heads, -1).astype(np.int32)
        encoded.set_heads(given)
        heads, _ = trained.parser.trees(encoded, keep_heads=True)
        assert np.array_equal(heads[given >= 0], DEV.heads[given >= 0])


def test_swap_gives_crossing_trees():
    crossing = treebank(120, seed=4, nonprojective=0.5)
    trained = train(crossing, config=plan(epochs=6, search={"system": "swap"}))
    sentences = list(crossing.sentences())
    parsed = trained.parser.parse(sentences)
    assert trained.parser.search.trees == "nonprojective"
    assert any(not Tree.from_heads(s.heads).is_projective() for s in parsed)
    assert all(s.heads.count(0) == 1 for s in parsed)
    assert len(trained.parser.parse(sentences[:3], decode="minimum-risk")) == 3
    with pytest.raises(InputError):
        trained.parser.parse(sentences[:1], keep_heads=True)
    encoded = trained.parser.encode(crossing)
    encoded.set_heads(
        np.full(crossing.words, -1, dtype=np.int32)
    )  # where none is given, nothing is to be kept
    heads, _ = trained.parser.trees(encoded, keep_heads=True)
    assert heads.tolist() == [head for s in parsed for head in s.heads]


def test_crossing_arcs_by_marks_in_labels():
    crossing = treebank(120, seed=4, nonprojective=0.5)
    parser = train(crossing, config=plan(epochs=6, projectivize="pseudo-projective")).parser
    heads = [s.heads for s in parser.parse(list(crossing.sentences()))]
    assert any(not Tree.from_heads(h).is_projective() for h in heads)


def test_arc_standard_several_roots_and_no_labels():
    options = {"search": {"system": "arc-standard"}, "labels": "none", "roots": "multi"}
    parser = train(TRAIN, DEV, config=plan(**options)).parser
    assert parser.about["dev"]["uas"] > 70
    assert all(Tree.from_heads(s.heads).is_projective() for s in parser.parse(list(DEV.sentences())))


class Interrupter(Silent):
    """Presses Ctrl-C in the third epoch."""

    epochs = 0

    def report(self, report):
        self.epochs += 1

    def advance(self, steps=1):
        if self.epochs == 2:
            raise KeyboardInterrupt


def test_training_goes_on_from_a_checkpoint(greedy, tmp_path):
    path = tmp_path / "c"
    stopped = train(TRAIN, DEV, config=plan(), checkpoint=path, observer=Interrupter())
    assert stopped.interrupted
    resumed = train(TRAIN, DEV, config=plan(), checkpoint=path, resume=True)
    assert not resumed.interrupted
    assert resumed.reports == greedy.reports
    assert np.array_equal(resumed.parser.scorer.tree, greedy.parser.scorer.tree)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"trees": "nonprojective"}, "trees"),
        (
            {"search": {"system": "swap"}, "trees": "projective"},
            "trees",
        ),
        ({"labels": "staged"}, "labels"),
        ({"grandparents": False}, "grandparents"),
        (
            {"search": {"beam": 4, "oracle": "static"}},
            "transition.oracle",
        ),
        (
            {"pruner_settings": PrunerSettings(rule="margin")},
            "pruner_settings.rule",
        ),
        (
            {"pruner_settings": PrunerSettings(rule="auto", keep=4)},
            "pruner_settings.keep",
        ),
        (
            {"search": {"update": "early"}},
            "transition.update",
        ),
        (
            {"search": {"most_labels": 3}, "labels": "none"},
            "transition.most_labels",
        ),
        (
            {"search": {"system": "swap"}, "projectivize": "minimum-loss"},
            "projectivize",
        ),
        ({"order": 2}, "order"),
        ({"pruner": True}, "pruner"),
        ({"update": "p-max"}, "update"),
        (
            {"search": {"system": "swap"}, "projectivize": "pseudo-projective"},
            "projectivize",
        ),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        plan(**options)


def test_settings_of_other_parsers_are_rejected():
    with rejects(InputError, field="transition"):
        config(transition=TransitionSettings(beam=2))
    with rejects(InputError, field="feature set of transition parsers"):
        train(TRAIN, config=plan(features="graph-v1"))
    with rejects(InputError, field="learner"):
        train(TRAIN, config=plan(learner="adagrad", parameters={}))


def test_the_command_line(tmp_path):
    (tmp_path / "t.conllu").write_bytes(TRAIN.to_bytes())
    (tmp_path / "d.conllu").write_bytes(DEV.to_bytes())
    arguments = ["train", str(tmp_path / "t.conllu"), "--dev", str(tmp_path / "d.conllu"), "--only", "parser"]
    options = ["--parser", "transition", "--epochs", "2", "--learner", "perceptron"]
    settings = [
        part
        for each in ("tree_bits=14", "label_bits=12", "transition.beam=3", "transition.update=early")
        for part in ("-p", each)
    ]
    model = str(tmp_path / "m.arbora")
    done = CliRunner().invoke(app, [*arguments, *options, *settings, "-o", model])
    assert done.exit_code == 0, done.output
    assert "arc-eager transitions, beam 3" in done.output
    about = json.loads(CliRunner().invoke(app, ["info", model, "--json"]).stdout)
    assert about["transition"]["update"] == "early"
    shown = CliRunner().invoke(app, ["info", model]).stdout
    assert "transition.beam\t3" in shown
    assert "order" not in shown
    parsed = CliRunner().invoke(app, ["parse", str(tmp_path / "d.conllu"), "-m", model, "--kbest", "2"])
    assert parsed.exit_code == 0
    assert "# kbest = 2/2" in parsed.stdout


@pytest.mark.parametrize("prior", ["gauss", "laplace"])
@pytest.mark.parametrize("name", ["spv", "mec"])
def test_logistic_learners_have_steps_that_suit_sequences(name, prior):
    given = plan(learner=name, search={"beam": 4}, epochs=6, parameters={"prior": prior})
    gammas = {
        ("spv", "gauss"): 1e8,
        ("mec", "gauss"): 1e6,
        ("spv", "laplace"): 1e4,
        ("mec", "laplace"): 100.0,
    }
    trained = train(TRAIN, DEV, config=given)
    assert trained.parser.about["config"]["parameters"]["gamma"] == gammas[name, prior]
    assert trained.scores["uas"] > 60
