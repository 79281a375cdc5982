"""Trainings that are killed go on to the same bytes; two trainings do not write one model."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.errors import InputError
from arbora.storage.locks import locked

SCRIPT = Path(__file__).parents[1] / "fuzz" / "kill_trainings.py"


def test_killed_trainings_resume_to_the_same_bytes():
    options = ("--kills", "3", "--sentences", "40", "--kinds", "transition", "pipeline")
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_locked_file_cannot_be_locked_again(tmp_path):
    path = tmp_path / "m.arbora"
    with locked(path):
        with pytest.raises(InputError, match=r"m\.arbora"), locked(str(path)):
            pass
        with locked(tmp_path / "other.arbora"):
            pass
        (tmp_path / "link.arbora").symlink_to(path)
        with pytest.raises(InputError), locked(tmp_path / "link.arbora"):
            pass
    with locked(path):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["link.arbora"]


def test_old_temporary_files_of_a_locked_file_are_removed(tmp_path):
    names = [".m.arbora.0a1b2c3d.tmp", ".m.arbora.99999999.tmp", ".n.arbora.0a1b2c3d.tmp", ".m.arbora.x.tmp"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in names[:1] + names[2:]:
        os.utime(tmp_path / name, (0, 0))
    with locked(tmp_path / "m.arbora"):
        pass
    assert {each.name for each in tmp_path.iterdir()} == {*names[1:]}


def test_devices_are_not_locked():
    with locked("/dev/null"), locked("/dev/null"):
        pass


def test_a_second_training_of_the_same_model_is_rejected(arbora, tmp_path):
    train, model = tmp_path / "train.conllu", tmp_path / "m.arbora"
    treebank.write(generate(60, seed=1), train)
    command = [sys.executable, "-m", "arbora", "train", train, "-o", model, "--epochs", "1000000"]
    command += ["--parser", "graph", "-p", "only=parser", "--dev", train, "-p", "patience=0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not (tmp_path / ".m.arbora.lock").exists():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        done = arbora("train", train, "-o", model, "--parser", "graph", "--quiet")
        assert (done.status, model.exists()) == (1, False)
        assert "m.arbora" in done.stderr
        done = arbora("induce", train, "-o", model, "--model", "right-branching", "--quiet")
        assert done.status == 1
        process.send_signal(signal.SIGKILL)
    # The system has released the lock.
    done = arbora("induce", train, "-o", model, "--model", "right-branching", "--only", "parser", "--quiet")
    assert done.status == 0, done.stderr
    assert model.exists()
    assert not (tmp_path / ".m.arbora.lock").exists()
