"""A dependency tree over the words of one sentence: small, immutable, checked when it is made.

Conventions: node 0 is the root symbol, words are 1..n, `heads` has shape (n+1,) and
`heads[0] == -1`. Several words may hang from node 0 unless `roots="single"` asks for one.

An arc (h, d) is non-projective when some word strictly between h and d is not a descendant of h;
a tree is projective when no arc is. That is the same as: every subtree covers an unbroken span of
words, which is what `is_projective` tests in O(n). Finding *which* arcs are at fault uses one
bit set of descendants per node (`subtree_masks`), so n arcs cost O(n²/w) for a word of w bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from arbora.errors import InputError
from arbora.types import Bools, Ints

Roots = Literal["single", "multi"]


class Tree:
    """An immutable dependency tree, labelled or not.

    `heads` is a read-only int32 array of shape (n+1,) with `heads[0] == -1`; `labels` is a tuple
    of n strings (the label of word i stands at i-1) or None. Construction is O(n) and raises
    `InputError` unless the heads form a tree; plain lists go through `Tree.from_heads`.
    """

    __slots__ = ("_heads", "_labels")

    _heads: Ints
    _labels: tuple[str, ...] | None

    def __init__(
        self,
        heads: npt.ArrayLike,
        labels: Iterable[str] | None = None,
        *,
        roots: Roots = "multi",
    ) -> None:
        array = _as_heads(heads, roots)
        object.__setattr__(self, "_heads", array)
        object.__setattr__(self, "_labels", _as_labels(labels, len(array) - 1))

    @classmethod
    def from_heads(
        cls,
        heads: Sequence[int],
        labels: Iterable[str] | None = None,
        *,
        roots: Roots = "multi",
    ) -> Tree:
        """Make a tree from one head per word (0 = root), without an entry for node 0."""
        return cls([-1, *heads], labels, roots=roots)

    @property
    def heads(self) -> Ints:
        """Head of every node, shape (n+1,), read-only; `heads[0] == -1`."""
        return self._heads

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Label of word i at i-1, or None when the tree is unlabelled."""
        return self._labels

    @property
    def roots(self) -> tuple[int, ...]:
        """The words that hang from node 0, left to right."""
        return self.children(0)

    @property
    def depth(self) -> int:
        """Number of arcs on the longest path down from node 0; O(n)."""
        heads = self._heads.tolist()
        depths = [0] * len(heads)
        for node in top_down(heads)[1:]:
            depths[node] = depths[heads[node]] + 1
        return max(depths)

    def children(self, head: int) -> tuple[int, ...]:
        """The dependents of `head`, left to right; O(n)."""
        if not 0 <= head < len(self._heads):
            raise InputError(f"head: expected a node from 0 to {len(self)}, got {head}")
        return tuple(np.flatnonzero(self._heads == head).tolist())

    def is_projective(self) -> bool:
        """Whether no arc is non-projective; O(n) time and space."""
        heads = self._heads.tolist()
        first = list(range(len(heads)))
        last = list(range(len(heads)))
        size = [1] * len(heads)
        # Children before heads; node 0 covers everything, so it needs no test.
        for node in reversed(top_down(heads)[1:]):
            if last[node] - first[node] + 1 != size[node]:
                return False
            head = heads[node]
            size[head] += size[node]
            first[head] = min(first[head], first[node])
            last[head] = max(last[head], last[node])
        return True

    def nonprojective_arcs(self) -> Bools:
        """True at every word whose arc from its head is non-projective; shape (n+1,), O(n²/w)."""
        heads = self._heads.tolist()
        masks = subtree_masks(heads)
        found = [False] * len(heads)
        for dep in range(1, len(heads)):
            found[dep] = bool(words_between(heads[dep], dep) & ~masks[heads[dep]])
        return np.array(found, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._heads) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._labels == other._labels and np.array_equal(self._heads, other._heads)

    def __hash__(self) -> int:
        return hash((self._heads.tobytes(), self._labels))

    def __repr__(self) -> str:
        labels = "" if self._labels is None else f", labels={list(self._labels)!r}"
        return f"Tree.from_heads({self._heads[1:].tolist()!r}{labels})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree cannot be changed: make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree cannot be changed: make a new one instead of deleting {name}")

    def __reduce__(self) -> tuple[type[Tree], tuple[list[int], tuple[str, ...] | None]]:
        # The default would set slots one by one, which an immutable object refuses.
        return type(self), (self._heads.tolist(), self._labels)


def check_heads(heads: Sequence[int], *, roots: Roots = "multi") -> None:
    """Raise `InputError` unless `heads` (n+1 entries, `heads[0] == -1`) is a tree; O(n)."""
    if roots not in ("single", "multi"):
        raise InputError(f"roots: expected 'single' or 'multi', got {roots!r}")
    n = len(heads) - 1
    for word in range(1, n + 1):
        if not 0 <= heads[word] <= n:
            raise InputError(f"word {word}: expected a head from 0 to {n}, got {heads[word]}")
        if heads[word] == word:
            raise InputError(f"word {word}: expected another word or 0 as head, got the word itself")
    cycle = find_cycle(heads)
    if cycle:
        path = " -> ".join(map(str, [*cycle, cycle[0]]))
        raise InputError(f"heads: expected a tree, got a cycle (each word's head follows it): {path}")
    if roots == "single":
        root_words = [word for word in range(1, n + 1) if heads[word] == 0]
        if len(root_words) != 1:
            shown = ", ".join(map(str, root_words)) or "none"
            raise InputError(f"heads: expected exactly one word with head 0, got {len(root_words)} ({shown})")


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of one cycle, each followed by its head, or an empty list; O(n)."""
    # 0 = not seen; a word carries the number of the walk that first reached it.
    walk_of = [0] * len(heads)
    for start in range(1, len(heads)):
        node = start
        while node > 0 and walk_of[node] == 0:
            walk_of[node] = start
            node = heads[node]
        if node > 0 and walk_of[node] == start:
            cycle = [node]
            while heads[cycle[-1]] != node:
                cycle.append(heads[cycle[-1]])
            return cycle
    return []


def top_down(heads: Sequence[int]) -> list[int]:
    """All nodes, 0 first, every head before its dependents, breadth first, left to right; O(n)."""
    children: list[list[int]] = [[] for _ in heads]
    for dep in range(1, len(heads)):
        children[heads[dep]].append(dep)
    order = [0]
    for node in order:
        order.extend(children[node])
    return order


def subtree_masks(heads: Sequence[int]) -> list[int]:
    """One bit set per node: bit i is set when node i is the node itself or below it; O(n²/w)."""
    masks = [1 << node for node in range(len(heads))]
    for node in reversed(top_down(heads)[1:]):
        masks[heads[node]] |= masks[node]
    return masks


def words_between(one: int, other: int) -> int:
    """Bit set of the words strictly between two nodes."""
    low, high = min(one, other), max(one, other)
    return (1 << high) - (1 << (low + 1))


def _as_heads(heads: npt.ArrayLike, roots: Roots) -> Ints:
    try:
        given = np.asarray(heads)
    except ValueError as error:
        raise InputError(f"heads: expected a flat list of whole numbers ({error})") from None
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            f"heads: expected whole numbers of shape (n+1,), got shape {given.shape} of type {given.dtype}"
        )
    if len(given) == 0 or given[0] != -1:
        raise InputError(
            f"heads: expected -1 at node 0, got {given[:1].tolist()}; "
            "a list with one head per word goes through Tree.from_heads"
        )
    # Checked before the conversion, which would wrap numbers that int32 cannot hold.
    check_heads(given.tolist(), roots=roots)
    array = np.array(given, dtype=np.int32)
    array.flags.writeable = False
    return array


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
