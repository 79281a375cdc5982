"""`arbora ensemble`: one model of several."""

import json

import pytest

from arbora.data.treebank import ColumnReader
from arbora.parsing.ensemble_weights import fit_weights
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import load
from arbora.storage.locks import locked
from arbora.training import train


@pytest.fixture(scope="module")
def tagging(synthetic, tmp_path_factory):
    """A model that tags words before it parses them."""
    path = tmp_path_factory.mktemp("tagging") / "tagging.arbora"
    small = {"tree_bits": 12, "label_bits": 12, "order": 2, "parameters": {"epochs": 2}}
    trained = train(*synthetic, config=small)
    trained.pipeline.about["data"] = [{"name": "synthetic", "licence": "CC0", "attribution": None}]
    trained.save(path)
    return path


def test_weights_are_fitted_on_dev(arbora, model, tagging, synthetic, tmp_path):
    both = tmp_path / "both.arbora"
    result = arbora("ensemble", tagging, model, "--dev", synthetic[1], "-o", both)
    assert result.status == 0
    header, *rows = (line.split() for line in result.stdout.splitlines())
    assert header == ["weight", "LAS", "UAS"]
    assert [row[0] for row in rows] == [str(tagging), str(model), "together"]
    assert "fitting weights on" in result.stderr
    made = load(both)
    assert made.parts == load(tagging).parts  # tags and lemmas are those of the first
    assert made.about["data"] == load(tagging).about["data"]
    dev = ColumnReader(synthetic[1]).read_all()
    assert made.parser.search.weights == fit_weights([Parser.load(tagging), Parser.load(model)], dev)
    assert [float(row[1]) for row in rows[:2]] == pytest.approx(made.parser.search.weights, abs=1e-3)
    weights = ",".join(map(str, made.parser.search.weights))
    expected = arbora("parse", synthetic[1], "-m", tagging, "-m", model, "--weights", weights, "-q")
    assert arbora("parse", synthetic[1], "-m", both, "-q") == expected
    assert float(rows[2][1]) == pytest.approx(made.about["dev"]["las"], abs=0.01)
    assert "member\tweight" in arbora("info", both).stdout


def test_a_better_tagger_is_noted(arbora, tagging, synthetic, tmp_path):
    poor = {
        "tagger": {"upos": {"bits": 8, "parameters": {"epochs": 1}}},
        "order": 1,
        "parameters": {"epochs": 1},
    }
    train(*synthetic, config={"parser": "graph", "tree_bits": 12, "label_bits": 12, **poor}).save(
        tmp_path / "poor"
    )
    options = ("--dev", synthetic[1], "--retag", "-o", tmp_path / "both.arbora")
    assert "tags better" in arbora("ensemble", tmp_path / "poor", tagging, *options).stderr
    assert "tags better" not in arbora("ensemble", tagging, tmp_path / "poor", *options).stderr


def test_models_that_are_being_written_are_not_replaced(arbora, model, tagging, synthetic, tmp_path):
    both = tmp_path / "both.arbora"
    with locked(both):
        assert arbora("ensemble", tagging, model, "--dev", synthetic[1], "-o", both).status == 1
    assert not both.exists()


def test_weights_can_be_given(arbora, model, tagging, synthetic, tmp_path):
    both = tmp_path / "both.arbora"
    plain = arbora("ensemble", model, tagging, "--weights", "3,1", "-o", both)
    assert (plain.status, plain.stderr) == (0, "")
    assert [line.split()[-1] for line in plain.stdout.splitlines()] == ["weight", "0.750", "0.250"]
    assert load(both).parts == ("parser",)
    options = ("--weights", "3,1", "--dev", synthetic[1], "-o", both, "--json", "-q")
    result = arbora("ensemble", tagging, model, *options, "--retag")
    assert (result.status, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert [each["weight"] for each in found["members"]] == [0.75, 0.25]
    assert found["dev"].keys() == found["members"][0]["dev"].keys() == {"las", "uas"}
    gold = json.loads(arbora("ensemble", tagging, model, *options).stdout)
    assert gold["members"][1]["dev"] != found["members"][1]["dev"]  # it reads tags


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["MODEL", "--weights", "1"], 2, "two or more models"),
        (["MODEL", "MODEL", "--weights", "1,1"], 2, "all different"),
        (["MODEL", "OTHER"], 2, "missing option '--dev'"),
        (["MODEL", "OTHER", "--weights", "1,1", "--retag"], 2, "needs --dev"),
        (["MODEL", "OTHER", "--weights", "1"], 2, "weights: expected 2 positive numbers"),
        (["MODEL", "OTHER", "--dev", "BARE"], 1, "no word with a head"),
        (["MODEL", "OTHER", "--dev", "DEV", "--retag"], 1, "has no tagger"),
        (["MODEL", "DEV", "--dev", "DEV"], 1, "expected"),
    ],
)
def test_errors(arbora, options, status, message, model, tagging, synthetic, tmp_path):
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\ta\ta\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    names = {"MODEL": model, "OTHER": tagging, "DEV": synthetic[1], "BARE": bare}
    result = arbora("ensemble", *(names.get(each, each) for each in options), "-o", tmp_path / "m.arbora")
    assert result.status == status
    assert message in result.stderr
    assert not (tmp_path / "m.arbora").exists()
    result = arbora("ensemble", model, tagging, "--weights", "1,1", "-o", model)
    assert (result.status, "the output is also an input" in result.stderr) == (2, True)
