"""The table of character classes is what its script makes of Unicode."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "core" / "text" / "segment"


def test_the_table_is_what_the_script_writes():
    table = (FOLDER / "characters_table.inc").read_text(encoding="utf-8")
    if f"from Unicode {unicodedata.unidata_version}." not in table:
        pytest.skip(f"this Python knows another Unicode, {unicodedata.unidata_version}")
    command = [sys.executable, str(FOLDER / "make_characters.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == table
