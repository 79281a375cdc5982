"""Make a tree projective, by one of three named ways, and undo the one that can be undone.

flatten            While some arc is non-projective, take the shortest one (leftmost on ties) and
                   re-attach its dependent to the head of its head. Every word thus ends under
                   the lowest ancestor that the other arcs allow (nivre-2005, "baseline").
minimum-loss       The projective tree with the fewest changed heads: the best tree under scores
                   +1 for a correct arc and -1 for any other (koo-2007, note 4).
pseudo-projective  Lifts as flatten does and writes into the labels what is needed to find the old
                   head again; `deprojectivize` searches for it (nivre-2005).

A tree that is projective already comes back unchanged after O(n). What lifting costs, how labels are marked
and how a lift is undone stands in pseudo_projective.py; minimum loss is one call of the O(n³) projective
decoder. The marks `^` and `~` are ASCII, so that any tool can carry such labels, and no treebank we know uses
them in labels; a label that does is refused.

None of the ways changes the number of roots of a single-root tree: an arc out of node 0, or out of the only
root, is never non-projective, and minimum loss asks the decoder for a single root where the tree has one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import get_args

import numpy as np

from arbora.data.pseudo_projective import Encoding, PseudoProjective, lifts
from arbora.data.tree import Tree
from arbora.errors import InputError

MARKS = PseudoProjective()


def projectivize(tree: Tree, how: str = "flatten", *, encoding: Encoding | None = None) -> Tree:
    """Return a projective tree over the same words; a projective tree comes back as it is.

    `how` is one of the names in `WAYS`. `encoding` ("head", the default, "path" or "head+path")
    belongs to "pseudo-projective" alone. A re-attached word keeps its own label.
    """
    _check_choice("how", how, tuple(WAYS))
    if not isinstance(tree, Tree):
        raise InputError(
            f"tree: expected a Tree, got {type(tree).__name__}; make one: Tree.from_heads(heads)"
        )
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
    """Return a projective tree with as many unchanged heads as can be; O(n³).

    Several trees may do equally well. Among them this prefers one whose changed heads are near
    ancestors of the word: wrong arcs to an ancestor that is k arcs up get a bonus of
    1 / ((n+1) k). All bonuses together stay below 1, and one more changed head costs at least
    2 - 1, so the bonus never buys a loss.
    """
    if tree.is_projective():
        return tree
    # Imported here: inference rests on the native module, reading treebanks does not.
    from arbora.inference import argmax

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
    _check_choice("encoding", encoding, get_args(Encoding))
    labels = _plain_labels(tree)
    if tree.is_projective():
        return tree
    return Tree(*PseudoProjective(encoding=encoding).encode(tree.heads.tolist(), labels))


def deprojectivize(tree: Tree) -> Tree:
    """Undo `pseudo_projective`, whatever its encoding; O(n) per lifted word and level of the tree.

    A word whose old head is not found stays where it is, words that were not lifted are never touched, and
    all marks are removed. Where every label is different, `head` and `head+path` give back every tree; else
    some trees cannot be told apart by their marks, and a few words may come back to a wrong head.
    """
    if tree.labels is None or all(map(MARKS.is_free_of_marks, tree.labels)):
        return tree
    return Tree(*MARKS.decode(tree.heads.tolist(), tree.labels))


WAYS: dict[str, Callable[[Tree], Tree]] = {
    "flatten": flatten,
    "minimum-loss": minimum_loss,
    "pseudo-projective": pseudo_projective,
}


def _plain_labels(tree: Tree) -> tuple[str, ...]:
    if tree.labels is None:
        raise InputError("pseudo-projective: expected a labelled tree, got one without labels")
    for word, label in enumerate(tree.labels, start=1):
        for mark in (MARKS.lifted, MARKS.on_path):
            if mark in label:
                raise InputError(
                    f"word {word}: the label {label!r} contains {mark!r}, which marks lifted "
                    "arcs; rename it, or call deprojectivize first if the tree is marked already"
                )
    return tree.labels


def _check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value in known:
        return
    near = difflib.get_close_matches(str(value), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}{hint}")
