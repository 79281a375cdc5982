"""Convex MST: trees that a linear model can tell from others [grave-2015].

Discriminative clustering: of all ways to give each sentence a tree, or a mixture of trees, find that which a
ridge regression on features of arcs predicts best. With y one number per arc (a point in the product of the
sentences' tree polytopes), X the features of all arcs, v which arcs follow a rule, and N words:

    minimise over y and w    f = 1/N (½ |y - X w|² - μ v'y) + λ/2 |w|²

For one y the best w is that of the regression, w = (X'X + N λ I)⁻¹ X'y, so f is a convex quadratic function
of y alone with the gradient (y - X w - μ v) / N. Frank-Wolfe [frank-1956] asks for the best tree of each
sentence by the negative gradient, s, and moves to y + γ (s - y) with the best γ, in closed form since f is
quadratic. f never rises, and gap = gradient'(y - s) bounds how far it is above the least [jaggi-2013].

A new sentence gets the best tree of the scores X w. With w held, f is least at that of X w + μ v (for trees
|y|² is the number of words), but w has learned the rules already: on sentences of up to 10 words of UD
English EWT (train), adding μ v again helped only where λ was so large, or μ so small, that it had not.
`parse_prior` says how much of it is added.

The features are those of `ArcFeatures`, the most frequent of them. One round: the best trees, and O(arcs +
features²); before the first, O(arcs + features³) for the inverse. The problem is convex: wherever a seed
starts, w comes out the same but for how far the last round was from the end.

That v'y is divided by N as well, and that N counts words instead of possible arcs, only rescales λ and μ.
Without rules, trees tend to be chains from the first word to the last: those are easiest to predict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from arbora.errors import InputError
from arbora.induction.arc_model import ArcModel, no_pairs, pair_scores, pair_table
from arbora.induction.corpus import Group, TagCorpus
from arbora.induction.features import TEMPLATES, ArcFeatures
from arbora.induction.interfaces import Induced, Round, Watch
from arbora.induction.rules import ROOT, Rules
from arbora.induction.trees import best_heads, part_marginals, pieces
from arbora.interfaces import PartKind, StopTraining, Trees
from arbora.learners._parameters import Configured, parameter
from arbora.types import Bools, Doubles, Ints, Longs

ROWS_AT_ONCE = 20_000
"""Of the features of arcs, when their products are counted: 8 MB."""


@dataclass(frozen=True, kw_only=True)
class ConvexMst(Configured):
    """Trees that a ridge regression on features of arcs predicts best, by Frank-Wolfe [grave-2015]."""

    name: ClassVar[str] = "convex-mst"
    paper: ClassVar[str] = "grave-2015"

    l2: float = parameter(0.1, "weight of ½|w|² (λ), per word", above=0)
    prior: float = parameter(1.0, "what a word that follows a rule gains (μ)", least=0)
    parse_prior: float = parameter(0.0, "the share of it that a rule gains in parsing, too", least=0)
    rounds: int = parameter(100, "steps at most", least=1)
    gap: float = parameter(0.001, "ends where the objective is this close to the best", least=0)
    features: int = parameter(2000, "the most frequent features of arcs are used", least=1, most=5000)
    trees: str = parameter(
        "nonprojective", "the trees to choose from", choices=("nonprojective", "projective")
    )

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn; seed 0 starts at the mean of all trees, others half way from there to random trees."""
        if not len(corpus):
            raise InputError("convex-mst: expected at least one sentence of words, got none")
        clustering = Clustering(corpus, self, rules, threads)
        y = clustering.middle()
        if seed:
            y = (y + clustering.indicator(clustering.random_trees(seed))) / 2
        state, history, bound = clustering.at(y), [], -np.inf
        for number in range(1, self.rounds + 1):
            start = time.perf_counter()
            step = clustering.step(state)
            bound = max(bound, state.value - step.gap)
            state = step.after
            done = Round(
                number,
                -state.value,
                time.perf_counter() - start,
                {"gap": state.value - bound, "step": step.size},
            )
            history.append(done)
            try:
                if watch is not None:
                    watch(done, clustering.model(state))
            except StopTraining:
                break
            if done.measures["gap"] <= self.gap:
                break
        return Induced(clustering.model(state), tuple(history))


@dataclass(frozen=True, eq=False)
class State:
    """A mixture of trees, and the regression on it."""

    y: Doubles
    weights: Doubles
    predicted: Doubles
    """X w"""
    value: float
    """f"""


@dataclass(frozen=True, eq=False)
class Step:
    """Where one round leads."""

    after: State
    gap: float
    """How much lower than before f could be at most."""
    size: float
    """γ"""


class Clustering:
    """The problem: all arcs of a corpus, one after the other, group by group, sentence by sentence."""

    def __init__(self, corpus: TagCorpus, settings: ConvexMst, rules: Rules | None, threads: int = 1) -> None:
        self.tags = corpus.tags
        self.trees: Trees = "projective" if settings.trees == "projective" else "nonprojective"
        self.threads = threads
        self.words = corpus.words
        self._groups = [piece for group in corpus.groups() for piece in pieces(group, 3)]
        self._features = ArcFeatures(len(corpus.tags))
        self._kept = self._most_frequent(settings.features)
        self._rows = self._numbered()
        self._inverse = np.linalg.inv(self.gram() + self.words * settings.l2 * np.eye(len(self._kept)))
        gains = settings.prior * rule_pairs(rules, corpus.tags)
        self._pairs = settings.parse_prior * gains
        self._wanted = np.concatenate(
            [
                pair_scores(gains, self._features.nodes(group.tags))[:, _arcs(group.length)].ravel()
                for group in self._groups
            ]
        )

    @property
    def size(self) -> int:
        return len(self._rows)

    def at(self, y: Doubles) -> State:
        weights = self.regress(y)
        predicted = self.predict(weights)
        return State(y, weights, predicted, self._value(y, predicted))

    def gradient(self, state: State) -> Doubles:
        return (state.y - state.predicted - self._wanted) / self.words

    def step(self, state: State) -> Step:
        """To the best trees by the gradient, as far as f falls."""
        gradient = self.gradient(state)
        best = self.at(self.indicator(self.best_trees(-gradient)))
        y_change, predicted_change = best.y - state.y, best.predicted - state.predicted
        gap = max(0.0, -float(gradient @ y_change))
        curvature = float(y_change @ (y_change - predicted_change)) / self.words
        size = min(1.0, gap / curvature) if curvature > 0 else float(gap > 0)
        y = state.y + size * y_change
        predicted = state.predicted + size * predicted_change
        weights = state.weights + size * (best.weights - state.weights)
        return Step(State(y, weights, predicted, self._value(y, predicted)), gap, size)

    def model(self, state: State) -> ArcModel:
        weights = np.zeros(self._features.size)
        weights[self._kept] = state.weights
        return ArcModel(tags=self.tags, weights=weights, pairs=self._pairs, trees=self.trees)

    def predict(self, weights: Doubles) -> Doubles:
        return np.append(weights, 0.0)[self._rows].sum(axis=1)

    def regress(self, y: Doubles) -> Doubles:
        chosen = np.flatnonzero(y)
        features = self._rows[chosen]
        sums = np.bincount(
            features.ravel(), weights=np.repeat(y[chosen], TEMPLATES), minlength=len(self._kept) + 1
        )
        return self._inverse @ sums[:-1]

    def gram(self) -> Doubles:
        d = len(self._kept) + 1
        counts = np.zeros(d * d, dtype=np.int64)
        for at in range(0, self.size, ROWS_AT_ONCE):
            rows = self._rows[at : at + ROWS_AT_ONCE].astype(np.int64)
            counts += np.bincount((rows[:, :, None] * d + rows[:, None, :]).ravel(), minlength=d * d)
        return counts.reshape(d, d)[:-1, :-1].astype(np.float64)

    def middle(self) -> Doubles:
        """The mean of all trees of each sentence."""
        means = []
        for group in self._groups:
            n = group.length
            mean = part_marginals(
                {PartKind.ARC: np.zeros((1, n + 1, n + 1))}, trees=self.trees, roots="single"
            )
            means.append(np.tile(mean[PartKind.ARC][0][_arcs(n)], len(group.tags)))
        return np.concatenate(means)

    def random_trees(self, seed: int) -> Longs:
        return self.best_trees(np.random.default_rng(seed).normal(size=self.size))

    def best_trees(self, values: Doubles) -> Longs:
        """The arcs of the best trees, by one value per arc; as many as words."""
        found = []
        for group, part in self._parts(values):
            m, n = group.tags.shape
            arcs = _arcs(n)
            scores = np.zeros((m, n + 1, n + 1))
            scores[:, arcs] = part.values.reshape(m, n * n)
            heads = best_heads(
                {PartKind.ARC: scores}, trees=self.trees, roots="single", threads=self.threads
            )[:, 1:]
            place = np.zeros((n + 1, n + 1), dtype=np.int64)
            place[arcs] = np.arange(n * n)
            found.append(part.start + np.arange(m)[:, None] * (n * n) + place[heads, np.arange(1, n + 1)])
        return np.concatenate([each.ravel() for each in found])

    def indicator(self, arcs: Longs) -> Doubles:
        found = np.zeros(self.size)
        found[arcs] = 1.0
        return found

    def _value(self, y: Doubles, predicted: Doubles) -> float:
        # At the best w: ½|y - Xw|² + Nλ/2 |w|² = ½ y'(y - Xw).
        return float(y @ (y - predicted) / 2 - self._wanted @ y) / self.words

    def _parts(self, values: Doubles) -> Iterator[tuple[Group, _Part]]:
        start = 0
        for group in self._groups:
            size = len(group.tags) * group.length**2
            yield group, _Part(start, values[start : start + size])
            start += size

    def _most_frequent(self, most: int) -> Longs:
        """Places of the most frequent features, in order; of those that are equally so, the first."""
        counts = np.zeros(self._features.size, dtype=np.int64)
        for rows in self._all_rows():
            counts += np.bincount(rows.ravel(), minlength=len(counts))
        ranked = np.argsort(-counts, kind="stable")[:most]
        return np.sort(ranked[counts[ranked] > 0])

    def _numbered(self) -> Ints:
        """Features of all arcs, (arcs, 7), as numbers below d, their number; d stands for all others."""
        numbers = np.full(self._features.size, len(self._kept), dtype=np.int32)
        numbers[self._kept] = np.arange(len(self._kept), dtype=np.int32)
        return np.concatenate([numbers[rows] for rows in self._all_rows()])

    def _all_rows(self) -> Iterator[Longs]:
        for group in self._groups:
            yield self._features.places(group.tags)[:, _arcs(group.length)].reshape(-1, TEMPLATES)


@dataclass(frozen=True, eq=False)
class _Part:
    start: int
    values: Doubles


def rule_pairs(rules: Rules | None, tags: tuple[str, ...]) -> Doubles:
    """A table of pairs for `ArcModel`: 1 where a rule has the pair, 0 elsewhere."""
    if rules is None:
        return no_pairs(len(tags))
    words, root = rules.table(tags, tags), rules.table([ROOT], tags)[0]
    return pair_table(words.astype(np.float64), root.astype(np.float64))


@lru_cache(maxsize=64)
def _arcs(n: int) -> Bools:
    """Which pairs of nodes are arcs, (n+1, n+1): n² of them."""
    found: Bools = ~np.eye(n + 1, dtype=bool)
    found[:, 0] = False
    found.flags.writeable = False
    return found
