"""Calibration: of all arcs with probability 90%, nine in ten should be right.

Over n predictions with probabilities p and outcomes r (1 right, 0 wrong):

- *Expected calibration error* (ECE) [guo-2017]: 15 bins of equal width, [0, 1/15), ..., [14/15, 1]; the mean
  over predictions of |mean p - share of right ones| in their bin. 0 is best; it ignores sharpness.
- *Brier score* [brier-1950]: the mean of (p - r)². 0 is best; it rewards calibration and sharpness.
- *Accuracy of the most certain x%*: without the predictions of lowest p. Among equal p at the edge, each
counts
  by its share.

Three kinds of predictions are evaluated: heads by P(head); labels by P(label | head), over words with the
right head; labelled arcs by the product of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora.errors import DataError, InputError
from arbora.evaluation.attachment import error_at, evaluate, pairs
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
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise InputError("probabilities: expected numbers from 0 to 1, got others")
    bins = tuple(_bins(p, r))
    return Calibration(
        count=len(p),
        confidence=float(p.mean()),
        accuracy=float(r.mean()),
        ece=sum(each.count * abs(each.confidence - each.accuracy) for each in bins) / len(p),
        brier=float(np.mean((p - r) ** 2)),
        bins=bins,
        kept=tuple(_most_certain(p, r)),
    )


def _bins(p: Doubles, r: Bools) -> Iterable[Bin]:
    places = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(places, minlength=BINS)
    sums, hits = (np.bincount(places, weights=each, minlength=BINS) for each in (p, r))
    for i, count in enumerate(counts.tolist()):
        of = max(count, 1)
        yield Bin(i / BINS, (i + 1) / BINS, count, float(sums[i] / of), float(hits[i] / of))


def _most_certain(p: Doubles, r: Bools) -> Iterable[Kept]:
    # Equal probabilities share their accuracy, so that their order in the file does not matter.
    _, which, counts = np.unique(p, return_inverse=True, return_counts=True)
    shares = np.bincount(which, weights=r) / counts
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(shares[which[order]])
    for percent in SHARES:
        count = max(1, round(percent * len(p) / 100))
        threshold = float(p[order[count - 1]])
        yield Kept(percent, count, threshold, float(hits[count - 1] / count))


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
    heads, labels = [], []
    head_right, label_right = [], []
    for number, (one, other) in enumerate(pairs(gold, predicted, names), start=1):
        for word, misc in enumerate(other.misc):
            place = (other, number, word + 1, names[1])
            head = _probability(misc, HEAD, *place)
            if head is None:
                raise _missing(HEAD, *place)
            heads.append(head)
            labels.append(_probability(misc, LABEL, *place))
            head_right.append(one.heads[word] == other.heads[word])
            label_right.append(_name(one, word, subtypes) == _name(other, word, subtypes))
            if (labels[-1] is None) != (labels[0] is None):
                raise _missing(LABEL, *place)
    if not heads:
        raise DataError("expected words with probabilities, got none", source=names[1])
    right = np.array(head_right)
    result = {"heads": measure(np.array(heads), right)}
    if labels[0] is not None:
        sure, named = np.array(labels, dtype=np.float64), np.array(label_right)
        if right.any():
            result["labels"] = measure(sure[right], named[right])
        result["arcs"] = measure(np.array(heads) * sure, right & named)
    return result


def _name(sentence: Sentence, word: int, subtypes: bool) -> str:
    label = sentence.deprels[word]
    return label if subtypes else label.partition(":")[0]


def _probability(
    misc: str, name: str, sentence: Sentence, number: int, word: int, source: str
) -> float | None:
    for part in misc.split("|"):
        key, equals, text = part.partition("=")
        if key != name or not equals:
            continue
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= 1.0:
            what = f"sentence {number}, word {word}: {name}: expected a number from 0 to 1, got {text!r}"
            raise error_at(what, sentence, source, word)
        return value
    return None


def _missing(name: str, sentence: Sentence, number: int, word: int, source: str) -> DataError:
    what = f"sentence {number}, word {word}: MISC: expected {name}=, got {sentence.misc[word - 1]!r}"
    return error_at(
        f"{what}; `arbora parse --probabilities` writes it for every word", sentence, source, word
    )
