"""Sampling trees without replacement, for any family that answers `sample` and `log_partition`.

First by rejection: independent draws, repeats skipped, give exactly the wanted law. Where the trees drawn
so far hold nearly all the probability, rejection would never end; then the set of trees not yet drawn is
split into disjoint subsets whose masses are computed, and one of them is drawn from. The subsets are the
places where a tree leaves the drawn ones: with the words in order, "the first j-1 words have these heads,
word j has a head that no drawn tree has there". No probability is ever computed as one minus another, so
the last tree out of a million is drawn as exactly as the first.

Time per tree: one draw, or, in the second mode, up to n partition functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from arbora.errors import NoTreeError
from arbora.inference._parts import Parts
from arbora.types import Doubles

Choice = tuple[int, int]  # (head, label), label 0 where unlabelled
Tree = tuple[Choice, ...]


@dataclass
class _Branching:
    """Trees that start as a drawn one does and then choose otherwise."""

    taken: set[Choice] = field(default_factory=set)
    log_mass: float | None = None  # None: not computed since `taken` last grew


class DistinctTrees:
    """Draws distinct trees of one sentence; `sample_one` and `log_mass` are asked of native code."""

    def __init__(
        self,
        parts: Parts,
        random: np.random.Generator,
        sample: Callable[[Parts, int, int], list[Tree]],
        log_partition: Callable[[Parts], float],
    ) -> None:
        self._parts = parts
        self._random = random
        self._sample = sample
        self._log_partition = log_partition
        self._drawn: list[Tree] = []
        self._seen: set[Tree] = set()
        self._branchings: dict[Tree, _Branching] = {}

    def draw(self, k: int) -> list[Tree]:
        self._reject(k)
        while len(self._drawn) < k:
            tree = self._draw_unseen()
            if tree is None:
                break
            self._add(tree)
        return self._drawn

    def _seed(self) -> int:
        return int(self._random.integers(2**63))

    def _reject(self, k: int) -> None:
        """Skips repeats; gives up when they become the rule."""
        misses = 0
        while len(self._drawn) < k and misses < 32:
            for tree in self._sample(self._parts, max(8, k - len(self._drawn)), self._seed()):
                if len(self._drawn) == k:
                    return
                if tree in self._seen:
                    misses += 1
                else:
                    self._drawn.append(tree)
                    self._seen.add(tree)

    def _add(self, tree: Tree) -> None:
        self._drawn.append(tree)
        self._seen.add(tree)
        self._note(tree)

    def _note(self, tree: Tree) -> None:
        for j, choice in enumerate(tree):
            branching = self._branchings.setdefault(tree[:j], _Branching())
            if choice not in branching.taken:
                branching.taken.add(choice)
                branching.log_mass = None

    def _draw_unseen(self) -> Tree | None:
        if not self._branchings:
            for tree in self._drawn:
                self._note(tree)
        prefixes = list(self._branchings)
        masses = np.array([self._log_mass(prefix) for prefix in prefixes])
        if np.all(masses == -np.inf):
            return None
        weights = np.exp(masses - masses.max())
        chosen = prefixes[int(self._random.choice(len(prefixes), p=weights / weights.sum()))]
        return self._sample(self._restricted(chosen), 1, self._seed())[0]

    def _log_mass(self, prefix: Tree) -> float:
        branching = self._branchings[prefix]
        if branching.log_mass is None:
            try:
                branching.log_mass = self._log_partition(self._restricted(prefix))
            except NoTreeError:
                branching.log_mass = -np.inf
        return branching.log_mass

    def _restricted(self, prefix: Tree) -> Parts:
        """Scores under which exactly the trees of this branching are allowed."""
        arcs: Doubles = self._parts.arcs[0].copy()
        labelled = arcs.ndim == 3
        for dep, (head, label) in enumerate(prefix, start=1):
            place = (head, dep, label) if labelled else (head, dep)
            kept = arcs[place]
            arcs[:, dep] = -np.inf
            arcs[place] = kept
        word = len(prefix) + 1
        for head, label in self._branchings[prefix].taken:
            arcs[(head, word, label) if labelled else (head, word)] = -np.inf
        return replace(self._parts, arcs=[arcs])
