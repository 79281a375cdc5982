import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arbora.cli.demo import TEXT, report
from arbora.pipeline.pipeline import load

COMMAND = [sys.executable, "-m", "arbora", "demo"]


@pytest.fixture(scope="module")
def nlp():
    return load()


def test_the_report_matches_the_model(nlp):
    text = report(nlp)
    sentences = nlp(TEXT)
    assert len(sentences) == 2
    for parsed in sentences:
        assert f"{parsed.sentence.text}  (probability {100 * parsed.probability:.1f}%)" in text
        for word in parsed:
            assert re.search(rf" {re.escape(word.form)} +{re.escape(word.deprel)} +0?\.?\d", text), word
    for rank, tree in enumerate(sentences[0].kbest(3), start=1):
        assert re.search(rf"^{rank}\. +{100 * tree.probability:.1f}%", text, re.MULTILINE)
    assert "is nmod of" in text or "is obl of" in text  # the other reading
    assert report(nlp, ascii_only=True).isascii()
    assert max(map(len, report(nlp, width=40).splitlines()[2:12])) <= 100


def test_a_pipe_gets_plain_text(nlp):
    piped = subprocess.run(
        COMMAND, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, timeout=60, check=True
    )
    assert piped.stdout.decode() == report(nlp)
    plain = subprocess.run(
        COMMAND, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=60, check=True
    )
    assert plain.stdout.decode("ascii") == report(nlp, ascii_only=True)


def test_a_terminal_gets_colour_and_nothing_else(run_in_terminal, nlp):
    drawn = run_in_terminal(COMMAND, COLUMNS="100")
    assert "\x1b[" in drawn
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn) == report(nlp, width=100)


def test_the_first_tree_of_the_readme_is_current(arbora):
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    text = "She saw the man with the telescope."
    shown = readme.partition(f'$ arbora parse "{text}" --probabilities\n')[2].partition("```")[0]
    assert (
        arbora("parse", text, "--probabilities", "--format", "tree", "-q").stdout.rstrip() == shown.rstrip()
    )
