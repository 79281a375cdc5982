"""`arbora.tune` and `arbora tune`."""

from dataclasses import replace

import pytest
from errors import rejects

from arbora.data.columns import columns_of, parse_text
from arbora.data.synthetic import generate
from arbora.errors import DataError, InputError
from arbora.progress import Silent
from arbora.settings import to_dict, to_toml
from arbora.training import TrainConfig, train
from arbora.training.pipeline import prepare
from arbora.training.tune import combinations, fold_pairs, tune

SMALL = TrainConfig(order=1, tree_bits=12, label_bits=12, parameters={"epochs": 2})
BASE = replace(SMALL, labels="none", only="parser")


@pytest.fixture(scope="module")
def columns():
    return columns_of(generate(60, seed=1), "synthetic")


def test_every_combination_is_tried_and_the_best_is_first(columns):
    dev = columns_of(generate(30, seed=2))
    tuned = tune(columns, dev, grid={"C": [1e-9, 0.1], "order": [1, 2]}, config=BASE)
    assert len(tuned.trials) == 4
    scores = [trial.decides for trial in tuned.trials]
    assert scores == sorted(scores, reverse=True)
    assert tuned.trials[0].values["C"] == "0.1"
    assert tuned.best == tuned.trials[0].config
    assert tuned.best.parameters == {"epochs": 2, "C": 0.1}
    assert not tuned.interrupted
    assert tuned.trials[0].spread == {}
    assert to_dict(tuned.trials[0])["config"]["parameters"]["C"] == 0.1


def test_ties_stay_in_the_order_of_the_grid(columns):
    tuned = tune(columns, columns, grid={"patience": [3, 1, 2]}, config=BASE)
    assert [trial.values["patience"] for trial in tuned.trials] == ["3", "1", "2"]


def test_folds_are_disjoint_whole_and_the_same_each_time(columns):
    pairs = list(fold_pairs(columns, 4, seed=3))
    held = [sentence.forms for _, part in pairs for sentence in part.sentences()]
    assert sorted(held) == sorted(sentence.forms for sentence in columns.sentences())
    assert all(len(rest) + len(part) == 60 for rest, part in pairs)
    assert {len(part) for _, part in pairs} == {15}
    again = list(fold_pairs(columns, 4, seed=3))
    assert [part.to_bytes() for _, part in again] == [part.to_bytes() for _, part in pairs]
    other = list(fold_pairs(columns, 4, seed=4))
    assert [part.to_bytes() for _, part in other] != [part.to_bytes() for _, part in pairs]


def test_cross_validation_says_how_many_epochs(columns):
    tuned = tune(columns, grid={"C": [0.1]}, config=BASE, folds=3)
    (trial,) = tuned.trials
    assert len(trial.epochs) == 3
    assert trial.spread["uas"] > 0
    assert tuned.best.parameters["epochs"] == sorted(trial.epochs)[1]


def test_a_grid_that_does_not_fit_is_told_before_anything_is_trained(columns):
    for grid, field in (
        ({}, "grid"),
        ({"C": []}, "C"),
        ({"C": "0.1"}, "C"),
        ({"D": [1]}, "setting"),
        ({"C": [1, -1]}, "C"),
        ({"learner": ["mira", "mirra"]}, "learner"),
    ):
        with rejects(InputError, field=field):
            list(combinations(grid, BASE))
    with rejects(InputError, field="folds"):
        tune(columns, grid={"C": [1]}, config=BASE, folds=61)
    with rejects(DataError, source="<sentences>"):
        tune(columns_of([]), grid={"C": [1]}, config=BASE)


def test_learners_can_be_compared():
    chosen = [config for _, config in combinations({"learner": ["mira", "pegasos"], "epochs": [3]}, BASE)]
    assert [(config.learner, config.parameters) for config in chosen] == [
        ("mira", {"epochs": 3}),
        ("pegasos", {"epochs": 3}),
    ]


def test_a_learner_keeps_the_parameters_that_it_has(columns):
    base = TrainConfig(**{**vars(BASE), "parameters": {"epochs": 1, "C": 0.5}})
    chosen = [config for _, config in combinations({"learner": ["mira", "pegasos"]}, base)]
    assert [config.parameters for config in chosen] == [{"epochs": 1, "C": 0.5}, {"epochs": 1}]
    notes = []

    class Noting(Silent):
        def note(self, text):
            notes.append(text)

    tuned = tune(columns, columns, grid={"learner": ["mira", "pegasos"]}, config=base, observer=Noting())
    assert [trial.epochs for trial in tuned.trials] == [[1], [1]]
    assert "pegasos has no parameter C: the values for passive_aggressive are ignored" in notes


def with_gaps(columns):
    """The treebank, every third word of which has neither head nor label."""
    lines = [line.split("\t") for line in columns.to_bytes().decode().split("\n")]
    for number, fields in enumerate(lines):
        if len(fields) == 10 and number % 3 == 0:
            fields[6] = fields[7] = "_"
    return parse_text("\n".join("\t".join(fields) for fields in lines), "conllu")


def test_treebanks_that_are_known_in_part(columns):
    dev = columns_of(generate(20, seed=2))
    probable = replace(BASE, learner="adagrad")
    (trial,) = tune([with_gaps(columns), with_gaps(dev)], dev, grid={"C": [0.1]}, config=probable).trials
    assert trial.scores["uas"] > 50
    with rejects(DataError, source="<text>"):
        tune(with_gaps(columns), grid={"C": [0.1]}, config=probable)
    with rejects(DataError, line=4, source="<text>", field="HEAD"):
        tune(with_gaps(columns), dev, grid={"learner": ["adagrad", "mira"]}, config=probable)


@pytest.mark.parametrize("given", [{}, {"tags": "gold"}, {"only": "parser"}])
def test_trials_measure_what_training_with_their_settings_gives(columns, given, tmp_path):
    dev = columns_of(generate(20, seed=2))
    tuned = tune(columns, dev, grid={"C": [0.1], "folds": [2, 3]}, config=replace(SMALL, **given))
    (tmp_path / "best.toml").write_text(to_toml(tuned.best))
    assert train(columns, dev, config=tmp_path / "best.toml").scores == tuned.trials[0].scores


def test_taggers_are_trained_once_for_all_trials_that_share_them(columns, monkeypatch):
    trained = []

    def counted(*arguments):
        trained.append(arguments[2].seed)
        return prepare(*arguments)

    monkeypatch.setattr("arbora.training.tune.prepare", counted)
    tune(columns, grid={"seed": [0, 1], "C": [0.01, 0.1]}, config=SMALL, folds=2)
    assert trained == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("grid", "config", "field"),
    [
        ({"only": ["all", "parser"]}, TrainConfig(), "only"),
        ({"segmenter.epochs": [1, 2]}, TrainConfig(), "segmenter.epochs"),
        ({"tags": ["gold", "jackknife"]}, TrainConfig(), "tags"),
        ({"tagger.upos.bits": [10, 12]}, TrainConfig(tags="gold"), "tagger.upos.bits"),
    ],
)
def test_settings_that_cannot_be_compared_are_rejected(grid, config, field):
    with rejects(InputError, field=field):
        combinations(grid, config)
