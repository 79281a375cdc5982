"""Best trees and sums over trees of many sentences of one length, by their parts' scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from arbora import inference
from arbora.induction.corpus import Group, by_length
from arbora.induction.interfaces import TagModel
from arbora.interfaces import PartKind, Roots, Trees
from arbora.types import Doubles, Ints

Scores: TypeAlias = dict[PartKind, Doubles]

MOST_PARTS = 4_000_000
"""Of a piece of sentences that are looked at together: 32 MB of scores."""


def best_heads(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Ints:
    """Heads of the best trees, (m, n+1), the root's -1."""
    found = inference.argmax(
        list(scores[PartKind.ARC]),
        siblings=_siblings(scores),
        trees=trees,
        roots=roots,
        threads=threads,
    )
    return np.stack([best.heads for best in found])


def log_sums(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Doubles:
    """log Z, (m,)."""
    return inference.log_partition(
        list(scores[PartKind.ARC]), siblings=_siblings(scores), trees=trees, roots=roots, threads=threads
    )


def part_marginals(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Scores:
    """P(part), each array shaped as its scores."""
    arcs, siblings = list(scores[PartKind.ARC]), _siblings(scores)
    if siblings is None:
        plain = inference.marginals(arcs, trees=trees, roots=roots, threads=threads)
        return {PartKind.ARC: np.stack(plain)}
    found: list[Any] = inference.marginals(arcs, siblings=siblings, trees=trees, roots=roots, threads=threads)
    return {
        PartKind.ARC: np.stack([each.arcs for each in found]),
        PartKind.SIBLING: np.stack([each.siblings for each in found]),
    }


def pieces(group: Group, axes: int) -> Iterator[Group]:
    """A group in pieces whose arrays of so many axes per sentence stay small."""
    return group.pieces(max(1, MOST_PARTS // (group.length + 1) ** axes))


def parse(model: TagModel, sentences: Sequence[Ints], *, threads: int = 1) -> list[Ints]:
    """The best tree of each sentence of tags: heads of its words, (n,), 0 for the root."""
    found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(sentences)
    for group in by_length(sentences):
        for piece in pieces(group, 3):
            heads = best_heads(
                model.scores(piece.tags), trees=model.trees, roots=model.roots, threads=threads
            )
            for place, row in zip(piece.places.tolist(), heads, strict=True):
                found[place] = row[1:]
    return found


def _siblings(scores: Scores) -> list[Doubles] | None:
    return list(scores[PartKind.SIBLING]) if PartKind.SIBLING in scores else None
