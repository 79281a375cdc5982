"""Sampling trees without replacement, for any family that answers `sample` and `log_partition`.

First by rejection: independent draws without repeats have exactly the wanted distribution. Once the drawn
trees hold nearly all the probability, rejection would not end. Then the set of trees not yet drawn is split
into disjoint subsets, and one is drawn from by its mass. The subsets are the places where a tree leaves the
drawn ones: "the first j-1 words have these heads, word j has a head that no drawn tree has there". No
probability is computed as one minus another, so the last of a million trees is drawn as exactly as the first.

Time per tree: one draw, or, in the second mode, up to n partition functions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arbora.errors import NoTreeError
from arbora.inference._parts import Parts
from arbora.interfaces import Best
from arbora.types import Doubles

Choice = tuple[int, int]  # (head, label), label 0 if unlabelled
Tree = tuple[Choice, ...]


def draw_distinct(one: Parts, k: int, seed: int, stream: int) -> list[Best]:
    """Draw up to `k` distinct trees of one sentence, in the order drawn."""
    trees = _DistinctTrees(one, np.random.default_rng([seed, stream])).draw(k)
    return [_best_of(one, tree) for tree in trees]


def _best_of(one: Parts, tree: Tree) -> Best:
    heads = np.array([-1, *(head for head, _ in tree)], dtype=np.int32)
    labels = np.array([-1, *(label for _, label in tree)], dtype=np.int32) if one.labelled else None
    return Best(heads, float(np.sum(one.own_scores(heads, labels)[1:])), labels)


def _choices(best: Best) -> Tree:
    labels = [0] * len(best.heads) if best.labels is None else best.labels.tolist()
    return tuple(zip(best.heads.tolist()[1:], labels[1:], strict=True))


class _DistinctTrees:
    def __init__(self, parts: Parts, random: np.random.Generator) -> None:
        self._parts = parts
        self._random = random
        self._drawn: dict[Tree, None] = {}  # an ordered set
        # Branchings: the trees that share a drawn tree's first words and then differ. By these words, the
        # choices that drawn trees have for the next one, and the mass of the trees with other choices.
        self._taken: dict[Tree, set[Choice]] = {}
        self._log_masses: dict[Tree, float] = {}

    def draw(self, k: int) -> list[Tree]:
        self._reject(k)
        while len(self._drawn) < k and (tree := self._draw_unseen()) is not None:
            self._drawn[tree] = None
            self._note(tree)
        return list(self._drawn)

    def _sample(self, parts: Parts, k: int) -> list[Tree]:
        seed = int(self._random.integers(2**63))
        return [_choices(best) for best in parts.sample(k, seed)[0]]

    def _reject(self, k: int) -> None:
        """Skip repeats; give up when most draws repeat."""
        misses = 0
        while len(self._drawn) < k and misses < 32:
            for tree in self._sample(self._parts, max(8, k - len(self._drawn))):
                if len(self._drawn) == k:
                    return
                misses += tree in self._drawn
                self._drawn[tree] = None

    def _note(self, tree: Tree) -> None:
        for j, choice in enumerate(tree):
            taken = self._taken.setdefault(tree[:j], set())
            if choice not in taken:
                taken.add(choice)
                self._log_masses.pop(tree[:j], None)

    def _draw_unseen(self) -> Tree | None:
        if not self._taken:
            for tree in self._drawn:
                self._note(tree)
        prefixes = list(self._taken)
        masses = np.array([self._log_mass(prefix) for prefix in prefixes])
        if np.all(masses == -np.inf):
            return None
        weights = np.exp(masses - masses.max())
        chosen = prefixes[int(self._random.choice(len(prefixes), p=weights / weights.sum()))]
        return self._sample(self._restricted(chosen), 1)[0]

    def _log_mass(self, prefix: Tree) -> float:
        if prefix not in self._log_masses:
            try:
                self._log_masses[prefix] = float(self._restricted(prefix).log_partition()[0])
            except NoTreeError:
                self._log_masses[prefix] = -np.inf
        return self._log_masses[prefix]

    def _restricted(self, prefix: Tree) -> Parts:
        """Scores that allow exactly the trees of this branching."""
        arcs: Doubles = self._parts.arcs[0].copy()
        labelled = arcs.ndim == 3
        for dep, (head, label) in enumerate(prefix, start=1):
            place = (head, dep, label) if labelled else (head, dep)
            kept = arcs[place]
            arcs[:, dep] = -np.inf
            arcs[place] = kept
        word = len(prefix) + 1
        for head, label in self._taken[prefix]:
            arcs[(head, word, label) if labelled else (head, word)] = -np.inf
        return replace(self._parts, arcs=[arcs])
