"""Projective trees, scored by arcs, siblings, grandparents and grand-siblings."""

from __future__ import annotations

from typing import ClassVar

from arbora.families._family import TreeFamily
from arbora.interfaces import PartKind, Query, Trees


class ProjectiveGrandparent(TreeFamily):
    """No two arcs cross; parts may also hold a head's own head, with or without the adjacent sibling.

    Dynamic programming over spans that remember the head's head [koo-2010]: O(n⁴) for every query,
    O(n³) space beside the scores.
    """

    __slots__ = ()

    name: ClassVar[str] = "projective_grandparent"
    trees: ClassVar[Trees] = "projective"
    parts: ClassVar[tuple[PartKind, ...]] = (
        PartKind.ARC,
        PartKind.SIBLING,
        PartKind.GRANDPARENT,
        PartKind.GRANDSIBLING,
    )
    queries: ClassVar[frozenset[Query]] = frozenset({Query.ARGMAX, Query.LOG_PARTITION, Query.MARGINALS})
