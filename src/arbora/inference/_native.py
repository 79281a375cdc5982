"""Queries of a batch to the native core, and its answers as Python objects."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from arbora import _core
from arbora.inference._parts import Parts
from arbora.interfaces import Best
from arbora.types import Doubles


class Marginals(NamedTuple):
    """Probabilities of the parts of higher-order models, each shaped as its scores; None if absent."""

    arcs: Doubles
    siblings: Doubles | None = None
    grandparents: Doubles | None = None
    grandsiblings: Doubles | None = None


def check(parts: Parts) -> None:
    """Raise InputError if a score is NaN or too large."""
    _core.check(*parts.arguments[:-1])


def argmax(parts: Parts) -> list[Best]:
    """The best tree of each sentence."""
    heads, labels, values = _core.argmax(*parts.arguments)
    ends = list(accumulate(map(len, parts.arcs)))
    spans = zip([0, *ends], ends, values.tolist(), strict=False)
    new = tuple.__new__  # half the time of Best(...), which matters at two microseconds a sentence
    if labels is None:
        return [new(Best, (heads[start:end], score, None)) for start, end, score in spans]
    return [new(Best, (heads[start:end], score, labels[start:end])) for start, end, score in spans]


def kbest(parts: Parts, k: int) -> list[list[Best]]:
    """The k best trees of each sentence."""
    arcs, *rest = parts.arguments
    return [
        list(map(Best, heads, values.tolist(), *([] if labels is None else [labels])))
        for heads, labels, values in _core.kbest(arcs, k, *rest)
    ]


def log_partition(parts: Parts) -> Doubles:
    """log Z of each sentence."""
    return _core.log_partition(*parts.arguments)


def marginals(parts: Parts) -> list[Any]:
    """P(part) of each sentence: an array, or a `Marginals` if there are higher-order parts."""
    arrays = _core.marginals(*parts.arguments)
    if parts.first_order:
        return [arcs for arcs, _, _, _ in arrays]
    return [Marginals(*each) for each in arrays]


def marginals_along(parts: Parts, directions: list[Doubles]) -> list[Doubles]:
    """Derivatives of P(arc) along the directions; unlabelled, first-order sentences."""
    return _core.marginals_along(parts.arcs, directions, parts.trees, parts.roots, parts.threads)


def sample(parts: Parts, k: int, seed: int) -> list[list[Best]]:
    """`k` independent trees for each sentence of a batch."""
    arcs, *rest = parts.arguments
    heads, labels, values = _core.sample(arcs, k, seed, *rest)
    lists, at = [], 0
    for array, scores in zip(parts.arcs, values.tolist(), strict=True):
        end = at + k * len(array)
        rows = [] if labels is None else [labels[at:end].reshape(k, -1)]
        lists.append(list(map(Best, heads[at:end].reshape(k, -1), scores, *rows)))
        at = end
    return lists
