"""Exact inference over weighted sets of trees: numpy in, numpy out, no parser needed.

Conventions
-----------
- `scores[head, dep]`, shape `(n+1, n+1)` for n words; node 0 is the root; column 0 and the diagonal are
  ignored; `-inf` forbids an arc. Labelled scores have shape `(n+1, n+1, labels)`.
- A list (or tuple) of such arrays is a batch: the result is a list, or one array of numbers. `threads`
  spreads a batch over native threads; results do not depend on it.
- `trees`: `"nonprojective"` (default) or `"projective"`; `roots`: `"single"` (default: exactly one word is a
  dependent of node 0) or `"multi"`.
- `required`: a partial tree, as an array `(n+1,)` of heads, -1 if free, or pairs `(head, dep)`.
- Second-order parts, projective trees: `siblings[head, dep, sibling]`, where `sibling` is the next
  dependent of `head` on the way from `dep` to `head`, or `head` itself if `dep` is the nearest;
  `grandparents[grandparent, head, dep]` and `grandsiblings[grandparent, head, dep, sibling]`, for words
  whose head is not the root. Entries that no tree can use are ignored.
- `heads` has shape `(n+1,)`, `heads[0] == -1`.

If no tree is allowed: `NoTreeError`. If scores are NaN or +inf, or have a wrong shape: `InputError`.

Time per sentence: non-projective `argmax` O(n²), `kbest` O(k n²), sums O(n³); projective O(n³), with
siblings O(n³), with grandparents O(n⁴). Papers: [koo-2007] for the four families, [eisner-1996],
[mcdonald-2006] and [koo-2010] for the projective charts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora.errors import InputError, require_whole
from arbora.inference._distinct import draw_distinct
from arbora.inference._parts import Batch, FirstOrder, Marginals, Options, Parts, Scores, make_parts
from arbora.interfaces import Best
from arbora.types import Doubles

MOST_TREES = 1000  # The largest k of the k best trees
MOST_SAMPLES = 1_000_000

Answer = TypeVar("Answer")


MOST_ROUNDING = 1e-3
"""Of an entropy or a divergence, in nats; larger errors are refused."""


@overload
def argmax(scores: NDArray[Any], **options: Unpack[Options]) -> Best: ...
@overload
def argmax(scores: Batch, **options: Unpack[Options]) -> list[Best]: ...
def argmax(scores: Scores, **options: Unpack[Options]) -> Best | list[Best]:
    """The best tree: a `Best`, or a list of them for a batch.

    Exact, except for non-projective trees with siblings: there it is the hill climbing of [mcdonald-2006],
    never below the best projective tree, and no single head change improves it.
    """
    parts = make_parts(scores, **options)
    return _result(parts, parts.argmax())


@overload
def kbest(scores: NDArray[Any], k: int, **options: Unpack[Options]) -> list[Best]: ...
@overload
def kbest(scores: Batch, k: int, **options: Unpack[Options]) -> list[list[Best]]: ...
def kbest(scores: Scores, k: int, **options: Unpack[Options]) -> list[Best] | list[list[Best]]:
    """The k best trees (1 <= k <= 1000), best first, all different; fewer if there are fewer.

    A list of `Best`, or a list of such lists for a batch.
    """
    require_whole("k", k, 1, MOST_TREES)
    parts = make_parts(scores, **options)
    return _result(parts, parts.kbest(int(k)))


@overload
def log_partition(scores: NDArray[Any], **options: Unpack[Options]) -> float: ...
@overload
def log_partition(scores: Batch, **options: Unpack[Options]) -> Doubles: ...
def log_partition(scores: Scores, **options: Unpack[Options]) -> float | Doubles:
    """log of the sum of exp(score) over all trees: a float, or an array for a batch.

    Never below the score of the best tree.
    """
    parts = make_parts(scores, **options)
    return _number(parts, parts.log_partition())


@overload
def marginals(scores: NDArray[Any], **options: Unpack[FirstOrder]) -> Doubles: ...
@overload
def marginals(scores: Batch, **options: Unpack[FirstOrder]) -> list[Doubles]: ...
@overload
def marginals(scores: NDArray[Any], **options: Unpack[Options]) -> Doubles | Marginals: ...
@overload
def marginals(scores: Batch, **options: Unpack[Options]) -> list[Doubles] | list[Marginals]: ...
def marginals(
    scores: Scores, **options: Unpack[Options]
) -> Doubles | Marginals | list[Doubles] | list[Marginals]:
    """The probability of each arc: an array shaped as `scores`, the gradient of `log_partition`.

    Labelled scores give P(arc and label). With second-order parts the result is a `Marginals`.
    Every word's column sums to one.
    """
    parts = make_parts(scores, **options)
    result = parts.marginals()
    return result[0] if parts.single else result


@overload
def marginals_along(scores: NDArray[Any], direction: Any, **options: Unpack[FirstOrder]) -> Doubles: ...
@overload
def marginals_along(scores: Batch, direction: Any, **options: Unpack[FirstOrder]) -> list[Doubles]: ...
def marginals_along(scores: Scores, direction: Any, **options: Unpack[FirstOrder]) -> Doubles | list[Doubles]:
    """The exact derivative of `marginals` as scores move along `direction`, which has their shape.

    It is the Hessian of `log_partition` times the direction, or the covariance of each arc with the
    direction's sum over the tree. Gradients of anything computed from marginals need it. First-order scores
    only, in the time of `marginals`.
    """
    parts = make_parts(scores, **options)
    if not parts.first_order:
        raise InputError("marginals_along takes first-order scores only", field="scores")
    along = make_parts(direction)
    if [a.shape for a in parts.arcs] != [a.shape for a in along.arcs] or parts.single is not along.single:
        raise InputError("expected the shape of the scores", field="direction")
    if parts.labelled:
        changes = [_labelled_along(parts.only(i), along.arcs[i]) for i in range(len(parts.arcs))]
    else:
        changes = parts.marginals_along(along.arcs)
    return _result(parts, changes)


@overload
def log_prob(scores: NDArray[Any], heads: Any, labels: Any = None, **options: Unpack[Options]) -> float: ...
@overload
def log_prob(scores: Batch, heads: Any, labels: Any = None, **options: Unpack[Options]) -> Doubles: ...
def log_prob(scores: Scores, heads: Any, labels: Any = None, **options: Unpack[Options]) -> float | Doubles:
    """log P(tree), never above 0; -inf for a tree outside the family.

    `heads` (n+1,), or a list of them for a batch. Labelled scores without `labels`: the sum over all
    labellings.
    """
    parts = make_parts(scores, **options)
    parts.check()
    trees = parts.read_trees(heads)
    chosen = parts.read_labels(labels)
    values = np.full(len(parts.arcs), -np.inf)
    arcs: dict[int, Doubles] = {}
    for i, tree in enumerate(trees):
        relative = parts.only(i).relative_to(tree, chosen[i])
        if relative is not None and _core.in_family(tree.tolist(), parts.trees, parts.roots):
            arcs[i] = relative
    if arcs:
        # Relative to the tree its own score is 0, so its log-probability is -log Z alone.
        log_z = replace(parts.pick([*arcs]), arcs=[*arcs.values()]).log_partition()
        values[[*arcs]] = np.minimum(0.0, -log_z)  # sums over labels may round differently
    return _number(parts, values)


@overload
def entropy(scores: NDArray[Any], **options: Unpack[Options]) -> float: ...
@overload
def entropy(scores: Batch, **options: Unpack[Options]) -> Doubles: ...
def entropy(scores: Scores, **options: Unpack[Options]) -> float | Doubles:
    """Entropy in nats of the distribution over trees: a float, or an array for a batch.

    InputError if scores are so large that rounding would change it by more than 0.001.
    """
    parts = make_parts(scores, **options)
    bests = enumerate(parts.argmax())
    # None of these is None: the best tree uses no forbidden part.
    arcs: Any = [parts.only(i).relative_to(best.heads, best.labels) for i, best in bests]
    relative = replace(parts, arcs=arcs)
    expected = [_expected_score(m, relative.only(i)) for i, m in enumerate(relative.marginals())]
    certain = [each is None for each in expected]
    values = relative.log_partition() - np.asarray([each or 0.0 for each in expected])
    return _number(parts, np.where(certain, 0.0, np.maximum(0.0, values)))


@overload
def kl_divergence(p: NDArray[Any], q: NDArray[Any], **options: Unpack[Options]) -> float: ...
@overload
def kl_divergence(p: Batch, q: Batch, **options: Unpack[Options]) -> Doubles: ...
def kl_divergence(p: Scores, q: Scores, **options: Unpack[Options]) -> float | Doubles:
    """KL(p || q) in nats between the tree distributions of two first-order score arrays.

    `inf` if q forbids a tree that p allows. Options apply to both.
    """
    first, second = make_parts(p, **options), make_parts(q, **options)
    if not first.first_order:
        raise InputError("kl_divergence takes first-order scores only")
    if [a.shape for a in first.arcs] != [a.shape for a in second.arcs]:
        raise InputError("kl_divergence needs p and q of the same shapes")
    second.check()
    values = [_kl(first.only(i), second.only(i), best) for i, best in enumerate(first.argmax())]
    return _number(first, np.asarray(values, dtype=np.float64))


@overload
def expected_wrong_heads(scores: NDArray[Any], heads: Any, **options: Unpack[Options]) -> float: ...
@overload
def expected_wrong_heads(scores: Batch, heads: Any, **options: Unpack[Options]) -> Doubles: ...
def expected_wrong_heads(scores: Scores, heads: Any, **options: Unpack[Options]) -> float | Doubles:
    """The expected number of words whose head differs from `heads` (n+1,), under the distribution."""
    parts = make_parts(scores, **options)
    trees = parts.read_trees(heads)
    values = [
        float(np.sum(1.0 - arc_marginals(marginal)[tree[1:], np.arange(1, len(tree))]))
        for tree, marginal in zip(trees, parts.marginals(), strict=True)
    ]
    return _number(parts, np.asarray(values, dtype=np.float64))


@overload
def sample(
    scores: NDArray[Any], k: int, *, seed: int = 0, replacement: bool = True, **options: Unpack[Options]
) -> list[Best]: ...
@overload
def sample(
    scores: Batch, k: int, *, seed: int = 0, replacement: bool = True, **options: Unpack[Options]
) -> list[list[Best]]: ...
def sample(
    scores: Scores, k: int, *, seed: int = 0, replacement: bool = True, **options: Unpack[Options]
) -> list[Best] | list[list[Best]]:
    """`k` random trees (1 <= k <= 1,000,000), drawn exactly.

    A list of `Best`, or a list of such lists for a batch. Without replacement, the trees are distinct, each
    drawn from the distribution over those not yet drawn; fewer than `k` if there are fewer. The same seed
    gives the same result: give each call its own, since the default is always 0.
    """
    if not isinstance(replacement, bool):
        raise InputError(f"replacement must be True or False, got {replacement!r}")
    require_whole("k", k, 1, MOST_SAMPLES)
    require_whole("seed", seed, 0, 2**64 - 1)
    parts = make_parts(scores, **options)
    if replacement:
        drawn = parts.sample(int(k), int(seed))
    else:
        drawn = [draw_distinct(parts.only(i), int(k), int(seed), i) for i in range(len(parts.arcs))]
    return _result(parts, drawn)


@overload
def minimum_risk(scores: NDArray[Any], **options: Unpack[Options]) -> Best: ...
@overload
def minimum_risk(scores: Batch, **options: Unpack[Options]) -> list[Best]: ...
def minimum_risk(scores: Scores, **options: Unpack[Options]) -> Best | list[Best]:
    """The tree of the family with the most expected correct heads; its score is that expectation.

    Labels, if any, are the most probable ones given each arc.
    """
    parts = make_parts(scores, **options)
    risks = []
    for scored, marginal in zip(parts.arcs, parts.marginals(), strict=True):
        allowed = scored.max(axis=-1) if parts.labelled else scored
        risks.append(np.where(allowed == -np.inf, -np.inf, arc_marginals(marginal)))
    plain = replace(parts, arcs=risks, siblings=None, grandparents=None, grandsiblings=None)
    bests = plain.argmax()
    if parts.labelled:
        bests = list(map(_with_best_labels, bests, parts.arcs))
    return _result(parts, bests)


def arc_marginals(marginal: Doubles | Marginals) -> Doubles:
    """P(arc), shape (n+1, n+1), from a result of `marginals`: labels summed out."""
    arcs = marginal.arcs if isinstance(marginal, Marginals) else marginal
    return arcs.sum(axis=-1) if arcs.ndim == 3 else arcs


def label_shares(scores: Doubles) -> tuple[Doubles, Doubles]:
    """P(label | arc), 0 for forbidden arcs, and the log-sum of each arc's label scores."""
    scores = scores.copy()
    words = np.arange(len(scores))
    scores[:, 0] = scores[words, words] = -np.inf
    tops = scores.max(axis=-1)
    used = tops > -np.inf
    weights = np.exp(scores - np.where(used, tops, 0.0)[..., None])
    totals = np.where(used, weights.sum(axis=-1), 1.0)
    return weights / totals[..., None], np.where(used, tops + np.log(totals), -np.inf)


def _labelled_along(one: Parts, direction: Doubles) -> Doubles:
    """P(arc, label) = P(arc) P(label | arc), where the score of an arc is the log-sum of its labels'."""
    one.check()
    shares, arcs = label_shares(one.arcs[0])
    inner = np.where(shares > 0.0, direction, 0.0)  # entries that no tree uses may be anything
    if not np.all(np.isfinite(inner)):
        place = ", ".join(map(str, np.argwhere(~np.isfinite(inner))[0]))
        raise InputError(f"direction[{place}] must be a finite number")
    means = np.sum(shares * inner, axis=-1)
    plain = replace(one, arcs=[arcs])
    changes = plain.marginals_along([means])[0]
    probabilities: Doubles = plain.marginals()[0]
    return shares * (changes[..., None] + probabilities[..., None] * (inner - means[..., None]))


def _result(parts: Parts, each: list[Answer]) -> Answer | list[Answer]:
    return each[0] if parts.single else each


def _number(parts: Parts, values: Doubles) -> float | Doubles:
    return float(values[0]) if parts.single else values


def _expected_score(marginal: Any, relative: Parts) -> float | None:
    """From the result of `marginals` and scores relative to the best tree; None if that is the only tree."""
    marginals = marginal if isinstance(marginal, Marginals) else (marginal, None, None, None)
    given = zip(marginals, (relative.arcs, *relative.higher), strict=True)
    pairs = [(m, scores[0]) for m, scores in given if m is not None and scores is not None]
    if all(np.all((m == 0.0) | (m == 1.0)) for m, _ in pairs):
        return None  # so large scores, which cancel only nearly, do not matter
    # Parts of probability 0 may be forbidden: 0 * -inf counts 0.
    return _sum_of(np.concatenate([m[m > 0.0] * s[m > 0.0] for m, s in pairs]), "entropy")


def _sum_of(terms: Doubles, query: str) -> float:
    """The sum; InputError if large terms cancel, so that little but rounding errors would be left."""
    if not float(np.abs(terms).sum()) * 8 * np.finfo(np.float64).eps < MOST_ROUNDING:
        largest = np.abs(terms).max()
        what = f"scores: {query} needs scores within about 1e11 of those of the best tree, got {largest:.3g}"
        raise InputError(f"{what}; use -inf to forbid parts, or smaller scores")
    return float(terms.sum())


def _kl(p: Parts, q: Parts, best: Best) -> float:
    """Both relative to p's best tree."""
    p_scores, q_scores = (each.relative_to(best.heads, best.labels) for each in (p, q))
    if p_scores is None or q_scores is None:
        return float("inf")
    near_p, near_q = replace(p, arcs=[p_scores]), replace(q, arcs=[q_scores])
    probabilities = near_p.marginals()[0]
    used = probabilities > 0.0
    if np.any(q_scores[used] == -np.inf):
        return float("inf")
    gain = _sum_of(probabilities[used] * (p_scores[used] - q_scores[used]), "kl_divergence")
    return max(0.0, gain - float(near_p.log_partition()[0]) + float(near_q.log_partition()[0]))


def _with_best_labels(best: Best, scores: Doubles) -> Best:
    own = scores[best.heads[1:], np.arange(1, len(best.heads))]
    return best._replace(labels=np.append(-1, np.argmax(own, axis=-1)).astype(np.int32))
