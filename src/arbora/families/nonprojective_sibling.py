"""All trees, scored by arcs and adjacent siblings: the best tree, approximately."""

from __future__ import annotations

from typing import ClassVar

from arbora.families._family import TreeFamily
from arbora.interfaces import PartKind, Query, Trees


class NonprojectiveSibling(TreeFamily):
    """Arcs may cross; arcs and adjacent siblings are scored. Only the best tree, and that approximately.

    Exact search is NP-hard. The search of [mcdonald-2006] starts from the best projective tree and
    re-attaches one word at a time while the score rises, O(n²) a step: never below the best projective tree,
    and no single re-attachment improves it.
    """

    __slots__ = ()

    name: ClassVar[str] = "nonprojective_sibling"
    trees: ClassVar[Trees] = "nonprojective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.SIBLING)
    queries: ClassVar[frozenset[Query]] = frozenset()
    approximate: ClassVar[frozenset[Query]] = frozenset({Query.ARGMAX})
