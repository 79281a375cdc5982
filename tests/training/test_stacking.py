"""Parsers that look at the trees of another one: training, files, trees, probabilities, the command line."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank
from training_toys import Recorder
from typer.testing import CliRunner

from arbora.cli.main import app
from arbora.data.columns import parse_text
from arbora.data.encode import Names
from arbora.data.tree import Tree
from arbora.errors import InputError, ModelError
from arbora.parsing.parser import Parser
from arbora.problems import GraphProblem
from arbora.registry import features, learners
from arbora.scorers import CubeSettings, GraphSettings, LinearScorer, TransitionSettings
from arbora.search.graph import GraphSearch
from arbora.storage.model_file import read_model, write_model
from arbora.training import train
from arbora.training.annotation import jackknife
from arbora.training.config import make_config
from arbora.training.parser import ParserTraining
from arbora.training.recipes import Dev
from arbora.training.stacking import Guide, guide_scores

TRAIN, DEV = treebank(60, seed=1, nonprojective=0.2), treebank(16, seed=2, nonprojective=0.2)
GUIDE_PLAN = config(order=1, epochs=5, trees="nonprojective", patience=1)
FOLDS = 3


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """A model file, whose parser has stopped before its last epoch."""
    path = tmp_path_factory.mktemp("guide") / "guide.arbora"
    train(TRAIN, DEV, config=GUIDE_PLAN).parser.save(path)
    return str(path)


def plan(guide, **options):
    return config(**{"stack": guide, "folds": FOLDS, "order": 2, "trees": "projective", **options})


@pytest.fixture(scope="module")
def stacked(guide):
    return train(TRAIN, DEV, config=plan(guide))


def saved(parser, path, **options):
    parser.save(path, **options)
    return path.read_bytes()


# Jackknifing


class Fold:
    """Stands in for a parser: gives the treebank's own trees, with labels in an order of its own."""

    names = Names(("X",), tuple(reversed(Names.of(TRAIN).labels)))

    def trees(self, columns, threads=1):
        return columns.heads, self.names.label_numbers(columns)


def test_every_sentence_gets_the_trees_of_a_parser_that_has_not_seen_it(guide, monkeypatch):
    loaded = Guide.load(guide)
    learned = []

    class Training:
        def __init__(self, rest, dev, how, threads, observer, clusters, like):
            observer.note("learning")
            learned.append((rest.to_bytes(), how))

        def run(self, *, calibrate):
            return Fold(), False

    names = loaded.names(TRAIN)
    watcher = Recorder()
    training = ParserTraining(TRAIN, None, make_config(plan(guide, folds=4)), 1, watcher)
    watcher.notes.clear()
    monkeypatch.setattr("arbora.training.parser.ParserTraining", Training)
    found = training._guide_trees(loaded, names)
    heads, labels, _ = found
    assert np.array_equal(heads, TRAIN.heads)
    assert [names[label] for label in labels] == [
        TRAIN.strings("deprel")[number] for number in TRAIN.ids("deprel")
    ]
    assert guide_scores(found, TRAIN) == {"las": 100.0, "uas": 100.0}
    assert len(learned) == 4
    texts = [sentence.to_conllu() for sentence in TRAIN.sentences()]
    for text in set(texts):
        without = [rest for rest, _ in learned if text.encode() not in rest]
        assert without or texts.count(text) > 1
    assert all(how == loaded.config for _, how in learned)
    assert watcher.notes == [f"guide, fold {number} of 4: learning" for number in range(1, 5)]


def test_folds_know_their_words():
    for fold in jackknife(TRAIN, 3):
        assert texts(fold.held) == np.array(texts(TRAIN))[fold.words].tolist()
        assert len(fold.held) + len(fold.rest) == len(TRAIN)
        assert fold.held.words + fold.rest.words == TRAIN.words


def texts(columns):
    return [columns.strings("form")[i] for i in columns.ids("form")]


def test_others_are_trained_as_the_guide_was(guide):
    loaded = Guide.load(guide)
    reports = [r for r in loaded.parser.about["epochs"] if r["stage"] == "tree"]
    best = max(r["epoch"] for r in reports if r["best"])
    assert loaded.config.parameters["epochs"] == best
    assert replace(loaded.config, parameters={}) == replace(GUIDE_PLAN, **resolved(loaded), parameters={})


def resolved(loaded):
    """What the guide's treebank has decided."""
    return {
        name: getattr(loaded.config, name)
        for name in (
            "parser",
            "roots",
            "labels",
            "features",
            "pruner",
            "pruner_settings",
            "learner",
            "tags",
            "patience",
        )
    }


def test_a_guide_that_chose_projective_trees_on_dev_is_trained_so(tmp_path):
    given = train(TRAIN, DEV, config=config(order=1, trees="nonprojective", decode="projective")).parser
    given.about["config"]["decode"] = "auto"
    given.save(tmp_path / "m")
    assert Guide.load(str(tmp_path / "m")).config.decode == "projective"


def test_settings_that_do_nothing_are_passed_over_in_what_a_guide_tells(tmp_path):
    """Models of earlier versions say what these were decided to be; one cannot ask for them any more."""
    search = TransitionSettings(beam=2)
    given = train(TRAIN, config=config(epochs=1, parser="transition", transition=search)).parser
    given.about["config"]["transition"]["oracle"] = "dynamic"
    given.about["config"]["pruner_settings"]["rule"] = "margin"
    given.save(tmp_path / "m")
    loaded = Guide.load(str(tmp_path / "m")).config
    assert loaded.transition.oracle == loaded.pruner_settings.rule == "auto"


# Training


def test_a_perfect_guide_is_followed():
    """Where the guide is always right, whoever looks at it is right more often than others."""
    train_bank, dev_bank = treebank(40, seed=8), treebank(40, seed=9)
    names = Names.of(train_bank)

    def encoded(columns):
        sentences = names.encode(columns)
        sentences.set_guide(columns.heads, names.label_numbers(columns), names.labels)
        return sentences

    def uas(name):
        shape = GraphSettings(order=1, labels="none", features=name, tree_bits=16)
        scorer = LinearScorer(shape, features.create(name))
        learned = learners.create("perceptron", epochs=6).fit(GraphProblem(scorer, encoded(train_bank)))
        parser = Parser(names=names, search=GraphSearch(scorer.replaced(tree=learned.averaged)))
        batch = parser.encode(dev_bank)
        batch.__dict__["encoded"] = encoded(dev_bank)
        return Dev(batch).scores(parser)["uas"]

    assert uas("graph-v1+guide-v1") > uas("graph-v1") + 2


def test_training_tells_of_the_guide(guide, stacked):
    watcher = Recorder()
    train(TRAIN, DEV, config=plan(guide), observer=watcher)
    stages = [stage for stage, *_ in watcher.stages]
    of_guide = [f"guide, fold {k} of {FOLDS}: {s}" for k in (1, 2, 3) for s in ("labels", "pruner", "tree")]
    assert stages == ["guide", *of_guide, "labels", "pruner", "tree"]
    about = stacked.parser.about
    assert set(about["guide"]) == {"train", "dev"}
    assert about["guide"]["dev"] == pytest.approx(Parser.load(guide).about["dev"])
    assert 0 < about["guide"]["train"]["las"] < 100
    assert any(note.startswith("guide: LAS ") and "on train; LAS " in note for note in watcher.notes)
    assert {report["stage"] for report in stacked.reports} == {"labels", "pruner", "tree"}
    assert about["config"]["features"] == "graph-v1+guide-v1"
    assert repr(stacked.parser).endswith("guided by <Parser: nonprojective trees, order 1, 15 labels>>")


def test_one_seed_gives_one_model_whatever_the_threads(guide, stacked, tmp_path):
    again = train(TRAIN, DEV, config=plan(guide), threads=2)
    assert saved(again.parser, tmp_path / "2") == saved(stacked.parser, tmp_path / "1")
    other = train(TRAIN, DEV, config=plan(guide, seed=1))
    assert not np.array_equal(other.parser.scorer.tree, stacked.parser.scorer.tree)


@pytest.mark.parametrize("stage", ["labels", "tree"])
def test_resuming_takes_the_trees_that_were_found(guide, stacked, stage, tmp_path):
    path = tmp_path / "checkpoint"
    try:
        train(TRAIN, DEV, config=plan(guide), observer=Recorder((stage, 1)), checkpoint=path)
    except KeyboardInterrupt:
        assert stage == "labels"
    watcher = Recorder()
    resumed = train(TRAIN, DEV, config=plan(guide), observer=watcher, checkpoint=path, resume=True)
    assert not any(each.startswith("guide") for each, *_ in watcher.stages)
    assert saved(resumed.parser, tmp_path / "2") == saved(stacked.parser, tmp_path / "1")


def test_ctrl_c_while_others_like_the_guide_are_trained(guide, tmp_path):
    watcher = Recorder(("guide, fold 2 of 3: tree", 1))
    with pytest.raises(KeyboardInterrupt):
        train(TRAIN, DEV, config=plan(guide), observer=watcher, checkpoint=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_another_guide_does_not_go_on(guide, tmp_path):
    copy, path = tmp_path / "guide", tmp_path / "checkpoint"
    Parser.load(guide).save(copy)
    with pytest.raises(KeyboardInterrupt):
        train(TRAIN, DEV, config=plan(str(copy)), observer=Recorder(("pruner", 1)), checkpoint=path)
    train(TRAIN, DEV, config=replace(GUIDE_PLAN, seed=1)).parser.save(copy)
    with rejects(ModelError, source=str(path)):
        train(TRAIN, DEV, config=plan(str(copy)), checkpoint=path, resume=True)


def test_without_dev(guide):
    trained = train(TRAIN, config=plan(guide))
    assert set(trained.parser.about["guide"]) == {"train"}


def test_a_guide_with_other_tags_and_labels(stacked, tmp_path):
    """Its treebank has other names for all labels and tags; here it knows none of the tags."""
    text = TRAIN.to_bytes().decode()
    rows = [line.split("\t") for line in text.splitlines()]
    other = "\n".join(
        "\t".join([*r[:3], "OF" + r[3], *r[4:7], "its-" + r[7], *r[8:]]) if len(r) == 10 else "\t".join(r)
        for r in rows
    )
    bank = parse_text(other + "\n", "conllu")
    train(bank, config=config(order=1, trees="projective")).parser.save(tmp_path / "guide")
    trained = train(TRAIN, DEV, config=plan(str(tmp_path / "guide")))
    assert trained.parser.about["guide"]["dev"]["las"] == 0.0
    assert trained.scores["las"] > 60
    assert not set(trained.parser.plain_labels) & set(trained.parser.names.guide.names.labels)


@pytest.mark.parametrize("labels", ["joint", "none", "staged"])
def test_all_ways_to_choose_labels(guide, labels):
    trained = train(TRAIN, DEV, config=plan(guide, labels=labels, order=1))
    assert trained.scores["uas"] > 70
    assert (trained.parser.scorer.label_weights is None) == (labels == "none")


def test_a_guide_without_labels_and_learners_of_probabilities(tmp_path):
    train(TRAIN, DEV, config=config(order=1, labels="none")).parser.save(tmp_path / "guide")
    how = plan(str(tmp_path / "guide"), learner="adagrad", order=1, trees="nonprojective")
    trained = train(TRAIN, DEV, config=how)
    assert trained.scores["las"] > 60
    assert trained.parser.about["guide"]["dev"]["las"] == 0.0


def test_a_guide_of_marked_labels(tmp_path):
    how = config(projectivize="pseudo-projective", order=1)
    train(TRAIN, DEV, config=how).parser.save(tmp_path / "guide")
    trained = train(TRAIN, DEV, config=plan(str(tmp_path / "guide"), projectivize="pseudo-projective"))
    heads, _ = trained.parser.names.guide.trees(DEV)
    assert trained.parser.about["guide"]["dev"]["uas"] == pytest.approx(100 * np.mean(heads == DEV.heads))


def test_cube_pruning_looks_at_a_guide_and_is_one(guide, tmp_path):
    options = {"parser": "cube", "epochs": 2, "tree_bits": 16, "cube": CubeSettings(beam=3)}
    cube = train(TRAIN, DEV, config=plan(guide, order=3, **options))
    assert cube.parser.scorer.settings.features == "cube-v1+guide-v1"
    assert cube.scores["las"] > 60
    cube.parser.save(tmp_path / "both")
    loaded = Parser.load(tmp_path / "both")
    assert [s.heads for s in loaded.parse(DEV.sentences())] == [
        s.heads for s in cube.parser.parse(DEV.sentences())
    ]
    train(TRAIN, DEV, config=config(order=3, **options)).parser.save(tmp_path / "cube")
    graph = train(TRAIN, DEV, config=plan(str(tmp_path / "cube"), epochs=2))
    assert graph.parser.names.guide.search.settings == CubeSettings(beam=3)


# Trees and probabilities


def test_trees_are_those_that_training_saw(stacked):
    assert Dev(stacked.parser.encode(DEV)).scores(stacked.parser) == stacked.scores
    for sentence in stacked.parser.parse(DEV.sentences(), threads=2):
        assert Tree.from_heads(sentence.heads).is_projective()


def test_the_guide_decides_along(stacked):
    """With other trees beside the same words, the parser finds other trees."""
    encoded = stacked.parser.encode(DEV)
    own = stacked.parser.trees(encoded)[0]
    before = np.arange(DEV.words, dtype=np.int32) - np.repeat(DEV.offsets[:-1], np.diff(DEV.offsets))
    encoded.encoded.set_guide(before.astype(np.int32), np.full(DEV.words, -1, np.int32), [])
    misled = stacked.parser.trees(encoded)[0]
    assert np.mean(misled == DEV.heads) < np.mean(own == DEV.heads)


def test_probabilities_and_k_best_trees(stacked):
    sentences = list(DEV.sentences())[:6]
    plain = stacked.parser.parse(sentences)
    parsed = stacked.parser.parse(sentences, probabilities=True)
    assert [p.heads for p in parsed] == [s.heads for s in plain]
    assert all(0.0 < p.probability <= 1.0 + 1e-9 for p in parsed)
    assert stacked.parser.is_calibrated
    found = stacked.parser.kbest(max(sentences, key=len), 4)
    assert len({tree.heads for tree in found}) == len(found) == 4
    assert [tree.probability for tree in found] == sorted((t.probability for t in found), reverse=True)
    risk = stacked.parser.parse(sentences, decode="minimum-risk")
    assert all(Tree.from_heads(s.heads).is_projective() for s in risk)
    flat = [s for s in sentences if s.tree.is_projective()]
    kept = stacked.parser.parse(flat, keep_heads=True)
    assert [s.heads for s in kept] == [s.heads for s in flat]


def test_distributions_of_first_order(guide):
    parser = train(TRAIN, DEV, config=plan(guide, order=1)).parser
    sentence = next(DEV.sentences())
    marginals = parser.distribution(sentence).arc_marginals
    assert marginals[:, 1:].sum(axis=0) == pytest.approx(1.0)


def test_sentences_must_have_the_trees_of_a_guide(stacked):
    with pytest.raises(InputError):
        stacked.parser.trees(Names.of(TRAIN).batch(DEV))


@pytest.mark.parametrize(
    ("heads", "labels", "field"),
    [
        ([2], [0, 0], "guide"),
        ([2, 0], [0], "guide"),
        ([2, -1], [0, 0], "sentence 0, word 2"),
        ([3, 0], [0, 0], "sentence 0, word 1"),
        ([2, 0], [0, 1], None),
    ],
)
def test_trees_of_a_guide_are_checked(heads, labels, field):
    columns = parse_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n", "conllu")
    encoded = Names.of(columns).encode(columns)
    with rejects(InputError, field=field):
        encoded.set_guide(np.array(heads, np.int32), np.array(labels, np.int32), ["x"])
    assert not encoded.has_guide


# Files


def test_files_keep_both_parsers(guide, stacked, tmp_path):
    stacked.parser.save(tmp_path / "m")
    loaded = Parser.load(tmp_path / "m")
    for mine, theirs in zip(loaded.trees(DEV, threads=2), stacked.parser.trees(DEV), strict=True):
        assert np.array_equal(mine, theirs)
    alone = Parser.load(guide)
    assert np.array_equal(loaded.names.guide.trees(DEV)[0], alone.trees(DEV)[0])
    assert saved(loaded.names.guide, tmp_path / "g") == saved(alone, tmp_path / "a")


def test_compact_files(stacked, tmp_path):
    whole = saved(stacked.parser, tmp_path / "m")
    small = saved(stacked.parser, tmp_path / "small", quantized=True)
    assert len(small) < 0.7 * len(whole)
    loaded, rounded = Parser.load(tmp_path / "small"), stacked.parser.rounded()
    assert np.array_equal(loaded.names.guide.scorer.tree, rounded.names.guide.scorer.tree)
    assert np.array_equal(loaded.trees(DEV)[0], rounded.trees(DEV)[0])


def test_pickles(stacked, tmp_path):
    stacked.parser.save(tmp_path / "m")
    loaded = Parser.load(tmp_path / "m")
    expected = stacked.parser.trees(DEV)[0]
    for parser in (stacked.parser, loaded):
        assert np.array_equal(pickle.loads(pickle.dumps(parser)).trees(DEV)[0], expected)
        again = pickle.loads(pickle.dumps(parser.names.guide))
        assert again.names.guide is None
        assert np.array_equal(again.trees(DEV)[0], parser.names.guide.trees(DEV)[0])


def damaged(path, change):
    file = read_model(path)
    metadata, tensors = json.loads(json.dumps(dict(file.metadata))), dict(file.tensors)
    change(metadata, tensors)
    write_model(path, tensors, metadata)
    return path


DAMAGES = {
    "no guide": (lambda m, t: m.pop("guide"), "guide"),
    "features": (
        lambda m, t: m["settings"].update(features="graph-v1"),
        "guide",
    ),
    "no mapping": (lambda m, t: m.update(guide=[1]), "metadata"),
    "a guide's guide": (lambda m, t: m["guide"].update(guide=dict(m["guide"])), "guide"),
    "kind": (lambda m, t: m["guide"].update(kind="tagger"), None),
    "weights": (lambda m, t: t.pop("guide/tree"), None),
    "labels": (lambda m, t: m["guide"].update(labels=["a", "a"]), "labels"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files(stacked, name, tmp_path):
    change, field = DAMAGES[name]
    stacked.parser.save(tmp_path / "m")
    with rejects(ModelError, field=field):
        Parser.load(damaged(tmp_path / "m", change))


# What does not fit


def test_a_stacked_parser_is_no_guide(stacked, tmp_path):
    stacked.parser.save(tmp_path / "m")
    with rejects(InputError, field="stack"):
        train(TRAIN, DEV, config=plan(str(tmp_path / "m")))


def test_a_guide_must_say_how_it_was_trained(guide, tmp_path):
    for config_of_guide, field in (
        (None, "stack"),
        ({"odd": 1}, "stack"),
    ):
        path = tmp_path / "m"
        Parser.load(guide).save(path)
        damaged(path, lambda m, t, how=config_of_guide: m["about"].update(config=how))
        with rejects(InputError, field=field):
            train(TRAIN, DEV, config=plan(str(path)))


def test_features_and_guide_go_together(guide):
    with rejects(InputError, field="features"):
        train(TRAIN, config=config(features="graph-v1+guide-v1"))
    with rejects(InputError, field="features"):
        train(TRAIN, config=plan(guide, features="pruner-v1"))
    for name in ("graph-v1", "graph-v1+guide-v1"):
        trained = train(TRAIN, config=plan(guide, features=name, epochs=1))
        assert trained.parser.scorer.settings.features == "graph-v1+guide-v1"


def test_treebanks_that_cannot_be_parted(guide):
    one = TRAIN.select(np.array([0]))
    with rejects(InputError, field="stack"):
        train(one, config=plan(guide))
    text = TRAIN.to_bytes().decode().splitlines()
    first = text.index(next(line for line in text if line.startswith("1\t")))
    fields = text[first].split("\t")
    text[first] = "\t".join([*fields[:6], "_", "_", *fields[8:]])
    partial = parse_text("\n".join(text) + "\n", "conllu")
    with rejects(InputError, field="stack"):
        train(partial, config=plan(guide, learner="adagrad", order=1, trees="nonprojective"))


def test_no_such_file(tmp_path):
    with pytest.raises(ModelError):
        train(TRAIN, config=plan(str(tmp_path / "none")))


# The command line


@pytest.fixture
def treebanks(tmp_path):
    (tmp_path / "t.conllu").write_bytes(TRAIN.to_bytes())
    (tmp_path / "d.conllu").write_bytes(DEV.to_bytes())
    return [str(tmp_path / "t.conllu"), "--dev", str(tmp_path / "d.conllu")]


SMALL = ["-p", "tree_bits=12", "-p", "label_bits=12", "-p", "pruner_settings.bits=10", "--epochs", "2"]


def test_the_command_line(guide, treebanks, tmp_path):
    model = str(tmp_path / "m.arbora")
    options = [
        "--only",
        "parser",
        "--trees",
        "projective",
        "--stack",
        guide,
        "--compact",
        *SMALL,
        "-o",
        model,
    ]
    done = CliRunner().invoke(app, ["train", *treebanks, *options])
    assert done.exit_code == 0, done.output
    assert "guide: 1 of 5 folds, " in done.stderr
    assert "with the trees of a guide: LAS " in done.stdout
    shown = CliRunner().invoke(app, ["info", model]).stdout
    assert "guide on train\tLAS " in shown
    assert "features graph-v1+guide-v1" in shown
    assert "\nguide\t\n" in shown
    assert "trees nonprojective" in shown.partition("\nguide\t\n")[2]
    parsed = CliRunner().invoke(app, ["parse", treebanks[2], "-m", model, "--kbest", "2", "--probabilities"])
    assert parsed.exit_code == 0, parsed.output
    assert "# kbest = 2/2" in parsed.stdout


def test_whole_models(guide, treebanks, tmp_path):
    """The guide is a file with a tagger, too; so is what is stacked on it."""
    parts = ["-p", "folds=2", *SMALL]
    first, second = str(tmp_path / "1.arbora"), str(tmp_path / "2.arbora")
    done = CliRunner().invoke(app, ["train", *treebanks, *parts, "--order", "1", "-o", first])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["train", *treebanks, *parts, "--stack", first, "-o", second])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["info", second]).stdout
    assert "\nguide\t\n" in shown
    parsed = CliRunner().invoke(app, ["parse", treebanks[2], "-m", second, "--retag"])
    assert parsed.exit_code == 0, parsed.output


def test_faults_of_the_command_line(guide, treebanks, tmp_path):
    options = ["train", *treebanks, "--only", "parser"]
    missing = CliRunner().invoke(app, [*options, "--stack", "none.arbora", "-o", str(tmp_path / "m")])
    assert missing.exit_code == 2
    same = CliRunner().invoke(app, [*options, "--stack", guide, "-o", guide])
    assert same.exit_code == 2
    # Lines may break anywhere.
    assert "choose another name" in " ".join(same.stderr.replace("│", " ").split())
