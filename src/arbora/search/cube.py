"""Cube pruning: features of any order, heads and labels together, with a beam per node [zhang-2012].

Probabilities and k best trees come from a list of the best trees that search finds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from arbora.data.batch import Batch
from arbora.data.encode import Names
from arbora.interfaces import Query
from arbora.registry import features
from arbora.scorers import CubeScorer, CubeSettings
from arbora.search._linear_files import (
    linear_parts,
    read_pruner,
    read_settings,
    read_table,
    read_weights,
    rounded,
    rounded_pruner,
)
from arbora.search.base import Parts
from arbora.search.graph import LinearSearch, PrunerArguments, pruner_arguments, ranked_lists
from arbora.search.pruner import Pruner
from arbora.search.ranked import RankedTrees
from arbora.search.request import ParseRequest
from arbora.settings import from_dict, to_dict
from arbora.storage.model_file import ModelFile
from arbora.types import Floats, Ints


class CubeSearch(LinearSearch):
    """Features of any order, heads and labels together, by cube pruning: slower and more accurate."""

    name: ClassVar[str] = "cube"
    scorer: CubeScorer

    def __init__(self, scorer: CubeScorer, pruner: Pruner | None = None) -> None:
        self.scorer = scorer
        self.pruner = pruner

    @property
    def settings(self) -> CubeSettings:
        """Beam and label filter."""
        return self.scorer.search

    @property
    def queries(self) -> frozenset[Query]:
        """None is answered exactly."""
        answered = (Query.ARGMAX, Query.KBEST, Query.MARGINALS, Query.LOG_PARTITION, Query.GIVEN_HEADS)
        return frozenset(answered)

    def describe(self) -> str:
        return f"order {self.order} by cube pruning, beam {self.settings.beam}"

    @property
    def _native(self) -> tuple[Floats, Floats | None, Floats | None, *PrunerArguments]:
        s = self.scorer
        return s.tree, s.label_weights, s.label_filter, *pruner_arguments(self.pruner)

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """With a pruner that keeps k heads: O(n² k) nodes, O(beam) combinations per node."""
        return self.scorer.cube.parse(batch.encoded, *self._native, request.keep_heads, request.threads)

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        options = (k, request.keep_heads, request.threads)
        return ranked_lists(batch, *self.scorer.cube.kbest(batch.encoded, *self._native, *options))

    def quantized(self) -> Self:
        weights: dict[str, Any] = {"tree": rounded(self.scorer.tree)}
        weights["label_weights"] = rounded(self.scorer.label_weights)
        weights["label_filter"] = rounded(self.scorer.label_filter)
        return type(self)(self.scorer.replaced(**weights), rounded_pruner(self.pruner))

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tables = {"label_filter": self.scorer.label_filter}
        tensors, metadata = linear_parts(self.scorer, tables, self.pruner, quantized=quantized)
        return tensors, {**metadata, self.name: to_dict(self.settings)}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        settings, search = read_settings(file), from_dict(CubeSettings, file.entry(cls.name, dict))
        templates = features.needed_by_file(settings.features, file.source)()
        scorer = CubeScorer(settings, search, templates, labels=len(names.labels))
        pruner = read_pruner(file, settings)
        weights = read_weights(file, scorer, names)
        if settings.labels != "none":
            weights["label_filter"] = read_table(file, "label_filter", scorer.weight_count("labels"))
        return cls(scorer.replaced(**weights), pruner)
