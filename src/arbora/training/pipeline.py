"""Train all parts of a model on one treebank: segmenter, tagger, lemmatizer, parser.

The parser is trained on tags like those that it will meet: each part of the treebank is tagged by a tagger
that has not seen it (jackknifing), and dev by the tagger that the model gets. So its scores on dev are those
of words with predicted tags. With `tags = "gold"` it is trained and judged on the treebank's own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import COMMENT, Columns, TextColumn
from arbora.data.encode import filled, numbers_of
from arbora.data.treebank import Treebank, gather
from arbora.errors import require_threads
from arbora.parsing.parser import Parser
from arbora.pipeline.lemmatizer import Lemmatizer, train_lemmatizer
from arbora.pipeline.pipeline import FILLED, Pipeline
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.tagger import Tagger, train_tagger
from arbora.pipeline.train_segmenter import SegmenterSettings, train_with_reports
from arbora.progress import Observer, Scores, Silent
from arbora.training.annotation import check_dev, check_treebank, warn_of_strange_dev
from arbora.training.config import TrainConfig, learns_from_parts, make_config
from arbora.training.dev import Dev
from arbora.training.jackknife import fold_sentences, other_sentences, words_of
from arbora.training.parser import ParserTraining, TrainedParser
from arbora.training.stacking import Guide


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
        """LAS and UAS of another state of the pipeline, on dev as the training looked at it."""
        if self.retagged:
            dev = pipeline.prepare(dev, retag=True, threads=threads)
        return Dev(pipeline.parser.encode(dev, threads=threads)).scores(pipeline.parser, threads)

    def scores_before(self, pipeline: Pipeline, dev: Columns, threads: int = 1) -> Scores:
        """Likewise, those of tags and lemmas that the training had: each with the right ones before it."""
        found: Scores = {}
        if pipeline.tagger is not None:
            found["upos"] = _agreement(pipeline.tagger.tag(dev, threads=threads), dev, "upos")
            found["morphology"] = _agreement(
                pipeline.tagger.analyse(dev, threads=threads), dev, "xpos", "feats"
            )
        if pipeline.lemmatizer is not None:
            found["lemmas"] = _agreement(pipeline.lemmatizer.lemmatize(dev, threads=threads), dev, "lemma")
        return {name: score for name, score in found.items() if name in self.pipeline.about["dev"]}

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file with all parts."""
        self.pipeline.save(path, quantized=quantized)


def _agreement(found: Columns, dev: Columns, *columns: TextColumn) -> float:
    """In how many percent of words all of these columns are the same."""
    same = np.ones(dev.words, np.bool_)
    for column in columns:
        names = found.strings(column)
        same &= found.ids(column) == numbers_of(dev.strings(column), names)[dev.ids(column)]
    return 100 * float(np.mean(same))


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
    """Train a model on a treebank, judged on `dev` after each epoch: all parts that the treebank can teach.

    A treebank is a path, sentences, Columns, or a list of these, which are read as one.
    `config` is a TrainConfig, a mapping with some of its fields, e.g. `{"order": 1, "only": "parser"}`, or
    the name of a TOML file with them.
    `checkpoint` names a file that is kept up to date after each epoch of the parser's training; with `resume`
    training goes on from it, to the same bytes as if it had not been interrupted. Ctrl-C ends the parser's
    training and keeps the best so far.
    """
    require_threads(threads)
    settings = make_config(config)
    columns = gather(treebank, partial(check_treebank, partial=learns_from_parts(settings)))
    judged = None if dev is None else gather(dev, check_treebank, "dev")
    told = observer or Silent()
    # Before anything takes long.
    check_treebank(columns, labelled=settings.labels != "none", partial=learns_from_parts(settings))
    if judged is not None:
        check_dev(judged, columns, Silent(), labelled=settings.labels != "none")
        warn_of_strange_dev(judged, columns)
    if settings.stack is not None:
        Guide.load(settings.stack).check_treebank(columns)
    tools = Tools.of(columns, judged, settings, threads, told) if settings.only == "all" else Tools()
    retagged = tools.tagger is not None and settings.tags != "gold" and len(columns) > 1
    if retagged:
        columns = jackknifed(columns, settings, tools, threads, told)
        judged = None if judged is None else tools.apply(judged, threads)
    training = ParserTraining(columns, judged, settings, threads, told)
    return _assembled(training.run(checkpoint, resume=resume), tools, retagged=retagged)


def _assembled(trained: TrainedParser, tools: Tools, *, retagged: bool) -> Trained:
    pipeline = Pipeline(
        parser=trained.parser,
        segmenter=tools.segmenter,
        tagger=tools.tagger,
        lemmatizer=tools.lemmatizer,
        about={"dev": {**tools.scores, **trained.scores}},
    )
    reports = [*tools.reports, *trained.reports]
    return Trained(pipeline, reports, trained.scores, trained.interrupted, retagged)


@dataclass(frozen=True)
class Tools:
    """What prepares words for the parser, as far as the treebank can teach it."""

    segmenter: Segmenter | None = None
    tagger: Tagger | None = None
    lemmatizer: Lemmatizer | None = None
    reports: tuple[dict[str, Any], ...] = ()

    @property
    def scores(self) -> Scores:
        """On dev, of the epochs that were kept."""
        found: Scores = {}
        for report in self.reports:
            if report["best"]:
                found |= report["dev"]
        return found

    @classmethod
    def of(
        cls, train: Columns, dev: Columns | None, config: TrainConfig, threads: int, observer: Observer
    ) -> Tools:
        """Those of a whole treebank."""
        segmenter, reports = _segmenter(train, dev, config.segmenter, observer)
        found: dict[str, Any] = {"segmenter": segmenter}
        if filled(train, "upos"):
            found["tagger"], more = train_tagger(
                train, dev, config.tagger, seed=config.seed, threads=threads, observer=observer
            )
            reports += more
        else:
            observer.note("tagger: none, since the treebank has no UPOS")
        if "tagger" in found and 2 * filled(train, "lemma") >= train.words:
            found["lemmatizer"], more = train_lemmatizer(
                train, dev, config.lemmatizer, seed=config.seed, threads=threads, observer=observer
            )
            reports += more
        else:
            observer.note("lemmatizer: none, since the treebank has no tags or few lemmas")
        return cls(**found, reports=tuple(reports))

    def apply(self, columns: Columns, threads: int = 1) -> Columns:
        """The same sentences with tags and lemmas of these tools, where the treebank has such."""
        assert self.tagger is not None
        found = self.tagger.tag(columns, threads=threads)
        if self.lemmatizer is not None:
            found = self.lemmatizer.lemmatize(found, threads=threads)
        return found


def _segmenter(
    train: Columns, dev: Columns | None, settings: SegmenterSettings, observer: Observer
) -> tuple[Segmenter | None, list[dict[str, Any]]]:
    if settings.spaces != "guessed" and not _has_text(train):
        observer.note(
            "segmenter: none, since the treebank says nothing of spaces (`# text`, SpaceAfter=No); "
            'segmenter.spaces = "guessed" learns from likely ones'
        )
        return None, []
    judged = dev if dev is not None and (settings.spaces == "guessed" or _has_text(dev)) else None
    return train_with_reports(train, judged, settings, observer)


def _has_text(columns: Columns) -> bool:
    """Whether a treebank says where its words have no space between them."""
    if any("SpaceAfter=No" in misc for misc in columns.strings("misc")):
        return True
    native = columns.native
    kinds = native.extra_kinds.tolist()
    return any(
        kind == COMMENT and text.replace(" ", "").startswith("#text=")
        for kind, text in zip(kinds, native.extra_texts(), strict=True)
    )


# ---------------------------------------------------------------- jackknifing


def jackknifed(
    columns: Columns, config: TrainConfig, tools: Tools, threads: int, observer: Observer
) -> Columns:
    """The treebank with tags and lemmas of tools that were trained on other parts of it."""
    found: list[tuple[NDArray[np.int64], Columns]] = []
    folds = min(config.folds, len(columns))
    observer.note(f"jackknifing: each of {folds} folds is tagged by a model trained on the others")
    observer.begin("jackknifing", folds, unit="fold")
    for number, held in enumerate(fold_sentences(columns, folds), start=1):
        rest = columns.select(other_sentences(columns, held))
        trained = _folds_tools(rest, config, tools, threads, observer.child(f"fold {number} of {folds}"))
        found.append((held, trained.apply(columns.select(held), threads)))
        observer.advance()
    observer.end()
    return _put_together(columns, found)


def _folds_tools(rest: Columns, config: TrainConfig, tools: Tools, threads: int, observer: Observer) -> Tools:
    options: dict[str, Any] = {"seed": config.seed, "threads": threads, "observer": observer}
    tagger, _ = train_tagger(rest, None, config.tagger, **options)
    if tools.lemmatizer is None:
        return Tools(tagger=tagger)
    lemmatizer, _ = train_lemmatizer(rest, None, config.lemmatizer, **options)
    return Tools(tagger=tagger, lemmatizer=lemmatizer)


def _put_together(columns: Columns, found: list[tuple[NDArray[np.int64], Columns]]) -> Columns:
    """The treebank with the columns of its parts, each with the numbers of its sentences."""
    for column in FILLED:
        names: list[str] = []
        ids = np.zeros(columns.words, np.int32)
        for held, part in found:
            ids[words_of(columns, held)] = part.ids(column) + len(names)
            names += part.strings(column)
        columns = columns.with_column(column, ids, names)
    return columns
