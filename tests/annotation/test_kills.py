"""A server that is killed while edits arrive loses no acknowledged decision (see `make kill-annotators`)."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "fuzz" / "kill_annotators.py"


def test_killed_servers_lose_no_decision():
    done = subprocess.run([sys.executable, SCRIPT, "--kills", "3"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
