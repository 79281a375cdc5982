"""All trees, scored by their arcs."""

from __future__ import annotations

from typing import ClassVar

from arbora.families._family import EVERY_QUERY, TreeFamily
from arbora.interfaces import PartKind, Query, Trees


class Nonprojective(TreeFamily):
    """Arcs may cross; the score is a sum over arcs.

    The best tree by contraction in O(n²), the k best in O(k n²), sums by the matrix-tree theorem in O(n³)
    [koo-2007]; O(n²) space.
    """

    __slots__ = ()

    name: ClassVar[str] = "nonprojective"
    trees: ClassVar[Trees] = "nonprojective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    queries: ClassVar[frozenset[Query]] = EVERY_QUERY
