"""Which settings are best: a training for each point of a grid, judged on dev or by cross-validation.

With k folds, the sentences are dealt into k parts in an order that the seed decides; each part judges a
parser that was trained on the others, and the means count. The best epoch is chosen by the same sentences
that judge, as it is on dev.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.data.treebank import Treebank, gather
from arbora.errors import DataError, InputError, require_threads
from arbora.formatting import show_scores
from arbora.progress import Observer, Scores, Silent
from arbora.settings import to_dict
from arbora.training.annotation import check_treebank
from arbora.training.config import TrainConfig, learns_from_parts, make_learner
from arbora.training.overrides import override, say_lost
from arbora.training.pipeline import train

Pair = tuple[Columns, Columns]
"""A treebank to train on and one to judge by."""


@dataclass(frozen=True)
class Trial:
    """One point of the grid, with what came of it."""

    values: dict[str, str]
    """What was varied, by name, as text."""
    config: TrainConfig
    scores: Scores
    """On dev, or the means over folds; the one that decides first."""
    spread: Scores
    """Standard deviation of each score over folds; empty on dev."""
    epochs: list[int]
    """The best epoch, one per fold."""
    seconds: float

    @property
    def decides(self) -> float:
        """The score by which trials are compared: LAS, or UAS without labels."""
        return next(iter(self.scores.values()))

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "values": self.values,
            "scores": self.scores,
            "spread": self.spread,
            "epochs": self.epochs,
            "seconds": self.seconds,
            "config": to_dict(self.config),
        }


@dataclass(frozen=True)
class Tuned:
    """What a search gives."""

    trials: list[Trial]
    """Best first; equal ones in the order of the grid."""
    interrupted: bool = False

    @property
    def best(self) -> TrainConfig:
        """The configuration to train with.

        After cross-validation its number of epochs is the median of the folds' best ones, since a training
        on all sentences has nothing to tell it when to stop.
        """
        first = self.trials[0]
        if not first.spread:
            return first.config
        epochs = round(statistics.median(first.epochs))
        return replace(first.config, parameters={**first.config.parameters, "epochs": epochs})


NOT_TUNED = ("only", "tags", "folds", "segmenter", "tagger", "lemmatizer")
"""Settings of what leads from text to tagged words."""


def tune(
    treebank: Treebank,
    dev: Treebank | None = None,
    *,
    grid: Mapping[str, Sequence[object]],
    config: TrainConfig | None = None,
    folds: int = 5,
    threads: int = 1,
    observer: Observer | None = None,
) -> Tuned:
    """Train with every combination of the grid's values; compare on `dev`, or by `folds` where there is none.

    Trials train the parser alone, and are compared by trees of words with the treebank's own tags. `grid`:
    values by name, e.g. `{"C": [0.01, 0.1], "order": [1, 2]}`; names are the learner's parameters and
    the fields of TrainConfig. Where every learner can learn from parts of trees, some heads of `treebank` may
    be unknown, but none of `dev`. All combinations are checked before the first training. Ctrl-C ends the
    search and keeps the trials that are complete.
    """
    require_threads(threads)
    points = [*combinations(grid, config or TrainConfig())]
    check = functools.partial(check_treebank, partial=all_learn_from_parts(point for _, point in points))
    columns = gather(treebank, check)
    check(columns, labelled=(config or TrainConfig()).labels != "none")
    if dev is None and np.any(columns.heads < 0):
        raise DataError(
            f"{np.count_nonzero(columns.heads < 0):,} words have no head, and parts of such a treebank "
            "cannot judge parsers; give a dev treebank that is complete (--dev)",
            source=columns.source,
        )
    if dev is not None:
        pairs = [(columns, gather(dev, check_treebank, "dev"))]
    else:
        seed = (config or TrainConfig()).seed
        pairs = [*fold_pairs(columns, folds, seed)]
    watching = observer or Silent()
    for learner in dict.fromkeys(point.learner_name for _, point in points):
        if told := say_lost(config or TrainConfig(), learner):
            watching.note(told)
    watching.begin("trainings", len(points) * len(pairs), unit="training")
    trials: list[Trial] = []
    interrupted = False
    try:
        for values, point in points:
            trials.append(_trial(values, point, pairs, threads, watching))
    except KeyboardInterrupt:
        interrupted = True
    watching.end()
    return Tuned(sorted(trials, key=lambda trial: -trial.decides), interrupted)


def combinations(
    grid: Mapping[str, Sequence[object]], config: TrainConfig
) -> Iterator[tuple[dict[str, str], TrainConfig]]:
    """Every point of the grid with its configuration, the last name fastest; InputError if one is wrong."""
    if not grid:
        raise InputError("grid: expected values for at least one setting, got none")
    for name, given in grid.items():
        if isinstance(given, str) or not given:
            raise InputError(f"grid: {name}: expected a list of at least one value, got {given!r}")
        if name.partition(".")[0] in NOT_TUNED:
            raise InputError(
                f"grid: {name}: trials train the parser alone, on the tags that the treebank has, so this "
                "setting would change nothing"
            )
    for chosen in itertools.product(*grid.values()):
        values = {name: str(value) for name, value in zip(grid, chosen, strict=True)}
        point = override(config, values, option="grid")
        make_learner(point, point.parameters)
        yield values, point


def all_learn_from_parts(points: Iterable[TrainConfig]) -> bool:
    """Whether some heads may be unknown, whichever of these is trained."""
    return all(map(learns_from_parts, points))


def fold_pairs(columns: Columns, folds: int, seed: int = 0) -> Iterator[Pair]:
    """The treebank without each fold, and that fold."""
    if not 2 <= folds <= len(columns):
        raise InputError(
            f"folds: expected 2 to {len(columns)}, the number of sentences in {columns.source}, got {folds}"
        )
    # By sorting raw numbers, which numpy promises for all its versions.
    order = np.argsort(np.random.PCG64(seed).random_raw(len(columns)), kind="stable")
    part = np.empty(len(columns), dtype=np.int64)
    part[order] = np.arange(len(columns)) % folds
    for fold in range(folds):
        rest = columns.select(np.flatnonzero(part != fold))
        held = columns.select(np.flatnonzero(part == fold))
        rest.source = f"{columns.source} without fold {fold + 1}"
        held.source = f"{columns.source}, fold {fold + 1}"
        yield rest, held


def _trial(
    values: dict[str, str], config: TrainConfig, pairs: Sequence[Pair], threads: int, observer: Observer
) -> Trial:
    begun = time.monotonic()
    found: list[Scores] = []
    epochs: list[int] = []
    what = " ".join(f"{name}={value}" for name, value in values.items())
    for number, (columns, judged) in enumerate(pairs, start=1):
        which = what if len(pairs) == 1 else f"{what}, fold {number}"
        trial = observer.child(which)
        alone = replace(config, only="parser")
        trained = train(columns, judged, config=alone, threads=threads, observer=trial)
        if trained.interrupted:
            raise KeyboardInterrupt
        found.append(trained.scores)
        epochs.append(trained.best_epoch)
        trial.end(f"{show_scores(trained.scores)}, epoch {trained.best_epoch}")
        observer.advance()
    means = {name: statistics.fmean(scores[name] for scores in found) for name in found[0]}
    spread = {name: statistics.stdev(s[name] for s in found) for name in found[0]} if len(pairs) > 1 else {}
    return Trial(values, config, means, spread, epochs, time.monotonic() - begun)


__all__ = ["Trial", "Tuned", "tune"]
