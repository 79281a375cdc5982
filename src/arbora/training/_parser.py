"""Train a parser: a treebank in, a parser out.

Stages, in this order, so that a training that is interrupted while it learns trees has a whole parser:

    guide    trees of another parser, where one is to be looked at; see `arbora.training.stacking`
    labels   labels on the right trees (unless heads and labels are learned together, or no labels are)
    pruner   a small first-order model that leaves each word a few heads
    tree     heads, by the chosen learner; scores on dev are those of the whole parser

Each keeps the weights of its best epoch on dev, or the last where there is no dev set. One seed gives one
model, byte for byte, whatever the number of threads.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arbora._core import KeptArcs
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.data.treebank import Treebank, gather
from arbora.errors import InputError, ModelError, require_threads
from arbora.formatting import show_scores
from arbora.interfaces import Learner, Problem, Progress, Query
from arbora.learners import Adagrad, PassiveAggressive, Perceptron
from arbora.learners._online import require_answers
from arbora.learners.stage import Best, Floats, Stage
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.parser import Parser
from arbora.parsing.pseudo_projective import lift
from arbora.problems import CubeProblem, FilterProblem, GraphProblem, TransitionProblem
from arbora.progress import Observer, Scores, Silent
from arbora.scorers import CubeScorer, GraphSettings, LinearScorer
from arbora.scorers.linear import Task
from arbora.search.pruner import Pruner, pruner_scorer, require_rule
from arbora.settings import to_dict
from arbora.training.annotation import (
    check_dev,
    check_treebank,
    filled_heads,
    training_heads,
)
from arbora.training.checkpoint import Checkpoint, Saved
from arbora.training.config import (
    TrainConfig,
    TreebankShape,
    chosen_learner,
    learns_from_parts,
    make_config,
    make_learner,
    resolve,
    storable,
)
from arbora.training.dev import Dev
from arbora.training.stacking import Guide, GuideTrees

LABEL_LEARNER = PassiveAggressive(C=0.01, epochs=5)
PRUNER_LEARNER = PassiveAggressive(C=0.01, epochs=3)
FILTER_LEARNER = Perceptron(epochs=4)
# For learners of probabilities, and for what is known in part.
LABEL_PROBABILITIES = Adagrad(C=3.0, rate=1.0, floor=3.0, epochs=4)
PRUNER_PROBABILITIES = Adagrad(C=0.1, rate=1.0, floor=30.0, epochs=3)
PRUNER_SCALE = 0.25
"""Of the scores of a pruner of probabilities, which differ more than those of one with margins of 1; for the
rule margin."""


@dataclass(frozen=True)
class Trained:
    """What training gives."""

    parser: Parser
    reports: list[dict[str, Any]]
    """One per epoch, of all stages."""
    scores: Scores
    """Of the parser on dev; empty where there is none."""
    interrupted: bool = False

    @property
    def best_epoch(self) -> int:
        """The epoch of the tree stage whose weights the parser has."""
        return max(int(r["epoch"]) for r in self.reports if r["stage"] == "tree" and r["best"])


def train(
    treebank: Treebank,
    dev: Treebank | None = None,
    *,
    config: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    threads: int = 1,
    observer: Observer | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Trained:
    """Train a parser on a treebank, judged on `dev` after each epoch.

    A treebank is a path, sentences, Columns, or a list of these, which are read as one.
    `config` is a TrainConfig, a mapping with some of its fields, e.g. `{"order": 1, "learner": "mira"}`, or
    the name of a TOML file with them.
    `checkpoint` names a file that is kept up to date after each epoch; with `resume` training goes on from
    it, to the same bytes as if it had not been interrupted. Ctrl-C ends training and keeps the best so far.
    """
    require_threads(threads)
    settings = make_config(config)
    columns = gather(treebank, partial(check_treebank, partial=learns_from_parts(settings)))
    judged = None if dev is None else gather(dev, check_treebank, "dev")
    return Training(columns, judged, settings, threads, observer or Silent()).run(checkpoint, resume=resume)


class Training:
    """One training, from checked treebanks to a parser."""

    def __init__(
        self, train: Columns, dev: Columns | None, config: TrainConfig, threads: int, observer: Observer
    ) -> None:
        self.sums = Query.MARGINALS in chosen_learner(config).needs
        check_treebank(train, labelled=config.labels != "none", partial=learns_from_parts(config))
        if dev is not None:
            check_dev(dev, train, observer, labelled=config.labels != "none")
        self.config = resolve(config, train)
        self.columns = train
        self.guide = None if config.stack is None else Guide.load(config.stack)
        self.guide_scores: dict[str, Scores] = {}
        if self.guide is not None:
            self.guide.check_treebank(train)
        for decision in TreebankShape.of(train).decisions(config, self.config):
            observer.note(decision)
        self.threads = threads
        self.observer = observer
        self.settings = self._settings()
        if self.config.pruner:
            require_rule(self.config.pruner_settings, self.settings.trees)
        if self.sums:
            self._check_order()
        heads = training_heads(train, self.settings.trees, self.settings.roots, self.config.projectivize)
        marked, self.names, self.lifts = train, Names.of(train), None
        if self.config.projectivize == "pseudo-projective":
            heads, marked, self.names, self.lifts = lift(train, heads, self.config.encoding)
        filled = filled_heads(train, heads, self.settings.trees, self.settings.roots)
        self.train = self.names.encode(marked)
        self.train.set_heads(np.where(heads < 0, heads, filled))
        self.filled = self.names.encode(marked)
        """As `train`, with trees for what is not known: arcs that a pruner must not take away."""
        self.filled.set_heads(filled)
        self.seen = np.asarray(self.train.seen_labels(len(self.names.labels)))
        self.cube = self.config.cube if self.config.parser == "cube" else None
        self.transition = self.config.transition if self.config.parser == "transition" else None
        self.scorer = Parser.make_scorer(self.settings, self.names, self.seen, self.cube or self.transition)
        # Now, not after the stages before it.
        self._require_answers(self._learner(), self._problem())
        self.dev = None if dev is None else Dev(dev, self.names)
        self.fingerprint = zlib.crc32(train.to_bytes(), 0 if dev is None else zlib.crc32(dev.to_bytes()))

    def _settings(self) -> GraphSettings:
        c = self.config
        assert c.trees != "auto"
        assert c.roots != "auto"
        assert c.order != "auto"
        assert c.labels != "auto"
        assert c.tree_bits != "auto"
        return GraphSettings(
            trees=c.trees,
            roots=c.roots,
            order=c.order,
            grandparents=c.grandparents and c.order > 1,
            labels=c.labels,
            features=c.features,
            tree_bits=c.tree_bits,
            label_bits=c.label_bits,
        )

    def _check_order(self) -> None:
        if self.settings.order == 2 and self.settings.trees == "nonprojective":
            raise InputError(
                f"{self.config.learner} needs sums over trees, and second-order non-projective "
                'trees have no exact ones; choose order = 1, or trees = "projective"',
                field="learner",
            )

    def _require_answers(self, learner: Learner, problem: Problem) -> None:
        """InputError where these trees do not answer what the learner asks, in words of the settings."""
        missing = [query.value for query in Query if query in learner.needs - problem.queries]
        if missing:
            c = self.config
            changes = ["order 1 (--order 1)"] if self.settings.order > 1 else []
            if self.config.parser != "graph":
                changes.append("exact search (--parser graph)")
            if Query.ARC_MARGINALS.value in missing and c.labels == "joint":  # which only heads have
                changes.append("staged labels (--labels staged)")
            choices = [" with ".join(changes)] if changes else []
            choices.append("another learner (`arbora list learners` says what each needs)")
            which = f"{c.trees} trees of order {c.order}" if self.transition is None else "transition parsers"
            raise InputError(
                f"{learner.name} needs {', '.join(missing)}, which {which} with labels "
                f"{c.labels} do not answer; choose {' or '.join(choices)}",
                field="learner",
            )
        require_answers(learner, problem)

    def _learner(self) -> Learner:
        return make_learner(self.config, self.config.parameters)

    @property
    def _task(self) -> Task:
        return "joint" if self.config.labels == "joint" else "tree"

    def run(
        self, path: str | os.PathLike[str] | None = None, *, resume: bool = False, calibrate: bool = True
    ) -> Trained:
        """All stages; see `train`. `calibrate`: on dev, so that scores of trees become probabilities."""
        same = {"config": storable(self.config), "data": self.fingerprint}
        checkpoint = Checkpoint(path, same if self.guide is None else {**same, "guide": self.guide.checksum})
        saved = checkpoint.load() if resume and path is not None and Path(path).exists() else None
        if self.guide is not None:
            self._put_guide(self.guide, checkpoint, saved)
        reports: list[dict[str, Any]] = []
        done: dict[str, Floats] = {}
        interrupted = False
        for name in self._stage_names():
            best, interrupted = self._stage(name, done, checkpoint, saved)
            reports += best.reports
            if best.weights is None:
                raise KeyboardInterrupt
            done[name] = best.weights
            if interrupted and name != "tree":
                raise KeyboardInterrupt
        parser = self._decide_trees(self._parser(done, reports))
        if calibrate:
            interrupted |= not self._fit_temperatures(parser)
        return Trained(parser, reports, parser.about["dev"], interrupted)

    def _put_guide(self, guide: Guide, checkpoint: Checkpoint, saved: Saved | None) -> None:
        """The guide's trees beside the sentences: its own for dev, those of others like it for training."""
        names = guide.names(self.columns)
        if saved is not None and "guide" in saved.finished:
            found = GuideTrees.from_array(saved.finished["guide"][0], names)
        else:
            found = guide.jackknifed(
                self.columns,
                names,
                self._like_guide,
                folds=self.config.folds,
                threads=self.threads,
                observer=self.observer,
            )
        checkpoint.finish("guide", found.to_array(), [])
        found.put_into(self.train)
        self.guide_scores["train"] = found.scores(self.columns)
        if self.dev is not None:
            own = GuideTrees.of(guide.parser, self.dev.columns, names, self.threads)
            own.put_into(self.dev.sentences)
            self.guide_scores["dev"] = own.scores(self.dev.columns)
        shown = (f"{show_scores(scores)} on {part}" for part, scores in self.guide_scores.items())
        self.observer.note(f"guide: {'; '.join(shown)}")

    def _like_guide(self, columns: Columns, config: TrainConfig, observer: Observer) -> Parser:
        """A parser with the guide's configuration, of a part of the treebank."""
        trained = Training(columns, None, config, self.threads, observer).run(calibrate=False)
        if trained.interrupted:  # what has not learned enough is no guide
            raise KeyboardInterrupt
        return trained.parser

    def _stage_names(self) -> list[str]:
        # With cube pruning, labels on the right trees tell which few of an arc are worth a search.
        labels = self.config.labels == "staged" or (self.cube is not None and self.config.labels == "joint")
        wanted = {"labels": labels, "pruner": bool(self.config.pruner), "tree": True}
        return [name for name, is_wanted in wanted.items() if is_wanted]

    def _stage(
        self, name: str, done: dict[str, Floats], checkpoint: Checkpoint, saved: Saved | None
    ) -> tuple[Best, bool]:
        if saved is not None and name in saved.finished:
            weights, reports = saved.finished[name]
            return Best(weights, reports=reports), False
        stage = getattr(self, f"_{name}_stage")(done)
        going_on = (saved.state, saved.best) if saved is not None and saved.stage == name else None

        def keep(progress: Progress, best: Best) -> None:
            try:
                checkpoint.save(name, progress, best)
            except ModelError as error:  # a full disk is no reason to lose what was learned
                self.observer.note(f"no checkpoint after epoch {progress.epoch.number}: {error}")

        best, interrupted = stage.run(self.observer, keep, going_on)
        if best.weights is not None:
            checkpoint.finish(name, best.weights, best.reports)
        return best, interrupted

    def _labels_stage(self, done: dict[str, Floats]) -> Stage:
        assert isinstance(self.scorer, LinearScorer)  # labels of transition parsers come with their arcs
        problem = GraphProblem(self.scorer, self.train, "labels", threads=self.threads)
        learner = replace(LABEL_PROBABILITIES if self.sums else LABEL_LEARNER, seed=self.config.seed)
        return Stage(name="labels", learner=learner, problem=problem, judge=None, patience=0)

    def _pruner_stage(self, done: dict[str, Floats]) -> Stage:
        settings = self.config.pruner_settings
        scorer = pruner_scorer(settings, self.settings.roots)
        learner: Adagrad | PassiveAggressive | Perceptron = PRUNER_LEARNER
        problem: Problem = GraphProblem(scorer, self.train, threads=self.threads)
        if settings.rule in ("tree-odds", "arc-odds") or not self._is_complete:
            learner = PRUNER_PROBABILITIES
        elif settings.rule == "max-marginal":
            learner = FILTER_LEARNER
            problem = FilterProblem(
                scorer, self.train, alpha=settings.alpha, among=settings.among, threads=self.threads
            )
        learner = replace(learner, seed=self.config.seed)
        return Stage(name="pruner", learner=learner, problem=problem, judge=None, patience=0)

    @property
    def _is_complete(self) -> bool:
        return self.train.is_annotated("tree")

    def _pruner(self, done: dict[str, Floats]) -> Pruner | None:
        if "pruner" not in done:
            return None
        by_head = self.config.pruner_settings.rule == "margin"
        scale = np.float32(PRUNER_SCALE if by_head and not self._is_complete else 1.0)
        return Pruner(self.config.pruner_settings, done["pruner"] * scale, self.settings.roots)

    def _tree_stage(self, done: dict[str, Floats]) -> Stage:
        config = self.config
        problem = self._problem(self._kept_arcs(done), done.get("labels"))
        dev = self.dev
        return Stage(
            name="tree",
            learner=self._learner(),
            problem=problem,
            judge=None
            if dev is None
            else lambda w: dev.scores(self._parser({**done, "tree": w}), self.threads),
            patience=config.patience,
            which=config.weights,
        )

    def _problem(self, arcs: KeptArcs | None = None, label_filter: Floats | None = None) -> Problem:
        """What the learner is asked to solve."""
        if self.transition is not None:
            scorer = Parser.make_scorer(self.settings, self.names, self.seen, self.transition.in_training)
            return TransitionProblem(scorer, self.train, threads=self.threads)
        if isinstance(self.scorer, CubeScorer):
            update, threads = self.config.update, self.threads
            assert update != "auto"
            return CubeProblem(
                self.scorer, self.train, update, arcs=arcs, label_filter=label_filter, threads=threads
            )
        assert isinstance(self.scorer, LinearScorer)
        return GraphProblem(self.scorer, self.train, self._task, arcs=arcs, threads=self.threads)

    def _kept_arcs(self, done: dict[str, Floats]) -> KeptArcs | None:
        """What the pruner leaves, gold arcs put back, and a note on what it loses."""
        pruner = self._pruner(done)
        if pruner is None:
            return None
        if self.dev is not None:
            kept = pruner.prune(self.dev.sentences, self.threads)
            share = kept.arcs / max(1, self.dev.arcs)
            lost = kept.restore_gold(self.dev.sentences)
            self.observer.note(
                f"pruner: keeps {100 * share:.1f}% of arcs on dev, {kept.arcs / self.dev.words:.1f} heads "
                f"per word; best UAS left {100 * (1 - lost / self.dev.words):.2f}"
            )
        arcs = pruner.prune(self.train, self.threads)
        arcs.restore_gold(self.filled)
        return arcs

    def _parser(self, done: dict[str, Floats], reports: list[dict[str, Any]] | None = None) -> Parser:
        tree, labels, label_filter = done["tree"], done.get("labels"), None
        if self.config.labels == "joint":
            split = self.scorer.size("tree")
            label_filter = labels
            tree, labels = tree[:split], np.ascontiguousarray(tree[split:])
        about: dict[str, Any] = {"config": storable(self.config), "epochs": reports or []}
        if self.guide is not None:
            about["guide"] = self.guide_scores
        return Parser(
            settings=self.settings,
            names=self.names,
            seen=self.seen,
            tree=np.ascontiguousarray(tree),
            labels=labels,
            cube=self.cube,
            transition=self.transition,
            label_filter=label_filter,
            pruner=self._pruner(done),
            lifts=self.lifts,
            guide=None if self.guide is None else self.guide.parser,
            about=about,
        )

    def _decide_trees(self, parser: Parser) -> Parser:
        """The parser with its scores on dev, over projective trees where these are asked for or better."""
        same = replace(parser, about={**parser.about, "dev": self._dev_scores(parser)})
        if self.config.decode == "same" or self.settings.trees == "projective":
            return same
        shape = replace(parser.settings, trees="projective")
        other = replace(parser, settings=shape)
        other = replace(other, about={**parser.about, "dev": self._dev_scores(other)})
        if self.config.decode == "projective":
            return other
        before, after = (next(iter(each.about["dev"].values()), 0.0) for each in (same, other))
        self.observer.note(f"dev: {before:.2f} over non-projective trees, {after:.2f} over projective ones")
        return other if after > before else same

    def _dev_scores(self, parser: Parser) -> Scores:
        return {} if self.dev is None else self.dev.scores(parser, self.threads)

    def _fit_temperatures(self, parser: Parser) -> bool:
        """False where Ctrl-C was in its way: all is learned then, but probabilities are not calibrated."""
        if self.dev is None:
            return True
        try:
            fitted = fit_temperatures(parser, self.dev.columns, threads=self.threads)
        except KeyboardInterrupt:
            return False
        parser.about["temperature"] = to_dict(fitted)
        return True


__all__ = ["Observer", "TrainConfig", "Trained", "train"]
