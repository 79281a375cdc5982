"""The averaged structured perceptron [collins-2002].

For each example, the best tree at the present weights; if it is wrong, the weights move by the difference of
features:

    ŷ = argmax_y <w, f(x, y)>
    w ← w + f(x, y*) - f(x, ŷ)

The result is the average of w over all steps. Time per step: one argmax plus the size of the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbora._core import Weights
from arbora.interfaces import Answer, Problem, Query
from arbora.learners._online import OnlineTrainer
from arbora.types import Longs


@dataclass(frozen=True, kw_only=True)
class Perceptron(OnlineTrainer):
    """Averaged structured perceptron: add the gold tree's features, subtract the predicted tree's.

    No parameter but the number of epochs; ignores the costs of wrong trees [collins-2002].
    """

    name = "perceptron"
    paper = "collins-2002"
    needs = frozenset({Query.ARGMAX})

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        answer = problem.answer(int(chosen[0]), w, Query.ARGMAX)
        wrong = answer.loss > 0
        if wrong:
            w.add(answer.difference, 1.0)
        w.tick()
        return answer, wrong
