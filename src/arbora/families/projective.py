"""Projective trees, scored by their arcs."""

from __future__ import annotations

from typing import ClassVar

from arbora.families._family import EVERY_QUERY, TreeFamily
from arbora.interfaces import PartKind, Query, Trees


class Projective(TreeFamily):
    """No two arcs cross; the score is a sum over arcs.

    Dynamic programming over spans [eisner-1996]: O(n³) for every query, O(n²) space.
    """

    __slots__ = ()

    name: ClassVar[str] = "projective"
    trees: ClassVar[Trees] = "projective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    queries: ClassVar[frozenset[Query]] = EVERY_QUERY
