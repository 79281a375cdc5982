"""Make a tree projective in one of three ways, and undo the one that can be undone.

flatten            While some arc is non-projective, lift the shortest one (leftmost on ties): re-attach its
                   dependent to the head of its head. Every word thus ends under the lowest ancestor that the
                   other arcs allow [nivre-2005, "baseline"].
minimum-loss       The projective tree with the fewest changed heads: the best tree under scores +1 for a
                   correct arc and -1 for any other [koo-2007, note 4]. O(n³).
pseudo-projective  Flatten, and mark in the labels what is needed to find the old heads again; parsers train
                   on such trees, and their output is restored [nivre-2005].

A projective tree is returned unchanged after O(n). Trees stay trees, and a single root stays single. The
marks for a word labelled `obj` that was lifted from a head labelled `xcomp`:

    encoding       lifted word     words on the path it was lifted along
    head           obj^xcomp       (not marked)
    path           obj^            xcomp~
    head+path      obj^xcomp       xcomp~

To restore a word, its old head is searched below its present head, first along words marked `~`, then
anywhere. The old head has the label in the mark, if there is one, and the arc from it must be non-projective,
else the word would not have been lifted. (Lifting only removes words from subtrees, so the lifted tree shows
this without excluding a correct head.) Candidates are ranked:

    1. no word above it would have ended the lift
    2. along paths: no path leads on to another candidate; anywhere: the highest, breadth first
    3. before the word; then the nearest

The paper searches breadth first, left to right, without the test for non-projectivity; docs/projectivity.md
compares the accuracies. If all labels differ, `head` and `head+path` lose nothing.

Lifting a word from h costs O(c n/w) for c dependents of h and machine words of w bits, restoring one O(n d)
for trees of depth d.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np

from arbora._core import measure_trees
from arbora.data.columns import Columns
from arbora.data.tree import Tree, children_of, subtree_masks, top_down, words_between
from arbora.errors import InputError, require_known
from arbora.types import Doubles, Ints, Longs

Encoding: TypeAlias = Literal["head", "path", "head+path"]

LIFTED = ("^", "↑", "⇑", "⟰")  # marks of lifted words; the first that no label contains is used
ON_PATH = ("~", "↓", "⇓", "⟱")  # marks of words that others were lifted past
Label = TypeVar("Label", bound=Hashable)


def projectivize(tree: Tree, how: str = "flatten", *, encoding: Encoding | None = None) -> Tree:
    """Return a projective tree over the same words; a projective tree is returned unchanged.

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
    return _pseudo_projective(tree, encoding)


def _flatten(tree: Tree) -> Tree:
    if tree.is_projective():
        return tree
    heads = tree.heads.tolist()
    for _ in lifts(heads):
        pass
    return Tree(heads, tree.labels)


def _minimum_loss(tree: Tree) -> Tree:
    """Return a projective tree with the most unchanged heads.

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


def _pseudo_projective(tree: Tree, encoding: Encoding = "head") -> Tree:
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


WAYS: dict[str, Callable[[Tree], Tree]] = {
    "flatten": _flatten,
    "minimum-loss": _minimum_loss,
    "pseudo-projective": _pseudo_projective,
}


def deprojectivize(tree: Tree) -> Tree:
    """Undo "pseudo-projective", whatever its encoding; O(n) per lifted word and level of the tree.

    A word whose old head is not found stays in place, words that were not lifted never move, and all marks
    are removed. If all labels differ, `head` and `head+path` restore every tree; otherwise the marks of some
    trees are ambiguous, and a few words may get a wrong head.
    """
    marks = PseudoProjective()
    if tree.labels is None or all(map(marks.is_free_of_marks, tree.labels)):
        return tree
    return Tree(*marks.decode(tree.heads.tolist(), tree.labels))


class Mark(NamedTuple, Generic[Label]):
    """The parts of a label, which may be texts or numbers."""

    own: Label
    target: Label | str | None  # the label of the old head; None: not lifted, "": not recorded
    on_path: bool  # whether a word was lifted past this one


@dataclass(frozen=True, kw_only=True)
class PseudoProjective:
    """The way of marking labels; stored with the models that use it."""

    encoding: Encoding = "head"
    lifted: str = LIFTED[0]
    on_path: str = ON_PATH[0]

    def __post_init__(self) -> None:
        require_known("encoding", self.encoding, get_args(Encoding))
        if not self.lifted or not self.on_path or self.lifted in self.on_path or self.on_path in self.lifted:
            got = f"{self.lifted!r} for lifted words and {self.on_path!r} for those on their path"
            raise InputError(f"marks: expected two that differ, got {got}")

    @classmethod
    def for_labels(cls, labels: Iterable[str], encoding: Encoding = "head") -> PseudoProjective:
        """Choose marks that no label contains; InputError if each of them is in use."""
        used = "\n".join(labels)
        chosen = [next((mark for mark in marks if mark not in used), "") for marks in (LIFTED, ON_PATH)]
        if not all(chosen):
            marks = " ".join(ON_PATH if chosen[0] else LIFTED)
            raise InputError(f"labels: expected none with one of {marks}, got labels with each; rename some")
        return cls(encoding=encoding, lifted=chosen[0], on_path=chosen[1])

    def read(self, label: str) -> Mark[str]:
        """Split a label into its parts."""
        on_path = label.endswith(self.on_path)
        own, lifted, target = label.removesuffix(self.on_path).partition(self.lifted)
        return Mark(own, target if lifted else None, on_path)

    def is_free_of_marks(self, label: str) -> bool:
        """Return whether a label contains no mark."""
        return self.lifted not in label and self.on_path not in label

    def encode(self, heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
        """Projectivize a tree of n + 1 heads (the first is -1) and n labels without marks."""
        flat, marked = list(heads), list(labels)
        origin: dict[int, int] = {}
        passed: set[int] = set()
        for dep, old_head in lifts(flat):
            origin.setdefault(dep, old_head)
            passed.add(old_head)
        for dep, old_head in origin.items():
            marked[dep - 1] += self.lifted + ("" if self.encoding == "path" else labels[old_head - 1])
        if self.encoding != "head":
            for word in passed:
                marked[word - 1] += self.on_path
        return flat, marked

    def decode(self, heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
        """Undo `encode`, whatever the encoding: restore lifted words and remove the marks."""
        marks = [self.read(label) for label in labels]
        restored = list(heads)
        if any(mark.target is not None for mark in marks):
            _Undo(restored, marks).run()
        return restored, [mark.own for mark in marks]

    def encode_columns(self, columns: Columns, heads: Ints) -> tuple[Ints, Columns]:
        """Projectivize the trees of a treebank; `heads`, shape (W,), replace its own.

        Returns the heads and the treebank with marked labels. Sentences with unknown heads stay as they are.
        O(W), plus the lifts of the non-projective trees.
        """
        crossing, _, _ = measure_trees(heads, columns.offsets)
        names = list(columns.strings("deprel"))
        numbers = {name: number for number, name in enumerate(names)}
        ids, heads, offsets = np.array(columns.ids("deprel")), heads.copy(), columns.offsets
        for s in np.unique(np.searchsorted(offsets, np.flatnonzero(crossing), side="right") - 1):
            here = slice(offsets[s], offsets[s + 1])
            labels = [names[number] for number in ids[here].tolist()]
            flat, marked = self.encode([-1, *heads[here].tolist()], labels)
            heads[here] = flat[1:]
            ids[here] = [numbers.setdefault(label, len(numbers)) for label in marked]
        return heads, columns.with_column("deprel", ids, list(numbers))


class Restorer:
    """Undoes lifts in the output of a parser: trees as arrays, labels as ids."""

    def __init__(self, how: PseudoProjective, labels: Sequence[str]) -> None:
        """`labels` are the parser's; InputError if a marked one is there but not its plain form."""
        if not labels:
            raise InputError("labels: expected at least one, since labels carry the marks; got none")
        numbers = {name: number for number, name in enumerate(labels)}
        marks = [how.read(label) for label in labels]
        for missing in sorted({mark.own for mark in marks} - numbers.keys()):
            raise InputError(f"labels: expected {missing!r}, which occurs with marks, got only marked forms")
        # A target that is no known label stays a text, which equals no id.
        self._targets = [mark.target and numbers.get(mark.target, mark.target) for mark in marks]
        self._on_path = [mark.on_path for mark in marks]
        self._is_lifted = np.array([mark.target is not None for mark in marks], dtype=np.bool_)
        self.plain = np.array([numbers[mark.own] for mark in marks], dtype=np.int32)
        """The id of each label without its marks, shape (labels,)."""
        self._order = np.argsort(self.plain, kind="stable")

    def restore(
        self, heads: Ints, labels: Ints, lengths: Longs, fixed: Ints | None = None
    ) -> tuple[Ints, Ints]:
        """Restore the lifted words of several trees and remove the marks from their labels.

        Shapes (W,), (W,), (trees,). Words with a head in `fixed`, shape (W,), -1 for none, do not move. O(W),
        plus plain Python for the few trees that have lifted words.
        """
        lifted = self._is_lifted[labels] & (labels >= 0)
        if fixed is not None:
            lifted &= fixed < 0
        result, plain = heads.copy(), self.unmarked(labels)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        for tree in np.unique(np.searchsorted(offsets, np.flatnonzero(lifted), side="right") - 1):
            here = slice(offsets[tree], offsets[tree + 1])
            words = zip(plain[here].tolist(), labels[here].tolist(), lifted[here].tolist(), strict=True)
            restored = [-1, *heads[here].tolist()]
            marks = [
                Mark(own, self._targets[label] if is_lifted else None, self._on_path[label])
                for own, label, is_lifted in words
            ]
            _Undo(restored, marks).run()
            result[here] = restored[1:]
        return result, plain

    def unmarked(self, labels: Ints) -> Ints:
        """Remove the marks from label ids; -1 stays."""
        return np.where(labels < 0, labels, self.plain[labels]).astype(np.int32)

    def merged(self, table: Doubles) -> Doubles:
        """Add P(marked label) to P(plain label) in a table of shape (W, labels)."""
        plain = self.plain[self._order]
        starts = np.flatnonzero(np.diff(plain, prepend=-1))
        result = np.zeros_like(table)
        result[:, plain[starts]] = np.add.reduceat(table[:, self._order], starts, axis=1)
        return result


class _Undo:
    """Moves the lifted words of one tree back, in place; `marks[d - 1]` belongs to word d."""

    def __init__(self, heads: list[int], marks: Sequence[Mark[str]] | Sequence[Mark[int]]) -> None:
        self.heads = heads
        self.marks = [Mark[str | int]("", None, False), *marks]
        self.lifted_heads = tuple(heads)
        self.masks = subtree_masks(heads)

    def run(self) -> None:
        """Work top down, in rounds, since old heads may have been lifted themselves."""
        pending = [dep for dep in top_down(self.heads) if self.marks[dep].target is not None]
        progress = True
        while pending and progress:
            missed = []
            for dep in pending:
                old_head = self._old_head(dep)
                if old_head is None:
                    missed.append(dep)
                else:
                    self.heads[dep] = old_head
            progress = len(missed) < len(pending)
            pending = missed

    def _old_head(self, dep: int) -> int | None:
        children = children_of(self.heads)
        children[self.heads[dep]].remove(dep)
        target = self.marks[dep].target

        def fits(word: int) -> bool:
            return target in ("", self.marks[word].own) and _is_crossed(self.masks, word, dep)

        def leads_on(word: int) -> bool:
            return any(self.marks[below].on_path and fits(below) for below in children[word])

        def rank(word: int, first: int) -> tuple[bool, int, bool, int, int]:
            return self._stops_below(word, dep), first, word > dep, abs(word - dep), word

        on_paths = self._below(children, dep, paths_only=True)
        ranks = [rank(word, leads_on(word)) for word, _ in on_paths if fits(word)]
        if not ranks and target != "":
            anywhere = self._below(children, dep, paths_only=False)
            ranks = [rank(word, level) for word, level in anywhere if fits(word)]
        return min(ranks)[-1] if ranks else None

    def _below(self, children: list[list[int]], dep: int, *, paths_only: bool) -> Iterator[tuple[int, int]]:
        """Yield the words below the present head with their level, through words on paths or through all."""
        queue = [(self.heads[dep], 0)]
        for node, level in queue:
            words = (word for word in children[node] if self.marks[word].on_path or not paths_only)
            below = [(word, level + 1) for word in words]
            yield from below
            queue.extend(below)

    def _stops_below(self, head: int, dep: int) -> bool:
        """Return whether a word above this head would have ended the lift, unless lifted itself."""
        top = self.lifted_heads[dep]
        if not self.masks[top] >> head & 1:  # lifted itself: the words above it are unknown
            return False
        while head != top:
            if not _is_crossed(self.masks, head, dep):
                return True
            head = self.lifted_heads[head]
        return False


def _is_crossed(masks: Sequence[int], head: int, dep: int) -> bool:
    return bool(words_between(head, dep) & ~masks[head] & ~masks[dep])


def lifts(heads: list[int]) -> Iterator[tuple[int, int]]:
    """Lift in place until the tree is projective; yield each (word, head that it leaves)."""
    masks = subtree_masks(heads)
    children = children_of(heads)
    # Subtrees only lose words, so a crossed arc stays crossed, and in here, until it is lifted.
    crossed: set[int] = set()
    waiting: list[tuple[int, int]] = []

    def push_crossed(deps: Iterable[int]) -> None:
        for dep in deps:
            if dep not in crossed and _is_crossed(masks, heads[dep], dep):
                crossed.add(dep)
                heapq.heappush(waiting, (abs(heads[dep] - dep), dep))

    push_crossed(range(1, len(heads)))
    while waiting:
        _, dep = heapq.heappop(waiting)
        old_head, new_head = heads[dep], heads[heads[dep]]
        yield dep, old_head
        children[old_head].remove(dep)
        children[new_head].append(dep)
        heads[dep] = new_head
        masks[old_head] &= ~masks[dep]
        crossed.remove(dep)
        push_crossed((dep, *children[old_head]))
