"""Courses and grid searches, which the studies of learners share."""

from dataclasses import replace

import pytest
from studies_toys import Notes

from arbora.data.columns import columns_of
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate
from arbora.learners import PassiveAggressive
from arbora.scorers import GraphSettings
from arbora.search.pruner import PrunerSettings
from arbora_studies.contest import Contest, Rules, Search, choose_best, make_learner
from arbora_studies.courses import Course, Point
from arbora_studies.runner import Options, Runner
from arbora_studies.treebanks import Language, Material, checksum, hold_out

SMALL = GraphSettings(trees="nonprojective", grandparents=False, labels="none", tree_bits=14)
TREES = "nonprojective", "projective"
WEIGHTS = {"averaged": ("averaged", None), "last": ("last", None)}


def columns(count, seed):
    return columns_of(list(generate(count, seed=seed)))


def make_contest(folder, notes=None):
    runner = Runner("test", Options(output=folder), notes or Notes())
    material = Material("synthetic", runner.options, (60, 20))
    parts = material.train, list(generate(10, seed=3))
    return Contest(runner, material, parts, Rules(order=1, tree_bits=14), "nonprojective")


def test_hold_out_takes_the_end():
    sentences = list(generate(20, seed=1))
    kept, held_out = hold_out(sentences, 0.1)
    assert kept + held_out == sentences
    assert len(held_out) == 2
    for few in (2, 3):
        assert all(hold_out(sentences[:few], 0.1))


def test_checksums_differ_between_treebanks():
    assert checksum(columns(5, 1)) != checksum(columns(5, 2))


def test_a_course_scores_as_evaluate_does():
    gold = list(generate(20, seed=2))
    course = Course((columns(60, 1), columns_of(gold)), SMALL, None)
    points, steps = [], []
    trained = course.run(
        PassiveAggressive(C=0.01, epochs=2),
        steps.append,
        lambda progress, seconds: points.append(course.evaluate(progress, seconds, WEIGHTS)),
    )
    assert [point.epoch for point in points] == [1, 2]
    assert sum(steps) == 120
    parsed = course.parser(trained.averaged).parse(gold)
    assert [head for tree in parsed for head in tree.heads] == course.heads(trained.averaged).tolist()
    scores = evaluate(gold, parsed, punctuation="form").nopunct
    assert points[-1].uas["averaged"] == pytest.approx(scores.uas)


def test_gold_arcs_that_a_pruner_removes_are_restored_in_training():
    data = columns(60, 1)
    course = Course((data, data), SMALL, PrunerSettings(keep=1, bits=12))
    course.run(PassiveAggressive(C=0.01, epochs=1), lambda steps: None)


def test_projective_training_changes_non_projective_trees_only():
    sentences = list(generate(200, seed=3))
    data = (columns_of(sentences),) * 2
    crossing, flat = (Course(data, replace(SMALL, order=1, trees=trees), None) for trees in TREES)
    changed = [
        (crossing.problem.arc_gold(i) != flat.problem.arc_gold(i)).any() for i in range(len(sentences))
    ]
    assert changed == [not sentence.tree.is_projective() for sentence in sentences]
    assert any(changed)


def test_the_best_epoch_is_chosen(tmp_path):
    contest = make_contest(tmp_path)
    curves = contest.curves("choosing", "mira", Search(grid={"C": (0.001, 0.01)}, epochs=3), WEIGHTS)
    choice = choose_best(curves, ["averaged"])
    assert choice.uas == max(point.uas["averaged"] for _, points in curves for point in points)
    assert choice.points[choice.epochs - 1].uas["averaged"] == choice.uas
    assert choice.parameters["C"] in (0.001, 0.01)


def test_ties_go_to_the_first():
    points = [Point(epoch, 1.0, {"a": 80.0, "b": 80.0}, {}) for epoch in (1, 2)]
    curves = [({"C": 1.0}, points), ({"C": 2.0}, points)]
    choice = choose_best(curves, ["a", "b"])
    assert (choice.parameters, choice.epochs, choice.variant) == ({"C": 1.0}, 1, "a")
    assert choose_best(curves, ["a"], converges=True).epochs == 2


def test_values_far_behind_are_dropped(tmp_path):
    search = Search(grid={"lam": (3.0, 1e-6)}, epochs=8, trial=5)
    notes = Notes()
    (_, good), (_, bad) = make_contest(tmp_path, notes).curves("choosing", "pegasos", search, WEIGHTS)
    assert good[4].best - bad[4].best > 1
    assert [len(good), len(bad)] == [8, 5]
    again = make_contest(tmp_path, notes).curves("choosing", "pegasos", search, WEIGHTS)
    assert [points[-1].epoch for _, points in again] == [8, 5]
    assert len(notes.stored) == 2


def test_kept_weights_are_those_of_training_again(tmp_path):
    contest = make_contest(tmp_path)
    curves = contest.curves("choosing", "mira", Search(grid={"C": (0.01,)}, epochs=3), WEIGHTS)
    best = max(curves[0][1], key=lambda point: point.best)
    learner = make_learner("mira", {"C": 0.01}, best.epoch, 0)
    kept = contest.weights(learner)
    assert (kept == make_contest(tmp_path).weights(learner)).all()


def test_points_of_earlier_versions_are_read():
    stored = {"epoch": 1, "seconds": 2.0, "averaged": 80.0, "last": 79.0, "measures": {}}
    assert Point.from_json(stored) == Point(1, 2.0, {"averaged": 80.0, "last": 79.0}, {})
    assert Point.from_json(Point.from_json(stored).to_json()) == Point.from_json(stored)


def test_dev_is_read_from_its_file(tmp_path):
    sentences = list(generate(30, seed=1))
    for name, part in (("train", sentences[:20]), ("dev", sentences[20:])):
        text = "".join(sentence.to_conllu() + "\n" for sentence in part)
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    options = Options(output=tmp_path / "out", data=tmp_path)
    files = {"title": "X", "train": "train.conllu", "test": "dev.conllu"}
    with_dev = Material("x", options, language=Language(dev="dev.conllu", **files))
    assert [len(part) for part in with_dev.with_dev(0.1)] == [20, 10]
    without = Material("x", options, language=Language(**files))
    assert [len(part) for part in without.with_dev(0.1)] == [18, 2]
    missing = Material("x", options, language=Language(dev="none.conllu", **files))
    with pytest.raises(InputError):
        missing.with_dev(0.1)
