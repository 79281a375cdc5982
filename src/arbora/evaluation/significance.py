"""Significance tests: is one output better than another? Three tests over the same sentences.

All take counts per sentence, so any measure that is a share of words can be tested: `first` and `second` hold
the correct words of the two outputs, `tokens` the scored words. The statistic is the difference of the
shares, where words weigh the same in all sentences. p-values are two-sided.

The two sampled tests count the observed data as one more sample, (c+1) / (samples+1), so p is never 0. Time
O(samples x sentences); memory is bounded by drawing in blocks. The same seed gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from arbora.errors import MOST_SEED, InputError, require_known, require_whole
from arbora.types import Longs

if TYPE_CHECKING:
    from arbora.evaluation.scores import Scores

Metric = Literal["uas", "las"]

# Entries drawn at a time: a few tens of megabytes.
BLOCK = 2_000_000
# Terms below this share of a sum do not change it.
SMALL = 1e-18


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a test; `difference` and `interval` are in percentage points, first - second."""

    test: str
    difference: float
    p_value: float
    better: int  # sentences where the first has more correct words
    worse: int
    tied: int
    samples: int | None = None
    interval: tuple[float, float] | None = None

    def to_json(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def sign_test(first: ArrayLike, second: ArrayLike, tokens: ArrayLike) -> Comparison:
    """Sign test: sentences where one output has more correct words are fair coin flips (koo-2007, note 7).

    Ties are left out. The binomial distribution is exact.
    """
    data = _Data(first, second, tokens)
    return data.comparison("sign", coin_flips(data.better, data.worse))


def coin_flips(heads: int, tails: int) -> float:
    """P(a fair coin falls at least as unevenly) = 2 Σ_{i ≤ k} C(n, i) / 2^n, k being the fewer of both."""
    flips, fewer = heads + tails, min(heads, tails)
    if abs(heads - tails) <= 1:
        return 1.0
    # The sum relative to its largest term, by C(n, i - 1) = C(n, i) · i / (n - i + 1).
    share = total = 1.0
    for i in range(fewer, 0, -1):
        share *= i / (flips - i + 1)
        total += share
        if share < SMALL * total:
            break
    largest = math.lgamma(flips + 1) - math.lgamma(fewer + 1) - math.lgamma(flips - fewer + 1)
    return min(1.0, 2.0 * total * math.exp(largest - flips * math.log(2.0)))


def paired_bootstrap(
    first: ArrayLike, second: ArrayLike, tokens: ArrayLike, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Paired bootstrap: draw sentences with replacement (efron-1993). Also gives a 95% interval.

    p is the share of samples whose difference is at least as far from the observed one as that is from 0.
    """
    data, rng = _Data(first, second, tokens), _random(samples, seed)
    sentences = len(data.gains)
    found = np.empty(samples)
    for start, rows in _blocks(samples, sentences):
        drawn = rng.integers(0, sentences, size=(rows, sentences))
        words = data.tokens[drawn].sum(axis=1)
        gains = data.gains[drawn].sum(axis=1)
        # A sample may hold unscored sentences only; it then shows no difference.
        found[start : start + rows] = gains / np.maximum(words, 1)
    observed = data.gains.sum() / data.tokens.sum()
    # Equal shares may differ in their last bits when computed from different counts.
    extreme = np.abs(found - observed) >= abs(observed) - 1e-12
    low, high = np.percentile(100 * found, [2.5, 97.5])
    p_value = (int(extreme.sum()) + 1) / (samples + 1)
    return data.comparison("bootstrap", p_value, samples, (float(low), float(high)))


def approximate_randomization(
    first: ArrayLike, second: ArrayLike, tokens: ArrayLike, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Approximate randomization: swap the outputs at random in every sentence (noreen-1989, yeh-2000).

    p is the share of shuffles whose difference is at least as large as the observed one.
    """
    data, rng = _Data(first, second, tokens), _random(samples, seed)
    # Swapping equal counts changes nothing; float64 holds sums of such counts exactly.
    gains = data.gains[data.gains != 0].astype(np.float64)
    observed = abs(gains.sum())
    extreme = 0
    for _, rows in _blocks(samples, len(gains)):
        kept = rng.integers(0, 2, size=(rows, len(gains)), dtype=np.int8)
        differences = 2 * (kept @ gains) - gains.sum()
        extreme += int((np.abs(differences) >= observed).sum())
    return data.comparison("randomization", (extreme + 1) / (samples + 1), samples)


TESTS: dict[str, Callable[..., Comparison]] = {
    "sign": sign_test,
    "bootstrap": paired_bootstrap,
    "randomization": approximate_randomization,
}


def compare(
    first: Scores,
    second: Scores,
    *,
    metric: Metric = "las",
    test: str = "sign",
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test two outputs scored against the same gold data; `test` is one of `TESTS`."""
    require_known("test", test, TESTS)
    require_known("metric", metric, get_args(Metric))
    one, other = first.per_sentence, second.per_sentence
    if not np.array_equal(one.tokens, other.tokens):
        raise InputError(
            "compare: expected scores of the same words, got different numbers of scored words; "
            "evaluate both outputs against the same gold data with the same options"
        )
    pair = (one.heads, other.heads) if metric == "uas" else (one.arcs, other.arcs)
    options = {} if test == "sign" else {"samples": samples, "seed": seed}
    return TESTS[test](*pair, one.tokens, **options)


class _Data:
    """Checked counts: `gains` are the correct words of the first minus those of the second, per sentence."""

    def __init__(self, first: ArrayLike, second: ArrayLike, tokens: ArrayLike) -> None:
        given = {"tokens": tokens, "first": first, "second": second}
        arrays = {name: _whole_numbers(name, counts) for name, counts in given.items()}
        self.tokens = words = arrays["tokens"]
        for name, counts in arrays.items():
            if len(counts) != len(words):
                raise InputError(f"{name}: expected one count per sentence ({len(words)}), got {len(counts)}")
            if np.any((counts < 0) | (counts > words)):
                raise InputError(f"{name}: expected counts between 0 and those of tokens")
        if words.sum() == 0:
            raise InputError("tokens: expected at least one scored word, got none")
        self.gains = arrays["first"] - arrays["second"]
        self.better, self.worse = int((self.gains > 0).sum()), int((self.gains < 0).sum())

    def comparison(
        self, test: str, p: float, samples: int | None = None, interval: tuple[float, float] | None = None
    ) -> Comparison:
        difference = 100 * float(self.gains.sum() / self.tokens.sum())
        tied = len(self.gains) - self.better - self.worse
        return Comparison(test, difference, p, self.better, self.worse, tied, samples, interval)


def _whole_numbers(name: str, given: ArrayLike) -> Longs:
    counts = np.asarray(given)
    if counts.ndim != 1 or (counts.size and not np.issubdtype(counts.dtype, np.integer)):
        got = f"shape {counts.shape} of type {counts.dtype}"
        raise InputError(f"{name}: expected whole numbers, one per sentence, got {got}")
    return counts.astype(np.int64)


def _random(samples: int, seed: int) -> np.random.Generator:
    require_whole("samples", samples, 1)
    require_whole("seed", seed, 0, MOST_SEED)
    return np.random.default_rng(seed)


def _blocks(samples: int, width: int) -> Iterator[tuple[int, int]]:
    """(start, rows) of blocks that cover all samples and hold at most BLOCK entries."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, samples, step):
        yield start, min(step, samples - start)
