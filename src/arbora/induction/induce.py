"""From tagged sentences, or words alone, to a parser, without a treebank.

    words ──word classes──▶ tags ──without punctuation──▶ TagCorpus ──inducer, several seeds──▶ the best model

The restart with the greatest objective is chosen. How far restarts agree shows how much depends on the seed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import filled, numbers_of
from arbora.data.treebank import Treebank, gather
from arbora.errors import MOST_SEED, ArboraError, DataError, InputError, require_threads
from arbora.formatting import counted
from arbora.induction.corpus import PUNCTUATION, TagCorpus, is_word
from arbora.induction.interfaces import Induced, Inducer, parse
from arbora.induction.rules import NO_RULES, ROOT, RULES, Rules
from arbora.induction.search import induced_parser
from arbora.induction.word_classes import ClassSettings, WordClasses
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.train_segmenter import SegmenterSettings
from arbora.progress import Observer, Silent
from arbora.registry import inducers
from arbora.settings import Settings, from_dict, parameter, to_dict
from arbora.training.annotation import check_words
from arbora.training.config import TrainConfig
from arbora.training.jobs import run_jobs
from arbora.training.pipeline import Tools

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool

logger = logging.getLogger("arbora")

KNOWN_RULES = {**RULES, "none": NO_RULES}
MOST_RESTARTS = 10_000
COMPARED = 2000  # Sentences on which restarts are compared
SINGLE_SHARE = 0.75  # Above this share of one-word sentences, something is wrong with the text


@dataclass(frozen=True, kw_only=True)
class InduceConfig(Settings):
    """The settings of learning without a treebank."""

    model: str = parameter("crfae", "one of `arbora list inducers`")
    parameters: dict[str, int | float | str] = parameter(
        factory=dict, help="parameters of the model; others have their defaults"
    )
    rules: str = parameter(
        "universal",
        "prior knowledge about trees: universal or table-2 (`arbora info rules NAME` shows them), a file "
        "with lines such as `VERB -> NOUN`, or none",
    )
    longest: int = parameter(10, "words of the longest sentences to learn from, without punctuation", least=1)
    restarts: int = parameter(
        1, "number of random starts; the one with the best objective is kept", least=1, most=MOST_RESTARTS
    )
    seed: int = parameter(
        0, "random seed of the first start; the same seed gives the same model", least=0, most=MOST_SEED
    )
    only: Literal["all", "parser"] = parameter(
        "all",
        "parts to train. parser: only the parser, for input that is tagged; all: also segmenter, tagger and "
        "lemmatizer",
    )
    classes: ClassSettings = parameter(factory=ClassSettings, help="word classes, used as tags if none exist")
    segmenter: SegmenterSettings = parameter(factory=SegmenterSettings, help="of the segmenter")


@dataclass(frozen=True)
class InducedModel:
    """The result of `induce`."""

    pipeline: Pipeline
    starts: tuple[Induced, ...]  # The result of each seed
    chosen: int  # The index of the best start
    interrupted: bool = False

    @property
    def best(self) -> Induced:
        return self.starts[self.chosen]

    def save(self, path: str | os.PathLike[str]) -> None:
        self.pipeline.save(path)


def induce(
    treebank: Treebank,
    *,
    config: InduceConfig | Mapping[str, Any] | None = None,
    threads: int = 1,
    observer: Observer | None = None,
    pool: Pool | None = None,
) -> InducedModel:
    """Learn a parser from sentences without trees; their heads and labels are ignored.

    A treebank is a path, sentences, Columns, or a list of these. If no word has a UPOS tag, word classes are
    learned first and used as tags. Ctrl-C keeps the best model so far. `pool`: workers for restarts.
    """
    require_threads(threads)
    settings = config if isinstance(config, InduceConfig) else from_dict(InduceConfig, dict(config or {}))
    observer = observer or Silent()
    inducer = inducers.create(settings.model, **settings.parameters)
    rules = KNOWN_RULES.get(settings.rules) or Rules.read(settings.rules)
    columns = gather(treebank, check_words)
    check_words(columns)
    tagged = filled(columns, "upos")
    if not tagged:
        columns = with_classes(columns, settings.classes, settings.seed, observer)
        if rules.pairs:
            observer.note("rules about tags are not used, since classes stand for tags")
            rules = NO_RULES
    else:
        _check_tags(columns, tagged, settings.classes, observer)
    corpus = TagCorpus.of(columns, longest=settings.longest)
    _check_corpus(corpus, settings, columns, observer)
    if rules.pairs:
        _check_rules(rules, corpus, observer)
    fit = partial(_fit, inducer=inducer, corpus=corpus, rules=rules, threads=threads)
    seeds = range(settings.seed, settings.seed + settings.restarts)
    starts, interrupted = _starts(fit, inducer.name, seeds, observer, pool)
    chosen = max(range(len(starts)), key=lambda i: starts[i].objective)
    starts = _compared(starts, chosen, corpus, threads)
    about = {
        "model": settings.model,
        "config": {**to_dict(settings), "parameters": inducer.settings()},
        "rules": rules.to_list(),
        "sentences": len(corpus),
        "words": corpus.words,
        "starts": [
            {"seed": s.seed, "objective": s.objective, "rounds": len(s.history), "agreement": s.agreement}
            for s in starts
        ],
        "chosen": chosen,
    }
    pipeline = Pipeline(parser=induced_parser(starts[chosen].model, about))
    if not interrupted and (settings.only != "parser" or not tagged):
        if settings.only == "parser":
            observer.note("a tagger is trained all the same, to give words their classes")
        try:
            plan = TrainConfig(seed=settings.seed, segmenter=settings.segmenter)
            pipeline = replace(pipeline, **Tools.of(columns, None, plan, threads, observer).parts)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        observer.note("stopped by Ctrl-C: the model has a parser alone")
    return InducedModel(pipeline, tuple(starts), chosen, interrupted=interrupted)


def _fit(
    seed: int, observer: Observer, *, inducer: Inducer, corpus: TagCorpus, rules: Rules, threads: int
) -> Induced:
    return inducer.fit(corpus, rules=rules, seed=seed, threads=threads, observer=observer)


def _starts(
    fit: Callable[[int, Observer], Induced],
    name: str,
    seeds: Sequence[int],
    observer: Observer,
    pool: Pool | None,
) -> tuple[list[Induced], bool]:
    """The results of seeds in order, and whether Ctrl-C ended learning; at least one, or it raises."""
    if len(seeds) == 1:
        start = fit(seeds[0], observer)
        return [start], start.interrupted
    starts: list[Induced] = []
    lost: list[ArboraError] = []
    interrupted = False
    names = [f"{name}, seed {seed}" for seed in seeds]
    observer.begin("restarts", len(seeds), unit="restart")
    try:
        with closing(run_jobs(fit, names, seeds, observer, pool)) as jobs:
            for job in jobs:
                observer.advance()
                if job.lost is not None:
                    logger.warning(f"{names[job.place]}: no result: {job.lost}")
                    lost.append(job.lost)
                    continue
                starts.append(job.result)
                job.observer.end(f"objective {job.result.objective:.4f}")
                best = max(starts, key=lambda start: start.objective)
                observer.status(f"best: seed {best.seed} (objective {best.objective:.4f})")
                if job.result.interrupted:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        interrupted = True
    observer.end()
    if not starts:
        raise lost[0] if lost and not interrupted else KeyboardInterrupt
    return sorted(starts, key=lambda start: start.seed), interrupted


def with_classes(columns: Columns, settings: ClassSettings, seed: int, observer: Observer) -> Columns:
    """The same sentences with word classes as UPOS, and PUNCT for punctuation."""
    words, forms, ids = is_word(columns), columns.strings("form"), columns.ids("form")
    parts = zip(columns.split(ids), columns.split(words), strict=True)
    sentences = [[forms[i] for i in part[kept].tolist()] for part, kept in parts]
    if filled(columns, "xpos"):
        observer.note("XPOS is ignored: copy it to UPOS to learn from it")
    classes = WordClasses.learn(sentences, settings, seed=seed)
    used = counted(len(classes.names), "class of words stands for tags", "classes of words stand for tags")
    observer.note(f"no word has a tag: {used}")
    tags = (PUNCTUATION, *classes.names)
    numbers = numbers_of([classes.class_of(form) for form in forms], tags)
    return columns.with_column("upos", np.where(words, numbers[ids], 0).astype(np.int32), tags)


def _check_tags(columns: Columns, tagged: int, classes: ClassSettings, observer: Observer) -> None:
    """Raise InputError for settings of word classes, which tags leave without effect."""
    words = counted(columns.words, "word")
    for each in fields(ClassSettings):
        if getattr(classes, each.name) != each.default:
            raise InputError(
                f"classes.{each.name}: does nothing here; it needs words without UPOS tags, which classes "
                f"then stand for, got tags of {tagged:,} of {words}"
            )
    if missing := columns.words - tagged:
        have = "has" if missing == 1 else "have"
        observer.note(f"{missing:,} of {words} {have} no UPOS tag; `_` counts as a tag of its own")


def _check_corpus(corpus: TagCorpus, settings: InduceConfig, columns: Columns, observer: Observer) -> None:
    if not corpus.words:
        raise DataError(
            f"expected sentences of at most {settings.longest} words to learn from, got none; a greater "
            "`longest` (--longest) takes longer ones",
            source=columns.source,
        )
    observer.note(
        f"{settings.model}: learns from {len(corpus):,} of {counted(len(columns), 'sentence')}, those of at "
        f"most {counted(settings.longest, 'word')}, with {counted(len(corpus.tags), 'tag')}"
    )
    single = sum(len(sentence) == 1 for sentence in corpus.sentences)
    if single > SINGLE_SHARE * len(corpus):
        share = f"{single:,} of {counted(len(corpus), 'sentence')}"
        logger.warning(
            f"{share} to learn from have a single word, which has but one tree; if the text has one word per "
            "line, give it with one sentence per line, or as CoNLL-U"
        )


def _check_rules(rules: Rules, corpus: TagCorpus, observer: Observer) -> None:
    known = {ROOT, *corpus.tags}
    used = sum(known.issuperset(pair) for pair in rules.pairs)
    if used < len(rules.pairs):
        pairs = counted(len(rules.pairs), "pair")
        observer.note(f"rules: {used} of {pairs} {'is' if used == 1 else 'are'} of tags that the text has")
    if not used:
        tags = " ".join(corpus.tags[:20])
        logger.warning(
            f"no rule is about the tags of this text ({tags}), so learning goes without; write rules for them"
        )


def _compared(starts: list[Induced], chosen: int, corpus: TagCorpus, threads: int) -> list[Induced]:
    """Each start with its agreement."""
    if len(starts) == 1:
        return starts
    sentences = corpus.sentences[:: max(1, len(corpus) // COMPARED)]
    heads = [np.concatenate(parse(start.model, sentences, threads=threads)) for start in starts]
    return [
        replace(start, agreement=float(np.mean(found == heads[chosen])))
        for start, found in zip(starts, heads, strict=True)
    ]
