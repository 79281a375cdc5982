"""docs/treebanks.md runs, from top to bottom."""

import doctest
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "treebanks.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("arbora").level
    try:
        failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    finally:
        logging.getLogger("arbora").setLevel(level)
    assert tried > 20
    assert failed == 0
    commands = re.findall(r"^\$ (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 7
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == 0, f"{command}\n{result.stderr}"
