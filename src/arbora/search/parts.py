"""Search over part scores: any scorer, any family of trees.

The scorer scores a batch piece by piece; the family then answers each sentence's queries. If the family has
exact sums, probabilities are exact; else they come from a list of the best trees. A subclass that only
defines `argmax`, the best tree of given scores, is a complete search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from arbora.data.encode import Batch, Names
from arbora.data.tree import Tree
from arbora.errors import DataError, InputError
from arbora.inference.distribution import TreeDistribution
from arbora.inference.tree_parts import labelled_arcs, restricted
from arbora.interfaces import Best, Family, GoldTree, PartKind, PartScores, Query, Roots, Scorer, Trees
from arbora.registry import scorers
from arbora.search.base import Parts, Search
from arbora.search.confidence import Confidence, ConfidenceAt, sentence_confidence
from arbora.search.given_heads import require_tree
from arbora.search.ranked import RankedTrees, softmax
from arbora.search.request import ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles, Ints

SUMS = frozenset({Query.LOG_PARTITION, Query.MARGINALS})


class PartSearch(Search):
    """Finds trees from the scores of parts; a subclass says how, in `argmax`."""

    parts: ClassVar[tuple[PartKind, ...]] = (PartKind.ARC, PartKind.LABEL)
    """The kinds of parts whose scores it takes."""
    loss: ClassVar[str] = "hinge"
    """The loss for `auto`; the family answers its queries."""

    def __init__(
        self, scorer: Scorer, *, trees: Trees = "nonprojective", roots: Roots = "single", label_count: int = 0
    ) -> None:
        self.scorer: Scorer = scorer
        self.trees, self.roots = trees, roots
        self.order = 1 if set(scorer.parts) <= {PartKind.ARC, PartKind.LABEL} else 2
        self.label_count = label_count if PartKind.LABEL in scorer.parts else 0

    def argmax(self, scores: PartScores) -> Best:
        """The best tree of one sentence."""
        return self.family.argmax(scores)

    @property
    def family(self) -> Family:
        """The queries of losses; by default the best tree alone, by `argmax`."""
        if type(self).argmax is PartSearch.argmax:
            raise InputError(f"{type(self).__name__} must define `argmax` or `family`", field="search")
        return SearchFamily(self)

    @property
    def found(self) -> Family:
        """The source of lists of trees and probabilities; `family`, unless another has approximate sums."""
        return self.family

    @property
    def queries(self) -> frozenset[Query]:
        return self.found.queries | self.found.approximate | {Query.GIVEN_HEADS}

    def describe(self) -> str:
        return f"{self.name} search over {self.trees} trees, scorer {self.scorer.name}"

    # Finding trees

    def checked(self, batch: Batch, request: ParseRequest) -> ParseRequest:
        request = super().checked(batch, request)
        if request.keep_heads:
            require_tree(batch.columns.split(batch.heads), self.trees, self.roots)
        return request

    def scores(self, batch: Batch, request: ParseRequest) -> Iterator[tuple[PartScores, GoldTree]]:
        """The scores of each sentence and its annotated tree; given heads are enforced if requested."""
        for _, piece in batch.pieces():
            for scores, gold in zip(self.scorer.score(piece), piece.gold(), strict=True):
                yield restricted(scores, _unlabelled(gold.heads)) if request.keep_heads else scores, gold

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        argmax = self.family.argmax
        trees = [argmax(scores) for scores, _ in self.scores(batch, request)]
        empty = np.zeros(0, dtype=np.int32)
        heads = np.concatenate([empty, *(tree.heads[1:] for tree in trees)])
        labels = np.concatenate([empty, *map(_labels, trees)])
        return heads.astype(np.int32), labels.astype(np.int32)

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        return [self._ranked(scores, k) for scores, _ in self.scores(batch, request)]

    def _ranked(self, scores: PartScores, k: int) -> RankedTrees:
        has_lists = Query.KBEST in self.queries
        trees = self.found.kbest(scores, k) if has_lists else [self.family.argmax(scores)]
        heads, labels, _ = self._labelled(scores, trees, 1.0)
        return RankedTrees(np.array([tree.score for tree in trees]), heads, labels)

    def _labelled(
        self, scores: PartScores, trees: Sequence[Best], temperature: float
    ) -> tuple[Ints, Ints, list[Doubles]]:
        """Heads and labels, (trees, n) each, and P(label | head) of each tree, (n, labels)."""
        heads, labels = _stacked(trees)
        return heads, labels, [_label_table(scores, row, temperature) for row in heads]

    # Probabilities

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        if not self.queries >= SUMS:
            return super().confidence_at(batch, request)
        request = self.checked(batch, request)
        sentences = list(self.scores(batch, request))

        def at(temperatures: Temperatures) -> Confidence:
            return Confidence.joined(self._confidence(*pair, request, temperatures) for pair in sentences)

        return at

    def _confidence(
        self, scores: PartScores, gold: GoldTree, request: ParseRequest, t: Temperatures
    ) -> dict[str, Any]:
        tempered = {kind: array / t.trees for kind, array in scores.items()}
        log_sum, marginals = self.found.log_partition(tempered), self.found.marginals(tempered)
        trees = self._decoded(tempered, gold, request, t)
        heads, labels, tables = self._labelled(scores, trees, t.labels)
        mean = sum(
            float(np.sum(share * np.where(np.isfinite(tempered[kind]), tempered[kind], 0.0)))
            for kind, share in marginals.items()
        )
        own = np.array([tree.score for tree in trees])
        return sentence_confidence(
            marginals[PartKind.ARC],
            heads,
            labels,
            tables,
            gold,
            request,
            entropy=max(0.0, log_sum - mean),
            log_probabilities=np.minimum(own - log_sum, 0.0) + np.log1p(-t.missed),
            scores=own,
            missed=t.missed,
        )

    def _decoded(
        self, scores: PartScores, gold: GoldTree, request: ParseRequest, t: Temperatures
    ) -> list[Best]:
        if request.k:
            return self.found.kbest(scores, request.k)
        if request.decode == "argmax":
            return [self.family.argmax(scores)]
        heads = gold.heads
        if request.decode == "minimum-risk":
            tempered = {kind: array / t.risk for kind, array in scores.items()}
            risk = self.found.marginals(tempered)[PartKind.ARC]
            best = self.family.argmax({PartKind.ARC: np.where(risk > 0.0, risk, -np.inf)})
            heads = np.asarray(best.heads)
        return [self.family.argmax(restricted(scores, _unlabelled(heads)))]

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


def _rejected(query: Query) -> Any:
    def reject(self: SearchFamily, *_: Any, **__: Any) -> Any:
        raise self.not_answered(query)

    return reject


class SearchFamily:
    """A search's own `argmax` as a family, for losses that need no more."""

    name: ClassVar[str] = "search"
    queries: ClassVar[frozenset[Query]] = frozenset({Query.ARGMAX})
    approximate: ClassVar[frozenset[Query]] = frozenset()

    def __init__(self, search: PartSearch) -> None:
        self.trees, self.roots, self.parts = search.trees, search.roots, search.parts
        self._search = search
        self.not_answered = search.not_answered

    def argmax(self, scores: PartScores) -> Best:
        """The result of the search; InputError unless it is a tree with the right number of roots."""
        found = self._search.argmax(scores)
        try:
            heads = np.asarray(found.heads)
            is_tree = heads.shape == scores[PartKind.ARC].shape[:1] and heads[0] == -1
            Tree.from_heads(heads[1:].tolist())
        except (DataError, InputError, AttributeError, IndexError, TypeError) as error:
            what = f"{self._search.name} must return a Best with a tree: {error}"
            raise InputError(what, field="search") from error
        if not is_tree or (self.roots == "single" and np.count_nonzero(heads == 0) != 1):
            raise InputError(
                f"{self._search.name} must return heads of shape (n+1,) with heads[0] == -1 and {self.roots} "
                f"root, got {heads.tolist()}",
                field="search",
            )
        return found

    kbest = _rejected(Query.KBEST)
    log_partition = _rejected(Query.LOG_PARTITION)
    marginals = _rejected(Query.MARGINALS)
    marginals_along = _rejected(Query.MARGINALS)
    sample = _rejected(Query.SAMPLE)


def _unlabelled(heads: Ints) -> GoldTree:
    return GoldTree(heads, np.full(len(heads), -1, dtype=np.int32))


def _labels(tree: Best) -> Ints:
    if tree.labels is None:
        return np.full(len(tree.heads) - 1, -1, dtype=np.int32)
    return np.asarray(tree.labels[1:], dtype=np.int32)


def _stacked(trees: Sequence[Best]) -> tuple[Ints, Ints]:
    """Heads and labels, (trees, n) each."""
    heads = np.array([tree.heads[1:] for tree in trees], dtype=np.int32)
    return heads, np.array(list(map(_labels, trees)), dtype=np.int32)


def _label_table(scores: PartScores, heads: Ints, temperature: float) -> Doubles:
    """P(label | head) of each word, (n, labels)."""
    if PartKind.LABEL not in scores:
        return np.zeros((len(heads), 0))
    return softmax(scores[PartKind.LABEL][heads, np.arange(1, len(heads) + 1)] / temperature, 1.0)
