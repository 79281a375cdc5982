"""Transition parsing: from left to right in linear time, greedily or with a beam [nivre-2008].

Probabilities and k best trees come from a list of the best trees that a beam finds.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from arbora.data.batch import Batch
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import Query, Roots, Trees
from arbora.registry import transition_features
from arbora.scorers import GraphSettings, TransitionScorer, TransitionSettings
from arbora.search._linear_files import linear_parts, read_settings, read_weights, rounded
from arbora.search.base import Parts, Search
from arbora.search.graph import ranked_lists
from arbora.search.ranked import RankedTrees
from arbora.search.request import ParseRequest
from arbora.settings import from_dict, to_dict
from arbora.storage.model_file import ModelFile
from arbora.types import Ints


class TransitionSearch(Search):
    """From left to right in linear time, greedily (the fastest) or with a beam."""

    name: ClassVar[str] = "transition"
    scorer: TransitionScorer

    def __init__(self, scorer: TransitionScorer) -> None:
        self.scorer = scorer

    @property
    def settings(self) -> TransitionSettings:
        """System, beam and how it was trained."""
        return self.scorer.search

    @property
    def queries(self) -> frozenset[Query]:
        """None is answered exactly; only the arc-eager system parses around given heads."""
        found = {Query.ARGMAX, Query.KBEST, Query.MARGINALS, Query.LOG_PARTITION}
        return frozenset(found | ({Query.GIVEN_HEADS} if self.settings.system == "arc-eager" else set()))

    @property
    def trees(self) -> Trees:
        return self.settings.trees

    @property
    def roots(self) -> Roots:
        return self.scorer.settings.roots

    @property
    def order(self) -> int:
        return self.scorer.settings.order

    @property
    def label_count(self) -> int:
        return self.scorer.label_count

    def describe(self) -> str:
        return f"{self.settings.system} transitions, beam {self.settings.beam}"

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """O(n beam)."""
        weights = self.scorer.tree, self.scorer.label_weights
        return self.scorer.native.parse(batch.encoded, *weights, request.keep_heads, request.threads)

    def kbest(self, batch: Batch, k: int, request: ParseRequest) -> list[RankedTrees]:
        weights, options = (
            (self.scorer.tree, self.scorer.label_weights),
            (request.keep_heads, request.threads),
        )
        return ranked_lists(batch, *self.scorer.native.kbest(batch.encoded, *weights, k, *options))

    def quantized(self) -> Self:
        weights: dict[str, Any] = {"tree": rounded(self.scorer.tree)}
        return type(self)(self.scorer.replaced(**weights, label_weights=rounded(self.scorer.label_weights)))

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors, metadata = linear_parts(self.scorer, {}, None, quantized=quantized)
        return tensors, {**metadata, self.name: to_dict(self.settings)}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        settings = read_settings(file)
        search = from_dict(TransitionSettings, file.entry(cls.name, dict))
        _require_fit(settings, search)
        templates = transition_features.needed_by_file(settings.features, file.source)()
        scorer = TransitionScorer(settings, search, templates, labels=len(names.labels))
        return cls(scorer.replaced(**read_weights(file, scorer, names)))


def _require_fit(settings: GraphSettings, search: TransitionSettings) -> None:
    if settings.trees != search.trees or settings.labels == "staged":
        raise InputError(
            f"transition: expected {search.trees} trees and labels joint or none with the system "
            f"{search.system}, got {settings.trees} trees with labels {settings.labels}"
        )
