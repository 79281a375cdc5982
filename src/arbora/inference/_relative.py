"""Scores relative to a tree: shifted per word so that the tree scores 0, which changes no probability.

Every word has one head, so adding a number to all of a word's scores adds it to every tree. Relative to the
right tree, sums are small, and large scores do not swamp a log-probability or an entropy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora.errors import InputError
from arbora.inference._native import Best, Marginals
from arbora.inference._parts import Parts, partial_heads
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
    arcs = []
    for i, best in enumerate(bests):
        relative = relative_to(parts.only(i), best.heads, best.labels)
        assert relative is not None  # the best tree uses no forbidden part
        arcs.append(relative)
    return parts.replace_arcs(arcs)


def expected_score(marginal: Any, one: Parts) -> float:
    """The mean score of a tree, from the result of `marginals` and its scores."""
    pairs = [(marginal, one.arcs[0])]
    if isinstance(marginal, Marginals):
        each = zip(marginal, (one.arcs, *one.higher), strict=True)
        pairs = [(found, scores[0]) for found, scores in each if found is not None and scores is not None]
    # Parts of probability 0 may be forbidden: 0 * -inf counts 0.
    return sum(float(np.sum(m[m > 0.0] * s[m > 0.0])) for m, s in pairs)


def read_trees(parts: Parts, heads: Any) -> list[NDArray[np.intp]]:
    """The caller's trees, one per sentence, checked."""
    each = [heads] if parts.single else heads
    if not isinstance(each, (list, tuple)) or len(each) != len(parts.arcs):
        raise InputError(f"heads must be a list of {len(parts.arcs)} arrays, one per sentence")
    trees = []
    for i, (tree, array) in enumerate(zip(each, parts.arcs, strict=True)):
        where = "heads" if parts.single else f"heads[{i}]"
        if isinstance(tree, Best):
            raise InputError(f"{where} must be an array of heads, got a Best; pass its .heads")
        result = partial_heads(as_heads(tree, where), len(array), where)
        if np.any(result[1:] < 0):
            raise InputError(f"{where}: word {1 + int(np.argmin(result[1:]))} has no head")
        trees.append(result)
    return trees


def as_heads(tree: Any, where: str) -> NDArray[Any]:
    """The caller's heads as an array of one axis."""
    try:
        array = np.asarray(tree)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} must be heads of shape (n+1,), got {type(tree).__name__}") from error
    if array.ndim != 1:
        raise InputError(f"{where} must be heads of shape (n+1,), got shape {array.shape}")
    return array


def read_labels(parts: Parts, trees: list[Any], labels: Any) -> list[NDArray[Any] | None]:
    """The caller's labels, one array per sentence, or None for each."""
    if labels is None:
        return [None] * len(trees)
    if not parts.labelled:
        raise InputError("expected none, as the scores are not labelled", field="labels")
    each = [labels] if parts.single else labels
    if not isinstance(each, (list, tuple)) or len(each) != len(trees):
        raise InputError(f"labels must be a list of {len(trees)} arrays, one per sentence")
    result: list[NDArray[Any] | None] = []
    for tree, array, given in zip(trees, parts.arcs, each, strict=True):
        chosen = np.asarray(given)
        if chosen.shape != tree.shape or chosen.dtype.kind not in "iu":
            raise InputError(
                f"labels must be whole numbers of shape {tree.shape}, "
                f"got {chosen.dtype} of shape {chosen.shape}"
            )
        if np.any((chosen[1:] < 0) | (chosen[1:] >= array.shape[2])):
            raise InputError(f"labels must lie in 0..{array.shape[2] - 1}, got {chosen[1:]}")
        result.append(chosen)
    return result
