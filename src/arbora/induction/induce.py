"""From tagged sentences, or words alone, to a parser, without a treebank.

    words ──word classes──▶ tags ──without punctuation──▶ TagCorpus ──inducer, several seeds──▶ the best model

The restart with the greatest objective is chosen. How far restarts agree shows how much depends on the seed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import filled, numbers_of
from arbora.data.treebank import Treebank, gather
from arbora.errors import DataError, InputError, require_threads
from arbora.formatting import counted
from arbora.induction.corpus import PUNCTUATION, TagCorpus, is_word
from arbora.induction.interfaces import Induced, Inducer, Round, TagModel
from arbora.induction.rules import ROOT, RULES, Rules
from arbora.induction.search import induced_parser
from arbora.induction.trees import parse
from arbora.induction.word_classes import WordClasses
from arbora.interfaces import Epoch
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.train_segmenter import SegmenterSettings
from arbora.progress import EpochReport, Observer, Silent
from arbora.registry import inducers
from arbora.settings import from_dict, to_dict
from arbora.training.config import TrainConfig
from arbora.training.pipeline import Tools

logger = logging.getLogger("arbora")

NO_RULES = "none"
COMPARED = 2000  # Sentences on which restarts are compared
SINGLE_SHARE = 0.75  # Above this share of one-word sentences, something is wrong with the text


@dataclass(frozen=True, kw_only=True)
class ClassSettings:
    """Word classes, used as tags if there are none; see `arbora.induction.word_classes`."""

    count: int = 30
    rounds: int = 30
    """Rounds at most."""
    least_count: int = 10
    """Rarer words are pooled by their endings."""
    starts: int = 5
    """How many random starts to try."""


@dataclass(frozen=True, kw_only=True)
class InduceConfig:
    """The settings of learning without a treebank."""

    model: str = "crfae"
    """One of `arbora list inducers`."""
    parameters: dict[str, int | float | str] = field(default_factory=dict)
    """Parameters of the model; others have their defaults."""
    rules: str = "universal"
    """Known in advance: universal, table-2, none, or a file of rules."""
    longest: int = 10
    """Longer sentences, not counting punctuation, are left out."""
    restarts: int = 1
    seed: int = 0
    """The first restart's; the others follow."""
    only: Literal["all", "parser"] = "all"
    """all: also train a segmenter, a tagger and a lemmatizer."""
    classes: ClassSettings = field(default_factory=ClassSettings)
    """Word classes, used as tags if words have none."""
    segmenter: SegmenterSettings = field(default_factory=SegmenterSettings)

    def __post_init__(self) -> None:
        for name, least in (("longest", 1), ("restarts", 1), ("seed", 0)):
            value = getattr(self, name)
            if value < least:
                raise InputError(f"{name}: expected a whole number of at least {least}, got {value}")
        if self.only not in ("all", "parser"):
            raise InputError(f"only: expected all or parser, got {self.only!r}")

    def make_inducer(self) -> Inducer:
        return inducers.create(self.model, **self.parameters)

    def read_rules(self) -> Rules | None:
        if self.rules == NO_RULES:
            return None
        return RULES[self.rules] if self.rules in RULES else Rules.read(self.rules)


@dataclass(frozen=True)
class Start:
    """The result of one seed."""

    seed: int
    history: tuple[Round, ...]
    model: TagModel = field(repr=False)
    agreement: float = 1.0  # The share of heads that it has in common with the chosen start

    @property
    def objective(self) -> float:
        return self.history[-1].objective


@dataclass(frozen=True)
class InducedModel:
    """The result of `induce`."""

    pipeline: Pipeline
    starts: tuple[Start, ...]
    chosen: int  # The index of the best start
    interrupted: bool = False

    @property
    def best(self) -> Start:
        return self.starts[self.chosen]

    def save(self, path: str | os.PathLike[str]) -> None:
        self.pipeline.save(path)


def induce(
    treebank: Treebank,
    *,
    config: InduceConfig | Mapping[str, Any] | None = None,
    threads: int = 1,
    observer: Observer | None = None,
) -> InducedModel:
    """Learn a parser from sentences without trees; their heads and labels are ignored.

    A treebank is a path, sentences, Columns, or a list of these. If no word has a UPOS tag, word classes are
    learned first and used as tags. Ctrl-C keeps the best model so far.
    """
    require_threads(threads)
    settings = config if isinstance(config, InduceConfig) else from_dict(InduceConfig, dict(config or {}))
    observer = observer or Silent()
    inducer, rules = settings.make_inducer(), settings.read_rules()
    columns = gather(treebank, check_words)
    check_words(columns)
    has_classes = not filled(columns, "upos")
    if has_classes:
        columns = with_classes(columns, settings.classes, settings.seed, observer)
        if rules is not None:
            observer.note("rules about tags are not used, since classes stand for tags")
            rules = None
    else:
        _check_classes(settings.classes, columns)
        _report_missing_tags(columns, observer)
    corpus = TagCorpus.of(columns, longest=settings.longest)
    _check_corpus(corpus, settings, columns, observer)
    if rules is not None:
        _report_rules(rules, corpus, observer)
    runs = Runs(inducer, corpus, rules, threads, observer)
    starts = runs.all([settings.seed + i for i in range(settings.restarts)])
    chosen = max(range(len(starts)), key=lambda i: starts[i].objective)
    starts = _compared(starts, chosen, corpus, threads)
    about = _about(settings, inducer, rules, corpus, starts, chosen)
    pipeline = Pipeline(parser=induced_parser(starts[chosen].model, about))
    interrupted = runs.interrupted
    if not interrupted and (settings.only != "parser" or has_classes):
        if settings.only == "parser":
            observer.note("a tagger is trained all the same, to give words their classes")
        try:
            plan = TrainConfig(seed=settings.seed, segmenter=settings.segmenter)
            tools = Tools.of(columns, None, plan, threads, observer)
            pipeline = replace(
                pipeline, segmenter=tools.segmenter, tagger=tools.tagger, lemmatizer=tools.lemmatizer
            )
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        observer.note("stopped by Ctrl-C: the model has a parser alone")
    return InducedModel(pipeline, tuple(starts), chosen, interrupted=interrupted)


def check_words(columns: Columns, what: str = "the text to learn from", **_: bool) -> None:
    """Raise DataError unless there are words."""
    if not columns.words:
        raise DataError(f"{what} has no words; is it the right file?", source=columns.source)


def with_classes(columns: Columns, settings: ClassSettings, seed: int, observer: Observer) -> Columns:
    """The same sentences with word classes as UPOS, and PUNCT for punctuation."""
    words = is_word(columns)
    forms = columns.strings("form")
    parts = np.split(columns.ids("form"), columns.offsets[1:-1])
    kept = np.split(words, columns.offsets[1:-1])
    sentences = [[forms[i] for i in part[keep].tolist()] for part, keep in zip(parts, kept, strict=True)]
    if filled(columns, "xpos"):
        observer.note("XPOS is ignored: copy it to UPOS to learn from it")
    limits = asdict(settings)
    classes = WordClasses.learn(sentences, classes=limits.pop("count"), seed=seed, **limits)
    used = counted(len(classes.names), "class of words stands for tags", "classes of words stand for tags")
    observer.note(f"no word has a tag: {used}")
    tags = (PUNCTUATION, *classes.names)
    numbers = numbers_of([classes.class_of(form) for form in forms], tags)
    found = np.where(words, numbers[columns.ids("form")], 0).astype(np.int32)
    return columns.with_column("upos", found, tags)


class Runs:
    """Learns with one seed after the other; Ctrl-C ends it and keeps the results so far."""

    def __init__(
        self, inducer: Inducer, corpus: TagCorpus, rules: Rules | None, threads: int, observer: Observer
    ) -> None:
        self.inducer = inducer
        self.corpus = corpus
        self.rules = rules
        self.threads = threads
        self.observer = observer
        self.interrupted = False
        self._rounds: list[Round] = []
        self._model: TagModel | None = None

    def all(self, seeds: Sequence[int]) -> list[Start]:
        found: list[Start] = []
        for seed in seeds:
            try:
                learned = self._one(seed)
            except KeyboardInterrupt:
                self.interrupted = True
                if self._model is not None:
                    found.append(Start(seed, tuple(self._rounds), self._model))
                if not found:
                    raise
                break
            found.append(Start(seed, learned.history, learned.model))
        return found

    def _one(self, seed: int) -> Induced:
        self._rounds, self._model = [], None
        stage = f"{self.inducer.name}, seed {seed}"
        self.observer.begin(stage, int(getattr(self.inducer, "rounds", 1)), unit="round")

        def watch(one: Round, model: TagModel) -> None:
            before = self._rounds[-1].seconds if self._rounds else 0.0
            self._rounds.append(one)
            self._model = model
            self.observer.advance()
            epoch = Epoch(one.number, -one.objective, 0.0, 1, one.seconds - before, dict(one.measures))
            self.observer.report(EpochReport(stage, epoch, {"objective": one.objective}, best=False))

        induced = self.inducer.fit(
            self.corpus, rules=self.rules, seed=seed, threads=self.threads, watch=watch
        )
        self.observer.end()
        return induced


def _report_missing_tags(columns: Columns, observer: Observer) -> None:
    missing = columns.words - filled(columns, "upos")
    if missing:
        observer.note(
            f"{missing:,} of {counted(columns.words, 'word')} {'has' if missing == 1 else 'have'} no UPOS "
            "tag; `_` counts as a tag of its own"
        )


def _check_classes(given: ClassSettings, columns: Columns) -> None:
    default = ClassSettings()
    for each in fields(ClassSettings):
        if getattr(given, each.name) != getattr(default, each.name):
            tagged = filled(columns, "upos")
            raise InputError(
                f"classes.{each.name}: does nothing here; it needs words without UPOS tags, which classes "
                f"then stand for, got tags of {tagged:,} of {counted(columns.words, 'word')}"
            )


def _check_corpus(corpus: TagCorpus, settings: InduceConfig, columns: Columns, observer: Observer) -> None:
    if not corpus.words:
        raise DataError(
            f"expected sentences of at most {settings.longest} words to learn from, got none; a greater "
            "`longest` takes longer ones",
            source=columns.source,
        )
    observer.note(
        f"{settings.model}: learns from {len(corpus):,} of {counted(len(columns), 'sentence')}, those of at "
        f"most {counted(settings.longest, 'word')}, with {counted(len(corpus.tags), 'tag')}"
    )
    single = sum(len(sentence) == 1 for sentence in corpus.sentences)
    if single > SINGLE_SHARE * len(corpus):
        logger.warning(
            "%s of %s to learn from have a single word, which has but one tree; if the text has one word per "
            "line, give it with one sentence per line, or as CoNLL-U",
            f"{single:,}",
            counted(len(corpus), "sentence"),
        )


def _report_rules(rules: Rules, corpus: TagCorpus, observer: Observer) -> None:
    known = {ROOT, *corpus.tags}
    used = sum(head in known and dependent in known for head, dependent in rules.pairs)
    if used < len(rules.pairs):
        pairs = counted(len(rules.pairs), "pair")
        observer.note(f"rules: {used} of {pairs} {'is' if used == 1 else 'are'} of tags that the text has")
    if not used:
        logger.warning(
            "no rule is about the tags of this text (%s), so learning goes without; write rules for them",
            " ".join(corpus.tags[:20]),
        )


def _compared(starts: list[Start], chosen: int, corpus: TagCorpus, threads: int) -> list[Start]:
    """Each start with its agreement."""
    if len(starts) == 1:
        return starts
    step = max(1, len(corpus) // COMPARED)
    sentences = corpus.sentences[::step]
    heads = [np.concatenate(parse(start.model, sentences, threads=threads)) for start in starts]
    return [
        replace(start, agreement=float(np.mean(found == heads[chosen])))
        for start, found in zip(starts, heads, strict=True)
    ]


def _about(
    config: InduceConfig,
    inducer: Inducer,
    rules: Rules | None,
    corpus: TagCorpus,
    starts: list[Start],
    chosen: int,
) -> dict[str, Any]:
    return {
        "model": config.model,
        "config": {**to_dict(config), "parameters": inducer.settings()},
        "rules": [] if rules is None else rules.to_list(),
        "sentences": len(corpus),
        "words": corpus.words,
        "starts": [
            {"seed": s.seed, "objective": s.objective, "rounds": len(s.history), "agreement": s.agreement}
            for s in starts
        ],
        "chosen": chosen,
    }
