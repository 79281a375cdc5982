"""The study of logistic learners, small: what is written, what is sampled, what is computed anew."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from arbora.cli.main import app
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.reproduce import Options, logistic, studies
from arbora.reproduce.actions import OTHER, ActionSamples, ActionTask, with_common_relations
from arbora.reproduce.languages import Material
from arbora.reproduce.logistic_report import LogisticReport, Result
from arbora.reproduce.study import Unwatched
from arbora.reproduce.trials import Estimate, Outcome
from arbora.reproduce.whole_trees import TreeTask


class Notes(Unwatched):
    def __init__(self, stop_at=None):
        self.begun, self.stop_at = [], stop_at

    def cell_begins(self, name, examples):
        self.begun.append(name)
        if len(self.begun) == self.stop_at:
            raise KeyboardInterrupt


def run(folder, notes=None, **more):
    notes = notes or Notes()
    report = studies.create("logistic").run(Options(output=folder, quick=True, **more), notes)
    return report, notes


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logistic")
    return folder, *run(folder)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    rules, folder = logistic.QUICK_RULES, tmp_path_factory.mktemp("material")
    return Material("invented", logistic.LANGUAGES["invented"], Options(output=folder), rules.sentences)


def test_all_rows_of_the_three_tables_are_there(finished):
    folder, report, notes = finished
    assert [len(table.rows) for table in report.tables] == [9, 8, 8]
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(table.to_markdown() in page for table in report.tables)
    assert "say nothing" in page
    assert "logistic rows lie within" in page
    # Two values for each of 8 rows of three tables, and two samples of all rows.
    assert len(notes.begun) == len(set(notes.begun)) == 3 * 8 * 2 + 2 * (9 + 8 + 8)


def test_learners_learn(finished):
    folder, _, _ = finished
    tables = json.loads((folder / "results.json").read_bytes())["results"]
    errors, costs, accuracies = ({key: row["mean"] for key, row in each["rows"].items()} for each in tables)
    assert max(errors.values()) < 20
    assert max(costs.values()) < 0.2
    assert min(accuracies.values()) > 40
    assert all(len(row["scores"]) == 2 for each in tables for row in each["rows"].values())


def test_an_interrupted_study_goes_on(tmp_path):
    some = {"learners": ("opa", "mec-gauss")}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Notes(stop_at=6), **some)
    rest, more = run(tmp_path, **some)
    assert len(more.begun) == 3 * (2 * 2 + 2 * 2) - 5
    again, none = run(tmp_path, **some)
    assert none.begun == []
    assert again.tables == rest.tables
    with pytest.raises(InputError, match="did you mean 'mec-gauss'"):
        run(tmp_path, learners=("mec-gaus",))


def test_test_instances_are_neither_learned_from_nor_chosen_on(material):
    rules = logistic.QUICK_RULES.actions
    drawn = []

    class Drawn(ActionSamples):
        def _rows(self, train, test):
            drawn.append((set(train.tolist()), set(test.tolist())))

    samples = Drawn(material, rules)
    assert len(samples.folds) == rules.folds
    chosen_on = drawn[0][0] | drawn[0][1]
    assert len(chosen_on) == rules.choosing
    assert all(not train & test for train, test in drawn)
    for number in range(3):
        samples.sample(number)
        train, test = drawn[-1]
        assert (len(train), len(test)) == (rules.train, rules.test)
        assert not train & test
        assert not chosen_on & test
        assert chosen_on <= train
    assert drawn[-1][1] != drawn[-2][1]


def test_rows_have_length_one_and_costs_know_kinds_of_actions(material):
    samples = ActionSamples(material, logistic.QUICK_RULES.actions)
    actions = samples.actions
    rows = actions.rows(np.arange(5), 20)
    count = actions.hashes.shape[1]
    assert (np.diff(rows.offsets) == count * (count + 1) // 2).all()
    assert rows.values[: rows.offsets[1]] @ rows.values[: rows.offsets[1]] == pytest.approx(1.0)
    names = list(actions.names)
    assert {name.partition(":")[0] for name in names} == {"shift", "reduce", "left", "right"}
    costs = ActionTask("hierarchical", samples, 0.5).costs
    lefts = [i for i, name in enumerate(names) if name.startswith("left:")]
    assert costs[lefts[0], lefts[1]] == 0.5
    assert costs[lefts[0], names.index("shift")] == 1.0


def test_rare_relations_become_one():
    given = list(generate(30, seed=3))
    changed = with_common_relations(given, 2)
    labels = {label for sentence in changed for label in sentence.deprels}
    assert OTHER in labels
    assert len(labels) == 3
    assert [sentence.heads for sentence in changed] == [sentence.heads for sentence in given]


def test_samples_of_sentences_have_as_many_words_as_asked_for(material):
    rules = logistic.QUICK_RULES.trees
    task = TreeTask(material, rules)
    first, second = task.sample(0), task.sample(1)
    for part in (first, second):
        assert rules.train_words <= part.train.words < rules.train_words + 40
        assert rules.test_words <= part.test.words < rules.test_words + 40
    assert first.train.to_bytes() != second.train.to_bytes()
    held_out = sum(fold.test.words for fold in task.folds)
    assert held_out == first.train.words


def test_estimates_are_students():
    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.margin == pytest.approx(4.303 / 3**0.5)
    assert Estimate.of([1.0]).margin == float("inf")


def made_up(**scores):
    return {
        key.replace("_", "-"): Outcome({"k": 3, "C": 1.0}, row, [1.0, 1.0, 1.0])
        for key, row in scores.items()
    }


def test_the_verdict_compares_sample_by_sample(tmp_path):
    outcomes = made_up(
        mira=[0.060, 0.070, 0.080],
        opa=[0.062, 0.072, 0.082],
        c_spv_gauss=[0.061, 0.071, 0.081],
        mec_gauss=[0.065, 0.075, 0.085],
        mec_laplace=[0.055, 0.065, 0.0751],
        au=[0.07, 0.08, 0.09],
    )
    result = Result(logistic.MULTICLASS, logistic.LANGUAGES["english"], outcomes)
    report = LogisticReport([result], logistic.SYSTEMS, Options(output=tmp_path))
    rows = report.overview(result).rows
    assert [row[0] for row in rows[:2]] == ["MEC, Laplace", "MIRA"]
    assert rows[1][1:5] == ["7.00", "2.48", "6.05", "C=1"]
    verdict = report.verdict(result)
    assert "reach from 7.00 to 7.20; 1 of 3 logistic rows lie within" in verdict
    assert "better: MEC, Laplace; worse: MEC, Gauss;" in verdict
    assert report.verdict(Result(result.table, result.language, made_up(mira=[0.1, 0.2, 0.3]))) == ""


def test_the_paper_is_quoted():
    published = {key: system.published for key, system in logistic.SYSTEMS.items()}
    assert published["mira"] == (6.05, 0.0590, 66.19)
    assert published["l-spv-gauss"] == (6.26, 0.0590, 66.24)
    assert published["au"] == (6.39, None, None)
    assert set(logistic.ACTION_GRID) == set(published)
    assert set(logistic.TREE_GRID) == set(published) - {"au"}


def test_the_study_is_described():
    described = json.loads(CliRunner().invoke(app, ["info", "study", "logistic", "--json"]).stdout)
    assert set(described["languages"]) == {"english", "basque", "invented"}
