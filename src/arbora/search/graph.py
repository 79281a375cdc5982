"""Exact search with linear scores, fused in the core: scores, pruning, charts and sums in one native call.

The same answers as `arbora.search.exact` with the same scores, many times faster. First order, and second
order over projective trees, is exact; second-order non-projective trees are found by hill climbing
[mcdonald-2006], and have neither k best trees nor a probability.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from arbora._core import GraphJudge, GraphModel, Pruning
from arbora.data.batch import Batch
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import Query, Roots, Trees
from arbora.registry import features
from arbora.scorers import LinearScorer
from arbora.search._linear_files import (
    linear_parts,
    read_pruner,
    read_settings,
    read_weights,
    rounded,
    rounded_pruner,
)
from arbora.search.base import Parts, Search
from arbora.search.pruner import Pruner
from arbora.search.ranked import RankedTrees
from arbora.search.request import Confidence, ConfidenceAt, ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Floats, Ints

PrunerArguments = tuple[GraphModel | None, Floats | None, Pruning]


class LinearSearch(Search):
    """What searches with linear scorers share; `settings` of the scorer say which trees."""

    scorer: LinearScorer

    @property
    def trees(self) -> Trees:
        return self.scorer.settings.trees

    @property
    def roots(self) -> Roots:
        return self.scorer.settings.roots

    @property
    def order(self) -> int:
        return self.scorer.settings.order

    @property
    def label_count(self) -> int:
        return self.scorer.label_count


class GraphSearch(LinearSearch):
    """Exact search over trees whose scores are sums over arcs, siblings and grandparents."""

    name: ClassVar[str] = "graph"

    def __init__(self, scorer: LinearScorer, pruner: Pruner | None = None) -> None:
        self.scorer = scorer
        self.pruner = pruner

    @property
    def queries(self) -> frozenset[Query]:
        found = {Query.ARGMAX, Query.MARGINALS, Query.GIVEN_HEADS}
        if self.order == 1 or self.trees == "projective":
            found |= {Query.KBEST, Query.LOG_PARTITION}
        return frozenset(found)

    def describe(self) -> str:
        return f"order {self.order}"

    def not_answered(self, query: Query) -> InputError:
        known = super().not_answered(query)
        return InputError(
            f"{known}; second-order non-projective trees have no exact search: train with "
            "trees=projective, or with order=1"
        )

    @property
    def _native(self) -> tuple[Floats, Floats | None, bool, *PrunerArguments]:
        staged = self.scorer.settings.labels == "staged"
        return self.scorer.tree, self.scorer.label_weights, staged, *pruner_arguments(self.pruner)

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """With a pruner that keeps k heads: O(n² + n k²) scores per sentence."""
        return self.scorer.native.parse(batch.encoded, *self._native, request.keep_heads, request.threads)

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        asked = ParseRequest(k=k, keep_heads=request.keep_heads, threads=request.threads)
        found = self.confidence_at(batch, asked)(Temperatures())
        return list(ranked_lists(batch, found.counts, found.scores, found.heads, found.labels))

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        """Sums over all trees, computed again for each temperature."""
        if request.k and Query.KBEST not in self.queries:
            raise self.not_answered(Query.KBEST)
        r = request

        def at(t: Temperatures) -> Confidence:
            found = self.native_confidence.judge(
                batch.encoded,
                decode=r.decode,
                k=r.k,
                tree_temperature=t.trees,
                risk_temperature=t.risk * t.trees,
                label_temperature=t.labels,
                missed=t.missed,
                arc_table=r.arc_table,
                label_table=r.label_table,
                keep_heads=r.keep_heads,
                threads=r.threads,
            )
            return Confidence.of(found)

        return at

    @property
    def native_confidence(self) -> GraphJudge:
        """The core's own."""
        return GraphJudge(self.scorer.native, *self._native)

    def distribution(self, batch: Batch, temperatures: Temperatures) -> TreeDistribution:
        if self.order != 1:
            return super().distribution(batch, temperatures)
        t = temperatures
        scores = self.native_confidence.scores(
            batch.encoded, 0, tree_temperature=t.trees, label_temperature=t.labels
        )
        return TreeDistribution(scores, trees=self.trees, roots=self.roots)

    def with_trees(self, trees: Trees) -> GraphSearch:
        """The same weights over other trees; of first-order scores."""
        settings = replace(self.scorer.settings, trees=trees)
        return GraphSearch(self.scorer.replaced(settings=settings), self.pruner)

    def quantized(self) -> Self:
        weights: dict[str, Any] = {"tree": rounded(self.scorer.tree)}
        weights["label_weights"] = rounded(self.scorer.label_weights)
        return type(self)(self.scorer.replaced(**weights), rounded_pruner(self.pruner))

    def to_parts(self, *, quantized: bool = False) -> Parts:
        return linear_parts(self.scorer, {}, self.pruner, quantized=quantized)

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        settings = read_settings(file)
        templates = features.needed_by_file(settings.features, file.source)()
        scorer = LinearScorer(settings, templates, labels=len(names.labels))
        pruner = read_pruner(file, settings)
        return cls(scorer.replaced(**read_weights(file, scorer, names)), pruner)


def pruner_arguments(pruner: Pruner | None) -> PrunerArguments:
    """A pruner as native calls take it."""
    if pruner is None:
        return None, None, Pruning()
    return pruner.scorer.native, pruner.weights, pruner.settings.native


def ranked_lists(batch: Batch, counts: Any, scores: Any, heads: Ints, labels: Ints) -> list[RankedTrees]:
    """The list of each sentence, cut out of arrays over all."""
    lists, tree, word = [], 0, 0
    for n, count in zip(batch.lengths.tolist(), np.asarray(counts).tolist(), strict=True):
        end, shape = word + n * count, (count, n)
        rows = heads[word:end].reshape(shape), labels[word:end].reshape(shape)
        lists.append(RankedTrees(scores[tree : tree + count], *rows))
        tree, word = tree + count, end
    return lists
