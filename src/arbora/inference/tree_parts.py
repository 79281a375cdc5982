"""The parts of a tree, as arrays shaped like the scores: 1 where the tree has a part."""

from __future__ import annotations

import numpy as np

from arbora.inference._parts import constrain
from arbora.interfaces import Best, GoldTree, PartKind, PartMarginals, PartScores
from arbora.types import Doubles, Ints


def tree_parts(tree: Best, scores: PartScores) -> PartMarginals:
    """1 for each part of a tree, 0 elsewhere, for every kind that `scores` has. O(n) besides the arrays."""
    heads = np.asarray(tree.heads)
    deps = np.arange(1, len(heads))
    siblings = adjacent_siblings(heads)
    inner = deps[heads[1:] > 0]  # words that have a grandparent
    above = heads[heads[inner]]
    places = {
        PartKind.ARC: (heads[1:], deps),
        PartKind.LABEL: None if tree.labels is None else (heads[1:], deps, np.asarray(tree.labels)[1:]),
        PartKind.SIBLING: (heads[1:], deps, siblings[1:]),
        PartKind.GRANDPARENT: (above, heads[inner], inner),
        PartKind.GRANDSIBLING: (above, heads[inner], inner, siblings[inner]),
    }
    parts = {kind: np.zeros(np.shape(array)) for kind, array in scores.items()}
    for kind, array in parts.items():
        if (place := places[kind]) is not None:
            array[place] = 1.0
    return parts


def adjacent_siblings(heads: Ints) -> Ints:
    """The next dependent of each word's head on the way to that head, or the head itself, (n+1,)."""
    siblings = np.array(heads)
    arcs = list(enumerate(heads.tolist()))[1:]
    for is_right, ordered in ((True, arcs), (False, arcs[::-1])):
        nearest: dict[int, int] = {}
        for dep, head in ordered:
            if (dep > head) is is_right:
                siblings[dep] = nearest.get(head, head)
                nearest[head] = dep
    return siblings


def labelled_arcs(scores: PartScores) -> Doubles:
    """Scores of arcs, plus those of labels if there are any: (n+1, n+1) or (n+1, n+1, labels)."""
    arcs = np.asarray(scores[PartKind.ARC], dtype=np.float64)
    return arcs[:, :, None] + scores[PartKind.LABEL] if PartKind.LABEL in scores else arcs


def split_labels(table: Doubles, scores: PartScores) -> PartMarginals:
    """A table over arcs, labelled if `scores` are, as entries for ARC and LABEL."""
    if PartKind.LABEL not in scores:
        return {PartKind.ARC: table}
    return {PartKind.ARC: table.sum(axis=2), PartKind.LABEL: table}


def restricted(scores: PartScores, gold: GoldTree) -> PartScores:
    """The same scores, with every arc and label forbidden that contradicts the gold tree."""
    changed = {PartKind.ARC: constrain(np.asarray(scores[PartKind.ARC], dtype=np.float64), gold.heads)}
    labelled = np.flatnonzero((gold.heads >= 0) & (gold.labels >= 0))
    if PartKind.LABEL in scores and len(labelled):
        labels = np.array(scores[PartKind.LABEL], dtype=np.float64)
        places = (gold.heads[labelled], labelled, gold.labels[labelled])
        allowed = labels[places]
        labels[gold.heads[labelled], labelled] = -np.inf
        labels[places] = allowed
        changed[PartKind.LABEL] = labels
    return {**scores, **changed}
