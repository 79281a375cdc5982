"""Trees for which nothing is learned: what every way of learning must beat.

left-branching     each word's head is the next word, the last word is the root
right-branching    each word's head is the word before, the first word is the root
nearest-rule       the best tree where an arc that follows a rule counts more than any other, a short one more
                   than a long one
random             one random weight per feature of arcs: a parser that has learned nothing

All are first-order models over tags, as those that are learned, and all but `random` give the same trees
whatever the seed. For random trees in which each tree is as likely as any other, see `random_heads`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arbora import inference
from arbora.errors import InputError
from arbora.induction.arc_model import ArcModel, no_pairs
from arbora.induction.convex_mst import rule_pairs
from arbora.induction.corpus import TagCorpus
from arbora.induction.features import DISTANCES, ArcFeatures
from arbora.induction.interfaces import Induced, Round, Watch
from arbora.induction.rules import Rules
from arbora.interfaces import Roots, StopTraining, Trees
from arbora.learners._parameters import Configured
from arbora.types import Doubles, Ints

FOLLOWED = 16.0
"""What an arc that follows a rule gains in nearest-rule: more than the longest of arcs loses."""


@dataclass(frozen=True, kw_only=True)
class _Baseline(Configured, ABC):
    paper: ClassVar[str] = "klein-2004"

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """The model; what it scores does not depend on sentences, only on their tags' names."""
        del threads
        start = time.perf_counter()
        model = self.model(corpus.tags, rules, seed)
        done = Round(1, 0.0, time.perf_counter() - start)
        try:
            if watch is not None:
                watch(done, model)
        except StopTraining:
            pass
        return Induced(model, (done,))

    @abstractmethod
    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        """The model for such tags."""


@dataclass(frozen=True, kw_only=True)
class LeftBranching(_Baseline):
    """Each word's head is the next word; the last word is the root."""

    name: ClassVar[str] = "left-branching"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        del rules, seed
        return ArcModel(tags=tags, weights=_neighbours(len(tags), leftward=True), pairs=no_pairs(len(tags)))


@dataclass(frozen=True, kw_only=True)
class RightBranching(_Baseline):
    """Each word's head is the word before; the first word is the root."""

    name: ClassVar[str] = "right-branching"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        del rules, seed
        return ArcModel(tags=tags, weights=_neighbours(len(tags), leftward=False), pairs=no_pairs(len(tags)))


@dataclass(frozen=True, kw_only=True)
class NearestRule(_Baseline):
    """The best tree where arcs that follow a rule come before all others, and short ones before long ones."""

    name: ClassVar[str] = "nearest-rule"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        del seed
        if rules is None:
            raise InputError("nearest-rule: expected rules, got none; give some, or choose another baseline")
        weights = np.zeros(ArcFeatures(len(tags)).size)
        lengths = -np.arange(DISTANCES, dtype=np.float64)
        # How far the root is from a word says nothing: only heads that are words are charged for distance.
        _heads(weights, len(tags))[: len(tags) + 1] = lengths[:, None]
        return ArcModel(tags=tags, weights=weights, pairs=FOLLOWED * rule_pairs(rules, tags))


@dataclass(frozen=True, kw_only=True)
class RandomWeights(_Baseline):
    """One random weight per feature of arcs: a parser that has learned nothing."""

    name: ClassVar[str] = "random"

    def model(self, tags: tuple[str, ...], rules: Rules | None, seed: int) -> ArcModel:
        del rules
        size = ArcFeatures(len(tags)).size
        return ArcModel(
            tags=tags, weights=np.random.default_rng(seed).normal(size=size), pairs=no_pairs(len(tags))
        )


def random_heads(
    sentences: Sequence[Ints], *, seed: int = 0, trees: Trees = "projective", roots: Roots = "single"
) -> list[Ints]:
    """A random tree per sentence, each tree as likely as any other: heads of its words, (n,)."""
    scores = [np.zeros((len(tags) + 1, len(tags) + 1)) for tags in sentences]
    drawn = inference.sample(scores, 1, seed=seed, trees=trees, roots=roots)
    return [one.heads[1:] for [one] in drawn]


def _heads(weights: Doubles, tags: int) -> Doubles:
    """The weights of the first template, a view: [head's symbol, distance, direction]."""
    symbols = ArcFeatures(tags).symbols
    return weights[: symbols * DISTANCES * 2].reshape(symbols, DISTANCES, 2)


def _neighbours(tags: int, *, leftward: bool) -> Doubles:
    """Weights that give 1 to arcs between neighbours in one direction whose head is a word."""
    weights = np.zeros(ArcFeatures(tags).size)
    _heads(weights, tags)[: tags + 1, 0, int(leftward)] = 1.0
    return weights
