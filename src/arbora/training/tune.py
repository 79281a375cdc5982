"""Grid search: a training for each combination of settings, evaluated on dev or by cross-validation.

Sentences are dealt into folds in an order drawn from the seed. Each fold evaluates a parser trained on the
others, and means are compared. The best epoch is chosen on the same sentences, as on dev.

A trial is trained and evaluated as `train` does it with the same settings: on predicted tags, unless these
settings say otherwise. Taggers are trained once for all trials that have the same ones.
"""

from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arbora.data.columns import Columns
from arbora.data.treebank import Treebank, gather
from arbora.errors import ArboraError, DataError, InputError, require_threads
from arbora.formatting import show_scores
from arbora.progress import Observer, Scores, Silent
from arbora.training.annotation import check_treebank, split
from arbora.training.config import TrainConfig, override, say_lost
from arbora.training.jobs import run_jobs
from arbora.training.pipeline import PREPARES, Inputs, Tools, check, prepare, train_parser

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool

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
class Failure:
    """A point of the grid without results: workers were lost while they trained."""

    values: dict[str, str]
    reason: str


@dataclass(frozen=True)
class Tuned:
    """The result of a grid search."""

    trials: list[Trial]
    """Best first; equal ones in the order of the grid."""
    interrupted: bool = False
    failures: list[Failure] = field(default_factory=list)

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


NOT_TUNED = ("only", "segmenter")
"""Settings that do not change a parser's scores."""
TAGGING = ("tagger", "lemmatizer")
"""Settings that change them only if tags are jackknifed."""


def tune(
    treebank: Treebank,
    dev: Treebank | None = None,
    *,
    grid: Mapping[str, Sequence[object]],
    config: TrainConfig | None = None,
    folds: int = 5,
    threads: int = 1,
    observer: Observer | None = None,
    pool: Pool | None = None,
) -> Tuned:
    """Train with every combination of the grid's values; compare on `dev`, or by cross-validation without it.

    `grid`: values by name, e.g. `{"C": [0.01, 0.1], "order": [1, 2]}`; names are the learner's parameters and
    the fields of TrainConfig. Parsers see the tags that `config` says, by default predicted ones.
    Some heads of `treebank`, but not of `dev`, may be unknown if every learner can train on partial trees.
    All combinations are checked before the first training. Ctrl-C ends the search and keeps complete trials.
    `pool`: workers that train at the same time, each with `threads` threads.
    """
    require_threads(threads)
    config, observer = config or TrainConfig(), observer or Silent()
    points = combinations(grid, config)
    pairs = _treebanks(treebank, dev, [point for _, point in points], folds, config.seed)
    for learner in dict.fromkeys(point.learner_name for _, point in points):
        if lost := say_lost(config, learner):
            observer.note(lost)
    search = _Search(points, len(pairs))
    observer.begin("trainings", len(search.tasks), unit="training")
    interrupted = False
    try:
        jobs = run_jobs(Trials(pairs, threads), search.names, search.tasks, observer, pool)
        with closing(jobs):
            for job in jobs:
                job.observer.end(search.add(job.place, job.result, job.lost))
                observer.advance()
                observer.status(search.status())
    except KeyboardInterrupt:
        interrupted = True
    observer.end()
    if search.failures and not search.trials and not interrupted:
        raise search.lost[min(search.lost)]
    return Tuned(sorted(search.trials, key=lambda trial: -trial.decides), interrupted, search.failures)


def _treebanks(
    treebank: Treebank, dev: Treebank | None, points: Sequence[TrainConfig], folds: int, seed: int
) -> list[Pair]:
    """Pairs to train and evaluate on: one with dev, else one for each fold."""
    may_be_partial = all(point.learns_from_parts for point in points)
    require = functools.partial(check_treebank, partial=may_be_partial)
    columns = gather(treebank, require)
    require(columns, labelled=any(point.labels != "none" for point in points))
    if dev is not None:
        return [(columns, gather(dev, check_treebank, "dev"))]
    if np.any(columns.heads < 0):
        raise DataError(
            f"{np.count_nonzero(columns.heads < 0):,} words have no head, so folds of this treebank cannot "
            "evaluate parsers; give a complete dev treebank (--dev)",
            source=columns.source,
        )
    return [*fold_pairs(columns, folds, seed)]


def combinations(
    grid: Mapping[str, Sequence[object]], config: TrainConfig
) -> list[tuple[dict[str, str], TrainConfig]]:
    """Every point of the grid with its configuration, the last name fastest; InputError if one is invalid."""
    if not grid:
        raise InputError("grid: expected values for at least one setting, got none")
    for name, given in grid.items():
        if isinstance(given, str) or not given:
            raise InputError(f"grid: {name}: expected a list of at least one value, got {given!r}")
        if name.partition(".")[0] in NOT_TUNED:
            raise InputError(f"grid: {name}: this setting does not change the parser's scores")
    points: list[tuple[dict[str, str], TrainConfig]] = []
    for chosen in itertools.product(*grid.values()):
        values = {name: str(value) for name, value in zip(grid, chosen, strict=True)}
        point = override(config, values, option="grid")
        point.make_learner()  # checks its parameters
        points.append((values, point))
    _check_tags(grid, [point for _, point in points])
    return points


def _check_tags(names: Iterable[str], points: Sequence[TrainConfig]) -> None:
    """InputError if some points see gold tags and others do not, or if settings of taggers have no effect."""
    seen = [point.tags_seen for point in points]
    if 0 < seen.count("gold") < len(seen):
        raise InputError(
            "grid: tags: some trials would see gold tags, others not, so their scores could not be compared; "
            "set tags for all (--tags)"
        )
    for name in names:
        if name.partition(".")[0] in TAGGING and "jackknife" not in seen:
            raise InputError(
                f"grid: {name}: parsers see {seen[0]} tags, not those of a tagger, so this setting would "
                "change nothing"
            )


def fold_pairs(columns: Columns, folds: int, seed: int = 0) -> Iterator[Pair]:
    """The treebank without each fold, and that fold."""
    if not 2 <= folds <= len(columns):
        raise InputError(
            f"folds: expected at least 2, and at most the {len(columns)} sentences of {columns.source}, "
            f"got {folds}"
        )
    # Sort raw numbers, which are the same in all versions of NumPy.
    order = np.argsort(np.random.PCG64(seed).random_raw(len(columns)), kind="stable")
    part = np.empty(len(columns), dtype=np.int64)
    part[order] = np.arange(len(columns)) % folds
    for number, fold in enumerate(split(columns, part, folds), start=1):
        fold.rest.source = f"{columns.source} without fold {number}"
        fold.held.source = f"{columns.source}, fold {number}"
        yield fold.rest, fold.held


class Fit(NamedTuple):
    """The result of one training."""

    scores: Scores
    epoch: int
    seconds: float


class Trials:
    """Trains with settings, on one of several pairs of treebanks."""

    def __init__(self, pairs: Sequence[Pair], threads: int) -> None:
        self.pairs, self.threads = pairs, threads
        self._prepared: dict[tuple[int, str], Inputs] = {}

    def __call__(self, task: tuple[int, TrainConfig], observer: Observer) -> Fit:
        pair, config = task
        columns, dev = self.pairs[pair]
        config = check(columns, dev, config, observer)
        key = pair, repr([config.tags_seen, config.recipe.has_clusters, attrgetter(*PREPARES)(config)])
        if key not in self._prepared:
            inputs = prepare(columns, dev, config, self.threads, observer)
            self._prepared[key] = replace(inputs, tools=Tools(clusters=inputs.tools.clusters))  # small
        begun = time.monotonic()
        trained = train_parser(self._prepared[key], config, self.threads, observer)
        if trained.interrupted:
            raise KeyboardInterrupt
        return Fit(trained.scores, trained.best_epoch, time.monotonic() - begun)


class _Search:
    """The points of a grid, and the results of their trainings so far."""

    def __init__(self, points: Sequence[tuple[dict[str, str], TrainConfig]], pairs: int) -> None:
        self.points, self.pairs = points, pairs
        self.tasks = [(pair, config) for _, config in points for pair in range(pairs)]
        folds = [f", fold {number}" for number in range(1, pairs + 1)] if pairs > 1 else [""]
        self.names = [show_values(values) + fold for values, _ in points for fold in folds]
        self.fits: dict[int, Fit] = {}
        self.lost: dict[int, ArboraError] = {}

    def add(self, place: int, fit: Fit, lost: ArboraError | None) -> str:
        """Add the result of a task; return it in words."""
        if lost is not None:
            self.lost[place] = lost
            return f"failed: {lost}"
        self.fits[place] = fit
        return f"{show_scores(fit.scores)}, epoch {fit.epoch}"

    def status(self) -> str:
        """The best complete trial."""
        best = max(self.trials, key=lambda trial: trial.decides, default=None)
        return "" if best is None else f"best: {show_values(best.values)} ({show_scores(best.scores)})"

    @property
    def trials(self) -> list[Trial]:
        """The points whose trainings have all ended, in the order of the grid."""
        tasks = [range(first, first + self.pairs) for first in range(0, len(self.tasks), self.pairs)]
        return [
            _trial(*point, [self.fits[place] for place in places])
            for point, places in zip(self.points, tasks, strict=True)
            if self.fits.keys() >= {*places}
        ]

    @property
    def failures(self) -> list[Failure]:
        """The points of which a training failed."""
        found = {place // self.pairs: str(self.lost[place]) for place in sorted(self.lost, reverse=True)}
        return [Failure(self.points[number][0], found[number]) for number in sorted(found)]


def show_values(values: Mapping[str, str]) -> str:
    """`C=0.1 order=2`."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def _trial(values: dict[str, str], config: TrainConfig, fits: Sequence[Fit]) -> Trial:
    """The trial of one point, from its training on dev or those of all folds."""
    names = list(fits[0].scores)
    means = {name: statistics.fmean(fit.scores[name] for fit in fits) for name in names}
    spread = {n: statistics.stdev(fit.scores[n] for fit in fits) for n in names} if len(fits) > 1 else {}
    return Trial(values, means, spread, [f.epoch for f in fits], sum(f.seconds for f in fits), config)
