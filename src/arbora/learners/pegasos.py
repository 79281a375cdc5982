"""Pegasos-DP: stochastic subgradient steps on the structural SVM's objective [lee-2010, shalev-shwartz-2007].

    f(w) = λ/2 |w|² + 1/m Σ_i max_y { L(y_i, y) - <w, f(x_i, y_i) - f(x_i, y)> }

Algorithm 2 of [lee-2010], from w_1 = 0:

    4:  choose A_t, k of the m examples
    5:  ŷ_i = argmax_y L(y_i, y) + <w_t, f(x_i, y)>            for i in A_t
    6:  η_t = 1 / (λ t)
    7:  w_{t+½} = (1 - η_t λ) w_t + η_t/k Σ_{i in A_t} f(x_i, y_i) - f(x_i, ŷ_i)
    8:  w_{t+1} = min{1, (1/√λ) / |w_{t+½}|} w_{t+½}
    9:  v = v + w_{t+1}

A_t is drawn without replacement: each epoch cuts a new permutation of all examples into sets of k, the last
of which may be smaller. Both the last w and the average v/T over T steps are kept. A step costs k
cost-augmented argmaxes and what their differences touch. With λ = 1/C, C·f is the objective of `one_slack`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from arbora._core import Weights
from arbora.interfaces import Answer, Problem, Query
from arbora.learners._online import OnlineTrainer, Sharing
from arbora.settings import parameter
from arbora.types import Longs


@dataclass(frozen=True, kw_only=True)
class Pegasos(OnlineTrainer):
    """Pegasos-DP: subgradient steps of length 1/(λt) on a few examples, then onto the ball of radius 1/√λ.

    Converges to the structural SVM with C = 1/λ where that lies within the ball, as with losses of at most 1;
    a step costs what it touches [lee-2010].
    """

    name = "pegasos"
    paper = "lee-2010"
    sharing: ClassVar[Sharing] = "sums"
    needs = frozenset({Query.COST_AUGMENTED})

    lam: float = parameter(0.03, "λ, the weight of |w|²/2 against the mean hinge; 1/C", above=0.0)
    k: int = parameter(10, "examples per step", least=1)

    @property
    def batch(self) -> int:
        return self.k

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        answer = problem.total(chosen, w, Query.COST_AUGMENTED)
        eta = 1.0 / (self.lam * t)
        w.multiply(1.0 - 1.0 / t)  # 1 - η λ, which is 0 at t = 1 without rounding
        w.add(answer.difference, eta / len(chosen))
        radius, norm = 1.0 / math.sqrt(self.lam), math.sqrt(w.norm2())
        w.multiply(min(1.0, radius / norm) if norm > 0 else 1.0)
        w.tick()
        return answer, len(answer.difference) > 0
