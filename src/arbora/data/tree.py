"""A dependency tree over the words of one sentence: immutable, and checked when it is made.

Node 0 is the root, words are 1..n, `heads` has shape (n+1,) and `heads[0] == -1`. Several words may depend on
node 0 unless `roots="single"`.

An arc (h, d) is non-projective if some word strictly between h and d is not a descendant of h; a tree is
projective if none of its arcs is non-projective.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, get_args

import numpy as np

from arbora import _core
from arbora.errors import InputError, require_known
from arbora.interfaces import Roots
from arbora.types import Bools, Ints

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Tree:
    """An immutable dependency tree, labelled or not.

    Construction is O(n) and raises `InputError` unless the heads, shape (n+1,), form a tree. For one head per
    word, use `Tree.from_heads`.
    """

    heads: Ints  # head of every node, shape (n+1,), read-only; `heads[0] == -1`
    labels: tuple[str, ...] | None  # label of word i at i-1, or None if the tree is unlabelled

    def __init__(
        self, heads: ArrayLike, labels: Iterable[str] | None = None, *, roots: Roots = "multi"
    ) -> None:
        array = _as_heads(heads, roots)
        object.__setattr__(self, "heads", array)
        object.__setattr__(self, "labels", _as_labels(labels, len(array) - 1))

    @classmethod
    def from_heads(
        cls, heads: Sequence[int], labels: Iterable[str] | None = None, *, roots: Roots = "multi"
    ) -> Tree:
        """Make a tree from one head per word (0 = root), without an entry for node 0."""
        return cls([-1, *heads], labels, roots=roots)

    @property
    def roots(self) -> tuple[int, ...]:
        """The dependents of node 0, left to right."""
        return self.children(0)

    @property
    def depth(self) -> int:
        """Number of arcs on the longest path from node 0; O(n)."""
        return max(0, int(self._measures()[1][0]))

    def children(self, head: int) -> tuple[int, ...]:
        """The dependents of `head`, left to right; O(n)."""
        if not 0 <= head < len(self.heads):
            raise InputError(f"head: expected a node from 0 to {len(self)}, got {head}")
        return tuple(np.flatnonzero(self.heads == head).tolist())

    def is_projective(self) -> bool:
        """Return whether no arc is non-projective; O(n)."""
        return not self._measures()[0].any()

    def nonprojective_arcs(self) -> Bools:
        """Mark the words whose arc from their head is non-projective; shape (n+1,), O(n)."""
        return np.concatenate([[False], self._measures()[0].astype(np.bool_)])

    def _measures(self) -> tuple[NDArray[np.uint8], Ints, Ints]:
        return _core.measure_trees(self.heads[1:], np.array([0, len(self)]))

    def __len__(self) -> int:
        return len(self.heads) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.heads, other.heads)

    def __hash__(self) -> int:
        return hash((self.heads.tobytes(), self.labels))

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={list(self.labels)!r}"
        return f"Tree.from_heads({self.heads[1:].tolist()!r}{labels})"

    def __reduce__(self) -> tuple[type[Tree], tuple[list[int], tuple[str, ...] | None]]:
        # Rebuilt from a list: a pickled array would come back writeable.
        return type(self), (self.heads.tolist(), self.labels)


def children_of(heads: Sequence[int]) -> list[list[int]]:
    """List the dependents of every node, left to right; O(n)."""
    children: list[list[int]] = [[] for _ in heads]
    for dep in range(1, len(heads)):
        children[heads[dep]].append(dep)
    return children


def top_down(heads: Sequence[int]) -> list[int]:
    """List all nodes breadth first, left to right, from node 0; O(n)."""
    children = children_of(heads)
    order = [0]
    for node in order:
        order.extend(children[node])
    return order


def subtree_masks(heads: Sequence[int]) -> list[int]:
    """Return a bit set per node, of itself and its descendants; O(n²/w) for machine words of w bits."""
    masks = [1 << node for node in range(len(heads))]
    for node in reversed(top_down(heads)[1:]):
        masks[heads[node]] |= masks[node]
    return masks


def words_between(one: int, other: int) -> int:
    """Return the bit set of the words strictly between two nodes."""
    low, high = min(one, other), max(one, other)
    return (1 << high) - (1 << (low + 1))


def _as_heads(heads: ArrayLike, roots: Roots) -> Ints:
    require_known("roots", roots, get_args(Roots))
    try:
        given = np.asarray(heads)
    except ValueError as error:
        raise InputError(f"heads: expected a flat list of integers ({error})") from None
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        got = f"shape {given.shape} of type {given.dtype}"
        raise InputError(f"heads: expected integers of shape (n+1,), got {got}")
    if len(given) == 0 or given[0] != -1:
        got = f"{given[:1].tolist()}; for a list with one head per word, use Tree.from_heads"
        raise InputError(f"heads: expected -1 at node 0, got {got}")
    # Checked before the conversion, in which large numbers would wrap around.
    numbers, n = given.tolist(), len(given) - 1
    for word, head in enumerate(numbers[1:], start=1):
        if not 0 <= head <= n:
            raise InputError(f"word {word}: expected a head from 0 to {n}, got {head}")
        if head == word:
            raise InputError(f"word {word}: expected another word or 0 as head, got the word itself")
    if cycle := find_cycle(numbers):
        raise InputError(f"heads: these heads form a cycle: {' -> '.join(map(str, cycle))}")
    if roots == "single" and numbers.count(0) != 1:
        words = ", ".join(str(word) for word, head in enumerate(numbers) if head == 0) or "none"
        raise InputError(f"heads: expected exactly one word with head 0, got {numbers.count(0)} ({words})")
    array = np.array(given, dtype=np.int32)
    array.flags.writeable = False
    return array


def find_cycle(heads: list[int]) -> list[int]:
    """Return the words of one cycle, each followed by its head, the first also last; or an empty list."""
    if not _core.in_family(heads, _core.Trees.nonprojective, _core.Roots.multi):
        try:
            TopologicalSorter({dep: [heads[dep]] for dep in range(1, len(heads))}).prepare()
        except CycleError as error:
            return list(reversed(error.args[1]))
    return []


def _as_labels(labels: Iterable[str] | None, n: int) -> tuple[str, ...] | None:
    if labels is None:
        return None
    if isinstance(labels, str):
        raise InputError(f"labels: expected one string per word, got the single string {labels!r}")
    result = tuple(labels)
    if len(result) != n:
        raise InputError(f"labels: expected one per word ({n}), got {len(result)}")
    for word, label in enumerate(result, start=1):
        if not isinstance(label, str):
            raise InputError(f"word {word}: expected a string as label, got {label!r}")
    return result
