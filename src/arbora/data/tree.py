"""A dependency tree as a small immutable value: heads, and labels if there are any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from arbora.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Tree:
    """Heads of n words and, if given, their labels.

    `heads` is a read-only int32 array of shape (n+1,) with heads[0] == -1 and 0 for the root;
    `labels[i - 1]` is the label of word i. Construction checks that it is a tree, in O(n).
    """

    __slots__ = ("heads", "labels")
    heads: NDArray[np.int32]
    labels: tuple[str, ...] | None

    def __init__(
        self,
        heads: Sequence[int] | NDArray[np.int32],
        labels: Sequence[str] | None = None,
        *,
        roots: Literal["multi", "single"] = "multi",
    ) -> None:
        array = np.array(heads, dtype=np.int32)
        if array.ndim != 1 or array.size == 0 or array[0] != -1:
            raise InputError("heads: expected a flat array that starts with -1 for the root node")
        _check(array.tolist(), roots)
        array.setflags(write=False)
        object.__setattr__(self, "heads", array)
        object.__setattr__(self, "labels", None if labels is None else tuple(labels))
        if labels is not None and len(labels) != array.size - 1:
            raise InputError(f"labels: expected {array.size - 1}, got {len(labels)}")

    @classmethod
    def from_heads(
        cls,
        heads: Sequence[int],
        labels: Sequence[str] | None = None,
        *,
        roots: Literal["multi", "single"] = "multi",
    ) -> Tree:
        """Tree from plain lists with one entry per word; head 0 is the root."""
        return cls([-1, *heads], labels, roots=roots)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Tree is immutable: cannot set {name}")

    def __len__(self) -> int:
        return int(self.heads.size) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.heads, other.heads)

    def __hash__(self) -> int:
        return hash((self.heads.tobytes(), self.labels))

    def __repr__(self) -> str:
        return f"Tree.from_heads({self.heads[1:].tolist()}, labels={self.labels})"

    @property
    def roots(self) -> tuple[int, ...]:
        """Words whose head is the root node."""
        return tuple(np.flatnonzero(self.heads == 0).tolist())

    def children(self, head: int) -> tuple[int, ...]:
        """Words whose head is `head`, from left to right."""
        return tuple(np.flatnonzero(self.heads == head).tolist())

    @property
    def depth(self) -> int:
        """Arcs from the root node to the deepest word."""
        depths = [0] * self.heads.size
        for word in range(1, len(depths)):
            node, steps = word, 0
            while node > 0:
                node, steps = int(self.heads[node]), steps + 1
            depths[word] = steps
        return max(depths)

    def nonprojective_arcs(self) -> NDArray[np.bool_]:
        """Shape (n+1,): True at d if a word between d and its head is not below that head."""
        crossed = np.zeros(self.heads.size, dtype=np.bool_)
        for dep in range(1, crossed.size):
            head = int(self.heads[dep])
            between = range(min(head, dep) + 1, max(head, dep))
            crossed[dep] = not all(self._dominates(head, word) for word in between)
        return crossed

    def is_projective(self) -> bool:
        """Whether no arc is non-projective."""
        return not self.nonprojective_arcs().any()

    def _dominates(self, head: int, word: int) -> bool:
        while word not in (head, 0):
            word = int(self.heads[word])
        return word == head


def _check(heads: list[int], roots: str) -> None:
    n = len(heads) - 1
    for dep in range(1, n + 1):
        if not 0 <= heads[dep] <= n or heads[dep] == dep:
            raise InputError(f"head of word {dep}: expected another of 0..{n}, got {heads[dep]}")
    seen = [0] * (n + 1)
    for start in range(1, n + 1):
        word = start
        while word > 0 and seen[word] == 0:
            seen[word] = start
            word = heads[word]
        if word > 0 and seen[word] == start:
            raise InputError(f"heads: expected a tree, got a cycle through word {word}")
    if roots == "single" and heads.count(0) > 1:
        raise InputError(f"heads: expected one root, got {heads.count(0)}")
