"""Trees that `arbora parse` draws: on a terminal or as text, as one SVG picture, as one web page."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator

from arbora.cli.console import wants_codes
from arbora.cli.probabilities import Wanted, find_parsed
from arbora.data.columns import Columns
from arbora.parsing.parsed import Parsed
from arbora.parsing.parser import Parser
from arbora.web.terminal import draw

Captioned = list[tuple[Parsed, str]]
"""The trees of a sentence, each with what is to be said about it."""


class DrawnTrees:
    """Trees as text, a sentence at a time."""

    def __init__(self, wanted: Wanted, *, to_terminal: bool) -> None:
        self._every = wanted.probabilities
        self._width = shutil.get_terminal_size().columns if to_terminal else None
        self._colour = to_terminal and wants_codes() and os.environ.get("TERM") != "dumb"
        encoding = (sys.stdout.encoding or "").lower().replace("-", "") if to_terminal else "utf8"
        self._ascii_only = not encoding.startswith("utf")

    def show(self, trees: Captioned) -> str:
        """All trees of a sentence, captions above them."""
        return "".join(
            f"{caption}\n{self._drawn(t)}\n\n" if caption else f"{self._drawn(t)}\n\n" for t, caption in trees
        )

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

    def finish(self) -> str:
        """Nothing is left."""
        return ""


class DrawnPicture:
    """One SVG document: it is known how large only at the end."""

    def __init__(self, wanted: Wanted) -> None:
        from arbora.web import svg
        from arbora.web.html import WIDTH

        self._svg = svg
        self._look = svg.Look(every_probability=wanted.probabilities, max_width=WIDTH)
        self._pictures: list[svg.Picture] = []

    def show(self, trees: Captioned) -> str:
        """Nothing yet."""
        for tree, caption in trees:
            self._pictures.append(self._svg.draw_picture(tree, self._look, caption=caption))
        return ""

    def finish(self) -> str:
        """The whole document."""
        return self._svg.join_pictures(self._pictures)


class DrawnPage:
    """One web page, a section for each sentence."""

    def __init__(self, wanted: Wanted, title: str) -> None:
        from arbora.web import html, svg

        self._html = html
        self._look = svg.Look(every_probability=wanted.probabilities, max_width=html.WIDTH)
        self._begun, self._sentences = html.page_start(title), 0

    def show(self, trees: Captioned) -> str:
        """The sentence's section; before the first stands the start of the page."""
        self._sentences += 1
        begun, self._begun = self._begun, ""
        return begun + self._html.page_section(self._sentences, trees, self._look)

    def finish(self) -> str:
        """The end of the page."""
        return self._begun + self._html.page_end()


def drawing(
    source: Parser,
    drawn: DrawnTrees | DrawnPicture | DrawnPage,
    wanted: Wanted,
) -> Callable[[Columns], bytes]:
    """What makes bytes of a piece; how sure heads are is always asked, to mark the uncertain ones."""

    def render(columns: Columns) -> bytes:
        found = find_parsed(source, columns, wanted)
        return "".join(drawn.show(list(_captioned(trees, wanted))) for trees in found).encode()

    return render


def _captioned(trees: list[Parsed], wanted: Wanted) -> Iterator[tuple[Parsed, str]]:
    for i, tree in enumerate(trees, start=1):
        rank = f"{i}/{len(trees)}" if wanted.kbest else ""
        is_told = wanted.is_more_than_trees and tree.probability is not None
        sure = f"tree probability {tree.probability:.4g}" if is_told else ""
        yield tree, ", ".join(filter(None, (rank, sure)))
