"""A pruner: a small first-order model that leaves each word a few heads, so that a parser has less to do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded, KeptArcs
from arbora.errors import InputError
from arbora.interfaces import Roots
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.scorers.linear import LARGEST_TABLE, SMALLEST_TABLE

MOST_KEPT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PrunerSettings:
    """A small first-order model that leaves each word a few heads."""

    features: str = "pruner-v1"
    bits: int = 18
    keep: int = 12
    """Heads per word at most, besides the word before it."""
    within: float = 2.5
    """Only heads whose score is this near to the best one's."""

    def __post_init__(self) -> None:
        if not SMALLEST_TABLE <= self.bits <= LARGEST_TABLE:
            raise InputError(f"bits: expected {SMALLEST_TABLE} to {LARGEST_TABLE}, got {self.bits!r}")
        if not 1 <= self.keep <= MOST_KEPT:
            raise InputError(f"keep: expected 1 to {MOST_KEPT} heads per word, got {self.keep!r}")
        if not 0 <= self.within < math.inf:
            raise InputError(f"within: expected a finite number of at least 0, got {self.within!r}")


class Pruner:
    """Leaves each word a few heads; O(n²) per sentence, at a fraction of a parser's cost per arc."""

    def __init__(self, settings: PrunerSettings, weights: NDArray[np.float32]) -> None:
        self.settings = settings
        self.weights = weights
        self.scorer = pruner_scorer(settings)

    def prune(self, sentences: Encoded, threads: int = 1) -> KeptArcs:
        """The arcs that are kept of every sentence."""
        s = self.settings
        return self.scorer.native.prune(sentences, self.weights, s.keep, s.within, threads)


def pruner_scorer(settings: PrunerSettings, roots: Roots = "single") -> LinearScorer:
    """The scorer of a pruner: arcs alone, any tree. `roots` matters only while it learns."""
    shape = GraphSettings(
        trees="nonprojective",
        roots=roots,
        order=1,
        labels="none",
        features=settings.features,
        tree_bits=settings.bits,
    )
    return LinearScorer(shape, features.create(settings.features))
