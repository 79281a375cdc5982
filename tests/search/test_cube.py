"""Parsers of higher order from end to end: training, trees, probabilities, files, the command line."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from errors import rejects
from graph_toys import check_probabilities, config, treebank
from typer.testing import CliRunner

from arbora._core import measure_trees
from arbora.cli.main import app
from arbora.data.tree import Tree
from arbora.errors import InputError, NoTreeError
from arbora.interfaces import GoldTree
from arbora.parsing.parser import Parser
from arbora.scorers import CubeSettings
from arbora.search.confidence import Confidence
from arbora.search.pruner import PrunerSettings
from arbora.search.ranked import RankedTrees
from arbora.search.request import ParseRequest, Temperatures
from arbora.training import train

TRAIN, DEV = treebank(120, seed=1), treebank(40, seed=2)
PLAN = config(
    parser="cube", epochs=3, tree_bits=16, label_bits=14, pruner_settings=PrunerSettings(rule="auto", bits=12)
)


@pytest.fixture(scope="module")
def trained():
    return train(TRAIN, DEV, config=PLAN)


def test_training_decides_and_reports(trained):
    parser = trained.parser
    assert parser.search.order == 3
    assert parser.scorer.settings.labels == "joint"
    assert parser.search.pruner.settings.rule == "tree-odds"
    assert trained.scores["las"] > 85
    measures = [r["measures"] for r in trained.reports if r["stage"] == "tree"]
    assert all(0.0 <= each["non_violations"] <= 1.0 for each in measures)
    assert repr(parser) == "<Parser: projective trees, order 3 by cube pruning, beam 6, 15 labels>"


def test_the_same_bytes_on_two_threads(trained, tmp_path):
    again = train(TRAIN, DEV, config=PLAN, threads=2)
    for name, parser in (("one", trained.parser), ("two", again.parser)):
        parser.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("learner", ["mira", "spv", "mec"])
def test_lists_of_trees_teach(learner):
    trained = train(
        TRAIN, DEV, config=replace(PLAN, order=1, learner=learner, parameters={"k": 3, "epochs": 2})
    )
    assert trained.scores["las"] > 85


def test_files_keep_everything(trained, tmp_path):
    trained.parser.save(tmp_path / "m")
    loaded = Parser.load(tmp_path / "m")
    assert loaded.search.settings == CubeSettings()
    encoded = loaded.encode(DEV)
    for mine, theirs in zip(loaded.trees(encoded), trained.parser.trees(encoded, threads=2), strict=True):
        assert np.array_equal(mine, theirs)
    trained.parser.save(tmp_path / "small", quantized=True)
    heads, _ = Parser.load(tmp_path / "small").trees(encoded)
    assert np.mean(heads == trained.parser.trees(encoded)[0]) > 0.98


def test_trees_are_trees(trained):
    for sentence in trained.parser.parse(list(DEV.sentences())):
        tree = Tree.from_heads(sentence.heads)
        assert tree.is_projective()
        assert sentence.heads.count(0) == 1


def test_probabilities_come_from_the_best_trees(trained):
    check_probabilities(trained.parser, list(DEV.sentences()))


def test_k_best_trees(trained):
    sentence = max(DEV.sentences(), key=len)
    found = trained.parser.kbest(sentence, 8)
    assert len(found) == 8
    assert len({tree.heads for tree in found}) == 8
    shares = [tree.probability for tree in found]
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert sum(shares) <= 1.0 + 1e-9
    sentences = list(DEV.sentences())[:20]
    for each, own in zip(sentences, trained.parser.parse(sentences), strict=True):
        first = trained.parser.kbest(each, 3)[0]
        assert (first.heads, first.deprels) == (own.heads, own.deprels)


def test_minimum_risk_and_given_heads(trained):
    sentences = list(DEV.sentences())[:10]
    risk = trained.parser.parse(sentences, decode="minimum-risk")
    assert all(Tree.from_heads(s.heads).is_projective() for s in risk)
    kept = trained.parser.parse(sentences, keep_heads=True)
    assert [s.heads for s in kept] == [s.heads for s in sentences]
    crossing = next(
        s for s in treebank(20, seed=3, nonprojective=1.0).sentences() if not s.tree.is_projective()
    )
    with pytest.raises(NoTreeError):
        trained.parser.parse([crossing], keep_heads=True)


def test_confidence_in_given_trees(trained):
    encoded = trained.parser.encode(DEV)
    table = trained.parser.confidence(encoded, decode="given", arc_table=True)
    own = trained.parser.confidence(encoded, arc_table=True)
    assert np.array_equal(table.heads, DEV.heads)
    assert np.allclose(table.arc_table, own.arc_table)
    lengths = np.diff(DEV.offsets)
    size = (lengths[0] + 1) ** 2
    columns = own.arc_table[:size].reshape(lengths[0] + 1, -1).sum(axis=0)
    assert columns[1:] == pytest.approx(1.0 - trained.parser.calibration.missed)


def test_a_list_of_trees_by_hand():
    trees = RankedTrees(
        np.array([2.0, 1.0, 1.0]),
        np.array([[2, 0], [0, 1], [2, 0]], dtype=np.int32),
        np.array([[0, 1], [1, 1], [1, 1]], dtype=np.int32),
    )
    e = math.exp(1.0)
    # The third is the first with other labels: of a tree its best labelling counts.
    assert trees.distinct == [0, 1]
    assert trees.shares(1.0) == pytest.approx([e / (e + 1), 1 / (e + 1)])
    assert trees.arc_table(1.0)[2, 1] == pytest.approx(e / (e + 1))
    assert trees.label_table(np.array([2, 0]), 1.0, 2)[0] == pytest.approx([e / (e + 1), 1 / (e + 1)])
    assert trees.label_table(np.array([2, 0]), 0.5, 2)[0] == pytest.approx(
        [e * e / (e * e + 1), 1 / (e * e + 1)]
    )


def test_the_parsers_own_tree_stands_first_by_hand():
    """With its own labels, whatever the scores say of others."""
    trees = RankedTrees(
        np.array([1.0, 5.0, 3.0, 0.0]),
        np.array([[2, 0], [0, 1], [2, 0], [0, 0]], dtype=np.int32),
        np.array([[0, 1], [1, 1], [1, 1], [0, 0]], dtype=np.int32),
    )
    unknown = np.full(3, -1, dtype=np.int32)
    search = SimpleNamespace(trees="projective", roots="multi", label_count=2)
    row = trees.confidence(GoldTree(unknown, unknown), ParseRequest(k=3), Temperatures(), search)
    found = Confidence.joined([row])
    assert found.heads.tolist() == [2, 0, 0, 1, 0, 0]
    assert found.labels.tolist() == [0, 1, 1, 1, 0, 0]
    assert found.scores.tolist() == [1.0, 5.0, 0.0]
    exponentials = np.exp([3.0, 5.0, 0.0])  # of a tree its best labelling counts
    assert np.exp(found.log_probabilities) == pytest.approx(exponentials / exponentials.sum())


def test_crossing_arcs_by_marks_in_labels():
    crossing = treebank(120, seed=4, nonprojective=0.5)
    plan = config(parser="cube", epochs=4, tree_bits=16, label_bits=14, projectivize="pseudo-projective")
    parser = train(crossing, config=plan).parser
    heads = [s.heads for s in parser.parse(list(crossing.sentences()))]
    assert any(not Tree.from_heads(h).is_projective() for h in heads)


@pytest.fixture(scope="module")
def crossing_parser():
    """Of trees that may cross, with the treebank that it has learned."""
    columns = treebank(120, seed=4, nonprojective=0.5)
    return train(columns, columns, config=replace(PLAN, trees="nonprojective")).parser, columns


def test_crossing_arcs_by_reattachment(crossing_parser, tmp_path):
    parser, columns = crossing_parser
    assert parser.search.pruner.settings.rule == "arc-odds"
    parser.save(tmp_path / "m")
    heads, _ = Parser.load(tmp_path / "m").trees(columns)
    there, found = (np.array(measure_trees(h, columns.offsets)[0], bool) for h in (columns.heads, heads))
    assert np.mean(heads[there] == columns.heads[there]) > 0.5
    assert np.mean(heads[found] == columns.heads[found]) > 0.5


def test_lists_and_given_heads_of_crossing_trees(crossing_parser):
    parser, columns = crossing_parser
    sentences = list(columns.sentences())[:20]
    check_probabilities(parser, sentences)
    kept = parser.parse(sentences, keep_heads=True)
    assert [s.heads for s in kept] == [s.heads for s in sentences]
    assert all(tree.heads.count(0) == 1 for tree in parser.kbest(sentences[0], 5))


@pytest.mark.parametrize("update", ["standard", "s-max"])
def test_other_updates_and_lists_learn_crossing_trees(update):
    columns = treebank(60, seed=5, nonprojective=0.5)
    plan = replace(PLAN, trees="nonprojective", update=update, parameters={"epochs": 2})
    for learner in ("passive_aggressive", "mira"):
        assert train(columns, columns, config=replace(plan, learner=learner)).scores["las"] > 85


def test_rules_of_pruners_for_crossing_trees():
    plan = replace(PLAN, trees="nonprojective", pruner_settings=PrunerSettings(rule="max-marginal"))
    with rejects(InputError, field="rule"):
        train(TRAIN, config=plan)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"parser": "graph", "order": 3}, "order"),
        (
            {"parser": "cube", "labels": "none", "cube": CubeSettings(most_labels=2)},
            "cube.most_labels",
        ),
        (
            {"parser": "cube", "labels": "none", "cube": CubeSettings(labels_within=2.0)},
            "cube.labels_within",
        ),
        ({"update": "s-max"}, "update"),
        ({"cube": CubeSettings(beam=2)}, "cube"),
        ({"parser": "cube", "labels": "staged"}, "labels"),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        config(**options)


def test_learners_of_sums_are_rejected():
    plan = config(parser="cube", learner="adagrad", parameters={})
    with rejects(InputError, field="learner"):
        train(TRAIN, config=plan)


def test_the_command_line(tmp_path):
    (tmp_path / "t.conllu").write_bytes(TRAIN.to_bytes())
    (tmp_path / "d.conllu").write_bytes(DEV.to_bytes())
    arguments = ["train", str(tmp_path / "t.conllu"), "--dev", str(tmp_path / "d.conllu"), "--only", "parser"]
    options = ["--parser", "cube", "--order", "3", "--update", "s-max", "--epochs", "2", "--json"]
    small = [
        "-p",
        "tree_bits=14",
        "-p",
        "label_bits=12",
        "-p",
        "pruner_settings.bits=10",
        "-p",
        "cube.beam=3",
    ]
    model = str(tmp_path / "m.arbora")
    done = CliRunner().invoke(app, [*arguments, *options, *small, "-o", model])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["info", model, "--json"])
    about = json.loads(shown.stdout)
    assert '"beam": 3' in json.dumps(about)
    parsed = CliRunner().invoke(app, ["parse", str(tmp_path / "d.conllu"), "-m", model, "--kbest", "2"])
    assert parsed.exit_code == 0
    assert "# kbest = 2/2" in parsed.stdout


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"parser": "cube", "features": "graph-v1"}, "features"),
        (
            {"parser": "cube", "features": "pruner-v1", "order": 2},
            "features",
        ),
        (
            {"features": "cube-v1"},
            "features",
        ),
    ],
)
def test_contexts_are_for_cube_pruning(options, field):
    with rejects(InputError, field=field):
        train(TRAIN, config=config(**options))
    first_order = config(parser="cube", features="graph-v1", order=1, epochs=1)
    assert train(TRAIN, config=first_order).parser.search.order == 1
