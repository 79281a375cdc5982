"""One language's trainings by cube pruning, which differ in where weights are updated, each tested once.

Every training takes all epochs on all training data, and the weights after the last one parse the test set:
nothing is chosen, so dev is not looked at. Curves are another matter: they are of trainings that are judged
on dev after each epoch, and nothing else comes of these.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.interfaces import Trees
from arbora.parsing._tree_parser import AnyParser
from arbora.parsing.parser import Parser
from arbora.problems.cube import NON_VIOLATIONS
from arbora.progress import Silent
from arbora.registry import features
from arbora.reproduce.courses import as_columns, checksum, written_punctuation
from arbora.reproduce.languages import Limits, Material, TestedWithLabels
from arbora.reproduce.study import Journal, Watcher, compute
from arbora.scorers.cube import Update
from arbora.settings import to_dict
from arbora.training import TrainConfig, Trained, Training
from arbora.training.dev import Dev

Scores: TypeAlias = tuple[float, float]
"""UAS and LAS."""
Curve: TypeAlias = list[float]
"""A number per epoch."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A column of the table: where to update, and what becomes of crossing arcs."""

    title: str
    summary: str
    update: Update
    trees: Trees = "projective"
    """Projective: crossing arcs are flattened; else they are found by re-attachment."""
    epochs: int | None = None
    """None: as many as the others."""


@dataclass(frozen=True, kw_only=True)
class StrategyRules:
    """What all trainings share."""

    config: TrainConfig
    """Of the table."""
    curves: TrainConfig
    """Of the figure."""
    held_out: float = 0.1
    """The share of training data that takes the place of dev where there is none."""
    sentences: Limits = (None, None)


@dataclass(frozen=True, kw_only=True)
class Result(TestedWithLabels):
    """One system on one language."""

    words: int
    """Of the test set, all of them."""
    training_seconds: float
    """Processor time, of all stages; likewise `parsing_seconds`, of the test set."""
    parsing_seconds: float
    non_violations: Curve
    """The share of sentences, by epoch, whose right tree scored better than the one that was found."""
    pruned: float
    """The share of the test set's arcs that the pruner took away."""
    best_uas_left: float
    """The UAS of a parser that makes no mistake but for these, over all words, in percent."""

    @property
    def scores(self) -> Scores:
        """UAS and LAS."""
        return self.uas, self.las

    @property
    def tokens_per_second(self) -> float:
        """Words of the test set by processor time."""
        return self.words / max(self.parsing_seconds, 1e-9)


Results: TypeAlias = Mapping[str, Mapping[str, Result]]
"""By language, then by system."""


class Unpunctuated(Dev):
    """A treebank to judge parsers on by the heads of words that are not written with punctuation only."""

    def __init__(self, columns: Columns, names: Names) -> None:
        super().__init__(columns, names)
        self._counted = ~written_punctuation(columns)

    def scores(self, parser: AnyParser, threads: int = 1) -> dict[str, float]:
        """UAS, in percent."""
        heads, _ = parser.trees_of(self.sentences, threads=threads)
        right = (heads == self.columns.heads)[self._counted]
        return {"uas": 100 * float(np.mean(right)) if len(right) else 0.0}


class Moves(Silent):
    """Tells a watcher of the examples of a training's last stage, which takes the time."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._counts = False

    def begin(
        self,
        task: str,
        total: int | None = None,
        *,
        epochs: int | None = None,
        done: int = 0,
        unit: str = "sentence",
    ) -> None:
        """Others are not counted."""
        self._counts = task == "tree"

    def advance(self, steps: int = 1) -> None:
        """The watcher is told."""
        if self._counts:
            self._watcher.asked(steps)


class Strategies:
    """One language's trainings."""

    def __init__(self, material: Material, rules: StrategyRules, journal: Journal, watcher: Watcher) -> None:
        self.material = material
        self.rules = rules
        self.options = material.options
        self.journal = journal
        self.watcher = watcher

    @cached_property
    def _whole(self) -> tuple[Columns, Columns]:
        material = self.material
        return as_columns(material.train, material.format), as_columns(material.test, material.format)

    @cached_property
    def _parts(self) -> tuple[Columns, Columns]:
        train, dev = self.material.with_dev(self.rules.held_out)
        return as_columns(train, self.material.format), as_columns(dev, self.material.format)

    def result(self, key: str, system: System) -> Result:
        """A system's training, and its scores on the test set."""
        config = self._config(self.rules.config, system.update, system.trees)
        if system.epochs is not None and not self.options.quick:
            config = replace(config, parameters={**config.parameters, "epochs": system.epochs})
        train, test = self._whole

        def work() -> dict[str, Any]:
            began = time.process_time()
            trained = self._train(config, train)
            learned = time.process_time()
            heads, labels = trained.parser.trees(test, threads=self.options.threads)
            parsed = time.process_time()
            names = [trained.parser.names.labels[label] for label in labels.tolist()]
            return {
                **self.material.scored(key, heads, names),
                "words": test.words,
                "training_seconds": learned - began,
                "parsing_seconds": parsed - learned,
                "non_violations": [epoch["measures"][NON_VIOLATIONS] for epoch in _epochs(trained)],
                **self._pruning(trained.parser, test),
            }

        found = compute(
            self.journal,
            self.watcher,
            f"{self.material.name}, {system.title}",
            _inputs(config, train=train, test=test),
            int(config.parameters["epochs"]) * len(train),
            work,
            lambda result: f"UAS {result['uas']:.2f}, LAS {result['las']:.2f}",
        )
        return Result(**found)

    def curve(self, update: Update) -> Curve:
        """UAS on dev after each epoch, in percent."""
        config = self._config(self.rules.curves, update, "projective")
        train, dev = self._parts

        def work() -> dict[str, Any]:
            return {"uas": [epoch["dev"]["uas"] for epoch in _epochs(self._train(config, train, dev))]}

        found = compute(
            self.journal,
            self.watcher,
            f"{self.material.name} by epoch, {config.learner}, {update}",
            _inputs(config, train=train, dev=dev),
            int(config.parameters["epochs"]) * len(train),
            work,
            lambda result: f"dev UAS {result['uas'][-1]:.2f} after {len(result['uas'])} epochs",
        )
        return list(found["uas"])

    def _config(self, shared: TrainConfig, update: Update, trees: Trees) -> TrainConfig:
        return replace(shared, update=update, trees=trees, patience=0, seed=self.options.seed)

    def _train(self, config: TrainConfig, train: Columns, dev: Columns | None = None) -> Trained:
        """Without dev, the weights are those of the last epoch."""
        training = Training(train, None, config, self.options.threads, Moves(self.watcher))
        if dev is not None:
            training.dev = Unpunctuated(dev, training.names)
        trained = training.run(calibrate=False)
        if trained.interrupted:
            raise KeyboardInterrupt
        return trained

    def _pruning(self, parser: Parser, test: Columns) -> dict[str, float]:
        """What the pruner takes away, and how much of it is right."""
        assert parser.pruner is not None
        encoded = parser.names.encode(test)
        kept = parser.pruner.prune(encoded, self.options.threads)
        arcs = int(np.sum(np.diff(test.offsets) ** 2))
        share = 1 - kept.arcs / max(1, arcs)
        lost = kept.restore_gold(encoded)
        return {"pruned": share, "best_uas_left": 100 * (1 - lost / max(1, test.words))}


def _epochs(trained: Trained) -> list[dict[str, Any]]:
    """What was reported of the stage that learns trees."""
    return [report for report in trained.reports if report["stage"] == "tree"]


def _inputs(config: TrainConfig, **data: Columns) -> dict[str, Any]:
    """All that a cell depends on, as JSON can hold it."""
    sets = [features.create(name) for name in (config.features, config.pruner_settings.features)]
    order = 3 if config.order == "auto" else config.order
    templates = [(each.compiled, each.compiled_contexts(order, labelled=True)) for each in sets]
    return {
        **{name: checksum(columns) for name, columns in data.items()},
        "config": to_dict(config),
        "templates": zlib.crc32(repr(templates).encode()),
    }
