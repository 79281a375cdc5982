"""Crossing arcs for projective parsers: lift them before training, find them after parsing [nivre-2005].

Every crossing arc is lifted, one step at a time, to the head of its head, the shortest first, until none
crosses. Marks in the labels say what was done. For a word labelled `obj` lifted from a head labelled `xcomp`:

    encoding       lifted word     words on the path it was lifted along
    head           obj^xcomp       (not marked)
    path           obj^            xcomp~
    head+path      obj^xcomp       xcomp~

To undo it, the old head is searched below a lifted word's present head, first along words marked `~` alone,
then anywhere. It has the label that the mark names, if it names one, and the arc from it must cross: else the
word would not have been lifted. (Lifting only takes words out of subtrees, so that this can be read off the
lifted tree, and leaves out nothing that is right.) Of several, those go first

    1. that have no word above them at which the lift would have come to its end
    2. along paths, from which no path leads on to another: what is marked was left by some word;
       anywhere, that are highest: breadth first
    3. that stand before the word; then the nearest

The paper searches breadth first, left to right, and does not ask what crosses; docs/projectivity.md says how
much is recovered. Where all labels differ, `head` and `head+path` lose nothing.

Lifting a word from h takes words away from the subtree of h only, so that only arcs out of h have to be
looked at again. With one bit set of descendants per node a lift costs O(c n/w) for c dependents of h and
machine words of w bits. To undo a lift is O(n d) for trees of depth d.

Trees stay trees, and single roots stay: a word never moves into its own subtree, and above a single root
there is nothing to be lifted to.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from arbora._core import measure_trees
from arbora.data.columns import Columns
from arbora.data.tree import subtree_masks, top_down, words_between
from arbora.errors import InputError, UnknownNameError
from arbora.types import Doubles, Ints, Longs

Encoding: TypeAlias = Literal["head", "path", "head+path"]

LIFTED = ("^", "↑", "⇑", "⟰")
"""Marks of lifted words, the first that no label contains is taken."""
ON_PATH = ("~", "↓", "⇓", "⟱")
"""Marks of words that others were lifted past."""


class Read(NamedTuple):
    """A label taken apart."""

    own: str
    target: str | None
    """The label of the old head; None: not lifted, "": not told."""
    on_path: bool
    """Whether a word was lifted past this one."""

    @property
    def is_marked(self) -> bool:
        """Whether it is more than a label."""
        return self.on_path or self.target is not None


@dataclass(frozen=True, kw_only=True)
class PseudoProjective:
    """How labels are marked; stored with the models that use it."""

    encoding: Encoding = "head"
    lifted: str = LIFTED[0]
    on_path: str = ON_PATH[0]

    def __post_init__(self) -> None:
        if self.encoding not in get_args(Encoding):
            raise UnknownNameError("encoding", self.encoding, list(get_args(Encoding)))
        if not self.lifted or not self.on_path or self.lifted in self.on_path or self.on_path in self.lifted:
            raise InputError(
                f"marks: expected two that differ, got {self.lifted!r} for lifted words and "
                f"{self.on_path!r} for those on their path"
            )

    @classmethod
    def for_labels(cls, labels: Iterable[str], encoding: Encoding = "head") -> PseudoProjective:
        """With marks that none of the labels contains; InputError where each is in use."""
        used = "\n".join(labels)

        def free(marks: Sequence[str], what: str) -> str:
            for mark in marks:
                if mark not in used:
                    return mark
            raise InputError(
                f"labels: expected one of {' '.join(marks)} to be free to mark {what}, got labels with each "
                "of them; rename some"
            )

        return cls(
            encoding=encoding,
            lifted=free(LIFTED, "lifted words"),
            on_path=free(ON_PATH, "words on their path"),
        )

    def read(self, label: str) -> Read:
        """A label taken apart."""
        on_path = label.endswith(self.on_path)
        own, lifted, target = label.removesuffix(self.on_path).partition(self.lifted)
        return Read(own, target if lifted else None, on_path)

    def is_free_of_marks(self, label: str) -> bool:
        """Whether a label contains no mark."""
        return self.lifted not in label and self.on_path not in label

    # One tree: heads have n + 1 entries, the first of them -1, labels n.

    def encode(self, heads: Sequence[int], labels: Sequence[str]) -> tuple[list[int], list[str]]:
        """The tree without crossing arcs, its labels marked. Labels must be free of marks."""
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
        """The tree with its lifted words back in place, and no marks; whatever the encoding was."""
        marks = [self.read(label) for label in labels]
        found = list(heads)
        if any(mark.target is not None for mark in marks):
            _Undo(found, [("", None, False), *marks]).run()
        return found, [mark.own for mark in marks]

    # Treebanks

    def encode_columns(self, columns: Columns, heads: Ints) -> tuple[Ints, Columns]:
        """Projective heads, shape (W,), and the treebank with marked labels; `heads` goes for its own.

        Sentences that are known in part stay as they are. O(W) and what the crossing trees take.
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
    """Undoes lifts in what a parser gives: trees as arrays, labels as numbers.

    Every label of the parser has its number, marked ones, too; so has each without its marks.
    """

    def __init__(self, how: PseudoProjective, labels: Sequence[str]) -> None:
        if not labels:
            raise InputError("labels: expected some, got none; marks stand in labels")
        numbers = {name: number for number, name in enumerate(labels)}
        marks = [how.read(label) for label in labels]
        unmarked = {mark.own for mark in marks} - numbers.keys()
        if unmarked:
            raise InputError(
                f"labels: expected each without its marks, too, got none for {sorted(unmarked)[0]!r}"
            )
        # The label of a head that is not known is none that any word has.
        self._targets: list[int | str | None] = [
            mark.target and numbers.get(mark.target, mark.target) for mark in marks
        ]
        self._on_path = [mark.on_path for mark in marks]
        self.plain = np.array([numbers[mark.own] for mark in marks], dtype=np.int32)
        """The number of each label without its marks, shape (labels,)."""
        self._is_lifted = np.array([mark.target is not None for mark in marks], dtype=np.bool_)

    def restore(
        self, heads: Ints, labels: Ints, lengths: Longs, fixed: Ints | None = None
    ) -> tuple[Ints, Ints]:
        """Trees in a row with lifted words back in place and labels without marks.

        Shapes (W,), (W,), (trees,); words that have a head in `fixed`, shape (W,), -1 for none, stay where
        they are. O(W), and plain Python for the few trees that have lifted words.
        """
        lifted = self._is_lifted[labels] & (labels >= 0)
        if fixed is not None:
            lifted &= fixed < 0
        result = heads.copy()
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        for tree in np.unique(np.searchsorted(offsets, np.flatnonzero(lifted), side="right") - 1):
            here = slice(offsets[tree], offsets[tree + 1])
            found = [-1, *heads[here].tolist()]
            columns = labels[here], self.plain[labels[here]], lifted[here]
            words = zip(*(column.tolist() for column in columns), strict=True)
            marks = [
                (own, self._targets[label] if is_lifted else None, self._on_path[label])
                for label, own, is_lifted in words
            ]
            _Undo(found, [("", None, False), *marks]).run()
            result[here] = found[1:]
        return result, self.unmarked(labels)

    def unmarked(self, labels: Ints) -> Ints:
        """Labels without their marks; -1 stays."""
        return np.where(labels < 0, labels, self.plain[labels]).astype(np.int32)

    def merged(self, table: Doubles) -> Doubles:
        """P(label), shape (W, labels), with that of marked labels added to the plain ones."""
        order = self._order
        starts = np.flatnonzero(np.diff(self.plain[order], prepend=-1))
        result = np.zeros_like(table)
        result[:, self.plain[order][starts]] = np.add.reduceat(table[:, order], starts, axis=1)
        return result

    @cached_property
    def _order(self) -> Longs:
        return np.argsort(self.plain, kind="stable")


# What undoing looks at: the label, that of the old head (None: not lifted, "": not told), and whether a word
# was lifted past this one. Labels may be texts or numbers.
Marks: TypeAlias = tuple[Hashable, Hashable | None, bool]


class _Undo:
    """Moves the lifted words of one tree back, in place."""

    def __init__(self, heads: list[int], marks: Sequence[Marks]) -> None:
        self.heads = heads
        self.marks = marks
        self.lifted_heads = tuple(heads)
        self.masks = subtree_masks(heads)

    def run(self) -> None:
        """Top down; old heads may have been lifted themselves, so that there are further rounds."""
        pending = [dep for dep in top_down(self.heads) if self.marks[dep][1] is not None]
        progress = True
        while pending and progress:
            missed = []
            for dep in pending:
                found = self._old_head(dep)
                if found is None:
                    missed.append(dep)
                else:
                    self.heads[dep] = found
            progress = len(missed) < len(pending)
            pending = missed

    def _old_head(self, dep: int) -> int | None:
        children: list[list[int]] = [[] for _ in self.heads]
        for word in range(1, len(self.heads)):
            if word != dep:
                children[self.heads[word]].append(word)
        target = self.marks[dep][1]

        def fits(word: int) -> bool:
            return (target == "" or self.marks[word][0] == target) and self._is_crossed(word, dep)

        def leads_on(word: int) -> bool:
            return any(self.marks[below][2] and fits(below) for below in children[word])

        def rank(word: int, first: int) -> tuple[bool, int, bool, int, int]:
            return self._stops_below(word, dep), first, word > dep, abs(word - dep), word

        on_paths = self._below(children, dep, paths_only=True)
        found = [rank(word, leads_on(word)) for word, _ in on_paths if fits(word)]
        if not found and target != "":
            anywhere = self._below(children, dep, paths_only=False)
            found = [rank(word, level) for word, level in anywhere if fits(word)]
        return min(found)[-1] if found else None

    def _below(self, children: list[list[int]], dep: int, *, paths_only: bool) -> Iterator[tuple[int, int]]:
        """The words below the present head, each with its level, down marked words alone or all."""
        queue = [(self.heads[dep], 0)]
        for node, level in queue:
            below = [(word, level + 1) for word in children[node] if self.marks[word][2] or not paths_only]
            yield from below
            queue.extend(below)

    def _stops_below(self, head: int, dep: int) -> bool:
        """Whether a word above this head would have stopped the lift, unless that was lifted itself."""
        top = self.lifted_heads[dep]
        if not self.masks[top] >> head & 1:  # lifted away itself: what was above it is not known
            return False
        while head != top:
            if not self._is_crossed(head, dep):
                return True
            head = self.lifted_heads[head]
        return False

    def _is_crossed(self, head: int, dep: int) -> bool:
        return bool(words_between(head, dep) & ~self.masks[head] & ~self.masks[dep])


def lifts(heads: list[int]) -> Iterator[tuple[int, int]]:
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
