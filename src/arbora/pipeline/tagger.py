"""The tagger: UPOS, XPOS and FEATS of words.

UPOS is found for the whole sentence at once, the best sequence of tags exactly (Viterbi), from forms, their
beginnings, ends and shapes, the words around, and a lexicon: which tags each word of the training treebank
had. Then each word gets an analysis, a pair of XPOS and FEATS, among those that its UPOS had in training,
from the same and the tags around it.

In training a word's own occurrence does not count in the lexicon: a word that occurs once is unknown then, as
new words will be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import TagLexicon
from arbora.data.columns import Columns
from arbora.data.encode import NOTHING, used
from arbora.errors import InputError, ModelError
from arbora.pipeline.words import (
    Tensors,
    WordModel,
    WordSettings,
    group_starts,
    is_text,
    known_tags,
    lexicon_tensors,
    numbers,
    read_lexicon,
    read_texts,
    read_weights,
    train_words,
)
from arbora.progress import Observer, Scores, Silent
from arbora.types import Floats, Ints

UPOS_FEATURES, MORPH_FEATURES = "upos-v1", "morph-v1"
Analysis = tuple[str, str]  # XPOS and FEATS


@dataclass(frozen=True, kw_only=True)
class TaggerSettings:
    """How a tagger is learned."""

    upos: WordSettings = field(default_factory=WordSettings)
    morphology: WordSettings = field(
        default_factory=lambda: WordSettings(parameters={"C": 0.05, "epochs": 5})
    )


@dataclass(frozen=True, eq=False)
class Tagger:
    """Gives words their tags."""

    tags: tuple[str, ...]  # UPOS, the most common first
    analyses: tuple[tuple[Analysis, ...], ...]  # Those of each tag, the most common first
    lexicon: TagLexicon
    upos: WordModel
    morphology: WordModel

    def tag(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The same sentences with UPOS, XPOS and FEATS of this tagger; all else stays. O(W · tags²)."""
        everything = np.zeros(columns.words, np.int32)
        found = self.upos.predict(columns, self.lexicon, everything, threads)
        return self.analyse(columns.with_column("upos", found, self.tags), threads=threads)

    def analyse(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The same sentences with XPOS and FEATS that fit their UPOS."""
        tags = known_tags(columns, self.tags)
        chosen = (
            self.morphology.predict(columns, self.lexicon, tags, threads) + group_starts(self.analyses)[tags]
        )
        flat = [analysis for group in self.analyses for analysis in group]
        for place, column in enumerate(("xpos", "feats")):
            columns = columns.with_column(column, chosen, [analysis[place] for analysis in flat])  # type: ignore[arg-type]
        return columns

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors = {
            **lexicon_tensors(self.lexicon),
            **self.upos.to_tensors("upos", quantized=quantized),
            **self.morphology.to_tensors("morphology", quantized=quantized),
        }
        metadata = {
            "tags": list(self.tags),
            "analyses": [[list(analysis) for analysis in group] for group in self.analyses],
            "features": [self.upos.features, self.morphology.features],
            "bits": [self.upos.bits, self.morphology.bits],
        }
        return tensors, metadata

    @classmethod
    def from_parts(cls, tensors: Tensors, metadata: Mapping[str, Any], source: str) -> Tagger:
        tags = read_texts(metadata, "tags", source)
        analyses = _read_analyses(metadata.get("analyses"), len(tags), source)
        if metadata.get("features") != [UPOS_FEATURES, MORPH_FEATURES]:
            raise ModelError(
                f"tagger: features of another version: {str(metadata.get('features'))[:80]}", source=source
            )
        bits = metadata.get("bits")
        if (
            not isinstance(bits, list)
            or len(bits) != 2
            or not all(type(b) is int and 8 <= b <= 26 for b in bits)
        ):
            raise ModelError(f"tagger: expected two sizes of tables, got {str(bits)[:80]}", source=source)
        upos = _upos_model(len(tags), bits[0])
        morphology = _morph_model(analyses, bits[1])
        return cls(
            tags,
            analyses,
            read_lexicon(tensors, source),
            replace(upos, weights=read_weights(tensors, "upos", upos, source)),
            replace(morphology, weights=read_weights(tensors, "morphology", morphology, source)),
        )


def train_tagger(
    columns: Columns,
    dev: Columns | None = None,
    settings: TaggerSettings | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    observer: Observer | None = None,
) -> tuple[Tagger, list[dict[str, Any]]]:
    """A tagger of a treebank, its best epochs by accuracy on dev; and a report of each epoch."""
    return Training(columns, dev, settings or TaggerSettings(), seed, threads, observer or Silent()).run()


class Training:
    """One training of a tagger."""

    def __init__(
        self,
        train: Columns,
        dev: Columns | None,
        settings: TaggerSettings,
        seed: int,
        threads: int,
        observer: Observer,
    ) -> None:
        self.train, self.dev, self.settings = train, dev, settings
        self.seed, self.threads, self.observer = seed, threads, observer
        self.tags = tuple(tag for tag in used(train, "upos") if tag != NOTHING)
        if not self.tags:
            raise InputError(f"{train.source}: UPOS is `_` everywhere; a tagger has nothing to learn from")
        self.lexicon = TagLexicon(train.native, list(self.tags))
        self.gold = numbers(train, "upos", self.tags)
        self.analyses, self.gold_analyses = _analyses_of(train, self.gold, len(self.tags))

    def run(self) -> tuple[Tagger, list[dict[str, Any]]]:
        upos, reports = self._upos_stage()
        morphology, more = self._morphology_stage()
        return Tagger(self.tags, self.analyses, self.lexicon, upos, morphology), reports + more

    def _upos_stage(self) -> tuple[WordModel, list[dict[str, Any]]]:
        model = _upos_model(len(self.tags), self.settings.upos.bits_for(self.train))
        everything = np.zeros(self.train.words, np.int32)
        batch = model.encode(self.train, self.lexicon, everything, self.gold, self.gold)
        weights, reports = train_words(
            model, batch, self.settings.upos, stage="tags", judge=self._judge_upos(model), **self._common
        )
        return replace(model, weights=weights), reports

    def _judge_upos(self, model: WordModel) -> Any:
        dev = self.dev
        if dev is None:
            return None
        right = numbers(dev, "upos", self.tags)
        batch = model.encode(dev, self.lexicon, np.zeros(dev.words, np.int32))

        def judge(weights: Floats) -> Scores:
            found = model.native.predict(batch, weights, self.threads)
            return {"upos": 100 * float(np.mean(found == right))}

        return judge

    def _morphology_stage(self) -> tuple[WordModel, list[dict[str, Any]]]:
        model = _morph_model(self.analyses, self.settings.morphology.bits_for(self.train))
        if model.groups.max() == 1:  # neither XPOS nor FEATS, or what UPOS says already
            return replace(model, weights=np.zeros(model.native.weight_count, np.float32)), []
        batch = model.encode(
            self.train, self.lexicon, np.maximum(self.gold, 0), self.gold_analyses, self.gold
        )
        weights, reports = train_words(
            model,
            batch,
            self.settings.morphology,
            stage="morphology",
            judge=self._judge_morphology(model),
            **self._common,
        )
        return replace(model, weights=weights), reports

    def _judge_morphology(self, model: WordModel) -> Any:
        """XPOS and FEATS both right, on dev with the right UPOS."""
        dev = self.dev
        if dev is None:
            return None
        tags = numbers(dev, "upos", self.tags)
        right = _gold_analyses(dev, tags, self.analyses)
        batch = model.encode(dev, self.lexicon, np.maximum(tags, 0))

        def judge(weights: Floats) -> Scores:
            found = model.native.predict(batch, weights, self.threads)
            return {"morphology": 100 * float(np.mean((found == right) & (tags >= 0)))}

        return judge

    @property
    def _common(self) -> dict[str, Any]:
        return {"seed": self.seed, "threads": self.threads, "observer": self.observer}


def _upos_model(tags: int, bits: int) -> WordModel:
    return WordModel(UPOS_FEATURES, bits, np.array([tags], np.int32), True, np.empty(0, np.float32))


def _morph_model(analyses: tuple[tuple[Analysis, ...], ...], bits: int) -> WordModel:
    groups = np.array([len(group) for group in analyses], np.int32)
    return WordModel(MORPH_FEATURES, bits, groups, False, np.empty(0, np.float32))


def _analyses_of(columns: Columns, tags: Ints, count: int) -> tuple[tuple[tuple[Analysis, ...], ...], Ints]:
    """The analyses of each tag, the most common first, and each word's number among those of its tag."""
    xpos, feats = columns.strings("xpos"), columns.strings("feats")
    triples = np.stack([tags, columns.ids("xpos"), columns.ids("feats")])
    distinct, which, counts = np.unique(triples, axis=1, return_inverse=True, return_counts=True)
    order = sorted(
        range(len(counts)),
        key=lambda i: (distinct[0, i], -counts[i], xpos[distinct[1, i]], feats[distinct[2, i]]),
    )
    groups: list[list[Analysis]] = [[] for _ in range(count)]
    place = np.full(len(counts), -1, np.int32)
    for i in order:
        tag = int(distinct[0, i])
        if tag >= 0:
            place[i] = len(groups[tag])
            groups[tag].append((xpos[distinct[1, i]], feats[distinct[2, i]]))
    return tuple(map(tuple, groups)), place[which.reshape(-1)]


def _gold_analyses(columns: Columns, tags: Ints, analyses: tuple[tuple[Analysis, ...], ...]) -> Ints:
    """Each word's number among its tag's analyses, -2 where training had none such."""
    places = {
        (tag, *analysis): place for tag, group in enumerate(analyses) for place, analysis in enumerate(group)
    }
    xpos, feats = columns.strings("xpos"), columns.strings("feats")
    triples = zip(tags.tolist(), columns.ids("xpos").tolist(), columns.ids("feats").tolist(), strict=True)
    return np.array([places.get((t, xpos[x], feats[f]), -2) for t, x, f in triples], np.int32)


def _read_analyses(found: Any, count: int, source: str) -> tuple[tuple[Analysis, ...], ...]:
    def fits(pair: Any) -> bool:
        return isinstance(pair, list) and len(pair) == 2 and all(map(is_text, pair))

    if (
        not isinstance(found, list)
        or len(found) != count
        or not all(isinstance(group, list) and group and all(map(fits, group)) for group in found)
    ):
        raise ModelError(
            "tagger: expected analyses of each tag, got others; the file is damaged", source=source
        )
    return tuple(tuple((xpos, feats) for xpos, feats in group) for group in found)
