"""CRF autoencoder of trees [cai-2017, ammar-2014]: an encoder finds a tree, a decoder predicts its tags.

    P(y, x | x) = exp(Σ_j w·f(x, i → j)) / Z(x)  ·  Π_j θ[tag j | tag of j's head i]
                  encoder: a log-linear parser       decoder: a table of pairs of tags

With rules R and their weight α, Q(x, y) = exp(number of arcs in R), the objective of a sentence is

    L(x) = log max_y P(y, x | x) Q(x, y)^α         objective "viterbi"
    L(x) = log Σ_y  P(y, x | x) Q(x, y)^α          objective "likelihood"

and learning maximizes Σ_x L(x) - λ (sentences / batch) |w|₁: the penalty is λ for each batch's sum of L(x),
since the paper does not say what its λ, .5 to 2.5, is weighed against.

A round improves w with θ fixed, then θ with w fixed, `passes` times each:

    w   a pass of steps over batches in a new order, each along the sum of
            f(y*) - E[f | P(y | x)]           "viterbi": y* the best tree of encoder, decoder and rules
            E[f | P(y | x, x, Q)] - E[f | P(y | x)]           "likelihood"
        by proximal AdaGrad (`ProximalAdagrad`)
    θ   an EM step: θ[t | h] = (count of arcs h → t in the trees y* (expected, "likelihood") + s) / total
        which never lowers the objective, except for the smoothing s

At first w = 0, and θ comes from `near_arcs`, after [klein-2004]. With init "both", w also makes a pass of
steps towards these arcs. Seeds above 0 multiply the first counts by noise, for restarts.

Σ_j w·f + log θ + α [rule] is a sum over arcs, so the model is an `ArcModel`, and parsing is exact. A pass
takes O(n³) per sentence: one argmax and one inside-outside pass (or determinant).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from arbora import inference
from arbora.induction.arc_model import ROOT, ArcModel, ArcSet, CorpusArcs, is_arc, pair_table
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import Inducer, Learned, as_arcs, best_heads
from arbora.induction.rules import Rules
from arbora.interfaces import Trees
from arbora.settings import parameter
from arbora.types import Doubles, Longs

NOISE = 0.2  # The standard deviation of the log of the noise on the first counts
FLOOR = 1e-8  # δ of AdaGrad: keeps the first step of a weight finite


@dataclass(frozen=True, kw_only=True)
class CrfAutoencoder(Inducer):
    """CRF autoencoder: a log-linear parser learns trees from which a table of pairs predicts the tags.

    Takes rules about which tags depend on which, and needs them for good trees [cai-2017].
    """

    name: ClassVar[str] = "crfae"
    paper: ClassVar[str] = "cai-2017"

    rounds: int = parameter(2, "rounds of improving the encoder, then the decoder", least=1)
    passes: int = parameter(2, "passes over the corpus per round, for each of the two", least=1)
    rate: float = parameter(0.1, "η, the length of the encoder's steps", above=0.0, most=1e6)
    l1: float = parameter(0.5, "λ, the weight of |w|₁ against a batch's sum of log P", least=0.0, most=1e6)
    prior: float = parameter(9.0, "bonus of an arc that follows a rule (α)", least=0.0, most=1e6)
    objective: Literal["viterbi", "likelihood"] = parameter(
        "viterbi", "viterbi maximizes the probability of best trees, likelihood of all trees"
    )
    trees: Trees = parameter("projective", "whether arcs may cross")
    init: Literal["decoder", "both", "none"] = parameter("decoder", "what starts with near words as heads")
    batch: int = parameter(200, "sentences per step", least=1)
    smoothing: float = parameter(1e-8, "s, added to counts of the decoder", above=0.0, most=1e6)

    def learn(self, corpus: TagCorpus, rules: Rules, seed: int, threads: int) -> Iterator[Learned]:
        """Objectives are per word, and comparable under the same rules; `nonzero` is a share of weights."""
        run = Run(self, corpus, rules, seed, threads)
        run.initialize()
        for _ in range(self.rounds):
            for _ in range(self.passes):
                run.improve_encoder()
            for _ in range(self.passes):
                run.improve_decoder()
            nonzero = float(np.count_nonzero(run.weights) / max(1, len(run.weights)))
            yield Learned(run.objective(), run.model, {"nonzero": nonzero})


class Run:
    """Encoder and decoder while learning."""

    def __init__(
        self, options: CrfAutoencoder, corpus: TagCorpus, rules: Rules, seed: int = 0, threads: int = 1
    ) -> None:
        self.options = options
        self.arcs = CorpusArcs(corpus)
        self.decoder: Doubles = np.full((self.arcs.tags + 1, self.arcs.tags), 1.0 / self.arcs.tags)
        """θ, [head, dependent]; the last row is the root's."""
        self.weights: Doubles = np.zeros(self.arcs.size)  # w, of the features of `arcs`
        self._steps = ProximalAdagrad(self.weights, options.rate)
        self._prior = options.prior * rules.table(corpus.tags)
        self._is_viterbi = options.objective == "viterbi"
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._family: Any = {"trees": options.trees, "threads": threads}

    def model(self) -> ArcModel:
        return self.arcs.model(self.weights, self.pairs(), self.options.trees)

    def pairs(self) -> Doubles:
        """log θ + α [rule], for `ArcModel`."""
        return pair_table(np.log(self.decoder) + self._prior)

    def initialize(self) -> None:
        table = np.ones_like(self.decoder)
        if self.options.init != "none":
            table = self._counts(lambda each: near_arcs(each.length))
        if self._seed:
            table *= np.exp(NOISE * self._rng.normal(size=table.shape))
        self._estimate(table)
        if self.options.init == "both":
            self.improve_encoder(lambda each, encoder: near_arcs(each.length))

    def improve_encoder(self, target: Target | None = None) -> None:
        """Step over all batches, in a new order, towards the arcs that `target` gives."""
        target = target or self._target()
        order = self._rng.permutation(len(self.arcs.corpus))
        for at in range(0, len(order), self.options.batch):
            chosen = order[at : at + self.options.batch]
            # The last batch may be smaller, and with it its share of the penalty.
            penalty = self.options.l1 * len(chosen) / self.options.batch
            self._steps.step(self.gradient(chosen, target), penalty)

    def improve_decoder(self) -> None:
        target = self._target()
        self._estimate(self._counts(lambda each: target(each, each.scores(self.weights))))

    def objective(self) -> float:
        total = sum(self.log_likelihood(each) for each in self.arcs.sets())
        penalty = self.options.l1 * len(self.arcs.corpus) / self.options.batch * np.abs(self.weights).sum()
        return float((total - penalty) / self.arcs.corpus.words)

    def log_likelihood(self, each: ArcSet) -> float:
        """Σ L(x) of a set of sentences."""
        encoder = each.scores(self.weights)
        joint = encoder + each.pairs(self.pairs())
        tops = joint[self._wanted(joint) > 0] if self._is_viterbi else self._log_sums(joint)
        return float(tops.sum() - self._log_sums(encoder).sum())

    def _log_sums(self, scores: Doubles) -> Doubles:
        return inference.log_partition(list(scores), **self._family)

    def _marginals(self, scores: Doubles) -> Doubles:
        return np.stack(inference.marginals(list(scores), **self._family))

    def _target(self) -> Target:
        """The wanted arcs by encoder, decoder and rules together."""
        pairs = self.pairs()
        return lambda each, encoder: self._wanted(encoder + each.pairs(pairs))

    def gradient(self, chosen: Longs | None = None, target: Target | None = None) -> Doubles:
        """Features of wanted arcs minus the encoder's expectation; by default the gradient of Σ L(x) by w."""
        target = target or self._target()
        found = np.zeros(self.arcs.size)
        for each in self.arcs.sets(chosen):
            encoder = each.scores(self.weights)
            each.add_features(target(each, encoder) - self._marginals(encoder), found)
        return found

    def _wanted(self, scores: Doubles) -> Doubles:
        """Arcs of the best trees, or expected arcs."""
        return as_arcs(best_heads(scores, **self._family)) if self._is_viterbi else self._marginals(scores)

    def _counts(self, arcs: Callable[[ArcSet], Doubles]) -> Doubles:
        """How often each pair of tags is an arc, as in `decoder`; `arcs`: how often each arc is there."""
        counts = np.zeros((self.arcs.features.symbols, self.arcs.features.symbols))
        for each in self.arcs.sets():
            each.add_pairs(np.broadcast_to(arcs(each), each.shape), counts)
        tags = self.arcs.tags
        return counts[[*range(tags), tags + ROOT], :tags]

    def _estimate(self, counts: Doubles) -> None:
        smoothed = counts + self.options.smoothing
        self.decoder = smoothed / smoothed.sum(axis=1, keepdims=True)


Target: TypeAlias = Callable[[ArcSet, Doubles], Doubles]
"""From sentences and the encoder's scores to how often each arc is wanted, (m, n+1, n+1)."""


class ProximalAdagrad:
    """AdaGrad steps with a penalty |w|₁, FOBOS [duchi-2011]. To maximize f(w) - λ|w|₁ with a gradient g of f:

        G_j ← G_j + g_j²        η_j = η / (δ + √G_j)
        w_j ← argmin_v  (v - u)² / 2 + η_j λ |v|  =  sign(u) max(0, |u| - η_j λ),     u = w_j + η_j g_j

    Weights that do not earn their penalty become exactly 0.
    """

    def __init__(self, weights: Doubles, rate: float) -> None:
        self.weights = weights
        self.rate = rate
        self._squares = np.zeros(len(weights))

    def step(self, gradient: Doubles, penalty: float) -> None:
        """Move the weights in place."""
        self._squares += gradient**2
        rates = self.rate / (FLOOR + np.sqrt(self._squares))
        moved = self.weights + rates * gradient
        # A weight without any gradient yet stays 0: its rate is large, but moved is 0.
        self.weights[:] = np.sign(moved) * np.maximum(0.0, np.abs(moved) - rates * penalty)


@lru_cache(maxsize=256)
def near_arcs(n: int) -> Doubles:
    """Expected arcs given a length, (n+1, n+1), read-only: roots 1/n, others in proportion to 1/distance."""
    nodes = np.arange(n + 1)
    found: Doubles = is_arc(n) / np.maximum(1, np.abs(nodes[:, None] - nodes))
    found[0] = 0.0
    found *= (1.0 - 1.0 / n) / np.maximum(found.sum(axis=0), 1e-300)
    found[0, 1:] = 1.0 / n
    found.setflags(write=False)
    return found
