"""Inference for many sentences of one length at once, and `parse` for models over tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from arbora import inference
from arbora.induction.corpus import by_length_in_pieces
from arbora.induction.interfaces import TagModel
from arbora.interfaces import PartKind, Roots, Trees
from arbora.types import Doubles, Ints

Scores: TypeAlias = dict[PartKind, Doubles]
"""Of m sentences of n words: (m,) + (n+1,) * kind.axes."""


@dataclass(frozen=True)
class TreeSet:
    """The trees of each sentence: finds the best ones, and sums over all."""

    trees: Trees
    roots: Roots = "single"
    threads: int = 1

    def best(self, scores: Scores) -> Ints:
        """Heads of the best trees, (m, n+1), -1 for the root."""
        return np.stack([best.heads for best in inference.argmax(**self._given(scores))])

    def log_sums(self, scores: Scores) -> Doubles:
        """log Z, (m,)."""
        found: Doubles = inference.log_partition(**self._given(scores))
        return found

    def marginals(self, scores: Scores) -> Scores:
        """P(part), each array shaped as its scores."""
        found = inference.marginals(**self._given(scores))
        if PartKind.SIBLING not in scores:
            return {PartKind.ARC: np.stack(found)}
        return {
            PartKind.ARC: np.stack([each.arcs for each in found]),
            PartKind.SIBLING: np.stack([each.siblings for each in found]),
        }

    def _given(self, scores: Scores) -> dict[str, Any]:
        siblings = scores.get(PartKind.SIBLING)
        return {
            "scores": list(scores[PartKind.ARC]),
            "siblings": None if siblings is None else list(siblings),
            "trees": self.trees,
            "roots": self.roots,
            "threads": self.threads,
        }


def parse(model: TagModel, sentences: Sequence[Ints], *, threads: int = 1) -> list[Ints]:
    """The best tree of each sentence of tags: heads of its words, (n,), 0 for the root."""
    trees = TreeSet(model.trees, model.roots, threads)
    found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(sentences)
    for piece in by_length_in_pieces(sentences):
        for place, heads in zip(piece.places.tolist(), trees.best(model.scores(piece.tags)), strict=True):
            found[place] = heads[1:]
    return found


def as_arcs(heads: Ints) -> Doubles:
    """Trees as arrays of arcs: 1 for each arc, (m, n+1, n+1); heads (m, n+1)."""
    arcs = heads[:, None, :] == np.arange(heads.shape[1])[:, None]
    return arcs.astype(np.float64)
