"""The study of Pegasos-DP, small: everything is written, nothing is computed twice, nothing looks at test."""

import json
import sys
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from typer.testing import CliRunner

import arbora
from arbora.cli.main import app
from arbora.data.synthetic import generate
from arbora.errors import DataError, InputError
from arbora.evaluation.attachment import evaluate
from arbora.learners import PassiveAggressive
from arbora.reproduce import Options, pegasos, studies
from arbora.reproduce.contest import Contest, Rules, System
from arbora.reproduce.courses import Course, as_columns, hold_out
from arbora.reproduce.languages import Language, Material
from arbora.reproduce.search import Search
from arbora.reproduce.study import Journal, Table, Unwatched
from arbora.scorers import GraphSettings
from arbora.search.pruner import PrunerSettings

SMALL = GraphSettings(trees="nonprojective", grandparents=False, labels="none", tree_bits=14)


class Notes(Unwatched):
    def __init__(self):
        self.begun, self.remembered = [], []

    def cell_begins(self, name, examples):
        self.begun.append(name)

    def cell_ends(self, name, result, *, remembered):
        if remembered:
            self.remembered.append(name)


def run(folder, **more):
    notes = Notes()
    report = studies.create("pegasos").run(Options(output=folder, quick=True, **more), notes)
    return report, notes


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pegasos")
    return folder, *run(folder)


def test_all_files_are_there(finished):
    folder, report, notes = finished
    assert {path.name for path in report.files} == {"README.md", "results.json", "figure2.svg", "figure2.png"}
    assert all(path.stat().st_size > 0 for path in report.files)
    assert (folder / "figure2.svg").read_bytes().startswith(b"<?xml")
    assert (folder / "figure2.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "README.md").read_text(encoding="utf-8")
    for table in report.tables:
        assert table.to_markdown() in page
    assert "say nothing" in page
    assert len(notes.begun) == len(set(notes.begun)) == 10


def test_the_table_has_a_row_per_system(finished):
    _, report, _ = finished
    overview, details = report.tables
    assert [row[0] for row in overview.rows] == [system.title for system in pegasos.SYSTEMS.values()]
    assert [row[0] for row in details.rows] == [system.title for system in pegasos.SYSTEMS.values()]
    assert [row[5] for row in details.rows].count("best") == 1


def test_results_are_those_of_arbora_eval(finished):
    folder, _, _ = finished
    results = json.loads((folder / "results.json").read_bytes())
    train, test = pegasos.QUICK_RULES.sentences
    gold = list(generate(test, seed=2))
    assert len(list(generate(train, seed=1))) == train
    for name in pegasos.SYSTEMS:
        predicted = list(arbora.read(folder / "predictions" / f"invented-{name}.conllu"))
        scores = evaluate(gold, predicted, punctuation="form")
        assert results["results"]["invented"][name]["uas"] == scores.nopunct.uas == scores.conllx.uas
        assert {label for sentence in predicted for label in sentence.deprels} == {"_"}


def test_a_second_run_computes_nothing(finished):
    folder, report, notes = finished
    before = {path.name: path.read_bytes() for path in report.files}
    again, more = run(folder)
    assert more.begun == []
    assert set(more.remembered) == set(notes.begun)
    assert again.tables == report.tables
    assert {path.name: path.read_bytes() for path in again.files} == before


def test_an_interrupted_study_goes_on(finished, tmp_path):
    _, report, notes = finished

    class Stops(Notes):
        def cell_begins(self, name, examples):
            super().cell_begins(name, examples)
            if len(self.begun) == 4:
                raise KeyboardInterrupt

    stops = Stops()
    with pytest.raises(KeyboardInterrupt):
        studies.create("pegasos").run(Options(output=tmp_path, quick=True), stops)
    assert len(json.loads((tmp_path / "results.json").read_bytes())["cells"]) == 3
    rest, more = run(tmp_path)
    assert more.begun == notes.begun[3:]

    def without_times(tables):
        return [[row[:-1] for row in table.rows] for table in tables]

    assert without_times(rest.tables) == without_times(report.tables)


def test_chosen_learners_are_computed_anew_by_another_seed_but_not_by_threads(tmp_path):
    report, first = run(tmp_path, learners=("mira",))
    assert [row[0] for row in report.tables[0].rows] == ["MIRA (averaged)"]
    assert len(first.begun) == 2
    _, threaded = run(tmp_path, learners=("mira",), threads=2)
    assert threaded.begun == []
    _, other = run(tmp_path, learners=("mira",), seed=1)
    assert other.begun == first.begun


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"languages": ("danisch",)}, "did you mean 'danish'"),
        ({"learners": ("pegasus",)}, "did you mean 'pegasos'"),
        ({"languages": ("danish",)}, "ARBORA_DATA"),
    ],
)
def test_wrong_names_and_missing_treebanks_are_told(tmp_path, options, what):
    with pytest.raises(InputError, match=what):
        run(tmp_path, **options)


def test_a_treebank_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"danish_ddt_train\.conll in .*--languages"):
        run(tmp_path / "out", languages=("danish",), data=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"study": "pegasos", "cells": {"a": {}}}'])
def test_foreign_results_are_not_overwritten(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(DataError, match="another folder"):
        run(tmp_path)
    assert (tmp_path / "results.json").read_text() == text


def test_results_of_another_study_are_not_mixed(tmp_path):
    Journal.open(tmp_path, "other").add("a", {}, {})
    with pytest.raises(DataError, match="'other'"):
        run(tmp_path)


def test_without_matplotlib_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError):
        run(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_real_treebanks_stand_beside_the_paper(tmp_path, treebank_dir):
    report, _ = run(tmp_path, languages=("danish", "dutch"), learners=("mira",), data=treebank_dir)
    overview = report.tables[0]
    assert list(overview.headings) == [
        "system",
        "Danish, ours",
        "Danish, paper",
        "Dutch, ours",
        "Dutch, paper",
    ]
    assert overview.rows[0][2] == "90.2"
    assert overview.rows[0][4] == "83.9"
    assert any(note.startswith("Dutch: not the annotation") for note in report.notes)
    gold = list(islice(arbora.read(treebank_dir / pegasos.LANGUAGES["danish"].test), 50))
    predicted = list(arbora.read(tmp_path / "predictions" / "danish-mira.conllx"))
    assert f"{evaluate(gold, predicted).nopunct.uas:.2f}" == overview.rows[0][1]


# The parts


def test_hold_out_takes_the_end():
    sentences = list(generate(20, seed=1))
    kept, held_out = hold_out(sentences, 0.1)
    assert kept + held_out == sentences
    assert len(held_out) == 2
    for few in (2, 3):
        kept, held_out = hold_out(sentences[:few], 0.1)
        assert kept
        assert held_out


def test_a_course_scores_as_evaluate_does():
    train, judged = list(generate(60, seed=1)), list(generate(20, seed=2))
    course = Course(as_columns(train, "conllu"), as_columns(judged, "conllu"), SMALL, None)
    points = []
    ran = course.run(PassiveAggressive(C=0.01, epochs=2), note=lambda *now: points.append(course.point(*now)))
    assert [point.epoch for point in points] == [1, 2]
    heads = course.heads(ran.averaged)
    offsets = course.judged.offsets
    parsed = course.parser(ran.averaged).parse(judged)
    assert [head for sentence in parsed for head in sentence.heads] == heads.tolist()
    assert len(heads) == offsets[-1]
    scores = evaluate(judged, parsed, punctuation="form").nopunct
    assert points[-1].averaged == pytest.approx(scores.uas)
    assert course.best_uas_left() == 100.0


def test_a_pruner_may_lose_what_is_right_and_training_gets_it_back():
    train = list(generate(60, seed=1))
    course = Course(
        as_columns(train, "conllu"), as_columns(train, "conllu"), SMALL, PrunerSettings(keep=1, bits=12)
    )
    assert 50 < course.best_uas_left() < 100
    course.run(PassiveAggressive(C=0.01, epochs=1))


def make_contest(tmp_path, searches, notes):
    material = Material("invented", Language(title="Invented"), Options(output=tmp_path), (60, 20))
    return Contest(material, Rules(tree_bits=14), searches, Journal.open(tmp_path, "test"), notes)


def test_the_choice_is_made_without_test_data(tmp_path, monkeypatch):
    searches = {"mira": Search(grid={"C": (0.001, 0.01)}, epochs=3)}
    system = System(title="MIRA", learner="mira", which="averaged", published={})
    contest = make_contest(tmp_path, searches, Notes())
    contest.material.test = []  # to look at it would be an error
    choice = contest.choose(system)
    assert choice.uas == max(point.averaged for _, points in contest.curves("mira") for point in points)
    assert choice.points[choice.epochs - 1].averaged == choice.uas
    assert choice.parameters["C"] in (0.001, 0.01)


def test_a_learner_that_converges_is_taken_at_its_end(tmp_path):
    searches = {"one_slack": Search(grid={"C": (10.0, 100.0)}, epochs=4, converges=True)}
    system = System(title="1-slack", learner="one_slack", which="last", published={})
    choice = make_contest(tmp_path, searches, Notes()).choose(system)
    assert choice.epochs == len(choice.points) == 4


def test_a_combination_that_is_far_behind_is_given_up(tmp_path):
    searches = {"pegasos": Search(grid={"lam": (3.0, 1e-6)}, epochs=8, trial=5)}
    notes = Notes()
    (_, good), (_, bad) = make_contest(tmp_path, searches, notes).curves("pegasos")
    assert good[4].best - bad[4].best > 1
    assert [len(good), len(bad)] == [8, 5]
    again = make_contest(tmp_path, searches, notes).curves("pegasos")
    assert [points[-1].epoch for _, points in again] == [8, 5]
    assert len(notes.remembered) == 2


def test_tables_escape_what_markdown_would_read():
    table = Table("t", ("a", "b"), (("x|y", "1"),))
    assert table.to_markdown().splitlines()[-1] == "| x\\|y | 1 |"


def test_the_paper_is_quoted_for_every_row():
    for system in pegasos.SYSTEMS.values():
        assert set(system.published) == set(pegasos.TREEBANKS)
    assert pegasos.SYSTEMS["pegasos-averaged"].published["danish"] == 91.0
    assert replace(pegasos.LANGUAGES["danish"]).published
    assert np.isclose(sorted(pegasos.LAMBDAS), [1e-4, 1e-3, 3.3e-3, 1e-2, 3.3e-2]).all()


# The verb


def test_the_verb_prints_the_tables(finished):
    folder, report, _ = finished
    result = CliRunner().invoke(app, ["reproduce", "pegasos", "--quick", "-o", str(folder)])
    assert result.exit_code == 0
    for table in report.tables:
        assert table.title in result.stdout
    assert "done before" in result.stderr
    assert "choosing" not in result.stdout


def test_the_verb_refuses_what_it_does_not_know(tmp_path):
    for arguments in (["pegasus"], ["pegasos", "--languages", "latin"], ["pegasos", "-o", __file__]):
        assert CliRunner().invoke(app, ["reproduce", *arguments]).exit_code == 2


def test_studies_are_listed_and_described():
    assert (
        CliRunner().invoke(app, ["list", "studies"]).stdout.splitlines()[1].startswith("pegasos\tlee-2010\t")
    )
    described = json.loads(CliRunner().invoke(app, ["info", "study", "pegasos", "--json"]).stdout)
    assert set(described["languages"]) == {"danish", "swedish", "dutch", "invented"}
    text = CliRunner().invoke(app, ["info", "study", "pegasos"]).stdout
    assert "danish\tCoNLLX_Danish-DDT\n" in text
    assert CliRunner().invoke(app, ["info", "study", "pegasus"]).exit_code == 2
