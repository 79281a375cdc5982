"""Probabilities from a list of the best trees, for parsers that know no sums over all of them.

A tree is its heads; what counts is its best labelling. P(tree) is proportional to exp(score / T) among the
trees of the list, less the share of words that are missed; P(head) is the share of the list, by probability,
in which a word has that head, and P(label | head) that of the labellings in which it has that label, to the
power of 1/T of labels. What no tree of the list has is impossible, so a list that is too short makes a parser
too sure of itself; a temperature that is fitted makes up for some of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.interfaces import Roots, Trees
from arbora.search.request import Confidence, ParseRequest, Temperatures

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankedTrees:
    """The best trees of one sentence; the first is the parser's own, the others stand best first."""

    scores: Floats
    heads: Ints
    """(trees, n)"""
    labels: Ints
    """(trees, n); -1 where there are none."""

    @cached_property
    def distinct(self) -> list[int]:
        """Places of trees that differ in heads, best first, each with its best labels."""
        first: dict[bytes, int] = {}
        for i in np.argsort(-self.scores, kind="stable").tolist():
            first.setdefault(self.heads[i].tobytes(), i)
        return list(first.values())

    def shares(self, temperature: float) -> Floats:
        """P of each distinct tree."""
        return _shares(self.scores[self.distinct], temperature)

    def arc_table(self, temperature: float) -> Floats:
        """P(arc), (n+1, n+1) [head, dep]."""
        heads = self.heads[self.distinct]
        n = heads.shape[1]
        table = np.zeros((n + 1, n + 1))
        deps = np.broadcast_to(np.arange(1, n + 1), heads.shape)
        np.add.at(table, (heads, deps), self.shares(temperature)[:, None])
        return np.minimum(table, 1.0)

    def label_table(self, heads: Ints, temperature: float, labels: int) -> Floats:
        """P(label | head) of each word, (n, labels); rows of zeros for heads that no tree has."""
        n = self.heads.shape[1]
        table = np.zeros((n, labels))
        rows, words = np.nonzero((self.heads == heads) & (self.labels >= 0))
        np.add.at(table, (words, self.labels[rows, words]), _shares(self.scores, 1.0)[rows])
        table **= 1.0 / temperature
        sums = table.sum(axis=1, keepdims=True)
        result: Floats = np.divide(table, sums, out=table, where=sums > 0.0)
        return result


@dataclass(frozen=True)
class Shape:
    """Which trees a search gives, and how many labels."""

    trees: Trees
    roots: Roots
    labels: int


@dataclass(frozen=True)
class Known:
    """What a sentence came with: heads and labels, -1 where there are none, (n,) each."""

    heads: Ints
    labels: Ints


def confidence(
    lists: list[RankedTrees], known: list[Known], request: ParseRequest, t: Temperatures, shape: Shape
) -> Confidence:
    """What the lists tell of all sentences, all in a row. O(trees · n) per sentence, O(n²) with the table."""
    pairs = zip(lists, known, strict=True)
    return Confidence.joined(_confidence_of(*pair, request, t, shape) for pair in pairs)


def _confidence_of(
    trees: RankedTrees, known: Known, request: ParseRequest, t: Temperatures, shape: Shape
) -> dict[str, object]:
    table, shares = trees.arc_table(t.trees), trees.shares(t.trees)
    kept = 1.0 - t.missed
    heads, probabilities, chosen, scores = _chosen(trees, known, request, t, shape, shares)
    words = np.arange(1, heads.shape[1] + 1)
    label_tables = [trees.label_table(row, t.labels, shape.labels) for row in heads]
    labels, sure = _labels(trees, heads, chosen, label_tables)
    has_known = known.heads >= 0
    return {
        "counts": [len(heads)],
        "entropies": [_entropy(shares)],
        "log_probabilities": _logs(kept * probabilities),
        "scores": scores,
        "heads": heads,
        "labels": labels,
        "head_probabilities": kept * table[heads, words],
        "label_probabilities": sure,
        "head_entropies": np.tile(_column_entropies(table), len(heads)),
        "known_head_probabilities": np.tile(
            np.where(has_known, kept * table[np.maximum(known.heads, 0), words], np.nan), len(heads)
        ),
        "known_label_probabilities": [_of_labels(each, known.labels) for each in label_tables],
        "arc_table": table if request.arc_table else np.zeros(0),
        "label_table": np.stack(label_tables) if request.label_table else np.zeros(0),
    }


def _chosen(
    trees: RankedTrees, known: Known, request: ParseRequest, t: Temperatures, shape: Shape, shares: Floats
) -> tuple[Ints, Floats, list[int], Floats]:
    """Heads of the trees asked for, P of each, its place in the list (-1: none) and its score."""
    first = trees.distinct
    if request.k:
        # The parser's own tree, as it labels it, then the others; search in lists may find better ones.
        own = next(g for g, i in enumerate(first) if np.array_equal(trees.heads[i], trees.heads[0]))
        ranks = [own, *(g for g in range(len(first)) if g != own)][: request.k]
        picked = [0, *(first[g] for g in ranks[1:])]
        scores = trees.scores[picked] / t.trees
        return trees.heads[picked], shares[ranks], picked, scores
    if request.decode == "argmax":
        heads = trees.heads[0]
    elif request.decode == "given":
        heads = known.heads
    else:
        risk = trees.arc_table(t.risk * t.trees)
        scores = np.where(risk > 0.0, risk, -np.inf)
        best = inference.argmax(scores, trees=shape.trees, roots=shape.roots)
        heads = best.heads[1:].astype(np.int32)
    same = [g for g, i in enumerate(first) if np.array_equal(trees.heads[i], heads)]
    if not same:
        return heads[None], np.zeros(1), [-1], np.array([-np.inf])
    own = 0 if request.decode == "argmax" else first[same[0]]
    score = trees.scores[[own]] / t.trees
    return heads[None], shares[same[:1]], [own], score


def _shares(scores: Floats, temperature: float) -> Floats:
    """P of each of the trees with these scores, if there are no others."""
    weights = np.exp((scores - scores.max()) / temperature)
    result: Floats = weights / weights.sum()
    return result


def _logs(probabilities: Floats) -> Floats:
    """-inf where they are 0."""
    with np.errstate(divide="ignore"):
        result: Floats = np.minimum(np.log(probabilities), 0.0)
    return result


def _labels(trees: RankedTrees, heads: Ints, chosen: list[int], tables: list[Floats]) -> tuple[Ints, Floats]:
    """Labels of the chosen trees, and how sure they are; NaN where there are none."""
    found = []
    for row, place, table in zip(heads, chosen, tables, strict=True):
        if place >= 0:
            found.append(trees.labels[place])
        elif table.shape[1]:
            # Words whose head no tree of the list has keep the label of the parser's own tree.
            found.append(np.where(table.any(axis=1), table.argmax(axis=1), trees.labels[0]).astype(np.int32))
        else:
            found.append(np.full(len(row), -1, dtype=np.int32))
    sure = [_of_labels(table, labels) for table, labels in zip(tables, found, strict=True)]
    return np.array(found, dtype=np.int32), np.array(sure)


def _of_labels(table: Floats, labels: Ints) -> Floats:
    """P of one label per word; NaN where there is none."""
    if not table.shape[1]:
        return np.full(len(labels), np.nan)
    found: Floats = np.where(labels >= 0, table[np.arange(len(labels)), np.maximum(labels, 0)], np.nan)
    return found


def _entropy(shares: Floats) -> float:
    used = shares[shares > 0.0]
    return float(max(0.0, -np.sum(used * np.log(used))))


def _column_entropies(table: Floats) -> Floats:
    logs = np.log(np.where(table > 0.0, table, 1.0))
    result: Floats = np.maximum(0.0, -np.sum(table * logs, axis=0)[1:])
    return result
