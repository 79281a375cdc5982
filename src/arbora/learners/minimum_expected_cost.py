"""Minimum expected cost, MEC: lower the expected cost of a softmax over trees [johansson-2007].

For each example, the change of the weights after which a tree drawn from the gold tree y* = y_0 and the k
best trees y_1 ... y_k has the least expected cost; c_j are their costs, m_j the margins by which they score
below y*, and d_j = f(x, y*) - f(x, y_j):

    min_α  log(1 + Σ c_j P(y_j)) + γ Σ α_j²          Gauss; or + γ Σ |α_j|, Laplace
    P(y_j) ∝ exp -(m_j + Σ_i α_i <d_i, d_j>)         1 for y*

    w ← w + Σ α_j d_j

If all costs are 1, the expected cost is 1 - P(y*), much as in scaled prior variance. But MEC gives up sooner:
if a wrong tree is far ahead, no small change lowers the expectation, and w hardly moves. γ weighs the
regularizer; a good value depends on the norm of the features. The result is the average of w over all steps.

Time per step: the k best trees, k²/2 inner products of differences, some tens of gradient steps in O(k²).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arbora._core import logistic_multipliers
from arbora.interfaces import Candidates
from arbora.learners._candidates import CandidateTrainer
from arbora.settings import parameter
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class MinimumExpectedCost(CandidateTrainer):
    """Minimum expected cost: lowers the expected cost of a softmax over the k best trees.

    With a Gaussian or a Laplacian regularizer (`prior`) [johansson-2007].
    """

    name = "mec"
    paper = "johansson-2007"

    prior: str = parameter("gauss", "the regularizer, which keeps steps short", choices=("gauss", "laplace"))
    gamma: float = parameter(1.0, "γ, the weight of the regularizer", above=0.0)

    def multipliers(self, wrong: Candidates) -> Doubles:
        scales = np.full(len(wrong.losses), self.gamma)
        return logistic_multipliers(
            wrong.gram(), wrong.margins, wrong.losses, scales, "expected_cost", self.prior
        )
