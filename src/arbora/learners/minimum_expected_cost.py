"""Minimum expected cost, MEC: lower the expected cost of a softmax over trees [johansson-2007].

For each example, the change of the weights after which a tree drawn from the gold tree and the k best trees
has the least expected cost; symbols, result and time per step as in `scaled_prior_variance`:

    min_α  log(1 + Σ c_j P(y_j)) + γ Σ α_j²          Gauss; or + γ Σ |α_j|, Laplace

If all costs are 1, the expected cost is 1 - P(y*), much as in scaled prior variance. But MEC gives up sooner:
if a wrong tree is far ahead, no small change lowers the expectation, and w hardly moves.
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
