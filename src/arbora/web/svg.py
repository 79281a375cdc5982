"""Trees as SVG: words on a line, tags below them, labelled arcs above, for print and for the web.

A picture depends only on its sentence: the same tree gives the same bytes. All text is escaped. The line of
an arc leaves room for its label, so pictures need no background and work on dark and light pages. Every
colour is set as an attribute, for programs without style sheets, and in CSS, which follows the reader's
colour scheme. `layout.py` places words and arcs; `writing.py` estimates the width of text and its direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.tree import subtree_masks, words_between
from arbora.errors import InputError
from arbora.parsing.parsed import Parsed
from arbora.settings import Settings, parameter
from arbora.web import THRESHOLD
from arbora.web.layout import EDGE, Arc, Placed, Row, break_rows
from arbora.web.writing import Direction, clipped, direction_of, ems, safe_in_xml

DirectionChoice: TypeAlias = Literal["auto", "ltr", "rtl"]
Drawable: TypeAlias = Sentence | Parsed

WORD_SIZE, TAG_SIZE, LABEL_SIZE, CAPTION_SIZE = 16.0, 10.0, 11.5, 12.0
LEVEL, FIRST_LEVEL = 22.0, 26.0
CORNER = 11.0
ASCENT, DESCENT = 15.0, 5.0
TAG_LINE = 15.0
ARROW_LENGTH, ARROW_WIDTH = 6.0, 6.4
MARGIN, ROW_GAP, PICTURE_GAP = 8.0, 16.0, 30.0
BEZIER = 0.5523  # of a cubic curve that is nearly a quarter of a circle
LONGEST_WORD, LONGEST_LABEL, LONGEST_TITLE = 60, 40, 300
INK, CROSSING = "#1b1f24", "#b3400a"
FONTS = "'Helvetica Neue', Helvetica, Arial, 'Noto Sans', 'Liberation Sans', sans-serif"
STYLE = (
    ".arbora-tree{color-scheme:light dark;color:var(--arbora-ink,#1b1f24)}"
    ".arbora-crossing{color:var(--arbora-crossing,#b3400a)}"
    "@media(prefers-color-scheme:dark){"
    ".arbora-tree{color:var(--arbora-ink,#e8eaed)}"
    ".arbora-crossing{color:var(--arbora-crossing,#ffb083)}"
    "}"
)


@dataclass(frozen=True, slots=True)
class Look(Settings):
    """Options of pictures; see `draw_svg`."""

    threshold: float = parameter(THRESHOLD, "less probable arcs are dashed", least=0.0, most=1.0)
    every_probability: bool = False
    direction: DirectionChoice = "auto"
    tags: bool = True
    max_width: float | None = parameter(None, "words continue in a next row", above=0.0, below=float("inf"))


def draw_svg(
    sentence: Drawable,
    *,
    probabilities: Sequence[float | None] | None = None,
    caption: str = "",
    threshold: float = THRESHOLD,
    every_probability: bool = False,
    direction: DirectionChoice = "auto",
    tags: bool = True,
    max_width: float | None = None,
) -> str:
    """Draw the tree of a sentence as an SVG document.

    `probabilities` are those of the heads; a parsed sentence has its own. Arcs with a head less probable than
    `threshold` are dashed and show the number; `every_probability` shows all numbers. Crossing arcs have
    their own colour. `direction` is that of most letters by default. `tags` shows UPOS below words. With
    `max_width`, words continue in a next row; a single word may be wider. Words without a head have no arc.
    """
    look = Look(threshold, every_probability, direction, tags, max_width)
    return join_pictures([draw_picture(sentence, look, probabilities=probabilities, caption=caption)])


def draw_svgs(sentences: Iterable[Drawable], look: Look | None = None) -> str:
    """Draw all trees below each other in one SVG document."""
    return join_pictures([draw_picture(sentence, look) for sentence in sentences])


@dataclass(frozen=True, slots=True)
class Picture:
    """SVG elements between (0, 0) and (width, height), with a title and a description in words."""

    elements: str
    width: float
    height: float
    title: str
    description: str
    direction: Direction = "ltr"


def join_pictures(pictures: Sequence[Picture], *, standalone: bool = True) -> str:
    """Join pictures into one SVG document; unless `standalone`, the page's style sheet sets the colours."""
    width = 2 * MARGIN + max((picture.width for picture in pictures), default=0.0)
    body, y = [], MARGIN
    for picture in pictures:
        x = MARGIN if picture.direction == "ltr" else width - MARGIN - picture.width
        body.append(f'<g transform="translate({_number(x)} {_number(y)})">\n{picture.elements}</g>\n')
        y += picture.height + PICTURE_GAP
    height = y - PICTURE_GAP + MARGIN if pictures else 2 * MARGIN
    w, h = _number(width), _number(height)
    title = pictures[0].title if len(pictures) == 1 else f"{len(pictures)} dependency trees"
    description = " ".join(picture.description for picture in pictures)
    colour = f' color="{INK}"' if standalone else ""
    style = f"<style>{STYLE}</style>\n" if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="arbora-tree" role="img" viewBox="0 0 {w} {h}" '
        f'width="{w}" height="{h}" font-family="{FONTS}"{colour}>\n'
        f"<title>{safe_in_xml(title)}</title>\n<desc>{safe_in_xml(description)}</desc>\n"
        f"{style}{''.join(body)}</svg>\n"
    )


@dataclass(frozen=True)
class _Arc(Arc):
    label: str
    number: str
    title: str
    crossing: bool
    uncertain: bool


def draw_picture(
    sentence: Drawable,
    look: Look | None = None,
    *,
    probabilities: Sequence[float | None] | None = None,
    caption: str = "",
) -> Picture:
    """Draw one tree, to be joined with others."""
    look = look or Look()
    if not isinstance(sentence, Sentence):
        probabilities = sentence.head_probabilities if probabilities is None else probabilities
        sentence = sentence.sentence
    if probabilities is not None and len(probabilities) != len(sentence):
        count = len(probabilities)
        raise InputError(f"probabilities: expected one per word ({len(sentence)}), got {count}")
    forms = [clipped(form, LONGEST_WORD) for form in sentence.forms]
    direction = direction_of(forms) if look.direction == "auto" else look.direction
    arcs = _arcs(sentence, forms, probabilities, look)
    has_tags = look.tags and any(tag != "_" for tag in sentence.upos)
    tags = [clipped(tag, LONGEST_LABEL) for tag in sentence.upos] if has_tags else None
    widths = [ems(form) * WORD_SIZE for form in forms]
    if tags is not None:
        widths = [max(w, ems(tag) * TAG_SIZE - 4) for w, tag in zip(widths, tags, strict=True)]
    room = float("inf") if look.max_width is None else look.max_width - 2 * MARGIN
    rows = break_rows(widths, arcs, room)
    width = max(ems(caption) * CAPTION_SIZE + 2 * EDGE, *(row.width for row in rows))
    painter = _Painter(arcs, forms, tags, direction == "rtl", width)
    if caption:
        painter.write_caption(caption)
    for row in rows:
        painter.draw_row(row, is_last=row is rows[-1])
    title = f"Dependency tree: {clipped(sentence.text, LONGEST_TITLE)}"
    return Picture("".join(painter.parts), width, painter.y, title, _describe(arcs, forms), direction)


def _arcs(
    sentence: Sentence, forms: Sequence[str], probabilities: Sequence[float | None] | None, look: Look
) -> list[_Arc]:
    heads = [NO_HEAD, *(max(head, 0) for head in sentence.heads)]
    masks = subtree_masks(heads)
    arcs = []
    for dep, (head, label) in enumerate(zip(sentence.heads, sentence.deprels, strict=True), start=1):
        if head == NO_HEAD:
            continue
        p = None if probabilities is None else probabilities[dep - 1]
        uncertain = p is not None and p < look.threshold
        number = "" if p is None or not (uncertain or look.every_probability) else f"{p:.2f}"
        shown = "" if label == "_" else clipped(label, LONGEST_LABEL)
        title = f"{forms[head - 1] if head else 'root'} → {forms[dep - 1]}" + (f": {shown}" if shown else "")
        title += "" if p is None else f", P(head) = {p:.4f}"
        crossing = head > 0 and bool(words_between(head, dep) & ~masks[head])
        text = f"{shown} {number}".strip()
        width = ems(text) * LABEL_SIZE + 4.0 if text else 0.0
        arcs.append(_Arc(head, dep, width, shown, number, title, crossing, uncertain))
    return arcs


def _describe(arcs: Sequence[_Arc], forms: Sequence[str]) -> str:
    """The tree in words, for screen readers."""
    phrases = []
    for arc in arcs:
        place = f"of {forms[arc.head - 1]}" if arc.head else "of the sentence"
        name = arc.label or ("dependent" if arc.head else "root")
        phrases.append(f"{forms[arc.dep - 1]}: {name} {place}{f' ({arc.number})' if arc.number else ''}.")
    return " ".join(phrases)


@dataclass(slots=True)
class _Painter:
    """Draws rows from the top down."""

    arcs: Sequence[_Arc]
    forms: Sequence[str]
    tags: Sequence[str] | None
    mirrored: bool
    width: float
    y: float = 0.0
    parts: list[str] = field(default_factory=list)

    def write_caption(self, caption: str) -> None:
        self.y += CAPTION_SIZE
        anchor = "end" if self.mirrored else "start"
        text = self._text(
            "caption", EDGE, self.y, CAPTION_SIZE, safe_in_xml(caption), anchor, ' fill-opacity=".75"'
        )
        self.parts.append(f"{text}\n")
        self.y += 8.0

    def draw_row(self, row: Row, *, is_last: bool) -> None:
        if row.levels:
            self.y += FIRST_LEVEL + (row.levels - 1) * LEVEL + LABEL_SIZE / 2 + 2
        for placed in row.spans:
            self._draw_arc(placed, row_end=len(row.words) + 1)
        self.y += 2 + ASCENT
        direction = ' direction="rtl"' if self.mirrored else ""
        for word, x in enumerate(row.words, start=row.first):
            form = safe_in_xml(self.forms[word - 1])
            texts = [self._text(f'word" data-word="{word}', x, self.y, WORD_SIZE, form, after=direction)]
            if self.tags is not None and (tag := safe_in_xml(self.tags[word - 1])) != "_":
                below = self.y + TAG_LINE
                texts.append(self._text("tag", x, below, TAG_SIZE, tag, after=' fill-opacity=".7"'))
            self.parts += [f"{text}\n" for text in texts]
        self.y += DESCENT + (0.0 if self.tags is None else TAG_LINE) + (0.0 if is_last else ROW_GAP)

    def _text(
        self, name: str, x: float, y: float, size: float, xml: str, anchor: str = "middle", after: str = ""
    ) -> str:
        return (
            f'<text class="arbora-{name}" x="{self._x(x)}" y="{_number(y)}" text-anchor="{anchor}" '
            f'font-size="{_number(size)}" fill="currentColor"{after}>{xml}</text>'
        )

    def _x(self, x: float) -> str:
        return _number(self.width - x if self.mirrored else x)

    def _point(self, x: float, y: float) -> str:
        return f"{self._x(x)} {_number(y)}"

    def _draw_arc(self, placed: Placed, row_end: int) -> None:
        """Draw the line of an arc, its arrow head unless it is in another row, and its label."""
        span, arc, feet = placed.span, self.arcs[placed.span.arc], self.y
        y = feet - FIRST_LEVEL - (placed.level - 1) * LEVEL
        dep_is_left = arc.dep < arc.head
        tip: float | None = placed.start if dep_is_left else placed.end
        if span.is_root:
            top = y + (LABEL_SIZE / 2 + 2 if span.label else 0)
            line = f"M{self._point(placed.start, top)}V{_number(feet - ARROW_LENGTH + 1)}"
        else:
            line = self._line(placed, y, dep_is_left, row_end)
            tip = None if (span.left == 0 if dep_is_left else span.right == row_end) else tip
        kinds = {"arc": True, "root": span.is_root, "crossing": arc.crossing, "uncertain": arc.uncertain}
        names = " ".join(f"arbora-{kind}" for kind, holds in kinds.items() if holds)
        colour = f' color="{CROSSING}"' if arc.crossing else ""
        dashes = ' stroke-dasharray="4 2.5"' if arc.uncertain else ""
        self.parts.append(
            f'<g class="{names}" data-head="{arc.head}" data-dep="{arc.dep}"{colour}>'
            f"<title>{safe_in_xml(arc.title)}</title>"
            f'<path d="{line}" fill="none" stroke="currentColor" '
            f'stroke-width="{1.6 if arc.crossing else 1.2}"{dashes}/>'
        )
        if tip is not None:
            half, back = ARROW_WIDTH / 2, feet - ARROW_LENGTH
            corners = (self._point(tip - half, back), self._point(tip + half, back), self._point(tip, feet))
            self.parts.append(f'<path class="arbora-head" d="M{"L".join(corners)}Z" fill="currentColor"/>')
        if span.label:
            self.parts.append(self._label(arc, placed.label_at, y))
        self.parts.append("</g>\n")

    def _line(self, placed: Placed, y: float, dep_is_left: bool, row_end: int) -> str:
        """The path up from the start, along level `y` with a gap for the label, and down to the end."""
        half, behind_arrow = placed.span.label / 2, self.y - (ARROW_LENGTH - 1)
        left, right = placed.label_at - half, placed.label_at + half
        line = f"M{self._point(0, y)}"
        if placed.span.left > 0:
            foot = behind_arrow if dep_is_left else self.y
            line = self._corner(placed.start, foot, y, min(CORNER, left - placed.start), rising=True)
        if placed.span.label:
            line += f"H{self._x(left)}M{self._point(right, y)}"
        if placed.span.right == row_end:
            return f"{line}H{self._x(self.width)}"
        foot = self.y if dep_is_left else behind_arrow
        return line + self._corner(placed.end, foot, y, min(CORNER, placed.end - right), rising=False)

    def _corner(self, x: float, foot: float, y: float, radius: float, *, rising: bool) -> str:
        inward = radius if rising else -radius
        near, kept = (1 - BEZIER) * inward, y + (1 - BEZIER) * radius
        if rising:
            curve = f"C{self._point(x, kept)} {self._point(x + near, y)} {self._point(x + inward, y)}"
            return f"M{self._point(x, foot)}V{_number(y + radius)}{curve}"
        curve = f"C{self._point(x + near, y)} {self._point(x, kept)} {self._point(x, y + radius)}"
        return f"H{self._x(x + inward)}{curve}V{_number(foot)}"

    def _label(self, arc: _Arc, x: float, y: float) -> str:
        """The label, in a box that makes it easy to hit and shows programs which space is taken."""
        left, height = x + (arc.width / 2 if self.mirrored else -arc.width / 2), LABEL_SIZE + 3
        number = f'<tspan fill-opacity=".75">{arc.number}</tspan>' if arc.number else ""
        return (
            f'<rect class="arbora-box" x="{self._x(left)}" y="{_number(y - height / 2)}" '
            f'width="{_number(arc.width)}" height="{_number(height)}" fill="none" pointer-events="all"/>'
        ) + self._text(
            "label", x, y + 0.34 * LABEL_SIZE, LABEL_SIZE, f"{safe_in_xml(arc.label)} {number}".strip()
        )


def _number(value: float) -> str:
    """At most one decimal."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
