"""Scores relative to a tree: shifted per word so that the tree scores 0, which changes no probability.

Every word has one head, so adding a number to all of a word's scores adds it to every tree. Relative to the
right tree, sums are small, and large scores do not swamp a log-probability or an entropy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora.errors import InputError
from arbora.inference._parts import Marginals, Parts, partial_heads, per_sentence
from arbora.interfaces import Best
from arbora.types import Doubles


def own_scores(one: Parts, tree: NDArray[Any], labels: NDArray[Any] | None) -> Doubles:
    """The scores (n+1,) of each word's own parts in a tree; labels are summed out if not given."""
    words = np.arange(1, len(tree))
    arcs = one.arcs[0]
    if one.labelled:
        if labels is None:
            own = np.logaddexp.reduce(arcs[tree[words], words], axis=-1)
        else:
            own = arcs[tree[words], words, labels[1:]]
        arcs = np.zeros(arcs.shape[:2])
        arcs[tree[words], words] = own
    return _core.word_scores(arcs, np.asarray(tree).tolist(), *one.higher)


def relative_to(one: Parts, tree: NDArray[Any], labels: NDArray[Any] | None = None) -> Doubles | None:
    """One sentence's arc scores relative to a tree; None if the tree uses a forbidden part."""
    own = own_scores(one, tree, labels)
    if np.any(own == -np.inf):
        return None
    shape = (1, -1, 1) if one.labelled else (1, -1)
    # Ignored entries may hold anything, and a difference may fall below the range, where it forbids.
    with np.errstate(over="ignore", invalid="ignore"):
        return one.arcs[0] - own.reshape(shape)


def relative_to_best(parts: Parts, bests: list[Best]) -> Parts:
    """A batch relative to each sentence's best tree."""
    # None of them is None: the best tree uses no forbidden part.
    arcs: Any = [relative_to(parts.only(i), best.heads, best.labels) for i, best in enumerate(bests)]
    return replace(parts, arcs=arcs)


def expected_score(marginal: Any, one: Parts) -> float:
    """The mean score of a tree, from the result of `marginals` and its scores."""
    marginals = marginal if isinstance(marginal, Marginals) else (marginal, None, None, None)
    given = zip(marginals, (one.arcs, *one.higher), strict=True)
    pairs = [(m, scores[0]) for m, scores in given if m is not None and scores is not None]
    # Parts of probability 0 may be forbidden: 0 * -inf counts 0.
    return sum(float(np.sum(m[m > 0.0] * s[m > 0.0])) for m, s in pairs)


def read_trees(parts: Parts, heads: Any) -> list[NDArray[np.intp]]:
    """The caller's trees, one per sentence, checked."""
    trees = []
    for (where, tree), array in zip(
        per_sentence("heads", heads, len(parts.arcs), parts.single), parts.arcs, strict=True
    ):
        if isinstance(tree, Best):
            raise InputError(f"{where} must be an array of heads, got a Best; pass its .heads")
        try:
            given = np.asarray(tree)
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} must be heads of shape (n+1,), got {type(tree).__name__}") from error
        if given.ndim != 1:
            raise InputError(f"{where} must be heads of shape (n+1,), got shape {given.shape}")
        result = partial_heads(given, len(array), where)
        if np.any(result[1:] < 0):
            raise InputError(f"{where}: word {1 + int(np.argmin(result[1:]))} has no head")
        trees.append(result)
    return trees


def read_labels(parts: Parts, trees: list[Any], labels: Any) -> list[NDArray[Any] | None]:
    """The caller's labels, one array per sentence, checked; None for each if not given."""
    if labels is None:
        return [None] * len(trees)
    if not parts.labelled:
        raise InputError("expected none, as the scores are not labelled", field="labels")
    arrays: list[NDArray[Any] | None] = []
    each = per_sentence("labels", labels, len(trees), parts.single)
    for tree, scores, (where, given) in zip(trees, parts.arcs, each, strict=True):
        array, count = np.asarray(given), scores.shape[2]
        if array.shape != tree.shape or array.dtype.kind not in "iu":
            got = f"{array.dtype} of shape {array.shape}"
            raise InputError(f"{where} must be whole numbers of shape {tree.shape}, got {got}")
        if np.any((array[1:] < 0) | (array[1:] >= count)):
            raise InputError(f"{where} must lie in 0..{count - 1}, got {array[1:]}")
        arrays.append(array)
    return arrays
