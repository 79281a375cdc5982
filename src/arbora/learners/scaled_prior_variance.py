"""Scaled prior variance, SPV: the most probable gold tree under a prior that knows costs [johansson-2007].

For each example, the change of the weights that makes the gold tree y* = y_0 most probable against the k best
trees y_1 ... y_k, which have the costs c_j, score below it by the margins m_j and differ from it by
d_j = f(x, y*) - f(x, y_j). A prior keeps the change short, less so for trees that should be far away:

    max_α  log P(y*) - Σ s_j α_j²                    Gauss; or - Σ s_j |α_j|, Laplace
    P(y_j) ∝ exp -(m_j + Σ_i α_i <d_i, d_j>)         1 for y*

    s_j = γ / c_j                                    scale = cost (C-SPV)
    s_j = γ / (max(0, -m_j) + c_j)                   scale = loss (L-SPV)

    w ← w + Σ α_j d_j

γ weighs the prior: the larger, the shorter the steps. A good value depends on the norm of the features. The
result is the average of w over all steps.

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
class ScaledPriorVariance(CandidateTrainer):
    """Scaled prior variance: makes the gold tree most probable, under a prior scaled by costs or losses.

    Variants C-SPV and L-SPV (`scale`), each with a Gaussian or a Laplacian prior [johansson-2007].
    """

    name = "spv"
    paper = "johansson-2007"

    scale: str = parameter("cost", "what scales the prior's variance", choices=("cost", "loss"))
    prior: str = parameter("gauss", "keeps steps short", choices=("gauss", "laplace"))
    gamma: float = parameter(1.0, "γ, the weight of the prior", above=0.0)

    def multipliers(self, wrong: Candidates) -> Doubles:
        costs, margins = wrong.losses, wrong.margins
        variances = costs if self.scale == "cost" else costs + np.maximum(0.0, -margins)
        scales = self.gamma / variances
        return logistic_multipliers(wrong.gram(), margins, costs, scales, "likelihood", self.prior)
