"""The study of learners and trees of training."""

import json
from itertools import islice

from studies_toys import run, without_times

import arbora
from arbora.data.synthetic import generate
from arbora.evaluation.attachment import evaluate
from arbora_studies import matrix_tree
from arbora_studies.contest import Choice, Row, Rules
from arbora_studies.courses import Point
from arbora_studies.matrix_tree import PUBLISHED, PUBLISHED_CHOSEN, MatrixTreeResults
from arbora_studies.report import Table
from arbora_studies.treebanks import LANGUAGES


def test_every_learner_trains_over_both_kinds_of_trees(finished):
    found = finished("matrix-tree")
    trainings, chosen, tests, details = found.report.tables
    titles = list(matrix_tree.TITLES.values())
    assert [row[0] for row in trainings.rows] == [f"Synthetic, {title}" for title in titles]
    assert [row[0] for row in chosen.rows] == titles
    assert [row[0] for row in tests.rows] == titles[1:]
    assert len(details.rows) == 6


def test_scores_are_those_of_arbora_eval(finished):
    found = finished("matrix-tree")
    gold = list(generate(matrix_tree.QUICK_RULES.sentences[1], seed=2))
    rows = next(iter(found.tables.values()))
    for learner, row in zip(matrix_tree.LEARNERS, rows, strict=True):
        for trees, short in matrix_tree.SHORT.items():
            path = found.folder / "predictions" / f"synthetic-{learner}-{trees}.conllu"
            scores = evaluate(gold, list(arbora.read(path)), punctuation="form").conllx
            assert row[short] == scores.uas


def test_weights_that_are_not_in_memory_are_trained_again(finished, tmp_path):
    found = finished("matrix-tree")
    stored = found.stored
    stored["cells"] = {name: cell for name, cell in stored["cells"].items() if "testing" not in name}
    (tmp_path / "results.json").write_text(json.dumps(stored))
    again = run("matrix-tree", tmp_path)
    assert again.notes.computed
    assert all("testing" in name for name in again.notes.computed)
    assert without_times(again.report.tables) == without_times(found.report.tables)


def make_row(uas, dev, heads):
    choice = Choice({"C": 1.0}, 1, "projective", dev, [Point(1, 1.0, {"projective": dev}, {})])
    return Row(choice=choice, uas=uas, tokens=[5] * len(heads), heads=heads)


def test_trainings_are_chosen_on_dev():
    worse, better = [3, 3, 4, 5, 2, 2, 2, 2], [4, 4, 4, 4, 3, 3, 3, 3]
    rows = {
        "dutch": {
            "perceptron": {
                "projective": make_row(60.0, 70.0, worse),
                "nonprojective": make_row(90.0, 69.0, better),  # better on test only
            },
            "log_linear": {
                "projective": make_row(50.0, 70.0, worse),
                "nonprojective": make_row(70.0, 71.0, better),
            },
        }
    }
    results = MatrixTreeResults(rows, Rules(order=1))
    chosen = {row[0]: row[1:] for row in Table.of("", results.chosen_trainings()).rows}
    assert chosen["perceptron"] == ["60.00", "60.00"]
    assert chosen["log-linear"] == ["70.00", "70.00"]
    assert chosen["log-linear, paper"] == ["79.55", "79.55 (of 1)"]
    (row,) = Table.of("", results.tests()).rows
    assert row[1:4] == ["6", "1", "+12.50"]
    assert Table.of("", results.trainings()).rows[0][1:4] == ["60.00", "90.00", "+30.00"]


def test_table_3_of_the_paper_is_part_of_table_2():
    for learner, row in PUBLISHED_CHOSEN.items():
        for language, uas in row.items():
            assert uas in PUBLISHED[language][learner].values()


def test_real_treebanks_are_shown_with_the_papers_numbers(tmp_path, treebank_dir):
    languages = ("dutch", "slovene")
    found = run("matrix-tree", tmp_path, languages=languages, learners=("perceptron",), data=treebank_dir)
    trainings = found.report.tables[0]
    assert [row[0] for row in trainings.rows] == ["Dutch, perceptron", "Slovene, perceptron"]
    assert trainings.rows[0][5:] == ["77.17", "78.83"]
    assert any(note.startswith("Slovene: ") for note in found.report.notes)
    gold = list(islice(arbora.read(treebank_dir / LANGUAGES["dutch"].test), 50))
    predicted = list(arbora.read(tmp_path / "predictions" / "dutch-perceptron-nonprojective.conllu"))
    assert f"{evaluate(gold, predicted, punctuation='form').conllx.uas:.2f}" == trainings.rows[0][2]
