"""A parser trained on one treebank and evaluated on another, epoch by epoch.

Studies of learners share everything but the learner. Trees are unlabelled. For projective training,
non-projective trees are changed in as few heads as possible. UAS leaves out words that are written with
punctuation only, as CoNLL-X did.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.interfaces import Learner, Progress, Trees
from arbora.learners.stage import Watched
from arbora.parsing.parser import Parser
from arbora.problems import GraphProblem
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.search.graph import GraphSearch
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer
from arbora.settings import to_dict
from arbora.training.annotation import check_treebank, training_heads
from arbora.training.linear import PRUNER_LEARNER
from arbora.types import Floats
from arbora_studies.runner import Options
from arbora_studies.treebanks import Heads, checksum, punctuation

Which: TypeAlias = Literal["averaged", "last"]
Variants: TypeAlias = Mapping[str, tuple[Which, Trees | None]]
"""What is evaluated after an epoch, by name: which weights, over which trees (None: those of training)."""


@dataclass(frozen=True, slots=True)
class Point:
    """The accuracy after an epoch."""

    epoch: int
    seconds: float
    """Processor time of training so far, without evaluation."""
    uas: dict[str, float]
    """In percent, by variant."""
    measures: dict[str, float]
    """What the learner reports."""

    @property
    def best(self) -> float:
        """The best UAS."""
        return max(self.uas.values())

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Point:
        """Read what `to_json` wrote; earlier versions stored the UAS of both weights one by one."""
        rest = dict(stored)
        uas = rest.pop("uas", None) or {which: rest.pop(which) for which in ("averaged", "last")}
        return cls(uas=uas, **rest)

    def to_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Trained:
    """Both weights, and the processor time of training."""

    seconds: float
    averaged: Floats
    last: Floats


class Course:
    """A treebank to train on, one to evaluate on, and a parser without weights."""

    def __init__(
        self,
        data: tuple[Columns, Columns],
        settings: GraphSettings,
        pruner: PrunerSettings | None,
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        train, self.evaluated = data
        check_treebank(train)
        check_treebank(self.evaluated, "the treebank to evaluate on")
        self.threads = threads
        self.names = Names.of(train)
        self._train = self.names.encode(train)
        self._train.set_heads(training_heads(train, settings.trees, settings.roots, "minimum-loss"))
        self._batch = self.names.batch(self.evaluated)
        self._scored = ~punctuation(self.evaluated)
        self.scorer = LinearScorer(settings, features.create(settings.features))
        self.pruner = None if pruner is None else self._make_pruner(pruner, seed)
        arcs = None
        if self.pruner is not None:
            arcs = self.pruner.prune(self._train, threads)
            arcs.restore_gold(self._train)
        self.problem = GraphProblem(self.scorer, self._train, arcs=arcs, threads=threads)

    def _make_pruner(self, settings: PrunerSettings, seed: int) -> Pruner:
        roots = self.scorer.settings.roots
        problem = GraphProblem(pruner_scorer(settings, roots), self._train, threads=self.threads)
        return Pruner(settings, replace(PRUNER_LEARNER, seed=seed).fit(problem).averaged, roots)

    def run(
        self,
        learner: Learner,
        advance: Callable[[int], None],
        after_epoch: Callable[[Progress, float], None] | None = None,
    ) -> Trained:
        """Train. `after_epoch` gets the processor time of training so far, and may stop it."""
        spent, since = 0.0, time.process_time()

        def pause(progress: Progress) -> None:
            nonlocal spent, since
            spent += time.process_time() - since
            if after_epoch is not None:
                after_epoch(progress, spent)
            since = time.process_time()

        learned = learner.fit(Watched(self.problem, advance), callbacks=[pause])
        if learned.stopped == "interrupted":
            raise KeyboardInterrupt
        return Trained(spent, learned.averaged, learned.last)

    def evaluate(self, progress: Progress, seconds: float, variants: Variants) -> Point:
        """Evaluate the weights after an epoch."""
        weights = {"averaged": progress.averaged(), "last": progress.last()}
        # Some learners average nothing, and comparing weights is faster than parsing.
        if np.array_equal(weights["averaged"], weights["last"]):
            weights["last"] = weights["averaged"]
        known: dict[tuple[int, Trees | None], float] = {}
        uas = {}
        for name, (which, trees) in variants.items():
            key = id(weights[which]), trees
            if key not in known:
                known[key] = self.uas(weights[which], trees)
            uas[name] = known[key]
        return Point(progress.epoch.number, seconds, uas, dict(progress.epoch.measures))

    def parser(self, weights: Floats, trees: Trees | None = None) -> Parser:
        """Return the parser with these weights, over other trees than those of training if given."""
        search = GraphSearch(self.scorer.replaced(tree=np.ascontiguousarray(weights)), self.pruner)
        return Parser(names=self.names, search=search if trees is None else search.with_trees(trees))

    def heads(self, weights: Floats, trees: Trees | None = None) -> Heads:
        """Parse the treebank to evaluate on. Shape (W,)."""
        return self.parser(weights, trees).trees(self._batch, threads=self.threads)[0]

    def uas(self, weights: Floats, trees: Trees | None = None) -> float:
        """UAS without punctuation, in percent."""
        right = self.heads(weights, trees) == self.evaluated.heads
        return 100 * float(np.mean(right[self._scored])) if self._scored.any() else 0.0


def course_inputs(
    data: tuple[Columns, Columns],
    settings: GraphSettings,
    pruner: PrunerSettings | None,
    learner: Learner,
    options: Options,
) -> dict[str, Any]:
    """Everything that the result of a course depends on."""
    sets = [settings.features, *([] if pruner is None else [pruner.features])]
    return {
        "train": checksum(data[0]),
        "judged": checksum(data[1]),
        "settings": to_dict(settings),
        "pruner": None if pruner is None else to_dict(pruner),
        "templates": zlib.crc32(repr([features.create(name).compiled for name in sets]).encode()),
        "seed": options.seed,
        "learner": learner.name,
        "parameters": learner.settings(),
    }
