"""Exact tree sums for sentences too long to enumerate, in whole numbers of any size.

What: the number sum over trees of prod 2**power[head, dep], for all four families, and arc
marginals from it, without a single rounding. The caller scores arcs as power * log(2).
Idea: non-projective sums are cofactors of the Laplacian (Tutte's theorem), evaluated by
fraction-free elimination; projective sums are a plain recursion over the spans of a head's
children. A marginal is 1 - Z(without the arc) / Z, as a ratio of whole numbers.
Time: O(n^3) to O(n^4) big-number operations for Z, n^2 times that for all marginals: for n <= 12.
Conventions: those of enumerate_trees; a power of None forbids the arc.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

Powers = list[list[int | None]]


def random_powers(rng: np.random.Generator, n: int, spread: int, forbid: float = 0.0) -> Powers:
    """Random whole powers in [-spread, spread]; each arc forbidden with probability `forbid`."""
    values = rng.integers(-spread, spread + 1, size=(n + 1, n + 1))
    barred = rng.random((n + 1, n + 1)) < forbid
    return [[None if barred[h, d] else int(values[h, d]) for d in range(n + 1)] for h in range(n + 1)]


def to_scores(powers: Powers) -> np.ndarray:
    """Turn powers into scores, power * log(2), -inf where forbidden."""
    return np.array([[-np.inf if p is None else p * math.log(2.0) for p in row] for row in powers])


def tree_sum(powers: Powers, trees: str, roots: str) -> Fraction:
    """Sum of 2**(total power) over the family's trees, exactly."""
    n = len(powers) - 1
    lowest = min((p for row in powers for p in row if p is not None), default=0)
    weights = [[0 if p is None else 1 << (p - lowest) for p in row] for row in powers]
    total = _projective(weights, roots) if trees == "projective" else _spanning(weights, roots)
    return total * Fraction(2) ** (lowest * n)


def log_partition(powers: Powers, trees: str, roots: str) -> float:
    """log of tree_sum, rounded once at the end."""
    total = tree_sum(powers, trees, roots)
    return math.log(total.numerator) - math.log(total.denominator)


def marginals(powers: Powers, trees: str, roots: str) -> np.ndarray:
    """(n + 1, n + 1) arc probabilities, each correctly rounded."""
    total = tree_sum(powers, trees, roots)
    result = np.zeros((len(powers), len(powers)))
    for head, row in enumerate(powers):
        for dep in range(1, len(powers)):
            if head != dep and row[dep] is not None:
                without = [list(other) for other in powers]
                without[head][dep] = None
                result[head, dep] = float(1 - tree_sum(without, trees, roots) / total)
    return result


def _spanning(weights: list[list[int]], roots: str) -> int:
    words = range(1, len(weights))
    laplacian = [[-weights[h][d] if h != d else 0 for d in words] for h in words]
    for column, dep in enumerate(words):
        laplacian[column][column] = sum(weights[h][dep] for h in words if h != dep)
    if roots == "multi":
        for column, dep in enumerate(words):
            laplacian[column][column] += weights[0][dep]
        return _determinant(laplacian)
    return sum(weights[0][dep] * _determinant(_without(laplacian, dep - 1)) for dep in words)


def _without(matrix: list[list[int]], skip: int) -> list[list[int]]:
    return [[value for j, value in enumerate(row) if j != skip] for i, row in enumerate(matrix) if i != skip]


def _determinant(matrix: list[list[int]]) -> int:
    """Fraction-free elimination: every intermediate value is a minor, so a whole number."""
    rows = [list(row) for row in matrix]
    size, sign, previous = len(rows), 1, 1
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k] != 0), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // previous
        previous = rows[k][k]
    return sign * previous


def _projective(weights: list[list[int]], roots: str) -> int:
    """A word's children on one side tile the span on that side, each in a span of its own."""

    @functools.cache
    def headed(first: int, last: int, head: int) -> int:
        return side(first, head - 1, head) * side(head + 1, last, head)

    @functools.cache
    def side(first: int, last: int, head: int) -> int:
        """All ways to tile words first..last with the spans of children of `head`."""
        if first > last:
            return 1
        return sum(one_child(first, cut, head) * side(cut + 1, last, head)
                   for cut in range(first, last + 1))  # fmt: skip

    @functools.cache
    def one_child(first: int, last: int, head: int) -> int:
        return sum(weights[head][dep] * headed(first, last, dep) for dep in range(first, last + 1))

    n = len(weights) - 1
    return side(1, n, 0) if roots == "multi" else one_child(1, n, 0)
