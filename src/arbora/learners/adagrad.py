"""Log-linear training on a few examples at a time, with a step size per weight [duchi-2011, koo-2007].

    L(w) / (C m) = λ/2 |w|² + 1/m Σ_i -log P(y_i | x_i; w),      λ = 1 / (C m)

is the objective of `log_linear` over m examples, divided by C m. Step t sees k of them:

    g   = 1/k Σ_i E[f(x_i, y)] - f(x_i, y_i)              the gradient of their mean -log P
    G_j ← G_j + g_j²        H_j = δ + √G_j
    w_j ← (H_j w_j - η g_j) / (H_j + η λ s_j)             for all j that g touches

s_j counts the steps since j was last touched: their penalty is paid at once, so a step costs what it touches,
not the length of w. After an epoch all weights pay what they owe. Each epoch cuts a new permutation of all
examples into sets of k. The result is the average of w over all steps. If only part of a tree is known, P is
that of the known part. A large δ keeps features of improbable trees from moving as far as those that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora._core import Adagrad as Steps
from arbora.interfaces import Answer, Epoch, Problem, Query
from arbora.learners._online import OnlineRun, OnlineTrainer, State, Stored, require_size
from arbora.settings import parameter
from arbora.types import Longs


class AdagradRun(OnlineRun):
    """The weights, and how much each was moved."""

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem)
        self.share(1)

    def share(self, shards: int) -> None:
        """With the penalty of all examples, and sums of squares of its own."""
        super().share(shards)
        learner, size = self.learner, self.problem.size
        penalty = 1.0 / (learner.C * len(self.problem) * shards)
        self.options = (learner.rate, penalty, learner.floor)
        self.steps = Steps(size, *self.options)

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        if len(chosen) == 1:
            answer = self.problem.answer(int(chosen[0]), self.weights, Query.MARGINALS)
        else:
            answer = self.problem.total(chosen, self.weights, Query.MARGINALS)
        self.steps.step(self.weights, answer.difference, 1.0 / len(chosen))
        self.weights.tick()
        return answer, len(answer.difference) > 0

    def pass_over(self, number: int, done: int | None = None) -> Epoch:
        epoch = super().pass_over(number, done)
        self.steps.settle(self.weights)  # All weights pay the penalty they owe.
        return epoch

    def state(self) -> State:
        held = {f"adagrad.{name}": np.asarray(value) for name, value in self.steps.state().items()}
        return {**super().state(), **held}

    def restore(self, state: Stored) -> None:
        super().restore(state)
        squares, paid = state["adagrad.squares"], state["adagrad.paid"]
        require_size("adagrad", len(squares), self.problem.size)
        held = {"squares": squares, "paid": paid, "steps": int(state["adagrad.steps"])}
        self.steps = Steps.from_state(held, *self.options)


@dataclass(frozen=True, kw_only=True)
class Adagrad(OnlineTrainer):
    """AdaGrad: log-linear training by steps on a few examples, adapted to each weight, then averaged.

    Gets near the optimum of `log_linear` in a few passes; for treebanks of any size [duchi-2011].
    """

    name = "adagrad"
    paper = "duchi-2011"
    run_kind = AdagradRun
    needs = frozenset({Query.MARGINALS})

    C: float = parameter(1.0, "the weight of the sum of -log P against |w|²/2", above=0.0)
    rate: float = parameter(0.1, "η, the length of steps", above=0.0)
    floor: float = parameter(1.0, "δ, added to the root of each weight's sum of squares", above=0.0)
    k: int = parameter(1, "examples per step", least=1)

    @property
    def batch(self) -> int:
        return self.k
