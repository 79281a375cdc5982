"""Exponentiated gradient: max-margin or log-linear training by dual variables [bartlett-2004, koo-2007].

The dual of both objectives has a distribution α_i over the trees of each example. It is stored as scores θ_i
of arcs, α_i(y) ∝ exp Σ_{a in y} θ_i,a, with marginals μ_i. With e_i,a = 1 for wrong arcs, 0 for right ones:

                  primal                               dual
    margin        C Σ_i hinge_i      + ½ |w|²          D = C Σ_i <e_i, μ_i> - ½ |w|²
    log_linear    C Σ_i -log P(y_i)  + ½ |w|²          D = C Σ_i H(α_i)     - ½ |w|²      [globerson-2007]

    w = C Σ_i Σ_a (gold_i,a - μ_i,a) f(x_i, a)

Figure 2 of [koo-2007], from θ_i,a = β for right arcs and 0 for wrong ones; s_i,a = <w, f(x_i, a)>:

    for each example i:
        θ' = θ_i + η C (e_i + s_i)                     log_linear: θ' = (1 - ηC) θ_i + ηC s_i, with ηC ≤ 1
        w  ← w + C Σ_a (μ_i,a - μ'_i,a) f(x_i, a)
        θ_i ← θ'

Once μ' is known, so is the gain of a step:

    D' - D = C <e_i + s_i, μ' - μ_i> - ½ |w' - w|²     log_linear: with H' - H in place of <e_i, μ' - μ_i>

So each example has its own η, as in [collins-2008]: a step that would lower the dual is tried again with half
the η; after a step η grows by a quarter, up to ηC = 100, which is enough to put all of α_i on one tree. If
the dual does not rise over a whole pass, which only rounding can cause, every η is halved.

`one_slack` with C·m has the same optimum as C over m examples. Arcs must be the only parts. Memory: one
float64 per arc. A step takes two or more sums over trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import Epoch, Problem, Query
from arbora.learners._online import Run, State, Stored, Trainer, shuffled
from arbora.settings import parameter
from arbora.types import Doubles, Floats

GROWTH = 1.25
LONGEST = 100.0
"""The limit of η·C: if C is small, no step is too long for the dual, and θ would grow without bound."""
TRIES = 30


class ExponentiatedGradientRun(Run):
    """The dual variables, and the weights they give."""

    kept = ("weights", "rates", "rate", "dual", "converged")

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem)
        self.weights = Weights(problem.size, averaged=False)
        self.theta: list[Doubles] = []
        self.rates = np.zeros(len(problem))  # η·C of each example; 0: that of the step before
        self.rate = float(learner.eta)
        self.dual = -np.inf

    def pass_over(self, number: int) -> Epoch:
        learner, updates = self.learner, 0
        if not self.theta:
            self._start()
        value = 0.0  # Σ <e_i, μ_i> or Σ H(α_i); only an example's own step changes its μ_i
        for i in shuffled(len(self.everyone), learner.seed, number):
            gained, taken = self._step(int(i))
            value += gained
            updates += taken
        dual = learner.C * value - 0.5 * self.weights.norm2()
        if dual <= self.dual:
            self.rates *= 0.5
        self.dual = dual
        loss, hinge = self._losses()
        primal = learner.C * (hinge if learner.objective == "margin" else loss) + 0.5 * self.weights.norm2()
        gap = primal - dual
        self.converged = gap <= learner.tolerance * primal
        eta = float(np.median(self.rates)) / learner.C
        measures = {"primal": primal, "dual": dual, "gap": gap, "eta": eta}
        return Epoch(number, loss, hinge, updates, measures=measures)

    def _start(self) -> None:
        """Initialize θ, and w, which follows from it."""
        for i in range(len(self.everyone)):
            gold = self.problem.arc_gold(i)
            self.theta.append(self.learner.beta * gold)
            _, mu = self.problem.arc_marginals(i, self.theta[i])
            self.weights.add(self.problem.arc_features(i, gold - mu), self.learner.C)

    def _step(self, i: int) -> tuple[float, bool]:
        """Step on one example, shortened until the dual rises; return <e, μ> or H, and whether it moved."""
        C, problem, theta = self.learner.C, self.problem, self.theta[i]
        scores = problem.arc_scores(i, self.weights)
        costs = 1.0 - problem.arc_gold(i)
        log_partition, mu = problem.arc_marginals(i, theta)
        value = self._value(theta, costs, log_partition, mu)
        self.rate = self.rates[i] or self.rate
        for _ in range(TRIES):
            tried = self._moved(theta, scores, costs)
            log_partition, mu_tried = problem.arc_marginals(i, tried)
            value_tried = self._value(tried, costs, log_partition, mu_tried)
            difference = problem.arc_features(i, mu - mu_tried)
            rise = value_tried - value + float(scores @ (mu_tried - mu)) - 0.5 * C * difference.norm2
            if rise >= 0.0:
                self.theta[i] = tried
                self.weights.add(difference, C)
                self.rate = min(GROWTH * self.rate, LONGEST)
                self.rates[i] = self.rate
                return value_tried, len(difference) > 0
            self.rate *= 0.5
        self.rates[i] = self.rate
        return value, False

    def _moved(self, theta: Doubles, scores: Doubles, costs: Doubles) -> Doubles:
        if self.learner.objective == "margin":
            return theta + self.rate * (costs + scores)
        self.rate = min(self.rate, 1.0)
        return theta + self.rate * (scores - theta)

    def _value(self, theta: Doubles, costs: Doubles, log_partition: float, mu: Doubles) -> float:
        """The example's term of the dual, divided by C: the expected cost, or the entropy."""
        if self.learner.objective == "margin":
            return float(costs @ mu)
        return log_partition - float(theta @ mu)

    def _losses(self) -> tuple[float, float]:
        """The sums of losses and of hinges at w."""
        if self.learner.objective == "margin":
            worst = self.problem.total(self.everyone, self.weights, Query.COST_AUGMENTED)
            return worst.loss, worst.hinge
        return self.problem.gradient(self.everyone, self.weights, Query.MARGINALS)[0], 0.0

    def last(self) -> Floats:
        return self.weights.values()

    def state(self) -> State:
        ends = np.cumsum([len(each) for each in self.theta], dtype=np.int64)
        own = {"theta": np.concatenate(self.theta), "ends": ends}
        return {**own, **super().state()}

    def restore(self, state: Stored) -> None:
        super().restore(state)
        ends = state["ends"]
        if len(ends) != len(self.everyone) or ends[-1] != len(state["theta"]):
            raise InputError(f"resume: the state has θ of {len(ends)} examples, not of {len(self.everyone)}")
        self.theta = [np.array(each, dtype=np.float64) for each in np.split(state["theta"], ends[:-1])]


@dataclass(frozen=True, kw_only=True)
class ExponentiatedGradient(Trainer):
    """Exponentiated gradient: max-margin or log-linear training by a distribution over trees per example.

    First order only. Reports primal, dual and gap after each pass, and ends when the gap is closed
    [bartlett-2004, globerson-2007].
    """

    name = "exponentiated_gradient"
    paper = "bartlett-2004"
    run_kind = ExponentiatedGradientRun

    seed: int = parameter(0, "random seed of the order of examples", least=0)
    objective: str = parameter("margin", "what is minimized", choices=("margin", "log_linear"))
    C: float = parameter(1.0, "the weight of the sum of losses against |w|²/2", above=0.0)
    eta: float = parameter(1.0, "η·C of the first step; later ones adapt", above=0.0)
    beta: float = parameter(9.0, "β, how much the right arcs are ahead at the start", least=0.0)
    tolerance: float = parameter(1e-3, "ends when the gap is at most this share of the primal", least=0.0)

    @property
    def needs(self) -> frozenset[Query]:
        own = Query.COST_AUGMENTED if self.objective == "margin" else Query.MARGINALS
        return frozenset({Query.ARC_MARGINALS, own})
