"""Lay out one row of a picture: a line of words, and arcs above them.

An arc rises from its head, runs level, and falls on its dependent. Its level is one above the highest arc
between its ends, shorter arcs first, so levels are as low as nesting allows. At each word, arcs to the left
come first, short ones before long ones, then arcs to the right, long before short, so that arcs of
projective trees never touch. A non-projective arc may fall through a lower one: it *cuts* it, and the lower
one's label moves to a stretch between cuts. Words are as close as their widths and the labels above them
allow: missing room for a label is shared among the gaps below it.

Nodes of a row are 0 (its left edge), its words 1..m, and m+1 (its right edge); arcs to words in other rows
run off the edge. Positions are measured from the left edge. O(m log m) calls into NumPy for projective
trees, O(m²) time at worst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WORD_GAP = 13.0
EDGE = 10.0
FAN, NARROW_FAN = 7.0, 4.5
"""The space between arcs at a word, and the least if there are many."""
SHOULDER = 5.0
"""The least visible part of an arc on each side of its label."""
CLEARANCE = 4.0
"""The space between a label and a line of another arc."""


@dataclass(frozen=True, slots=True)
class Span:
    """The part of an arc in one row: between two nodes, with the width of its label (0: none here)."""

    left: int
    right: int
    arc: int
    """The caller's number for it."""
    label: float = 0.0
    length: int = 0
    """In words, other rows included: the shorter of two spans with the same ends is the lower."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A span with its level (1 is the lowest), the positions of its ends and of the middle of its label."""

    span: Span
    level: int
    start: float
    end: float
    label_at: float


@dataclass(frozen=True, slots=True)
class Root:
    """The vertical arc to a root, with its label on top."""

    node: int
    arc: int
    label: float


@dataclass(frozen=True, slots=True)
class PlacedRoot:
    """A root's arc with its level and its position."""

    root: Root
    level: int
    at: float


@dataclass(frozen=True, slots=True)
class Row:
    """A finished row: the middles of its words, its arcs, its width and number of levels."""

    words: tuple[float, ...]
    spans: tuple[Placed, ...]
    roots: tuple[PlacedRoot, ...]
    width: float
    levels: int


def lay_out(widths: Sequence[float], spans: Sequence[Span], roots: Sequence[Root]) -> Row:
    """Place words of the given widths, and the arcs above them."""
    edge = len(widths) + 1
    levels, root_levels = _levels(edge, spans, roots)
    offsets, fans = _fans(widths, spans, roots, levels)
    halves = np.zeros(edge + 1)
    halves[1:edge] = np.maximum(widths, 2 * fans[1:edge] + 2.0) / 2
    distances = halves[:-1] + halves[1:] + WORD_GAP
    distances[[0, -1]] += EDGE - WORD_GAP

    for root in roots:
        for gap, other in ((root.node - 1, root.node - 1), (root.node, root.node + 1)):
            distances[gap] = max(distances[gap], root.label / 2 + CLEARANCE + fans[other])
    cuts = _Cuts(spans, roots, levels, root_levels, offsets)
    points = [cuts.points(i) for i in range(len(spans))]
    for i in sorted(range(len(spans)), key=lambda i: spans[i].right - spans[i].left):
        if spans[i].label:
            _make_room(distances, *points[i], spans[i].label + 2 * SHOULDER)
    places = np.concatenate([[0.0], np.cumsum(distances)])
    placed = []
    for i, span in enumerate(spans):
        at = places[points[i][0]] + points[i][1]
        middle = _label_place(at, span.label + 2 * SHOULDER) if span.label else (at[0] + at[-1]) / 2
        placed.append(Placed(span, levels[i], float(at[0]), float(at[-1]), float(middle)))
    return Row(
        words=tuple(places[1:edge].tolist()),
        spans=tuple(placed),
        roots=tuple(
            PlacedRoot(root, level, float(places[root.node] + offsets[len(spans) + i, 0]))
            for i, (root, level) in enumerate(zip(roots, root_levels, strict=True))
        ),
        width=float(places[-1]),
        levels=max([0, *levels, *root_levels]),
    )


def _levels(edge: int, spans: Sequence[Span], roots: Sequence[Root]) -> tuple[list[int], list[int]]:
    """One above everything below, shorter arcs first; root arcs are above all others at their word."""
    skyline = np.zeros(edge, dtype=np.int64)  # by gap between nodes
    levels = [0] * len(spans)
    order = [(span.right - span.left, span.length, span.left, i) for i, span in enumerate(spans)]
    for *_, i in sorted(order):
        below = slice(spans[i].left, spans[i].right)
        levels[i] = int(skyline[below].max()) + 1
        skyline[below] = levels[i]
    root_levels = []
    for root in roots:
        below = slice(root.node - 1, root.node + 1)
        root_levels.append(int(skyline[below].max()) + 1)
        skyline[below] = root_levels[-1]
    return levels, root_levels


def _fans(
    widths: Sequence[float], spans: Sequence[Span], roots: Sequence[Root], levels: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The offsets of arc ends from the middles of their words, and half the width of each word's arcs.

    Rows of the offsets are spans with two ends, then roots; ends at the edges have offset 0.
    """
    edge = len(widths) + 1
    at_node: list[list[tuple[int, int, int, int]]] = [[] for _ in range(edge + 1)]
    for i, span in enumerate(spans):
        at_node[span.left].append((2, -levels[i], i, 0))
        at_node[span.right].append((0, levels[i], i, 1))
    for i, root in enumerate(roots, start=len(spans)):
        at_node[root.node].append((1, 0, i, 0))
    offsets = np.zeros((len(spans) + len(roots), 2))
    halves = np.zeros(edge + 1)
    for node in range(1, edge):
        count = len(at_node[node])
        if count < 2:
            continue
        step = min(FAN, max(NARROW_FAN, (widths[node - 1] - FAN) / (count - 1)))
        halves[node] = step * (count - 1) / 2
        for place, (*_, i, end) in enumerate(sorted(at_node[node])):
            offsets[i, end] = place * step - halves[node]
    return offsets, halves


class _Cuts:
    """Where arcs are cut by others that fall through them."""

    def __init__(
        self,
        spans: Sequence[Span],
        roots: Sequence[Root],
        levels: Sequence[int],
        root_levels: Sequence[int],
        offsets: NDArray[np.float64],
    ) -> None:
        self._spans, self._levels, self._offsets = spans, levels, offsets
        lines = [(span.left, offsets[i, 0], levels[i]) for i, span in enumerate(spans)]
        lines += [(span.right, offsets[i, 1], levels[i]) for i, span in enumerate(spans)]
        lines += [(root.node, offsets[len(spans) + i, 0], root_levels[i]) for i, root in enumerate(roots)]
        table = np.array(sorted(lines)).reshape(-1, 3)
        self._node, self._offset, self._level = table[:, 0].astype(np.int64), table[:, 1], table[:, 2]

    def points(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Nodes and offsets of the start of span i, its cuts, and its end, from left to right."""
        span = self._spans[i]
        inside = slice(*np.searchsorted(self._node, (span.left + 1, span.right)).tolist())
        cuts = self._level[inside] > self._levels[i]
        nodes = np.concatenate([[span.left], self._node[inside][cuts], [span.right]])
        offsets = np.concatenate([self._offsets[i, :1], self._offset[inside][cuts], self._offsets[i, 1:]])
        return nodes, offsets


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
    lowest, highest = points[:-1][enough] + room / 2, points[1:][enough] - room / 2
    places = np.minimum(np.maximum(middle, lowest), highest)
    return float(places[np.argmin(np.abs(places - middle))])
