"""Transition parsers that look at the trees of another one: training, files, trees, the command line.

What is the same for all parsers that do is in `test_stacking`.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import check_probabilities, config, treebank
from training_toys import Recorder
from typer.testing import CliRunner

from arbora.cli.main import app
from arbora.data.columns import parse_text
from arbora.data.encode import GuideTrees, Names
from arbora.data.tree import Tree
from arbora.errors import InputError, ModelError
from arbora.parsing.parser import Parser
from arbora.problems import TransitionProblem
from arbora.registry import learners, transition_features
from arbora.scorers import GraphSettings, TransitionScorer, TransitionSettings
from arbora.search.transition import TransitionSearch
from arbora.storage.model_file import read_model, write_model
from arbora.training import train
from arbora.training.recipes import Dev
from arbora.training.stacking import guide_scores

TRAIN, DEV = treebank(60, seed=1, nonprojective=0.2), treebank(16, seed=2, nonprojective=0.2)
SYSTEMS = ("arc-eager", "arc-standard", "swap")


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """A graph parser in a file."""
    path = tmp_path_factory.mktemp("guide") / "guide.arbora"
    train(TRAIN, DEV, config=config(order=1, trees="nonprojective")).parser.save(path)
    return str(path)


def plan(guide, *, system="arc-eager", beam=1, **options):
    search = TransitionSettings(system=system, beam=beam)
    return config(**{"parser": "transition", "stack": guide, "folds": 3, "transition": search, **options})


@pytest.fixture(scope="module")
def stacked(guide):
    return train(TRAIN, DEV, config=plan(guide))


def saved(parser, path):
    parser.save(path)
    return path.read_bytes()


# What is learned from a guide


def with_little_to_see(columns):
    """The same trees of words that are all alike, but for the tag DET."""
    lines = []
    for line in columns.to_bytes().decode().splitlines():
        row = line.split("\t")
        tag = row[3] if len(row) == 10 and row[3] == "DET" else "X"
        lines.append("\t".join([row[0], "x", "x", tag, "_", "_", *row[6:]]) if len(row) == 10 else line)
    return parse_text("\n".join([*lines, ""]), "conllu")


BLANK_TRAIN, BLANK_DEV = (with_little_to_see(treebank(60, seed=seed, longest=20)) for seed in (8, 9))


def wrong_in_part(columns, names):
    """Trees of a guide that is right, but for all words of one tag, whose heads are the words before them."""
    tags = [columns.strings("upos")[number] for number in columns.ids("upos")]
    before = np.arange(columns.words) - np.repeat(columns.offsets[:-1], np.diff(columns.offsets))
    heads = np.where(np.array(tags) == "DET", before, columns.heads).astype(np.int32)
    return GuideTrees(heads, names.label_numbers(columns), names.labels)


def encoded(columns, guide):
    sentences = Names.of(BLANK_TRAIN).encode(columns)
    if guide is not None:
        sentences.set_guide(*guide)
    return sentences


def learned(name, *, system, beam):
    """A parser after a few epochs on a small treebank."""
    names, search = Names.of(BLANK_TRAIN), TransitionSettings(system=system, beam=beam)
    templates = transition_features.create(name)
    shape = GraphSettings(
        trees=search.trees, order=1, labels="joint", features=name, tree_bits=16, label_bits=14
    )
    count = len(names.labels)
    scorer = TransitionScorer(shape, templates, search=search, labels=count)
    guide = wrong_in_part(BLANK_TRAIN, names) if templates.needs_guide else None
    problem = TransitionProblem(scorer, encoded(BLANK_TRAIN, guide))
    weights = learners.create("perceptron", epochs=4).fit(problem).averaged
    at = scorer.weight_count("tree")
    made = scorer.replaced(tree=weights[:at], label_weights=weights[at:])
    return Parser(names=names, search=TransitionSearch(made))


def scores(parser, guide):
    batch = parser.encode(BLANK_DEV)
    batch.__dict__["encoded"] = encoded(BLANK_DEV, guide)
    return Dev(batch).scores(parser)


@pytest.mark.parametrize("features", ["zhang-nivre-v1", "nivre-v1"])
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_guide_is_followed_where_it_is_right(system, beam, features):
    """Better than the parser alone, and better than the guide, whose mistakes can be known by their tags."""
    guide = wrong_in_part(BLANK_DEV, Names.of(BLANK_TRAIN))
    of_guide = guide_scores(guide, BLANK_DEV)
    alone = scores(learned(features, system=system, beam=beam), None)
    both = scores(learned(f"{features}+guide-v1", system=system, beam=beam), guide)
    for score in ("uas", "las"):
        assert both[score] > alone[score] + 25
        assert both[score] > of_guide[score] + 2 or features == "nivre-v1"  # whose pairs learn slower


def test_a_guide_that_errs_misleads():
    """Where words tell nothing, trees are hardly better than a guide's that is nearly always wrong."""
    parser = learned("zhang-nivre-v1+guide-v1", system="arc-eager", beam=1)
    flat = np.arange(BLANK_DEV.words) - np.repeat(BLANK_DEV.offsets[:-1], np.diff(BLANK_DEV.offsets))
    before = GuideTrees(flat.astype(np.int32), np.full(BLANK_DEV.words, -1, np.int32), ())
    assert guide_scores(before, BLANK_DEV)["uas"] < 20
    assert scores(parser, before)["uas"] < 45


# Training


def test_training_tells_of_the_guide(guide, stacked):
    watcher = Recorder()
    train(TRAIN, DEV, config=plan(guide), observer=watcher)
    stages = [stage for stage, *_ in watcher.stages]
    of_guide = [f"guide, fold {k} of 3: {s}" for k in (1, 2, 3) for s in ("labels", "pruner", "tree")]
    assert stages == ["guide", *of_guide, "tree"]
    about = stacked.parser.about
    assert about["guide"]["dev"] == pytest.approx(Parser.load(guide).about["dev"])
    assert about["config"]["features"] == "zhang-nivre-v1+guide-v1"
    assert repr(stacked.parser).endswith(
        "arc-eager transitions, beam 1, 15 labels, "
        "guided by <Parser: nonprojective trees, order 1, 15 labels>>"
    )


def test_one_seed_gives_one_model_whatever_the_threads(guide, stacked, tmp_path):
    again = train(TRAIN, DEV, config=plan(guide), threads=2)
    assert saved(again.parser, tmp_path / "2") == saved(stacked.parser, tmp_path / "1")


def test_resuming_takes_the_trees_that_were_found(guide, stacked, tmp_path):
    path = tmp_path / "checkpoint"
    train(TRAIN, DEV, config=plan(guide), observer=Recorder(("tree", 1)), checkpoint=path)
    watcher = Recorder()
    resumed = train(TRAIN, DEV, config=plan(guide), observer=watcher, checkpoint=path, resume=True)
    assert [stage for stage, *_ in watcher.stages] == ["tree"]
    assert saved(resumed.parser, tmp_path / "2") == saved(stacked.parser, tmp_path / "1")


@pytest.mark.parametrize(
    "options",
    [
        {"system": "arc-standard"},
        {"system": "swap", "beam": 3},
        {"beam": 3, "labels": "none"},
        {"features": "nivre-v1", "projectivize": "pseudo-projective"},
        {"beam": 3, "learner": "mira", "parameters": {"k": 2}},
    ],
    ids=lambda o: "-".join(map(str, o.values())),
)
def test_all_ways_to_train(guide, options):
    trained = train(TRAIN, DEV, config=plan(guide, **options))
    assert trained.scores["uas"] > 70
    expected = options.get("features", "zhang-nivre-v1") + "+guide-v1"
    assert trained.parser.scorer.settings.features == expected
    assert Dev(trained.parser.encode(DEV)).scores(trained.parser) == trained.scores


def test_transition_parsers_guide_each_other(tmp_path):
    other = config(parser="transition", transition=TransitionSettings(system="swap"))
    train(TRAIN, DEV, config=other).parser.save(tmp_path / "guide")
    trained = train(TRAIN, DEV, config=plan(str(tmp_path / "guide")))
    assert trained.parser.names.guide.search.settings.system == "swap"
    assert trained.scores["uas"] > 70


# Trees and probabilities


def test_trees_are_those_that_training_saw(stacked):
    assert Dev(stacked.parser.encode(DEV)).scores(stacked.parser) == stacked.scores
    for sentence in stacked.parser.parse(DEV.sentences(), threads=2):
        assert Tree.from_heads(sentence.heads).is_projective()


def test_probabilities_k_best_trees_and_kept_heads(guide):
    parser = train(TRAIN, DEV, config=plan(guide, beam=4)).parser
    sentences = list(DEV.sentences())[:6]
    check_probabilities(parser, sentences)
    found = parser.kbest(max(sentences, key=len), 4)
    assert len({tree.heads for tree in found}) == len(found) > 1
    flat = [s for s in sentences if s.tree.is_projective()]
    assert [s.heads for s in parser.parse(flat, keep_heads=True)] == [s.heads for s in flat]


def test_sentences_must_have_the_trees_of_a_guide(stacked):
    with pytest.raises(InputError):
        stacked.parser.trees(Names.of(TRAIN).batch(DEV))
    problem = TransitionProblem(stacked.parser.scorer, Names.of(BLANK_TRAIN).encode(BLANK_TRAIN))
    with pytest.raises(InputError):
        problem.instances()


# Files


def test_files_keep_both_parsers(guide, stacked, tmp_path):
    stacked.parser.save(tmp_path / "m")
    loaded = Parser.load(tmp_path / "m")
    for mine, theirs in zip(loaded.trees(DEV, threads=2), stacked.parser.trees(DEV), strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(loaded.names.guide.trees(DEV)[0], Parser.load(guide).trees(DEV)[0])
    again = pickle.loads(pickle.dumps(loaded))
    assert np.array_equal(again.trees(DEV)[0], loaded.trees(DEV)[0])
    stacked.parser.save(tmp_path / "small", quantized=True)
    rounded = stacked.parser.rounded()
    assert np.array_equal(Parser.load(tmp_path / "small").trees(DEV)[0], rounded.trees(DEV)[0])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda m: m.pop("guide"), "guide"),
        (lambda m: m["settings"].update(features="zhang-nivre-v1"), "guide"),
    ],
)
def test_damaged_files_are_rejected(stacked, change, field, tmp_path):
    stacked.parser.save(tmp_path / "m")
    file = read_model(tmp_path / "m")
    metadata, tensors = {**file.metadata, "settings": dict(file.metadata["settings"])}, dict(file.tensors)
    change(metadata)
    write_model(tmp_path / "m", tensors, metadata)
    with rejects(ModelError, field=field):
        Parser.load(tmp_path / "m")


# What does not fit


def test_features_and_guide_go_together(guide, stacked, tmp_path):
    alone = replace(plan(guide), stack=None, features="zhang-nivre-v1+guide-v1")
    with rejects(InputError, field="features"):
        train(TRAIN, config=alone)
    with rejects(InputError, field="feature set of transition parsers"):
        train(TRAIN, config=plan(guide, features="graph-v1"))
    named = train(TRAIN, DEV, config=plan(guide, features="zhang-nivre-v1+guide-v1"))
    assert saved(named.parser, tmp_path / "2") == saved(stacked.parser, tmp_path / "1")
    stacked.parser.save(tmp_path / "m")
    with rejects(InputError, field="stack"):
        train(TRAIN, config=plan(str(tmp_path / "m")))


# The command line


def test_the_command_line(guide, tmp_path):
    (tmp_path / "t.conllu").write_bytes(TRAIN.to_bytes())
    (tmp_path / "d.conllu").write_bytes(DEV.to_bytes())
    model, dev = str(tmp_path / "m.arbora"), str(tmp_path / "d.conllu")
    options = ["--only", "parser", "--parser", "transition", "--stack", guide, "--compact", "-o", model]
    small = ["-p", "tree_bits=14", "-p", "label_bits=12", "-p", "transition.beam=3", "--epochs", "2"]
    done = CliRunner().invoke(app, ["train", str(tmp_path / "t.conllu"), "--dev", dev, *options, *small])
    assert done.exit_code == 0, done.output
    assert "guide: 1 of 5 folds, " in done.stderr
    assert "with the trees of a guide: LAS " in done.stdout
    shown = CliRunner().invoke(app, ["info", model]).stdout
    assert "features zhang-nivre-v1+guide-v1" in shown
    assert "trees nonprojective" in shown.partition("\nguide\t\n")[2]
    parsed = CliRunner().invoke(app, ["parse", dev, "-m", model, "--kbest", "2", "--probabilities"])
    assert parsed.exit_code == 0, parsed.output
    assert "# kbest = 2/2" in parsed.stdout
