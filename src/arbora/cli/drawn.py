"""Trees that `arbora parse` draws: as text, as one SVG picture, or as one web page."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from arbora.cli.console import wants_codes
from arbora.cli.request import Request
from arbora.parsing.parsed import Parsed
from arbora.web.terminal import draw

Captioned = list[tuple[Parsed, str]]


class Drawer:
    """Draws sentence by sentence: `show` returns what can be written already, `finish` the rest."""

    def show(self, trees: Captioned) -> str:
        raise NotImplementedError

    def finish(self) -> str:
        return ""


class DrawnText(Drawer):
    """Trees as text."""

    def __init__(self, request: Request, *, to_terminal: bool) -> None:
        self._every = request.probabilities
        self._width = shutil.get_terminal_size().columns if to_terminal else None
        self._colour = to_terminal and wants_codes() and os.environ.get("TERM") != "dumb"
        encoding = (sys.stdout.encoding or "").lower().replace("-", "") if to_terminal else "utf8"
        self._ascii_only = not encoding.startswith("utf")

    def show(self, trees: Captioned) -> str:
        return "".join(f"{caption}\n" * bool(caption) + f"{self._drawn(tree)}\n\n" for tree, caption in trees)

    def _drawn(self, parsed: Parsed) -> str:
        return draw(
            parsed.tree,
            parsed.sentence.forms,
            probabilities=parsed.head_probabilities,
            every_probability=self._every,
            width=self._width,
            ascii_only=self._ascii_only,
            colour=self._colour,
        )


class DrawnPicture(Drawer):
    """One SVG document, whose size is known only at the end."""

    def __init__(self, request: Request) -> None:
        from arbora.web import svg
        from arbora.web.html import WIDTH

        self._svg = svg
        self._look = svg.Look(every_probability=request.probabilities, max_width=WIDTH)
        self._pictures: list[svg.Picture] = []

    def show(self, trees: Captioned) -> str:
        self._pictures += [self._svg.draw_picture(tree, self._look, caption=text) for tree, text in trees]
        return ""

    def finish(self) -> str:
        return self._svg.join_pictures(self._pictures)


class DrawnPage(Drawer):
    """One web page, with a section for each sentence."""

    def __init__(self, request: Request, title: str) -> None:
        from arbora.web import html, svg

        self._html = html
        self._look = svg.Look(every_probability=request.probabilities, max_width=html.WIDTH)
        self._start, self._sentences = html.page_start(title), 0

    def show(self, trees: Captioned) -> str:
        self._sentences += 1
        start, self._start = self._start, ""
        return start + self._html.page_section(self._sentences, trees, self._look)

    def finish(self) -> str:
        return self._start + self._html.page_end()


def captioned(trees: list[Parsed], request: Request) -> Iterator[tuple[Parsed, str]]:
    """Add captions: the rank of each tree and its probability, as far as they are wanted and known."""
    for i, tree in enumerate(trees, start=1):
        rank = [f"{i}/{len(trees)}"] if request.kbest else []
        is_shown = request.needs_probabilities and tree.probability is not None
        yield tree, ", ".join(rank + ([f"tree probability {tree.probability:.4g}"] if is_shown else []))
