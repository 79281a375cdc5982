"""The base of all searches: they find trees for a batch, and say which queries they answer.

A search holds its scorer. A subclass finds best trees (`best`) and, if it can, lists of the best few
(`kbest`). Probabilities then come from the list; a search with exact sums overrides `confidence_at` instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arbora.data.encode import Batch, Names
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import PartKind, PartScores, Query, Roots, Trees
from arbora.search import ranked
from arbora.search.confidence import Confidence, ConfidenceAt, split_arcs
from arbora.search.ranked import RankedTrees
from arbora.search.request import ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Ints

LONGEST = 1_000
LISTED = 32  # Trees in the list that probabilities come from, at least

Parts = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""Tensors and metadata for a model file."""


class Search(ABC):
    """Finds trees for a batch; immutable. Has `scorer`, `trees`, `roots`, `order` and `label_count`."""

    name: ClassVar[str]
    """The name in the registry and in model files."""
    is_supervised: ClassVar[bool] = True
    """Whether its weights were learned from trees."""
    recipe: ClassVar[str] = "arbora.training.recipes:ScorerRecipe"
    """How it is trained: `module:class` of a recipe; empty if it is not trained on a treebank."""
    scorer: Any
    """The scorer; each search defines the kind that it needs."""
    trees: Trees
    roots: Roots
    order: int
    """How many arcs the largest part that is scored has."""
    label_count: int
    """How many labels it chooses from; 0: it gives none."""
    longest: ClassVar[int | None] = LONGEST
    """Parsers cut longer sentences; None: time and memory are linear."""

    @property
    @abstractmethod
    def queries(self) -> frozenset[Query]:
        """The queries that it answers: ARGMAX always, KBEST, MARGINALS, LOG_PARTITION, GIVEN_HEADS."""

    @abstractmethod
    def describe(self) -> str:
        """How it searches, in a few words."""

    @abstractmethod
    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """Heads and labels of all words, (W,) each; labels are -1 if there are none."""

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        """The k best trees of each sentence, its own best first."""
        if type(self).confidence_at is Search.confidence_at:
            raise self.not_answered(Query.KBEST)
        listed = ParseRequest(k=k, keep_heads=request.keep_heads, threads=request.threads)
        trees = self.confidence_at(batch, listed)(Temperatures())
        return ranked.ranked_lists(batch.lengths, trees.counts, trees.scores, trees.heads, trees.labels)

    def marginals(self, batch: Batch, request: ParseRequest, temperatures: Temperatures) -> list[PartScores]:
        """P(arc) of each sentence, [head, dep]."""
        with_table = ParseRequest(arc_table=True, keep_heads=request.keep_heads, threads=request.threads)
        table = self.confidence_at(batch, with_table)(temperatures).arc_table
        return [{PartKind.ARC: arcs} for arcs in split_arcs(table, batch.lengths)]

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        """Trees with probabilities, as a function of temperatures; from one list of the best trees."""
        request = self.checked(batch, request)
        lists = self.kbest(batch, max(LISTED, 2 * request.k), request)
        gold = batch.gold() if len(batch) else []

        def at(temperatures: Temperatures) -> Confidence:
            pairs = zip(lists, gold, strict=True)
            return Confidence.joined(
                each.confidence(tree, request, temperatures, self) for each, tree in pairs
            )

        return at

    def distribution(self, batch: Batch, temperatures: Temperatures) -> TreeDistribution:
        """The distribution over the trees of a batch of one sentence, labels summed out."""
        raise InputError(
            f"distribution: expected a first-order parser with exact search, got {self.describe()}; train "
            "with order = 1, or ask for P(head), P(tree) and the k best trees"
        )

    def checked(self, batch: Batch, request: ParseRequest) -> ParseRequest:
        """The request; InputError if the search does not answer it. Without heads, none need to be kept."""
        if request.k and Query.KBEST not in self.queries:
            raise self.not_answered(Query.KBEST)
        if request.keep_heads and Query.GIVEN_HEADS not in self.queries:
            if np.any(batch.heads >= 0):
                raise self.not_answered(Query.GIVEN_HEADS)
            return replace(request, keep_heads=False)
        return request

    def not_answered(self, query: Query) -> InputError:
        """The error for a query that is not among `queries`."""
        known = ", ".join(each.value for each in Query if each in self.queries)
        return InputError(f"{query.value}: not answered by {self.describe()}; it answers {known}")

    def plain_labels(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the parser's labels that its trees may have."""
        return labels

    @property
    def caveat(self) -> str:
        """Why its probabilities cannot even rank arcs; empty if they can."""
        return ""

    @property
    def annotator(self) -> Any:
        """The predictor of tags and lemmas with the trees, `annotate(columns, threads=...)`; None: none."""
        return None

    @property
    def uncalibrated(self) -> Search:
        """The search whose probabilities temperatures are fitted to: itself, unless it wraps another."""
        return self

    def quantized(self) -> Self:
        """The search that a file with quantized weights holds."""
        return self

    @abstractmethod
    def to_parts(self, *, quantized: bool = False) -> Parts:
        """Tensors and metadata for a model file."""

    def with_trees(self, trees: Trees) -> Search:
        """The same weights over other trees."""
        raise InputError(f"{self.describe()} belongs to the trees that it was trained with", field="trees")

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        """The inverse of `to_parts`; InputError or ModelError for a damaged file."""
        raise file.error(f"the search {cls.name} cannot be read from a file: it does not define `from_file`")
