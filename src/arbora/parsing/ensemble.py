"""Several parsers as one, by averaging their probabilities.

The tree is the one with the most expected correct heads under the mean of the parsers' P(head); its labels
are the most probable ones under the mean of their P(label | head). P(tree) is the mean of theirs. All means
are weighted; `arbora.parsing.ensemble_weights` fits the weights. Parsers may differ in learner, order, trees,
features, even labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from arbora import inference
from arbora.data.columns import Columns
from arbora.data.encode import INPUT_COLUMNS, Batch, Names
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.parsing.model_file import parser_parts
from arbora.parsing.parser import Parser
from arbora.search.base import Parts, Search
from arbora.search.confidence import Confidence, ConfidenceAt, sentence_confidence, split_arcs
from arbora.search.request import ParseRequest
from arbora.storage.model_file import ModelFile
from arbora.types import Bools, Doubles, Ints


@dataclass(frozen=True)
class Combined:
    """The trees of a batch, and those of each parser; arrays have one entry per word."""

    heads: Ints
    labels: Ints  # Indices into the ensemble's labels
    label_probabilities: Doubles
    label_table: Doubles  # Mean P(label | head), (W, labels)
    tables: list[Doubles]  # Mean P(arc), (n+1, n+1) per sentence
    probabilities: Doubles  # P(tree), one per sentence; NaN if a parser does not know it
    alone: list[tuple[Ints, Ints]]
    """The trees of each parser by itself: heads, and labels as indices into the ensemble's."""

    @property
    def agreement(self) -> Bools:
        """Whether all parsers by themselves give a word the same head."""
        first = self.alone[0][0]
        same: Bools = np.all([heads == first for heads, _ in self.alone], axis=0)
        return same


LEAST, MOST = 1e-30, 1e30  # Of weights, so that no ratio or sum overflows
ROUNDING = 1e-9

Watch = Callable[[Batch, Combined], None]


def ensemble(
    parsers: Sequence[Parser], weights: Sequence[float] | None = None, *, watch: Watch | None = None
) -> Parser:
    """Several parsers as one, with one weight per parser (default: equal weights).

    Weights are positive; only their ratios count. `watch` is called with each batch and its result.
    """
    if not parsers:
        raise InputError("parsers: expected at least one, got none")
    read = (INPUT_COLUMNS if p.names.columns is None else p.names.columns for p in parsers)
    names = Names(
        tuple(dict.fromkeys(tag for p in parsers for tag in p.names.tags)),
        tuple(dict.fromkeys(label for p in parsers for label in p.names.labels)),
        tuple(dict.fromkeys(column for columns in read for column in columns)),
    )
    calibrated = all(parser.is_calibrated for parser in parsers)
    search = EnsembleSearch(parsers, names, weights, watch)
    return Parser(names=names, search=search, is_calibrated=calibrated)


class EnsembleSearch(Search):
    """The tree with the most expected correct heads under the weighted mean of several parsers."""

    name: ClassVar[str] = "ensemble"
    recipe = ""
    scorer: None = None

    def __init__(
        self,
        parsers: Sequence[Parser],
        names: Names,
        weights: Sequence[float] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.parsers = tuple(parsers)
        self.weights = normalized([1.0] * len(parsers) if weights is None else weights, len(parsers))
        """One per parser; their sum is 1."""
        self._watch = watch
        self.labels = names.labels
        searches = [parser.search for parser in parsers]
        is_projective = all(search.trees == "projective" for search in searches)
        self.trees = "projective" if is_projective else "nonprojective"
        self.roots = "single" if all(search.roots == "single" for search in searches) else "multi"
        self.order = max(search.order for search in searches)
        self.label_count = len(self.labels) if any(search.label_count for search in searches) else 0
        places = {label: place for place, label in enumerate(names.labels)}
        # The ensemble's index of each parser's labels; that of no label, -1, comes last.
        self._places = [np.array([*map(places.get, p.names.labels), -1], np.int32) for p in parsers]

    @property
    def queries(self) -> frozenset[Query]:
        queries = {Query.ARGMAX, Query.MARGINALS}
        if all(Query.LOG_PARTITION in parser.queries for parser in self.parsers):
            queries |= {Query.LOG_PARTITION}
        return frozenset(queries)

    def plain_labels(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for parser in self.parsers for label in parser.plain_labels))

    @property
    def annotator(self) -> Any:
        """That of the first parser."""
        return self.parsers[0].search.annotator

    def describe(self) -> str:
        return f"an ensemble of {len(self.parsers)} parsers"

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        combined = self.combine(batch, request)
        return combined.heads, combined.labels

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        """Each parser has its own temperatures; those of the ensemble change nothing."""
        request = self.checked(batch, request)
        combined = self.combine(batch, request)
        with np.errstate(divide="ignore"):
            logs = np.log(combined.probabilities).tolist()
        ends = np.cumsum(batch.lengths).tolist()
        rows = []
        for i, gold in enumerate(batch.gold() if ends else []):
            words = slice(ends[i] - int(batch.lengths[i]), ends[i])
            row = sentence_confidence(
                combined.tables[i],
                combined.heads[None, words],
                combined.labels[None, words],
                [combined.label_table[words]],
                gold,
                request,
                entropy=math.nan,
                log_probabilities=[logs[i]],
                scores=[math.nan],
            )
            rows.append({**row, "label_probabilities": combined.label_probabilities[words]})
        confidence = Confidence.joined(rows)
        return lambda _: confidence

    def combine(self, batch: Batch, request: ParseRequest) -> Combined:
        """The trees of a batch. Two passes with sums over trees per parser; O(n²) numbers per sentence."""
        given, threads = batch.columns, request.threads
        alone = [confidence_to_decode(parser, given, threads) for parser in self.parsers]
        heads = batch.heads
        if request.decode != "given":
            tables = self._mean_tables(batch, alone)
            bests = inference.argmax(tables, trees=self.trees, roots=self.roots, threads=threads)
            heads = np.concatenate([np.zeros(0, np.int32), *(best.heads[1:] for best in bests)])
        members = self._confidences(batch, heads, threads)
        table, labels, shares = self._label(batch, members)
        combined = Combined(
            heads=heads,
            labels=labels,
            label_probabilities=shares,
            label_table=table,
            tables=self._mean_tables(batch, members),
            probabilities=self._mean([np.exp(each.log_probabilities) for each in members]),
            alone=[(c.heads, places[c.labels]) for c, places in zip(alone, self._places, strict=True)],
        )
        if self._watch is not None:
            self._watch(batch, combined)
        return combined

    @property
    def _factors(self) -> Doubles:
        """The weights, scaled so that equal ones are exactly 1, which adds no rounding errors to means."""
        return np.array(self.weights) / max(self.weights)

    def _mean(self, arrays: list[Doubles]) -> Doubles:
        """The weighted mean of one array per parser."""
        return np.average(arrays, axis=0, weights=self._factors)

    def _mean_tables(self, batch: Batch, members: list[Confidence]) -> list[Doubles]:
        """Mean P(arc), (n+1, n+1) per sentence."""
        return split_arcs(self._mean([each.arc_table for each in members]), batch.lengths)

    def _confidences(self, batch: Batch, heads: Ints, threads: int) -> list[Confidence]:
        """Each parser's confidence in these trees."""
        request = ParseRequest(decode="given", arc_table=True, label_table=True, threads=threads)
        confidences = []
        for parser in self.parsers:
            given = parser.encode(batch.columns, threads=threads)
            given.set_heads(heads)
            confidences.append(parser.confidence_at(given, request)(parser.calibration))
        return confidences

    def _label(self, batch: Batch, members: list[Confidence]) -> tuple[Doubles, Ints, Doubles]:
        """Mean P(label | head), (W, labels), the most probable labels and their P; -1 and NaN if unknown."""
        sums, totals = np.zeros((batch.words, len(self.labels))), np.zeros(batch.words)
        each = zip(self.parsers, self._factors, self._places, members, strict=True)
        for parser, factor, places, confidence in each:
            if parser.gives_labels:
                own = confidence.label_table.reshape(batch.words, len(places) - 1)
                sums[:, places[:-1]] += factor * own
                totals += factor * own.any(axis=1)
        known = totals > 0
        table = sums / np.where(known, totals, 1.0)[:, None]
        labels = np.full(len(table), -1, dtype=np.int32)
        shares = np.full(len(table), np.nan)
        if known.any():
            labels[known] = np.argmax(table[known], axis=1)
            shares[known] = table[known].max(axis=1)
        # Parsers trained without labels still have some that follow from the tree.
        for places, confidence in zip(self._places, members, strict=True):
            labels = np.where(labels < 0, places[confidence.labels], labels)
        return table, labels, shares

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors: dict[str, Any] = {}
        members = []
        for i, parser in enumerate(self.parsers):
            arrays, metadata = parser_parts(parser, quantized=quantized)
            tensors |= {f"{i}/{name}": array for name, array in arrays.items()}
            members.append(metadata)
        return tensors, {"members": members, "weights": list(self.weights)}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        members: list[Any] = file.entry("members", list)
        if not members or not all(isinstance(each, dict) for each in members):
            raise InputError(f"members: expected parsers, got {str(members)[:80]}")
        # Without the whole file's checksum, by which other processes would load the ensemble instead.
        files = (replace(file.within(f"{i}/", each), checksum=None) for i, each in enumerate(members))
        parsers = [Parser.from_file(each) for each in files]
        if more := {label for parser in parsers for label in parser.names.labels} - set(names.labels):
            raise InputError(f"members: expected parsers with the ensemble's labels, got {min(more)!r}")
        weights = file.entry("weights", list) if "weights" in file.metadata else None
        return cls(parsers, names, weights)


def confidence_to_decode(parser: Parser, columns: Columns, threads: int) -> Confidence:
    """A parser's trees, and P(arc) at the temperature of minimum-risk decoding."""
    temperatures = parser.calibration.for_minimum_risk
    return parser.confidence(columns, temperatures=temperatures, arc_table=True, threads=threads)


def normalized(weights: Sequence[float], count: int) -> tuple[float, ...]:
    """The weights divided by their sum; InputError unless there are `count` positive numbers."""
    numbers = [each for each in weights if isinstance(each, int | float | np.number) and each is not True]
    if not len(numbers) == len(weights) == count or not all(LEAST <= each <= MOST for each in numbers):
        got = str(list(weights))[:80]
        raise InputError(f"weights: expected {count} positive numbers, one per parser, got {got}")
    total = math.fsum(weights)
    # Weights from a file stay as they are.
    return tuple(float(each) if abs(total - 1.0) < ROUNDING else float(each / total) for each in weights)
