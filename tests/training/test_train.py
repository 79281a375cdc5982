"""Training as a whole: one seed one model, resumed or not; what goes wrong says what."""

import gzip
import sys
from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank
from training_toys import Recorder

from arbora.data.columns import columns_of, parse_text
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.data.tree import Tree
from arbora.data.treebank import write
from arbora.errors import DataError, InputError, ModelError
from arbora.registry import learners
from arbora.search.pruner import PrunerSettings
from arbora.storage.model_file import read_model, write_model
from arbora.training import TrainConfig, train
from arbora.training.annotation import crossing_arcs, filled_heads, single_root_heads, training_heads
from arbora.training.recipes import Recipe
from arbora.training.resolve import TreebankShape, resolve

TRAIN, DEV = treebank(30, seed=1, nonprojective=0.2), treebank(12, seed=2, nonprojective=0.2)


def model_bytes(trained, path):
    trained.parser.save(path)
    return path.read_bytes()


def test_one_seed_gives_one_model_whatever_the_threads(tmp_path):
    for options in ({"order": 2}, {"order": 1, "labels": "joint"}, {"learner": "pegasos"}):
        whole = model_bytes(train(TRAIN, DEV, config=config(**options)), tmp_path / "1")
        assert whole == model_bytes(train(TRAIN, DEV, config=config(**options), threads=2), tmp_path / "2")
        assert whole != model_bytes(train(TRAIN, DEV, config=config(seed=1, **options)), tmp_path / "3")


def test_files_train_as_columns_do(tmp_path):
    (tmp_path / "train.conllu").write_bytes(TRAIN.to_bytes())
    (tmp_path / "dev.conllu.gz").write_bytes(gzip.compress(DEV.to_bytes()))
    from_files = train(tmp_path / "train.conllu", tmp_path / "dev.conllu.gz", config=config())
    assert model_bytes(from_files, tmp_path / "1") == model_bytes(
        train(TRAIN, DEV, config=config()), tmp_path / "2"
    )


@pytest.mark.parametrize("learner", ["au", "spv", "mec"])
def test_learners_of_several_candidates_train_parsers(learner):
    trained = train(TRAIN, DEV, config=config(order=1, labels="joint", trees="projective", learner=learner))
    assert trained.scores["uas"] > 75
    with rejects(InputError, field="learner"):
        train(TRAIN, DEV, config=config(order=2, learner=learner))


def test_what_is_said_of_a_prior_decides_how_strong_it_is():
    def gamma(learner, **parameters):
        return TrainConfig(order=1, learner=learner, parameters=parameters).make_learner().settings()["gamma"]

    assert gamma("spv") > 100 * gamma("spv", prior="laplace") > 0
    assert gamma("mec") > 100 * gamma("mec", prior="laplace") > 0
    assert gamma("mec", prior="laplace", gamma=3.0) == 3.0


STAGES = {
    "second order": ({"order": 2}, [("labels", 5), ("pruner", 3), ("tree", 3)]),
    "joint": ({"order": 1, "labels": "joint", "pruner": False}, [("tree", 3)]),
    "one-slack": (
        {"order": 1, "learner": "one_slack", "parameters": {"C": 1.0}},
        [("labels", 5), ("pruner", 3), ("tree", 3)],
    ),
    "no labels": ({"labels": "none", "pruner": False, "trees": "projective"}, [("tree", 3)]),
}


@pytest.mark.parametrize("name", STAGES)
def test_resuming_after_any_epoch_gives_the_same_bytes(name, tmp_path):
    options, stages = STAGES[name]
    plan = config(**options)
    watcher = Recorder()
    whole = train(TRAIN, DEV, config=plan, observer=watcher)
    expected = model_bytes(whole, tmp_path / "whole")
    assert [(stage, epochs) for stage, _, epochs, _ in watcher.stages] == stages
    assert len(watcher.reports) == sum(epochs for _, epochs in stages) == len(whole.reports)
    for stage, epochs in stages:
        for epoch in range(1, epochs + 1):
            if (stage, epoch) == stages[-1]:
                continue
            path = tmp_path / f"{stage}-{epoch}.checkpoint"
            try:
                stopped = train(TRAIN, DEV, config=plan, observer=Recorder((stage, epoch)), checkpoint=path)
                assert stopped.interrupted
                assert stage == "tree"
            except KeyboardInterrupt:
                # Before the first epoch of the trees has ended there is no parser.
                assert stage != "tree"
            assert path.exists()
            going_on = Recorder()
            resumed = train(
                TRAIN, DEV, config=plan, threads=2, observer=going_on, checkpoint=path, resume=True
            )
            assert not resumed.interrupted
            assert model_bytes(resumed, tmp_path / "resumed") == expected
            assert going_on.stages[0][::3] == (stage, epoch)
            assert resumed.reports == whole.reports
            assert resumed.scores == whole.scores


def test_resuming_a_training_that_was_done_changes_nothing(tmp_path):
    for plan in (
        config(),
        config(epochs=30, patience=1),
        config(learner="one_slack", parameters={"C": 0.01}),
    ):
        path = tmp_path / "checkpoint"
        done = train(TRAIN, DEV, config=plan, checkpoint=path)
        again = Recorder()
        resumed = train(TRAIN, DEV, config=plan, checkpoint=path, resume=True, observer=again)
        assert again.reports == []
        assert model_bytes(resumed, tmp_path / "2") == model_bytes(done, tmp_path / "1")


def test_without_a_checkpoint_resuming_begins_anew(tmp_path):
    path = tmp_path / "checkpoint"
    begun = train(TRAIN, config=config(), checkpoint=path, resume=True)
    assert model_bytes(begun, tmp_path / "1") == model_bytes(train(TRAIN, config=config()), tmp_path / "2")


def test_ctrl_c_keeps_the_best_so_far():
    watcher = Recorder(("tree", 2))
    stopped = train(TRAIN, DEV, config=config(epochs=50), observer=watcher)
    assert stopped.interrupted
    trees = [report for report in watcher.reports if report.stage == "tree"]
    assert len(trees) == 2
    best = max(report.scores["las"] for report in trees)
    assert stopped.scores["las"] == best
    assert stopped.reports[-1]["epoch"] == 2
    for stage, epoch in (("labels", 1), ("labels", 5), ("pruner", 3)):
        with pytest.raises(KeyboardInterrupt):
            train(TRAIN, DEV, config=config(), observer=Recorder((stage, epoch)))


def test_the_best_epoch_is_kept_and_patience_ends_training():
    for patience in (1, 2):
        watcher = Recorder()
        trained = train(
            TRAIN, DEV, config=config(epochs=40, patience=patience, learner="perceptron"), observer=watcher
        )
        trees = [report for report in watcher.reports if report.stage == "tree"]
        scores = [report.scores["las"] for report in trees]
        best = int(np.argmax(scores)) + 1
        assert len(scores) == best + patience < 40
        assert trained.scores["las"] == max(scores)
        assert [report.best for report in trees] == [
            score > max(scores[:i], default=-1) for i, score in enumerate(scores)
        ]
    watcher = Recorder()
    train(TRAIN, DEV, config=config(epochs=12, patience=0, learner="perceptron"), observer=watcher)
    assert sum(report.stage == "tree" for report in watcher.reports) == 12


def test_without_dev_the_last_epoch_is_kept():
    watcher = Recorder()
    trained = train(TRAIN, config=config(epochs=6, patience=1), observer=watcher)
    trees = [report for report in trained.reports if report["stage"] == "tree"]
    assert [report["epoch"] for report in trees] == list(range(1, 7))
    assert all(report["best"] and report["dev"] == {} for report in trees)
    assert trained.scores == {}


def test_losses_fall_and_dev_is_learned():
    whole, dev = treebank(90, seed=4), treebank(40, seed=6)
    for options in ({"order": 1}, {"order": 2}, {"order": 2, "grandparents": False}, {"labels": "joint"}):
        trained = train(whole, dev, config=config(epochs=5, tree_bits=18, label_bits=18, **options))
        losses = [report["loss"] for report in trained.reports if report["stage"] == "tree"]
        assert losses[-1] < 0.5 * losses[0]
        # The grammar of the treebank does not decide every attachment.
        assert trained.scores["uas"] > 85
        assert trained.scores["uas"] >= trained.scores["las"] > 80
        assert trained.parser.about["dev"] == trained.scores


def test_what_is_auto_is_decided_by_the_treebank():
    flat = treebank(20, seed=3)
    resolved = train(flat, config=config()).parser
    assert (resolved.search.trees, resolved.search.roots) == ("projective", "single")
    assert resolved.search.pruner is not None
    crossing = train(treebank(20, seed=3, nonprojective=0.9), config=config(order=1)).parser
    assert crossing.search.trees == "nonprojective"
    assert crossing.search.pruner is not None
    both = parse_text("1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n2\tb\tb\tX\t_\t_\t0\troot\t_\t_\n\n", "conllu")
    assert train(both, config=config()).parser.search.roots == "multi"
    about = resolved.about["config"]
    assert about["trees"] == "projective"
    assert about["pruner"] is True
    assert about["parameters"]["epochs"] == 3


def test_the_smallest_treebanks():
    one = parse_text("1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n\n", "conllu")
    for options in (
        {"order": 1},
        {"order": 2},
        {"labels": "joint"},
        {"labels": "none"},
        {"trees": "nonprojective"},
    ):
        trained = train(one, one, config=config(**options))
        assert trained.scores["uas"] == 100
        (sentence,) = trained.parser.parse([["No"]])
        assert sentence.heads == (0,)


# What goes wrong


def text_of(columns):
    return columns.to_bytes().decode()


def without(columns, column):
    """A treebank with `_` in a column."""
    lines = [line.split("\t") for line in text_of(columns).split("\n")]
    for fields in lines:
        if len(fields) == 10:
            fields[column] = "_"
    return parse_text("\n".join("\t".join(fields) for fields in lines), "conllu")


def test_an_empty_treebank_is_rejected(tmp_path):
    (tmp_path / "empty.conllu").write_text("")
    with rejects(DataError, source=str(tmp_path / "empty.conllu")):
        train(tmp_path / "empty.conllu", config=config())
    with rejects(DataError, source=str(tmp_path / "empty.conllu")):
        train(TRAIN, tmp_path / "empty.conllu", config=config())


def test_words_without_heads_are_rejected(tmp_path, small_treebank):
    with rejects(DataError, line=62, field="HEAD"):
        train(small_treebank, config=config())
    with rejects(DataError, line=62, field="HEAD"):
        train(TRAIN, small_treebank, config=config())


def test_words_without_labels_are_rejected(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(text_of(TRAIN).replace("\tdet\t", "\t_\t", 1))
    line = (
        path.read_text().split("\n").index(next(x for x in path.read_text().split("\n") if "\t_\t_\t_" in x))
        + 1
    )
    for labels in ("staged", "joint"):
        with rejects(DataError, source=str(path), line=line, field="DEPREL"):
            train(path, config=config(labels=labels))
    assert train(path, config=config(labels="none")).parser.scorer.label_weights is None


def test_a_label_that_only_dev_has_is_noted(tmp_path):
    path = tmp_path / "dev.conllu"
    path.write_text(text_of(DEV).replace("\tdet\t", "\tarticle\t"))
    watcher = Recorder()
    trained = train(TRAIN, path, config=config(), observer=watcher)
    assert [note for note in watcher.notes if "article" in note and str(path) in note]
    assert trained.scores["las"] < train(TRAIN, DEV, config=config()).scores["las"]
    watcher = Recorder()
    train(TRAIN, DEV, config=config(), observer=watcher)
    assert not [note for note in watcher.notes if "labels" in note]


@pytest.mark.parametrize(("column", "name"), [(2, "LEMMA"), (3, "UPOS")])
def test_dev_with_other_columns(column, name):
    with rejects(DataError, field=name):
        train(TRAIN, without(DEV, column), config=config())
    # What only dev has is ignored, and so is what only the sentences to parse have.
    watcher = Recorder()
    trained = train(without(TRAIN, column), DEV, config=config(), observer=watcher)
    assert any(
        f"{name} is ignored: {DEV.words} of {DEV.words} words of dev" in note for note in watcher.notes
    )
    assert trained.scores == train(without(TRAIN, column), without(DEV, column), config=config()).scores
    for one, other in zip(trained.parser.trees(DEV), trained.parser.trees(without(DEV, column)), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"learner": "perceptrn"}, "learner"),
        ({"parameters": {"epoch": 3}}, "parameter of passive_aggressive"),
        ({"parameters": {"C": -1.0}}, "C"),
        ({"features": "graph-v0"}, "feature set"),
        ({"order": 3}, "order"),
        ({"tree_bits": 40}, "tree_bits"),
        ({"trees": "flat"}, "trees"),
        ({"weights": "best"}, "weights"),
        ({"patience": -1}, "patience"),
        ({"seed": -3}, "seed"),
        ({"learner": "mira", "parameters": {"k": 3}}, "learner"),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        train(TRAIN, config=config(**options))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"keep": 0}, "keep"),
        ({"bits": 5}, "bits"),
        ({"within": float("nan")}, "within"),
        ({"rule": "other"}, "rule"),
        ({"alpha": 1.5}, "alpha"),
        ({"log_odds": -1.0}, "log_odds"),
        ({"among": 0}, "among"),
    ],
)
def test_bad_pruner_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        PrunerSettings(**options)


@pytest.mark.parametrize("rule", ["max-marginal", "tree-odds"])
@pytest.mark.parametrize("roots", ["single", "multi"])
def test_pruners_that_look_at_whole_trees(rule, roots, tmp_path):
    pruner = PrunerSettings(rule=rule, bits=12, among=10)
    plan = config(trees="projective", roots=roots, pruner_settings=pruner)
    observer = Recorder()
    trained = train(TRAIN, DEV, config=plan, observer=observer)
    assert trained.parser.search.pruner.settings == pruner
    assert trained.parser.search.pruner.scorer.settings.roots == roots
    (note,) = [note for note in observer.notes if note.startswith("pruner: keeps")]
    assert float(note.split()[-1]) > 95
    again = train(TRAIN, DEV, config=plan, threads=2)
    assert model_bytes(trained, tmp_path / "1") == model_bytes(again, tmp_path / "2")


@pytest.mark.parametrize("rule", ["max-marginal", "tree-odds"])
def test_pruners_of_projective_trees_where_trees_may_cross(rule):
    plan = config(trees="nonprojective", pruner_settings=PrunerSettings(rule=rule, bits=10))
    with rejects(InputError, field="rule"):
        train(TRAIN, config=plan)
    train(TRAIN, config=replace(plan, pruner=False))


def test_a_checkpoint_of_another_training_is_rejected(tmp_path):
    path = tmp_path / "checkpoint"
    train(TRAIN, DEV, config=config(), checkpoint=path)
    before = path.read_bytes()
    for columns, dev, plan in (
        (TRAIN, DEV, config(seed=1)),
        (TRAIN, DEV, config(epochs=4)),
        (DEV, DEV, config()),
        (TRAIN, TRAIN, config()),
        (TRAIN, None, config()),
    ):
        with rejects(ModelError, source=str(path)):
            train(columns, dev, config=plan, checkpoint=path, resume=True)
    assert path.read_bytes() == before
    trained = train(TRAIN, DEV, config=config())
    trained.parser.save(path)
    with rejects(ModelError, source=str(path)):
        train(TRAIN, DEV, config=config(), checkpoint=path, resume=True)


def test_a_damaged_checkpoint_is_rejected(tmp_path):
    path = tmp_path / "checkpoint"
    train(TRAIN, config=config(order=1), checkpoint=path)
    whole = path.read_bytes()
    for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with rejects(ModelError, source=str(path)):
            train(TRAIN, config=config(order=1), checkpoint=path, resume=True)


def test_a_checkpoint_that_cannot_be_written(tmp_path):
    watcher = Recorder()
    train(TRAIN, config=config(), checkpoint=tmp_path / "nowhere" / "checkpoint", observer=watcher)
    assert any("no checkpoint after epoch 1" in note for note in watcher.notes)


def test_training_has_defaults():
    assert TrainConfig().learner_name in learners
    few = "".join(sentence.to_conllu() for sentence in generate(3, seed=1, longest=8))
    assert train(parse_text(few, "conllu")).parser.scorer.settings.tree_bits == 22


# Probabilities, and what is known in part


def with_unknown(columns, share, seed=0):
    """A treebank in which this share of words has neither head nor label."""
    rng = np.random.default_rng(seed)
    lines = [line.split("\t") for line in text_of(columns).split("\n")]
    for fields in lines:
        if len(fields) == 10 and rng.random() < share:
            fields[6] = fields[7] = "_"
    return parse_text("\n".join("\t".join(fields) for fields in lines), "conllu")


PROBABILITIES = [
    ("log_linear", {"parameters": {"iterations": 5}}),
    ("adagrad", {"parameters": {"k": 2}}),
    ("exponentiated_gradient", {"parameters": {"objective": "log_linear"}}),
]


@pytest.mark.parametrize(("learner", "options"), PROBABILITIES)
def test_probabilities_give_one_model_resumed_or_not_whatever_the_threads(learner, options, tmp_path):
    plan = config(learner=learner, order=1, **options)
    whole = model_bytes(train(TRAIN, DEV, config=plan), tmp_path / "1")
    assert whole == model_bytes(train(TRAIN, DEV, config=plan, threads=2), tmp_path / "2")
    for stage, epoch in (("labels", 2), ("pruner", 1), ("tree", 1)):
        path = tmp_path / f"{stage}.checkpoint"
        try:
            train(TRAIN, DEV, config=plan, observer=Recorder((stage, epoch)), checkpoint=path)
        except KeyboardInterrupt:
            assert stage != "tree"
        resumed = train(TRAIN, DEV, config=plan, checkpoint=path, resume=True)
        assert model_bytes(resumed, tmp_path / "3") == whole


@pytest.mark.parametrize(
    "options",
    [
        {"order": 1, "trees": "projective", "roots": "single"},
        {"order": 1, "trees": "projective", "roots": "multi"},
        {"order": 1, "trees": "nonprojective", "roots": "single"},
        {"order": 1, "trees": "nonprojective", "roots": "multi"},
        {"order": 2, "trees": "projective"},
        {"order": 2, "trees": "projective", "grandparents": False, "labels": "none"},
        {"order": 1, "trees": "nonprojective", "labels": "joint"},
        {"order": 2, "trees": "projective", "labels": "joint", "pruner": False},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_every_family_is_learned_by_probabilities_and_in_part(options, share):
    given = with_unknown(TRAIN, share)
    first = config(epochs=1, learner="adagrad", parameters={"rate": 0.01}, **options)
    begun = train(given, DEV, config=first).scores["uas"]
    trained = train(given, DEV, config=config(epochs=6, learner="adagrad", **options))
    assert trained.scores["uas"] > max(begun, 50)
    losses = [report["loss"] for report in trained.reports if report["stage"] == "tree"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("learner", ["log_linear", "adagrad"])
def test_half_the_heads_still_teach(learner):
    whole, dev = treebank(90, seed=4), treebank(40, seed=6)
    extra = {"iterations": 3} if learner == "log_linear" else {}
    plan = config(epochs=4, learner=learner, order=1, tree_bits=16, label_bits=16, parameters=extra)
    everything = train(whole, dev, config=plan).scores
    half = train(with_unknown(whole, 0.5), dev, config=plan).scores
    nothing = train(with_unknown(whole, 0.98), dev, config=plan).scores
    assert everything["uas"] > 85
    assert nothing["uas"] < half["uas"] <= everything["uas"] + 1
    assert half["uas"] > everything["uas"] - 8
    assert half["las"] > everything["las"] - 12


def test_part_of_a_tree_may_be_all_of_it(tmp_path):
    plan = config(learner="adagrad", order=1)
    whole = model_bytes(train(TRAIN, DEV, config=plan), tmp_path / "1")
    assert whole == model_bytes(train(with_unknown(TRAIN, 0.0), DEV, config=plan), tmp_path / "2")


def test_labels_of_probabilities_are_probabilities():
    watcher = Recorder()
    train(TRAIN, config=config(learner="adagrad", order=1), observer=watcher)
    losses = [report.epoch.loss for report in watcher.reports if report.stage == "labels"]
    assert all(loss != int(loss) for loss in losses)  # -log P, not a number of mistakes
    assert losses[-1] < losses[0]


CROSSING = """\
1\ta\t_\tX\t_\t_\t4\tx\t_\t_
2\tb\t_\tX\t_\t_\t5\tx\t_\t_
3\tc\t_\tX\t_\t_\t5\tx\t_\t_
4\td\t_\tX\t_\t_\t5\tx\t_\t_
5\te\t_\tX\t_\t_\t0\troot\t_\t_

"""


def test_crossing_arcs_are_changed_as_asked():
    crossing = parse_text(CROSSING, "conllu")
    assert training_heads(crossing, "nonprojective", "single", "flatten").tolist() == [4, 5, 5, 5, 0]
    for how in ("flatten", "minimum-loss"):
        assert training_heads(crossing, "projective", "single", how).tolist() == [5, 5, 5, 5, 0]
        trained = train(crossing, config=config(trees="projective", order=1, projectivize=how))
        assert trained.parser.search.trees == "projective"


def test_unknown_heads_stay_unknown_and_can_be_filled():
    known = parse_text(CROSSING.replace("\t5\tx", "\t_\t_", 1), "conllu")
    heads = training_heads(known, "projective", "single", "flatten")
    assert heads.tolist() == [4, -1, 5, 5, 0]
    assert filled_heads(known, heads, "nonprojective", "single").tolist() == [4, 1, 5, 5, 0]
    filled = filled_heads(known, heads, "projective", "single")
    assert (filled >= 0).all()
    assert Tree.from_heads(filled.tolist()).is_projective()
    assert np.sum(filled[[0, 2, 3, 4]] != heads[[0, 2, 3, 4]]) == 1


def test_non_projective_models_may_parse_projectively():
    flat, dev = treebank(60, seed=3), treebank(20, seed=9)
    plan = config(trees="nonprojective", order=1, learner="adagrad", epochs=2)
    same = train(flat, dev, config=plan)
    assert same.parser.search.trees == "nonprojective"
    forced = train(flat, dev, config=replace(plan, decode="projective"))
    assert forced.parser.search.trees == "projective"
    assert forced.parser.scorer.tree.tobytes() == same.parser.scorer.tree.tobytes()
    watcher = Recorder()
    chosen = train(flat, dev, config=replace(plan, decode="auto"), observer=watcher)
    assert chosen.scores["las"] == max(same.scores["las"], forced.scores["las"])
    assert any("over projective ones" in note for note in watcher.notes)


def test_probabilities_without_an_algorithm_are_rejected(small_treebank):
    with rejects(InputError, field="learner"):
        train(TRAIN, config=config(learner="adagrad", order=2, trees="nonprojective"))
    with rejects(InputError, field="learner"):
        train(TRAIN, config=config(learner="exponentiated_gradient", order=2, trees="projective"))
    with rejects(InputError, field="learner"):
        train(TRAIN, config=config(learner="exponentiated_gradient", order=1, labels="joint"))
    with rejects(InputError, field="decode"):
        config(order=2, decode="auto")
    with rejects(DataError, line=4, source="<text>", field="HEAD"):
        train(with_unknown(TRAIN, 0.5), config=config(learner="exponentiated_gradient", order=1))
    with rejects(DataError, line=4, source="<text>", field="HEAD"):
        train(TRAIN, with_unknown(DEV, 0.5), config=config(learner="adagrad", order=1))
    with rejects(DataError, source="<text>"):
        train(with_unknown(TRAIN, 1.1), config=config(learner="adagrad", order=1))


# What a treebank and a configuration may be


def test_a_treebank_may_be_given_in_several_ways(tmp_path):
    whole = list(TRAIN.sentences())
    paths = [tmp_path / "a.conllu", tmp_path / "b.conllu"]
    write(whole[:10], paths[0])
    write(whole[10:], paths[1])
    expected = model_bytes(train(TRAIN, DEV, config=config()), tmp_path / "1")
    mixed = [str(paths[0]), *whole[10:]], [paths[0], whole[10:]]
    for given in (whole, iter(whole), paths, *mixed, [TRAIN], (TRAIN,)):
        found = model_bytes(train(given, list(DEV.sentences()), config=config()), tmp_path / "2")
        assert found == expected
    for given in (None, 3, [3]):
        with rejects(InputError, field="treebank"):
            train(given, config=config())
    for given in ("nowhere.conllu", ["nowhere.conllu", paths[0]]):
        with rejects(DataError, source="nowhere.conllu"):
            train(given, config=config())
    with rejects(DataError, source=str(tmp_path)):
        train(tmp_path, config=config())


def test_a_configuration_may_be_a_file(tmp_path):
    path = tmp_path / "first.toml"
    path.write_text("order = 1\ntree_bits = 12\nlabel_bits = 12\nparameters = {epochs = 1}\n")
    for given in (path, str(path)):
        assert train(TRAIN, config=given).parser.search.order == 1
    with pytest.raises(InputError, match=r"nowhere.toml: No such file"):
        train(TRAIN, config=tmp_path / "nowhere.toml")
    with rejects(InputError, field="config"):
        train(TRAIN, config=3)
    with rejects(InputError, field="setting"):
        train(TRAIN, config={"epochs": 1})


def test_threads_are_counted_from_one():
    for threads in (0, -1, 1.5, True):
        with rejects(InputError, field="threads"):
            train(TRAIN, config=config(), threads=threads)


def test_what_auto_means_is_said():
    watcher = Recorder()
    train(treebank(20, seed=3), config=config(parser="graph"), observer=watcher)
    assert watcher.notes[:2] == [
        "trees: 0 of 20 have crossing arcs (0% of arcs): projective",
        "roots: 0 of 20 trees have several: single",
    ]
    watcher = Recorder()
    train(TRAIN, config=config(parser="graph", trees="projective", roots="single"), observer=watcher)
    assert watcher.notes == []


def test_a_few_trees_with_several_roots_do_not_change_the_rule(tmp_path):
    several = parse_text(
        "".join(f"{i}\tw{i}\t_\tX\t_\t_\t{h}\tx\t_\t_\n" for i, h in enumerate((2, 0, 0, 3, 0), 1)) + "\n",
        "conllu",
    )
    assert single_root_heads(several).tolist() == [2, 0, 2, 3, 2]
    assert single_root_heads(TRAIN).tolist() == TRAIN.heads.tolist()
    one = list(several.sentences())
    most = list(treebank(220, seed=3).sentences())
    for given, roots in ((most + one, "single"), (most + 2 * one, "multi")):
        resolved = resolve(config(), columns_of(given))
        assert resolved.roots == roots
    for trees in ("projective", "nonprojective"):
        for options in ({}, {"learner": "mira"}):
            plan = config(trees=trees, roots="single", **options)
            trained = train([*one, *TRAIN.sentences()], config=plan)
            assert [sentence.heads.count(0) for sentence in trained.parser.parse(one)] == [1]


def test_crossing_arcs_are_seen_where_only_some_heads_are_known():
    whole = columns_of(generate(200, seed=4, nonprojective=0.5))
    assert TreebankShape(whole).crossing_share > Recipe.crossing_share(TrainConfig())
    kept = np.random.default_rng(0).random(whole.words) < 0.7
    heads = iter(np.where(kept, whole.heads, -1).tolist())
    half = columns_of(replace(s, heads=tuple(next(heads) for _ in s.heads)) for s in whole.sentences())
    shape = TreebankShape(half)
    assert shape.crossing_share > Recipe.crossing_share(TrainConfig())
    assert 0 < shape.crossing_trees < TreebankShape(whole).crossing_trees
    for heads, arcs in (([0, None, None, 2], 0), ([3, 4, None, None], 1), ([None, 0, 1, None], 1)):
        made = columns_of([Sentence.from_lists(["w"] * 4, heads=heads)])
        assert np.count_nonzero(crossing_arcs(made)) == arcs


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"encoding": "path"}, "encoding"),
        ({"trees": "nonprojective", "projectivize": "minimum-loss"}, "projectivize"),
        ({"order": 1, "grandparents": False}, "grandparents"),
    ],
)
def test_settings_without_effect_are_rejected(options, field):
    with rejects(InputError, field=field):
        TrainConfig(**options)


def test_settings_that_the_treebank_makes_needless_are_none():
    """Trees that may cross need not be changed; that was not known when the settings were given."""
    crossing = treebank(30, seed=3, nonprojective=1.0)
    trained = train(crossing, config=config(order=1, projectivize="minimum-loss", epochs=1))
    stored = trained.parser.about["config"]
    assert (stored["trees"], stored["projectivize"]) == ("nonprojective", "flatten")


def test_ctrl_c_while_probabilities_are_fitted_keeps_the_model(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["arbora.training.parser"], "fit_temperatures", stopped)
    trained = train(TRAIN, DEV, config=config())
    assert trained.interrupted
    assert trained.scores["las"] > 50
    assert not trained.parser.is_calibrated


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, metadata: tensors.pop("best"),
        lambda tensors, metadata: tensors.update(best=tensors["best"][:-1]),
        lambda tensors, metadata: tensors.update(best=tensors["best"][None]),
        lambda tensors, metadata: tensors.pop(next(name for name in tensors if name.startswith("state."))),
        lambda tensors, metadata: metadata.update(best=[]),
        lambda tensors, metadata: metadata.update(stage=7),
        lambda tensors, metadata: metadata.update(finished=["labels"]),
        lambda tensors, metadata: metadata["best"].update(epoch="x"),
        lambda tensors, metadata: metadata["best"].update(score="x"),
        lambda tensors, metadata: metadata["best"].update(reports=[{}]),
        lambda tensors, metadata: metadata["best"].update(reports=[[]]),
        lambda tensors, metadata: metadata.update(flags=7),
    ],
)
def test_a_checkpoint_that_lacks_something_is_rejected(change, tmp_path):
    path = tmp_path / "checkpoint"
    train(TRAIN, config=config(order=1), checkpoint=path)
    file = read_model(path)
    tensors, metadata = dict(file.tensors), dict(file.metadata)
    change(tensors, metadata)
    write_model(path, tensors, metadata)
    with pytest.raises((ModelError, InputError)):
        train(TRAIN, config=config(order=1), checkpoint=path, resume=True)
