"""AdamW: steps on a few examples, scaled by running means of the gradient [kingma-2015, loshchilov-2019].

Step t sees k examples, with g the gradient of their mean loss, clipped to a norm of at most `clip`:

    m ← β₁ m + (1 - β₁) g          v ← β₂ v + (1 - β₂) g²
    w ← w - η_t (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε) - η_t λ w

with η_t = η · `shrink` ^ (t / `every`), or with `schedule = cosine` half a cosine from η to 0 over all steps,
and a linear rise over the first `warmup` steps. With `average` α, the averaged weights are a running mean,
a ← a + (1 - α) (w - a). For scorers with dense gradients; the problem says by which loss, and where to begin.
A problem may bring a run of its own, such as one on a GPU (`arbora.neural.run`), with the same arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from arbora._core import SparseVector, Weights
from arbora.errors import InputError
from arbora.interfaces import Answer, Initialised, Problem, Query
from arbora.learners._online import OnlineRun, OnlineTrainer, Sharing
from arbora.settings import parameter
from arbora.types import Floats, Longs

EPSILON = 1e-8


class AdamWRun(OnlineRun):
    """The weights and the running means."""

    kept = ("weights", "mean", "square", "average", "steps")

    def __init__(self, learner: Any, problem: Problem) -> None:
        super().__init__(learner, problem, Weights(problem.size, averaged=False))
        self.steps = 0
        self.every_weight = np.arange(problem.size)
        self.mean = np.zeros(problem.size)
        self.square = np.zeros(problem.size)
        if isinstance(problem, Initialised):
            self.weights.add(
                SparseVector(self.every_weight, problem.initial_weights().astype(np.float64)), 1.0
            )
        self.average = self.weights.values()

    def batches(self, order: Longs) -> Iterator[Longs]:
        return self.learner.batches(self.problem, order)

    def steps_before(self, number: int) -> int:
        return self.steps

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        p = self.learner
        loss, gradient = self.problem.gradient(chosen, self.weights, Query.LOSS)
        gradient /= len(chosen)
        gradient *= min(1.0, p.clip / (float(np.linalg.norm(gradient)) + EPSILON))
        self.mean += (1.0 - p.beta1) * (gradient - self.mean)
        self.square += (1.0 - p.beta2) * (gradient**2 - self.square)
        rate = p.rate_at(t, p.steps_in(self.problem))
        root = np.sqrt(self.square / (1.0 - p.beta2**t)) + EPSILON
        change = -rate * (self.mean / (1.0 - p.beta1**t)) / root
        if p.decay:
            self.weights.multiply(1.0 - rate * p.decay)
        self.weights.add(SparseVector(self.every_weight, change), 1.0)
        self.steps = t
        if p.average:
            self.average += np.float32(1.0 - p.remembered(t)) * (self.last() - self.average)
        return Answer(loss, 0.0, SparseVector(self.every_weight[:0], change[:0])), loss > 0.0

    def averaged(self) -> Floats:
        return self.average.copy() if self.learner.average else self.last()


@dataclass(frozen=True, kw_only=True)
class AdamW(OnlineTrainer):
    """AdamW on a problem's own loss: for neural scorers, and any other with dense gradients."""

    name = "adamw"
    paper = "loshchilov-2019"
    run_kind = AdamWRun
    sharing: ClassVar[Sharing] = "sums"
    needs = frozenset({Query.LOSS})

    rate: float = parameter(2e-3, "η, the length of steps", above=0.0)
    beta1: float = parameter(0.9, "β₁, how long the mean of gradients remembers", least=0.0, most=0.9999)
    beta2: float = parameter(0.9, "β₂, how long the mean of their squares remembers", least=0.0, most=0.9999)
    decay: float = parameter(0.0, "λ, the weight decay", least=0.0)
    clip: float = parameter(5.0, "the largest norm of a gradient", above=0.0)
    shrink: float = parameter(0.75, "the factor of η after every `every` steps", above=0.0, most=1.0)
    every: int = parameter(2500, "steps after which η has shrunk by `shrink`", least=1)
    schedule: Literal["exponential", "cosine"] = parameter(
        "exponential", "how η falls: by `shrink`, or as half a cosine, to 0 at the end of all epochs"
    )
    warmup: int = parameter(
        0, "steps in which η rises to its full length; a tenth of all steps at most", least=0
    )
    average: float = parameter(0.0, "α of the running mean of weights; 0: none", least=0.0, below=1.0)
    k: int = parameter(16, "examples per step", least=1)
    words: int = parameter(0, "words per step, at least, instead of k examples; 0: k examples", least=0)

    @property
    def batch(self) -> int:
        return self.k

    def batches(self, problem: Problem, order: Longs) -> Iterator[Longs]:
        """The examples of each step of an epoch, in order."""
        if not self.words:
            yield from np.split(order, range(self.k, len(order), self.k))
            return
        so_far = np.cumsum(_lengths(problem)[order])
        start = done = 0
        while start < len(order):
            end = min(len(order), int(np.searchsorted(so_far, done + self.words)) + 1)
            yield order[start:end]
            start, done = end, int(so_far[end - 1])

    def steps_in(self, problem: Problem) -> int:
        """About how many steps all epochs have."""
        count = math.ceil(len(problem) / self.k)
        if self.words:
            count = math.ceil(int(_lengths(problem).sum()) / self.words)
        return max(1, self.epochs * count)

    def rate_at(self, t: int, steps: int) -> float:
        """η_t, of so many steps."""
        rate = self.rate * self.shrink ** (t / self.every)
        if self.schedule == "cosine":
            rate = self.rate * 0.5 * (1.0 + math.cos(math.pi * min(1.0, t / steps)))
        return rate * min(1.0, t / max(1.0, min(self.warmup, steps / 10)))

    def remembered(self, t: int) -> float:
        """α at step t: less at the beginning, so that the first weights are soon forgotten."""
        return min(self.average, (1.0 + t) / (10.0 + t))


def _lengths(problem: Problem) -> Longs:
    lengths: Longs | None = getattr(problem, "lengths", None)
    if lengths is None:
        raise InputError("words: expected 0, since these examples have no words; choose k", field="words")
    return lengths
