"""Shared by learners that compare the gold tree with several others.

A step takes the k best trees y_j of an example except the gold one, gives each a multiplier α_j, and changes
the weights: w ← w + Σ α_j d_j with d_j = f(x, y*) - f(x, y_j). Each learner defines its multipliers. With
k = 1 only the best tree is needed, which every family finds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arbora._core import Weights
from arbora.interfaces import Answer, Candidates, Listing, Problem, Query
from arbora.learners._online import OnlineTrainer
from arbora.settings import parameter
from arbora.types import Doubles, Longs


@dataclass(frozen=True, kw_only=True)
class CandidateTrainer(OnlineTrainer):
    """A learner that changes the weights by a sum of differences, weighted by `multipliers`."""

    needs_more = "argmax where k = 1"

    k: int = parameter(5, "how many of the best trees are candidates", least=1)

    @property
    def needs(self) -> frozenset[Query]:
        return frozenset({Query.ARGMAX if self.k == 1 else Query.KBEST})

    @abstractmethod
    def multipliers(self, wrong: Candidates) -> Doubles:
        """α, one per candidate, of which there is at least one."""

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        candidates = wrong_candidates(problem, int(chosen[0]), w, self.k)
        changed = False
        if len(candidates.losses):
            multipliers = self.multipliers(candidates)
            changed = bool(multipliers.any())
            if changed:
                candidates.add_to(w, multipliers)
        w.tick()
        return candidates.best, changed


def wrong_candidates(problem: Problem, i: int, w: Weights, k: int) -> Candidates:
    """Those of the k best trees of example i that have a cost."""
    if k == 1:
        return ListedCandidates([problem.answer(i, w, Query.ARGMAX)])
    if isinstance(problem, Listing):
        return problem.wrong_candidates(i, w, k)
    return ListedCandidates(problem.candidates(i, w, k))


class ListedCandidates:
    """Candidates as a problem lists them: k²/2 inner products of their differences."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.best = answers[0]
        # A tree without cost is the gold tree.
        wrong = [answer for answer in answers if answer.loss > 0]
        self.losses = np.array([answer.loss for answer in wrong])
        self.margins = np.array([answer.margin for answer in wrong])
        self._differences = [answer.difference for answer in wrong]

    def gram(self) -> Doubles:
        """<d_i, d_j>."""
        count = len(self._differences)
        gram = np.empty((count, count))
        for i, left in enumerate(self._differences):
            gram[i, i] = left.norm2
            for j in range(i):
                gram[i, j] = gram[j, i] = left.dot(self._differences[j])
        return gram

    def add_to(self, w: Weights, multipliers: Doubles) -> None:
        for difference, multiplier in zip(self._differences, multipliers, strict=True):
            if multiplier != 0:
                w.add(difference, float(multiplier))
