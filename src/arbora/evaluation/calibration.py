"""Calibration: of all arcs with probability 90%, nine in ten should be right.

Over n predictions with probabilities p and outcomes r (1 right, 0 wrong), the expected calibration error
[guo-2017] is the mean of |mean p - share of right ones| over the bins of the predictions, [0, 1/15), ...,
[14/15, 1]; the Brier score [brier-1950] is the mean of (p - r)². 0 is best for both.

Three kinds of predictions are evaluated: heads by P(head); labels by P(label | head), over words with the
right head; labelled arcs by the product of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from operator import eq
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora.errors import DataError, InputError
from arbora.evaluation.attachment import error_at, evaluate, pairs, universal_part
from arbora.parsing.parsed import HEAD, LABEL
from arbora.types import Bools, Doubles

if TYPE_CHECKING:
    from arbora.data.sentence import Sentence

BINS = 15
SHARES = (100, 95, 90, 80, 70, 60, 50, 40, 30, 20, 10)


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with about the same probability."""

    low: float
    high: float
    count: int
    confidence: float  # Mean probability; 0 if the bin is empty
    accuracy: float  # Share of right ones; 0 if the bin is empty


@dataclass(frozen=True, slots=True)
class Kept:
    """The most certain of all predictions."""

    percent: int
    count: int
    threshold: float  # The lowest probability among them
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well probabilities fit outcomes; shares, not percentages."""

    count: int
    confidence: float  # Mean probability
    accuracy: float
    ece: float
    brier: float
    bins: tuple[Bin, ...]
    kept: tuple[Kept, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(probabilities: Doubles | list[float], right: Bools | list[bool]) -> Calibration:
    """All measures of predictions; see the module's docstring. O(n log n).

    >>> found = measure([0.9, 0.9, 0.6, 0.6], [True, True, True, False])
    >>> round(found.ece, 3), round(found.brier, 3)
    (0.1, 0.135)
    """
    p, r = np.asarray(probabilities, dtype=np.float64), np.asarray(right, dtype=np.bool_)
    if p.ndim != 1 or p.shape != r.shape:
        raise InputError(f"probabilities, right: expected two lists of one length, got {p.shape}, {r.shape}")
    if not len(p):
        raise InputError("probabilities: expected at least one, got none")
    if not (is_probability := (p >= 0.0) & (p <= 1.0)).all():
        raise InputError(f"probabilities: expected numbers from 0 to 1, got {p[~is_probability][0]}")
    of_bin = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(of_bin, minlength=BINS)
    confidence, accuracy = (
        (np.bincount(of_bin, each, minlength=BINS) / np.maximum(counts, 1)).tolist() for each in (p, r)
    )
    bins = [
        Bin(i / BINS, (i + 1) / BINS, *each)
        for i, each in enumerate(zip(counts.tolist(), confidence, accuracy, strict=True))
    ]
    return Calibration(
        count=len(p),
        confidence=float(p.mean()),
        accuracy=float(r.mean()),
        ece=sum(each.count * abs(each.confidence - each.accuracy) for each in bins) / len(p),
        brier=float(np.mean((p - r) ** 2)),
        bins=tuple(bins),
        kept=tuple(_most_certain(p, r)),
    )


def _most_certain(p: Doubles, r: Bools) -> Iterator[Kept]:
    # Equal probabilities share their accuracy, so that their order in the file does not matter.
    _, which, counts = np.unique(p, return_inverse=True, return_counts=True)
    shares = np.bincount(which, weights=r) / counts
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(shares[which[order]])
    for percent in SHARES:
        count = max(1, round(percent * len(p) / 100))
        yield Kept(percent, count, float(p[order[count - 1]]), float(hits[count - 1] / count))


def calibration(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    subtypes: bool | None = None,
    names: tuple[str, str] = ("gold", "predicted"),
) -> dict[str, Calibration]:
    """Evaluate the probabilities in MISC of `predicted` (`HeadProb=`, `DeprelProb=`): heads, labels, arcs.

    Without `DeprelProb`, heads alone. `subtypes` as in `evaluate`. Raises `DataError` if sentences differ or
    a word has no probability.
    """
    gold, predicted = list(gold), list(predicted)
    if subtypes is None:
        subtypes = evaluate(gold, predicted, names=names).subtypes
    part = str if subtypes else universal_part
    heads: list[float | None] = []
    labels: list[float | None] = []
    head_right: list[bool] = []
    label_right: list[bool] = []
    for number, (one, other) in enumerate(pairs(gold, predicted, names), start=1):
        head_right += map(eq, one.heads, other.heads)
        label_right += map(eq, map(part, one.deprels), map(part, other.deprels))
        for word, misc in enumerate(other.misc, start=1):
            try:
                heads.append(_probability(misc, HEAD))
                labels.append(_probability(misc, LABEL))
                if heads[-1] is None or (labels[-1] is None) != (labels[0] is None):
                    expected = f"MISC: expected {HEAD if heads[-1] is None else LABEL}=, got {misc!r}"
                    raise ValueError(f"{expected}; `arbora parse --probabilities` writes it for every word")
            except ValueError as error:
                what = f"sentence {number}, word {word}: {error}"
                raise error_at(what, other, names[1], word) from None
    if not heads:
        raise DataError("expected words with probabilities, got none", source=names[1])
    p, right = np.array(heads, dtype=np.float64), np.array(head_right)
    result = {"heads": measure(p, right)}
    if labels[0] is not None:
        p_label, named = np.array(labels, dtype=np.float64), np.array(label_right)
        if right.any():
            result["labels"] = measure(p_label[right], named[right])
        result["arcs"] = measure(p * p_label, right & named)
    return result


def _probability(misc: str, name: str) -> float | None:
    """The number after `name=`, None without one; ValueError if it is no probability."""
    texts = [part.removeprefix(f"{name}=") for part in misc.split("|") if part.startswith(f"{name}=")]
    if not texts:
        return None
    try:
        value = float(texts[0])
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name}: expected a number from 0 to 1, got {texts[0]!r}")
    return value
