"""The parts of a tree, as arrays shaped like the scores: 1 where the tree has a part."""

from __future__ import annotations

import numpy as np

from arbora.interfaces import GoldTree, PartKind, PartMarginals, PartScores, ScoredTree
from arbora.types import Doubles, Ints


def tree_parts(tree: ScoredTree, scores: PartScores) -> PartMarginals:
    """1 for each part of a tree, 0 elsewhere, for every kind that `scores` has. O(n) beside the arrays."""
    heads = np.asarray(tree.heads)
    deps = np.arange(1, len(heads))
    found = {kind: np.zeros(np.shape(array)) for kind, array in scores.items()}
    found[PartKind.ARC][heads[1:], deps] = 1.0
    if PartKind.LABEL in found and tree.labels is not None:
        found[PartKind.LABEL][heads[1:], deps, np.asarray(tree.labels)[1:]] = 1.0
    if PartKind.SIBLING in found:
        found[PartKind.SIBLING][heads[1:], deps, adjacent_siblings(heads)[1:]] = 1.0
    below = deps[heads[1:] > 0]
    above = heads[heads[below]]
    if PartKind.GRANDPARENT in found:
        found[PartKind.GRANDPARENT][above, heads[below], below] = 1.0
    if PartKind.GRANDSIBLING in found:
        found[PartKind.GRANDSIBLING][above, heads[below], below, adjacent_siblings(heads)[below]] = 1.0
    return found


def adjacent_siblings(heads: Ints) -> Ints:
    """The next dependent of each word's head on the way to that head, or the head itself, (n+1,)."""
    found = np.array(heads)
    last: dict[tuple[int, bool], int] = {}
    for dep, head in [*enumerate(heads.tolist())][1:]:
        if dep > head:
            found[dep] = last.get((head, True), head)
            last[head, True] = dep
    for dep, head in [*enumerate(heads.tolist())][:0:-1]:
        if dep < head:
            found[dep] = last.get((head, False), head)
            last[head, False] = dep
    return found


def labelled_arcs(scores: PartScores) -> Doubles:
    """Scores of arcs, with those of labels added where there are any: (n+1, n+1) or (n+1, n+1, labels)."""
    arcs = np.asarray(scores[PartKind.ARC], dtype=np.float64)
    return arcs[:, :, None] + scores[PartKind.LABEL] if PartKind.LABEL in scores else arcs


def split_labels(table: Doubles, scores: PartScores) -> PartMarginals:
    """A table over arcs, labelled if `scores` are, as entries for ARC and LABEL."""
    if PartKind.LABEL not in scores:
        return {PartKind.ARC: table}
    return {PartKind.ARC: table.sum(axis=2), PartKind.LABEL: table}


def restricted(scores: PartScores, gold: GoldTree) -> PartScores:
    """The same scores, with every arc and label forbidden that contradicts the gold tree."""
    arcs = np.array(scores[PartKind.ARC], dtype=np.float64)
    known = np.flatnonzero(gold.heads >= 0)
    allowed = arcs[gold.heads[known], known]
    arcs[:, known] = -np.inf
    arcs[gold.heads[known], known] = allowed
    changed = {PartKind.ARC: arcs}
    labelled = known[gold.labels[known] >= 0]
    if PartKind.LABEL in scores and len(labelled):
        labels = np.array(scores[PartKind.LABEL], dtype=np.float64)
        places = (gold.heads[labelled], labelled, gold.labels[labelled])
        allowed = labels[places]
        labels[gold.heads[labelled], labelled] = -np.inf
        labels[places] = allowed
        changed[PartKind.LABEL] = labels
    return {**scores, **changed}
