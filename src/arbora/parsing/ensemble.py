"""Several parsers as one: their probabilities are averaged, and one tree is made from them.

The tree is the one with the most expected correct heads under the mean of the parsers' P(head); its labels
are the most probable ones under the mean of their P(label | head). P(tree) is the mean of theirs. Parsers may
differ in learner, order, trees, features, even labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from arbora import inference
from arbora.data.batch import Batch
from arbora.data.encode import INPUT_COLUMNS, Names
from arbora.errors import InputError
from arbora.interfaces import Query, Roots, Trees
from arbora.parsing.model_file import parser_parts
from arbora.parsing.parser import Parser
from arbora.search.base import Parts, Search
from arbora.search.confidence import Confidence, ConfidenceAt
from arbora.search.request import ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Bools, Doubles, Ints


@dataclass(frozen=True)
class Combined:
    """The trees of a batch and how they came about; arrays have one entry per word."""

    heads: Ints
    labels: Ints
    """Places in the ensemble's labels."""
    label_probabilities: Doubles
    label_table: Doubles
    """Mean P(label | head), (W, labels)."""
    tables: list[Doubles]
    """Mean P(arc), (n+1, n+1) per sentence."""
    probabilities: Doubles
    """P(tree), one per sentence; NaN where a parser does not know it."""
    alone: list[tuple[Ints, Ints]]
    """The trees of each parser by itself: heads, and labels as places in the ensemble's."""

    @property
    def agreement(self) -> Bools:
        """Where all parsers by themselves give the same head."""
        first = self.alone[0][0]
        same: Bools = np.all([heads == first for heads, _ in self.alone], axis=0)
        return same


Watch = Callable[[Batch, Combined], None]


def ensemble(parsers: Sequence[Parser], watch: Watch | None = None) -> Parser:
    """Several parsers as one; `watch` is called with each batch and what came of it."""
    if not parsers:
        raise InputError("parsers: expected at least one, got none")
    every = (column for p in parsers for column in p.names.columns or INPUT_COLUMNS)
    names = Names(
        tuple(dict.fromkeys(tag for p in parsers for tag in p.names.tags)),
        tuple(dict.fromkeys(label for p in parsers for label in p.names.labels)),
        tuple(dict.fromkeys(every)),
    )
    calibrated = all(parser.is_calibrated for parser in parsers)
    return Parser(names=names, search=EnsembleSearch(parsers, names, watch), is_calibrated=calibrated)


class EnsembleSearch(Search):
    """The tree with the most expected correct heads under the mean of several parsers."""

    name: ClassVar[str] = "ensemble"
    scorer: None = None

    def __init__(self, parsers: Sequence[Parser], names: Names, watch: Watch | None = None) -> None:
        self.parsers = tuple(parsers)
        self._watch = watch
        self.labels = names.labels
        places = {label: place for place, label in enumerate(names.labels)}
        self._places = [np.array([places[label] for label in p.names.labels], np.int32) for p in parsers]

    @property
    def queries(self) -> frozenset[Query]:
        found = {Query.ARGMAX, Query.MARGINALS}
        whole = all(Query.LOG_PARTITION in parser.queries for parser in self.parsers)
        return frozenset(found | ({Query.LOG_PARTITION} if whole else set()))

    @property
    def trees(self) -> Trees:
        crossing = any(parser.search.trees == "nonprojective" for parser in self.parsers)
        return "nonprojective" if crossing else "projective"

    @property
    def roots(self) -> Roots:
        return "multi" if any(parser.search.roots == "multi" for parser in self.parsers) else "single"

    @property
    def order(self) -> int:
        return max(parser.search.order for parser in self.parsers)

    @property
    def label_count(self) -> int:
        return len(self.labels) if any(parser.gives_labels for parser in self.parsers) else 0

    def plain_labels(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for parser in self.parsers for label in parser.plain_labels))

    def describe(self) -> str:
        return f"an ensemble of {len(self.parsers)} parsers"

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        found = self.combine(batch, request)
        return found.heads, found.labels

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        """Each parser has its own temperatures; those that are asked for change nothing."""
        if request.k:
            raise self.not_answered(Query.KBEST)
        found = self.combine(batch, request)

        def at(temperatures: Temperatures) -> Confidence:
            return self._confidence(found, batch, request)

        return at

    def combine(self, batch: Batch, request: ParseRequest) -> Combined:
        """Trees of a batch. Two passes with sums over trees per parser; O(n²) numbers per sentence."""
        found = [
            p.confidence(
                batch.columns,
                temperatures=p.temperatures.for_minimum_risk,
                arc_table=True,
                threads=request.threads,
            )
            for p in self.parsers
        ]
        heads = batch.heads
        if request.decode != "given":
            heads = self._decode(_tables(batch, [each.arc_table for each in found]), request.threads)
        members = self._confidences(batch, heads, request.threads)
        table, counts = self._label_table(batch, members)
        labels, shares = self._label(table, counts, members)
        combined = Combined(
            heads=heads,
            labels=labels,
            label_probabilities=shares,
            label_table=table,
            tables=_tables(batch, [each.arc_table for each in members]),
            probabilities=np.mean([np.exp(each.log_probabilities) for each in members], axis=0),
            alone=[(each.heads, self._own_labels(i, each.labels)) for i, each in enumerate(found)],
        )
        if self._watch is not None:
            self._watch(batch, combined)
        return combined

    def _confidences(self, batch: Batch, heads: Ints, threads: int) -> list[Confidence]:
        """P of these trees and their parts, by each parser."""
        found = []
        for parser in self.parsers:
            given = parser.encode(batch.columns, threads=threads)
            given.set_heads(heads)
            asked = ParseRequest(decode="given", arc_table=True, label_table=True, threads=threads)
            found.append(parser.confidence_at(given, asked)(parser.temperatures))
        return found

    def _own_labels(self, parser: int, labels: Ints) -> Ints:
        places = self._places[parser]
        return np.where(labels < 0, -1, places[labels] if len(places) else -1).astype(np.int32)

    def _decode(self, tables: list[Doubles], threads: int) -> Ints:
        if not tables:
            return np.zeros(0, dtype=np.int32)
        bests = inference.argmax(tables, trees=self.trees, roots=self.roots, threads=threads)
        return np.concatenate([best.heads[1:] for best in bests]).astype(np.int32)

    def _label_table(self, batch: Batch, members: list[Confidence]) -> tuple[Doubles, Doubles]:
        """Mean P(label | head), (W, labels), and how many parsers know it, (W,)."""
        sums, counts = np.zeros((batch.words, len(self.labels))), np.zeros(batch.words)
        for parser, places, found in zip(self.parsers, self._places, members, strict=True):
            if parser.gives_labels:
                own = found.label_table.reshape(batch.words, len(places))
                sums[:, places] += own
                counts += own.any(axis=1)
        return sums / np.maximum(counts, 1.0)[:, None], counts

    def _label(self, table: Doubles, counts: Doubles, members: list[Confidence]) -> tuple[Ints, Doubles]:
        """The most probable labels and their P; -1 and NaN where there are none."""
        labels = np.full(len(table), -1, dtype=np.int32)
        shares = np.full(len(table), np.nan)
        known = counts > 0
        if known.any():
            labels[known] = np.argmax(table[known], axis=1)
            shares[known] = table[known].max(axis=1)
        # Parsers that learned no labels still have some that follow from the tree.
        for i, found in enumerate(members):
            labels = np.where(labels < 0, self._own_labels(i, found.labels), labels)
        return labels.astype(np.int32), shares

    def _confidence(self, found: Combined, batch: Batch, request: ParseRequest) -> Confidence:
        ends = np.cumsum(batch.lengths)[:-1]
        rows = zip(found.tables, np.split(found.heads, ends), np.split(batch.heads, ends), strict=True)
        parts = [_of_heads(*row) for row in rows] if len(batch) else []
        nothing = np.zeros(0)
        with np.errstate(divide="ignore"):
            logs = np.log(found.probabilities)
        known = [
            found.label_table[i, label] if label >= 0 else np.nan for i, label in enumerate(batch.labels)
        ]
        return Confidence(
            counts=np.ones(len(batch), dtype=np.int64),
            entropies=np.full(len(batch), np.nan),
            log_probabilities=logs,
            scores=np.full(len(batch), np.nan),
            heads=found.heads,
            labels=found.labels,
            head_probabilities=np.concatenate([nothing, *(part[0] for part in parts)]),
            label_probabilities=found.label_probabilities,
            head_entropies=np.concatenate([nothing, *(part[1] for part in parts)]),
            known_head_probabilities=np.concatenate([nothing, *(part[2] for part in parts)]),
            known_label_probabilities=np.array(known),
            arc_table=np.concatenate([nothing, *map(np.ravel, found.tables)])
            if request.arc_table
            else nothing,
            label_table=found.label_table.ravel() if request.label_table else nothing,
        )

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors: dict[str, Any] = {}
        members = []
        for i, parser in enumerate(self.parsers):
            arrays, metadata = parser_parts(parser, quantized=quantized)
            tensors |= {f"{i}/{name}": array for name, array in arrays.items()}
            members.append(metadata)
        return tensors, {"members": members}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        members: list[Any] = file.entry("members", list)
        if not members or not all(isinstance(each, dict) for each in members):
            raise InputError(f"members: expected parsers, got {str(members)[:80]}")
        parsers = [Parser.from_file(file.within(f"{i}/", each)) for i, each in enumerate(members)]
        if not {label for parser in parsers for label in parser.names.labels} <= set(names.labels):
            raise InputError("members: expected parsers whose labels the ensemble has, got others")
        return cls(parsers, names)


def _tables(batch: Batch, of_parsers: list[Doubles]) -> list[Doubles]:
    """The mean P(arc) of several parsers, (n+1, n+1) per sentence."""
    table = np.mean(of_parsers, axis=0)
    ends = np.cumsum((batch.lengths + 1) ** 2)[:-1]
    nodes = (batch.lengths + 1).tolist()
    return [part.reshape(n, n) for part, n in zip(np.split(table, ends), nodes, strict=True)] if nodes else []


def _of_heads(table: Doubles, heads: Ints, known: Ints) -> tuple[Doubles, Doubles, Doubles]:
    """P(head) of the chosen and of the known heads, and the entropy of each word's heads."""
    words = np.arange(1, len(table))
    logs = np.log(np.where(table > 0.0, table, 1.0))
    entropies = -np.sum(table * logs, axis=0)[1:]
    given = np.where(known >= 0, table[np.maximum(known, 0), words], np.nan)
    return table[heads, words], entropies, given


__all__ = ["Combined", "EnsembleSearch", "ensemble"]
