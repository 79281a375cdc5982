"""Neural DMV: the dependency model with valence, its probabilities predicted by a small network [jiang-2016].

A head's tag makes a choice on one side, with or without a dependent there. The network sees tag and valence
as learned vectors, and each side has a matrix of its own:

    hidden = ReLU(W_side [tag; valence] + b_side)
    P(dependent) = softmax(hidden · vectors of dependents),   P(stop or go on) = softmax(hidden · two vectors)

so that tags that behave alike share what is learned. As in `arbora.induction.dmv`, choices are counted under
the model (all trees, or the best ones). Then the network is trained on these counts for some steps, from
where it was; this replaces dividing counts by their sums. Roots are estimated from counts as there.

The objective is the log-likelihood per word (of the sentences, or of the best trees). It may fall a little,
because the steps do not reach the maximum. Rules work as in `arbora.induction.dmv`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from arbora.induction.dmv import ValenceInducer
from arbora.induction.valence_model import HAS_ONE, NONE_YET, Counts, ValenceModel
from arbora.settings import parameter
from arbora.types import Doubles

Weights: TypeAlias = dict[str, Doubles]

EITHER = 2  # The valence of a choice that ignores it; after NONE_YET and HAS_ONE
ROOT_SMOOTHING = 0.1  # Added to counts of roots


@dataclass(frozen=True, kw_only=True)
class NeuralDmv(ValenceInducer):
    """The same with probabilities that a small network predicts from vectors of tags [jiang-2016]."""

    name: ClassVar[str] = "neural-dmv"
    paper: ClassVar[str] = "jiang-2016"

    tag_size: int = parameter(10, "length of tags' vectors", least=1)
    valence_size: int = parameter(5, "length of valences' vectors", least=1)
    hidden: int = parameter(15, "hidden units", least=1)
    first_steps: int = parameter(500, "training steps on the first counts", least=1)
    steps: int = parameter(10, "training steps per round", least=1)
    rate: float = parameter(0.01, "length of a step (Adam)", above=0.0, most=0.1)

    def estimator(self, tags: tuple[str, ...], seed: int) -> Callable[[Counts], ValenceModel]:
        """The seed sets the network's first weights."""
        network, steps = Network(len(tags), self, seed), iter([self.first_steps])

        def estimate(counts: Counts) -> ValenceModel:
            for _ in range(next(steps, self.steps)):
                network.step(counts, self.rate)
            return network.model(tags, counts)

        return estimate


class Network:
    """Predicts the probabilities of all choices at once."""

    def __init__(self, tags: int, settings: NeuralDmv, seed: int) -> None:
        rng = np.random.default_rng(seed)
        both = [NONE_YET, HAS_ONE]
        self._valences = {"child": both if settings.child_valence == "yes" else [EITHER], "decision": both}
        inputs, hidden = settings.tag_size + settings.valence_size, settings.hidden
        self.weights: Weights = {
            "tag": rng.normal(size=(tags, settings.tag_size)),
            "valence": rng.normal(size=(3, settings.valence_size)),
            "side": rng.normal(size=(2, inputs, hidden)) * np.sqrt(2 / inputs),
            "bias": np.zeros((2, hidden)),
            "child": rng.normal(size=(hidden, tags)) * np.sqrt(1 / hidden),
            "decision": rng.normal(size=(hidden, 2)) * np.sqrt(1 / hidden),
        }
        self._taken = 0
        self._means: dict[str, tuple[Any, Any]] = dict.fromkeys(self.weights, (0.0, 0.0))

    def model(self, tags: tuple[str, ...], counts: Counts) -> ValenceModel:
        _, hidden = self._hidden()
        child, decisions = (
            _log_softmax(hidden[:, :, valences] @ self.weights[name])
            for name, valences in self._valences.items()
        )
        root = counts.root + ROOT_SMOOTHING
        every_child = np.broadcast_to(child, counts.child.shape).copy()
        return ValenceModel.of(tags, np.log(root / root.sum()), every_child, decisions)

    def step(self, counts: Counts, rate: float) -> None:
        """Train by one step of Adam [kingma-2015]; PyTorch, which has it too, is an optional extra."""
        self._taken += 1
        first, second = 1 - 0.9**self._taken, 1 - 0.999**self._taken
        for name, slope in self.gradient(counts).items():
            mean, square = self._means[name]
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            self._means[name] = mean, square
            self.weights[name] -= rate * (mean / first) / (np.sqrt(square / second) + 1e-8)

    def gradient(self, counts: Counts) -> Weights:
        """That of -log-likelihood of the counts (except the root's), per choice."""
        w = self.weights
        inputs, hidden = self._hidden()
        keeps_valence = len(self._valences["child"]) > 1
        wanted = {
            "child": counts.child if keeps_valence else counts.child.sum(axis=2, keepdims=True),
            "decision": counts.decisions,
        }
        size = float(wanted["decision"].sum()) or 1.0
        back, found = np.zeros_like(hidden), {}
        for name, valences in self._valences.items():
            seen = hidden[:, :, valences]
            predicted = np.exp(_log_softmax(seen @ w[name])) * wanted[name].sum(axis=-1, keepdims=True)
            error = (predicted - wanted[name]) / size
            back[:, :, valences] += error @ w[name].T
            found[name] = np.einsum("tsvh,tsvc->hc", seen, error)
        back *= hidden > 0
        to_inputs = np.einsum("tsvh,sih->tsvi", back, w["side"])
        tag_size = w["tag"].shape[1]
        return {
            "tag": to_inputs[..., :tag_size].sum(axis=(1, 2)),
            "valence": to_inputs[..., tag_size:].sum(axis=(0, 1)),
            "side": np.einsum("tvi,tsvh->sih", inputs, back),
            "bias": back.sum(axis=(0, 2)),
            **found,
        }

    def _hidden(self) -> tuple[Doubles, Doubles]:
        """Inputs [tag, valence, i], and hidden units [tag, side, valence, h]."""
        w = self.weights
        shape = len(w["tag"]), len(w["valence"])
        vectors = (w["tag"][:, None], w["valence"][None])
        inputs = np.concatenate([np.broadcast_to(v, (*shape, v.shape[-1])) for v in vectors], axis=-1)
        return inputs, np.maximum(np.einsum("tvi,sih->tsvh", inputs, w["side"]) + w["bias"][:, None], 0.0)


def _log_softmax(scores: Doubles) -> Doubles:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
