"""Fixtures that many tests share: our own small treebank, and the real ones where they are."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from arbora.data import treebank
from arbora.data.sentence import Sentence

ROOT = Path(__file__).resolve().parent.parent
# One commit gives one result: no random examples, and no limits of time.
settings.register_profile(
    "arbora", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("arbora")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, so PyTorch must not use all cores


@pytest.fixture(scope="session")
def small_treebank() -> Path:
    """A dozen synthetic sentences with everything that CoNLL-U knows."""
    return ROOT / "tests" / "data" / "small.conllu"


@pytest.fixture(scope="session")
def treebank_dir() -> Path:
    """Where the real treebanks are: $ARBORA_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("ARBORA_DATA")
    path = Path(given) if given else ROOT.parent / "shared" / "data"
    if not any(path.glob("*/*.conll*")):
        pytest.skip(f"no treebanks in {path}; set ARBORA_DATA to a directory of <treebank>/*.conllu")
    return path


@pytest.fixture(scope="session")
def treebank_files(treebank_dir: Path) -> list[Path]:
    """All real treebank files, smallest first."""
    return sorted(treebank_dir.glob("*/*.conll*"), key=lambda path: path.stat().st_size)


@pytest.fixture(scope="session")
def real_sentences(treebank_dir: Path) -> Callable[..., list[Sentence]]:
    """The first sentences of a real treebank; skips the test where that file is not there."""

    def first(folder: str, name: str, count: int | None = None) -> list[Sentence]:
        path = treebank_dir / folder / name
        if not path.exists():
            pytest.skip(f"needs {folder}/{name} in {treebank_dir}; set ARBORA_DATA to where it is")
        return list(islice(treebank.read(path), count))

    return first


@pytest.fixture(scope="session")
def run_in_terminal() -> Callable[..., str]:
    """Run a command as in a terminal and give back what it shows there, with more set in its environment."""

    def run(command: list[str], *, status: int = 0, **more: str) -> str:
        leader, follower = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "PYTHONUTF8": "1", "NO_COLOR": "", **more}
        with subprocess.Popen(command, stdout=follower, stderr=follower, env=environment) as process:
            os.close(follower)
            shown = b""
            while part := _read_terminal(leader):
                shown += part
        os.close(leader)
        assert process.returncode == status
        return shown.decode().replace("\r\n", "\n")

    return run


BREAK = "=== next ==="
# All lines in one process: most of the time of each is Python's to start.
ONE_BY_ONE = f"""
import json, sys
from arbora.cli.main import run
for line in json.loads(sys.argv[1]):
    sys.argv = ["arbora", *line]
    try:
        run()
    except SystemExit as end:
        print({BREAK!r}, end.code or 0, flush=True)
"""


@pytest.fixture(scope="session")
def show_in_terminal(run_in_terminal) -> Callable[..., list[tuple[int, str]]]:
    """Run `arbora` with each list of arguments as in a terminal; the statuses, and what it shows there."""

    def show(lines: list[list[str]], **more: str) -> list[tuple[int, str]]:
        shown = run_in_terminal([sys.executable, "-c", ONE_BY_ONE, json.dumps(lines)], **more)
        *texts, rest = re.split(rf"{BREAK} (\d+)\n", shown)
        assert rest == ""
        return [(int(status), text) for text, status in zip(texts[::2], texts[1::2], strict=True)]

    return show


def _read_terminal(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # the other end is closed
        return b""
