"""What finds trees for a parser: one native call each for trees, and for trees with probabilities.

GraphEngine        exact charts and arborescences, with exact sums where there are any
CubeEngine         cube pruning; probabilities from a list of its best trees
TransitionEngine   from left to right, greedily or with a beam; probabilities likewise
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, GraphJudge, GraphModel, Pruning
from arbora.scorers import CubeScorer, LinearScorer, TransitionScorer
from arbora.search import ranked as _ranked
from arbora.search.pruner import Pruner
from arbora.search.request import Judge, Judgement, Question, Temperatures

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int32]

PrunerArguments: TypeAlias = tuple[GraphModel | None, Floats | None, Pruning]

LISTED = 32
"""Trees in the list from which inexact search takes its probabilities, at least."""


class Engine(Protocol):
    """What finds trees."""

    def trees(self, sentences: Encoded, *, keep_heads: bool, threads: int) -> tuple[Ints, Ints]:
        """Heads and labels of all words, (W,) each; labels -1 where there are none."""

    def judging(self, sentences: Encoded, question: Question) -> Judge:
        """Trees with probabilities."""


@dataclass(frozen=True)
class GraphEngine:
    """Exact search, or hill climbing for second-order trees that may cross."""

    scorer: LinearScorer
    tree: Floats
    labels: Floats | None
    pruner: Pruner | None

    @property
    def _native(self) -> tuple[Floats, Floats | None, bool, *PrunerArguments]:
        staged = self.scorer.settings.labels == "staged"
        return self.tree, self.labels, staged, *pruner_arguments(self.pruner)

    def trees(self, sentences: Encoded, *, keep_heads: bool, threads: int) -> tuple[Ints, Ints]:
        """With a pruner that keeps k heads: O(n² + n k²) scores per sentence."""
        return self.scorer.native.parse(sentences, *self._native, keep_heads, threads)

    def judging(self, sentences: Encoded, question: Question) -> Judge:
        """Sums over all trees, anew for each temperature."""
        q = question

        def judge(t: Temperatures) -> Judgement:
            found = self.judge.judge(
                sentences,
                decode=q.decode,
                k=q.k,
                tree_temperature=t.trees,
                risk_temperature=t.risk * t.trees,
                label_temperature=t.labels,
                missed=t.missed,
                arc_table=q.arc_table,
                label_table=q.label_table,
                keep_heads=q.keep_heads,
                threads=q.threads,
            )
            return Judgement.of(found)

        return judge

    @property
    def judge(self) -> GraphJudge:
        """The core's own."""
        return GraphJudge(self.scorer.native, *self._native)


@dataclass(frozen=True)
class CubeEngine:
    """Cube pruning."""

    scorer: CubeScorer
    tree: Floats
    labels: Floats | None
    label_filter: Floats | None
    pruner: Pruner | None

    @property
    def _native(self) -> tuple[Floats, Floats | None, Floats | None, *PrunerArguments]:
        return self.tree, self.labels, self.label_filter, *pruner_arguments(self.pruner)

    def trees(self, sentences: Encoded, *, keep_heads: bool, threads: int) -> tuple[Ints, Ints]:
        """With a pruner that keeps k heads: O(n² k) to see what there is, O(beam) combinations per node."""
        return self.scorer.cube.parse(sentences, *self._native, keep_heads, threads)

    def judging(self, sentences: Encoded, question: Question) -> Judge:
        """One search; each temperature weighs its trees anew."""
        q, listed = question, max(LISTED, 2 * question.k)
        found = self.scorer.cube.kbest(sentences, *self._native, listed, q.keep_heads, q.threads)
        return _judging_lists(sentences, q, found, self.scorer)


@dataclass(frozen=True)
class TransitionEngine:
    """From left to right, in time linear in the sentence's length."""

    scorer: TransitionScorer
    tree: Floats
    labels: Floats | None

    def trees(self, sentences: Encoded, *, keep_heads: bool, threads: int) -> tuple[Ints, Ints]:
        """O(n beam)."""
        return self.scorer.native.parse(sentences, self.tree, self.labels, keep_heads, threads)

    def judging(self, sentences: Encoded, question: Question) -> Judge:
        """One search; each temperature weighs its trees anew."""
        q, listed = question, max(LISTED, 2 * question.k)
        found = self.scorer.native.kbest(sentences, self.tree, self.labels, listed, q.keep_heads, q.threads)
        return _judging_lists(sentences, q, found, self.scorer)


def pruner_arguments(pruner: Pruner | None) -> PrunerArguments:
    """A pruner as native calls take it."""
    if pruner is None:
        return None, None, Pruning()
    return pruner.scorer.native, pruner.weights, pruner.settings.native


def _judging_lists(
    sentences: Encoded,
    question: Question,
    found: tuple[NDArray[np.int64], NDArray[np.float64], Ints, Ints],
    scorer: CubeScorer | TransitionScorer,
) -> Judge:
    """Probabilities from lists of the best trees."""
    q, lengths = question, sentences.lengths
    lists = list(_lists(lengths, *found))
    ends = np.cumsum(lengths)[:-1]
    came = zip(np.split(sentences.heads, ends), np.split(sentences.labels, ends), strict=True)
    known = [_ranked.Known(heads, labels) for heads, labels in came] if len(lengths) else []

    def judge(t: Temperatures) -> Judgement:
        shape = scorer.settings
        asked = _ranked.Asked(
            q.decode, q.k, t, q.arc_table, q.label_table, scorer.label_count, shape.trees, shape.roots
        )
        return _ranked.judge(lists, known, asked)

    return judge


def _lists(
    lengths: NDArray[np.int64],
    counts: NDArray[np.int64],
    scores: NDArray[np.float64],
    heads: Ints,
    labels: Ints,
) -> Iterator[_ranked.RankedTrees]:
    """The list of each sentence, cut out of arrays of all."""
    tree = word = 0
    for n, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        end = word + n * count
        shape = (count, n)
        yield _ranked.RankedTrees(
            scores[tree : tree + count], heads[word:end].reshape(shape), labels[word:end].reshape(shape)
        )
        tree, word = tree + count, end
