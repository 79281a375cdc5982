"""`arbora list` and `arbora info`."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from arbora.cli.list import KINDS
from arbora.cli.main import app
from arbora.parsing.ensemble import ensemble
from arbora.registry import families, features, learners, transition_features
from arbora.storage.model_file import write_model
from arbora.training import train


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_list_families_in_a_pipe():
    result = run("list", "families")
    assert result.exit_code == 0
    header, *rows = (line.split("\t") for line in result.stdout.splitlines())
    assert header[0] == "name"
    assert [row[0] for row in rows] == list(families)
    assert all(len(row) == len(header) for row in rows)


def test_list_families_as_json():
    described = json.loads(run("list", "families", "--json").stdout)
    assert [family["name"] for family in described] == list(families)
    assert described[-1]["exact"] == []
    assert described[-1]["approximate"] == ["argmax", "kbest"]


@pytest.mark.parametrize("name", list(families))
def test_info_about_every_family(name):
    text = run("info", "family", name)
    assert text.exit_code == 0
    assert f"name\t{name}" in text.stdout
    described = json.loads(run("info", "family", name, "--json").stdout)
    assert described["name"] == name
    assert described["about"].startswith(described["summary"])
    assert described["roots"] == ["single", "multi"]


def test_list_learners():
    header, *rows = (line.split("\t") for line in run("list", "learners").stdout.splitlines())
    assert header == ["name", "needs", "parameters", "what"]
    assert [row[0] for row in rows] == list(learners)
    described = json.loads(run("list", "learners", "--json").stdout)
    assert [learner["name"] for learner in described] == list(learners)
    assert all(learner["summary"] and learner["needs"] for learner in described)


@pytest.mark.parametrize("name", list(learners))
def test_info_about_every_learner(name):
    text = run("info", "learner", name)
    assert text.exit_code == 0
    assert f"name\t{name}\n" in text.stdout
    described = json.loads(run("info", "learner", name, "--json").stdout)
    assert described["about"].startswith(described["summary"])
    bibliography = Path(__file__).resolve().parents[2] / "docs" / "references.bib"
    assert f"{{{described['paper']}," in bibliography.read_text(encoding="utf-8")
    assert f"paper\t{described['paper']}\n" in text.stdout
    for parameter in described["parameters"]:
        row = [parameter["name"], str(parameter["default"]), parameter["range"], parameter["help"]]
        assert "\t".join(row) in text.stdout


def test_misspelt_names_are_status_2():
    for arguments, guess in (
        (("list", "familys"), "families"),
        (("info", "family", "projectiv"), "projective"),
        (("list", "learner"), "learners"),
        (("info", "learner", "pegasus"), "pegasos"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert f"did you mean '{guess}'" in " ".join(result.output.replace("│", "").split())


def test_a_terminal_gets_a_table(run_in_terminal):
    text = run_in_terminal([sys.executable, "-m", "arbora", "list", "families"])
    assert "\t" not in text
    assert all(name in text for name in families)


def test_features():
    header, *rows = (line.split("\t") for line in run("list", "features").stdout.splitlines())
    assert header == ["name", "templates", "what"]
    assert [row[0] for row in rows] == [*features, *transition_features]
    described = json.loads(run("list", "features", "--json").stdout)
    for name, each in zip(features, described, strict=False):
        made = features.create(name)
        counts = {part: len(templates) for part, templates in made.compiled.items() if templates}
        counts |= {group.name: len(group.compiled(labelled=True)) for group in made.contexts}
        assert {part: len(templates) for part, templates in each["templates"].items()} == counts
        assert json.loads(run("info", "features", name, "--json").stdout) == each
        assert f"arcs\t{each['templates']['arcs'][0]}\n" in run("info", "features", name).stdout
    assert run("info", "features", "graph-v0").exit_code == 2


def test_features_of_transition_parsers():
    for name in transition_features:
        each = json.loads(run("info", "features", name, "--json").stdout)
        compiled = transition_features.create(name).compiled
        about_labels = [*each["templates"]["labels"], *each["templates"].get("guide_labels", [])]
        assert len(about_labels) == len(compiled["labels"])
        assert f"moves\t{each['templates']['moves'][0]}\n" in run("info", "features", name).stdout


def test_parsers():
    header, *rows = (line.split("\t") for line in run("list", "parsers").stdout.splitlines())
    assert header == ["name", "features", "what"]
    described = json.loads(run("list", "parsers", "--json").stdout)
    assert (
        [row[0] for row in rows]
        == [each["name"] for each in described]
        == [
            "graph",
            "cube",
            "transition",
            "exact",
            "neural",
        ]
    )
    assert described[2]["defaults"]["features"] == "zhang-nivre-v1"
    assert "neural.units" in [each["name"] for each in described[4]["parameters"]]


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.help])
def test_info_about_every_choice(kind):
    """Every kind from the registry is listed and described in the same way."""
    if kind == "studies":
        pytest.importorskip("arbora_studies")
    listed = json.loads(run("list", kind, "--json").stdout)
    assert [each["name"] for each in listed] == list(KINDS[kind].names())
    for each in listed:
        assert each["summary"]
        assert json.loads(run("info", KINDS[kind].singular, each["name"], "--json").stdout) == each
        assert run("info", KINDS[kind].singular, each["name"]).exit_code == 0
    assert run("info", KINDS[kind].singular, "no-such-name").exit_code == 2


def test_a_model(arbora, model, parser):
    for arguments in (("info", model, "--all"), ("info", "model", model, "--all")):
        result = arbora(*arguments)
        assert (result.status, result.stderr) == (0, "")
        rows = dict(line.split("\t", 1) for line in result.stdout.splitlines() if line)
        assert rows["kind"] == "graph parser"
        assert ", trees " in rows["temperatures"]
        assert rows["settings.order"] == "1"
        assert rows["config.parameters.epochs"] == "2"
        assert rows["dev"].startswith("LAS ")
        assert rows["epochs"].startswith("labels 5 (kept 5), pruner 3 (kept 3), tree 2 (kept ")
        assert rows["labels"].startswith(f"{len(parser.names.labels)}: acl ") or "float32" in rows["labels"]
        assert rows["tree"] == "float32\t4,096\t16,384"
    found = json.loads(arbora("info", model, "--json").stdout)
    assert found["about"]["dev"] == parser.about["dev"]
    assert found["bytes"] == model.stat().st_size
    assert found["tensors"]["tree"] == {"type": "float32", "shape": [4096], "bytes": 16384}


@pytest.mark.parametrize("kind", ["cube", "transition"])
def test_info_about_other_parsers(arbora, kind, synthetic, tmp_path):
    settings = {"parser": kind, "tree_bits": 12, "label_bits": 12, "parameters": {"epochs": 1}}
    train(synthetic[0], config=settings).parser.save(tmp_path / "m")
    rows = dict(line.split("\t", 1) for line in arbora("info", tmp_path / "m").stdout.splitlines() if line)
    assert rows["kind"] == f"{kind} parser"
    assert rows["settings"].startswith(f"parser {kind}, ")
    assert rows[f"{kind}.beam"] == {"cube": "6", "transition": "1"}[kind]
    assert rows["temperatures"].startswith("not fitted")
    assert ("pruner" in rows) == (kind == "cube")


def test_info_about_an_ensemble(arbora, parser, tmp_path):
    pair = ensemble([parser, parser], [3, 1])
    pair.save(tmp_path / "m")
    shown = arbora("info", tmp_path / "m").stdout
    assert "kind\tensemble parser\n" in shown
    assert "member\tweight 0.750, graph parser, dev: LAS" in shown
    assert "member\tweight 0.250, graph parser, dev: LAS" in shown
    tensors, metadata = pair.to_parts()
    for weights, expected in (([1, "x"], "no weight"), ("x", "kind"), ([], "kind")):
        write_model(tmp_path / "m", tensors, {**metadata, "weights": weights})
        assert expected in arbora("info", tmp_path / "m").stdout


def test_info_rejects_files_that_are_not_models(arbora, small_treebank):
    result = arbora("info", small_treebank)
    assert (result.status, result.stdout) == (1, "")
    assert "a text file" in result.stderr
    result = arbora("info", "no.arbora")
    assert (result.status, result.stdout) == (2, "")
    assert "no.arbora: no such file, model or kind" in result.stderr


def test_a_model_on_one_screen(arbora, model, tmp_path, run_in_terminal):
    assert len(arbora("info", "english").stdout.splitlines()) < 28
    shown = run_in_terminal([sys.executable, "-m", "arbora", "info", "english"], COLUMNS="80")
    assert len(shown.splitlines()) < 45
    rows = dict(line.split("\t", 1) for line in arbora("info", model).stdout.splitlines() if line)
    assert rows["settings"].startswith(
        "parser graph, trees nonprojective, roots single, order 1, labels staged, features "
    )
    assert rows["settings"].endswith(", learner passive_aggressive")
    assert "features pruner-v1" in rows["pruner"]
    assert rows["more"].startswith("--all: every setting, all labels, ")
    assert not any(name.startswith("config.") for name in rows)
    assert len(arbora("info", "english", "--all").stdout.splitlines()) > 100


def test_check_compares_the_checksum(arbora, model, tmp_path):
    assert "checksum\tright\n" in arbora("info", model, "--check").stdout
    assert json.loads(arbora("info", model, "--check", "--json").stdout)["checked"] is True
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    (tmp_path / "bad.arbora").write_bytes(data)
    assert arbora("info", tmp_path / "bad.arbora").status == 0
    result = arbora("info", tmp_path / "bad.arbora", "--check")
    assert (result.status, result.stdout) == (1, "")
    assert "data: expected the checksum" in result.stderr


def test_the_bundled_model_by_name(arbora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert arbora("info", "english").stdout.startswith("model\tenglish\nkind\tpipeline\n")
    by_name = arbora("parse", "She reads books.", "-m", "english", "-q")
    assert by_name == arbora("parse", "She reads books.", "-q")
    result = arbora("parse", "She reads books.", "-m", "danish")
    assert result.status == 2
    assert "danish: no such file" in result.stderr
    assert "english" in result.stderr


def test_mira_needs_kbest_for_several_trees(arbora):
    assert "argmax; kbest where k > 1" in arbora("list", "learners").stdout
    assert "argmax; kbest where k > 1" in arbora("info", "learner", "mira").stdout
