"""The curl lines of the guide, sent to a real server."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

for package in ("msgspec", "starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"arbora serve needs {package} (extra: serve)")

import pipeline_toys  # noqa: E402
from cli.test_serve import served  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
LINES = [
    line
    for name in ("other-tools.md", "serve.md")
    for line in re.findall(r"^\$ (curl .*)$", (DOCS / name).read_text(), flags=re.MULTILINE)
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_lines_are_answered(tmp_path):
    model = tmp_path / "english.arbora"
    pipeline_toys.trained().save(model)
    assert len(LINES) > 10
    with served(model, "--models", str(tmp_path / "models"), "--quiet") as (_, port):
        for line in LINES:
            command = line.replace("localhost:8080", f"127.0.0.1:{port}")
            found = subprocess.run(["sh", "-c", command], capture_output=True, check=True, timeout=30)
            reply = json.loads(found.stdout)
            if "/process" in line:
                assert "She" in reply["result"]
            elif "/start" in line:
                assert reply["status"] == "success", line
            else:  # the IDs of the guide are not those of a task
                assert "error" not in reply or "M" in line or "T" in line, line
