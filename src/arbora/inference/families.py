"""Families of trees: a set of trees, the parts that are scored, and the queries that can be answered.

`arbora.inference.queries` does the work; `arbora.registry.families` finds a family by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from arbora.errors import InputError
from arbora.inference import queries
from arbora.inference._parts import Marginals, Parts, make_parts
from arbora.inference.tree_parts import labelled_arcs, split_labels
from arbora.interfaces import FAMILY_QUERIES, Best, PartKind, PartMarginals, PartScores, Query, Roots, Trees

ARC, LABEL = PartKind.ARC, PartKind.LABEL


@dataclass(frozen=True, slots=True)
class TreeFamily:
    """The base of all families, which set the class variables; see `arbora.interfaces.Family`."""

    name: ClassVar[str]
    trees: ClassVar[Trees]
    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC,)
    queries: ClassVar[frozenset[Query]] = FAMILY_QUERIES
    approximate: ClassVar[frozenset[Query]] = frozenset()

    roots: Roots = "single"

    def __post_init__(self) -> None:
        if self.roots not in get_args(Roots):
            raise InputError(f"roots must be {' or '.join(map(repr, get_args(Roots)))}, got {self.roots!r}")

    def argmax(self, scores: PartScores) -> Best:
        arcs, options = self._checked(Query.ARGMAX, scores)
        return queries.argmax(arcs, **options)

    def kbest(self, scores: PartScores, k: int) -> list[Best]:
        arcs, options = self._checked(Query.KBEST, scores)
        return queries.kbest(arcs, k, **options)

    def log_partition(self, scores: PartScores) -> float:
        return float(self._sums(Query.LOG_PARTITION, scores).log_partition()[0])

    def marginals(self, scores: PartScores) -> PartMarginals:
        (result,) = self._sums(Query.MARGINALS, scores).marginals()
        if not isinstance(result, Marginals):
            return split_labels(result, scores)
        higher = {kind: getattr(result, kind) for kind in self.parts[1:] if scores.get(kind) is not None}
        return split_labels(result.arcs, scores) | higher

    def marginals_along(self, scores: PartScores, direction: PartScores) -> PartMarginals:
        arcs, _ = self._checked(Query.MARGINALS, scores)
        if any(scores.get(kind) is not None for kind in self.parts[1:]):
            raise InputError("marginals_along takes first-order scores only")
        along = labelled_arcs({kind: direction[kind] for kind in direction if kind in (ARC, LABEL)})
        changes = queries.marginals_along(arcs, along, trees=self.trees, roots=self.roots)
        return split_labels(changes, scores)

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[Best]:
        arcs, options = self._checked(Query.SAMPLE, scores)
        return queries.sample(arcs, k, seed=seed, **options)

    def _sums(self, query: Query, scores: PartScores) -> Parts:
        """The functions that answer queries about all trees."""
        arcs, options = self._checked(query, scores)
        return make_parts(arcs, **options)

    def _checked(self, query: Query, scores: PartScores) -> tuple[Any, dict[str, Any]]:
        if query not in self.queries | self.approximate:
            exact = [each.value for each in Query if each in self.queries]
            rough = [f"{each.value} (approximately)" for each in Query if each in self.approximate]
            answers = ", ".join(exact + rough)
            raise InputError(f"{query} is not available for the family {self.name!r}; it answers {answers}")
        if PartKind.ARC not in scores:
            raise InputError(f"scores must have an entry {PartKind.ARC.value!r}, got {_listed(scores)}")
        foreign = [kind for kind in scores if kind not in (*self.parts, LABEL)]
        if foreign:
            raise InputError(
                f"{_listed(foreign)} do not belong to the family {self.name!r}, "
                f"whose parts are {_listed(self.parts)}",
                field="scores",
            )
        higher = {kind.value: scores.get(kind) for kind in self.parts[1:]}
        return labelled_arcs(scores), {"trees": self.trees, "roots": self.roots, **higher}


class Projective(TreeFamily):
    """Projective trees, scored by their arcs.

    Dynamic programming over spans [eisner-1996]: O(n³) for every query, O(n²) space.
    """

    name = "projective"
    trees: ClassVar[Trees] = "projective"


class Nonprojective(TreeFamily):
    """All trees, scored by their arcs.

    The best tree by contraction in O(n²), the k best in O(k n²), sums by the matrix-tree theorem in O(n³)
    [koo-2007]; O(n²) space.
    """

    name = "nonprojective"
    trees: ClassVar[Trees] = "nonprojective"


class ProjectiveSibling(TreeFamily):
    """Projective trees, scored by arcs and pairs of adjacent dependents on one side of a head.

    Dynamic programming over spans [mcdonald-2006]: O(n³) for every query, O(n²) space besides the scores.
    """

    name = "projective_sibling"
    trees: ClassVar[Trees] = "projective"
    parts = (PartKind.ARC, PartKind.SIBLING)


class ProjectiveGrandparent(TreeFamily):
    """Projective trees, scored by arcs, siblings, grandparents and grand-siblings.

    Dynamic programming over spans that remember the head's head [koo-2010]: O(n⁴) for every query,
    O(n³) space besides the scores.
    """

    name = "projective_grandparent"
    trees: ClassVar[Trees] = "projective"
    parts = (PartKind.ARC, PartKind.SIBLING, PartKind.GRANDPARENT, PartKind.GRANDSIBLING)
    queries = frozenset({Query.ARGMAX, Query.LOG_PARTITION, Query.MARGINALS})


class NonprojectiveSibling(TreeFamily):
    """All trees, scored by arcs and adjacent siblings: the best trees, approximately.

    Exact search is NP-hard. Hill climbing over single head changes starts from the best projective tree
    [mcdonald-2006], O(n²) a step: the result is never below the best projective tree, and no single change
    improves it. The k best are those of a search around it, which looks at O(k n²) trees.
    """

    name = "nonprojective_sibling"
    trees: ClassVar[Trees] = "nonprojective"
    parts = (PartKind.ARC, PartKind.SIBLING)
    queries = frozenset()
    approximate = frozenset({Query.ARGMAX, Query.KBEST})


class FoundTrees(NonprojectiveSibling):
    """The trees that a search around the best one finds: sums and probabilities are over those alone.

    For parsing; gradients need sums over all trees. The search looks at O(width n²) trees.
    """

    approximate = frozenset({Query.ARGMAX, Query.KBEST, Query.LOG_PARTITION, Query.MARGINALS})
    width: ClassVar[int] = 32
    """How many trees are expanded: all trees are found that differ from one of these by a head, or by two
    if one alone would make a cycle."""

    def kbest(self, scores: PartScores, k: int) -> list[Best]:
        """The k best of the trees; the one that `argmax` finds comes first, even if others are better."""
        own = self.argmax(scores)
        others = [tree for tree in super().kbest(scores, k) if not _same(tree, own)]
        return [own, *others][:k]

    def _sums(self, query: Query, scores: PartScores) -> Parts:
        return replace(super()._sums(query, scores), width=self.width)


def _same(one: Best, other: Best) -> bool:
    return np.array_equal(one.heads, other.heads) and (
        one.labels is None or other.labels is None or np.array_equal(one.labels, other.labels)
    )


def _listed(kinds: Any) -> str:
    return ", ".join(repr(str(kind)) for kind in kinds) or "nothing"
