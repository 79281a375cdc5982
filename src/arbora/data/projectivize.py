"""Make a tree projective, by one of three named ways, and undo the one that can be undone.

flatten            While some arc is non-projective, take the shortest one (leftmost on ties) and
                   re-attach its dependent to the head of its head. Every word thus ends under
                   the lowest ancestor that the other arcs allow (nivre-2005, "baseline").
minimum-loss       The projective tree with the fewest changed heads: the best tree under scores
                   +1 for a correct arc and -1 for any other (koo-2007, note 4).
pseudo-projective  Lifts as flatten does and writes into the labels what is needed to find the old
                   head again; `deprojectivize` searches for it (nivre-2005).

Lifting a word from h to its grandparent takes words away from the subtree of h only, so only the
arcs out of h have to be looked at again. With one bit set of descendants per node a lift costs
O(c n/w) for c dependents of h and machine words of w bits; a tree that is projective already
comes back unchanged after O(n). Minimum loss is one call of the O(n³) projective decoder.

Marked labels, for a word labelled `obj` lifted from a head labelled `xcomp`:

    encoding       lifted word     words on the path it was lifted along
    head           obj^xcomp       (not marked)
    path           obj^            xcomp~
    head+path      obj^xcomp       xcomp~

`^` and `~` are ASCII, so that any tool can carry such labels, and no treebank we know uses them
in labels; a label that does is refused. None of the ways changes the number of roots of a
single-root tree: an arc out of node 0, or out of the only root, is never non-projective, and
minimum loss asks the decoder for a single root where the tree has one.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterator
from typing import Literal, get_args

import numpy as np

from arbora.data.tree import Tree, subtree_masks, top_down, words_between
from arbora.errors import InputError

Encoding = Literal["head", "path", "head+path"]

LIFTED = "^"
ON_PATH = "~"


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
    for _ in _lifts(heads):
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
    """Flatten, and mark in the labels where lifted words came from (see the top of this file)."""
    _check_choice("encoding", encoding, get_args(Encoding))
    labels = _plain_labels(tree)
    if tree.is_projective():
        return tree
    heads = tree.heads.tolist()
    origin: dict[int, int] = {}
    on_path: set[int] = set()
    for dep, old_head in _lifts(heads):
        origin.setdefault(dep, old_head)
        on_path.add(old_head)
    marked = list(labels)
    for dep, old_head in origin.items():
        marked[dep - 1] += LIFTED + ("" if encoding == "path" else labels[old_head - 1])
    if encoding != "head":
        for word in on_path:
            marked[word - 1] += ON_PATH
    return Tree(heads, marked)


def deprojectivize(tree: Tree) -> Tree:
    """Undo `pseudo_projective`, whatever its encoding; O(n) per lifted word and pass.

    Lifted words are taken top down, left to right. For each, the words below its present head
    (its own subtree left out) are searched breadth first for its old head:

        obj^xcomp  first along words marked `~` only, then anywhere, for one labelled `xcomp`
        obj^       along words marked `~` only, for one with no further `~` below

    The old head may itself have been lifted away, so words not placed are tried again as long
    as others move; one whose old head is not found stays where it is. All marks are removed.
    Where every label is different, `head` and `head+path` give back every tree; else some trees
    cannot be told apart by their marks, and a few words may come back to a wrong head.
    """
    if tree.labels is None or not any(LIFTED in name or ON_PATH in name for name in tree.labels):
        return tree
    heads = tree.heads.tolist()
    marks = [("", None, False), *map(_read_marks, tree.labels)]
    pending = [dep for dep in top_down(heads) if marks[dep][1] is not None]
    progress = True
    while pending and progress:
        missed = [dep for dep in pending if not _restore(heads, marks, dep)]
        progress = len(missed) < len(pending)
        pending = missed
    return Tree(heads, [label for label, _, _ in marks[1:]])


WAYS: dict[str, Callable[[Tree], Tree]] = {
    "flatten": flatten,
    "minimum-loss": minimum_loss,
    "pseudo-projective": pseudo_projective,
}


# A label taken apart: the label itself, the label of the old head (None: not lifted, "": not
# told), and whether a word was lifted along this one.
Marks = tuple[str, str | None, bool]


def _read_marks(label: str) -> Marks:
    on_path = label.endswith(ON_PATH)
    own, lifted, target = label.removesuffix(ON_PATH).partition(LIFTED)
    return own, target if lifted else None, on_path


def _restore(heads: list[int], marks: list[Marks], dep: int) -> bool:
    """Move `dep` in place under its old head; False when that is not below its present head."""
    found = _old_head(heads, marks, dep)
    if found is not None:
        heads[dep] = found
    return found is not None


def _old_head(heads: list[int], marks: list[Marks], dep: int) -> int | None:
    target = marks[dep][1]
    children: list[list[int]] = [[] for _ in heads]
    for word in range(1, len(heads)):
        if word != dep:
            children[heads[word]].append(word)
    if not target:
        for word in _breadth_first(children, heads[dep], marks, paths_only=True):
            if not any(marks[child][2] for child in children[word]):
                return word
        return None
    for paths_only in (True, False):
        for word in _breadth_first(children, heads[dep], marks, paths_only=paths_only):
            if marks[word][0] == target:
                return word
    return None


def _breadth_first(
    children: list[list[int]], start: int, marks: list[Marks], *, paths_only: bool
) -> Iterator[int]:
    """The words below `start`, level by level; with `paths_only`, down marked words alone."""
    queue = [start]
    for node in queue:
        below = [word for word in children[node] if marks[word][2] or not paths_only]
        yield from below
        queue.extend(below)


def _lifts(heads: list[int]) -> Iterator[tuple[int, int]]:
    """Lift in place until projective; yields each (word, head that it leaves)."""
    masks = subtree_masks(heads)
    children: list[set[int]] = [set() for _ in heads]
    for dep in range(1, len(heads)):
        children[heads[dep]].add(dep)

    def is_crossed(dep: int) -> bool:
        return bool(words_between(heads[dep], dep) & ~masks[heads[dep]])

    crossed = [dep > 0 and is_crossed(dep) for dep in range(len(heads))]
    # Subtrees only lose words, so a crossed arc stays crossed, and in here, until it is lifted.
    waiting = [(abs(heads[dep] - dep), dep) for dep in range(1, len(heads)) if crossed[dep]]
    heapq.heapify(waiting)
    while waiting:
        _, dep = heapq.heappop(waiting)
        old_head, new_head = heads[dep], heads[heads[dep]]
        yield dep, old_head
        children[old_head].remove(dep)
        children[new_head].add(dep)
        heads[dep] = new_head
        masks[old_head] &= ~masks[dep]
        crossed[dep] = False
        for changed in (dep, *children[old_head]):
            if not crossed[changed] and is_crossed(changed):
                crossed[changed] = True
                heapq.heappush(waiting, (abs(heads[changed] - changed), changed))


def _plain_labels(tree: Tree) -> tuple[str, ...]:
    if tree.labels is None:
        raise InputError("pseudo-projective: expected a labelled tree, got one without labels")
    for word, label in enumerate(tree.labels, start=1):
        for mark in (LIFTED, ON_PATH):
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
