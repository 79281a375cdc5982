"""Neural DMV: the dependency model with valence, its probabilities predicted by a small network [jiang-2016].

A choice is made by a head's tag on one side, with or without a dependent there. The network sees the tag and
the valence as learned vectors, the side by its own matrix:

    hidden = ReLU(W_side [tag; valence] + b_side)
    P(dependent) = softmax(hidden · vectors of dependents),   P(stop or go on) = softmax(hidden · two vectors)

so that tags that behave alike share what is learned. As in `arbora.induction.dmv`, choices are counted under
the model (all trees, or the best ones); the network is then trained on these counts for some steps, from
where it was, which replaces dividing them by their sums. Roots are estimated from counts as there.

The objective is the log-likelihood per word (of the sentences, or of the best trees); with rules, trees count
as in `arbora.induction.dmv`. As the steps do not reach the maximum, it may fall a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from arbora.induction._valence_em import Climb
from arbora.induction.corpus import TagCorpus
from arbora.induction.harmonic import STARTS, harmonic_counts
from arbora.induction.interfaces import Induced, Watch
from arbora.induction.rules import Rules
from arbora.induction.valence_counts import Counts, Sentences, bonus_of
from arbora.induction.valence_model import ValenceModel
from arbora.learners._parameters import Configured, parameter
from arbora.types import Doubles

Weights: TypeAlias = dict[str, Doubles]

EITHER = 2
"""Valence of a choice that does not know it; after NONE_YET and HAS_ONE."""
ROOT_SMOOTHING = 0.1
"""Added to roots' counts."""


@dataclass(frozen=True, kw_only=True)
class NeuralDmv(Configured):
    """The same with probabilities that a small network predicts from vectors of tags [jiang-2016]."""

    name: ClassVar[str] = "neural-dmv"
    paper: ClassVar[str] = "jiang-2016"

    mode: str = parameter("em", "count all trees, or the best ones", choices=("em", "viterbi"))
    rounds: int = parameter(100, "at most so many", least=1)
    tolerance: float = parameter(1e-4, "stop where the objective changes less", least=0.0)
    tag_size: int = parameter(10, "length of tags' vectors", least=1)
    valence_size: int = parameter(5, "length of valences' vectors", least=1)
    hidden: int = parameter(15, "hidden units", least=1)
    first_steps: int = parameter(500, "training steps on the first counts", least=1)
    steps: int = parameter(10, "training steps per round", least=1)
    rate: float = parameter(0.01, "how far a step goes (Adam)", above=0.0, most=0.1)
    child_valence: str = parameter(
        "no", "whether a dependent's tag depends on whether its head has one already", choices=("no", "yes")
    )
    constant: float = parameter(0.0, "first arcs are as frequent as 1 / (distance + constant)", least=0.0)
    first_stops: str = parameter(
        "even", "how often heads stop at first: every other time, or as those arcs say", choices=STARTS
    )
    prior: float = parameter(1.0, "weight of each arc that a rule has, where rules are given", least=0.0)

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn; the seed says where the network starts, and beyond 0 adds noise to the first counts."""
        sentences = Sentences(corpus, self.name)
        network = Network(
            len(corpus.tags), self.tag_size, self.valence_size, self.hidden, self.child_valence == "yes", seed
        )
        adam = Adam(self.rate)
        steps = iter([self.first_steps])

        def estimate(counts: Counts) -> ValenceModel:
            for _ in range(next(steps, self.steps)):
                adam.step(network.weights, network.gradient(counts))
            return network.model(corpus.tags, counts)

        climb = Climb(
            best_only=self.mode == "viterbi",
            rounds=self.rounds,
            tolerance=self.tolerance,
            bonus=bonus_of(rules, self.prior, corpus.tags),
            threads=threads,
            watch=watch,
        )
        start = harmonic_counts(sentences, self.constant, self.first_stops == "even", seed)
        return climb.run(sentences, start, estimate, lambda _: 0.0)


class Network:
    """Weights, and what they predict for all choices at once."""

    def __init__(
        self, tags: int, tag_size: int, valence_size: int, hidden: int, child_valence: bool, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        self.tags = tags
        self._child_valences = [0, 1] if child_valence else [EITHER]
        inputs = tag_size + valence_size
        self.weights: Weights = {
            "tag": rng.normal(size=(tags, tag_size)),
            "valence": rng.normal(size=(3, valence_size)),
            "side": rng.normal(size=(2, inputs, hidden)) * np.sqrt(2 / inputs),
            "bias": np.zeros((2, hidden)),
            "child": rng.normal(size=(hidden, tags)) * np.sqrt(1 / hidden),
            "decision": rng.normal(size=(hidden, 2)) * np.sqrt(1 / hidden),
        }

    def model(self, tags: tuple[str, ...], counts: Counts) -> ValenceModel:
        """Predicted probabilities; only the root's come from counts."""
        _, hidden = self._hidden()
        child = _log_softmax(hidden[:, :, self._child_valences] @ self.weights["child"])
        decisions = _log_softmax(hidden[:, :, :EITHER] @ self.weights["decision"])
        root = counts.root + ROOT_SMOOTHING
        return ValenceModel(
            tags=tags,
            root=np.log(root / root.sum()),
            child=np.broadcast_to(child, counts.child.shape).copy(),
            stop=decisions[..., 0].copy(),
            go_on=decisions[..., 1].copy(),
        )

    def loss(self, counts: Counts) -> float:
        """-log-likelihood of the counts (but for the root's), per choice."""
        _, hidden = self._hidden()
        child, decisions = self._targets(counts)
        logs = [
            _log_softmax(hidden[:, :, self._child_valences] @ self.weights["child"]),
            _log_softmax(hidden[:, :, :EITHER] @ self.weights["decision"]),
        ]
        total = float((child * logs[0]).sum() + (decisions * logs[1]).sum())
        return -total / (float(decisions.sum()) or 1.0)

    def gradient(self, counts: Counts) -> Weights:
        w = self.weights
        inputs, hidden = self._hidden()
        child, decisions = self._targets(counts)
        size = float(decisions.sum()) or 1.0
        for_child, for_decision = hidden[:, :, self._child_valences], hidden[:, :, :EITHER]
        child_error = _errors(for_child @ w["child"], child) / size
        decision_error = _errors(for_decision @ w["decision"], decisions) / size
        back = np.zeros_like(hidden)
        back[:, :, self._child_valences] += child_error @ w["child"].T
        back[:, :, :EITHER] += decision_error @ w["decision"].T
        back *= hidden > 0
        to_inputs = np.einsum("tsvh,sih->tsvi", back, w["side"])
        tag_size = w["tag"].shape[1]
        return {
            "tag": to_inputs[..., :tag_size].sum(axis=(1, 2)),
            "valence": to_inputs[..., tag_size:].sum(axis=(0, 1)),
            "side": np.einsum("tvi,tsvh->sih", inputs, back),
            "bias": back.sum(axis=(0, 2)),
            "child": np.einsum("tsvh,tsvc->hc", for_child, child_error),
            "decision": np.einsum("tsvh,tsvc->hc", for_decision, decision_error),
        }

    def _hidden(self) -> tuple[Doubles, Doubles]:
        """Inputs [tag, valence, i], and hidden units [tag, side, valence, h]."""
        w = self.weights
        t, v = self.tags, len(w["valence"])
        inputs = np.concatenate(
            [
                np.broadcast_to(w["tag"][:, None], (t, v, w["tag"].shape[1])),
                np.broadcast_to(w["valence"][None], (t, v, w["valence"].shape[1])),
            ],
            axis=-1,
        )
        return inputs, np.maximum(np.einsum("tvi,sih->tsvh", inputs, w["side"]) + w["bias"][:, None], 0.0)

    def _targets(self, counts: Counts) -> tuple[Doubles, Doubles]:
        """Counts of dependents [tag, side, valence, child], and of [..., stop or go on]."""
        child = counts.child
        if len(self._child_valences) == 1:
            child = child.sum(axis=2, keepdims=True)
        return child, np.stack([counts.stop, counts.go_on], axis=-1)


class Adam:
    """Steps against a gradient, each weight's as long as it is sure of its direction [kingma-2015]."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._taken = 0
        self._mean: Weights = {}
        self._square: Weights = {}

    def step(self, weights: Weights, gradient: Weights) -> None:
        self._taken += 1
        first, second = 1 - 0.9**self._taken, 1 - 0.999**self._taken
        for name, slope in gradient.items():
            mean = self._mean[name] = 0.9 * self._mean.get(name, np.zeros_like(slope)) + 0.1 * slope
            square = 0.999 * self._square.get(name, np.zeros_like(slope)) + 0.001 * slope**2
            self._square[name] = square
            weights[name] -= self.rate * (mean / first) / (np.sqrt(square / second) + 1e-8)


def _log_softmax(scores: Doubles) -> Doubles:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _errors(scores: Doubles, counts: Doubles) -> Doubles:
    """The slope of -Σ counts · log softmax(scores)."""
    return np.exp(_log_softmax(scores)) * counts.sum(axis=-1, keepdims=True) - counts
