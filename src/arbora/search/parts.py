"""Search over part scores: any scorer, any family of trees.

A batch is scored piece by piece; the family then answers each sentence's queries. Where the family has exact
sums, probabilities are exact; else they come from a list of the best trees. A subclass that only says how to
find the best tree of given scores (`argmax`) is a whole search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from arbora.data.batch import Batch
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.inference.tree_parts import labelled_arcs, restricted
from arbora.interfaces import (
    Family,
    GoldTree,
    PartKind,
    PartMarginals,
    PartScores,
    Query,
    Roots,
    ScoredTree,
    Scorer,
    Trees,
)
from arbora.registry import scorers
from arbora.search.base import Parts, Search
from arbora.search.ranked import RankedTrees
from arbora.search.request import Confidence, ConfidenceAt, ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints

SUMS = frozenset({Query.LOG_PARTITION, Query.MARGINALS})


class PartSearch(Search):
    """Finds trees from the scores of parts; a subclass says how, in `argmax`."""

    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.LABEL)
    """The kinds of parts whose scores it takes."""

    def __init__(
        self, scorer: Scorer, *, trees: Trees = "nonprojective", roots: Roots = "single", label_count: int = 0
    ) -> None:
        self.scorer: Scorer = scorer
        self._trees, self._roots, self._label_count = trees, roots, label_count

    def argmax(self, scores: PartScores) -> ScoredTree:
        """The best tree of one sentence."""
        raise NotImplementedError

    @property
    def family(self) -> Family:
        """What losses ask about trees; by default the best tree alone, by `argmax`."""
        return SearchFamily(self)

    @property
    def queries(self) -> frozenset[Query]:
        return self.family.queries | self.family.approximate | {Query.GIVEN_HEADS}

    @property
    def trees(self) -> Trees:
        return self._trees

    @property
    def roots(self) -> Roots:
        return self._roots

    @property
    def order(self) -> int:
        return 1 if set(self.scorer.parts) <= {PartKind.ARC, PartKind.LABEL} else 2

    @property
    def label_count(self) -> int:
        return self._label_count if PartKind.LABEL in self.scorer.parts else 0

    def describe(self) -> str:
        return f"{self.name} search over {self.trees} trees, scorer {self.scorer.name}"

    # Finding trees

    def scores(self, batch: Batch, request: ParseRequest) -> Iterator[tuple[PartScores, GoldTree]]:
        """The scores of each sentence and what it has of a tree; given heads are enforced if requested."""
        for _, piece in batch.pieces():
            for found, gold in zip(self.scorer.score(piece), piece.gold(), strict=True):
                unlabelled = GoldTree(gold.heads, np.full_like(gold.labels, -1))
                yield (restricted(found, unlabelled) if request.keep_heads else found), gold

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        found = [self.family.argmax(scores) for scores, _ in self.scores(batch, request)]
        nothing = np.zeros(0, dtype=np.int32)
        heads = np.concatenate([nothing, *(tree.heads[1:] for tree in found)])
        labels = np.concatenate([nothing, *(_labels(tree) for tree in found)])
        return heads.astype(np.int32), labels.astype(np.int32)

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        return [self._listed(scores, k) for scores, _ in self.scores(batch, request)]

    def _listed(self, scores: PartScores, k: int) -> RankedTrees:
        one = Query.KBEST not in self.queries
        found = [self.family.argmax(scores)] if one else self.family.kbest(scores, k)
        heads = np.array([tree.heads[1:] for tree in found], dtype=np.int32)
        labels = np.array([_labels(tree) for tree in found], dtype=np.int32)
        return RankedTrees(np.array([tree.score for tree in found]), heads, labels)

    # Probabilities

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        if not self.queries >= SUMS:
            return super().confidence_at(batch, request)
        if request.k and Query.KBEST not in self.queries:
            raise self.not_answered(Query.KBEST)
        sentences = list(self.scores(batch, request))

        def at(temperatures: Temperatures) -> Confidence:
            return Confidence.joined(self._confidence(*pair, request, temperatures) for pair in sentences)

        return at

    def _confidence(
        self, scores: PartScores, gold: GoldTree, request: ParseRequest, t: Temperatures
    ) -> dict[str, Any]:
        """The arrays of a `Confidence` for one sentence."""
        tempered = {kind: array / t.trees for kind, array in scores.items()}
        log_sum, marginals = self.family.log_partition(tempered), self.family.marginals(tempered)
        arcs = marginals[PartKind.ARC]
        trees = self._chosen(tempered, gold, request, t)
        heads = np.array([tree.heads[1:] for tree in trees], dtype=np.int32)
        deps, kept = np.arange(1, len(arcs)), 1.0 - t.missed
        label_tables = [_label_table(scores, row, t.labels) for row in heads]
        labels = np.array([_labels(tree) for tree in trees], dtype=np.int32)
        mean = sum(float(np.sum(part * _finite(tempered[kind]))) for kind, part in marginals.items())
        own = np.array([tree.score for tree in trees])
        known = np.where(gold.heads[1:] >= 0, kept * arcs[np.maximum(gold.heads[1:], 0), deps], np.nan)
        logs = np.log(np.where(arcs > 0.0, arcs, 1.0))
        return {
            "counts": [len(trees)],
            "entropies": [max(0.0, log_sum - mean)],
            "log_probabilities": np.minimum(own - log_sum, 0.0) + np.log1p(-t.missed),
            "scores": own,
            "heads": heads,
            "labels": labels,
            "head_probabilities": kept * arcs[heads, deps],
            "label_probabilities": [_of_labels(*pair) for pair in zip(label_tables, labels, strict=True)],
            "head_entropies": np.tile(np.maximum(0.0, -np.sum(arcs * logs, axis=0)[1:]), len(trees)),
            "known_head_probabilities": np.tile(known, len(trees)),
            "known_label_probabilities": [_of_labels(table, gold.labels[1:]) for table in label_tables],
            "arc_table": arcs if request.arc_table else (),
            "label_table": np.array(label_tables) if request.label_table else (),
        }

    def _chosen(
        self, scores: PartScores, gold: GoldTree, request: ParseRequest, t: Temperatures
    ) -> list[ScoredTree]:
        """The trees that were asked for."""
        if request.k:
            return self.family.kbest(scores, request.k)
        if request.decode == "argmax":
            return [self.family.argmax(scores)]
        if request.decode == "given":
            given = GoldTree(gold.heads, np.full_like(gold.labels, -1))
            return [self.family.argmax(restricted(scores, given))]
        risk = self.family.marginals({kind: array / t.risk for kind, array in scores.items()})
        arcs = {PartKind.ARC: np.where(risk[PartKind.ARC] > 0.0, risk[PartKind.ARC], -np.inf)}
        best = self.family.argmax(arcs)
        chosen = GoldTree(np.asarray(best.heads), np.full_like(gold.labels, -1))
        return [self.family.argmax(restricted(scores, chosen))]

    def distribution(self, batch: Batch, temperatures: Temperatures) -> TreeDistribution:
        if self.order != 1 or not self.queries >= SUMS:
            return super().distribution(batch, temperatures)
        (scores,) = self.scorer.score(batch)
        arcs = labelled_arcs(scores) / temperatures.trees
        if arcs.ndim == 3:
            arcs = np.logaddexp.reduce(arcs, axis=2)
        return TreeDistribution(arcs, trees=self.trees, roots=self.roots)

    # The model file

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors, settings = self.scorer.to_parts()
        shape = {"trees": self.trees, "roots": self.roots}
        named = {f"scorer/{name}": array for name, array in tensors.items()}
        return named, {"scorer": self.scorer.name, "scorer_settings": settings, **shape}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        factory: Any = scorers.needed_by_file(file.entry("scorer", str), file.source)
        settings = file.entry("scorer_settings", dict)
        scorer = factory.from_parts(file.within("scorer/", {}).tensors, settings, names)
        trees, roots = file.entry("trees", str), file.entry("roots", str)
        if trees not in ("projective", "nonprojective") or roots not in ("single", "multi"):
            raise InputError(f"trees, roots: got {trees[:40]!r} and {roots[:40]!r}")
        return cls(scorer, trees=trees, roots=roots, label_count=len(names.labels))  # type: ignore[arg-type]


class SearchFamily:
    """A search's own `argmax` as a family, for losses that need no more."""

    name = "search"
    queries = frozenset({Query.ARGMAX})
    approximate: frozenset[Query] = frozenset()

    def __init__(self, search: PartSearch) -> None:
        self.trees, self.roots, self.parts = search.trees, search.roots, search.parts
        self.argmax = search.argmax
        self._not_answered = search.not_answered

    def kbest(self, scores: PartScores, k: int) -> list[ScoredTree]:
        raise self._not_answered(Query.KBEST)

    def log_partition(self, scores: PartScores) -> float:
        raise self._not_answered(Query.LOG_PARTITION)

    def marginals(self, scores: PartScores) -> PartMarginals:
        raise self._not_answered(Query.MARGINALS)

    def marginals_along(self, scores: PartScores, direction: PartScores) -> PartMarginals:
        raise self._not_answered(Query.MARGINALS)

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[ScoredTree]:
        raise self._not_answered(Query.SAMPLE)


def _labels(tree: ScoredTree) -> Ints:
    if tree.labels is None:
        return np.full(len(tree.heads) - 1, -1, dtype=np.int32)
    return np.asarray(tree.labels[1:], dtype=np.int32)


def _label_table(scores: PartScores, heads: Ints, temperature: float) -> Doubles:
    """P(label | head) of each word, (n, labels)."""
    if PartKind.LABEL not in scores:
        return np.zeros((len(heads), 0))
    rows = np.asarray(scores[PartKind.LABEL])[heads, np.arange(1, len(heads) + 1)] / temperature
    weights = np.exp(rows - rows.max(axis=1, keepdims=True))
    shares: Doubles = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _of_labels(table: Doubles, labels: Ints) -> Doubles:
    if not table.shape[1]:
        return np.full(len(labels), np.nan)
    found: Doubles = np.where(labels >= 0, table[np.arange(len(labels)), np.maximum(labels, 0)], np.nan)
    return found


def _finite(scores: Any) -> Doubles:
    return np.where(np.isfinite(scores), scores, 0.0)
