"""Inference for many sentences of one length at once, and `parse` for models over tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora import inference
from arbora.induction.corpus import by_length
from arbora.induction.interfaces import TagModel
from arbora.interfaces import Roots, Trees
from arbora.types import Doubles, Ints


@dataclass(frozen=True)
class TreeSet:
    """The trees of each of m sentences of n words: finds the best ones, and sums over all.

    Scores are arrays of m sentences: `arcs` (m, n+1, n+1), and `siblings` (m, n+1, n+1, n+1), if any.
    """

    trees: Trees
    roots: Roots = "single"
    threads: int = 1

    def best(self, arcs: Doubles, siblings: Doubles | None = None) -> Ints:
        """Heads of the best trees, (m, n+1), -1 for the root."""
        return np.stack([best.heads for best in inference.argmax(**self._given(arcs, siblings))])

    def log_sums(self, arcs: Doubles, siblings: Doubles | None = None) -> Doubles:
        """log Z, (m,)."""
        found: Doubles = inference.log_partition(**self._given(arcs, siblings))
        return found

    def marginals(self, arcs: Doubles, siblings: Doubles | None = None) -> list[Doubles]:
        """P(part), each array shaped as its scores."""
        found = inference.marginals(**self._given(arcs, siblings))
        if siblings is None:
            return [np.stack(found)]
        return [np.stack([each.arcs for each in found]), np.stack([each.siblings for each in found])]

    def _given(self, arcs: Doubles, siblings: Doubles | None) -> dict[str, Any]:
        lists = {"scores": list(arcs), "siblings": None if siblings is None else list(siblings)}
        return {**lists, "trees": self.trees, "roots": self.roots, "threads": self.threads}


def parse(model: TagModel, sentences: Sequence[Ints], *, threads: int = 1) -> list[Ints]:
    """The best tree of each sentence of tags: heads of its words, (n,), 0 for the root."""
    trees = TreeSet(model.trees, model.roots, threads)
    found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(sentences)
    for piece in by_length(sentences):
        best = trees.best(*model.scores(piece.tags).values())
        for place, heads in zip(piece.places.tolist(), best, strict=True):
            found[place] = heads[1:]
    return found


def as_arcs(heads: Ints) -> Doubles:
    """Trees as arrays of arcs: 1 for each arc, (m, n+1, n+1); heads (m, n+1)."""
    arcs = heads[:, None, :] == np.arange(heads.shape[1])[:, None]
    return arcs.astype(np.float64)
