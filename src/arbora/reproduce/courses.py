"""A learner's whole course on one treebank, judged on another as it goes.

What studies of learners share: everything but the learner is the same in all their trainings. Trees are
unlabelled and taken as they are, crossing arcs and all; where trees may not cross, the ones to learn from are
changed in as few heads as can be. UAS leaves out words that are written with punctuation only, as CoNLL-X
does and as `arbora eval` does under that name.
"""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.data import treebank
from arbora.data.columns import Columns, Format
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.evaluation.attachment import is_punctuation
from arbora.interfaces import Learner, Progress, Trees
from arbora.parsing.parser import Parser
from arbora.problems import GraphProblem, watch
from arbora.registry import features
from arbora.scorers import GraphSettings
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer
from arbora.settings import to_dict
from arbora.training import PRUNER_LEARNER
from arbora.training.annotation import check_treebank, training_heads

Which: TypeAlias = Literal["averaged", "last"]
Floats: TypeAlias = NDArray[np.float32]
Heads: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Point:
    """How good the weights were after an epoch."""

    epoch: int
    seconds: float
    """Processor time of learning since the first epoch began; judging is not in it."""
    averaged: float
    """UAS in percent; likewise `last`."""
    last: float
    measures: dict[str, float]
    """What the learner itself reports."""

    @property
    def best(self) -> float:
        """UAS of the better weights."""
        return max(self.averaged, self.last)

    def to_json(self) -> dict[str, Any]:
        """The fields by name; `from_json` is `Point(**...)`."""
        return {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "averaged": self.averaged,
            "last": self.last,
            "measures": self.measures,
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """What a course came to."""

    seconds: float
    """Processor time of learning."""
    averaged: Floats
    last: Floats


class Course:
    """A treebank to learn from, one to judge on, and a parser without weights."""

    def __init__(
        self,
        train: Columns,
        judged: Columns,
        settings: GraphSettings,
        pruner: PrunerSettings | None,
        *,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        check_treebank(train)
        check_treebank(judged, "the treebank to judge on")
        self.settings = settings
        self.threads = threads
        self.names = Names.of(train)
        self.judged = judged
        self._train = self.names.encode(train)
        self._train.set_heads(training_heads(train, settings.trees, settings.roots, "minimum-loss"))
        self._judged = self.names.encode(judged)
        self._scored = ~written_punctuation(judged)
        self._nothing_seen = np.zeros(0, dtype=np.uint8)
        self.scorer = Parser.make_scorer(settings, self.names, self._nothing_seen)
        self.pruner = None if pruner is None else self._make_pruner(pruner, seed)
        arcs = None
        if self.pruner is not None:
            arcs = self.pruner.prune(self._train, threads)
            arcs.restore_gold(self._train)
        self.problem = GraphProblem(self.scorer, self._train, arcs=arcs, threads=threads)

    def _make_pruner(self, settings: PrunerSettings, seed: int) -> Pruner:
        scorer = pruner_scorer(settings, self.scorer.settings.roots)
        problem = GraphProblem(scorer, self._train, threads=self.threads)
        return Pruner(settings, replace(PRUNER_LEARNER, seed=seed).fit(problem).averaged)

    def run(
        self,
        learner: Learner,
        *,
        note: Callable[[Progress, float], None] | None = None,
        asked: Callable[[int], None] | None = None,
    ) -> Ran:
        """All epochs; `note` sees each with the processor time of learning so far, and may stop them.

        Without it, the judged treebank is not looked at.
        """
        spent, since = 0.0, time.process_time()

        def pause(progress: Progress) -> None:
            nonlocal spent, since
            spent += time.process_time() - since
            if note is not None:
                note(progress, spent)
            since = time.process_time()

        problem = self.problem if asked is None else watch(self.problem, asked)
        learned = learner.fit(problem, callbacks=[pause])
        if learned.stopped == "interrupted":
            raise KeyboardInterrupt
        return Ran(spent, learned.averaged, learned.last)

    def point(self, progress: Progress, seconds: float) -> Point:
        """How good both kinds of weights are now."""
        epoch, averaged, last = progress.epoch, progress.averaged(), progress.last()
        uas = self.uas(averaged)
        # Some learners average nothing; parsing takes longer than finding out.
        same = np.array_equal(averaged, last)
        return Point(epoch.number, seconds, uas, uas if same else self.uas(last), dict(epoch.measures))

    def parser(self, weights: Floats, trees: Trees | None = None) -> Parser:
        """The parser with these weights, over other trees than it was trained with if these are named."""
        return Parser(
            settings=self.settings if trees is None else replace(self.settings, trees=trees),
            names=self.names,
            seen=self._nothing_seen,
            tree=np.ascontiguousarray(weights),
            pruner=self.pruner,
        )

    def heads(self, weights: Floats, trees: Trees | None = None) -> Heads:
        """Of all words of the judged treebank, as these weights find them. Shape (W,)."""
        return self.parser(weights, trees).trees_of(self._judged, threads=self.threads)[0]

    def uas(self, weights: Floats, trees: Trees | None = None) -> float:
        """The share of right heads among words that are not punctuation, in percent."""
        right = self.heads(weights, trees) == self.judged.heads
        return 100 * float(np.mean(right[self._scored])) if self._scored.any() else 0.0

    def best_uas_left(self) -> float:
        """The UAS of a parser that makes no mistake but for what the pruner takes away."""
        if self.pruner is None:
            return 100.0
        kept = self.pruner.prune(self._judged, self.threads)
        lost = kept.restore_gold(self._judged)
        return 100 * (1 - lost / max(1, self.judged.words))


def written_punctuation(columns: Columns) -> NDArray[np.bool_]:
    """Which words are written with punctuation only. Shape (W,)."""
    marks = np.array([is_punctuation(form) for form in columns.strings("form")], dtype=np.bool_)
    return marks[columns.ids("form")]


def as_columns(sentences: list[Sentence], format: Format) -> Columns:  # noqa: A002
    """Sentences as compact arrays."""
    stream = io.BytesIO()
    treebank.write(sentences, stream, layout="standard")
    stream.seek(0)
    return treebank.read_columns(stream, format=format)


def read_sentences(path: str, count: int | None = None) -> tuple[list[Sentence], Format]:
    """The first sentences of a file (None: all), and its format."""
    reader = treebank.read(path)
    return list(islice(reader, count)), reader.format


def hold_out(sentences: list[Sentence], share: float) -> tuple[list[Sentence], list[Sentence]]:
    """All but the last `share` of the sentences, and these; both have at least one where there are two."""
    kept = min(max(1, len(sentences) - round(share * len(sentences))), max(1, len(sentences) - 1))
    return sentences[:kept], sentences[kept:]


def inputs(
    data: tuple[Columns, Columns],
    settings: GraphSettings,
    pruner: PrunerSettings | None,
    learner: Learner,
    seed: int,
    **more: Any,
) -> dict[str, Any]:
    """All that what a course comes to depends on, as JSON can hold it."""
    sets = [settings.features, *([] if pruner is None else [pruner.features])]
    return {
        "train": checksum(data[0]),
        "judged": checksum(data[1]),
        "settings": to_dict(settings),
        "pruner": None if pruner is None else to_dict(pruner),
        "templates": zlib.crc32(repr([features.create(name).compiled for name in sets]).encode()),
        "seed": seed,
        "learner": learner.name,
        "parameters": learner.settings(),
        **more,
    }


def checksum(data: Columns) -> int:
    """Of all that is in a treebank."""
    return zlib.crc32(data.to_bytes())
