"""The study of Pegasos-DP."""

from itertools import islice

import numpy as np
from studies_toys import Notes, run

import arbora
from arbora.data.synthetic import generate
from arbora.evaluation.attachment import evaluate
from arbora_studies import pegasos
from arbora_studies.runner import Options, Runner
from arbora_studies.treebanks import LANGUAGES


def test_every_system_has_a_row(finished):
    overview, details = finished("pegasos").report.tables
    titles = [system.title for system in pegasos.SYSTEMS.values()]
    assert [row[0] for row in overview.rows] == [row[0] for row in details.rows] == titles
    assert [row[5] for row in details.rows].count("best") == 1


def test_scores_are_those_of_arbora_eval(finished):
    found = finished("pegasos")
    gold = list(generate(pegasos.QUICK_RULES.sentences[1], seed=2))
    rows = next(iter(found.tables.values()))
    for key, row in zip(pegasos.SYSTEMS, rows, strict=True):
        predicted = list(arbora.read(found.folder / "predictions" / f"synthetic-{key}.conllu"))
        scores = evaluate(gold, predicted, punctuation="form")
        assert row["Synthetic, ours"] == scores.nopunct.uas == scores.conllx.uas
        assert {label for sentence in predicted for label in sentence.deprels} == {"_"}


def test_parameters_are_chosen_without_test_data(tmp_path):
    runner = Runner("test", Options(output=tmp_path, quick=True), Notes())
    contest = pegasos.LanguageContest(runner, "synthetic")
    contest.choosing.material.test = contest.testing.parts = None
    choice = contest.choose(pegasos.SYSTEMS["pegasos"])
    assert choice.parameters["lam"] in pegasos.QUICK_SEARCHES["pegasos"].grid["lam"]
    slack = contest.choose(pegasos.SYSTEMS["one-slack"])
    assert slack.epochs == len(slack.points) == pegasos.QUICK_SEARCHES["one_slack"].epochs


def test_real_treebanks_are_shown_with_the_papers_numbers(tmp_path, treebank_dir):
    found = run("pegasos", tmp_path, languages=("danish", "dutch"), learners=("mira",), data=treebank_dir)
    overview = found.report.tables[0]
    shown = [f"{language}, {whose}" for language in ("Danish", "Dutch") for whose in ("ours", "paper")]
    assert overview.headings == ["system", *shown]
    assert (overview.rows[0][2], overview.rows[0][4]) == ("90.2", "83.9")
    assert any(note.startswith("Dutch: ") for note in found.report.notes)
    gold = list(islice(arbora.read(treebank_dir / LANGUAGES["danish"].test), 50))
    predicted = list(arbora.read(tmp_path / "predictions" / "danish-mira.conllx"))
    assert f"{evaluate(gold, predicted).nopunct.uas:.2f}" == overview.rows[0][1]


def test_the_papers_numbers_are_complete():
    for system in pegasos.SYSTEMS.values():
        assert set(system.published) == set(pegasos.PegasosStudy.treebanks)
    assert pegasos.SYSTEMS["pegasos-averaged"].published["danish"] == 91.0
    assert LANGUAGES["danish"].published
    assert np.isclose(sorted(pegasos.LAMBDAS), [1e-4, 1e-3, 3.3e-3, 1e-2, 3.3e-2]).all()
