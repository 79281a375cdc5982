"""Mutated model files are rejected, or work: a few of those that `make fuzz-models` tries."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "fuzz" / "fuzz_models.py"


def test_mutated_models_are_rejected_or_work():
    command = [sys.executable, SCRIPT, "--count", "150", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
