"""`arbora tune`: tables, files of settings, and errors."""

import json
import tomllib

import pytest

from arbora.cli.progress import TerminalProgress
from arbora.settings import load_config
from arbora.training import TrainConfig

SMALL = ("-p", "tree_bits=12", "-p", "label_bits=12", "--order", 1, "--epochs", 2)


def test_tune_prints_a_table_and_writes_settings(arbora, synthetic, tmp_path):
    best = tmp_path / "best.toml"
    result = arbora(
        "tune", synthetic[0], "--dev", synthetic[1], *SMALL, "-o", best,
        "--grid", "C=1e-9,0.1", "--grid", "weights=last,averaged",
    )  # fmt: skip
    assert result.status == 0
    header, *rows = (line.split() for line in result.stdout.splitlines())
    assert header == ["C", "weights", "LAS", "UAS", "epoch", "seconds"]
    assert [float(row[2]) for row in rows[:4]] == sorted((float(row[2]) for row in rows[:4]), reverse=True)
    assert rows[-1][:3] == ["best:", "-p", "C=0.1"]
    assert "C=0.1 weights=last: LAS" in result.stderr
    config = load_config(best, TrainConfig)
    assert config.parameters == {"epochs": 2, "C": 0.1}
    model = tmp_path / "m.arbora"
    trained = arbora(
        "train",
        synthetic[0],
        "--dev",
        synthetic[1],
        "--config",
        best,
        "-o",
        model,
        "--json",
    )
    assert json.loads(trained.stdout)["dev"]["las"] == pytest.approx(float(rows[0][2]), abs=0.005)


def test_folds_and_json(arbora, synthetic):
    result = arbora("tune", synthetic[1], *SMALL, "--grid", "C=0.01", "--folds", 2, "--json", "--quiet")
    assert (result.status, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert len(found["trials"][0]["epochs"]) == 2
    assert found["best"]["order"] == 1
    plain = arbora("tune", synthetic[1], *SMALL, "--grid", "C=0.01", "--folds", 2)
    assert " ±" in plain.stdout
    toml = arbora("tune", synthetic[1], *SMALL, "--grid", "C=0.01", "--folds", 2, "-o", "-")
    assert tomllib.loads(toml.stdout)["order"] == 1


def test_ctrl_c_keeps_complete_trials(arbora, synthetic, monkeypatch):
    ended = []

    def stop(self, result=""):
        ended.extend([result] if result else [])
        if result and len(ended) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(TerminalProgress, "end", stop)
    result = arbora("tune", synthetic[0], "--dev", synthetic[1], *SMALL, "--grid", "C=0.01,0.1,1")
    assert result.status == 130
    assert "stopped by Ctrl-C after 2 complete trials" in result.stderr
    assert "best: -p C=0.01" in result.stdout


def test_wrong_command_lines(arbora, synthetic):
    for options, told in {
        (): "missing option '--grid'",
        ("--grid", "C"): "expected NAME=VALUE",
        ("--grid", "D=1"): "with the learner passive_aggressive: unknown setting 'D'",
        ("--grid", "learner=mira,pegasos", "-p", "C=1"): "-p C=1: pegasos, which --grid selects, has no",
        ("--grid", "C=1", "-o", synthetic[0]): "the output is also an input",
        ("--grid", "C=1,1"): "expected values that differ",
        ("--grid", "C=,"): "at least one value",
        ("--grid", "C=1", "--grid", "C=2"): "given twice",
        ("--grid", "C=1", "--folds", "1"): "invalid value for '--folds'",
        ("--grid", "C=1", "--folds", "900"): "folds: expected at least 2",
        ("--grid", "C=1", "--folds", "3", "--dev", synthetic[1]): "--folds has no effect with a dev set",
        ("--grid", "C=1", "-o", "-", "--json"): "both write to stdout",
        ("--grid", "C=1", "--workers", "0"): "invalid value for '--workers'",
        ("--grid", "C=1", "--workers", "2", "--engine", "slurm"): "unknown engine 'slurm'",
        ("--grid", "C=1", "--workers", "2", "--address", "auto"): "address: the engine local has none",
        ("--grid", "C=1", "--address", "auto"): "address: the engine local has none",
        ("--grid", "k=2", "--learner", "mira", "--dev", synthetic[1], "-p", "order=2"): "needs kbest",
    }.items():
        result = arbora("tune", synthetic[0], *options)
        assert (result.status, result.stdout) == (2, ""), options
        assert told in result.stderr
    result = arbora("tune", "/dev/null", "--grid", "C=1")
    assert result.status == 1
    assert "has no words" in result.stderr


def test_options_apply_to_all_learners(arbora, synthetic):
    result = arbora(
        "tune", synthetic[0], "--dev", synthetic[1], "-p", "tree_bits=12", "-p", "label_bits=12",
        "--order", 1, "--epochs", 1, "--grid", "learner=mira,passive_aggressive", "--json", "--quiet",
    )  # fmt: skip
    trials = json.loads(result.stdout)["trials"]
    assert [trial["config"]["parameters"] for trial in trials] == [{"epochs": 1}] * 2
    assert [trial["epochs"] for trial in trials] == [[1], [1]]
