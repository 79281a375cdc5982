"""What all families share: `arbora.inference` does the work, a family says what it may be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from arbora import inference
from arbora.errors import InputError
from arbora.inference import Best
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

EVERY_QUERY = FAMILY_QUERIES


@dataclass(frozen=True, slots=True)
class TreeFamily:
    """Base of the families, each of which sets the class variables; see `arbora.interfaces.Family`."""

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
        best: Best = inference.argmax(arcs, **options)
        return best

    def kbest(self, scores: PartScores, k: int) -> list[ScoredTree]:
        """The k best trees (1 <= k <= 1000), best first, all different; all of them where fewer exist."""
        arcs, options = self._checked(Query.KBEST, scores)
        trees: list[ScoredTree] = inference.kbest(arcs, k, **options)
        return trees

    def log_partition(self, scores: PartScores) -> float:
        """The log of the sum of exp(score) over all trees; never below the best tree's score."""
        arcs, options = self._checked(Query.LOG_PARTITION, scores)
        return float(inference.log_partition(arcs, **options))

    def marginals(self, scores: PartScores) -> PartMarginals:
        """The probability of each part, in arrays shaped as the scores; those left out have none."""
        arcs, options = self._checked(Query.MARGINALS, scores)
        found = inference.marginals(arcs, **options)
        if not isinstance(found, inference.Marginals):
            return {PartKind.ARC: found}
        arrays = {kind: getattr(found, kind) for kind in self.parts}
        return {kind: array for kind, array in arrays.items() if array is not None}

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[ScoredTree]:
        """`k` independent random trees; one seed gives one result."""
        arcs, options = self._checked(Query.SAMPLE, scores)
        trees: list[ScoredTree] = inference.sample(arcs, k, seed=seed, **options)
        return trees

    def _checked(self, query: Query, scores: PartScores) -> tuple[Any, dict[str, Any]]:
        """The arc scores, and everything else as `arbora.inference` takes it."""
        if query not in self.queries | self.approximate:
            raise InputError(
                f"{query} is not answered by the family {self.name!r}; it answers {self._answers()}"
            )
        if PartKind.ARC not in scores:
            raise InputError(f"scores must have an entry {PartKind.ARC.value!r}, got {_listed(scores)}")
        foreign = [kind for kind in scores if kind not in self.parts]
        if foreign:
            raise InputError(
                f"scores of {_listed(foreign)} do not belong to the family {self.name!r}, "
                f"whose parts are {_listed(self.parts)}"
            )
        options: dict[str, Any] = {"trees": self.trees, "roots": self.roots}
        for kind in self.parts[1:]:
            options[kind.value] = scores.get(kind)
        return scores[PartKind.ARC], options

    def _answers(self) -> str:
        exact = [query.value for query in Query if query in self.queries]
        rough = [f"{query.value} (approximately)" for query in Query if query in self.approximate]
        return ", ".join(exact + rough)


def _listed(kinds: Any) -> str:
    return ", ".join(repr(str(kind)) for kind in kinds) or "nothing"
