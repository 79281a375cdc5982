"""With NO_COLOR set a terminal gets no escape codes: no colours, and nothing bold, dim or underlined."""

import re
import sys

import pytest

from arbora.data import treebank
from arbora.data.synthetic import generate

COMMAND = [sys.executable, "-m", "arbora"]
FILE = "FILE"  # stands for a treebank's path
LINES = [
    ("--help",),
    ("convert", "--help"),
    ("demo",),
    ("list", "families"),
    ("info", "family", "projective"),
    ("stats", FILE),
    ("eval", FILE, FILE, "--by", "label"),
]
MISTAKES = {("stats", "no-such-file"): 2, ("eval", FILE): 2, ("stats", "/proc/self/mem"): 1}
ESCAPE = "\x1b"


@pytest.fixture
def in_full(tmp_path):
    path = tmp_path / "x.conllu"
    treebank.write(generate(5, seed=1), path)
    return lambda arguments: [*COMMAND, *(str(path) if part == FILE else part for part in arguments)]


@pytest.mark.parametrize("arguments", LINES, ids=" ".join)
def test_no_codes_are_sent(arguments, run_in_terminal, in_full):
    command = in_full(arguments)
    plain = run_in_terminal(command, NO_COLOR="1")
    assert ESCAPE not in plain
    styled = run_in_terminal(command, NO_COLOR="")  # empty is as good as not set
    assert ESCAPE in styled
    assert re.sub(r"\x1b\[[0-9;]*m", "", styled) == plain


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_nor_are_they_with_errors(arguments, run_in_terminal, in_full):
    told = run_in_terminal(in_full(arguments), status=MISTAKES[arguments], NO_COLOR="1")
    assert told.startswith("error: ")
    assert ESCAPE not in told
