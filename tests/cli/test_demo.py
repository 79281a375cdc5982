import os
import re
import subprocess
import sys

import numpy as np

from arbora.cli.demo import FORMS, LABELS, example_scores, report
from arbora.data.tree import Tree
from arbora.distribution import TreeDistribution

COMMAND = [sys.executable, "-m", "arbora", "demo"]


def test_the_example_has_crossing_arcs_and_real_doubt():
    trees = TreeDistribution(example_scores())
    best = Tree(trees.best.heads, [LABELS[label] for label in trees.best.labels[1:]], roots="single")
    assert best.nonprojective_arcs().any()
    assert 0.3 < np.exp(trees.log_prob(trees.best.heads, trees.best.labels)) < 0.7


def test_what_is_said_is_what_inference_says():
    text = report()
    trees = TreeDistribution(example_scores())
    for dep, form in enumerate(FORMS, start=1):
        share = 100 * trees.arc_marginals[trees.best.heads[dep], dep]
        assert re.search(rf" {re.escape(form)} +\w+ +{share:.1f}%", text)
    for rank, tree in enumerate(trees.kbest(3), start=1):
        share = 100 * np.exp(trees.log_prob(tree.heads, tree.labels))
        assert re.search(rf"^{rank}\. +{share:.1f}%", text, re.MULTILINE)
    assert f"{trees.entropy:.2f} nats" in text
    assert report(ascii_only=True).isascii()


def test_a_pipe_gets_plain_text():
    piped = subprocess.run(
        COMMAND, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, timeout=60, check=True
    )
    assert piped.stdout.decode() == report()
    plain = subprocess.run(
        COMMAND, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=60, check=True
    )
    assert plain.stdout.decode("ascii") == report(ascii_only=True)


def test_a_terminal_gets_colour_and_nothing_else(run_in_terminal):
    drawn = run_in_terminal(COMMAND)
    assert "\x1b[" in drawn
    assert re.sub(r"\x1b\[[0-9;]*m", "", drawn) == report()
