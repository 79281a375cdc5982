"""MIRA, the margin-infused relaxed algorithm, on the k best trees [crammer-2006, mcdonald-2005].

For each example, the least change of the weights after which the right tree y* beats each of the k trees that
score best now by the cost of that tree:

    min ½ |w' - w|²   s.t.   <w', f(x, y*) - f(x, y)>  ≥  L(y*, y)    for y in best_k(x; w)

The change is Σ α_j d_j, with d_j = f(x, y*) - f(x, y_j) and multipliers α ≥ 0 from a quadratic program in k
variables. With one tree it is a closed formula. The sum of the multipliers is at most C, which bounds what
one example can do where the constraints contradict each other; C = inf makes them hard, as in the original.
The average of w over all steps is what is used [lee-2010, Algorithm 1].

Time per step: the k best trees, k²/2 inner products of differences, the program in O(k³).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora._core import SparseVector, Weights, nearest_multipliers
from arbora.interfaces import Answer, Problem, Query
from arbora.learners._online import OnlineTrainer
from arbora.learners._parameters import parameter


@dataclass(frozen=True, kw_only=True)
class Mira(OnlineTrainer):
    """MIRA: the least change after which the right tree beats the k best ones by their cost.

    With k = 1 only the best tree is asked for, which every family answers [crammer-2006, mcdonald-2005].
    """

    name: ClassVar[str] = "mira"
    paper: ClassVar[str] = "mcdonald-2005"
    needs_more: ClassVar[str] = "kbest where k > 1"

    k: int = parameter(1, "how many of the best trees become constraints", least=1)
    C: float = parameter(1.0, "the most that one example's multipliers sum to; inf: no limit", above=0.0)

    @property
    def needs(self) -> frozenset[Query]:
        """The best tree, or the k best."""
        return frozenset({Query.ARGMAX if self.k == 1 else Query.KBEST})

    def step(self, problem: Problem, chosen: NDArray[np.int64], w: Weights, t: int) -> tuple[Answer, bool]:
        """One example."""
        i = int(chosen[0])
        best = [problem.answer(i, w, Query.ARGMAX)] if self.k == 1 else problem.candidates(i, w, self.k)
        # A tree without cost asks for nothing that could be violated: it is the right one.
        wrong = [answer for answer in best if answer.loss > 0]
        multipliers = least_change(
            [answer.difference for answer in wrong], [answer.loss - answer.margin for answer in wrong], self.C
        )
        for answer, multiplier in zip(wrong, multipliers, strict=True):
            if multiplier > 0:
                w.add(answer.difference, float(multiplier))
        w.tick()
        return best[0], bool((multipliers > 0).any())


def least_change(
    differences: Sequence[SparseVector], bounds: Sequence[float], cap: float
) -> NDArray[np.float64]:
    """Multipliers α of the shortest Δ = Σ α_j d_j with <Δ, d_i> >= bounds[i] for all i; Σ α <= cap."""
    if not any(bound > 0 for bound in bounds):
        return np.zeros(len(bounds))
    count = len(differences)
    gram = np.empty((count, count))
    for i, left in enumerate(differences):
        gram[i, i] = left.norm2
        for j in range(i):
            gram[i, j] = gram[j, i] = left.dot(differences[j])
    return nearest_multipliers(gram, np.asarray(bounds, dtype=np.float64), cap)
