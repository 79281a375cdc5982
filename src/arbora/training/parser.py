"""Train a parser on checked treebanks, stage by stage.

    guide    trees of another parser, if there is one; see `arbora.training.stacking`
    others   those of the parser's recipe, `tree` last; see `arbora.training.recipes`

An interrupted training gives a parser if the last stage has begun. Each stage keeps the weights of its best
epoch on dev, or of the last epoch without a dev set. The same seed gives the same model, byte for byte, for
any number of threads.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns
from arbora.data.encode import GuideTrees
from arbora.data.soft import SoftTrees
from arbora.errors import InputError, ModelError
from arbora.formatting import show_scores
from arbora.interfaces import Progress, Query
from arbora.learners._online import require_answers
from arbora.learners.stage import Best, Stage
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.long_sentences import without_long
from arbora.parsing.parser import Parser
from arbora.progress import Observer, Scores
from arbora.storage._safetensors import DAMAGED
from arbora.storage.files import file_checksum
from arbora.storage.model_file import ModelFile, read_model, write_model
from arbora.training.annotation import Fold, check_treebank, fold_names, jackknife
from arbora.training.config import TrainConfig, storable
from arbora.training.jobs import run_all
from arbora.training.resolve import TreebankShape, resolve
from arbora.training.share import Share
from arbora.training.stacking import Guide, guide_scores, guide_trees
from arbora.types import Floats, Ints, Longs

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool

KIND = "checkpoint"
LONG = 1.0
"""Seconds for a checkpoint above which not every epoch writes one."""
CHANGED = {
    "data": "the treebanks have changed",
    "vectors file": "the file of vectors has changed",
    "text file": "the file of text has changed",
}
"""The message if a checksum differs."""
WAYS = {
    "sums": "each step sums over all of them; the model is that of one process",
    "dual": "each raises its part of the dual; the optimum is that of one process",
    "mixing": "each learns from its own sentences, and their weights are mixed after each epoch",
    "replicas": "each computes a part of every batch; the model is that of one process",
}
"""How workers train one model, see `arbora.distributed.sharing`."""


class ParserTraining:
    """One training, from checked treebanks to a parser."""

    def __init__(
        self,
        train: Columns,
        dev: Columns | None,
        config: TrainConfig,
        threads: int,
        observer: Observer,
        clusters: WordClusters | None = None,
        like: Parser | None = None,
        soft: SoftTrees | None = None,
        pool: Pool | None = None,
        together: bool = False,
        guide: Guide | None = None,
    ) -> None:
        """`dev` was checked, see `check_dev`; `clusters` are those of the configuration.

        `like`: a parser whose word vectors are used again. `soft`: probabilities of trees to learn from.
        `pool`: workers for the folds of a guide; if `together`, they also train the parser, all at once.
        `guide`: that of the configuration, if it is loaded already.
        """
        check_treebank(train, labelled=config.labels != "none", partial=config.learns_from_parts)
        c = self.config = resolve(config, train)
        self.columns, self.threads, self.observer, self.pool = train, threads, observer, pool
        self.shared_by = pool if together and pool is not None and pool.count > 1 else None
        self.guide = guide or (None if config.stack is None else Guide.load(config.stack))
        self.guide_scores: dict[str, Scores] = {}
        if self.guide is not None:
            self.guide.check_treebank(train)
        for decision in TreebankShape(train).decisions(config, c):
            observer.note(decision)
        guide_parser = None if self.guide is None else self.guide.parser
        self.recipe = c.recipe(c, train, dev, guide_parser, threads, observer, clusters)
        self.recipe.like, self.recipe.soft = like, soft
        if soft is not None and (not self.recipe.learns_softly or self.recipe.lifts is not None):
            what = 'only for parser = "neural", without pseudo-projective trees'
            raise InputError(f"{what}, got {c.kind}; learn from hard trees", field="targets")
        for note in self.recipe.notes():
            observer.note(note)
        require_answers(  # before any stage is trained
            self.recipe.learner,
            self.recipe.problem({}),
            f"{c.kind} parsers over {c.trees} trees of order {c.order} with labels {c.labels} answer",
            [*self.recipe.better_settings(), "another learner"],
        )
        self.fingerprint = zlib.crc32(train.to_bytes(), 0 if dev is None else zlib.crc32(dev.to_bytes()))
        for array in () if soft is None else soft.to_tensors().values():
            self.fingerprint = zlib.crc32(array.tobytes(), self.fingerprint)

    def run(
        self, path: str | os.PathLike[str] | None = None, *, resume: bool = False, calibrate: bool = True
    ) -> tuple[Parser, bool]:
        """Run all stages; return the parser, and whether Ctrl-C ended training. See `train`.

        `calibrate`: fit the temperatures of probabilities on dev.
        """
        same: dict[str, Any] = {"config": storable(self.config), "data": self.fingerprint}
        if self.guide is not None:
            same["guide"] = self.guide.checksum
        if self.shared_by is not None:
            same["workers"] = self.shared_by.count
        if path is not None:
            same |= {f"{name} file": file_checksum(file) for name, file in self.config.word_files.items()}
        checkpoint = Checkpoint(path, same)
        if resume:
            checkpoint.load()
        if self.guide is not None:
            self._put_guide(self.guide, checkpoint)
        reports: list[dict[str, Any]] = []
        done: dict[str, Floats] = {}
        interrupted = False
        for name in self.recipe.stages:
            best, interrupted = self._stage(name, done, checkpoint)
            reports += best.reports
            if best.weights is None:
                raise KeyboardInterrupt
            done[name] = best.weights
            if interrupted and name != "tree":
                raise KeyboardInterrupt
        about: dict[str, Any] = {"config": storable(self.config), "epochs": reports}
        if self.guide is not None:
            about["guide"] = self.guide_scores
        if self.shared_by is not None:
            about["workers"] = self.shared_by.count
        parser = self._decide_trees(replace(self.recipe.parser(done), about=about))
        if calibrate and self.recipe.dev is not None and Query.MARGINALS in parser.queries:
            dev = without_long(self.recipe.dev.columns, parser.search)
            if not len(dev):
                self.observer.note("all sentences of dev are too long to calibrate probabilities on")
                return parser, interrupted
            try:
                fitted = fit_temperatures(parser, dev, threads=self.threads)
                parser = replace(parser, calibration=fitted, is_calibrated=True)
            except KeyboardInterrupt:  # the parser is complete, but not calibrated
                interrupted = True
        return parser, interrupted

    def _put_guide(self, guide: Guide, checkpoint: Checkpoint) -> None:
        """Add trees to the sentences: the guide's own for dev, those of parsers like it for training."""
        names = guide.names(self.columns)
        if "guide" in checkpoint.finished:
            heads, labels = np.ascontiguousarray(checkpoint.finished["guide"].weights, np.int32)
            found = GuideTrees(heads, labels, names)
        else:
            found = self._guide_trees(guide, names)
        checkpoint.finished["guide"] = Best(np.stack([found.heads, found.labels]))
        self.recipe.put_guide(found)
        self.guide_scores["train"] = guide_scores(found, self.columns)
        if self.recipe.dev is not None:
            own = guide_trees(guide.parser, self.recipe.dev.columns, names, self.threads)
            self.recipe.dev.batch.set_guide(own)
            self.guide_scores["dev"] = guide_scores(own, self.recipe.dev.columns)
        shown = (f"{show_scores(scores)} on {part}" for part, scores in self.guide_scores.items())
        self.observer.note(f"guide: {'; '.join(shown)}")

    def _guide_trees(self, guide: Guide, names: tuple[str, ...]) -> GuideTrees:
        """Trees of the treebank, each fold's by a parser like the guide that was trained on the others."""
        if guide.config is None:
            return guide_trees(guide.parser, self.columns, names, self.threads)
        folds = min(self.config.folds, len(self.columns))
        options: dict[str, Any] = {"guide": guide.parser, "config": guide.config, "names": names}
        work = partial(_parse_fold, **options, threads=self.threads)
        titles, tasks = fold_names(folds, "guide, "), jackknife(self.columns, folds)
        trees = np.zeros((2, self.columns.words), np.int32)
        for words, own in run_all(work, titles, tasks, self.observer, self.pool, task="guide"):
            trees[:, words] = own
        return GuideTrees(trees[0], trees[1], names)

    def _stage(self, name: str, done: dict[str, Floats], checkpoint: Checkpoint) -> tuple[Best, bool]:
        if name in checkpoint.finished:
            return checkpoint.finished[name], False
        stage = self.recipe.stage(name, done)

        def keep(progress: Progress, best: Best) -> None:
            try:
                checkpoint.save(name, progress, best)
            except ModelError as error:  # go on if the disk is full
                self.observer.note(f"no checkpoint after epoch {progress.epoch.number}: {error}")

        going_on = checkpoint.going_on if checkpoint.stage == name else None
        with self._shared(stage, done) as used:
            best, interrupted = used.run(self.observer, keep, going_on)
        if best.weights is not None:
            checkpoint.finished[name] = best
        return best, interrupted

    @contextmanager
    def _shared(self, stage: Stage, done: dict[str, Floats]) -> Iterator[Stage]:
        """The stage, trained by workers together if there are some; those before trees are short."""
        if self.shared_by is None or stage.name != "tree":
            yield stage
            return
        from arbora.distributed.sharing import dealt, shared, way_of
        from arbora.distributed.team import open_team

        way = way_of(stage.learner, stage.problem)
        self.observer.note(f"{self.shared_by.count} workers: {WAYS[way]}")
        with open_team(self.shared_by) as team:
            parts = dealt(len(self.columns), team.count, way)
            team.set("take", [(Share.of(self.recipe, part),) for part in parts])
            yield shared(stage, team, done)

    def _decide_trees(self, parser: Parser) -> Parser:
        """The parser with its scores on dev, over projective trees if `decode` says so or they are better."""
        same = replace(parser, about={**parser.about, "dev": self._dev_scores(parser)})
        if self.config.decode == "same" or self.config.trees == "projective":
            return same
        other = replace(parser, search=parser.search.with_trees("projective"))
        other = replace(other, about={**parser.about, "dev": self._dev_scores(other)})
        if self.config.decode == "projective":
            return other
        before, after = (next(iter(each.about["dev"].values()), 0.0) for each in (same, other))
        self.observer.note(f"dev: {before:.2f} over non-projective trees, {after:.2f} over projective ones")
        return other if after > before else same

    def _dev_scores(self, parser: Parser) -> Scores:
        return {} if self.recipe.dev is None else self.recipe.dev.scores(parser, self.threads)


def _parse_fold(
    fold: Fold,
    observer: Observer,
    *,
    guide: Parser,
    config: TrainConfig,
    names: tuple[str, ...],
    threads: int,
) -> tuple[Longs, Ints]:
    """The fold's words, and their heads and labels by a parser like the guide, trained on the rest."""
    again = (guide.names.clusters, guide)
    training = ParserTraining(fold.rest, None, config, threads, observer, *again)
    parser, interrupted = training.run(calibrate=False)
    if interrupted:
        raise KeyboardInterrupt
    return fold.words, np.stack(guide_trees(parser, fold.held, names, threads)[:2])


class Checkpoint:
    """The state that continues after an epoch, to the same bytes; without a path, nothing is written.

    A model file of kind `checkpoint`: the weights of finished stages, the best weights of the present one,
    and the learner's state, with the configuration and a checksum of the data.
    """

    def __init__(self, path: str | os.PathLike[str] | None, training: Mapping[str, Any]) -> None:
        """`training`: what must be the same to resume, as JSON can hold it."""
        self.path = None if path is None else Path(path)
        self._training = dict(training)
        self.finished: dict[str, Best] = {}  # the results of stages, and a guide's trees
        self.stage = ""
        """The stage that `load` found unfinished."""
        self.going_on: tuple[Mapping[str, NDArray[Any]], Best] | None = None
        """Its learner's state and its best epoch."""
        self._next = 0.0

    def save(self, stage: str, progress: Progress, best: Best) -> None:
        """Replace the file; not after every epoch if that would take more than a tenth of the time."""
        if self.path is None or best.weights is None or (begin := time.monotonic()) < self._next:
            return
        tensors: dict[str, Any] = {f"finished.{name}": done.weights for name, done in self.finished.items()}
        tensors["best"] = best.weights
        state = progress.state()
        flags = [name for name, array in state.items() if array.dtype == np.bool_]
        tensors.update({f"state.{k}": v.astype(np.uint8) if k in flags else v for k, v in state.items()})
        metadata = {
            "kind": KIND,
            "training": self._training,
            "stage": stage,
            "finished": [[name, done.reports] for name, done in self.finished.items()],
            "best": {"score": best.score, "epoch": best.epoch, "reports": best.reports},
            "flags": flags,
        }
        write_model(self.path, tensors, metadata)
        if (spent := time.monotonic() - begin) > LONG:
            self._next = begin + 10 * spent

    def load(self) -> None:
        """Read the file, if there is one; ModelError if it is of another training."""
        if self.path is None or not self.path.exists():
            return
        file = read_model(self.path, verify=True)
        file.require_kind(KIND, "a checkpoint of a training")
        theirs = file.entry("training", dict)
        changed = "; ".join(_changes(theirs, self._training))
        if changed:
            raise ModelError(
                f"the checkpoint is of another training: {changed}; resume with the same settings and data, "
                "or start again without --resume",
                source=file.source,
            )
        flags = file.entry("flags", list)
        for entry in file.entry("finished", list):
            name, reports = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
            self.finished[str(name)] = Best(
                _stored(file, f"finished.{name}"), reports=_reports(file, reports)
            )
        held = file.within("state.", {}).tensors
        state = {n: np.array(array, bool if n in flags else array.dtype) for n, array in held.items()}
        best = replace(file, metadata=file.entry("best", dict))
        score, epoch = best.metadata.get("score"), best.entry("epoch", int)
        if not isinstance(score, int | float):
            raise file.error(f"best: expected a score, got {str(score)[:80]}; {DAMAGED}")
        kept = Best(_stored(file, "best"), score, epoch, _reports(file, best.metadata.get("reports")))
        self.stage, self.going_on = file.entry("stage", str), (state, kept)


def _stored(file: ModelFile, name: str) -> NDArray[Any]:
    """A copy of the weights of a stage, or of a guide's trees."""
    ndim = 2 if name == "finished.guide" else 1
    if name in file.tensors and file.tensors[name].ndim == ndim:
        return np.array(file.tensors[name])
    raise file.error(f"tensor {name!r}: expected one of {ndim} axes; {DAMAGED}")


def _reports(file: ModelFile, value: object) -> list[dict[str, Any]]:
    """The reports of epochs."""
    if isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("epoch"), int) and {"stage", "best"} <= each.keys()
        for each in value
    ):
        return value
    raise file.error(f"reports: expected those of epochs, got {str(value)[:80]}; {DAMAGED}")


def _changes(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    """The differences, setting by setting."""
    for name in sorted({*theirs, *ours}):
        then, now = theirs.get(name), ours.get(name)
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            yield from _changes(then, now)
        elif then != now and name in CHANGED:
            yield CHANGED[name]
        elif then != now:
            yield f"{name} was {then!r}, now it is {now!r}"
