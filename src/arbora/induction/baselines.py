"""Baselines without learning, which every inducer must beat.

All are first-order models over tags. All except `random` give the same trees for every seed. `random_heads`
draws each tree of a sentence with equal probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arbora import inference
from arbora.errors import InputError
from arbora.induction.arc_model import DISTANCES, ArcFeatures, ArcModel, pair_table
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import Inducer, Learned
from arbora.induction.rules import Rules
from arbora.interfaces import Roots, Trees
from arbora.types import Doubles, Ints


@dataclass(frozen=True, kw_only=True)
class _Baseline(Inducer):
    paper: ClassVar[str] = "klein-2004"
    rule_weight: ClassVar[float] = 0.0  # Bonus of an arc that follows a rule
    direction: ClassVar[int] = 0  # Of arcs between neighbours: 0 to the right, 1 to the left

    def learn(self, corpus: TagCorpus, rules: Rules, seed: int, threads: int) -> Iterator[Learned]:
        if self.rule_weight and not rules.pairs:
            raise InputError(f"{self.name}: expected rules, got none; give some, or choose another baseline")
        tags = corpus.tags
        weights = np.zeros(ArcFeatures(len(tags)).size)
        # A view of the first template's weights. The distance from the root means nothing, so it is left out.
        heads = weights[: (len(tags) + 1) * DISTANCES * 2].reshape(-1, DISTANCES, 2)
        self.set_weights(weights, heads, seed)
        pairs = pair_table(self.rule_weight * rules.table(tags))
        yield Learned(0.0, lambda: ArcModel(tags=tags, weights=weights, pairs=pairs))

    def set_weights(self, weights: Doubles, heads: Doubles, seed: int) -> None:
        """Set the weights of all features; `heads` is a view, [tag of the head, distance, direction]."""
        heads[:, 0, self.direction] = 1.0


class LeftBranching(_Baseline):
    """Each word's head is the next word; the last word is the root."""

    name: ClassVar[str] = "left-branching"
    direction: ClassVar[int] = 1


class RightBranching(_Baseline):
    """Each word's head is the word before; the first word is the root."""

    name: ClassVar[str] = "right-branching"


class NearestRule(_Baseline):
    """The best tree where arcs that follow a rule come before all others, and short ones before long ones."""

    name: ClassVar[str] = "nearest-rule"
    rule_weight: ClassVar[float] = 16.0  # More than the longest arc loses

    def set_weights(self, weights: Doubles, heads: Doubles, seed: int) -> None:
        heads[:] = -np.arange(DISTANCES)[:, None]


class RandomWeights(_Baseline):
    """One random weight per feature of arcs: an untrained parser."""

    name: ClassVar[str] = "random"

    def set_weights(self, weights: Doubles, heads: Doubles, seed: int) -> None:
        weights[:] = np.random.default_rng(seed).normal(size=len(weights))


def random_heads(
    sentences: Sequence[Ints], *, seed: int = 0, trees: Trees = "projective", roots: Roots = "single"
) -> list[Ints]:
    """Draw a tree per sentence, each with equal probability: heads of its words, (n,)."""
    scores = [np.zeros((len(tags) + 1, len(tags) + 1)) for tags in sentences]
    drawn = inference.sample(scores, 1, seed=seed, trees=trees, roots=roots)
    return [one.heads[1:] for [one] in drawn]
