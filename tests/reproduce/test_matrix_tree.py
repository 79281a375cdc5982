"""The study of learners and families, small: what is written and chosen, and that test data do not choose."""

import json
from itertools import islice

import pytest
from typer.testing import CliRunner

import arbora
from arbora.cli.main import app
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.evaluation.attachment import evaluate
from arbora.reproduce import Options, matrix_tree, studies
from arbora.reproduce.courses import Course, as_columns
from arbora.reproduce.families_contest import Choice, FamiliesContest, FamilyRules, Judged, Result
from arbora.reproduce.languages import Language, Material
from arbora.reproduce.matrix_tree_report import PUBLISHED, PUBLISHED_CHOSEN, MatrixTreeReport
from arbora.reproduce.search import Search
from arbora.reproduce.study import Journal, Unwatched
from arbora.scorers import GraphSettings


class Notes(Unwatched):
    def __init__(self):
        self.begun = []

    def cell_begins(self, name, examples):
        self.begun.append(name)


def run(folder, **more):
    notes = Notes()
    report = studies.create("matrix-tree").run(Options(output=folder, quick=True, **more), notes)
    return report, notes


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrix-tree")
    return folder, *run(folder)


def test_every_learner_trains_over_both_families(finished):
    folder, report, notes = finished
    trainings, learners, tests, details = report.tables
    assert [row[0] for row in trainings.rows] == [
        "Invented, perceptron",
        "Invented, max-margin (EG)",
        "Invented, log-linear",
    ]
    assert [row[0] for row in learners.rows] == ["perceptron", "max-margin (EG)", "log-linear"]
    assert [row[0] for row in tests.rows] == ["max-margin (EG)", "log-linear"]
    assert len(details.rows) == 6
    # Perceptron 1, EG 2 and log-linear 2 combinations, and a test, over two families.
    assert len(notes.begun) == len(set(notes.begun)) == 2 * (1 + 2 + 2 + 3)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(table.to_markdown() in page for table in report.tables)
    assert "say nothing" in page


def test_results_are_those_of_arbora_eval(finished):
    folder, report, _ = finished
    results = json.loads((folder / "results.json").read_bytes())["results"]
    gold = list(generate(matrix_tree.QUICK_RULES.sentences[1], seed=2))
    for learner, found in results["languages"]["invented"].items():
        for trees in matrix_tree.TRAININGS:
            predicted = list(arbora.read(folder / "predictions" / f"invented-{learner}-{trees}.conllu"))
            assert found[trees]["uas"] == evaluate(gold, predicted, punctuation="form").conllx.uas
    better = {learner: found["better_on_dev"] for learner, found in results["languages"]["invented"].items()}
    for row, (learner, trees) in zip(report.tables[1].rows, better.items(), strict=True):
        assert row[1] == f"{results['languages']['invented'][learner][trees]['uas']:.2f}"


def test_a_second_run_computes_nothing(finished):
    folder, report, _ = finished
    again, notes = run(folder)
    assert notes.begun == []
    assert again.tables == report.tables


def test_weights_that_are_not_in_memory_are_learned_again(finished, tmp_path):
    folder, report, _ = finished
    held = json.loads((folder / "results.json").read_bytes())
    held["cells"] = {name: cell for name, cell in held["cells"].items() if "testing" not in name}
    (tmp_path / "results.json").write_text(json.dumps(held))
    again, notes = run(tmp_path)
    assert notes.begun
    assert all("testing" in name for name in notes.begun)
    assert again.tables == report.tables


def make_contest(folder, language, searches, limits=(60, 30)):
    material = Material("invented", language, Options(output=folder), limits)
    return FamiliesContest(
        material, FamilyRules(tree_bits=14), searches, Journal.open(folder, "test"), Unwatched()
    )


def test_the_choice_is_made_without_test_data(tmp_path):
    searches = {"log_linear": Search(grid={"C": (0.01, 1.0)}, epochs=3, fixed={"iterations": 2})}
    contest = make_contest(tmp_path, Language(title="Invented"), searches)
    contest.material.test = []  # to look at it would be an error
    choice = contest.choose("log_linear", "nonprojective")
    points = [point for _, points in contest.curves("log_linear", "nonprojective") for point in points]
    assert choice.uas == max(uas for point in points for uas in point.uas.values())
    assert {trees for point in points for trees in point.uas} == {"projective", "nonprojective"}
    projective = contest.curves("log_linear", "projective")
    assert {trees for _, points in projective for point in points for trees in point.uas} == {"projective"}


def test_projective_training_sees_projective_trees():
    sentences = list(generate(200, seed=3))
    columns = as_columns(sentences, "conllu")
    shape = {"order": 1, "grandparents": False, "labels": "none", "tree_bits": 12}
    crossing = Course(columns, columns, GraphSettings(trees="nonprojective", **shape), None)
    flat = Course(columns, columns, GraphSettings(trees="projective", **shape), None)
    changed = 0
    for i, sentence in enumerate(sentences):
        changed += (crossing.problem.arc_gold(i) != flat.problem.arc_gold(i)).any()
        if sentence.tree.is_projective():
            assert (crossing.problem.arc_gold(i) == flat.problem.arc_gold(i)).all()
    assert changed == sum(not sentence.tree.is_projective() for sentence in sentences) > 0


def test_dev_is_taken_where_there_is_one(tmp_path):
    for name, count, seed in (("train", 40, 1), ("dev", 12, 2), ("test", 10, 3)):
        arbora.write(generate(count, seed=seed), tmp_path / f"{name}.conllu")
    files = {"train": "train.conllu", "test": "test.conllu"}
    options = Options(output=tmp_path, data=tmp_path)
    with_dev = Material("x", Language(title="X", dev="dev.conllu", **files), options)
    assert [len(part) for part in with_dev.with_dev(0.1)] == [40, 12]
    without = Material("x", Language(title="X", **files), options)
    assert [len(part) for part in without.with_dev(0.1)] == [36, 4]
    missing = Material("x", Language(title="X", dev="none.conllu", **files), options)
    with pytest.raises(InputError, match=r"X needs none\.conllu"):
        missing.with_dev(0.1)


def made_up(uas, dev, heads):
    choice = Choice({"C": 1.0}, 3, "projective", dev, 1.0)
    return Result(choice=choice, uas=uas, tokens=[5] * len(heads), heads=heads)


def test_tables_choose_on_dev_and_count_sentences(tmp_path):
    worse, better = [3, 3, 4, 5, 2, 2, 2, 2], [4, 4, 4, 4, 3, 3, 3, 3]
    results = {
        "dutch": {
            "perceptron": {
                "projective": made_up(60.0, 70.0, worse),
                "nonprojective": made_up(90.0, 69.0, better),
            },
            "log_linear": {
                "projective": made_up(50.0, 70.0, worse),
                "nonprojective": made_up(70.0, 71.0, better),
            },
        }
    }
    report = MatrixTreeReport(results, matrix_tree.LANGUAGES, FamilyRules(), Options(output=tmp_path))
    learners = {row[0]: list(row[1:]) for row in report.learners().rows}
    assert learners["perceptron"] == ["60.00", "60.00"]  # np is better on test, and that must not matter
    assert learners["log-linear"] == ["70.00", "70.00"]
    assert learners["log-linear, paper"] == ["79.55", "79.55 (of 1)"]
    (row,) = report.tests().rows
    assert row[1:4] == ["6", "1", "+12.50"]
    assert report.trainings().rows[0][1:4] == ["60.00", "90.00", "+30.00"]


def test_the_paper_is_quoted_right():
    """Each number of Table 3 is one of Table 2's."""
    for learner, row in PUBLISHED_CHOSEN.items():
        for language, uas in row.items():
            assert uas in PUBLISHED[language][learner].values()


def test_judged_points_prefer_the_trees_of_training():
    assert Judged(1, 0.0, {"nonprojective": 80.0, "projective": 80.0}, {}).trees == "nonprojective"
    assert Judged(1, 0.0, {"nonprojective": 80.0, "projective": 80.1}, {}).trees == "projective"


def test_real_treebanks_stand_beside_the_paper(tmp_path, treebank_dir):
    report, _ = run(tmp_path, languages=("dutch", "slovene"), learners=("perceptron",), data=treebank_dir)
    trainings = report.tables[0]
    assert [row[0] for row in trainings.rows] == ["Dutch, perceptron", "Slovene, perceptron"]
    assert list(trainings.rows[0][5:]) == ["77.17", "78.83"]
    assert any(note.startswith("Slovene: the last 10%") for note in report.notes)
    gold = list(islice(arbora.read(treebank_dir / matrix_tree.LANGUAGES["dutch"].test), 50))
    predicted = list(arbora.read(tmp_path / "predictions" / "dutch-perceptron-nonprojective.conllu"))
    assert f"{evaluate(gold, predicted, punctuation='form').conllx.uas:.2f}" == trainings.rows[0][2]


def test_the_verb_prints_the_tables(finished):
    folder, report, _ = finished
    result = CliRunner().invoke(app, ["reproduce", "matrix-tree", "--quick", "-o", str(folder)])
    assert result.exit_code == 0
    for table in report.tables:
        assert table.title in result.stdout
