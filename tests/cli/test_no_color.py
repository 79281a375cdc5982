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


@pytest.fixture(scope="module")
def in_full(tmp_path_factory):
    path = tmp_path_factory.mktemp("no_color") / "x.conllu"
    treebank.write(generate(5, seed=1), path)
    return lambda arguments: [str(path) if part == FILE else part for part in arguments]


@pytest.fixture(scope="module")
def shown(show_in_terminal, in_full):
    """What a terminal is sent for each line, by the value of NO_COLOR."""

    def sent(no_color):
        ends = show_in_terminal([in_full(line) for line in LINES], NO_COLOR=no_color)
        assert {status for status, _ in ends} == {0}
        return dict(zip(LINES, [text for _, text in ends], strict=True))

    return {no_color: sent(no_color) for no_color in ("", "1")}


@pytest.mark.parametrize("arguments", LINES, ids=" ".join)
def test_no_escape_codes_in_output(arguments, shown):
    plain, styled = shown["1"][arguments], shown[""][arguments]  # empty is as good as not set
    assert plain
    assert ESCAPE not in plain
    assert ESCAPE in styled
    assert re.sub(r"\x1b\[[0-9;]*m", "", styled) == plain


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_no_escape_codes_in_errors(arguments, run_in_terminal, in_full):
    told = run_in_terminal([*COMMAND, *in_full(arguments)], status=MISTAKES[arguments], NO_COLOR="1")
    assert told.startswith("error: ")
    assert ESCAPE not in told
