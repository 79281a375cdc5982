"""The small interfaces that the pieces of Arbora meet at: all that a contributor must read.

A family is a set of trees with a score for each part of a tree. Whoever asks it something needs to know
only what stands here: which parts it scores, which questions it answers, what the answers look like.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Trees: TypeAlias = Literal["projective", "nonprojective"]
Roots: TypeAlias = Literal["single", "multi"]

ROOTS: tuple[Roots, ...] = ("single", "multi")


class PartKind(StrEnum):
    """A kind of part that a tree's score is a sum over; its value is its name in `arbora.inference`."""

    ARC = "arcs"  # [head, dep]
    SIBLING = "siblings"  # [head, dep, sibling]
    GRANDPARENT = "grandparents"  # [grandparent, head, dep]
    GRANDSIBLING = "grandsiblings"  # [grandparent, head, dep, sibling]

    @property
    def axes(self) -> int:
        """How many axes an array of scores has, each of length n+1."""
        return {PartKind.ARC: 2, PartKind.GRANDSIBLING: 4}.get(self, 3)


class Query(StrEnum):
    """A question about a weighted set of trees; its value is the name of the method that answers it."""

    ARGMAX = "argmax"
    KBEST = "kbest"
    LOG_PARTITION = "log_partition"
    MARGINALS = "marginals"
    SAMPLE = "sample"


PartScores: TypeAlias = Mapping[PartKind, NDArray[Any]]
"""One array per kind of part, of shape `(n+1,) * kind.axes`; conventions as in `arbora.inference`."""

PartMarginals: TypeAlias = dict[PartKind, NDArray[np.float64]]


class ScoredTree(Protocol):
    """A tree with its score: `heads` (n+1,), `heads[0] == -1`."""

    @property
    def heads(self) -> NDArray[np.int32]: ...  # noqa: D102

    @property
    def score(self) -> float: ...  # noqa: D102


class Family(Protocol):
    """A set of trees; knows nothing of words, features or learning.

    Kinds of parts other than arcs may be left out of `scores`: they then count 0, and have no marginals.
    A query that is neither in `queries` nor in `approximate` raises `InputError`; scores that leave no tree,
    `NoTreeError`. No array is ever written to.
    """

    @property
    def name(self) -> str:
        """The name in the registry."""

    @property
    def trees(self) -> Trees:
        """Whether arcs may cross."""

    @property
    def roots(self) -> Roots:
        """Whether exactly one word hangs on node 0."""

    @property
    def parts(self) -> tuple[PartKind, ...]:
        """What may be scored, arcs first."""

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered exactly."""

    @property
    def approximate(self) -> frozenset[Query]:
        """What is answered, but not exactly."""

    def argmax(self, scores: PartScores) -> ScoredTree:
        """The best tree."""

    def kbest(self, scores: PartScores, k: int) -> list[ScoredTree]:
        """The k best trees, best first, all different; all of them where fewer exist."""

    def log_partition(self, scores: PartScores) -> float:
        """The log of the sum of exp(score) over all trees."""

    def marginals(self, scores: PartScores) -> PartMarginals:
        """The probability of each part, in arrays shaped as the scores: the gradient of `log_partition`."""

    def sample(self, scores: PartScores, k: int, *, seed: int = 0) -> list[ScoredTree]:
        """`k` independent random trees; one seed gives one result."""
