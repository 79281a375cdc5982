"""DMV: the dependency model with valence, learned by EM [klein-2004] or Viterbi EM [spitkovsky-2010].

Learning starts from harmonic counts: each word of a sentence is the root equally often, and given the root,
the probability of a projective tree is the product of 1 / (distance + constant) over its arcs. By default
heads stop as often as they go on at first, which leads to better trees with `viterbi`. Then, in turn,
- count how often each choice is expected under the model (`em`), or is made in the best trees (`viterbi`);
- estimate: probabilities are counts plus `smoothing`, divided by their sums.

The objective never falls: log P(sentences) (`em`) or of the best trees (`viterbi`), plus smoothing · Σ log p
over all probabilities, divided by the number of words. The paper has no rules. If rules are given, each arc
that follows one adds `prior` to a tree's log-probability while counting and in the objective, not in the
model: P(tree) becomes P(tree) · exp(prior · arcs that follow rules), and the objective never falls either.

Time per round: O(n³) per distinct sentence.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from arbora import inference
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import Inducer, Learned
from arbora.induction.rules import Rules
from arbora.induction.valence_model import NONE_YET, Counts, Sentences, ValenceModel, nearest_entries
from arbora.settings import parameter
from arbora.types import Doubles

SHAPE = 4.0  # Of noisy counts: each is multiplied by a gamma variable of mean 1 and variance 1/4


@dataclass(frozen=True, kw_only=True)
class ValenceInducer(Inducer):
    """EM for models with valence; a subclass says how probabilities are estimated from counts."""

    mode: Literal["em", "viterbi"] = parameter("em", "count all trees, or the best ones")
    rounds: int = parameter(100, "rounds at most", least=1)
    tolerance: float = parameter(1e-4, "stop when the objective changes less", least=0.0)
    child_valence: Literal["no", "yes"] = parameter(
        "no", "whether a dependent's tag depends on whether its head already has one"
    )
    constant: float = parameter(0.0, "first arcs are as frequent as 1 / (distance + constant)", least=0.0)
    first_stops: Literal["even", "harmonic"] = parameter(
        "even", "how often heads stop at first: every other time, or as in harmonic trees"
    )
    prior: float = parameter(1.0, "weight of each arc that follows a rule, if rules are given", least=0.0)

    @abstractmethod
    def estimator(self, tags: tuple[str, ...], seed: int) -> Callable[[Counts], ValenceModel]:
        """A function from counts to the next model; it may keep a state between rounds."""

    def penalty(self, model: ValenceModel) -> float:
        """Subtracted from log P in the objective."""
        return 0.0

    def learn(self, corpus: TagCorpus, rules: Rules, seed: int, threads: int) -> Iterator[Learned]:
        sentences = Sentences(corpus, self.name)
        estimate = self.estimator(corpus.tags, seed)
        bonus = self.prior * rules.table(corpus.tags)
        counts = harmonic_counts(sentences, self.constant, self.first_stops == "even", seed)
        before, is_viterbi = -np.inf, self.mode == "viterbi"
        for _ in range(self.rounds):
            model = estimate(counts)
            total, counts = sentences.counts(model, best_only=is_viterbi, bonus=bonus, threads=threads)
            objective = (total - self.penalty(model)) / sentences.words
            yield Learned(objective, lambda model=model: model)  # type: ignore[misc]
            if abs(objective - before) < self.tolerance:
                return
            before = objective


@dataclass(frozen=True, kw_only=True)
class Dmv(ValenceInducer):
    """The dependency model with valence: heads take their dependents one by one, then stop; by EM."""

    name: ClassVar[str] = "dmv"
    paper: ClassVar[str] = "klein-2004"

    smoothing: float = parameter(1.0, "added to each count", above=0.0)

    def estimator(self, tags: tuple[str, ...], seed: int) -> Callable[[Counts], ValenceModel]:
        def log_shares(counts: Doubles) -> Doubles:
            smoothed = counts + self.smoothing
            return np.log(smoothed) - np.log(smoothed.sum(axis=-1, keepdims=True))

        def estimate(counts: Counts) -> ValenceModel:
            child = counts.child
            if self.child_valence == "no":
                child = np.broadcast_to(child.sum(axis=2, keepdims=True), child.shape)
            return ValenceModel.of(tags, *map(log_shares, (counts.root, child, counts.decisions)))

        return estimate

    def penalty(self, model: ValenceModel) -> float:
        """-smoothing · Σ log p; tables that are equal count once."""
        child = model.child if self.child_valence == "yes" else model.child[:, :, NONE_YET]
        return -self.smoothing * float(model.root.sum() + child.sum() + model.stop.sum() + model.go_on.sum())


@lru_cache(maxsize=256)
def harmonic_arcs(n: int, constant: float) -> tuple[Doubles, Doubles]:
    """How often each arc is expected, and as the nearest of its side: (n+1, n+1), read-only. O(n³)."""
    nodes = np.arange(n + 1)
    distances = np.maximum(np.abs(nodes[:, None] - nodes[None, :]), 1).astype(np.float64)
    scores = -np.log(distances + constant)
    # First as if all roots were alike, then corrected so that they are.
    scores[0] = 0.0
    scores[0, 1:] = -np.log(inference.marginals([scores], trees="projective")[0][0, 1:])
    siblings = np.zeros((n + 1, n + 1, n + 1))
    found: Any = inference.marginals(scores, siblings=siblings, trees="projective")
    arcs, nearest = found.arcs, nearest_entries(found.siblings)
    arcs.setflags(write=False)
    nearest.setflags(write=False)
    return arcs, nearest


def harmonic_counts(sentences: Sentences, constant: float, even_stops: bool, seed: int = 0) -> Counts:
    """Counts of choices in harmonic trees, noisy unless the seed is 0; `even_stops`: half of choices stop."""
    counts = Counts.zeros(len(sentences.tags))
    for tags, weights in sentences.pieces:
        counts.add(tags, *harmonic_arcs(tags.shape[1], constant), weights)
    if even_stops:
        counts.stop[:] = counts.go_on
    if seed:
        rng = np.random.default_rng(seed)
        for table in (counts.root, counts.child, counts.stop):
            table *= rng.gamma(SHAPE, 1 / SHAPE, size=table.shape)
    return counts
