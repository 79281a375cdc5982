"""Shared by the inference tests: scores that have broken other libraries, and common checks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracle.enumerate_trees import FAMILIES, Forest, enumerate_forest, head_matrix, is_tree
from scipy import stats

from arbora import inference
from arbora.errors import InputError, NoTreeError

# One seed for ever: a red test is a bug, not bad luck.
seeded = settings(max_examples=120, deadline=None, derandomize=True, database=None)
few = settings(max_examples=40, deadline=None, derandomize=True, database=None)
each_family = pytest.mark.parametrize(("trees", "roots"), FAMILIES)
families = st.sampled_from(FAMILIES)

# What can be asked of scores alone.
ONE_ARRAY_QUERIES = {
    "argmax": inference.argmax,
    "kbest": lambda scores, **options: inference.kbest(scores, 5, **options),
    "log_partition": inference.log_partition,
    "marginals": inference.marginals,
    "entropy": inference.entropy,
    "minimum_risk": inference.minimum_risk,
    "sample": lambda scores, **options: inference.sample(scores, 3, **options),
    "sample_distinct": lambda scores, **options: inference.sample(scores, 3, replacement=False, **options),
}

# Second-order parts with their numbers of axes, and models made of them.
ORDER = {"siblings": 3, "grandparents": 3, "grandsiblings": 4}
MODELS = [
    ("siblings",),
    ("grandparents",),
    ("grandsiblings",),
    ("siblings", "grandparents"),
    ("siblings", "grandparents", "grandsiblings"),
]
# All seeds are fixed; were they not, a sound sampler would fail once in a million runs.
SURPRISE = 1e-6
STEP = 1e-5  # of central differences
SOFT_MASK = -1e32


def _square(rng, n):
    return rng.normal(size=(n + 1, n + 1))


def _parser_like(rng, n):
    scores = _square(rng, n)
    for dep in range(1, n + 1):
        scores[rng.integers(0, dep), dep] += 10.0
    return scores


def _near_ties(rng, n):
    return 1e-13 * rng.integers(-3, 4, size=(n + 1, n + 1))


def _wide(rng, n):
    return rng.choice([-1e6, -1e3, -1.0, 0.0, 1.0, 1e3, 1e6], size=(n + 1, n + 1))


def _shifted_word(rng, n):
    scores = _square(rng, n)
    if n:
        scores[:, rng.integers(1, n + 1)] -= 800.0
    return scores


def _mutual_pair(rng, n):
    scores = _square(rng, n)
    if n >= 2:
        scores[1, 2] = scores[2, 1] = 1000.0
    return scores


def _masked(rng, n):
    return np.where(rng.random((n + 1, n + 1)) < 0.3, -np.inf, _square(rng, n))


def _soft_masked(rng, n):
    return np.where(rng.random((n + 1, n + 1)) < 0.3, SOFT_MASK, _square(rng, n))


def _one_tree(rng, n):
    heads = head_matrix(n, "projective", "single")
    keep = heads[rng.integers(len(heads))]
    scores = np.full((n + 1, n + 1), -np.inf)
    scores[keep[1:], np.arange(1, n + 1)] = rng.normal(size=n) * 1e3
    return scores


KINDS = {
    "normal": _square,
    "parser_like": _parser_like,
    "ties": lambda rng, n: rng.integers(-1, 2, size=(n + 1, n + 1)).astype(float),
    "near_ties": _near_ties,
    "wide": _wide,
    "million": lambda rng, n: rng.uniform(-1e6, 1e6, size=(n + 1, n + 1)),
    "unequal": lambda rng, n: _square(rng, n) * 10.0 ** rng.integers(-6, 6, size=(n + 1, n + 1)),
    "all_negative": lambda rng, n: -np.abs(_square(rng, n)) * 1e4,
    "shifted_word": _shifted_word,
    "mutual_pair": _mutual_pair,
    "masked": _masked,
    "soft_masked": _soft_masked,
    "one_tree": _one_tree,
}


def make_scores(kind: str, n: int, seed: int, labels: int | None = None) -> np.ndarray:
    """One adversarial score array, with NaN where nobody may look."""
    rng = np.random.default_rng([seed, n, sorted(KINDS).index(kind)])
    scores = KINDS[kind](rng, n)
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    if labels is None:
        return scores
    return scores[:, :, None] + rng.normal(size=(n + 1, n + 1, labels))


@st.composite
def score_arrays(draw, max_n: int = 5, kinds: tuple[str, ...] = tuple(sorted(KINDS))):
    """Adversarial scores of any kind, or entries picked one by one so that failures shrink."""
    n = draw(st.integers(0, max_n))
    if draw(st.integers(0, 3)) == 0 and "wide" in kinds:
        values = st.sampled_from([-np.inf, -1e6, -800.0, -1.0, -1e-9, 0.0, 1.0, 3.0, 1e3, 1e6])
        return draw(hnp.arrays(np.float64, (n + 1, n + 1), elements=values))
    return make_scores(draw(st.sampled_from(kinds)), n, draw(st.integers(0, 10**6)))


@st.composite
def labelled_arrays(draw, max_n: int = 3, max_labels: int = 3):
    """As score_arrays, with a label axis."""
    n, labels = draw(st.integers(0, max_n)), draw(st.integers(1, max_labels))
    kind = draw(st.sampled_from(sorted(KINDS)))
    return make_scores(kind, n, draw(st.integers(0, 10**6)), labels)


def random_parts(n, model, seed, scale=1.0, forbid=0.0):
    """Arc scores and the model's parts; NaN where a part cannot occur."""
    rng = np.random.default_rng([seed, n])
    size = n + 1
    scores = scale * rng.normal(size=(size, size))
    scores[rng.random((size, size)) < forbid] = -np.inf
    scores[:, 0] = np.nan
    np.fill_diagonal(scores, np.nan)
    parts = {name: scale * rng.normal(size=(size,) * ORDER[name]) for name in model}
    for array in parts.values():
        array[rng.random(array.shape) < forbid / 3] = -np.inf
    if "siblings" in parts:
        parts["siblings"][:, 0, :] = np.nan  # the root depends on nothing
    if "grandparents" in parts:
        parts["grandparents"][:, 0, :] = np.nan  # the root has no grandparent to offer
    return scores, parts


def unaligned(array):
    """The same numbers, one byte off."""
    result = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(array.shape)
    result[...] = array
    return result


def magnitude(scores: np.ndarray) -> float:
    """The largest finite |score|, soft masks aside: what rounding errors are relative to."""
    finite = np.abs(scores[np.isfinite(scores)])
    return float(np.max(finite[finite < 1e30], initial=1.0))


def tolerance(*arrays: np.ndarray) -> float:
    """What float64 sums of a few such scores can be trusted to."""
    return 1e-10 + 1e-14 * max(magnitude(array) for array in arrays) * len(arrays[0])


def forced_through_mask(forest: Forest) -> bool:
    """Every tree uses a soft mask, whose size swallows all the other scores."""
    return len(forest) > 0 and forest.best_score < -1e30


def answer_and_forest(query, scores, trees, roots):
    """The library's answer beside the list of all trees; None where there is no answer and it says so."""
    forest = enumerate_forest(scores, trees, roots)
    if not len(forest):
        with pytest.raises(NoTreeError):
            query(scores, trees=trees, roots=roots)
        return None
    found = right_or_refused(query, scores, trees=trees, roots=roots)
    assert found is not None or forced_through_mask(forest)
    return None if found is None else (found, forest)


def right_or_refused(query, *given, **options):
    """The answer; None if the scores are too large for one."""
    try:
        return query(*given, **options)
    except InputError as error:
        if error.field != "scores":
            raise
        return None


def score_of(scores: np.ndarray, heads: np.ndarray, labels: np.ndarray | None = None) -> float:
    """Sum of a tree's arc scores."""
    words = np.arange(1, len(heads))
    index = (heads[1:], words) if labels is None else (heads[1:], words, labels[1:])
    return float(np.sum(scores[index]))


def check_best(best, scores, trees, roots, abs_tol):
    """The answer is a tree of the family and its score is what its arcs add up to."""
    assert is_tree(best.heads, trees, roots), best.heads
    assert np.issubdtype(best.heads.dtype, np.integer)
    if scores.ndim == 3:
        assert best.labels[0] == -1
        assert np.all((best.labels[1:] >= 0) & (best.labels[1:] < scores.shape[2]))
    else:
        assert best.labels is None
    expected = score_of(scores, best.heads, best.labels)
    assert best.score == pytest.approx(expected, rel=1e-14, abs=abs_tol)


def check_marginals(marginals: np.ndarray) -> None:
    """Probabilities in [0, 1], one head per word, nothing where nothing can be."""
    arcs = marginals.sum(axis=2) if marginals.ndim == 3 else marginals
    assert np.all(marginals >= 0.0)
    assert np.all(marginals <= 1.0)
    assert np.all(arcs[:, 0] == 0.0)
    assert np.all(np.diagonal(arcs) == 0.0)
    assert np.allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9)


def tree_key(best) -> tuple:
    """What makes two answers the same tree."""
    return (tuple(best.heads), None if best.labels is None else tuple(best.labels))


def slope(function, array, index):
    """(f(x + h) - f(x - h)) / 2h in one coordinate, leaving the array as it was."""
    before = array[index]
    array[index] = before + STEP
    up = function()
    array[index] = before - STEP
    down = function()
    array[index] = before
    return (up - down) / (2 * STEP)


def chi_square(observed, probabilities):
    """p-value of the counts; cells expected fewer than 5 times are pooled."""
    expected = np.asarray(probabilities, dtype=float) * observed.sum()
    rare = expected < 5
    pooled_observed = np.r_[observed[~rare], observed[rare].sum()]
    pooled_expected = np.r_[expected[~rare], expected[rare].sum()]
    if pooled_expected[-1] < 1e-9:
        assert pooled_observed[-1] == 0
        pooled_observed, pooled_expected = pooled_observed[:-1], pooled_expected[:-1]
    if len(pooled_expected) == 1:
        return 1.0
    pooled_expected *= pooled_observed.sum() / pooled_expected.sum()
    return float(stats.chisquare(pooled_observed, pooled_expected).pvalue)


def counts(found, forest):
    """How often each tree of the forest was found."""
    index = {(tuple(h), None if forest.labels is None else tuple(forest.labels[i])): i
             for i, h in enumerate(forest.heads)}  # fmt: skip
    return np.bincount([index[tree_key(best)] for best in found], minlength=len(forest))


def identical(left, right) -> bool:
    """Bit for bit the same answer, through lists and named tuples."""
    if left is None or right is None:
        return left is right
    if hasattr(left, "heads"):
        same_score = np.float64(left.score).tobytes() == np.float64(right.score).tobytes()
        return tree_key(left) == tree_key(right) and same_score
    if isinstance(left, (list, tuple)):
        pairs = zip(left, right, strict=True)
        return len(left) == len(right) and all(identical(a, b) for a, b in pairs)
    left, right = np.asarray(left), np.asarray(right)
    return left.shape == right.shape and left.tobytes() == right.tobytes()
