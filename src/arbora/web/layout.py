"""Lay out a picture: rows of words, and arcs above them.

An arc rises from its head, runs level, and falls on its dependent; the arc to a root is a vertical line. The
level of an arc is one above the highest arc between its ends, shorter arcs first, so levels are as low as
nesting allows. At each word, arcs to the left come first, short ones before long ones, then the root's arc,
then arcs to the right, long before short, so that arcs of projective trees never touch. A non-projective arc
may fall through a lower one: it *cuts* it, and the lower one's label moves to a stretch between cuts. Words
are as close as their widths and the labels above them allow: missing room for a label is shared among the
gaps below it.

Long sentences are broken into as few rows as fit, of similar length, with few arcs between them. A first pass
fills row after row, which gives the number of rows; then dynamic programming chooses the breaks. Each row is
laid out by itself. Its nodes are 0 (its left edge), its words 1..m, and m+1 (its right edge); an arc to
another row runs off the edge, and comes in again at the same height in that row. Positions are measured from
the left edge. A row takes O(m log m) calls into NumPy for projective trees, O(m²) time at worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WORD_GAP = 13.0
EDGE = 10.0
FAN, NARROW_FAN = 7.0, 4.5  # The space between arcs at a word, and the least if there are many
SHOULDER = 5.0  # The least visible part of an arc on each side of its label
CLEARANCE = 4.0  # The space between a label and a line of another arc
MOST_BALANCED = 8  # The most rows for which breaks are optimized
UNEVENNESS = 8.0  # The cost of a row twice its share, in cut arcs


@dataclass(frozen=True)
class Arc:
    """An arc to a word from its head (0: the root), with the width of its label (0: none)."""

    head: int
    dep: int
    width: float


class Span(NamedTuple):
    """The part of an arc in one row: between two nodes, or at a single one for the arc to a root."""

    left: int
    right: int
    arc: int  # Its place among all arcs
    label: float  # The width of its label; 0 if there is none in this row
    length: int  # In words, other rows included; of two spans with the same ends, the shorter is the lower

    @property
    def is_root(self) -> bool:
        return self.left == self.right


class Placed(NamedTuple):
    """A span with its level (1 is the lowest), the positions of its ends and of the middle of its label."""

    span: Span
    level: int
    start: float
    end: float
    label_at: float


class Row(NamedTuple):
    """A finished row: its first word, the middles of its words, its arcs, width and number of levels."""

    first: int
    words: list[float]
    spans: list[Placed]
    width: float
    levels: int


def break_rows(widths: Sequence[float], arcs: Sequence[Arc], room: float) -> list[Row]:
    """Lay out words of the given widths in rows within the room; a word that is too wide gets its own row."""
    whole = _lay_out(widths, arcs, 1, len(widths))
    if whole.width <= room:
        return [whole]
    rows = _fill(widths, arcs, room)
    if not 1 < len(rows) <= MOST_BALANCED:
        return rows
    firsts = _breaks(whole.words, arcs, len(rows), room)
    ends = pairwise([*firsts, len(widths) + 1])
    balanced = [_lay_out(widths, arcs, first, after - 1) for first, after in ends]
    return balanced if max(row.width for row in balanced) <= room else rows


def _fill(widths: Sequence[float], arcs: Sequence[Arc], room: float) -> list[Row]:
    rows: list[Row] = []
    first = 1
    while first <= len(widths):
        last, taken = first, 2 * EDGE + widths[first - 1]
        while last < len(widths) and taken + WORD_GAP + widths[last] <= room:
            taken += WORD_GAP + widths[last]
            last += 1
        row = _lay_out(widths, arcs, first, last)
        while row.width > room and last > first:
            # Remove more words at a time from a row that is far too wide.
            last = max(first, last - max(1, int((last - first) * (1 - room / row.width) / 2)))
            row = _lay_out(widths, arcs, first, last)
        rows.append(row)
        first = last + 1
    return rows


def _breaks(places: Sequence[float], arcs: Sequence[Arc], count: int, room: float) -> list[int]:
    """The first words of `count` rows with breaks of least cost, for words placed as in one row.

    cost[r, j], of the first j words in r rows, is the minimum over i < j of cost[r - 1, i], plus the arcs
    between words j and j + 1, plus the deviation of words i + 1..j from an equal share. O(rows · n²).
    """
    n = len(places)
    cut = np.zeros(n + 1)  # the arcs between words j and j + 1
    for arc in arcs:
        if arc.head:
            cut[min(arc.head, arc.dep) : max(arc.head, arc.dep)] += 1
    bounds = np.array([places[0], *((one + other) / 2 for one, other in pairwise(places)), places[-1]])
    share = (bounds[-1] - bounds[0]) / count
    lengths = bounds[None, :] - bounds[:, None]  # [i, j]: of words i + 1..j
    uneven = np.where((lengths <= 0) | (lengths > room), np.inf, UNEVENNESS * (lengths / share - 1) ** 2)
    cost, before = np.full(n + 1, np.inf), []
    cost[0] = 0.0
    for _ in range(count):
        through = cost[:, None] + uneven
        before.append(np.argmin(through, axis=0))
        cost = np.min(through, axis=0) + cut
    firsts, j = [], n
    for last in reversed(before):
        j = int(last[j])
        firsts.append(j + 1)
    return firsts[::-1] if firsts[-1] == 1 else list(range(1, count + 1))


def _lay_out(all_widths: Sequence[float], arcs: Sequence[Arc], first: int, last: int) -> Row:
    """Place the words from `first` to `last`, and the arcs above them."""
    widths, edge = all_widths[first - 1 : last], last - first + 2
    spans = _spans(arcs, first, last)
    levels = _levels(edge, spans)
    offsets, fans = _fans(widths, spans, levels)
    halves = np.zeros(edge + 1)
    halves[1:edge] = np.maximum(widths, 2 * fans[1:edge] + 2.0) / 2
    distances = halves[:-1] + halves[1:] + WORD_GAP
    distances[[0, -1]] += EDGE - WORD_GAP
    points = _points(spans, levels, offsets)
    # Roots come first, then short spans.
    for span, (nodes, shifts) in sorted(
        zip(spans, points, strict=True), key=lambda p: p[0].right - p[0].left
    ):
        if span.is_root:
            for gap, other in ((span.left - 1, span.left - 1), (span.left, span.left + 1)):
                distances[gap] = max(distances[gap], span.label / 2 + CLEARANCE + fans[other])
        elif span.label:
            _make_room(distances, nodes, shifts, span.label + 2 * SHOULDER)
    places = np.concatenate([[0.0], np.cumsum(distances)])
    placed = []
    for span, level, (nodes, shifts) in zip(spans, levels, points, strict=True):
        at = places[nodes] + shifts
        centred = span.is_root or not span.label
        middle = (at[0] + at[-1]) / 2 if centred else _label_place(at, span.label + 2 * SHOULDER)
        placed.append(Placed(span, level, float(at[0]), float(at[-1]), float(middle)))
    return Row(first, places[1:edge].tolist(), placed, float(places[-1]), max(levels, default=0))


def _spans(arcs: Sequence[Arc], first: int, last: int) -> list[Span]:
    """The spans of a row, then its roots; the label of an arc is in the row of its dependent."""
    spans = []
    for i, arc in enumerate(arcs):
        left, right = sorted((arc.head or arc.dep, arc.dep))
        if left <= last and right >= first:
            ends = max(left - first + 1, 0), min(right - first + 1, last - first + 2)
            spans.append(Span(*ends, i, arc.width if first <= arc.dep <= last else 0.0, right - left))
    return sorted(spans, key=lambda span: span.is_root)


def _levels(edge: int, spans: Sequence[Span]) -> list[int]:
    """One above everything below, shorter arcs first; root arcs are above all others at their word."""
    skyline = np.zeros(edge, dtype=np.int64)  # by gap between nodes
    levels = [0] * len(spans)
    order = [(s.is_root, s.right - s.left, s.length, s.left, i) for i, s in enumerate(spans)]
    for is_root, *_, i in sorted(order):
        below = slice(spans[i].left - is_root, spans[i].right + is_root)
        levels[i] = int(skyline[below].max()) + 1
        skyline[below] = levels[i]
    return levels


def _fans(
    widths: Sequence[float], spans: Sequence[Span], levels: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The offsets of both ends of each span from the middles of their words, and half the width of each fan.

    Ends at the edges of the row have offset 0.
    """
    edge = len(widths) + 1
    fans: list[list[tuple[int, int, int, list[int]]]] = [[] for _ in range(edge + 1)]
    for i, (span, level) in enumerate(zip(spans, levels, strict=True)):
        if span.is_root:
            fans[span.left].append((1, 0, i, [0, 1]))
        else:
            fans[span.left].append((2, -level, i, [0]))
            fans[span.right].append((0, level, i, [1]))
    offsets = np.zeros((len(spans), 2))
    halves = np.zeros(edge + 1)
    for node in range(1, edge):
        count = len(fans[node])
        if count < 2:
            continue
        step = min(FAN, max(NARROW_FAN, (widths[node - 1] - FAN) / (count - 1)))
        halves[node] = step * (count - 1) / 2
        for place, (*_, i, ends) in enumerate(sorted(fans[node])):
            offsets[i, ends] = place * step - halves[node]
    return offsets, halves


def _points(
    spans: Sequence[Span], levels: Sequence[int], offsets: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Nodes and offsets of the start of each span, of its cuts by higher arcs, and of its end."""
    ends = np.array([(span.left, span.right) for span in spans], dtype=np.int64).reshape(-1, 2)
    order = np.lexsort((np.repeat(levels, 2), offsets.ravel(), ends.ravel()))
    node, offset, level = ends.ravel()[order], offsets.ravel()[order], np.repeat(levels, 2)[order]
    points = []
    for i, span in enumerate(spans):
        inside = slice(*np.searchsorted(node, (span.left + 1, span.right)).tolist())
        cuts = level[inside] > levels[i]
        nodes = np.concatenate([ends[i, :1], node[inside][cuts], ends[i, 1:]])
        points.append((nodes, np.concatenate([offsets[i, :1], offset[inside][cuts], offsets[i, 1:]])))
    return points


def _make_room(
    distances: NDArray[np.float64], nodes: NDArray[np.int64], offsets: NDArray[np.float64], room: float
) -> None:
    """Widen the gaps below the longest stretch between two points until the label fits."""
    first = int(nodes[0])
    places = np.concatenate([[0.0], np.cumsum(distances[first : int(nodes[-1])])])
    # The stretch between two lines at one word cannot be widened.
    stretches = np.where(np.diff(nodes) > 0, np.diff(places[nodes - first] + offsets), -np.inf)
    longest = int(np.argmax(stretches))
    if stretches[longest] < room:
        gaps = slice(int(nodes[longest]), int(nodes[longest + 1]))
        distances[gaps] += (room - stretches[longest]) / (gaps.stop - gaps.start)


def _label_place(points: NDArray[np.float64], room: float) -> float:
    """The middle of a label: the position nearest to the arc's middle in a stretch that is long enough."""
    middle = (points[0] + points[-1]) / 2
    enough = np.diff(points) >= room - 1e-6
    places = np.clip(middle, points[:-1][enough] + room / 2, points[1:][enough] - room / 2)
    return float(places[np.argmin(np.abs(places - middle))])
