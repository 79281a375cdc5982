"""Exact inference over weighted sets of trees: numpy in, numpy out, no parser needed.

Conventions
-----------
- `scores[head, dep]`, shape `(n+1, n+1)` for n words; node 0 is the root; column 0 and the diagonal are
  ignored; `-inf` forbids an arc. Labelled scores have shape `(n+1, n+1, labels)`.
- A list (or tuple) of such arrays is a batch: results come as a list, or as one array of numbers.
  `threads` spreads a batch over native threads; results do not depend on it.
- `trees`: `"nonprojective"` (default) or `"projective"`; `roots`: `"single"` (default, exactly one word
  hangs on node 0) or `"multi"`.
- `required`: a partial tree, as an array `(n+1,)` of heads with -1 where free, or pairs `(head, dep)`.
- Second-order parts, projective trees: `siblings[head, dep, sibling]`, where `sibling` is the next
  dependent of `head` on the way from `dep` to `head`, or `head` itself where `dep` is the nearest;
  `grandparents[grandparent, head, dep]` and `grandsiblings[grandparent, head, dep, sibling]`, for words
  whose head is not the root. Entries that no tree can use are ignored.
- `heads` has shape `(n+1,)`, `heads[0] == -1`.

Where no tree is left, `NoTreeError`; scores that are NaN or +inf, or of a wrong shape, `InputError`.

Time per sentence: non-projective `argmax` O(n²), `kbest` O(k n²), sums O(n³); projective O(n³), with
siblings O(n³), with grandparents O(n⁴). Papers: [koo-2007] for the four families, [eisner-1996],
[mcdonald-2006] and [koo-2010] for the projective charts.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora._distinct import DistinctTrees
from arbora._parts import Array, Options, Parts, Scores, make_parts, partial_heads
from arbora.errors import InputError, NoTreeError

__all__ = [
    "Best",
    "Marginals",
    "argmax",
    "entropy",
    "expected_wrong_heads",
    "kbest",
    "kl_divergence",
    "log_partition",
    "log_prob",
    "marginals",
    "minimum_risk",
    "sample",
]

Heads: TypeAlias = NDArray[np.int32]


class Best(NamedTuple):
    """One tree: `heads` (n+1,), its score, and its labels (n+1,) where the scores were labelled."""

    heads: Heads
    score: float
    labels: Heads | None = None


class Marginals(NamedTuple):
    """Probabilities of second-order models' parts, each shaped as its scores; None where absent."""

    arcs: Array
    siblings: Array | None = None
    grandparents: Array | None = None
    grandsiblings: Array | None = None


def argmax(scores: Scores, **options: Unpack[Options]) -> Any:
    """The best tree: a `Best`, or a list of them for a batch.

    Exact, except for non-projective trees with siblings, where it is the approximate search of
    [mcdonald-2006]: never below the best projective tree, and no single re-attachment improves it.
    """
    parts = make_parts(scores, **options)
    return _result(parts, _argmax(parts))


def kbest(scores: Scores, k: int, **options: Unpack[Options]) -> Any:
    """The k best trees (1 <= k <= 1000), best first, all different; all of them where fewer exist.

    A list of `Best`, or a list of such lists for a batch.
    """
    if not _is_whole(k) or not 1 <= k <= 1000:
        raise InputError(f"k must be a whole number in 1..1000, got {k!r}")
    parts = make_parts(scores, **options)
    arcs, *rest = _native(parts)
    lists = []
    for heads, labels, values in _core.kbest(arcs, int(k), *rest):
        lists.append(list(map(Best, heads, values.tolist(), *([] if labels is None else [labels]))))
    return _result(parts, lists)


def log_partition(scores: Scores, **options: Unpack[Options]) -> Any:
    """log of the sum of exp(score) over all trees: a float, or an array for a batch.

    Never below the score of the best tree.
    """
    parts = make_parts(scores, **options)
    return _number(parts, _core.log_partition(*_native(parts)))


def marginals(scores: Scores, **options: Unpack[Options]) -> Any:
    """The probability of each arc: an array shaped as `scores`, the gradient of `log_partition`.

    Labelled scores give P(arc and label). With second-order parts the result is a `Marginals`.
    Every word's column sums to one.
    """
    parts = make_parts(scores, **options)
    return _result(parts, _marginals(parts))


def log_prob(scores: Scores, heads: Any, labels: Any = None, **options: Unpack[Options]) -> Any:
    """log P(tree), never above 0; -inf for a tree outside the family.

    `heads` (n+1,), or a list of them for a batch. With labelled scores and no `labels`, the sum over
    all labellings.
    """
    parts = make_parts(scores, **options)
    _check(parts)
    trees = _given_trees(parts, heads)
    chosen = _given_labels(parts, trees, labels)
    # Scores relative to the tree's own make its score 0, so its log-probability is -log Z alone.
    values = np.full(len(parts.arcs), -np.inf)
    for i, tree in enumerate(trees):
        one = _centred(parts.only(i), tree, chosen[i])
        if one is not None and _core.in_family(tree.tolist(), parts.trees, parts.roots):
            values[i] = 0.0 - _log_partition(one)
    return _number(parts, values)


def entropy(scores: Scores, **options: Unpack[Options]) -> Any:
    """Entropy in nats of the distribution over trees: a float, or an array for a batch."""
    parts = make_parts(scores, **options)
    values = np.empty(len(parts.arcs))
    for i in range(len(values)):
        centred = _centred_at_best(parts.only(i))
        expected = _expected_score(_marginals(centred)[0], centred)
        values[i] = max(0.0, _log_partition(centred) - expected)
    return _number(parts, values)


def kl_divergence(p: Scores, q: Scores, **options: Unpack[Options]) -> Any:
    """KL(p || q) in nats between the tree distributions of two first-order score arrays.

    `inf` where p gives weight to a tree that q forbids. Options apply to both.
    """
    first, second = make_parts(p, **options), make_parts(q, **options)
    if not first.first_order:
        raise InputError("kl_divergence takes first-order scores only")
    if [a.shape for a in first.arcs] != [a.shape for a in second.arcs]:
        raise InputError("kl_divergence needs p and q of the same shapes")
    _check(first)
    _check(second)
    values = [_kl(first.only(i), second.only(i)) for i in range(len(first.arcs))]
    return _number(first, np.asarray(values, dtype=np.float64))


def expected_wrong_heads(scores: Scores, heads: Any, **options: Unpack[Options]) -> Any:
    """The expected number of words whose head differs from `heads` (n+1,), under the distribution."""
    parts = make_parts(scores, **options)
    trees = _given_trees(parts, heads)
    values = np.empty(len(parts.arcs))
    for i, tree in enumerate(trees):
        arcs = arc_marginals(_marginals(parts.only(i))[0])
        words = np.arange(1, len(tree))
        values[i] = float(np.sum(1.0 - arcs[tree[1:], words]))
    return _number(parts, values)


def sample(
    scores: Scores,
    k: int,
    *,
    seed: int = 0,
    replacement: bool = True,
    **options: Unpack[Options],
) -> Any:
    """`k` random trees, drawn exactly: a list of `Best`, or a list of such lists for a batch.

    Without replacement, the trees are distinct, each drawn from the distribution over those not yet
    drawn; all of them come out where fewer than `k` exist. One seed gives one result.
    """
    if not _is_whole(k) or k < 1:
        raise InputError(f"k must be a whole number of at least 1, got {k!r}")
    if not _is_whole(seed) or not 0 <= seed < 2**64:
        raise InputError(f"seed must be a whole number in 0..2**64-1, got {seed!r}")
    parts = make_parts(scores, **options)
    if replacement:
        return _result(parts, _draw(parts, int(k), int(seed)))
    each = range(len(parts.arcs))
    return _result(parts, [_draw_distinct(parts.only(i), int(k), int(seed), i) for i in each])


def minimum_risk(scores: Scores, **options: Unpack[Options]) -> Any:
    """The tree of the family with the most expected correct heads; its score is that expectation.

    Labels, where there are any, are the most probable ones given each arc.
    """
    parts = make_parts(scores, **options)
    bests = []
    for i, marginal in enumerate(_marginals(parts)):
        arcs = arc_marginals(marginal)
        allowed = np.max(parts.arcs[i], axis=-1) if parts.labelled else parts.arcs[i]
        risk = np.where(allowed == -np.inf, -np.inf, arcs)
        trees: Any = "projective" if parts.trees == _core.Trees.projective else "nonprojective"
        roots: Any = "single" if parts.roots == _core.Roots.single else "multi"
        best: Best = argmax(risk, trees=trees, roots=roots)
        bests.append(best._replace(labels=_likeliest_labels(parts.arcs[i], best.heads)))
    return _result(parts, bests)


def arc_marginals(marginal: Array | Marginals) -> Array:
    """P(arc), shape (n+1, n+1), from a result of `marginals`: labels summed out."""
    arcs = marginal.arcs if isinstance(marginal, Marginals) else marginal
    return arcs.sum(axis=-1) if arcs.ndim == 3 else arcs


def _draw(parts: Parts, k: int, seed: int) -> list[list[Best]]:
    """`k` independent trees for each sentence of a batch."""
    arcs, *rest = _native(parts)
    heads, labels, values = _core.sample(arcs, k, seed, *rest)
    lists = []
    at = 0
    for array, scores in zip(parts.arcs, values.tolist(), strict=True):
        end = at + k * len(array)
        rows = (heads[at:end].reshape(k, -1), scores)
        lists.append(list(map(Best, *rows, *([] if labels is None else [labels[at:end].reshape(k, -1)]))))
        at = end
    return lists


def _draw_distinct(one: Parts, k: int, seed: int, stream: int) -> list[Best]:
    def choices(best: Best) -> tuple[tuple[int, int], ...]:
        labels = [0] * len(best.heads) if best.labels is None else best.labels.tolist()
        return tuple(zip(best.heads.tolist()[1:], labels[1:], strict=True))

    random = np.random.default_rng([seed, stream])
    trees = DistinctTrees(
        one,
        random,
        lambda parts, count, start: [choices(best) for best in _draw(parts, count, start)[0]],
        _log_partition,
    )
    return [_best_of(one, tree) for tree in trees.draw(k)]


def _best_of(one: Parts, choices: tuple[tuple[int, int], ...]) -> Best:
    heads = np.array([-1, *(head for head, _ in choices)], dtype=np.int32)
    labels = np.array([-1, *(label for _, label in choices)], dtype=np.int32)
    score = float(np.sum(_own_scores(one, heads, labels if one.labelled else None)[1:]))
    return Best(heads, score, labels if one.labelled else None)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _native(parts: Parts) -> tuple[Any, ...]:
    return (
        parts.arcs,
        parts.siblings,
        parts.grandparents,
        parts.grandsiblings,
        parts.trees,
        parts.roots,
        parts.threads,
    )


def _result(parts: Parts, each: list[Any]) -> Any:
    return each[0] if parts.single else each


def _number(parts: Parts, values: Array) -> Any:
    return float(values[0]) if parts.single else values


def _argmax(parts: Parts) -> list[Best]:
    heads, labels, values = _core.argmax(*_native(parts))
    ends = list(accumulate(map(len, parts.arcs)))
    spans = zip([0, *ends], ends, values.tolist(), strict=False)
    new = tuple.__new__  # half the time of Best(...), which counts where a sentence takes two microseconds
    if labels is None:
        return [new(Best, (heads[start:end], score, None)) for start, end, score in spans]
    return [new(Best, (heads[start:end], score, labels[start:end])) for start, end, score in spans]


def _marginals(parts: Parts) -> list[Any]:
    arrays = _core.marginals(*_native(parts))
    if parts.first_order:
        return [arcs for arcs, _, _, _ in arrays]
    return [Marginals(*each) for each in arrays]


def _given_trees(parts: Parts, heads: Any) -> list[NDArray[np.intp]]:
    each = [heads] if parts.single else heads
    if not isinstance(each, (list, tuple)) or len(each) != len(parts.arcs):
        raise InputError(f"heads must be a list of {len(parts.arcs)} arrays, one per sentence")
    trees = []
    for i, (tree, array) in enumerate(zip(each, parts.arcs, strict=True)):
        where = "heads" if parts.single else f"heads[{i}]"
        result = partial_heads(np.asarray(tree), len(array), where)
        if np.any(result[1:] < 0):
            raise InputError(f"{where}: word {1 + int(np.argmin(result[1:]))} has no head")
        trees.append(result)
    return trees


def _given_labels(parts: Parts, trees: list[Any], labels: Any) -> list[NDArray[Any] | None]:
    if labels is None:
        return [None] * len(trees)
    if not parts.labelled:
        raise InputError("labels were given, but the scores are not labelled")
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


def _check(parts: Parts) -> None:
    _core.check(parts.arcs, parts.siblings, parts.grandparents, parts.grandsiblings)


def _log_partition(one: Parts) -> float:
    return float(_core.log_partition(*_native(one))[0])


def _own_scores(one: Parts, tree: NDArray[Any], labels: NDArray[Any] | None) -> Array:
    """The scores (n+1,) of each word's own parts in a tree; labels summed out where not given."""
    words = np.arange(1, len(tree))
    arcs = one.arcs[0]
    if one.labelled:
        if labels is None:
            own = np.logaddexp.reduce(arcs[tree[words], words], axis=-1)
        else:
            own = arcs[tree[words], words, labels[1:]]
        arcs = np.zeros(arcs.shape[:2])
        arcs[tree[words], words] = own
    return _core.word_scores(
        arcs, np.asarray(tree).tolist(), one.siblings, one.grandparents, one.grandsiblings
    )


def _centred(one: Parts, tree: NDArray[Any], labels: NDArray[Any] | None = None) -> Parts | None:
    """One sentence's scores, shifted per word so that `tree` scores 0: the same distribution.

    None where the tree uses a forbidden part. Sums of large scores would otherwise drown what is asked.
    """
    own = _own_scores(one, tree, labels)
    if np.any(own == -np.inf):
        return None
    shape = (1, -1, 1) if one.labelled else (1, -1)
    # Ignored entries may hold anything, and a difference may fall below the range, where it forbids.
    with np.errstate(over="ignore", invalid="ignore"):
        return one.replace_arcs([one.arcs[0] - own.reshape(shape)])


def _centred_at_best(one: Parts) -> Parts:
    best = _argmax(one)[0]
    centred = _centred(one, best.heads, best.labels)
    if centred is None:
        raise NoTreeError("the allowed parts leave no tree")
    return centred


def _expected_score(marginal: Any, one: Parts) -> float:
    pairs = [(marginal, one.arcs[0])]
    if isinstance(marginal, Marginals):
        pairs = [(marginal.arcs, one.arcs[0])]
        pairs += [
            (probabilities, scores[0])
            for probabilities, scores in zip(
                marginal[1:], (one.siblings, one.grandparents, one.grandsiblings), strict=True
            )
            if probabilities is not None and scores is not None
        ]
    # Parts of probability 0 may be forbidden: 0 * -inf counts 0.
    return sum(float(np.sum(m[m > 0.0] * s[m > 0.0])) for m, s in pairs)


def _kl(p: Parts, q: Parts) -> float:
    best = _argmax(p)[0]
    p_centred = _centred(p, best.heads, best.labels)
    q_centred = _centred(q, best.heads, best.labels)
    if p_centred is None or q_centred is None:
        return float("inf")
    probabilities = _marginals(p_centred)[0]
    used = probabilities > 0.0
    gain = np.sum(probabilities[used] * (p_centred.arcs[0][used] - q_centred.arcs[0][used]))
    return max(0.0, float(gain) - _log_partition(p_centred) + _log_partition(q_centred))


def _likeliest_labels(scores: Array, heads: Heads) -> Heads | None:
    if scores.ndim == 2:
        return None
    words = np.arange(1, len(heads))
    labels = np.full(len(heads), -1, dtype=np.int32)
    labels[1:] = np.argmax(scores[heads[1:], words], axis=-1)
    return labels
