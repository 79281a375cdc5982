"""Break long sentences into rows: as few as fit, of similar length, with few arcs between them.

A first pass fills row after row, which gives the number of rows. Then dynamic programming chooses the breaks
for which rows of similar length cut the fewest arcs. `arcs.py` lays out each row by itself: an arc to
another row runs off the edge, and comes in again at the same height in the other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from arbora.web.arcs import EDGE, WORD_GAP, Root, Row, Span, lay_out

MOST_BALANCED, UNEVENNESS = 8, 8.0
"""The most rows for which breaks are optimized, and the cost of a row twice its share, in cut arcs."""


class Arc(Protocol):
    """An arc to a word from its head (0: the root), with the width of its label (0: none)."""

    @property
    def head(self) -> int: ...
    @property
    def dep(self) -> int: ...
    @property
    def width(self) -> float: ...


def break_rows(widths: Sequence[float], arcs: Sequence[Arc], room: float) -> list[tuple[int, Row]]:
    """Rows within the room, each with the number of its first word; too wide words get their own rows."""
    whole = (1, _row(widths, arcs, 1, len(widths)))
    if whole[1].width <= room:
        return [whole]
    rows = _filled(widths, arcs, room)
    if len(rows) > MOST_BALANCED:
        return rows
    firsts = _breaks(whole[1].words, arcs, len(rows), room)
    ends = [*(first - 1 for first in firsts[1:]), len(widths)]
    balanced = [(first, _row(widths, arcs, first, last)) for first, last in zip(firsts, ends, strict=True)]
    return balanced if max(row.width for _, row in balanced) <= room else rows


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
    cost, before = np.full(n + 1, np.inf), []
    cost[0] = 0.0
    for _ in range(count):
        lengths = bounds[None, :] - bounds[:, None]  # [i, j]: of words i + 1..j
        through = cost[:, None] + UNEVENNESS * (lengths / share - 1) ** 2
        through[(lengths <= 0) | (lengths > room)] = np.inf
        before.append(np.argmin(through, axis=0))
        cost = np.min(through, axis=0) + cut
    firsts, j = [], n
    for last in reversed(before):
        j = int(last[j])
        firsts.append(j + 1)
    return firsts[::-1] if firsts[-1] == 1 else list(range(1, count + 1))


def _filled(widths: Sequence[float], arcs: Sequence[Arc], room: float) -> list[tuple[int, Row]]:
    rows: list[tuple[int, Row]] = []
    first = 1
    while first <= len(widths):
        last, taken = first, 2 * EDGE + widths[first - 1]
        while last < len(widths) and taken + WORD_GAP + widths[last] <= room:
            taken += WORD_GAP + widths[last]
            last += 1
        row = _row(widths, arcs, first, last)
        while row.width > room and last > first:
            # Remove more words at a time from a row that is far too wide.
            last = max(first, last - max(1, int((last - first) * (1 - room / row.width) / 2)))
            row = _row(widths, arcs, first, last)
        rows.append((first, row))
        first = last + 1
    return rows


def _row(widths: Sequence[float], arcs: Sequence[Arc], first: int, last: int) -> Row:
    """Lay out words `first` to `last`; the label of an arc is in the row of its dependent."""
    spans, roots = [], []
    edge = last - first + 2
    for i, arc in enumerate(arcs):
        left, right = min(arc.head, arc.dep), max(arc.head, arc.dep)
        is_here = first <= arc.dep <= last
        if not arc.head:
            if is_here:
                roots.append(Root(arc.dep - first + 1, i, arc.width))
        elif left <= last and right >= first:
            ends = max(left - first + 1, 0), min(right - first + 1, edge)
            spans.append(Span(*ends, i, arc.width if is_here else 0.0, right - left))
    return lay_out(widths[first - 1 : last], spans, roots)
