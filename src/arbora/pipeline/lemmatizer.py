"""The lemmatizer: edit scripts, chosen by a classifier.

A script says how a word becomes its lemma: `cities` to `city` takes three letters off and puts a `y` there,
and so does `bodies`. Each UPOS has the scripts that it had in training; which one fits is learned from the
word, its ends, its shape, and its tags. Scripts that occurred once are left out, where a tag has others: they
are names and slips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import TagLexicon, apply_scripts, check_script, edit_script
from arbora.data.columns import Columns
from arbora.data.encode import NOTHING, filled, used
from arbora.errors import InputError, ModelError
from arbora.pipeline.words import (
    Tensors,
    WordModel,
    WordSettings,
    group_starts,
    known_tags,
    lexicon_tensors,
    read_lexicon,
    read_texts,
    read_weights,
    train_words,
)
from arbora.progress import Observer, Scores, Silent
from arbora.types import Floats, Ints

FEATURES = "lemma-v1"
LEAST = 2  # Occurrences of a script
SETTINGS = WordSettings(parameters={"C": 0.05, "epochs": 6})


@dataclass(frozen=True, eq=False)
class Lemmatizer:
    """Gives tagged words their lemmas."""

    tags: tuple[str, ...]  # UPOS, the most common first
    scripts: tuple[tuple[str, ...], ...]  # Those of each tag, the most common first
    lexicon: TagLexicon
    model: WordModel

    def lemmatize(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The same sentences with lemmas that fit their tags; all else stays."""
        tags = known_tags(columns, self.tags)
        chosen = self.model.predict(columns, self.lexicon, tags, threads)
        flat = [script for group in self.scripts for script in group]
        return Columns(
            apply_scripts(columns.native, flat, chosen + group_starts(self.scripts)[tags]), columns.source
        )

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        tensors = {**lexicon_tensors(self.lexicon), **self.model.to_tensors("scripts", quantized=quantized)}
        metadata = {
            "tags": list(self.tags),
            "scripts": list(map(list, self.scripts)),
            "features": self.model.features,
            "bits": self.model.bits,
        }
        return tensors, metadata

    @classmethod
    def from_parts(cls, tensors: Tensors, metadata: Mapping[str, Any], source: str) -> Lemmatizer:
        tags = read_texts(metadata, "tags", source)
        scripts = _read_scripts(metadata.get("scripts"), len(tags), source)
        bits = metadata.get("bits")
        if metadata.get("features") != FEATURES or type(bits) is not int or not 8 <= bits <= 26:
            raise ModelError("lemmatizer: features of another version, or a damaged file", source=source)
        model = _model(scripts, bits)
        weights = read_weights(tensors, "scripts", model, source)
        return cls(tags, scripts, read_lexicon(tensors, source), replace(model, weights=weights))


def train_lemmatizer(
    columns: Columns,
    dev: Columns | None = None,
    settings: WordSettings = SETTINGS,
    *,
    seed: int = 0,
    threads: int = 1,
    observer: Observer | None = None,
) -> tuple[Lemmatizer, list[dict[str, Any]]]:
    """A lemmatizer of a treebank with UPOS and lemmas, its best epoch on dev; and a report of each."""
    if not filled(columns, "lemma"):
        raise InputError(f"{columns.source}: LEMMA is `_` everywhere; a lemmatizer has nothing to learn from")
    tags = used(columns, "upos")
    numbers = known_tags(columns, tags)
    scripts, gold = _scripts_of(columns, numbers, len(tags))
    lexicon = TagLexicon(columns.native, list(tags))
    model = _model(scripts, settings.bits_for(columns))
    batch = model.encode(columns, lexicon, numbers, gold, numbers)
    judge = None
    if dev is not None:
        right = _texts(dev, "lemma")

        def judge(weights: Floats) -> Scores:
            found = Lemmatizer(tags, scripts, lexicon, replace(model, weights=weights)).lemmatize(
                dev, threads=threads
            )
            return {
                "lemmas": 100
                * float(np.mean([a == b for a, b in zip(_texts(found, "lemma"), right, strict=True)]))
            }

    weights, reports = train_words(
        model,
        batch,
        settings,
        stage="lemmas",
        judge=judge,
        seed=seed,
        threads=threads,
        observer=observer or Silent(),
    )
    return Lemmatizer(tags, scripts, lexicon, replace(model, weights=weights)), reports


def _model(scripts: tuple[tuple[str, ...], ...], bits: int) -> WordModel:
    groups = np.array([len(group) for group in scripts], np.int32)
    return WordModel(FEATURES, bits, groups, False, np.empty(0, np.float32))


def _texts(columns: Columns, column: Any) -> list[str]:
    return list(map(columns.strings(column).__getitem__, columns.ids(column).tolist()))


def _scripts_of(columns: Columns, tags: Ints, count: int) -> tuple[tuple[tuple[str, ...], ...], Ints]:
    """The scripts of each tag, the most common first, and each word's number among them, -1 for none."""
    forms, lemmas = columns.strings("form"), columns.strings("lemma")
    known: dict[tuple[int, int], str | None] = {}
    found: list[tuple[int, str | None]] = []
    counts: list[dict[str, int]] = [{} for _ in range(count)]
    for tag, form, lemma in zip(
        tags.tolist(), columns.ids("form").tolist(), columns.ids("lemma").tolist(), strict=True
    ):
        if (form, lemma) not in known:
            is_given = lemmas[lemma] != NOTHING or forms[form] == NOTHING
            known[form, lemma] = edit_script(forms[form], lemmas[lemma]) if is_given else None
        script = known[form, lemma]
        found.append((tag, script))
        if script is not None:
            counts[tag][script] = counts[tag].get(script, 0) + 1
    groups = []
    for group in counts:
        order = sorted(group, key=lambda script: (-group[script], script))
        kept = [script for script in order if group[script] >= LEAST]
        groups.append(tuple(kept or order or [edit_script("x", "x")]))
    places = [{script: place for place, script in enumerate(group)} for group in groups]
    gold = [-1 if script is None else places[tag].get(script, -1) for tag, script in found]
    return tuple(groups), np.array(gold, np.int32)


def _read_scripts(found: Any, count: int, source: str) -> tuple[tuple[str, ...], ...]:
    if (
        not isinstance(found, list)
        or len(found) != count
        or not all(isinstance(group, list) and group and all(map(_is_script, group)) for group in found)
    ):
        raise ModelError(
            "lemmatizer: expected scripts of each tag, got others; the file is damaged", source=source
        )
    return tuple(map(tuple, found))


def _is_script(text: Any) -> bool:
    """Whether it is one, and makes lemmas that a line of a treebank can hold."""
    if not isinstance(text, str) or any(c in text for c in "\n\r"):
        return False
    try:
        check_script(text)
    except InputError:
        return False
    return True
