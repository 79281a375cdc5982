"""One language's trainings by cube pruning, which differ in where weights are updated."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import Batch
from arbora.interfaces import Trees
from arbora.parsing.parser import Parser
from arbora.problems.cube import NON_VIOLATIONS
from arbora.registry import features
from arbora.scorers.cube import Update
from arbora.search.cube import CubeSearch
from arbora.settings import to_dict
from arbora.training.config import TrainConfig
from arbora.training.parser import ParserTraining
from arbora.training.recipes import Dev
from arbora_studies.runner import Result, Runner, Steps
from arbora_studies.treebanks import Limits, Material, Tested, checksum, punctuation

Scores: TypeAlias = tuple[float, float]
"""UAS and LAS."""


@dataclass(frozen=True)
class System:
    """A column of the table: where to update, and over which trees."""

    title: str
    summary: str
    update: Update
    trees: Trees = "projective"
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
    """The share of training data that takes the place of dev if there is none."""
    sentences: Limits = (None, None)


@dataclass(frozen=True, kw_only=True)
class Row(Tested):
    """One system on one language."""

    las: float
    arcs: list[int]
    """Words with the right head and label, by sentence."""
    words: int
    """Of the test set, punctuation included."""
    training_seconds: float
    """Processor time of all stages."""
    parsing_seconds: float
    """Processor time for the test set."""
    non_violations: list[float]
    """The share of sentences, by epoch, whose gold tree scored better than the one found."""
    pruned: float
    """The share of the test set's arcs that the pruner removed."""
    best_uas_left: float
    """The UAS of a parser whose only mistakes are the pruner's, over all words, in percent."""

    @property
    def scores(self) -> Scores:
        return self.uas, self.las

    @property
    def tokens_per_second(self) -> float:
        return self.words / max(self.parsing_seconds, 1e-9)


class Unpunctuated(Dev):
    """A treebank to evaluate parsers on by UAS without punctuation."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch)
        self._counted = ~punctuation(batch.columns)

    def scores(self, parser: Parser, threads: int = 1) -> dict[str, float]:
        heads, _ = parser.trees(self.batch, threads=threads)
        right = (heads == self.columns.heads)[self._counted]
        return {"uas": 100 * float(np.mean(right)) if len(right) else 0.0}


class Strategies:
    """One language's trainings."""

    def __init__(self, runner: Runner, material: Material, rules: StrategyRules) -> None:
        self.runner = runner
        self.material = material
        self.rules = rules
        self.options = runner.options

    @cached_property
    def _train(self) -> Columns:
        return self.material.columns(self.material.train)[0]

    def row(self, key: str, system: System) -> Row:
        """Train a system, and score it on the test set."""
        epochs = {} if system.epochs is None or self.options.quick else {"epochs": system.epochs}
        shared = self.rules.config
        config = replace(shared, trees=system.trees, parameters={**shared.parameters, **epochs})
        test = self.material.test_columns

        def compute(training: ParserTraining) -> Result:
            began = time.process_time()
            parser = _fit(training)
            learned = time.process_time()
            heads, labels = parser.trees(test, threads=self.options.threads)
            parsed = time.process_time()
            names = [parser.names.labels[label] for label in labels.tolist()]
            return {
                **self.material.score(key, heads, names),
                "words": test.words,
                "training_seconds": learned - began,
                "parsing_seconds": parsed - learned,
                "non_violations": [epoch["measures"][NON_VIOLATIONS] for epoch in _epochs(parser)],
                **self._pruning(parser, test),
            }

        summary = "UAS {uas:.2f}, LAS {las:.2f}".format_map
        data = {"train": self._train, "test": test}
        return Row(**self._cell(f", {system.title}", config, system.update, data, compute, summary))

    def curve(self, update: Update) -> list[float]:
        """UAS on dev after each epoch, in percent."""
        config = replace(self.rules.curves, trees="projective")
        train, dev = self.material.columns(*self.material.with_dev(self.rules.held_out))

        def compute(training: ParserTraining) -> Result:
            training.recipe.dev = Unpunctuated(training.recipe.names.batch(dev))
            return {"uas": [epoch["dev"]["uas"] for epoch in _epochs(_fit(training))]}

        def summary(result: Result) -> str:
            return f"dev UAS {result['uas'][-1]:.2f} after {len(result['uas'])} epochs"

        title = f" by epoch, {config.learner}, {update}"
        data = {"train": train, "dev": dev}
        return list(self._cell(title, config, update, data, compute, summary)["uas"])

    def _cell(
        self,
        title: str,
        config: TrainConfig,
        update: Update,
        data: Mapping[str, Columns],
        compute: Callable[[ParserTraining], Result],
        summary: Callable[[Result], str],
    ) -> Result:
        config = replace(config, update=update, patience=0, seed=self.options.seed)
        sets = [features.create(name) for name in (config.features, config.pruner_settings.features)]
        order = 3 if config.order == "auto" else config.order
        templates = [(each.compiled, each.compiled_contexts(order, labelled=True)) for each in sets]
        inputs = {
            **{name: checksum(columns) for name, columns in data.items()},
            "config": to_dict(config),
            "templates": zlib.crc32(repr(templates).encode()),
        }
        train, observer = data["train"], Steps(self.runner.observer, "tree")
        return self.runner.cell(
            f"{self.material.name}{title}",
            inputs,
            lambda: compute(ParserTraining(train, None, config, self.options.threads, observer)),
            examples=int(config.parameters["epochs"]) * len(train),
            summary=summary,
        )

    def _pruning(self, parser: Parser, test: Columns) -> dict[str, float]:
        assert isinstance(parser.search, CubeSearch)
        assert parser.search.pruner is not None
        encoded = parser.names.encode(test)
        kept = parser.search.pruner.prune(encoded, self.options.threads)
        arcs = int(np.sum(np.diff(test.offsets) ** 2))
        share = 1 - kept.arcs / max(1, arcs)
        lost = kept.restore_gold(encoded)
        return {"pruned": share, "best_uas_left": 100 * (1 - lost / max(1, test.words))}


def _fit(training: ParserTraining) -> Parser:
    """Train; without dev, the weights are those of the last epoch."""
    parser, interrupted = training.run(calibrate=False)
    if interrupted:
        raise KeyboardInterrupt
    return parser


def _epochs(parser: Parser) -> list[dict[str, Any]]:
    return [report for report in parser.about["epochs"] if report["stage"] == "tree"]
