"""The native core's answers for a batch of problems, as Python objects."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

from arbora import _core
from arbora.inference._parts import Parts
from arbora.types import Doubles, Ints


class Best(NamedTuple):
    """One tree: `heads` (n+1,), its score, and its labels (n+1,) where the scores were labelled."""

    heads: Ints
    score: float
    labels: Ints | None = None


class Marginals(NamedTuple):
    """Probabilities of second-order models' parts, each shaped as its scores; None where absent."""

    arcs: Doubles
    siblings: Doubles | None = None
    grandparents: Doubles | None = None
    grandsiblings: Doubles | None = None


def check(parts: Parts) -> None:
    """InputError where a score that counts is NaN or too large."""
    _core.check(*arguments(parts)[:-1])


def argmax(parts: Parts) -> list[Best]:
    """The best tree of each sentence."""
    heads, labels, values = _core.argmax(*arguments(parts))
    ends = list(accumulate(map(len, parts.arcs)))
    spans = zip([0, *ends], ends, values.tolist(), strict=False)
    new = tuple.__new__  # half the time of Best(...), which counts where a sentence takes two microseconds
    if labels is None:
        return [new(Best, (heads[start:end], score, None)) for start, end, score in spans]
    return [new(Best, (heads[start:end], score, labels[start:end])) for start, end, score in spans]


def kbest(parts: Parts, k: int) -> list[list[Best]]:
    """The k best trees of each sentence."""
    arcs, *rest = arguments(parts)
    return [
        list(map(Best, heads, values.tolist(), *([] if labels is None else [labels])))
        for heads, labels, values in _core.kbest(arcs, k, *rest)
    ]


def log_partition(parts: Parts) -> Doubles:
    """log Z of each sentence."""
    return _core.log_partition(*arguments(parts))


def marginals(parts: Parts) -> list[Any]:
    """P(part) of each sentence: an array, or with higher-order parts a `Marginals`."""
    arrays = _core.marginals(*arguments(parts))
    if parts.first_order:
        return [arcs for arcs, _, _, _ in arrays]
    return [Marginals(*each) for each in arrays]


def marginals_along(parts: Parts, directions: list[Doubles]) -> list[Doubles]:
    """How P(arc) of each unlabelled, first-order sentence changes as scores move along the directions."""
    return _core.marginals_along(parts.arcs, directions, parts.trees, parts.roots, parts.threads)


def sample(parts: Parts, k: int, seed: int) -> list[list[Best]]:
    """`k` independent trees for each sentence of a batch."""
    arcs, *rest = arguments(parts)
    heads, labels, values = _core.sample(arcs, k, seed, *rest)
    lists = []
    at = 0
    for array, scores in zip(parts.arcs, values.tolist(), strict=True):
        end = at + k * len(array)
        rows = (heads[at:end].reshape(k, -1), scores)
        lists.append(list(map(Best, *rows, *([] if labels is None else [labels[at:end].reshape(k, -1)]))))
        at = end
    return lists


def arguments(parts: Parts) -> tuple[Any, ...]:
    """What every native query takes."""
    return (
        parts.arcs,
        parts.siblings,
        parts.grandparents,
        parts.grandsiblings,
        parts.trees,
        parts.roots,
        parts.threads,
    )
