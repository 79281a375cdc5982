"""MIRA, the margin-infused relaxed algorithm, on the k best trees [crammer-2006, mcdonald-2005].

For each example, the least change of the weights after which the gold tree y* beats each of the k trees that
score best now by the cost of that tree:

    min ½ |w' - w|²   s.t.   <w', f(x, y*) - f(x, y)>  ≥  L(y*, y)    for y in best_k(x; w)

The change is Σ α_j d_j, with d_j = f(x, y*) - f(x, y_j) and multipliers α ≥ 0 from a quadratic program in k
variables, or a closed formula for one tree. The sum of the multipliers is at most C, which bounds the effect
of an example whose constraints conflict; C = inf makes them hard, as in the original. The result is the
average of w over all steps [lee-2010, Algorithm 1].

Time per step: the k best trees, k²/2 inner products of differences, the program in O(k³).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arbora._core import nearest_multipliers
from arbora.interfaces import Candidates
from arbora.learners._candidates import CandidateTrainer
from arbora.settings import parameter
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Mira(CandidateTrainer):
    """MIRA: the least change after which the gold tree beats the k best ones by their cost.

    With k = 1 only the best tree is needed, which every family finds [crammer-2006, mcdonald-2005].
    """

    name = "mira"
    paper = "mcdonald-2005"
    needs_more = "kbest where k > 1"

    k: int = parameter(1, "how many of the best trees become constraints", least=1)
    C: float = parameter(1.0, "the most that one example's multipliers sum to; inf: no limit", above=0.0)

    def multipliers(self, wrong: Candidates) -> Doubles:
        bounds = wrong.losses - wrong.margins
        if bounds.max() <= 0:  # All margins are met.
            return np.zeros(len(bounds))
        return nearest_multipliers(wrong.gram(), bounds, self.C)
