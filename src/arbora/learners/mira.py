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

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arbora._core import nearest_multipliers
from arbora.interfaces import Candidates
from arbora.learners._candidates import CandidateTrainer
from arbora.settings import parameter
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Mira(CandidateTrainer):
    """MIRA: the least change after which the right tree beats the k best ones by their cost.

    With k = 1 only the best tree is asked for, which every family answers [crammer-2006, mcdonald-2005].
    """

    name: ClassVar[str] = "mira"
    paper: ClassVar[str] = "mcdonald-2005"
    needs_more: ClassVar[str] = "kbest where k > 1"

    k: int = parameter(1, "how many of the best trees become constraints", least=1)
    C: float = parameter(1.0, "the most that one example's multipliers sum to; inf: no limit", above=0.0)

    def multipliers(self, wrong: Candidates) -> Doubles:
        """Those of the shortest change that meets all margins; 0 where they are met already."""
        bounds = wrong.losses - wrong.margins
        return (
            nearest_multipliers(wrong.gram(), bounds, self.C) if bounds.max() > 0 else np.zeros(len(bounds))
        )
