"""Exact search with a network's scores; labels are chosen on the finished tree.

The best trees come from one native call: states, scores of arcs, trees, then the labels of their arcs. Trees
with siblings, lists of trees and probabilities take the scores of each sentence, as `arbora.search.exact`
does. P(tree) is that of its arcs; P(label | head) is a softmax over the labels of that arc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora._core import NetworkStates
from arbora.data.columns import PIECE
from arbora.data.encode import Batch
from arbora.errors import InputError
from arbora.inference.tree_parts import restricted
from arbora.interfaces import Best, GoldTree, PartKind, PartScores, Trees
from arbora.scorers.network import NetworkScorer
from arbora.search.base import Parts
from arbora.search.exact import ExactSearch
from arbora.search.ranked import softmax
from arbora.search.request import ParseRequest
from arbora.types import Doubles, Ints


class SentenceScores(dict[PartKind, NDArray[Any]]):
    """The scores of a sentence's parts; label scores are computed for the requested heads."""

    def __init__(self, parts: PartScores, states: NetworkStates, sentence: int) -> None:
        super().__init__(parts)
        self.states, self.sentence = states, sentence


class NeuralSearch(ExactSearch):
    """Exact search over trees whose scores come from a network."""

    name: ClassVar[str] = "neural"
    recipe = "arbora.training.neural:NeuralRecipe"
    loss = "local"
    scorer: NetworkScorer

    def __init__(self, scorer: NetworkScorer, **options: Any) -> None:
        super().__init__(scorer, **options)
        self.label_count = scorer.label_count

    def describe(self) -> str:
        return f"order {self.order}, scores of a network with {self.scorer.size:,} weights"

    @property
    def annotator(self) -> NetworkScorer | None:
        return self.scorer if self.scorer.outputs else None

    # Finding trees

    def scores(self, batch: Batch, request: ParseRequest) -> Iterator[tuple[PartScores, GoldTree]]:
        for _, piece in batch.pieces(PIECE):
            parts = zip(self.scorer.scores_of(piece, request.threads), piece.gold(), strict=True)
            guide = piece.guide if self.scorer.needs_guide else None
            states = self.scorer.states(piece.columns, request.threads, guide)
            for i, (scores, gold) in enumerate(parts):
                known = GoldTree(gold.heads, np.full(len(gold.heads), -1, np.int32))
                kept = restricted(scores, known) if request.keep_heads else scores
                yield SentenceScores(kept, states, i), gold

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        if self.order > 1 or self.scorer.needs_guide:
            return self._best_of_scores(batch, request)
        heads, labels = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        native, shape = self.scorer.native, (self.trees == "projective", self.roots == "single")
        for _, piece in batch.pieces(PIECE):
            states = self.scorer.states(piece.columns, request.threads)
            given = np.ascontiguousarray(piece.heads) if request.keep_heads else None
            heads.append(native.trees(states, *shape, given, request.threads))
            labels.append(self._best_labels(states, heads[-1], request.threads))
        return np.concatenate(heads), np.concatenate(labels)

    def _best_labels(self, states: NetworkStates, heads: Ints, threads: int) -> Ints:
        if not self.label_count:
            return np.full(len(heads), -1, np.int32)
        return self.scorer.native.best_labels(states, heads, threads, *self.scorer.label_masks)

    def _best_of_scores(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        found = []
        for scores, _ in self.scores(batch, request):
            heads, labels, _ = self._labelled(scores, [self.family.argmax(scores)], 1.0)
            found.append(np.stack([heads[0], labels[0]]))
        both = np.concatenate([np.zeros((2, 0), np.int32), *found], axis=1)
        return np.ascontiguousarray(both[0], np.int32), np.ascontiguousarray(both[1], np.int32)

    def _labelled(
        self, scores: PartScores, trees: Sequence[Best], temperature: float
    ) -> tuple[Ints, Ints, list[Doubles]]:
        heads = np.array([tree.heads[1:] for tree in trees], dtype=np.int32)
        if not self.label_count:
            return heads, np.full(heads.shape, -1, np.int32), [np.zeros((heads.shape[1], 0))] * len(heads)
        assert isinstance(scores, SentenceScores)
        root_labels, other_labels = self.scorer.label_masks
        tables = []
        for row in heads:
            found = self.scorer.native.labels_of(scores.states, scores.sentence, row)
            allowed = np.where(row[:, None] == 0, root_labels, other_labels).astype(np.bool_)
            tables.append(softmax(np.where(allowed, found, -np.inf).astype(np.float64), temperature))
        labels = [table.argmax(axis=1) for table in tables]
        return heads, np.array(labels, dtype=np.int32).reshape(heads.shape), tables

    # Other trees, and the model file

    def with_trees(self, trees: Trees) -> NeuralSearch:
        """The same scores over other trees; for first-order scores."""
        if self.order != 1:
            raise InputError("siblings belong to the trees that they were trained with", field="trees")
        return NeuralSearch(self.scorer, trees=trees, roots=self.roots)

    def quantized(self) -> NeuralSearch:
        return NeuralSearch(self.scorer.quantized(), trees=self.trees, roots=self.roots)

    def to_parts(self, *, quantized: bool = False) -> Parts:
        return ExactSearch.to_parts(self.quantized() if quantized else self)
