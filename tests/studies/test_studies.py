"""What holds for every study: it writes its tables, resumes, and rejects unknown names."""

import sys

import pytest
from studies_toys import Notes, run, without_times

from arbora.errors import DataError, InputError
from arbora_studies.catalog import studies
from arbora_studies.report import FIGURE
from arbora_studies.study import Study
from arbora_studies.treebanks import LANGUAGES, SYNTHETIC

CELLS = {"pegasos": 10, "matrix-tree": 16, "hypergraph": 8, "logistic": 98, "crfae": 6}
every_study = pytest.mark.parametrize("name", list(studies))


def test_every_study_is_covered():
    assert list(CELLS) == list(studies)


@every_study
def test_a_quick_run_writes_everything(finished, name):
    folder, report, notes = finished(name)
    assert len(notes.computed) == len(set(notes.computed)) == CELLS[name]
    files = {path.name for path in report.files}
    has_figure = studies.create(name).has_figure
    assert files == {"README.md", "results.json", *([f"{FIGURE}.svg", f"{FIGURE}.png"] if has_figure else [])}
    assert all(path.stat().st_size > 0 for path in report.files)
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert f"`arbora reproduce {name} " in page
    assert "--quick" in page
    assert all(table.to_markdown() in page for table in report.tables)
    assert all(note in page for note in report.notes)
    assert (f"({FIGURE}.svg)" in page) == has_figure


@every_study
def test_results_hold_the_tables_without_rounding(finished, name):
    found = finished(name)
    assert list(found.tables) == [table.title for table in found.report.tables]
    for table, rows in zip(found.report.tables, found.tables.values(), strict=True):
        assert len(rows) == len(table.rows)
        for row, texts in zip(rows, table.rows, strict=True):
            assert set(row) <= set(table.headings)
            assert next(iter(row.values())) == texts[0]


@every_study
def test_a_second_run_computes_nothing(finished, name):
    folder, report, notes = finished(name)
    before = {path.name: path.read_bytes() for path in report.files}
    again = run(name, folder)
    assert again.notes.computed == []
    assert set(again.notes.stored) == set(notes.computed)
    assert again.report.tables == report.tables
    assert {path.name: path.read_bytes() for path in again.report.files} == before


@pytest.mark.parametrize("name", ["pegasos", "hypergraph"])
def test_an_interrupted_study_resumes(finished, tmp_path, name):
    _, report, notes = finished(name)
    with pytest.raises(KeyboardInterrupt):
        run(name, tmp_path, Notes(stop_at=4))
    rest = run(name, tmp_path)
    assert rest.notes.computed == notes.computed[3:]
    assert without_times(rest.report.tables) == without_times(report.tables)


def test_some_learners_run_again_with_another_seed_but_not_with_more_threads(tmp_path):
    first = run("pegasos", tmp_path, learners=("mira",))
    assert [row[0] for row in first.report.tables[0].rows] == ["MIRA (averaged)"]
    assert len(first.notes.computed) == 2
    assert run("pegasos", tmp_path, learners=("mira",), threads=2).notes.computed == []
    assert run("pegasos", tmp_path, learners=("mira",), seed=1).notes.computed == first.notes.computed


@every_study
@pytest.mark.parametrize("option", ["languages", "learners"])
def test_unknown_names_are_rejected(tmp_path, name, option):
    with pytest.raises(InputError):
        run(name, tmp_path / "out", **{option: ("nonesuch",)})
    assert not (tmp_path / "out").exists()


@every_study
def test_a_missing_treebank_is_rejected(tmp_path, name):
    language = studies.create(name).treebanks[0]
    for data in (None, tmp_path):
        with pytest.raises(InputError, match=LANGUAGES[language].train):
            run(name, tmp_path / "out", languages=(language,), data=data)


@every_study
def test_languages_are_known_and_end_with_synthetic_sentences(name):
    study = studies.create(name)
    assert isinstance(study, Study)
    assert list(study.languages) == [*study.treebanks, SYNTHETIC]
    assert set(study.usual) <= set(study.learners)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"study": "pegasos", "cells": {"a": {}}}'])
def test_other_files_are_not_overwritten(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        run("pegasos", tmp_path)
    assert error.value.source == str(path)
    assert path.read_text() == text


def test_results_of_another_study_are_not_overwritten(tmp_path):
    (tmp_path / "results.json").write_text('{"study": "other", "cells": {}}')
    with pytest.raises(DataError) as error:
        run("pegasos", tmp_path)
    assert "'other'" in error.value.what


def test_without_matplotlib_nothing_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError):
        run("pegasos", tmp_path)
    assert list(tmp_path.iterdir()) == []
