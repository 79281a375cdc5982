"""`arbora demo`: parse a text with the model that comes with Arbora, and say how sure it is."""

from __future__ import annotations

import math
import shutil
import sys

from arbora.cli.console import make_console, wants_codes
from arbora.cli.files import session
from arbora.parsing.parsed import Parsed
from arbora.pipeline.pipeline import Pipeline, load
from arbora.storage.bundled import DEFAULT, EXAMPLES
from arbora.web.terminal import draw

TEXT = EXAMPLES[DEFAULT]
BEST_TREES = 3
NARROWEST = 40


def demo() -> None:
    """Parse a text with the model that comes with Arbora, and draw its trees.

    Shown are the sentences of a short text with their best trees and how probable each is; and for the first
    one, which can be read in two ways, the next-best trees and what they change.
    """
    with session():
        console = make_console(soft_wrap=True)
        plain = not _shows_lines(console.encoding if console.is_terminal else sys.stdout.encoding)
        width = max(NARROWEST, shutil.get_terminal_size().columns) if console.is_terminal else None
        colour = console.is_terminal and wants_codes()
        sys.stdout.write(report(load(), width=width, ascii_only=plain, colour=colour))


def report(nlp: Pipeline, *, width: int | None = None, ascii_only: bool = False, colour: bool = False) -> str:
    """What the demo prints."""
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
        lines += [f"{parsed.sentence.text}  ({_percent(parsed)} sure of all its heads)", "", drawn, ""]
    first = sentences[0]
    lines += [
        f"The {BEST_TREES} most probable trees of the first sentence:",
        "",
        *(_ranked(rank, tree, first) for rank, tree in enumerate(first.kbest(BEST_TREES), start=1)),
        "",
        'Your own text: arbora parse "..."; a page to type on: arbora serve; more: arbora --help',
    ]
    return "\n".join(lines) + "\n"


def _shows_lines(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def _percent(parsed: Parsed) -> str:
    return f"{100 * (parsed.probability or math.nan):.1f}%"


def _ranked(rank: int, tree: Parsed, first: Parsed) -> str:
    what = "the tree above" if rank == 1 else _difference(tree, first)
    return f"{rank}. {_percent(tree):>6}  {what}"


def _difference(tree: Parsed, first: Parsed) -> str:
    """The arcs of `tree` that `first` does not have, in words."""
    changes = []
    for word, before in zip(tree, first, strict=True):
        if (word.head, word.deprel) != (before.head, before.deprel):
            place = f'"{tree[word.head - 1].form}"' if word.head else "the root"
            changes.append(f'"{word.form}" is {word.deprel} of {place}')
    return ", ".join(changes) or "the same arcs"
