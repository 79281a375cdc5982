"""Pseudo-projective search: any search over projective trees whose labels mark lifted arcs [nivre-2005].

Trees that leave the search are restored: lifted words are reattached, and marks removed from labels. P(head)
and P(tree) stay those of the lifted trees, even if two of the k best become the same tree; P(label) is the
sum over all marks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from arbora.data.encode import Batch
from arbora.data.projectivize import PseudoProjective, Restorer
from arbora.interfaces import Query
from arbora.search.base import Parts, Search
from arbora.search.confidence import Confidence, ConfidenceAt
from arbora.search.request import ParseRequest, Temperatures
from arbora.settings import to_dict
from arbora.types import Ints, Longs

LIFTS = "lifts"  # The entry of model files that says how labels mark lifted arcs


class LiftedSearch(Search):
    """A search whose trees are restored from the marks in their labels.

    A model file names the inner search; see `arbora.parsing.model_file`.
    """

    def __init__(self, inner: Search, lifts: PseudoProjective, labels: tuple[str, ...]) -> None:
        """`labels`: the names of all labels, marked ones included."""
        self.inner, self.lifts, self.labels = inner, lifts, labels
        self.restorer = Restorer(lifts, labels)

    def __getattr__(self, name: str) -> Any:
        """All attributes that a search sets are those of the inner search."""
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def queries(self) -> frozenset[Query]:
        return self.inner.queries

    def plain_labels(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(filter(self.lifts.is_free_of_marks, labels))

    @property
    def longest(self) -> int | None:  # type: ignore[override]
        return self.inner.longest

    @property
    def uncalibrated(self) -> Search:
        return self.inner

    @property
    def caveat(self) -> str:
        return self.inner.caveat

    @property
    def annotator(self) -> Any:
        return self.inner.annotator

    def describe(self) -> str:
        return f"pseudo-projective ({self.lifts.encoding}), {self.inner.describe()}"

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        heads, labels = self.inner.best(batch, request)
        fixed = batch.heads if request.keep_heads else None
        return self.restorer.restore(heads, labels, batch.lengths, fixed)

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        inner = self.inner.confidence_at(batch, replace(request, label_table=True))

        def restored(temperatures: Temperatures) -> Confidence:
            confidence = self._restored(inner(temperatures), batch, request)
            return confidence if request.label_table else replace(confidence, label_table=np.zeros(0))

        return restored

    def _restored(self, confidence: Confidence, batch: Batch, request: ParseRequest) -> Confidence:
        heads, labels = confidence.heads, self.restorer.unmarked(confidence.labels)
        if request.k or request.decode != "given":
            fixed = _repeated(batch.heads, batch.lengths, confidence.counts) if request.keep_heads else None
            lengths = np.repeat(batch.lengths, confidence.counts)
            heads, labels = self.restorer.restore(heads, confidence.labels, lengths, fixed)
        table = self.restorer.merged(confidence.label_table.reshape(len(heads), -1))
        shares = np.minimum(table[np.arange(len(labels)), labels], 1.0)
        return replace(
            confidence,
            heads=heads,
            labels=labels,
            label_probabilities=np.where(np.isnan(confidence.label_probabilities), np.nan, shares),
            label_table=table.reshape(-1),
        )

    def distribution(self, batch: Batch, temperatures: Temperatures) -> Any:
        return self.inner.distribution(batch, temperatures)

    def quantized(self) -> Self:
        return type(self)(self.inner.quantized(), self.lifts, self.labels)

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors, metadata = self.inner.to_parts(quantized=quantized)
        return tensors, {**metadata, LIFTS: to_dict(self.lifts)}


def _repeated(per_word: Ints, lengths: Longs, counts: Longs) -> Ints:
    """The entries of each sentence, once for each of its trees."""
    parts = np.split(per_word, np.cumsum(lengths)[:-1])
    return np.concatenate([np.tile(part, count) for part, count in zip(parts, counts, strict=True)])
