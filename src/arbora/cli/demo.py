"""`arbora demo`: parse a text with the bundled model, and show the probabilities."""

from __future__ import annotations

import math
import sys
from typing import Any

from arbora.cli.console import drawing_style
from arbora.parsing.parsed import Parsed
from arbora.pipeline.pipeline import Pipeline, load
from arbora.storage.models import DEFAULT, EXAMPLES
from arbora.web.terminal import draw

TEXT = EXAMPLES[DEFAULT]
BEST_TREES = 3


def command() -> None:
    """Shows the best tree of each sentence with its probability, and for the first sentence, which is
    ambiguous, the next-best trees and what they change.
    """
    style = drawing_style(to_terminal=sys.stdout.isatty(), encoding=sys.stdout.encoding)
    sys.stdout.write(report(load(), **style))


def report(nlp: Pipeline, **style: Any) -> str:
    """Return what the demo prints; `style` are options of `draw`."""
    sentences = nlp(TEXT)
    lines = [f"Text: {TEXT}", ""]
    for parsed in sentences:
        forms, probabilities = parsed.sentence.forms, parsed.head_probabilities
        drawn = draw(parsed.tree, forms, probabilities=probabilities, every_probability=True, **style)
        lines += [f"{parsed.sentence.text}  (probability {_percent(parsed)})", "", drawn, ""]
    first = sentences[0]
    lines += [f"The {BEST_TREES} most probable trees of the first sentence:", ""]
    for rank, tree in enumerate(first.kbest(BEST_TREES), start=1):
        lines.append(f"{rank}. {_percent(tree):>6}  {_difference(tree, first)}")
    lines += ["", 'Your own text: arbora parse "..."; a page to type on: arbora serve; more: arbora --help']
    return "\n".join(lines) + "\n"


def _percent(parsed: Parsed) -> str:
    return f"{100 * (parsed.probability or math.nan):.1f}%"


def _difference(tree: Parsed, first: Parsed) -> str:
    """Describe the arcs of `tree` that `first` does not have."""
    changes = []
    for word, before in zip(tree, first, strict=True):
        if (word.head, word.deprel) != (before.head, before.deprel):
            place = f'"{tree[word.head - 1].form}"' if word.head else "the root"
            changes.append(f'"{word.form}" is {word.deprel} of {place}')
    return ", ".join(changes) or "the tree above"
