"""Make a tree projective in one of three ways, and undo the one that can be undone.

flatten            While some arc is non-projective, take the shortest one (leftmost on ties) and
                   re-attach its dependent to the head of its head. Every word thus ends under
                   the lowest ancestor that the other arcs allow (nivre-2005, "baseline").
minimum-loss       The projective tree with the fewest changed heads: the best tree under scores
                   +1 for a correct arc and -1 for any other (koo-2007, note 4). O(n³).
pseudo-projective  Lifts as flatten does and marks in the labels what is needed to find the old
                   head again; `deprojectivize` restores it (nivre-2005). See pseudo_projective.py.

A projective tree comes back unchanged after O(n). A single root stays single: an arc out of node 0 or the
only root is never non-projective, and minimum loss asks the decoder for a single root if the tree has one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arbora.data.pseudo_projective import Encoding, PseudoProjective, lifts
from arbora.data.tree import Tree
from arbora.errors import InputError, require_known

MARKS = PseudoProjective()


def projectivize(tree: Tree, how: str = "flatten", *, encoding: Encoding | None = None) -> Tree:
    """Return a projective tree over the same words; a projective tree comes back as it is.

    `how` is a name in `WAYS`. `encoding` ("head", the default, "path" or "head+path") is for
    "pseudo-projective" only. A re-attached word keeps its own label.
    """
    require_known("how", how, WAYS)
    if not isinstance(tree, Tree):
        raise InputError(f"tree: expected a Tree, as Tree.from_heads makes, got {type(tree).__name__}")
    if encoding is None:
        return WAYS[how](tree)
    if how != "pseudo-projective":
        raise InputError(f"encoding: only 'pseudo-projective' takes one, got how={how!r}")
    return pseudo_projective(tree, encoding)


def flatten(tree: Tree) -> Tree:
    """Lift the shortest non-projective arc, one step at a time, until none is left."""
    if tree.is_projective():
        return tree
    heads = tree.heads.tolist()
    for _ in lifts(heads):
        pass
    return Tree(heads, tree.labels)


def minimum_loss(tree: Tree) -> Tree:
    """Return a projective tree with the most unchanged heads; O(n³).

    Of several such trees, it prefers one whose changed heads are near ancestors of the word: a wrong arc from
    an ancestor k arcs up gets a bonus of 1 / ((n+1) k). All bonuses together stay below 1, and another
    changed head costs at least 2 - 1, so the bonus never increases the loss.
    """
    if tree.is_projective():
        return tree
    from arbora.inference import argmax  # a later folder

    n = len(tree)
    heads = tree.heads.tolist()
    scores = np.full((n + 1, n + 1), -1.0)
    for dep in range(1, n + 1):
        ancestor, steps = heads[dep], 1
        scores[ancestor, dep] = 1.0
        while ancestor != 0:
            ancestor, steps = heads[ancestor], steps + 1
            scores[ancestor, dep] += 1.0 / ((n + 1) * steps)
    best = argmax(scores, trees="projective", roots="single" if len(tree.roots) == 1 else "multi")
    return Tree(best.heads, tree.labels)


def pseudo_projective(tree: Tree, encoding: Encoding = "head") -> Tree:
    """Flatten, and mark in the labels where lifted words came from (see pseudo_projective.py)."""
    marks = PseudoProjective(encoding=encoding)
    if tree.labels is None:
        raise InputError("pseudo-projective: expected a labelled tree, got one without labels")
    for word, label in enumerate(tree.labels, start=1):
        if not marks.is_free_of_marks(label):
            raise InputError(
                f"word {word}: expected a label without {marks.lifted} and {marks.on_path}, which mark "
                f"lifts, got {label!r}; rename it, or call deprojectivize first if the tree is marked already"
            )
    return tree if tree.is_projective() else Tree(*marks.encode(tree.heads.tolist(), tree.labels))


def deprojectivize(tree: Tree) -> Tree:
    """Undo `pseudo_projective`, whatever its encoding; O(n) per lifted word and level of the tree.

    A word whose old head is not found stays in place, words that were not lifted never move, and all marks
    are removed. If all labels differ, `head` and `head+path` restore every tree; otherwise the marks of some
    trees are ambiguous, and a few words may get a wrong head.
    """
    if tree.labels is None or all(map(MARKS.is_free_of_marks, tree.labels)):
        return tree
    return Tree(*MARKS.decode(tree.heads.tolist(), tree.labels))


WAYS: dict[str, Callable[[Tree], Tree]] = {
    "flatten": flatten,
    "minimum-loss": minimum_loss,
    "pseudo-projective": pseudo_projective,
}
