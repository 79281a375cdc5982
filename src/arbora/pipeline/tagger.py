"""The tagger: UPOS, XPOS and FEATS of words.

UPOS is predicted for whole sentences, as the best tag sequence (exact Viterbi), from forms, prefixes,
suffixes, word shapes, neighbouring words, a lexicon of the tags that each word had in training, and clusters
of words if there are some. Then each word gets an analysis, a pair of XPOS and FEATS, among those that its
UPOS had in training, from the same features and the neighbouring tags.

In training, a word's own occurrence is left out of its lexicon entry, so words that occur once look unknown,
as new words will.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import TagLexicon
from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import EMPTY_FIELD, used
from arbora.errors import InputError
from arbora.pipeline import words
from arbora.pipeline.words import Groups, WordModel, WordSettings
from arbora.progress import Observer, Scores
from arbora.settings import Settings, parameter
from arbora.storage._safetensors import DAMAGED
from arbora.storage.model_file import ModelFile, is_field
from arbora.types import Floats, Ints

FEATURES = ["upos-v1", "morph-v1"]
CLUSTER_FEATURES = ["upos-v2", "morph-v2"]
Analysis = tuple[str, str]  # XPOS and FEATS
ANALYSED: tuple[TextColumn, TextColumn] = ("xpos", "feats")


@dataclass(frozen=True, kw_only=True)
class TaggerSettings(Settings):
    """Settings for training a tagger."""

    upos: WordSettings = parameter(factory=WordSettings, help="of UPOS")
    morphology: WordSettings = parameter(
        factory=lambda: WordSettings(parameters={"C": 0.05, "epochs": 5}), help="of XPOS and FEATS"
    )


@dataclass(frozen=True, eq=False)
class Tagger:
    """Predicts UPOS, XPOS and FEATS."""

    tags: tuple[str, ...]  # UPOS, the most common first
    analyses: Groups[Analysis]  # of each tag, the most common first
    lexicon: TagLexicon
    upos: WordModel
    morphology: WordModel

    @property
    def clusters(self) -> WordClusters | None:
        """The word clusters that its features read."""
        return self.upos.clusters

    def tag(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The sentences with predicted UPOS, XPOS and FEATS. O(W · tags²)."""
        found = self.upos.predict(columns, self.lexicon, _one_group(columns), threads)
        return self.analyse(columns.with_column("upos", found, self.tags), threads=threads)

    def analyse(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The sentences with predicted XPOS and FEATS that fit their UPOS."""
        tags = words.known_tags(columns, self.tags)
        chosen = self.morphology.predict(columns, self.lexicon, tags, threads)
        analyses, ids = words.flat_labels(self.analyses, tags, chosen)
        for column, texts in zip(ANALYSED, zip(*analyses, strict=True), strict=True):
            columns = columns.with_column(column, ids, list(texts))
        return columns

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        models = {"upos": self.upos, "morphology": self.morphology}
        tensors = words.to_tensors(self.lexicon, quantized=quantized, **models)
        return tensors | ({} if self.clusters is None else self.clusters.to_tensors()), {
            "tags": list(self.tags),
            "analyses": [[list(analysis) for analysis in group] for group in self.analyses],
            "features": [model.features for model in models.values()],
            "bits": [model.bits for model in models.values()],
        }

    @classmethod
    def from_file(cls, file: ModelFile) -> Tagger:
        tags = file.texts("tags")
        groups = words.read_groups(file, "analyses", tags, _is_analysis)
        analyses = tuple(tuple((xpos, feats) for xpos, feats in group) for group in groups)
        features, bits = file.metadata.get("features"), file.entry("bits", list)
        if features not in (FEATURES, CLUSTER_FEATURES):
            raise file.error(f"tagger: features of another version: {str(features)[:80]}")
        clusters = WordClusters.from_file(file) if features == CLUSTER_FEATURES else None
        if features != _features(clusters):
            raise file.error(f"tagger: expected clusters of words, got none; {DAMAGED}")
        if len(bits) != 2:
            raise file.error(f"tagger: expected two sizes of tables, got {len(bits)}")
        upos_bits, morphology_bits = (words.read_bits(file, each) for each in bits)
        upos = _upos_model(tags, upos_bits, clusters).with_weights(file, "upos")
        morphology = _morphology_model(analyses, morphology_bits, clusters).with_weights(file, "morphology")
        return cls(tags, analyses, words.read_lexicon(file), upos, morphology)


def train_tagger(
    columns: Columns,
    dev: Columns | None = None,
    settings: TaggerSettings | None = None,
    *,
    clusters: WordClusters | None = None,
    seed: int = 0,
    threads: int = 1,
    observer: Observer | None = None,
) -> tuple[Tagger, list[dict[str, Any]]]:
    """Train a tagger on a treebank, keep the best epochs by accuracy on dev, and report each epoch."""
    settings = settings or TaggerSettings()
    tags = tuple(tag for tag in used(columns, "upos") if tag != EMPTY_FIELD)
    if not tags:
        raise InputError(f"{columns.source}: expected UPOS to train a tagger, got `_` everywhere")
    lexicon, gold = TagLexicon(columns.native, list(tags)), words.numbers(columns, "upos", tags)
    analyses = words.group_labels(gold, _analyses(columns), len(tags))

    def tags_of(treebank: Columns) -> Ints:
        return words.numbers(treebank, "upos", tags)

    def analyses_of(treebank: Columns) -> Ints:
        return words.label_places(analyses, tags_of(treebank), _analyses(treebank))

    def train(
        stage: str,
        measure: str,
        model: WordModel,
        settings: WordSettings,
        groups_of: Callable[[Columns], Ints],
        labels_of: Callable[[Columns], Ints],
    ) -> tuple[WordModel, list[dict[str, Any]]]:
        """Train on `columns`; `measure` names the share of words with the right label on dev."""
        batch = model.encode(columns, lexicon, groups_of(columns), labels_of(columns), gold)
        judge = None
        if dev is not None:
            right, dev_batch = labels_of(dev), model.encode(dev, lexicon, groups_of(dev))

            def judge(weights: Floats) -> Scores:
                found = model.native.predict(dev_batch, weights, threads)
                return {measure: 100 * float(np.mean(found == right))}

        return model.train(batch, settings, stage, judge, seed, threads, observer)

    upos = _upos_model(tags, settings.upos.bits_for(columns), clusters)
    upos, reports = train("tags", "upos", upos, settings.upos, _one_group, tags_of)
    morphology = _morphology_model(analyses, settings.morphology.bits_for(columns), clusters)
    if morphology.groups.max() == 1:  # UPOS determines XPOS and FEATS
        morphology = replace(morphology, weights=np.zeros(morphology.native.weight_count, np.float32))
        return Tagger(tags, analyses, lexicon, upos, morphology), reports
    plan = ("morphology", "morphology", morphology, settings.morphology)
    morphology, more = train(*plan, lambda treebank: words.known_tags(treebank, tags), analyses_of)
    return Tagger(tags, analyses, lexicon, upos, morphology), reports + more


def _one_group(columns: Columns) -> Ints:
    return np.zeros(columns.words, np.int32)


def _features(clusters: WordClusters | None) -> list[str]:
    return FEATURES if clusters is None else CLUSTER_FEATURES


def _upos_model(tags: tuple[str, ...], bits: int, clusters: WordClusters | None = None) -> WordModel:
    return WordModel.of(_features(clusters)[0], bits, (tags,), transitions=True, clusters=clusters)


def _morphology_model(analyses: Groups[Analysis], bits: int, clusters: WordClusters | None) -> WordModel:
    return WordModel.of(_features(clusters)[1], bits, analyses, clusters=clusters)


def _analyses(columns: Columns) -> list[Analysis]:
    """XPOS and FEATS of each word."""
    return list(zip(*map(columns.texts, ANALYSED), strict=True))


def _is_analysis(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(map(is_field, pair))
