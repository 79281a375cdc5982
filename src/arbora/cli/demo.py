"""`arbora demo`: decode and draw a small built-in example, and say how sure the scores are of it."""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from arbora.cli.console import make_console
from arbora.cli.files import session
from arbora.data.tree import Tree
from arbora.distribution import TreeDistribution
from arbora.inference import Best
from arbora.view.terminal import draw

FORMS = ("A", "letter", "arrived", "yesterday", "that", "nobody", "could", "read", ".")
LABELS = ("det", "nsubj", "root", "advmod", "obj", "mark", "aux", "acl", "advcl", "punct")
# Hand-made: (head, dependent, label) and its score; words count from 1, and 0 is the root.
SCORES = {
    (2, 1, "det"): 6.0,
    (8, 1, "det"): 0.5,
    (3, 2, "nsubj"): 6.0,
    (8, 2, "nsubj"): 2.0,
    (0, 3, "root"): 6.0,
    (8, 3, "advcl"): 2.0,
    (3, 4, "advmod"): 5.0,
    (8, 4, "advmod"): 3.0,
    (8, 5, "obj"): 5.0,
    (8, 5, "mark"): 3.5,
    (8, 6, "nsubj"): 6.0,
    (3, 6, "nsubj"): 1.0,
    (8, 7, "aux"): 6.0,
    (2, 8, "acl"): 5.0,
    (3, 8, "advcl"): 4.0,
    (0, 8, "root"): 2.5,
    (3, 9, "punct"): 6.0,
    (8, 9, "punct"): 3.0,
}
UNLIKELY = -2.0  # every other arc with every other label: improbable, yet not impossible
BEST_TREES = 3
LINES = r"[─│╭├╰┼┬┴]+"


def demo() -> None:
    """Decode a small built-in example and draw its tree.

    The arcs of one invented sentence have hand-made scores. Shown are its best tree, which has crossing
    arcs, with the probability of each arc; the best trees with theirs; and the entropy.
    """
    with session():
        console = make_console(soft_wrap=True)
        if not console.is_terminal:
            # Not through Rich: see tables.py.
            console.file.write(report(ascii_only=not _shows_lines(sys.stdout.encoding)))
            return
        text = Text(report(ascii_only=not _shows_lines(console.encoding)))
        text.highlight_regex(LINES, "cyan")
        text.highlight_regex(r"(?m)^.+:$", "bold")
        text.highlight_regex(r"\d+\.\d%", "green")
        console.print(text, end="")


def report(*, ascii_only: bool = False) -> str:
    """What the demo prints, as plain text."""
    trees = TreeDistribution(example_scores())
    best = trees.kbest(BEST_TREES)
    probabilities = trees.arc_marginals
    notes = [f"{100 * probabilities[head, dep]:5.1f}%" for dep, head in enumerate(best[0].heads) if dep > 0]
    drawn = draw(_tree(best[0]), FORMS, notes=notes, ascii_only=ascii_only)
    projective = TreeDistribution(example_scores(), trees="projective")
    possible = len(FORMS) ** (len(FORMS) - 1)
    lines = [
        "The best tree, and the probability of each word's head:",
        "",
        drawn,
        "",
        f"The {BEST_TREES} best of {possible:,} trees, each with every choice of labels:",
        "",
        *(_ranked(rank, tree, best[0], trees) for rank, tree in enumerate(best, start=1)),
        "",
        f"Entropy: {trees.entropy:.2f} nats, as of {math.exp(trees.entropy):.1f} equally likely trees.",
        f"Without crossing arcs the best tree differs: {_difference(projective.best, best[0])}.",
    ]
    return "\n".join(lines) + "\n"


def example_scores() -> NDArray[np.float64]:
    """Scores of shape (n+1, n+1, labels)."""
    nodes = len(FORMS) + 1
    scores = np.full((nodes, nodes, len(LABELS)), UNLIKELY - math.log(len(LABELS)))
    for (head, dep, label), score in SCORES.items():
        scores[head, dep, LABELS.index(label)] = score
    return scores


def _shows_lines(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def _tree(best: Best) -> Tree:
    assert best.labels is not None
    return Tree(best.heads, [LABELS[label] for label in best.labels[1:]])


def _ranked(rank: int, tree: Best, first: Best, trees: TreeDistribution) -> str:
    probability = math.exp(trees.log_prob(tree.heads, tree.labels))
    what = "the tree above" if rank == 1 else _difference(tree, first)
    return f"{rank}. {100 * probability:5.1f}%  {what}"


def _difference(tree: Best, first: Best) -> str:
    """The arcs of `tree` that `first` does not have, in words."""
    assert tree.labels is not None
    assert first.labels is not None
    changes = []
    for dep in range(1, len(tree.heads)):
        head, label = int(tree.heads[dep]), int(tree.labels[dep])
        if (head, label) != (first.heads[dep], first.labels[dep]):
            place = f'"{FORMS[head - 1]}"' if head else "the root"
            changes.append(f'"{FORMS[dep - 1]}" is {LABELS[label]} of {place}')
    return ", ".join(changes) or "no difference"
