"""Passive-aggressive learning: PA, PA-I and PA-II, on the most violated margin [crammer-2006].

For each example, the tree with the greatest score plus cost, and a step along the difference d of features
that is just long enough (PA), capped (PA-I) or damped (PA-II):

    ŷ = argmax_y L(y*, y) + <w, f(x, y)>        hinge = L(y*, ŷ) - <w, d>
    w ← w + τ d

    PA      τ = hinge / |d|²
    PA-I    τ = min(C, hinge / |d|²)
    PA-II   τ = hinge / (|d|² + 1/(2C))

The margin is the cost itself, as in large-margin parsing, not its square root. The result is the average of w
over all steps. Time per step: one cost-augmented argmax plus O(|d|).
"""

from __future__ import annotations

from dataclasses import dataclass

from arbora._core import Weights
from arbora.interfaces import Answer, Problem, Query
from arbora.learners._online import OnlineTrainer
from arbora.settings import parameter
from arbora.types import Longs

STEPS = {
    "PA": lambda hinge, norm2, C: hinge / norm2,
    "PA-I": lambda hinge, norm2, C: min(C, hinge / norm2),
    "PA-II": lambda hinge, norm2, C: hinge / (norm2 + 1.0 / (2.0 * C)),
}


@dataclass(frozen=True, kw_only=True)
class PassiveAggressive(OnlineTrainer):
    """Passive-aggressive: a step just long enough for the worst tree's margin, capped or damped by C.

    Variants PA, PA-I and PA-II, on the tree of greatest score plus cost [crammer-2006].
    """

    name = "passive_aggressive"
    paper = "crammer-2006"
    needs = frozenset({Query.COST_AUGMENTED})

    variant: str = parameter("PA-I", "the rule for the step", choices=tuple(STEPS))
    C: float = parameter(1.0, "the cap of PA-I, the damping of PA-II; PA has neither", above=0.0)

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        answer = problem.answer(int(chosen[0]), w, Query.COST_AUGMENTED)
        hinge, norm2 = answer.hinge, answer.difference.norm2
        # No step can help if the trees have the same features.
        tau = STEPS[self.variant](hinge, norm2, self.C) if hinge > 0 and norm2 > 0 else 0.0
        if tau > 0:
            w.add(answer.difference, tau)
        w.tick()
        return answer, tau > 0
