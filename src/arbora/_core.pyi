"""Native core of Arbora."""

import enum
from typing import Any

import numpy
import numpy.typing


class Trees(enum.Enum):
    projective = 0

    nonprojective = 1

class Roots(enum.Enum):
    single = 0

    multi = 1

def argmax(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]:
    """
    The best tree of each sentence, one after the other: heads, labels, scores.
    """

def kbest(arcs: list[numpy.typing.NDArray[numpy.float64]], k: int, siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> list[tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]]:
    """The k best trees, best first, for each sentence."""

def log_partition(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> numpy.typing.NDArray[numpy.float64]:
    """log Z of each sentence."""

def marginals(arcs: list[numpy.typing.NDArray[numpy.float64]], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> list[tuple[Any, Any, Any, Any]]:
    """
    P(part) for each sentence: arcs (or arcs and labels), siblings, grandparents, grandsiblings.
    """

def sample(arcs: list[numpy.typing.NDArray[numpy.float64]], count: int, seed: int, siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None, trees: Trees, roots: Roots, threads: int) -> tuple[numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32] | None, numpy.typing.NDArray[numpy.float64]]:
    """Independent random trees of each sentence, one after the other."""

def word_scores(arcs: numpy.typing.NDArray[numpy.float64], heads: list[int], siblings: list[numpy.typing.NDArray[numpy.float64]] | None, grandparents: list[numpy.typing.NDArray[numpy.float64]] | None, grandsiblings: list[numpy.typing.NDArray[numpy.float64]] | None) -> numpy.typing.NDArray[numpy.float64]:
    """
    The sum of the scores of each word's own parts in a tree, for one unlabelled sentence.
    """

def in_family(heads: list[int], trees: Trees, roots: Roots) -> bool:
    """Is this a tree of the family? Heads lie in 0..n."""

def instruction_set() -> str:
    """The vector instructions that inference uses here."""
