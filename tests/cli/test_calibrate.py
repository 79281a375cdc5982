"""`arbora calibrate`: the same trees, other probabilities."""

import json
from dataclasses import replace

import pytest

from arbora.data.treebank import ColumnReader
from arbora.parsing.calibration import fit_temperatures
from arbora.pipeline.pipeline import load
from arbora.search.request import Temperatures
from arbora.storage.locks import locked
from arbora.storage.model_file import read_model


@pytest.fixture(scope="module")
def overconfident(model, tmp_path_factory):
    """A model whose probabilities are far too high."""
    path = tmp_path_factory.mktemp("calibrate") / "sure.arbora"
    pipeline = load(model)
    parser = replace(pipeline.parser, calibration=Temperatures(trees=0.05), is_calibrated=True)
    replace(pipeline, parser=parser).save(path, quantized=True)
    return path


def test_only_the_calibration_changes(arbora, overconfident, synthetic, tmp_path):
    target = tmp_path / "new.arbora"
    result = arbora("calibrate", overconfident, synthetic[1], "-o", target, "--json")
    assert result.status == 0
    report = json.loads(result.stdout)
    errors = report["calibration_error"]
    assert errors["after"] < 0.5 * errors["before"]
    old, new = load(overconfident), load(target)
    expected = fit_temperatures(old.parser, ColumnReader(synthetic[1]).read_all())
    assert new.parser.calibration == expected
    assert new.parser.is_calibrated
    assert report["calibration"]["trees"] == expected.trees
    before, after = read_model(overconfident), read_model(target)
    assert before.tensors.keys() == after.tensors.keys()
    assert all((before.tensors[name] == after.tensors[name]).all() for name in before.tensors)
    parsed = [arbora("parse", synthetic[1], "-m", each, "-q").stdout for each in (overconfident, target)]
    assert parsed[0] == parsed[1]


def test_the_table_and_the_note(arbora, overconfident, synthetic, tmp_path):
    few = tmp_path / "few.conllu"
    few.write_text("\n\n".join(synthetic[1].read_text().split("\n\n")[:4]) + "\n\n")
    result = arbora("calibrate", overconfident, few, "-o", tmp_path / "new.arbora")
    assert result.status == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["before", "after"]
    assert "note: 4 sentences" in result.stderr


def test_models_that_are_being_written_are_not_replaced(arbora, overconfident, synthetic, tmp_path):
    target = tmp_path / "new.arbora"
    with locked(target):
        assert arbora("calibrate", overconfident, synthetic[1], "-o", target).status == 1
    assert not target.exists()


def test_what_cannot_be_calibrated(arbora, overconfident, synthetic, tmp_path):
    target = tmp_path / "new.arbora"
    one = tmp_path / "one.conllu"
    one.write_text(synthetic[1].read_text().partition("\n\n")[0] + "\n\n")
    assert arbora("calibrate", overconfident, one, "-o", target).status == 1
    assert arbora("calibrate", overconfident, synthetic[1], "-o", overconfident).status == 2
    assert arbora("calibrate", tmp_path / "none.arbora", synthetic[1], "-o", target).status == 2
    headless = tmp_path / "headless.conllu"
    headless.write_text("1\tone\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n" * 3)
    assert arbora("calibrate", overconfident, headless, "-o", target).status == 1
    assert not target.exists()
