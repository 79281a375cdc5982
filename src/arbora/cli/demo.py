"""`arbora demo`: parse a text with the bundled model, and show the probabilities."""

from __future__ import annotations

import math
import shutil
import sys

from arbora.cli.console import make_console, session, wants_codes
from arbora.parsing.parsed import Parsed
from arbora.pipeline.pipeline import Pipeline, load
from arbora.storage.bundled import DEFAULT, EXAMPLES
from arbora.web.terminal import draw

TEXT = EXAMPLES[DEFAULT]
BEST_TREES = 3
NARROWEST = 40


def demo() -> None:
    """Shows the best tree of each sentence with its probability, and for the first sentence, which is
    ambiguous, the next-best trees and what they change.
    """
    with session():
        console = make_console(soft_wrap=True)
        encoding = (console.encoding if console.is_terminal else sys.stdout.encoding) or ""
        plain = encoding.lower().replace("-", "") not in ("utf8", "utf16", "utf32")
        width = max(NARROWEST, shutil.get_terminal_size().columns) if console.is_terminal else None
        colour = console.is_terminal and wants_codes()
        sys.stdout.write(report(load(), width=width, ascii_only=plain, colour=colour))


def report(nlp: Pipeline, *, width: int | None = None, ascii_only: bool = False, colour: bool = False) -> str:
    """Return what the demo prints."""
    sentences = nlp(TEXT)
    lines = [f"Text: {TEXT}", ""]
    for parsed in sentences:
        drawn = draw(
            parsed.tree,
            parsed.sentence.forms,
            probabilities=parsed.head_probabilities,
            every_probability=True,
            width=width,
            ascii_only=ascii_only,
            colour=colour,
        )
        lines += [f"{parsed.sentence.text}  (probability {_percent(parsed)})", "", drawn, ""]
    first = sentences[0]
    lines += [
        f"The {BEST_TREES} most probable trees of the first sentence:",
        "",
        *(
            f"{rank}. {_percent(tree):>6}  {_difference(tree, first)}"
            for rank, tree in enumerate(first.kbest(BEST_TREES), start=1)
        ),
        "",
        'Your own text: arbora parse "..."; a page to type on: arbora serve; more: arbora --help',
    ]
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
