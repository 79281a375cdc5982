"""The 1-slack structural SVM with margin rescaling, by cutting planes [joachims-2009, tsochantaridis-2004].

    min_w  ½ |w|² + C/m Σ_i ξ_i,    ξ_i = max_y { L(y_i, y) - <w, f(x_i, y_i) - f(x_i, y)> }

One slack ξ = 1/m Σ ξ_i serves all examples: for any choice of one tree per example, their mean loss b and
mean difference of features d bound it from below, ξ ≥ b - <w, d>. Each round adds the plane (d, b) of the
worst trees at the present w and solves the dual over the planes,

    max_α  Σ_j α_j b_j - ½ |Σ_j α_j d_j|²      α ≥ 0,  Σ_j α_j ≤ C            w = Σ_j α_j d_j

The dual's value never exceeds the optimum, and the objective at any w is never below it: the gap between the
lowest objective so far and the dual's value bounds the distance from the optimum. Training ends when the gap
is at most C·ε. The w with the lowest objective is the result; nothing is averaged.

With few planes, the dual's w oscillates. So the next trees are searched at the share `reach` of the way from
the best w to it [franc-2009]. reach = 1 goes all the way, as in [joachims-2009], and takes about twice as
many rounds if examples are sentences.

Planes whose multiplier was 0 for `patience` rounds are dropped, and if more than `planes` are left, the two
with the least multipliers are merged in proportion to these, which changes neither w nor the dual's value.

With C = 1/λ the objective is that of `pegasos` times C. A round costs a cost-augmented argmax per example,
`planes` inner products of planes and a quadratic program in O(planes³). If search is approximate, the hinge
may be too small, and with it objective and gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora._core import SparseVector, Weights, solve_qp
from arbora.interfaces import Epoch, Problem, Query
from arbora.learners._online import Run, State, Stored, Trainer
from arbora.settings import parameter
from arbora.types import Floats, Longs


class OneSlackRun(Run):
    """The planes, the weights they give, and the best weights so far."""

    kept = (
        *("weights", "best", "primal", "converged"),
        *(f"planes.{name}" for name in ("losses", "multipliers", "idle", "gram", "dual")),
    )

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem)
        self.planes = WorkingSet(1.0 / len(problem))
        self.weights = Weights(problem.size, averaged=False)
        self.best = self.weights
        self.primal = np.inf  # the objective at `best`

    def pass_over(self, number: int) -> Epoch:
        learner, m = self.learner, len(self.everyone)
        worst = self.problem.total(self.everyone, self.weights, Query.COST_AUGMENTED)
        primal = 0.5 * self.weights.norm2() + learner.C * worst.hinge / m
        if primal < self.primal:
            self.primal, self.best = primal, self.weights
        gap = self.primal - self.planes.dual
        self.converged = gap <= learner.C * learner.epsilon
        if not self.converged:
            self.planes.insert(worst.difference, worst.loss / m)
            self.planes.solve(learner.C)
            self.planes.clean(learner.patience, learner.planes)
            self.weights = self._on_the_way(learner.reach)
        dual, planes = self.primal - gap, len(self.planes.differences)
        measures = {"primal": self.primal, "dual": dual, "gap": gap, "planes": planes}
        return Epoch(number, worst.loss, worst.hinge, int(not self.converged), measures=measures)

    def _on_the_way(self, reach: float) -> Weights:
        """(1 - reach) · best + reach · w, with the dual's w."""
        between = Weights.from_state(self.best.state())
        between.multiply(1.0 - reach)
        self.planes.add_weights(between, reach)
        return between

    def last(self) -> Floats:
        return self.best.values()

    def state(self) -> State:
        differences = [SparseVector([], []), *self.planes.differences]
        return {
            "planes.ends": np.cumsum([len(each) for each in differences[1:]], dtype=np.int64),
            "planes.indices": np.concatenate([each.indices for each in differences]),
            "planes.values": np.concatenate([each.values for each in differences]),
            **super().state(),
        }

    def restore(self, state: Stored) -> None:
        super().restore(state)
        ends = state["planes.ends"]
        pairs = zip(*(np.split(state[f"planes.{name}"], ends) for name in ("indices", "values")), strict=True)
        self.planes.differences = [SparseVector(*pair) for pair in pairs][: len(ends)]


@dataclass(frozen=True, kw_only=True)
class OneSlack(Trainer):
    """1-slack structural SVM: cutting planes and a small quadratic program per round, to a given gap.

    Each round sees every example once and reports the lowest objective so far (`primal`), a lower bound of
    the best (`dual`) and their difference (`gap`); it ends when the mean hinge cannot fall by more than
    epsilon [joachims-2009].
    """

    name = "one_slack"
    paper = "joachims-2009"
    run_kind = OneSlackRun
    needs = frozenset({Query.COST_AUGMENTED})

    epochs: int = parameter(200, "rounds at most; each sees every example once", least=1)
    C: float = parameter(1000.0, "the weight of the mean hinge against |w|²/2; 1/λ", above=0.0, most=1e15)
    epsilon: float = parameter(0.05, "ends when the gap is at most C·epsilon", least=0.0)
    planes: int = parameter(50, "planes held at most", least=2)
    patience: int = parameter(20, "rounds after which an unused plane is dropped", least=1)
    reach: float = parameter(
        0.25, "how far towards the program's weights the next trees are searched", above=0.0, most=1.0
    )


class WorkingSet:
    """Planes with their multipliers. Differences are sums over examples; `scale` = 1/m makes means."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.differences: list[SparseVector] = []
        self.losses = np.zeros(0)  # b, a mean
        self.multipliers = np.zeros(0)
        self.idle = np.zeros(0, dtype=np.int64)  # rounds since the multiplier was positive
        self.gram = np.zeros((0, 0))
        self.dual = 0.0

    def insert(self, difference: SparseVector, loss: float) -> None:
        products = [difference.dot(other) * self.scale**2 for other in self.differences]
        count = len(products)
        gram = np.empty((count + 1, count + 1))
        gram[:count, :count] = self.gram
        gram[count, :count] = gram[:count, count] = products
        gram[count, count] = difference.norm2 * self.scale**2
        self.gram = gram
        self.differences.append(difference)
        self.losses = np.append(self.losses, loss)
        self.multipliers = np.append(self.multipliers, 0.0)
        self.idle = np.append(self.idle, 0)

    def solve(self, C: float) -> None:
        self.multipliers, self.dual, _, _ = solve_qp(self.gram, self.losses, C, self.multipliers)
        self.idle = np.where(self.multipliers > 0, 0, self.idle + 1)

    def clean(self, patience: int, planes: int) -> None:
        """Drop planes that were long unused; then drop or merge the least useful until there is room."""
        self._drop(np.flatnonzero(self.idle >= patience))
        while len(self.differences) > planes:
            # Longest idle first, then least multiplier, then oldest.
            order = np.lexsort((self.multipliers, -self.idle))
            if self.multipliers[order[0]] > 0:
                self._merge(int(order[0]), int(order[1]))
            else:
                self._drop(order[:1])

    def _merge(self, first: int, second: int) -> None:
        """Replace two planes by their mean, weighted by their multipliers: w and the dual's value stay."""
        mass = self.multipliers[first] + self.multipliers[second]
        share = float(self.multipliers[second] / mass)
        difference = self.differences[first]
        # (1 - share) · first + share · second
        merged = difference.plus(difference, -share).plus(self.differences[second], share)
        loss = (1.0 - share) * self.losses[first] + share * self.losses[second]
        self._drop(np.array([first, second]))
        self.insert(merged, float(loss))
        self.multipliers[-1] = mass

    def _drop(self, which: Longs) -> None:
        if not len(which):
            return
        keep = np.setdiff1d(np.arange(len(self.differences)), which)
        self.differences = [self.differences[j] for j in keep]
        for name in ("losses", "multipliers", "idle"):
            setattr(self, name, getattr(self, name)[keep])
        self.gram = np.ascontiguousarray(self.gram[np.ix_(keep, keep)])

    def add_weights(self, w: Weights, share: float) -> None:
        for difference, multiplier in zip(self.differences, self.multipliers, strict=True):
            if multiplier > 0:
                w.add(difference, share * float(multiplier) * self.scale)
