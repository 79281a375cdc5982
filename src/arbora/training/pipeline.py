"""Train all parts of a model on one treebank: segmenter, tagger, lemmatizer, parser.

A neural parser predicts tags and lemmas itself. A linear one is trained on predicted tags: each fold of the
treebank is tagged by a tagger trained on the others (jackknifing), and dev by the model's own tagger. So its
scores on dev are those of words with predicted tags. With `tags = "gold"`, parsers are trained and evaluated
on the treebank's own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns
from arbora.data.encode import filled
from arbora.data.raw_text import has_attached_words, has_text
from arbora.data.soft import SoftTrees
from arbora.data.treebank import Treebank, gather
from arbora.errors import InputError, require_threads, require_whole
from arbora.parsing.parser import Parser
from arbora.pipeline.lemmatizer import Lemmatizer, train_lemmatizer
from arbora.pipeline.pipeline import FILLED, Pipeline, WordAnnotator
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.tagger import Tagger, train_tagger
from arbora.pipeline.train_segmenter import SegmenterSettings, train_with_reports
from arbora.pipeline.words import agreement, annotation_scores
from arbora.progress import Observer, Scores, Silent
from arbora.storage.models import find_model
from arbora.training.annotation import (
    Fold,
    check_dev,
    check_treebank,
    fold_names,
    hold_out,
    jackknife,
    share_of,
    warn_of_unlike_dev,
)
from arbora.training.clusters import learn_clusters
from arbora.training.config import TrainConfig, make_config
from arbora.training.jobs import run_all
from arbora.training.parser import ParserTraining
from arbora.training.recipes import Dev
from arbora.training.resolve import choose_parser
from arbora.training.stacking import Guide
from arbora.types import Longs

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool


@dataclass(frozen=True)
class Trained:
    """A trained model, and how its training went."""

    pipeline: Pipeline
    reports: list[dict[str, Any]]
    """One per epoch, of all stages."""
    scores: Scores
    """The parser's scores on dev; empty without a dev set."""
    interrupted: bool = False
    retagged: bool = False
    """Whether the parser was trained on predicted tags."""

    @property
    def parser(self) -> Parser:
        """The parser of the pipeline."""
        return self.pipeline.parser

    @property
    def best_epoch(self) -> int:
        """The epoch of the tree stage whose weights the parser has."""
        return max(int(r["epoch"]) for r in self.reports if r["stage"] == "tree" and r["best"])

    def scores_of(self, pipeline: Pipeline, dev: Columns, threads: int = 1) -> Scores:
        """LAS and UAS of another state of the pipeline, on dev as in training."""
        if self.retagged:
            dev = pipeline.prepare(dev, retag=True, threads=threads)
        return Dev(pipeline.parser.encode(dev, threads=threads)).scores(pipeline.parser, threads)

    def scores_before(self, pipeline: Pipeline, dev: Columns, threads: int = 1) -> Scores:
        """Accuracies of tags and lemmas, each with gold input as in training."""
        found: Scores = {}
        if pipeline.tagger is None and pipeline.annotator is not None:
            found = annotation_scores(pipeline.annotator, dev, threads)
        if pipeline.tagger is not None:
            analysed = pipeline.tagger.analyse(dev, threads=threads)
            found["upos"] = agreement(pipeline.tagger.tag(dev, threads=threads), dev, "upos")
            found["morphology"] = agreement(analysed, dev, "xpos", "feats")
        if pipeline.lemmatizer is not None:
            found["lemmas"] = agreement(pipeline.lemmatizer.lemmatize(dev, threads=threads), dev, "lemma")
        return {name: score for name, score in found.items() if name in self.pipeline.about["dev"]}

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file with all parts."""
        self.pipeline.save(path, quantized=quantized)


def train(
    treebank: Treebank,
    dev: Treebank | None = None,
    *,
    config: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    threads: int = 1,
    observer: Observer | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    segmenter: Segmenter | None = None,
    soft: SoftTrees | None = None,
    pool: Pool | None = None,
    together: bool = False,
    members: int = 1,
) -> Trained:
    """Train all parts of a model that the treebank has annotation for; evaluate on `dev` after each epoch.

    A treebank is a path, sentences, Columns, or a list of these, which are read as one. `dev` may also be a
    share such as `"10%"`: these sentences are held out from the treebank.
    `config` is a TrainConfig, a mapping with some of its fields, e.g. `{"order": 1, "only": "parser"}`, or
    the name of a TOML file with them.
    `checkpoint` names a file that is written after each epoch of the parser's training; with `resume`
    training goes on from it, to the same bytes as without the interruption. Ctrl-C ends the parser's training
    and keeps the best epoch so far. `segmenter` is used instead of a new one. `soft`: probabilities of the
    treebank's heads and labels, from which a neural parser learns. `pool`: workers for the folds of
    jackknifing; if `together`, they also train the parser, all at once. Some learners then find other weights
    than in one process: docs/distributed-training.md. `members`: how many parsers to train, with different
    seeds, on the workers if there are some; the model is their ensemble.
    """
    require_threads(threads)
    require_whole("members", members, 1, MOST_MEMBERS)
    if members > 1 and (checkpoint is not None or together or soft is not None):
        what = "expected 1 with a checkpoint, with `together` or with `soft`"
        raise InputError(f"members: {what}, got {members}", field="members")
    settings = make_config(config)
    observer = observer or Silent()
    columns = gather(treebank, partial(check_treebank, partial=settings.learns_from_parts))
    dev_columns: Columns | None = None
    if (share := share_of(dev)) is not None:
        columns, dev_columns = hold_out(columns, share, labelled=settings.labels != "none")
    elif dev is not None:
        dev_columns = gather(dev, check_treebank, "dev")
    settings = check(columns, dev_columns, settings, observer)
    inputs = prepare(columns, dev_columns, settings, threads, observer, segmenter, pool)
    if members > 1:
        from arbora.training.members import train_members  # it trains each by `train_parser`

        return train_members(inputs, settings, members, threads, observer, pool)
    own: dict[str, Any] = {"resume": resume, "soft": soft, "pool": pool, "together": together}
    return train_parser(inputs, settings, threads, observer, checkpoint, **own)


def check(columns: Columns, dev: Columns | None, config: TrainConfig, observer: Observer) -> TrainConfig:
    """Check everything before work that takes long; return the configuration with its parser decided."""
    labelled, is_partial = config.labels != "none", config.learns_from_parts
    config, why = choose_parser(config, columns)
    if why:
        observer.note(why)
    config.recipe.require_package()
    check_treebank(columns, labelled=labelled, partial=is_partial)
    if dev is not None:
        check_dev(dev, columns, observer, labelled=labelled)
        warn_of_unlike_dev(dev, columns)
    if config.stack is not None:
        Guide.load(config.stack).check_treebank(columns)
    return config


MOST_MEMBERS = 100
PREPARES = ("only", "start", "segmenter", "tagger", "lemmatizer", "folds", "seed", "vectors", "text")
"""Settings that `prepare` depends on, besides `tags_seen` and whether the recipe has clusters."""


def prepare(
    columns: Columns,
    dev: Columns | None,
    config: TrainConfig,
    threads: int,
    observer: Observer,
    segmenter: Segmenter | None = None,
    pool: Pool | None = None,
) -> Inputs:
    """Train the components before the parser, and give the treebanks the tags that the parser reads."""
    if config.only == "parser":
        clusters = learn_clusters(config, observer) if config.recipe.has_clusters else None
        return Inputs(columns, dev, Tools(clusters=clusters))
    if segmenter is None and config.start is not None:
        segmenter = Pipeline.load(find_model(config.start)).segmenter
    tools = Tools.of(columns, dev, config, threads, observer, segmenter)
    if tools.tagger is None or config.tags_seen != "jackknife" or len(columns) < 2:
        return Inputs(columns, dev, tools)
    columns = jackknifed(columns, config, tools, threads, observer, pool)
    if dev is not None:
        dev = WordAnnotator(tools.tagger, tools.lemmatizer).annotate(dev, threads=threads)
    return Inputs(columns, dev, tools, retagged=True)


@dataclass(frozen=True)
class Tools:
    """The parts that prepare words for the parser; None without annotation to train them on."""

    segmenter: Segmenter | None = None
    tagger: Tagger | None = None
    lemmatizer: Lemmatizer | None = None
    clusters: WordClusters | None = None
    reports: tuple[dict[str, Any], ...] = ()
    guessed_spaces: bool = False
    """Whether the segmenter learned from likely spaces."""

    @property
    def parts(self) -> dict[str, Any]:
        return {"segmenter": self.segmenter, "tagger": self.tagger, "lemmatizer": self.lemmatizer}

    @property
    def scores(self) -> Scores:
        """Scores on dev of the epochs that were kept."""
        kept = (report["dev"] for report in self.reports if report["best"])
        return {name: score for scores in kept for name, score in scores.items()}

    @classmethod
    def of(
        cls,
        train: Columns,
        dev: Columns | None,
        config: TrainConfig,
        threads: int,
        observer: Observer,
        segmenter: Segmenter | None = None,
    ) -> Tools:
        """Train on a whole treebank; `segmenter` is used instead of a new one."""
        options: dict[str, Any] = {"seed": config.seed, "threads": threads, "observer": observer}
        reports: list[dict[str, Any]] = []
        if segmenter is None:
            segmenter, reports = _segmenter(train, dev, config.segmenter, observer)
        guessed = bool(reports) and (config.segmenter.spaces == "guessed" or not has_text(train))
        tagger, lemmatizer = None, None
        if config.tags_seen == "none":
            return cls(segmenter, reports=tuple(reports), guessed_spaces=guessed)
        clusters = learn_clusters(config, observer, segmenter)
        if filled(train, "upos"):
            tagger, more = train_tagger(train, dev, config.tagger, clusters=clusters, **options)
            reports += more
        else:
            observer.note("tagger: none, since the treebank has no UPOS")
        if tagger is None:
            observer.note("lemmatizer: none, since there is no tagger")
        elif 2 * filled(train, "lemma") < train.words:
            observer.note("lemmatizer: none, since most words of the treebank have no lemma")
        else:
            lemmatizer, more = train_lemmatizer(train, dev, config.lemmatizer, **options)
            reports += more
        return cls(segmenter, tagger, lemmatizer, clusters, tuple(reports), guessed)


@dataclass(frozen=True)
class Inputs:
    """A parser's training data, and the tools that prepare words for it."""

    train: Columns
    dev: Columns | None
    tools: Tools
    retagged: bool = False
    """Whether tags are predicted ones."""


def train_parser(
    inputs: Inputs,
    config: TrainConfig,
    threads: int,
    observer: Observer,
    checkpoint: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    soft: SoftTrees | None = None,
    pool: Pool | None = None,
    together: bool = False,
) -> Trained:
    """Train the parser, the last part of a model; see `train`."""
    clusters = inputs.tools.clusters if config.recipe.has_clusters else None
    more: dict[str, Any] = {"soft": soft, "pool": pool, "together": together}
    training = ParserTraining(inputs.train, inputs.dev, config, threads, observer, clusters, **more)
    parser, interrupted = training.run(checkpoint, resume=resume)
    return assembled(inputs, parser, parser.about["epochs"], threads, interrupted=interrupted)


def assembled(
    inputs: Inputs, parser: Parser, epochs: list[dict[str, Any]], threads: int, *, interrupted: bool
) -> Trained:
    """A model of a parser and the tools; `epochs`: the reports of the parser's training."""
    tools, scores = inputs.tools, parser.about["dev"]
    pipeline = Pipeline(parser=parser, **tools.parts)
    own: Scores = {}
    if pipeline.tagger is None and pipeline.annotator is not None and inputs.dev is not None:
        own = annotation_scores(pipeline.annotator, inputs.dev, threads)
    pipeline.about["dev"] = {**tools.scores, **own, **scores}
    if tools.guessed_spaces:
        pipeline.about["spaces"] = "guessed"
    return Trained(pipeline, [*tools.reports, *epochs], scores, interrupted, inputs.retagged)


def _segmenter(
    train: Columns, dev: Columns | None, settings: SegmenterSettings, observer: Observer
) -> tuple[Segmenter | None, list[dict[str, Any]]]:
    if not has_text(train):
        unmarked = "the treebank does not mark spaces (`# text`, SpaceAfter=No)"
        if settings.spaces == "given":
            observer.note(f'segmenter: none, since {unmarked} and segmenter.spaces is "given"')
            return None, []
        if settings.spaces == "auto":
            observer.note(f"segmenter: learns from likely spaces, since {unmarked}")
    elif settings.spaces != "guessed":
        if not has_attached_words(train):
            observer.note(
                "segmenter: learns a space after every token, punctuation too, as in `# text`; for other "
                "text, use -p segmenter.spaces=guessed"
            )
        if dev is not None and not has_text(dev):
            dev = None
    return train_with_reports(train, dev, settings, observer)


def jackknifed(
    columns: Columns,
    config: TrainConfig,
    tools: Tools,
    threads: int,
    observer: Observer,
    pool: Pool | None = None,
) -> Columns:
    """The treebank with tags and lemmas of tools that were trained on its other folds."""
    folds = min(config.folds, len(columns))
    observer.note(f"jackknifing: each of {folds} folds is tagged by a model trained on the others")
    lemmas = tools.lemmatizer is not None
    tag = partial(_tag_fold, config=config, clusters=tools.clusters, lemmas=lemmas, threads=threads)
    names = fold_names(folds)
    found = run_all(tag, names, jackknife(columns, folds), observer, pool, task="jackknifing")
    return _put_together(columns, found)


def _tag_fold(
    fold: Fold,
    observer: Observer,
    *,
    config: TrainConfig,
    clusters: WordClusters | None,
    lemmas: bool,
    threads: int,
) -> tuple[Longs, Columns]:
    """The fold's words, and the fold with tags, and lemmas if asked for, of tools trained on the rest."""
    options: dict[str, Any] = {"seed": config.seed, "threads": threads, "observer": observer}
    tagger, _ = train_tagger(fold.rest, None, config.tagger, clusters=clusters, **options)
    lemmatizer = train_lemmatizer(fold.rest, None, config.lemmatizer, **options)[0] if lemmas else None
    return fold.words, WordAnnotator(tagger, lemmatizer).annotate(fold.held, threads=threads)


def _put_together(columns: Columns, found: list[tuple[Longs, Columns]]) -> Columns:
    """The treebank with the columns of its parts, each given with the indices of its words."""
    for column in FILLED:
        names: list[str] = []
        ids = np.zeros(columns.words, np.int32)
        for words, part in found:
            ids[words] = part.ids(column) + len(names)
            names += part.strings(column)
        columns = columns.with_column(column, ids, names)
    return columns
