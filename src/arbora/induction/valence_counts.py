"""How often each choice of the dependency model with valence is made: what it is estimated from.

Counts come from two arrays per sentence, each [head, dependent]: how often there is an arc, and how often the
dependent is the nearest on its side. They may be 0 and 1 (a tree), or expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arbora.errors import InputError
from arbora.induction.corpus import Group, TagCorpus
from arbora.induction.rules import ROOT, Rules
from arbora.induction.trees import best_heads, log_sums, part_marginals, pieces
from arbora.induction.valence_model import HAS_ONE, LONGEST, NONE_YET, ValenceModel
from arbora.interfaces import PartKind
from arbora.types import Doubles, Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """Axes as in `ValenceModel`."""

    root: Doubles
    child: Doubles
    stop: Doubles

    @classmethod
    def zeros(cls, tags: int) -> Counts:
        return cls(np.zeros(tags), np.zeros((tags, 2, 2, tags)), np.zeros((tags, 2, 2)))

    @property
    def go_on(self) -> Doubles:
        """As often as a dependent is taken."""
        return self.child.sum(axis=-1)

    def add(self, tags: Ints, arcs: Doubles, nearest: Doubles, weights: Doubles) -> None:
        """Of m sentences of n words, (m, n), each as often as its weight, (m,). O(m n²).

        `arcs`, `nearest`: (m, n+1, n+1) or, where all are alike, (n+1, n+1).
        """
        m, n = tags.shape
        t = len(self.root)
        words = np.arange(n)
        sides = (words[None, :] > words[:, None]).astype(np.int64)
        between = np.broadcast_to(arcs[..., 1:, 1:], (m, n, n)) * weights[:, None, None]
        between[:, words, words] = 0.0
        first = np.broadcast_to(nearest[..., 1:, 1:], (m, n, n)) * weights[:, None, None]
        first[:, words, words] = 0.0
        heads = (tags[:, :, None] * 2 + sides).astype(np.int64)
        at = (heads * t + tags[:, None, :]).ravel()
        firsts = np.bincount(at, first.ravel(), minlength=2 * t * t).reshape(t, 2, t)
        laters = np.bincount(at, (between - first).ravel(), minlength=2 * t * t).reshape(t, 2, t)
        self.child[:, :, NONE_YET] += firsts
        # Rounding may leave a little less than nothing.
        self.child[:, :, HAS_ONE] += np.maximum(laters, 0.0)
        roots = np.broadcast_to(arcs[..., 0, 1:], (m, n)) * weights[:, None]
        self.root[:] += np.bincount(tags.ravel(), roots.ravel(), minlength=t)
        seen = np.bincount(tags.ravel(), np.repeat(weights, n), minlength=t)
        with_one = firsts.sum(axis=-1)
        self.stop[:, :, HAS_ONE] += with_one
        self.stop[:, :, NONE_YET] += np.maximum(seen[:, None] - with_one, 0.0)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Different sentences of one length with how often each occurs."""

    tags: Ints
    weights: Doubles


class Sentences:
    """A corpus, ready to be counted: equal sentences once, by length."""

    def __init__(self, corpus: TagCorpus, owner: str) -> None:
        if not len(corpus):
            raise InputError(f"{owner}: expected sentences to learn from, got none; are all too long?")
        self.tags = corpus.tags
        self.words = corpus.words
        self.pieces: list[Weighted] = []
        for group in corpus.groups():
            if group.length > LONGEST:
                raise InputError(
                    f"{owner}: a sentence of {group.length} words, expected at most {LONGEST}; "
                    "learn from shorter ones"
                )
            self.pieces += _different(group)

    def counts(
        self, model: ValenceModel, *, best_only: bool, bonus: Doubles | None = None, threads: int = 1
    ) -> tuple[float, Counts]:
        """log P of all sentences (of their best trees) under a model, and the expected (best trees') counts.

        `bonus`: what arcs add to a tree's score, [head, dependent], the last head being the root.
        """
        total, counts = 0.0, Counts.zeros(len(self.tags))
        for piece in self.pieces:
            scores = model.scores(piece.tags)
            if bonus is not None:
                scores[PartKind.ARC] += _bonuses(bonus, piece.tags)
            if best_only:
                heads = best_heads(scores, trees=model.trees, roots=model.roots, threads=threads)
                arcs, nearest = tree_parts(heads)
                logs = _tree_scores(scores, arcs, nearest)
            else:
                logs = log_sums(scores, trees=model.trees, roots=model.roots, threads=threads)
                found = part_marginals(scores, trees=model.trees, roots=model.roots, threads=threads)
                nodes = np.arange(piece.tags.shape[1] + 1)
                arcs = found[PartKind.ARC]
                nearest = found[PartKind.SIBLING][:, nodes[:, None], nodes[None, :], nodes[:, None]]
            total += float(piece.weights @ (logs + model.constants(piece.tags)))
            counts.add(piece.tags, arcs, nearest, piece.weights)
        return total, counts


def bonus_of(rules: Rules | None, weight: float, tags: tuple[str, ...]) -> Doubles | None:
    """What arcs gain by rules: (tags + 1, tags), the root last; None where that is nothing."""
    if rules is None or not weight:
        return None
    return weight * rules.table((*tags, ROOT), tags).astype(np.float64)


def tree_parts(heads: Ints) -> tuple[Doubles, Doubles]:
    """1 for each arc, and for each to the nearest dependent of a side: (m, n+1, n+1) of heads, (m, n+1)."""
    nodes = np.arange(heads.shape[1])
    arcs = heads[:, None, :] == nodes[None, :, None]
    right = nodes[None, :] > nodes[:, None]
    after, before = arcs & right, arcs & ~right
    # The first along the way from the head.
    nearest = (after & (after.cumsum(axis=2) == 1)) | (
        before & (before[:, :, ::-1].cumsum(axis=2)[:, :, ::-1] == 1)
    )
    return arcs.astype(np.float64), nearest.astype(np.float64)


def _tree_scores(scores: dict[PartKind, Doubles], arcs: Doubles, nearest: Doubles) -> Doubles:
    """The scores of trees, (m,), by their parts."""
    nodes = np.arange(arcs.shape[1])
    firsts = scores[PartKind.SIBLING][:, nodes[:, None], nodes[None, :], nodes[:, None]]
    return (np.where(arcs > 0, scores[PartKind.ARC], 0.0) + np.where(nearest > 0, firsts, 0.0)).sum(
        axis=(1, 2)
    )


def _bonuses(bonus: Doubles, tags: Ints) -> Doubles:
    """Of all arcs of m sentences of n words, (m, n+1, n+1)."""
    m, n = tags.shape
    found = np.zeros((m, n + 1, n + 1))
    found[:, 0, 1:] = bonus[-1][tags]
    found[:, 1:, 1:] = bonus[tags[:, :, None], tags[:, None, :]]
    return found


def _different(group: Group) -> Iterator[Weighted]:
    rows, counts = np.unique(group.tags, axis=0, return_counts=True)
    for piece in pieces(Group(rows, np.arange(len(rows))), 3):
        yield Weighted(piece.tags, counts[piece.places].astype(np.float64))
