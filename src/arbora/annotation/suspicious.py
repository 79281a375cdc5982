"""Find arcs of a treebank that are probably annotation errors.

Each fold of the treebank is scored by a parser trained on the others (jackknifing), so no parser has seen
the arcs that it scores. Parsers are log-linear over non-projective trees, without a pruner, so
P(arc) is exact: the sum over all trees of the sentence that have the arc. Temperatures, fitted on sentences
of the first fold, calibrate it.

Arcs are ordered by the odds that they are errors. A head chosen by mistake may be any of n, so the odds are
proportional to 1 / (n P(head)), by Bayes' theorem. The parsers know nothing of crossing arcs. Right arcs
seldom cross others, and wrong ones often do: the odds are divided by the root of the share of the treebank's
arcs that cross as many others. The first arcs are most often errors, but some are rare and correct.

Time: `folds` trainings, and O(n³) per sentence. The same seed gives the same result.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.errors import DataError, require_whole
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.long_sentences import without_long
from arbora.parsing.parsed import label_names
from arbora.progress import Observer, Silent
from arbora.training.annotation import fold_names, is_complete, jackknife
from arbora.training.config import TrainConfig
from arbora.training.parser import ParserTraining
from arbora.types import Doubles, Ints, Longs

EPOCHS, BITS = 5, 20
LEAST = 1e-9
"""Of P(head): smaller ones are rounding errors."""
FITTED = 200
"""Sentences that temperatures are fitted on; each costs some dozen sums over its trees."""


@dataclass(frozen=True)
class SuspiciousArc:
    """An annotated arc, its probability, and the parser's alternative."""

    sentence: int
    """From 0."""
    word: int
    """From 1."""
    line: int
    """In the file."""
    form: str
    head: int
    deprel: str
    probability: float
    """P(head), summed over all trees."""
    label_probability: float | None
    """P(label | head); None where the parser knows none, as for a head that it does not choose."""
    proposed_head: int
    proposed_deprel: str
    proposed_probability: float
    odds: float
    """That it is an error, up to a factor."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def suspicious_arcs(
    columns: Columns,
    *,
    share: float = 0.02,
    folds: int = 5,
    seed: int = 0,
    threads: int = 1,
    observer: Observer | None = None,
) -> list[SuspiciousArc]:
    """The arcs of a treebank that are most likely errors, a `share` of all, the likeliest first.

    Words without a head are no arcs. DataError if there are fewer sentences than folds.
    """
    require_whole("folds", folds, 2, 100)
    if len(columns) < folds:
        what = f"number of sentences: expected at least {folds}, one per fold, got {len(columns)}"
        raise DataError(what, source=columns.source)
    observer = observer or Silent()
    found: list[SuspiciousArc] = []
    temperatures = None
    weights = error_weights(columns)
    for name, fold in zip(fold_names(folds), jackknife(columns, folds), strict=True):
        config = TrainConfig(
            parser="graph",
            order=1,
            trees="nonprojective",
            learner="adagrad",
            parameters={"epochs": EPOCHS},
            pruner=False,
            tree_bits=BITS,
            label_bits=BITS,
            labels="staged" if (columns.ids("deprel") != 0).any() else "none",
            only="parser",
            seed=seed,
        )
        training = ParserTraining(fold.rest, None, config, threads, observer.child(name))
        parser, interrupted = training.run(calibrate=False)
        if interrupted:
            raise KeyboardInterrupt
        if temperatures is None:
            whole = fold.held.select(np.flatnonzero(is_complete(fold.held, labelled=False))[:FITTED])
            whole = without_long(whole, parser.search)
            temperatures = fit_temperatures(parser, whole, threads=threads) if len(whole) else None
        if temperatures is not None:
            parser = replace(parser, calibration=temperatures, is_calibrated=True)
        found += _judged(parser, fold.held, fold.words, columns, weights, threads)
    found.sort(key=lambda arc: (-arc.odds, arc.line))
    return found[: int(np.ceil(share * len(found)))]


def _judged(
    parser: Any, held: Columns, words: Any, whole: Columns, weights: Doubles, threads: int
) -> list[SuspiciousArc]:
    """The arcs of a fold; `words` are their places in the whole treebank, whose `weights` are given."""
    confidence = parser.confidence(held, threads=threads)
    sentence = np.searchsorted(whole.offsets, words, side="right") - 1
    labels = label_names(confidence.labels, parser)
    forms, given = held.texts("form"), held.texts("deprel")
    arcs = []
    for place in np.flatnonzero(held.heads >= 0).tolist():
        share = float(confidence.known_label_probabilities[place])
        number = int(sentence[place])
        probability = float(confidence.known_head_probabilities[place])
        arcs.append(
            SuspiciousArc(
                sentence=number,
                word=int(words[place] - whole.offsets[number]) + 1,
                line=int(held.lines[place]),
                form=forms[place],
                head=int(held.heads[place]),
                deprel=given[place],
                probability=probability,
                label_probability=None if np.isnan(share) else share,
                proposed_head=int(confidence.heads[place]),
                proposed_deprel=labels[place],
                proposed_probability=float(confidence.head_probabilities[place]),
                odds=float(weights[words[place]]) / max(probability, LEAST),
            )
        )
    return arcs


def error_weights(columns: Columns) -> Doubles:
    """The odds that each arc is an error, times P(head) and up to a factor; see above. Shape (W,)."""
    lengths = np.diff(columns.offsets)
    crossed = np.concatenate([crossings(heads) for heads in np.split(columns.heads, columns.offsets[1:-1])])
    counts = np.bincount(crossed)  # words without a head count as arcs that cross none
    share = counts[crossed] / len(crossed)
    return 1.0 / (np.repeat(lengths, lengths) * np.sqrt(share))


def crossings(heads: Ints) -> Longs:
    """How many arcs the arc to each word of a sentence crosses; arcs from the root do not count. O(n²)."""
    left, right = np.sort([heads, np.arange(1, len(heads) + 1)], axis=0)
    is_arc = heads > 0
    starts_inside = (left[:, None] < left) & (left < right[:, None]) & (right[:, None] < right)
    crossed = starts_inside & is_arc[:, None] & is_arc
    return crossed.sum(axis=0) + crossed.sum(axis=1)
