"""Probabilities from a list of the best trees, for searches that have no sums over all trees.

A tree is its heads; its best labelling counts. P(tree) is proportional to exp(score / T) among the trees of
the list, times 1 - missed. P(head) is the share of the list, by probability, in which a word has that head.
P(label | head) is the share of labellings in which it has that label, to the power of 1 / T of labels. Parts
that no listed tree has get probability 0, so a short list makes a parser overconfident; a fitted temperature
corrects some of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora import inference
from arbora.interfaces import GoldTree
from arbora.search.confidence import sentence_confidence
from arbora.search.request import ParseRequest, Temperatures
from arbora.types import Doubles, Ints, Longs

if TYPE_CHECKING:
    from arbora.search.base import Search


@dataclass(frozen=True)
class RankedTrees:
    """The best trees of one sentence: first the parser's own, then the others, best first."""

    scores: Doubles
    heads: Ints  # (trees, n)
    labels: Ints  # (trees, n); -1 where there are none

    @cached_property
    def distinct(self) -> list[int]:
        """Indices of trees that differ in heads, best first, each with its best labels."""
        first: dict[bytes, int] = {}
        for i in np.argsort(-self.scores, kind="stable").tolist():
            first.setdefault(self.heads[i].tobytes(), i)
        return list(first.values())

    def shares(self, temperature: float) -> Doubles:
        """P of each distinct tree."""
        return softmax(self.scores[self.distinct], temperature)

    def arc_table(self, temperature: float) -> Doubles:
        """P(arc), (n+1, n+1) [head, dep]."""
        heads = self.heads[self.distinct]
        n = heads.shape[1]
        table = np.zeros((n + 1, n + 1))
        deps = np.broadcast_to(np.arange(1, n + 1), heads.shape)
        np.add.at(table, (heads, deps), self.shares(temperature)[:, None])
        return np.minimum(table, 1.0)

    def label_table(self, heads: Ints, temperature: float, labels: int) -> Doubles:
        """P(label | head) of each word, (n, labels); rows of zeros for heads that no tree has."""
        table = np.zeros((self.heads.shape[1], labels))
        rows, words = np.nonzero((self.heads == heads) & (self.labels >= 0))
        np.add.at(table, (words, self.labels[rows, words]), softmax(self.scores, 1.0)[rows])
        table **= 1.0 / temperature
        sums = table.sum(axis=1, keepdims=True)
        result: Doubles = np.divide(table, sums, out=table, where=sums > 0.0)
        return result

    def confidence(
        self, gold: GoldTree, request: ParseRequest, t: Temperatures, search: Search
    ) -> dict[str, Any]:
        """The fields of a `Confidence` for the requested trees. O(trees · n), with the arc table O(n²)."""
        shares = self.shares(t.trees)
        places = {self.heads[i].tobytes(): place for place, i in enumerate(self.distinct)}
        if request.k:
            # The parser's own tree with its own labels comes first, even if the list has better ones.
            own = places[self.heads[0].tobytes()]
            chosen = [0, *self.distinct[:own], *self.distinct[own + 1 :]][: request.k]
            heads = self.heads[chosen]
        else:
            heads = self._decoded(gold, request, t, search)[None].astype(self.heads.dtype)
            place = places.get(heads.tobytes())
            chosen = [-1 if place is None else 0 if request.decode == "argmax" else self.distinct[place]]
        ranks = [places.get(row.tobytes(), 0) for row in heads]
        tables = [self.label_table(row, t.labels, search.label_count) for row in heads]
        labels = [self._labels(index, table) for index, table in zip(chosen, tables, strict=True)]
        is_listed = np.array(chosen) >= 0
        used = shares[shares > 0.0]
        with np.errstate(divide="ignore"):
            logs = np.minimum(np.log((1.0 - t.missed) * np.where(is_listed, shares[ranks], 0.0)), 0.0)
        return sentence_confidence(
            self.arc_table(t.trees),
            heads,
            np.array(labels, dtype=np.int32),
            tables,
            gold,
            request,
            entropy=max(0.0, -np.sum(used * np.log(used))),
            log_probabilities=logs,
            scores=np.where(is_listed, self.scores[chosen] / t.trees, -np.inf),
            missed=t.missed,
        )

    def _decoded(self, gold: GoldTree, request: ParseRequest, t: Temperatures, search: Search) -> Ints:
        if request.decode == "argmax":
            return self.heads[0]
        if request.decode == "given":
            return gold.heads[1:]
        risk = self.arc_table(t.risk * t.trees)
        scores = np.where(risk > 0.0, risk, -np.inf)
        return inference.argmax(scores, trees=search.trees, roots=search.roots).heads[1:]

    def _labels(self, index: int, table: Doubles) -> Ints:
        """Labels of a chosen tree; -1 if there are none."""
        if index >= 0:
            return self.labels[index]
        if not table.shape[1]:
            return np.full(len(table), -1, dtype=np.int32)
        # Words whose head is in no listed tree keep the label of the parser's own tree.
        return np.where(table.any(axis=1), table.argmax(axis=1), self.labels[0]).astype(np.int32)


def ranked_lists(
    lengths: Longs, counts: Longs, scores: Doubles, heads: Ints, labels: Ints
) -> list[RankedTrees]:
    """The list of each sentence, from flat arrays over all of them."""
    lists, tree, word = [], 0, 0
    for n, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        end, shape = word + n * count, (count, n)
        rows = heads[word:end].reshape(shape), labels[word:end].reshape(shape)
        lists.append(RankedTrees(scores[tree : tree + count], *rows))
        tree, word = tree + count, end
    return lists


def softmax(scores: Doubles, temperature: float) -> Doubles:
    """Probabilities that are proportional to exp(score / temperature) along the last axis."""
    weights = np.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    result: Doubles = weights / weights.sum(axis=-1, keepdims=True)
    return result
