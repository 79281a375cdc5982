"""Grid search: a training for each combination of settings, evaluated on dev or by cross-validation.

Sentences are dealt into folds in an order drawn from the seed. Each fold evaluates a parser trained on the
others, and means are compared. The best epoch is chosen on the same sentences, as on dev.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arbora.data.columns import Columns
from arbora.data.treebank import Treebank, gather
from arbora.errors import DataError, InputError, require_threads
from arbora.formatting import show_scores
from arbora.progress import Observer, Scores, Silent
from arbora.training.annotation import check_treebank, split
from arbora.training.config import TrainConfig, override, say_lost
from arbora.training.pipeline import train

Pair = tuple[Columns, Columns]
"""A treebank to train on, and one to evaluate on."""


@dataclass(frozen=True)
class Trial:
    """One point of the grid, with its results."""

    values: dict[str, str]
    """The settings of the grid, as text."""
    scores: Scores
    """On dev, or the means over folds; trials are compared by the first."""
    spread: Scores
    """Standard deviation of each score over folds; empty on dev."""
    epochs: list[int]
    """The best epoch, one per fold."""
    seconds: float
    config: TrainConfig

    @property
    def decides(self) -> float:
        """The score by which trials are compared: LAS, or UAS without labels."""
        return next(iter(self.scores.values()))


@dataclass(frozen=True)
class Tuned:
    """The result of a grid search."""

    trials: list[Trial]
    """Best first; equal ones in the order of the grid."""
    interrupted: bool = False

    @property
    def best(self) -> TrainConfig:
        """The configuration to train with.

        After cross-validation, its number of epochs is the median of the folds' best ones, since training on
        all sentences has no dev set to stop by.
        """
        first = self.trials[0]
        if not first.spread:
            return first.config
        epochs = round(statistics.median(first.epochs))
        return replace(first.config, parameters={**first.config.parameters, "epochs": epochs})


NOT_TUNED = ("only", "tags", "folds", "segmenter", "tagger", "lemmatizer")
"""Settings that do not change a parser of gold tags."""


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
    """Train with every combination of the grid's values; compare on `dev`, or by cross-validation without it.

    Trials train the parser alone, on gold tags. `grid`: values by name, e.g.
    `{"C": [0.01, 0.1], "order": [1, 2]}`; names are the learner's parameters and the fields of TrainConfig.
    Some heads of `treebank`, but not of `dev`, may be unknown if every learner can train on partial trees.
    All combinations are checked before the first training. Ctrl-C ends the search and keeps complete trials.
    """
    require_threads(threads)
    config, observer = config or TrainConfig(), observer or Silent()
    points = [*combinations(grid, config)]
    check = functools.partial(check_treebank, partial=all(point.learns_from_parts for _, point in points))
    columns = gather(treebank, check)
    check(columns, labelled=config.labels != "none")
    if dev is None and np.any(columns.heads < 0):
        raise DataError(
            f"{np.count_nonzero(columns.heads < 0):,} words have no head, so folds of this treebank cannot "
            "evaluate parsers; give a complete dev treebank (--dev)",
            source=columns.source,
        )
    if dev is not None:
        pairs = [(columns, gather(dev, check_treebank, "dev"))]
    else:
        pairs = [*fold_pairs(columns, folds, config.seed)]
    for learner in dict.fromkeys(point.learner_name for _, point in points):
        if lost := say_lost(config, learner):
            observer.note(lost)
    observer.begin("trainings", len(points) * len(pairs), unit="training")
    trials: list[Trial] = []
    interrupted = False
    try:
        for values, point in points:
            trials.append(_trial(values, point, pairs, threads, observer))
    except KeyboardInterrupt:
        interrupted = True
    observer.end()
    return Tuned(sorted(trials, key=lambda trial: -trial.decides), interrupted)


def combinations(
    grid: Mapping[str, Sequence[object]], config: TrainConfig
) -> Iterator[tuple[dict[str, str], TrainConfig]]:
    """Every point of the grid with its configuration, the last name fastest; InputError if one is invalid."""
    if not grid:
        raise InputError("grid: expected values for at least one setting, got none")
    for name, given in grid.items():
        if isinstance(given, str) or not given:
            raise InputError(f"grid: {name}: expected a list of at least one value, got {given!r}")
        if name.partition(".")[0] in NOT_TUNED:
            raise InputError(
                f"grid: {name}: trials train the parser alone, on gold tags, so this setting would change "
                "nothing"
            )
    for chosen in itertools.product(*grid.values()):
        values = {name: str(value) for name, value in zip(grid, chosen, strict=True)}
        point = override(config, values, option="grid")
        point.make_learner()  # checks its parameters
        yield values, point


def fold_pairs(columns: Columns, folds: int, seed: int = 0) -> Iterator[Pair]:
    """The treebank without each fold, and that fold."""
    if not 2 <= folds <= len(columns):
        raise InputError(
            f"folds: expected 2 to {len(columns)}, the number of sentences in {columns.source}, got {folds}"
        )
    # Sort raw numbers, which are the same in all versions of NumPy.
    order = np.argsort(np.random.PCG64(seed).random_raw(len(columns)), kind="stable")
    part = np.empty(len(columns), dtype=np.int64)
    part[order] = np.arange(len(columns)) % folds
    for number, fold in enumerate(split(columns, part, folds), start=1):
        fold.rest.source = f"{columns.source} without fold {number}"
        fold.held.source = f"{columns.source}, fold {number}"
        yield fold.rest, fold.held


def _trial(
    values: dict[str, str], config: TrainConfig, pairs: Sequence[Pair], threads: int, observer: Observer
) -> Trial:
    begun = time.monotonic()
    found: list[Scores] = []
    epochs: list[int] = []
    name = " ".join(f"{name}={value}" for name, value in values.items())
    parser_only = replace(config, only="parser")
    for number, (columns, dev) in enumerate(pairs, start=1):
        trial = observer.child(name if len(pairs) == 1 else f"{name}, fold {number}")
        trained = train(columns, dev, config=parser_only, threads=threads, observer=trial)
        if trained.interrupted:
            raise KeyboardInterrupt
        found.append(trained.scores)
        epochs.append(trained.best_epoch)
        trial.end(f"{show_scores(trained.scores)}, epoch {trained.best_epoch}")
        observer.advance()
    means = {name: statistics.fmean(scores[name] for scores in found) for name in found[0]}
    spread = {name: statistics.stdev(s[name] for s in found) for name in found[0]} if len(pairs) > 1 else {}
    return Trial(values, means, spread, epochs, time.monotonic() - begun, config)
