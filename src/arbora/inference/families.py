"""Families: a set of trees, the parts that are scored, and the queries that can be answered.

`arbora.inference` does the work. `arbora.registry.families` knows each family by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from arbora.errors import InputError
from arbora.inference import queries
from arbora.interfaces import (
    FAMILY_QUERIES,
    ROOTS,
    PartKind,
    PartMarginals,
    PartScores,
    Query,
    Roots,
    ScoredTree,
    Trees,
)


@dataclass(frozen=True, slots=True)
class TreeFamily:
    """Base of the families; each sets the class variables. See `arbora.interfaces.Family`."""

    name: ClassVar[str]
    trees: ClassVar[Trees]
    parts: ClassVar[tuple[PartKind, ...]]
    queries: ClassVar[frozenset[Query]]
    approximate: ClassVar[frozenset[Query]] = frozenset()

    roots: Roots = "single"

    def __post_init__(self) -> None:
        if self.roots not in ROOTS:
            raise InputError(f"roots must be {' or '.join(map(repr, ROOTS))}, got {self.roots!r}")

    def argmax(self, scores: PartScores) -> ScoredTree:
        """The best tree."""
        arcs, options = self._checked(Query.ARGMAX, scores)
        best: ScoredTree = queries.argmax(arcs, **options)
        return best

    def kbest(self, scores: PartScores, k: int) -> list[ScoredTree]:
        """The k best trees (1 <= k <= 1000), best first, all different; all of them where fewer exist."""
        arcs, options = self._checked(Query.KBEST, scores)
        trees: list[ScoredTree] = queries.kbest(arcs, k, **options)
        return trees

    def log_partition(self, scores: PartScores) -> float:
        """The log of the sum of exp(score) over all trees; never below the best tree's score."""
        arcs, options = self._checked(Query.LOG_PARTITION, scores)
        return float(queries.log_partition(arcs, **options))

    def marginals(self, scores: PartScores) -> PartMarginals:
        """The probability of each part, in arrays shaped as the scores."""
        arcs, options = self._checked(Query.MARGINALS, scores)
        found = queries.marginals(arcs, **options)
        if not isinstance(found, queries.Marginals):
            return {PartKind.ARC: found}
        arrays = {kind: getattr(found, kind) for kind in self.parts}
        return {kind: array for kind, array in arrays.items() if array is not None}

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[ScoredTree]:
        """`k` independent random trees. The same seed gives the same trees."""
        arcs, options = self._checked(Query.SAMPLE, scores)
        trees: list[ScoredTree] = queries.sample(arcs, k, seed=seed, **options)
        return trees

    def _checked(self, query: Query, scores: PartScores) -> tuple[Any, dict[str, Any]]:
        """The arc scores, and everything else as `arbora.inference` takes it."""
        if query not in self.queries | self.approximate:
            raise InputError(
                f"{query} is not available for the family {self.name!r}; it answers {self._answers()}"
            )
        if PartKind.ARC not in scores:
            raise InputError(f"scores must have an entry {PartKind.ARC.value!r}, got {_listed(scores)}")
        foreign = [kind for kind in scores if kind not in self.parts]
        if foreign:
            raise InputError(
                f"{_listed(foreign)} do not belong to the family {self.name!r}, "
                f"whose parts are {_listed(self.parts)}",
                field="scores",
            )
        options: dict[str, Any] = {"trees": self.trees, "roots": self.roots}
        for kind in self.parts[1:]:
            options[kind.value] = scores.get(kind)
        return scores[PartKind.ARC], options

    def _answers(self) -> str:
        exact = [query.value for query in Query if query in self.queries]
        rough = [f"{query.value} (approximately)" for query in Query if query in self.approximate]
        return ", ".join(exact + rough)


class Projective(TreeFamily):
    """Projective trees, scored by their arcs.

    Dynamic programming over spans [eisner-1996]: O(n³) for every query, O(n²) space.
    """

    __slots__ = ()

    name: ClassVar[str] = "projective"
    trees: ClassVar[Trees] = "projective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    queries: ClassVar[frozenset[Query]] = FAMILY_QUERIES


class Nonprojective(TreeFamily):
    """All trees, scored by their arcs.

    The best tree by contraction in O(n²), the k best in O(k n²), sums by the matrix-tree theorem in O(n³)
    [koo-2007]; O(n²) space.
    """

    __slots__ = ()

    name: ClassVar[str] = "nonprojective"
    trees: ClassVar[Trees] = "nonprojective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    queries: ClassVar[frozenset[Query]] = FAMILY_QUERIES


class ProjectiveSibling(TreeFamily):
    """Projective trees, scored by arcs and pairs of adjacent dependents on one side of a head.

    Dynamic programming over spans [mcdonald-2006]: O(n³) for every query, O(n²) space beside the scores.
    """

    __slots__ = ()

    name: ClassVar[str] = "projective_sibling"
    trees: ClassVar[Trees] = "projective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.SIBLING)
    queries: ClassVar[frozenset[Query]] = FAMILY_QUERIES


class ProjectiveGrandparent(TreeFamily):
    """Projective trees, scored by arcs, siblings, grandparents and grand-siblings.

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


class NonprojectiveSibling(TreeFamily):
    """All trees, scored by arcs and adjacent siblings: only the best tree, approximately.

    Exact search is NP-hard. Hill climbing over single head changes starts from the best projective tree
    [mcdonald-2006], O(n²) a step: the result is never below the best projective tree, and no single change
    improves it.
    """

    __slots__ = ()

    name: ClassVar[str] = "nonprojective_sibling"
    trees: ClassVar[Trees] = "nonprojective"
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.SIBLING)
    queries: ClassVar[frozenset[Query]] = frozenset()
    approximate: ClassVar[frozenset[Query]] = frozenset({Query.ARGMAX})


def _listed(kinds: Any) -> str:
    return ", ".join(repr(str(kind)) for kind in kinds) or "nothing"


FAMILIES: tuple[type[TreeFamily], ...] = (
    Projective,
    Nonprojective,
    ProjectiveSibling,
    ProjectiveGrandparent,
    NonprojectiveSibling,
)
