"""Several parsers as one: their probabilities are averaged, and one tree is made of them.

The tree is the one with the most expected correct heads under the mean of the parsers' P(head); its labels
are the most probable ones under the mean of their P(label | head). P(tree) is the mean of theirs. Parsers
may differ in all but what they are for: learner, order, trees, features, even labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.data.columns import Columns
from arbora.data.encode import NOTHING
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.parsing._tree_parser import AnyParser, Ints
from arbora.parsing.parsed import Parsed, optional
from arbora.search.request import Judgement

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Combined:
    """The trees of a treebank's words, with what went into them; arrays have one entry per word."""

    heads: Ints
    labels: Ints
    """Places in the ensemble's `labels`."""
    head_probabilities: Floats
    label_probabilities: Floats
    head_entropies: Floats
    probabilities: Floats
    """P(tree), one per sentence; NaN where a parser does not know it."""
    alone: list[tuple[Ints, Ints]]
    """What each parser gives by itself: heads, and labels as places in the ensemble's."""

    @property
    def agreement(self) -> NDArray[np.bool_]:
        """Where all parsers by themselves give the same head."""
        first = self.alone[0][0]
        same: NDArray[np.bool_] = np.all([heads == first for heads, _ in self.alone], axis=0)
        return same


class Ensemble:
    """Several parsers as one; immutable."""

    def __init__(self, parsers: Sequence[AnyParser]) -> None:
        if not parsers:
            raise InputError("parsers: expected at least one, got none")
        self.parsers = tuple(parsers)
        self.labels = tuple(dict.fromkeys(name for p in parsers for name in p.names.labels))
        """The labels of all parsers."""
        places = {name: place for place, name in enumerate(self.labels)}
        self._places = [np.array([places[name] for name in p.names.labels], dtype=np.int32) for p in parsers]
        crossing = any(p.shape.trees == "nonprojective" for p in parsers)
        self._trees = "nonprojective" if crossing else "projective"
        self._roots = "multi" if any(p.shape.roots == "multi" for p in parsers) else "single"

    @property
    def is_calibrated(self) -> bool:
        """Whether all parsers are."""
        return all(parser.is_calibrated for parser in self.parsers)

    def combine(self, columns: Columns, *, threads: int = 1) -> Combined:
        """Trees of a treebank. Twice a pass with sums over trees per parser; O(n²) numbers per sentence."""
        found = [
            p.judge(columns, temperatures=p.temperatures.at_risk, arc_table=True, threads=threads)
            for p in self.parsers
        ]
        heads = self._decode(_tables(columns, [each.arc_table for each in found]), threads)
        judged = self._judge(columns, heads, threads)
        tables = _tables(columns, [each.arc_table for each in judged])
        labels, sure = self._label(columns, judged)
        return Combined(
            heads=heads,
            labels=labels,
            head_probabilities=_join(_of_heads(tables, heads)),
            label_probabilities=sure,
            head_entropies=_join(map(_entropies, tables)),
            probabilities=np.mean([np.exp(each.log_probabilities) for each in judged], axis=0),
            alone=[(each.heads, self._own_labels(i, each.labels)) for i, each in enumerate(found)],
        )

    def _judge(self, columns: Columns, heads: Ints, threads: int) -> list[Judgement]:
        """What each parser thinks of these trees."""
        found = []
        for parser in self.parsers:
            encoded = parser.encode(columns, threads=threads)
            encoded.set_heads(heads)
            found.append(
                parser.judge(encoded, decode="given", arc_table=True, label_table=True, threads=threads)
            )
        return found

    def _own_labels(self, parser: int, labels: Ints) -> Ints:
        places = self._places[parser]
        return np.where(labels < 0, -1, places[labels] if len(places) else -1).astype(np.int32)

    def _decode(self, tables: list[Floats], threads: int) -> Ints:
        if not tables:
            return np.zeros(0, dtype=np.int32)
        trees, roots = self._trees, self._roots
        bests = inference.argmax(tables, trees=trees, roots=roots, threads=threads)  # type: ignore[call-overload]
        return np.concatenate([best.heads[1:] for best in bests]).astype(np.int32)

    def _label(self, columns: Columns, judged: list[Judgement]) -> tuple[Ints, Floats]:
        """The most probable labels on the trees that were judged, and how sure they are."""
        sums = np.zeros((columns.words, len(self.labels)))
        counts = np.zeros(columns.words)
        for parser, places, found in zip(self.parsers, self._places, judged, strict=True):
            if parser.gives_labels:
                told = found.label_table.reshape(columns.words, len(places))
                sums[:, places] += told
                counts += told.any(axis=1)
        labels = np.full(columns.words, -1, dtype=np.int32)
        sure = np.full(columns.words, np.nan)
        known = counts > 0
        if known.any():
            means = sums[known] / counts[known, None]
            labels[known] = np.argmax(means, axis=1)
            sure[known] = means.max(axis=1)
        # Parsers that learned no labels still have some that follow from the tree.
        for i, found in enumerate(judged):
            labels = np.where(labels < 0, self._own_labels(i, found.labels), labels)
        return labels, sure

    def trees(self, columns: Columns, *, threads: int = 1) -> tuple[Ints, Ints]:
        """Heads and labels, as `TreeParser.trees`; labels are places in `labels`."""
        combined = self.combine(columns, threads=threads)
        return combined.heads, combined.labels

    def parsed(self, columns: Columns, combined: Combined) -> Iterator[Parsed]:
        """The sentences of a treebank with the trees that were made of them."""
        names = [self.labels[label] if label >= 0 else NOTHING for label in combined.labels.tolist()]
        sure_heads, sure_labels = combined.head_probabilities.tolist(), optional(combined.label_probabilities)
        entropies, heads = combined.head_entropies.tolist(), combined.heads.tolist()
        at = 0
        for sentence, probability in zip(columns.sentences(), optional(combined.probabilities), strict=True):
            end = at + len(sentence)
            yield Parsed(
                sentence=sentence.with_tree(Tree.from_heads(heads[at:end], labels=names[at:end])),
                probability=probability,
                entropy=None,
                head_probabilities=tuple(sure_heads[at:end]),
                label_probabilities=tuple(sure_labels[at:end]),
                entropies=tuple(entropies[at:end]),
                parser=self,
            )
            at = end

    def kbest(self, sentence: Sentence, k: int) -> list[Parsed]:
        """There is none: InputError."""
        raise InputError("k best trees: expected one parser, got several; ask each of them")

    def distribution(self, sentence: Sentence) -> TreeDistribution:
        """There is none that has scores: InputError."""
        raise InputError("distribution: expected one parser, got several; ask each of them")


def _tables(columns: Columns, of_parsers: list[Floats]) -> list[Floats]:
    """The mean P(arc) of several parsers, (n+1, n+1) per sentence."""
    table = np.mean(of_parsers, axis=0)
    lengths = np.diff(columns.offsets)
    sizes = (lengths + 1) ** 2
    starts = np.cumsum(sizes) - sizes
    return [
        table[start : start + size].reshape(n + 1, n + 1)
        for start, size, n in zip(starts.tolist(), sizes.tolist(), lengths.tolist(), strict=True)
    ]


def _of_heads(tables: list[Floats], heads: Ints) -> Iterator[Floats]:
    at = 0
    for table in tables:
        n = len(table) - 1
        yield table[heads[at : at + n], np.arange(1, n + 1)]
        at += n


def _entropies(table: Floats) -> Floats:
    logs = np.log(np.where(table > 0.0, table, 1.0))
    result: Floats = -np.sum(table * logs, axis=0)[1:]
    return result


def _join(parts: Iterator[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


__all__ = ["Combined", "Ensemble"]
