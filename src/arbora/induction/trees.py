"""Best trees and sums over the trees of many sentences of one length, and `parse` for models over tags."""

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

MOST_PARTS = 4_000_000  # Parts of the sentences that are scored together: 32 MB of scores


def best_heads(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Ints:
    """Heads of the best trees, (m, n+1), -1 for the root."""
    arcs, siblings = _lists(scores)
    found = inference.argmax(arcs, siblings=siblings, trees=trees, roots=roots, threads=threads)
    return np.stack([best.heads for best in found])


def log_sums(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Doubles:
    """log Z, (m,)."""
    arcs, siblings = _lists(scores)
    return inference.log_partition(arcs, siblings=siblings, trees=trees, roots=roots, threads=threads)


def part_marginals(scores: Scores, *, trees: Trees, roots: Roots, threads: int = 1) -> Scores:
    """P(part), each array shaped as its scores."""
    arcs, siblings = _lists(scores)
    found: Any = inference.marginals(arcs, siblings=siblings, trees=trees, roots=roots, threads=threads)
    if siblings is None:
        return {PartKind.ARC: np.stack(found)}
    return {
        PartKind.ARC: np.stack([each.arcs for each in found]),
        PartKind.SIBLING: np.stack([each.siblings for each in found]),
    }


def _lists(scores: Scores) -> tuple[list[Doubles], list[Doubles] | None]:
    siblings = scores.get(PartKind.SIBLING)
    return list(scores[PartKind.ARC]), None if siblings is None else list(siblings)


def pieces(group: Group, axes: int) -> Iterator[Group]:
    """Split a group so that its arrays, of so many axes per sentence, stay small."""
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


def as_arcs(heads: Ints) -> Doubles:
    """Trees as arrays of arcs: 1 for each arc, (m, n+1, n+1); heads (m, n+1)."""
    m, size = heads.shape
    found = np.zeros((m, size, size))
    found[np.arange(m)[:, None], heads[:, 1:], np.arange(1, size)] = 1.0
    return found
