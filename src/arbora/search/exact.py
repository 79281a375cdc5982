"""Exact search with any scorer: charts and arborescences, exact sums where the family has them.

Arcs alone take O(n²) or O(n³) per sentence, siblings O(n³). Non-projective trees with siblings are searched
by hill climbing; lists and probabilities are those of the trees that a search around the best one finds.
"""

from __future__ import annotations

from typing import ClassVar

from arbora.inference.families import FoundTrees, NonprojectiveSibling
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
    def found(self) -> Family:
        family = self.family
        return FoundTrees(roots=self.roots) if isinstance(family, NonprojectiveSibling) else family

    @property
    def family(self) -> Family:
        largest = [kind for kind in self.scorer.parts if kind is not PartKind.LABEL][-1]
        return families.create(FAMILIES[self.trees, largest], roots=self.roots)
