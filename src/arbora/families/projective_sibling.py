"""Projective trees, scored by arcs and adjacent siblings."""

from __future__ import annotations

from typing import ClassVar

from arbora.families._family import EVERY_QUERY, TreeFamily
from arbora.interfaces import PartKind, Query, Trees


class ProjectiveSibling(TreeFamily):
    """No two arcs cross; arcs and pairs of adjacent dependents on one side of a head are scored.

    Dynamic programming over spans [mcdonald-2006]: O(n³) for every query, O(n²) space beside the scores.
    """

    __slots__ = ()

    name: ClassVar[str] = "projective_sibling"
    trees: ClassVar[Trees] = "projective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.SIBLING)
    queries: ClassVar[frozenset[Query]] = EVERY_QUERY
