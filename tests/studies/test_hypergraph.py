"""The study of updates for inexact search."""

import pytest
from studies_toys import run

import arbora
from arbora.data.synthetic import generate
from arbora.evaluation.attachment import evaluate
from arbora_studies import hypergraph
from arbora_studies.hypergraph import PUBLISHED, TREEBANKS, HypergraphResults
from arbora_studies.report import Table
from arbora_studies.strategies import Row
from arbora_studies.treebanks import LANGUAGES

pytest.importorskip("matplotlib")


def test_scores_are_those_of_arbora_eval(finished):
    found = finished("hypergraph")
    gold = list(generate(hypergraph.QUICK_RULES.sentences[1], seed=2))
    for key in hypergraph.HypergraphStudy.usual:
        cell = found.stored["cells"][f"synthetic, {hypergraph.SYSTEMS[key].title}"]["result"]
        predicted = list(arbora.read(found.folder / "predictions" / f"synthetic-{key}.conllu"))
        scores = evaluate(gold, predicted).conllx
        assert (cell["uas"], cell["las"]) == (scores.uas, scores.las)
        assert cell["las"] > 50
        assert 0 < cell["pruned"] < 1
        assert 90 < cell["best_uas_left"] <= 100
        assert len(cell["non_violations"]) == 2


def test_every_strategy_has_a_curve(finished):
    cells = finished("hypergraph").stored["cells"]
    curves = {name.split()[-1]: cell["result"]["uas"] for name, cell in cells.items() if "by epoch" in name}
    assert set(curves) == {"standard", "skip", "s-max", "p-max"}
    assert all(len(curve) == 2 and curve[-1] > 70 for curve in curves.values())


def test_one_system_alone_is_not_compared(tmp_path):
    found = run("hypergraph", tmp_path, learners=("p-max",))
    assert found.report.tables[0].headings[1] == "p-max"
    assert len(found.report.tables) == 3
    assert len(found.notes.computed) == 3


def make_row(uas, heads):
    return Row(
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


def test_means_and_tests_leave_out_scores_on_dev():
    worse, better = [3, 3, 4, 5, 2, 2, 2, 2], [4, 4, 4, 4, 3, 3, 3, 3]
    rows = {
        "danish": {"skip": make_row(60.0, worse), "s-max": make_row(70.0, better)},
        "dutch": {"skip": make_row(70.0, worse), "s-max": make_row(80.0, better)},
        "english": {"skip": make_row(99.0, better), "s-max": make_row(98.0, worse)},
    }
    results = HypergraphResults(rows, ("english", {"skip": [80.0, 81.0]}), hypergraph.RULES, 0)
    overview = {row[0]: row[1:] for row in Table.of("", results.overview()).rows}
    assert overview["Danish"] == ["60.00 / 50.00", "70.00 / 60.00", ""]
    assert overview["Danish, paper"] == ["91.40 / 86.59", "91.88 / 86.95", "90.84 / 86.65"]
    assert {"Dutch, paper (other data)", "English (dev)"} < set(overview)
    assert overview["mean of 2"] == ["65.00 / 55.00", "75.00 / 65.00", ""]
    tests = {row[0]: row[1:] for row in Table.of("", results.tests("s-max")).rows}
    assert tests["Danish"][:2] == ["+12.50", "6:1"]
    assert tests["all with a test set"][:2] == ["+12.50", "12:2"]
    assert Table.of("", results.search()).rows[0] == ["Danish", "80.0", "99.50", "12.5", "12.5"]
    assert Table.of("", results.speed()).rows[0] == ["Danish", "4,000", "4,000", "3", "3"]
    starts = [note.partition(":")[0] for note in results.notes()]
    assert {"English", "Dutch"} < set(starts)


def test_the_papers_numbers_are_complete():
    assert set(PUBLISHED) == set(TREEBANKS) - {"english"}
    assert PUBLISHED["danish"]["p-max"] == (92.00, 87.07)
    assert [name for name in TREEBANKS if LANGUAGES[name].is_tested_on_dev] == ["english"]
