"""The verb `arbora reproduce`, which the package of studies adds, and the names it lists."""

import json
import sys
from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from arbora.cli import verbs
from arbora.cli.main import app
from arbora_studies.catalog import studies


@pytest.fixture
def installed(monkeypatch):
    """As if the package of studies were installed."""
    point = EntryPoint("reproduce", "arbora_studies.command:reproduce", verbs.GROUP)
    monkeypatch.setattr(verbs, "find_plugins", lambda: {"reproduce": point})


def invoke(*arguments, **more):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **more)


def test_the_verb_prints_the_tables(installed, finished):
    folder, report, _ = finished("pegasos")
    result = invoke("reproduce", "pegasos", "--quick", "-o", folder)
    assert result.exit_code == 0
    for table in report.tables:
        assert table.title in result.stdout
    assert "done before" in result.stderr
    assert "choosing" not in result.stdout


@pytest.mark.parametrize(
    "arguments", [["pegasus"], ["pegasos", "--languages", "latin"], ["pegasos", "-o", __file__]]
)
def test_wrong_arguments_are_rejected(installed, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert invoke("reproduce", *arguments).exit_code == 2


def test_verbs_of_other_packages_are_listed(installed):
    assert "reproduce" in invoke("--help").stdout
    assert "--quick" in invoke("reproduce", "--help").stdout


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(verbs, "find_plugins", dict)
    error = invoke("reproduce", "pegasos", standalone_mode=False).exception
    assert isinstance(error, typer.BadParameter)
    assert "pip install 'arbora-nlp[studies]'" in error.message
    assert "reproduce" not in invoke("--help").stdout


@pytest.mark.parametrize("arguments", [["list", "studies"], ["info", "study", "pegasos"]])
def test_without_the_package_studies_are_not_listed(monkeypatch, arguments):
    monkeypatch.setitem(sys.modules, "arbora_studies.catalog", None)
    error = invoke(*arguments, standalone_mode=False).exception
    assert isinstance(error, typer.BadParameter)
    assert "pip install 'arbora-nlp[studies]'" in error.message


def test_studies_are_listed():
    lines = invoke("list", "studies").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == list(studies)
    assert lines[1].startswith("pegasos\tlee-2010\t")


@pytest.mark.parametrize("name", list(studies))
def test_studies_are_described(name):
    described = json.loads(invoke("info", "study", name, "--json").stdout)
    study = studies.create(name)
    assert described["paper"] == study.paper
    assert described["languages"] == study.languages
    assert described["learners"] == study.learners


def test_an_unknown_study_is_rejected():
    assert "danish\tCoNLLX_Danish-DDT\n" in invoke("info", "study", "pegasos").stdout
    assert invoke("info", "study", "pegasus").exit_code == 2
