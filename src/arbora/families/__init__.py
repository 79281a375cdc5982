"""Families of trees, one per file; `arbora.registry.families` knows them by name."""

from arbora.families.nonprojective import Nonprojective
from arbora.families.nonprojective_sibling import NonprojectiveSibling
from arbora.families.projective import Projective
from arbora.families.projective_grandparent import ProjectiveGrandparent
from arbora.families.projective_sibling import ProjectiveSibling

__all__ = [
    "Nonprojective",
    "NonprojectiveSibling",
    "Projective",
    "ProjectiveGrandparent",
    "ProjectiveSibling",
]
