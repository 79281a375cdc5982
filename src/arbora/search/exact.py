"""Exact search with any scorer: charts and arborescences, exact sums where the family has them.

Arcs alone take O(n²) or O(n³) per sentence, siblings O(n³). Non-projective trees with siblings are searched
by hill climbing, and have neither sums nor k best trees.
"""

from __future__ import annotations

from typing import ClassVar

from arbora.interfaces import Family, PartKind
from arbora.registry import families
from arbora.search.parts import PartSearch

FAMILIES = {
    ("projective", PartKind.ARC): "projective",
    ("nonprojective", PartKind.ARC): "nonprojective",
    ("projective", PartKind.SIBLING): "projective_sibling",
    ("projective", PartKind.GRANDPARENT): "projective_grandparent",
    ("projective", PartKind.GRANDSIBLING): "projective_grandparent",
    ("nonprojective", PartKind.SIBLING): "nonprojective_sibling",
}


class ExactSearch(PartSearch):
    """Exact search over the trees of a family, with any scorer."""

    name: ClassVar[str] = "exact"
    loss = "crf"

    @property
    def family(self) -> Family:
        largest = [kind for kind in self.scorer.parts if kind is not PartKind.LABEL][-1]
        return families.create(FAMILIES[self.trees, largest], roots=self.roots)
