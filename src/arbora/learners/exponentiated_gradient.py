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

If K runs share the examples, each at weights v_k = w + K Δw_k of its own, w ← w + Σ Δw_k is the mean of the
v_k. Since |Σ Δw_k|² ≤ K Σ |Δw_k|², the dual rises if each run raises C Σ_i <e_i, μ_i> - |v_k|²/(2K) over its
own examples [ma-2015]. So a run steps as above, with K f in place of f where weights change, and |v|²/K in
place of |v|².

`one_slack` with C·m has the same optimum as C over m examples. Arcs must be the only parts. Memory: one
float64 per arc. A step takes two or more sums over trees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from arbora._core import Weights
from arbora.errors import MOST_SEED, InputError
from arbora.interfaces import Epoch, Problem, Query
from arbora.learners._online import Run, Sharing, State, Stored, Trainer, shuffled
from arbora.settings import parameter
from arbora.types import Doubles, Floats

GROWTH = 1.25
LONGEST = 100.0
"""The limit of η·C: if C is small, no step is too long for the dual, and θ would grow without bound."""
TRIES = 30


class ExponentiatedGradientRun(Run):
    """The dual variables, and the weights they give."""

    kept = ("weights", "rates", "rate", "value", "converged")

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem)
        self.weights = Weights(problem.size, averaged=False)
        self.theta: list[Doubles] = []
        self.rates = np.zeros(len(problem))  # η·C of each example; 0: that of the step before
        self.rate = float(learner.eta)
        self.value = -np.inf  # Σ <e_i, μ_i> or Σ H(α_i)

    def pass_over(self, number: int) -> Epoch:
        epoch, self.converged = self.learner.complete(self.take_steps(number), self.problem, self.weights)
        return epoch

    def take_steps(self, number: int) -> Epoch:
        """A step on each example; `loss` is the value of their terms of the dual."""
        if not self.theta:
            self._start()
        before, self.value, updates = self._dual(), 0.0, 0
        for i in shuffled(len(self.everyone), self.learner.seed, number):
            value, taken = self._step(int(i))  # only an example's own step changes its μ_i
            self.value += value
            updates += taken
        if self._dual() <= before:
            self.rates *= 0.5
        eta = float(np.median(self.rates)) / self.learner.C
        return Epoch(number, self.value, 0.0, updates, measures={"eta": eta})

    def _dual(self) -> float:
        """The dual; of a shard, what it adds."""
        return float(self.learner.C * self.value - 0.5 * self.weights.norm2() / self.shards)

    def _start(self) -> None:
        """Initialize θ, and w, which follows from it."""
        for i in range(len(self.everyone)):
            gold = self.problem.arc_gold(i)
            self.theta.append(self.learner.beta * gold)
            _, mu = self.problem.arc_marginals(i, self.theta[i])
            self.weights.add(self.problem.arc_features(i, gold - mu), self.learner.C * self.shards)

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
            bend = 0.5 * C * self.shards * difference.norm2
            rise = value_tried - value + float(scores @ (mu_tried - mu)) - bend
            if rise >= 0.0:
                self.theta[i] = tried
                self.weights.add(difference, C * self.shards)
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
    sharing: ClassVar[Sharing] = "dual"

    seed: int = parameter(0, "random seed of the order of examples", least=0, most=MOST_SEED)
    objective: str = parameter("margin", "what is minimized", choices=("margin", "log_linear"))
    C: float = parameter(1.0, "the weight of the sum of losses against |w|²/2", above=0.0)
    eta: float = parameter(1.0, "η·C of the first step; later ones adapt", above=0.0)
    beta: float = parameter(9.0, "β, how much the right arcs are ahead at the start", least=0.0)
    tolerance: float = parameter(1e-3, "ends when the gap is at most this share of the primal", least=0.0)

    @property
    def needs(self) -> frozenset[Query]:
        own = Query.COST_AUGMENTED if self.objective == "margin" else Query.MARGINALS
        return frozenset({Query.ARC_MARGINALS, own})

    def complete(self, epoch: Epoch, problem: Problem, w: Weights) -> tuple[Epoch, bool]:
        """The gap between the primal at w and the dual."""
        everyone, half = np.arange(len(problem), dtype=np.int64), 0.5 * w.norm2()
        if self.objective == "margin":
            worst = problem.total(everyone, w, Query.COST_AUGMENTED)
            loss, hinge = worst.loss, worst.hinge
            primal = self.C * hinge + half
        else:
            loss, hinge = problem.gradient(everyone, w, Query.MARGINALS)[0], 0.0
            primal = self.C * loss + half
        dual = self.C * epoch.loss - half
        gap = primal - dual
        measures = {"primal": primal, "dual": dual, "gap": gap, **epoch.measures}
        return replace(epoch, loss=loss, hinge=hinge, measures=measures), gap <= self.tolerance * primal
