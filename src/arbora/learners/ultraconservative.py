"""The additive ultraconservative perceptron, AU [crammer-2003].

For each example, the trees that score at least as well as the gold tree are its error set; the gold tree's
features are added, and those of the error set are subtracted in equal shares:

    E = {y in best_k(x; w): y ≠ y*, <w, f(x, y)> ≥ <w, f(x, y*)>}
    w ← w + 1/|E| Σ_{y in E} f(x, y*) - f(x, y)

Trees outside E do not change the weights: that is what makes it ultraconservative. Costs are ignored. With
k = 1 it is the perceptron. The result is the average of w over all steps.

Time per step: the k best trees plus the size of their differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arbora.interfaces import Candidates
from arbora.learners._candidates import CandidateTrainer
from arbora.types import Doubles


@dataclass(frozen=True, kw_only=True)
class Ultraconservative(CandidateTrainer):
    """Additive ultraconservative perceptron: away from all trees that beat the gold tree, in equal shares.

    Ignores the costs of wrong trees [crammer-2003].
    """

    name = "au"
    paper = "crammer-2003"

    def multipliers(self, wrong: Candidates) -> Doubles:
        errors = (wrong.margins <= 0).astype(np.float64)
        return errors / max(1.0, float(errors.sum()))
