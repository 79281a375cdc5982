"""Corpora are parsed once, whoever is killed while they are (see `make kill-corpora`)."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "fuzz" / "kill_corpora.py"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("kind", "kills"), [("worker", 3), ("driver", 3), ("actor", 1), ("ray-driver", 1)])
def test_killed_runs_lose_nothing(kind, kills):
    if kind in ("actor", "ray-driver") and find_spec("ray") is None:
        pytest.skip("ray is not installed")
    options = ("--kills", str(kills), "--sentences", "600", "--kinds", kind)
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: {kills} kills" in done.stdout
