"""Convex MST: the trees that a linear model predicts best [grave-2015].

Discriminative clustering: of all ways to give each sentence a tree, or a mixture of trees, find the one that
a ridge regression on features of arcs predicts best. Let y have one number per arc (a point in the product of
the sentences' tree polytopes), X be the features of all arcs, v the arcs that follow a rule, N the words:

    minimise over y and w    f = 1/N (½ |y - X w|² - μ v'y) + λ/2 |w|²

For a given y the best w is that of the regression, w = (X'X + N λ I)⁻¹ X'y, so f is a convex quadratic
function of y alone with the gradient (y - X w - μ v) / N. Frank-Wolfe [frank-1956] finds the best tree of
each sentence by the negative gradient, s, and moves to y + γ (s - y) with the best γ, in closed form since f
is quadratic. f never rises, and gap = gradient'(y - s) bounds its distance from the minimum [jaggi-2013].

A new sentence gets the best tree of the scores X w + parse_prior · μ v. With w fixed, parse_prior = 1 gives
the minimum of f, but w has learned the rules already, and 0 is usually better.

The features are the most frequent of `ArcFeatures`. One round: the best trees, and O(arcs + features²);
before the first, O(arcs + features³) for the inverse. The problem is convex: every seed gives the same w,
except for how far the last round was from the minimum. Without rules, trees tend to be chains from the first
word to the last: those are easiest to predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from arbora import inference
from arbora.induction.arc_model import TEMPLATES, ArcModel, CorpusArcs, is_arc, pair_table
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import Inducer, Learned, as_arcs, best_heads
from arbora.induction.rules import Rules
from arbora.interfaces import Trees
from arbora.settings import parameter
from arbora.types import Doubles

ROWS_AT_ONCE = 20_000  # Rows of X when X'X is computed: 8 MB


@dataclass(frozen=True, kw_only=True)
class ConvexMst(Inducer):
    """Trees that a ridge regression on features of arcs predicts best, by Frank-Wolfe [grave-2015]."""

    name: ClassVar[str] = "convex-mst"
    paper: ClassVar[str] = "grave-2015"

    l2: float = parameter(0.1, "weight of ½|w|² (λ), per word", above=0)
    prior: float = parameter(1.0, "bonus of a word that follows a rule (μ)", least=0)
    parse_prior: float = parameter(0.0, "the share of it that a rule also gains in parsing", least=0)
    rounds: int = parameter(100, "steps at most", least=1)
    gap: float = parameter(0.001, "stop when the objective is this close to the best", least=0)
    features: int = parameter(2000, "how many features to use, most frequent first", least=1, most=5000)
    trees: Trees = parameter("nonprojective", "the trees to choose from")

    def learn(self, corpus: TagCorpus, rules: Rules, seed: int, threads: int) -> Iterator[Learned]:
        """Seed 0 starts at the mean of all trees, others half way from there to random trees."""
        clustering = Clustering(corpus, self, rules, threads)
        y = clustering.middle()
        if seed:
            y = (y + clustering.best_trees(np.random.default_rng(seed).normal(size=clustering.size))) / 2
        state, bound = clustering.at(y), -np.inf
        for _ in range(self.rounds):
            before, (state, gap, size) = state.value, clustering.step(state)
            bound = max(bound, before - gap)
            measures = {"gap": state.value - bound, "step": size}
            yield Learned(-state.value, partial(clustering.model, state), measures)
            if measures["gap"] <= self.gap:
                return


@dataclass(frozen=True, eq=False)
class State:
    """A mixture of trees, and the regression on it."""

    y: Doubles
    weights: Doubles
    predicted: Doubles  # X w
    value: float  # f


class Clustering:
    """The problem: all arcs of a corpus in a row, group by group, sentence by sentence."""

    def __init__(self, corpus: TagCorpus, settings: ConvexMst, rules: Rules, threads: int = 1) -> None:
        self._family: Any = {"trees": settings.trees, "threads": threads}
        self.words = corpus.words
        self.arcs = CorpusArcs(corpus, settings.features)
        gains = settings.prior * pair_table(rules.table(corpus.tags))
        self._pairs = settings.parse_prior * gains
        self._shapes, rows, followed = [], [], []
        for each in self.arcs.sets():
            self._shapes.append(each.shape)
            rows.append(each.places[:, is_arc(each.length)].reshape(-1, TEMPLATES))
            followed.append(each.pairs(gains)[:, is_arc(each.length)].ravel())
        self._rows, self._wanted = np.concatenate(rows), np.concatenate(followed)
        self.size = len(self._rows)  # The number of arcs
        self._inverse = np.linalg.inv(self.gram() + self.words * settings.l2 * np.eye(self.arcs.size))

    def at(self, y: Doubles) -> State:
        weights = self.regress(y)
        predicted = self.predict(weights)
        return State(y, weights, predicted, self._value(y, predicted))

    def gradient(self, state: State) -> Doubles:
        return (state.y - state.predicted - self._wanted) / self.words

    def step(self, state: State) -> tuple[State, float, float]:
        """Move towards the best trees while f falls: the new state, a bound on what f could gain, and γ."""
        gradient = self.gradient(state)
        best = self.at(self.best_trees(-gradient))
        y_change, predicted_change = best.y - state.y, best.predicted - state.predicted
        gap = max(0.0, -float(gradient @ y_change))
        curvature = float(y_change @ (y_change - predicted_change)) / self.words
        size = min(1.0, gap / curvature) if curvature > 0 else float(gap > 0)
        y = state.y + size * y_change
        predicted = state.predicted + size * predicted_change
        weights = state.weights + size * (best.weights - state.weights)
        return State(y, weights, predicted, self._value(y, predicted)), gap, size

    def model(self, state: State) -> ArcModel:
        return self.arcs.model(state.weights, self._pairs, self._family["trees"])

    def predict(self, weights: Doubles) -> Doubles:
        """X w"""
        return np.append(weights, 0.0)[self._rows].sum(axis=1)

    def regress(self, y: Doubles) -> Doubles:
        """The best w for y."""
        chosen = np.flatnonzero(y)
        repeated, size = np.repeat(y[chosen], TEMPLATES), self.arcs.size + 1
        sums = np.bincount(self._rows[chosen].ravel(), weights=repeated, minlength=size)
        return self._inverse @ sums[:-1]

    def gram(self) -> Doubles:
        """X'X"""
        d = self.arcs.size + 1
        counts = np.zeros(d * d, dtype=np.int64)
        for at in range(0, self.size, ROWS_AT_ONCE):
            rows = self._rows[at : at + ROWS_AT_ONCE].astype(np.int64)
            counts += np.bincount((rows[:, :, None] * d + rows[:, None, :]).ravel(), minlength=d * d)
        return counts.reshape(d, d)[:-1, :-1].astype(np.float64)

    def middle(self) -> Doubles:
        """The mean of all trees of each sentence."""
        means = []
        for m, *nodes in self._shapes:
            mean = inference.marginals(np.zeros(nodes), **self._family)
            means.append(np.tile(mean[is_arc(nodes[0] - 1)], m))
        return np.concatenate(means)

    def best_trees(self, values: Doubles) -> Doubles:
        """The best trees by one value per arc: 1 for their arcs, 0 for others."""
        found, start = [], 0
        for shape in self._shapes:
            arcs, scores = is_arc(shape[1] - 1), np.zeros(shape)
            end = start + shape[0] * int(arcs.sum())
            scores[:, arcs] = values[start:end].reshape(shape[0], -1)
            found.append(as_arcs(best_heads(scores, **self._family))[:, arcs].ravel())
            start = end
        return np.concatenate(found)

    def _value(self, y: Doubles, predicted: Doubles) -> float:
        # At the best w: ½|y - Xw|² + Nλ/2 |w|² = ½ y'(y - Xw).
        return float(y @ (y - predicted) / 2 - self._wanted @ y) / self.words
