"""The lemmatizer: edit scripts, chosen by a classifier.

A script turns a word into its lemma: `cities` to `city` removes three letters and adds a `y`, and so does
`bodies`. Each UPOS has the scripts that it had in training; a classifier chooses one from the word, its
suffixes, its shape, and its tags. Scripts that occurred once are dropped if a tag has others: they are
names and typos.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from arbora._core import TagLexicon, apply_scripts, check_script, edit_script
from arbora.data.columns import Columns
from arbora.data.encode import filled, used
from arbora.data.lemmas import lemma_scripts
from arbora.errors import InputError
from arbora.pipeline import words
from arbora.pipeline.words import Groups, WordModel, WordSettings
from arbora.progress import Observer, Scores
from arbora.storage.model_file import ModelFile
from arbora.types import Floats

FEATURES = "lemma-v1"
LEAST = 2  # occurrences of a script


def default_settings() -> WordSettings:
    """A function, so that no learner is imported where lemmas are only predicted."""
    return WordSettings(parameters={"C": 0.05, "epochs": 6})


@dataclass(frozen=True, eq=False)
class Lemmatizer:
    """Predicts lemmas of tagged words."""

    tags: tuple[str, ...]  # UPOS, the most common first
    scripts: Groups[str]  # of each tag, the most common first
    lexicon: TagLexicon
    model: WordModel

    def lemmatize(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The sentences with predicted lemmas that fit their tags."""
        tags = words.known_tags(columns, self.tags)
        chosen = self.model.predict(columns, self.lexicon, tags, threads)
        scripts, ids = words.flat_labels(self.scripts, tags, chosen)
        return Columns(apply_scripts(columns.native, scripts, ids), columns.source)

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors = words.to_tensors(self.lexicon, quantized=quantized, scripts=self.model)
        names = {"tags": list(self.tags), "scripts": list(map(list, self.scripts))}
        return tensors, {**names, "features": self.model.features, "bits": self.model.bits}

    @classmethod
    def from_file(cls, file: ModelFile) -> Lemmatizer:
        tags = file.texts("tags")
        scripts = tuple(map(tuple, words.read_groups(file, "scripts", tags, _is_script)))
        if file.metadata.get("features") != FEATURES:
            raise file.error("lemmatizer: features of another version, or a damaged file")
        model = WordModel.of(FEATURES, words.read_bits(file, file.metadata.get("bits")), scripts)
        return cls(tags, scripts, words.read_lexicon(file), model.with_weights(file, "scripts"))


def train_lemmatizer(
    columns: Columns,
    dev: Columns | None = None,
    settings: WordSettings | None = None,
    *,
    seed: int = 0,
    threads: int = 1,
    observer: Observer | None = None,
) -> tuple[Lemmatizer, list[dict[str, Any]]]:
    """Train a lemmatizer on a treebank with UPOS and lemmas, keep the best epoch on dev, and report each."""
    if not filled(columns, "lemma"):
        raise InputError(f"{columns.source}: expected LEMMA to train a lemmatizer, got `_` everywhere")
    settings = settings or default_settings()
    tags = used(columns, "upos")
    numbers, labels = words.known_tags(columns, tags), lemma_scripts(columns)
    groups = words.group_labels(numbers, labels, len(tags), LEAST)
    scripts = tuple(group or (edit_script("x", "x"),) for group in groups)
    lexicon = TagLexicon(columns.native, list(tags))
    model = WordModel.of(FEATURES, settings.bits_for(columns), scripts)
    batch = model.encode(columns, lexicon, numbers, words.label_places(scripts, numbers, labels), numbers)
    judge = None
    if dev is not None:

        def judge(weights: Floats) -> Scores:
            lemmatizer = Lemmatizer(tags, scripts, lexicon, replace(model, weights=weights))
            return {"lemmas": words.agreement(lemmatizer.lemmatize(dev, threads=threads), dev, "lemma")}

    trained, reports = model.train(batch, settings, "lemmas", judge, seed, threads, observer)
    return Lemmatizer(tags, scripts, lexicon, trained), reports


def _is_script(text: Any) -> bool:
    """Whether it is a script that makes lemmas that CoNLL-U can hold."""
    if not isinstance(text, str) or set("\n\r") & set(text):
        return False
    with suppress(InputError):
        check_script(text)
        return True
    return False
