"""Fixtures that many tests share: our own small treebank, and the real ones where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def small_treebank() -> Path:
    """A dozen invented sentences with everything that CoNLL-U knows."""
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
