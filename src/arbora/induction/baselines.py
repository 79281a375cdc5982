"""Baselines that learn nothing: what every inducer must beat.

left-branching     each word's head is the next word, the last word is the root
right-branching    each word's head is the word before, the first word is the root
nearest-rule       the best tree where an arc that follows a rule counts more than any other, and a short arc
                   more than a long one
random             one random weight per feature of arcs

All are first-order models over tags. All except `random` give the same trees for every seed. `random_heads`
draws each tree of a sentence with equal probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from arbora import inference
from arbora.errors import InputError
from arbora.induction.arc_model import DISTANCES, ArcFeatures, ArcModel, no_pairs, rule_pairs
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import Inducer, Learned
from arbora.induction.rules import Rules
from arbora.interfaces import Roots, Trees
from arbora.types import Doubles, Ints

FOLLOWED = 16.0  # What an arc that follows a rule gains in nearest-rule: more than the longest arc loses


@dataclass(frozen=True, kw_only=True)
class _Baseline(Inducer):
    paper: ClassVar[str] = "klein-2004"

    @abstractmethod
    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel: ...

    def learn(self, corpus: TagCorpus, rules: Rules | None, seed: int, threads: int) -> Iterator[Learned]:
        yield Learned(0.0, partial(self.model, corpus.tags, rules, seed))


@dataclass(frozen=True, kw_only=True)
class LeftBranching(_Baseline):
    """Each word's head is the next word; the last word is the root."""

    name: ClassVar[str] = "left-branching"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        return ArcModel(tags=tags, weights=_neighbours(len(tags), leftward=True), pairs=no_pairs(len(tags)))


@dataclass(frozen=True, kw_only=True)
class RightBranching(_Baseline):
    """Each word's head is the word before; the first word is the root."""

    name: ClassVar[str] = "right-branching"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        return ArcModel(tags=tags, weights=_neighbours(len(tags), leftward=False), pairs=no_pairs(len(tags)))


@dataclass(frozen=True, kw_only=True)
class NearestRule(_Baseline):
    """The best tree where arcs that follow a rule come before all others, and short ones before long ones."""

    name: ClassVar[str] = "nearest-rule"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        if rules is None:
            raise InputError("nearest-rule: expected rules, got none; give some, or choose another baseline")
        weights = np.zeros(ArcFeatures(len(tags)).size)
        lengths = -np.arange(DISTANCES, dtype=np.float64)
        # The distance from the root means nothing: only heads that are words pay for distance.
        _heads(weights, len(tags))[: len(tags) + 1] = lengths[:, None]
        return ArcModel(tags=tags, weights=weights, pairs=FOLLOWED * rule_pairs(rules, tags))


@dataclass(frozen=True, kw_only=True)
class RandomWeights(_Baseline):
    """One random weight per feature of arcs: a parser that has learned nothing."""

    name: ClassVar[str] = "random"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        weights = np.random.default_rng(seed).normal(size=ArcFeatures(len(tags)).size)
        return ArcModel(tags=tags, weights=weights, pairs=no_pairs(len(tags)))


def random_heads(
    sentences: Sequence[Ints], *, seed: int = 0, trees: Trees = "projective", roots: Roots = "single"
) -> list[Ints]:
    """Draw a tree per sentence, each with equal probability: heads of its words, (n,)."""
    scores = [np.zeros((len(tags) + 1, len(tags) + 1)) for tags in sentences]
    drawn = inference.sample(scores, 1, seed=seed, trees=trees, roots=roots)
    return [one.heads[1:] for [one] in drawn]


def _heads(weights: Doubles, tags: int) -> Doubles:
    """A view of the first template's weights: [head's symbol, distance, direction]."""
    symbols = ArcFeatures(tags).symbols
    return weights[: symbols * DISTANCES * 2].reshape(symbols, DISTANCES, 2)


def _neighbours(tags: int, *, leftward: bool) -> Doubles:
    """Weights that give 1 to arcs between neighbouring words in one direction."""
    weights = np.zeros(ArcFeatures(tags).size)
    _heads(weights, tags)[: tags + 1, 0, int(leftward)] = 1.0
    return weights
