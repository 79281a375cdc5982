"""The study of updates for inexact search, small: what is written, what is tested, what is computed anew."""

import json

import pytest
from typer.testing import CliRunner

import arbora
from arbora.cli.main import app
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate
from arbora.reproduce import Options, hypergraph, studies
from arbora.reproduce.courses import as_columns, checksum
from arbora.reproduce.hypergraph_report import PUBLISHED, Figure, HypergraphReport
from arbora.reproduce.strategies import Result
from arbora.reproduce.study import Unwatched


class Notes(Unwatched):
    def __init__(self, stop_at=None):
        self.begun, self.stop_at = [], stop_at

    def cell_begins(self, name, examples):
        self.begun.append(name)
        if len(self.begun) == self.stop_at:
            raise KeyboardInterrupt


def run(folder, notes=None, **more):
    notes = notes or Notes()
    report = studies.create("hypergraph").run(Options(output=folder, quick=True, **more), notes)
    return report, notes


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("hypergraph")
    return folder, *run(folder)


def test_all_files_are_there(finished):
    folder, report, notes = finished
    assert {path.name for path in report.files} == {"README.md", "results.json", "figure2.svg", "figure2.png"}
    assert all(path.stat().st_size > 0 for path in report.files)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(table.to_markdown() in page for table in report.tables)
    assert "say nothing" in page
    # Four systems, and a curve for each of the four strategies.
    assert len(notes.begun) == len(set(notes.begun)) == 8


def test_results_are_those_of_arbora_eval(finished):
    folder, _, _ = finished
    results = json.loads((folder / "results.json").read_bytes())["results"]
    gold = list(generate(hypergraph.QUICK_RULES.sentences[1], seed=2))
    for key, found in results["languages"]["invented"].items():
        predicted = list(arbora.read(folder / "predictions" / f"invented-{key}.conllu"))
        scores = evaluate(gold, predicted).conllx
        assert (found["uas"], found["las"]) == (scores.uas, scores.las)
        assert found["las"] > 50
        assert 0 < found["arcs_pruned"] < 1
        assert 90 < found["best_uas_left"] <= 100
        assert len(found["non_violations"]) == 2


def test_every_strategy_learns_from_nothing(finished):
    folder, _, _ = finished
    curves = json.loads((folder / "results.json").read_bytes())["results"]["figure"]["dev_uas"]
    assert set(curves) == {"standard", "skip", "s-max", "p-max"}
    assert all(len(curve) == 2 and curve[-1] > 70 for curve in curves.values())


def test_an_interrupted_study_goes_on(finished, tmp_path):
    _, report, notes = finished
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Notes(stop_at=4))
    rest, more = run(tmp_path)
    assert more.begun == notes.begun[3:]
    assert rest.tables[:-1] == report.tables[:-1]  # the last one is about time
    again, none = run(tmp_path)
    assert none.begun == []
    assert again.tables == rest.tables


def test_systems_can_be_chosen(tmp_path):
    pytest.importorskip("matplotlib")
    report, notes = run(tmp_path, learners=("p-max",))
    assert report.tables[0].headings[1] == "p-max"
    assert len(report.tables) == 3  # nothing to compare with
    assert len(notes.begun) == 3
    with pytest.raises(InputError, match="did you mean 'p-max'"):
        run(tmp_path, learners=("pmax",))


def made_up(uas, heads):
    return Result(
        uas=uas,
        las=uas - 10,
        tokens=[5] * len(heads),
        heads=heads,
        arcs=heads,
        words=40,
        training_seconds=3.0,
        parsing_seconds=0.01,
        non_violations=[0.5, 0.125],
        pruned=0.8,
        best_uas_left=99.5,
    )


def test_means_and_tests_leave_out_what_was_tested_on_dev(tmp_path):
    worse, better = [3, 3, 4, 5, 2, 2, 2, 2], [4, 4, 4, 4, 3, 3, 3, 3]
    systems = {key: hypergraph.SYSTEMS[key] for key in ("skip", "s-max")}
    results = {
        "danish": {"skip": made_up(60.0, worse), "s-max": made_up(70.0, better)},
        "dutch": {"skip": made_up(70.0, worse), "s-max": made_up(80.0, better)},
        "english": {"skip": made_up(99.0, better), "s-max": made_up(98.0, worse)},
    }
    languages = hypergraph.LANGUAGES
    figure = Figure(languages["english"], {"skip": [80.0, 81.0]})
    report = HypergraphReport(results, languages, systems, figure, hypergraph.RULES, Options(output=tmp_path))
    rows = {row[0]: list(row[1:]) for row in report.overview().rows}
    assert rows["Danish"] == ["60.00 / 50.00", "70.00 / 60.00", ""]
    assert rows["Danish, paper"] == ["91.40 / 86.59", "91.88 / 86.95", "90.84 / 86.65"]
    assert "Dutch, paper (other data)" in rows
    assert "English (dev)" in rows
    assert rows["mean of 2"] == ["65.00 / 55.00", "75.00 / 65.00", ""]
    tests = {row[0]: list(row[1:]) for row in report.tests("s-max").rows}
    assert tests["Danish"][:2] == ["+12.50", "6:1"]
    assert tests["all with a test set"][:2] == ["+12.50", "12:2"]
    assert report.search().rows[0] == ["Danish", "80.0", "99.50", "12.5", "12.5"]
    assert report.speed().rows[0] == ["Danish", "4,000", "4,000", "3", "3"]
    assert any(note.startswith("English: has no test set") for note in report.remarks())
    assert any(note.startswith("Dutch: not the annotation") for note in report.remarks())


def test_the_paper_is_quoted_for_every_language_but_english():
    assert set(PUBLISHED) == set(hypergraph.TREEBANKS) - {"english"}
    assert PUBLISHED["danish"]["p-max"] == (92.00, 87.07)
    assert [name for name, each in hypergraph.LANGUAGES.items() if each.is_tested_on_dev] == ["english"]


def test_checksums_tell_treebanks_apart():
    one, other = (as_columns(list(generate(5, seed=seed)), "conllu") for seed in (1, 2))
    assert checksum(one) != checksum(other)


def test_the_study_is_described():
    described = json.loads(CliRunner().invoke(app, ["info", "study", "hypergraph", "--json"]).stdout)
    assert set(described["languages"]) == {*hypergraph.TREEBANKS, "invented"}
