"""The study of logistic learners."""

import numpy as np
import pytest
from studies_toys import Notes, run

from arbora.data.synthetic import generate
from arbora_studies import logistic
from arbora_studies.actions import OTHER, ActionSamples, ActionTask, with_common_relations
from arbora_studies.logistic import TableResult
from arbora_studies.runner import Options
from arbora_studies.treebanks import Material
from arbora_studies.trials import Estimate, Outcome
from arbora_studies.whole_trees import TreeTask


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    options = Options(output=tmp_path_factory.mktemp("material"))
    return Material("synthetic", options, logistic.QUICK_RULES.sentences)


def test_learners_learn(finished):
    errors, costs, accuracies = finished("logistic").tables.values()
    assert [len(rows) for rows in (errors, costs, accuracies)] == [9, 8, 8]
    assert max(row["ours, %"] for row in errors) < 20
    assert max(row["ours"] for row in costs) < 0.2
    assert min(row["ours, %"] for row in accuracies) > 40


def test_some_learners_resume(tmp_path):
    some = {"learners": ("opa", "mec-gauss")}
    with pytest.raises(KeyboardInterrupt):
        run("logistic", tmp_path, Notes(stop_at=6), **some)
    rest = run("logistic", tmp_path, **some)
    assert len(rest.notes.computed) == 3 * (2 * 2 + 2 * 2) - 5


def test_test_instances_are_not_used_in_training(material):
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


def test_samples_of_sentences_have_the_right_number_of_words(material):
    rules = logistic.QUICK_RULES.trees
    drawn = []

    class Drawn(TreeTask):
        def _part(self, train, test):
            drawn.append((train, test))

    task = Drawn(material, rules)
    first, second = (task.sample(number) or drawn[-1] for number in (0, 1))
    for train, test in (first, second):
        assert rules.train_words <= sum(map(len, train)) < rules.train_words + 40
        assert rules.test_words <= sum(map(len, test)) < rules.test_words + 40
    assert first[0] != second[0]
    assert len(task.folds()) == rules.folds
    held_out = [test for _, test in drawn[2:]]
    assert sum(map(len, held_out)) == len(first[0])


def test_margins_use_students_t():
    found = Estimate.of([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.margin == pytest.approx(4.303 / 3**0.5)
    assert Estimate.of([1.0]).margin == float("inf")


def make_outcomes(**scores):
    return {
        key.replace("_", "-"): Outcome({"k": 3, "C": 1.0}, row, [1.0, 1.0, 1.0])
        for key, row in scores.items()
    }


def test_the_verdict_compares_sample_by_sample():
    outcomes = make_outcomes(
        mira=[0.060, 0.070, 0.080],
        opa=[0.062, 0.072, 0.082],
        c_spv_gauss=[0.061, 0.071, 0.081],
        mec_gauss=[0.065, 0.075, 0.085],
        mec_laplace=[0.055, 0.065, 0.0751],
        au=[0.07, 0.08, 0.09],
    )
    result = TableResult(logistic.MULTICLASS, "english", outcomes)
    rows = result.overview().rows
    assert [row[0] for row in rows[:2]] == ["MEC, Laplace", "MIRA"]
    assert rows[1][1:5] == ["7.00", "2.48", "6.05", "C=1"]
    verdict = result.verdict()
    assert "reach from 7.00 to 7.20; 1 of 3 logistic rows lie within" in verdict
    assert "better: MEC, Laplace; worse: MEC, Gauss;" in verdict
    assert TableResult(result.table, "english", make_outcomes(mira=[0.1, 0.2, 0.3])).verdict() == ""


def test_the_papers_numbers_are_complete():
    published = {key: system.published for key, system in logistic.SYSTEMS.items()}
    assert published["mira"] == (6.05, 0.0590, 66.19)
    assert published["l-spv-gauss"] == (6.26, 0.0590, 66.24)
    assert published["au"] == (6.39, None, None)
    assert set(logistic.ACTION_GRID) == set(published) - {"au"}
    assert set(logistic.TREE_GRID) == set(published) - {"au"}
