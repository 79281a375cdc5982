"""AdamW: steps on a few examples, scaled by running means of the gradient [kingma-2015, loshchilov-2019].

Step t sees k examples, with g the gradient of their mean loss, clipped to a norm of at most `clip`:

    m ← β₁ m + (1 - β₁) g          v ← β₂ v + (1 - β₂) g²
    w ← w - η_t (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε) - η_t λ w

with η_t = η · `shrink` ^ (t / `every`). For scorers with dense gradients, such as networks; the problem says
by which loss, and where to begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arbora._core import SparseVector, Weights
from arbora.interfaces import Answer, Initialised, Problem, Query
from arbora.learners._online import OnlineRun, OnlineTrainer
from arbora.settings import parameter
from arbora.types import Floats, Longs

EPSILON = 1e-8


class AdamWRun(OnlineRun):
    """The weights and the running means."""

    kept = ("weights", "mean", "square")

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem, Weights(problem.size, averaged=False))
        self.every_weight = np.arange(problem.size)
        self.mean = np.zeros(problem.size)
        self.square = np.zeros(problem.size)
        if isinstance(problem, Initialised):
            self.weights.add(
                SparseVector(self.every_weight, problem.initial_weights().astype(np.float64)), 1.0
            )

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        p = self.learner
        loss, gradient = self.problem.gradient(chosen, self.weights, Query.LOSS)
        gradient /= len(chosen)
        gradient *= min(1.0, p.clip / (float(np.linalg.norm(gradient)) + EPSILON))
        self.mean += (1.0 - p.beta1) * (gradient - self.mean)
        self.square += (1.0 - p.beta2) * (gradient**2 - self.square)
        rate = p.rate * p.shrink ** (t / p.every)
        root = np.sqrt(self.square / (1.0 - p.beta2**t)) + EPSILON
        change = -rate * (self.mean / (1.0 - p.beta1**t)) / root
        if p.decay:
            self.weights.multiply(1.0 - rate * p.decay)
        self.weights.add(SparseVector(self.every_weight, change), 1.0)
        return Answer(loss, 0.0, SparseVector(self.every_weight[:0], change[:0])), loss > 0.0

    def averaged(self) -> Floats:
        return self.last()


@dataclass(frozen=True, kw_only=True)
class AdamW(OnlineTrainer):
    """AdamW on a problem's own loss: for neural scorers, and any other with dense gradients."""

    name = "adamw"
    paper = "loshchilov-2019"
    run_kind = AdamWRun
    needs = frozenset({Query.LOSS})

    rate: float = parameter(2e-3, "η, the length of steps", above=0.0)
    beta1: float = parameter(0.9, "β₁, how long the mean of gradients remembers", least=0.0, most=0.9999)
    beta2: float = parameter(0.9, "β₂, how long the mean of their squares remembers", least=0.0, most=0.9999)
    decay: float = parameter(0.0, "λ, the weight decay", least=0.0)
    clip: float = parameter(5.0, "the largest norm of a gradient", above=0.0)
    shrink: float = parameter(0.75, "the factor of η after every `every` steps", above=0.0, most=1.0)
    every: int = parameter(2500, "steps after which η has shrunk by `shrink`", least=1)
    k: int = parameter(16, "examples per step", least=1)

    @property
    def batch(self) -> int:
        return self.k
