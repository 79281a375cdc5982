"""Train a segmenter on the raw text of a treebank.

Users' texts have more layouts than treebanks: line breaks within sentences, one sentence per line, or lines
without final punctuation. So a segmenter is trained on the text as it is, and again in random layouts. A list
of abbreviations that are rare in the treebank is learned from a copy of the text with some of them put in.
"""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from arbora import _core
from arbora.data.raw_text import RawText, Spaces, Tokens, join_tokens, raw_text, tokens_of
from arbora.errors import MOST_SEED, DataError, InputError, as_utf8
from arbora.interfaces import Epoch
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.words import auto_bits
from arbora.progress import EpochReport, Observer, Scores, Silent
from arbora.settings import Settings, parameter
from arbora.storage.files import read_text
from arbora.types import Longs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arbora.data.columns import Columns

logger = logging.getLogger("arbora")

LAYOUTS = 2
"""Random layouts of the text to learn from."""
INSERTED = 0.005
"""Share of the places between words that get an abbreviation."""
SHORTEST = 5
"""Tokens of the shortest sentence that gets one."""


@dataclass(frozen=True, slots=True)
class SegmenterSettings(Settings):
    """Settings for training a segmenter."""

    epochs: int = parameter(5, "passes over the text", least=1, most=1000)
    rate: float = parameter(0.1, "the step size", above=0.0, most=10.0)
    bits: int | Literal["auto"] = parameter(
        "auto",
        "log2 of the number of weights of each of three classifiers; auto: by the size of the treebank",
        least=8,
        most=24,
    )
    layouts: bool = parameter(True, "also learn from varied layouts of the text")
    abbreviations: str = parameter(
        "", "a file of abbreviations that are followed by more of the sentence, one per line"
    )
    spaces: Spaces = parameter("auto", "spaces: from the treebank or guessed; see `arbora.data.raw_text`")
    seed: int = parameter(1, "random seed", least=0, most=MOST_SEED)


def train_segmenter(
    columns: Columns,
    *,
    dev: Columns | None = None,
    settings: SegmenterSettings | None = None,
    observer: Observer | None = None,
) -> Segmenter:
    """Train a segmenter on a treebank.

    With `dev`, keep the epoch with the best mean of the F1 of words and sentences there. The same input gives
    the same segmenter.
    """
    return train_with_reports(columns, dev, settings or SegmenterSettings(), observer or Silent())[0]


def train_with_reports(
    columns: Columns, dev: Columns | None, settings: SegmenterSettings, observer: Observer
) -> tuple[Segmenter, list[dict[str, Any]]]:
    """Train a segmenter, and report each epoch."""
    tokens = tokens_of(columns, spaces=settings.spaces)
    if not tokens.forms:
        raise DataError("expected a treebank with words to learn from, got none", source=columns.source)
    texts = [join_tokens(tokens)]
    if settings.layouts:
        chance = random.Random(settings.seed)
        texts += [varied(tokens, chance) for _ in range(LAYOUTS)]
    if settings.abbreviations:
        chance = random.Random(settings.seed)
        texts.append(
            varied(with_abbreviations(tokens, read_abbreviations(settings.abbreviations), chance), chance)
        )
    limits: dict[str, Any] = {"shortcut": 2e-4, "least_seen": 50, "least_precision": 0.7}
    bits = settings.bits if isinstance(settings.bits, int) else auto_bits(columns.words)
    options: dict[str, Any] = {"bits": bits, "rate": settings.rate, "seed": settings.seed}
    trainer = _core.SegmenterTrainer(list(map(_native, texts)), **options, **limits)
    gold = None if dev is None else raw_text(dev, spaces=settings.spaces)
    best, quality = None, -1.0
    reports: list[dict[str, Any]] = []
    observer.begin("segmenter", settings.epochs, unit="epoch")
    for epoch in range(1, settings.epochs + 1):
        begun = time.perf_counter()
        loss = trainer.epoch()
        now = Segmenter(_core.SegmenterModel(**trainer.parts()))
        scores = {} if gold is None else score(now, gold)
        shown: Scores = {name: scores[name] for name in ("words", "sentences") if name in scores}
        better = not shown or sum(shown.values()) > quality
        if better:
            best, quality = Segmenter(now.native, scores), sum(shown.values())
        logger.info("segmenter: epoch %d, loss %.4f %s", epoch, loss, scores)
        seconds = time.perf_counter() - begun
        report = EpochReport("segmenter", Epoch(epoch, loss, loss, 1, seconds), shown, better)
        reports.append(report.to_json())
        observer.advance()
        observer.report(report)
    observer.end()
    assert best is not None
    return best, reports


def score(segmenter: Segmenter, gold: RawText) -> dict[str, float]:
    """F1 of `tokens`, `words` (right tokens that are split alike) and `sentences`, in percent; O(length)."""
    found = segmenter.segment(gold.text)
    tokens = tokens_of(found.columns, spaces="given")
    counts = _words_per_token(tokens)
    after = np.cumsum(counts)  # the word after each token
    predicted = _spans(found.starts[after - counts], found.ends[after - 1])
    right = _spans(gold.starts, gold.ends)
    same, ours, theirs = np.intersect1d(predicted, right, assume_unique=True, return_indices=True)
    pairs = zip(ours.tolist(), theirs.tolist(), strict=True)
    words = sum(_same_words(_words(tokens, i), _words(gold.tokens, j)) for i, j in pairs)
    sentences = np.flatnonzero(gold.last)
    begins = np.concatenate([[0], sentences[:-1] + 1]).astype(np.int64)
    right_sentences = _spans(gold.starts[begins], gold.ends[sentences])
    same_sentences = np.intersect1d(_spans(found.sentences[:, 0], found.sentences[:, 1]), right_sentences)
    return {
        "tokens": _f1(same.size, predicted.size, right.size),
        "words": _f1(words, found.columns.words, int(_words_per_token(gold.tokens).sum())),
        "sentences": _f1(same_sentences.size, len(found.columns), right_sentences.size),
    }


def read_abbreviations(path: str) -> list[str]:
    """The lines of a file; InputError if there are none, or one with a space."""
    found = [line.strip() for line in "".join(read_text(path)).splitlines()]
    found = [line for line in found if line]
    wrong = next((line for line in found if len(line.split()) > 1), "" if found else "an empty file")
    if wrong:
        raise InputError(
            f"{path}: expected one abbreviation per line, got {wrong[:80]}", field="abbreviations"
        )
    return found


def with_abbreviations(tokens: Tokens, abbreviations: list[str], chance: random.Random) -> Tokens:
    """The text with abbreviations between some words, and at the beginning of some sentences."""
    forms: list[str] = []
    spaces: list[bool] = []
    offsets = [0]
    words: dict[int, list[str]] = {}
    given = tokens.spaces.tolist()
    for first, last in pairwise(tokens.offsets.tolist()):
        for t in range(first, last):
            fits = last - first >= SHORTEST and (t == first or (given[t - 1] and t + 1 < last))
            if fits and chance.random() < INSERTED:
                chosen = chance.choice(abbreviations)
                forms.append(chosen[0].upper() + chosen[1:] if t == first else chosen)
                spaces.append(True)
            if t in tokens.words:
                words[len(forms)] = tokens.words[t]
            forms.append(tokens.forms[t])
            spaces.append(given[t])
        offsets.append(len(forms))
    made = np.array(offsets, np.int64)
    return Tokens(forms, np.array(spaces, tokens.spaces.dtype), made, tokens.paragraphs, words)


def varied(tokens: Tokens, chance: random.Random) -> RawText:
    """The text in a random layout: as it is, wrapped, or by lines, some without their final full stop."""
    forms: list[str] = []
    after: list[str] = []
    offsets = [0]
    words: dict[int, list[str]] = {}
    spaces = tokens.spaces.tolist()
    style, width, column = "plain", 0, 0
    for s, (first, last) in enumerate(pairwise(tokens.offsets.tolist())):
        if s == 0 or tokens.paragraphs[s] or chance.random() < 0.05:
            style = chance.choice(["plain", "width", "lines", "lines"])
            width = chance.randint(40, 100)
        for t in range(first, last):
            form, space = tokens.forms[t], spaces[t]
            ends = t + 1 == last
            if ends and style == "lines" and form == "." and last - first > 2 and chance.random() < 0.1:
                after[-1] = "\n"
                break
            if t in tokens.words:
                words[len(forms)] = tokens.words[t]
            column += len(form)
            gap = " " if space else ""
            if (style == "lines" and ends) or (style == "width" and space and column >= width):
                gap = "\n"
            column = 0 if gap == "\n" else column + len(gap)
            forms.append(form)
            after.append(gap)
        offsets.append(len(forms))
        if s + 1 < len(tokens.paragraphs) and tokens.paragraphs[s + 1] and after:
            after[-1] = "\n\n"
            column = 0
    made = Tokens(forms, tokens.spaces, np.array(offsets, np.int64), tokens.paragraphs, words)
    return join_tokens(made, after=after)


def _native(raw: RawText) -> tuple[bytes, Longs, Longs, NDArray[np.uint8], dict[int, Any]]:
    words = {token: [list(map(ord, word)) for word in words] for token, words in raw.tokens.words.items()}
    return as_utf8("forms", raw.text), raw.starts, raw.ends, raw.last, words


def _words(tokens: Tokens, token: int) -> list[str]:
    """The words of a token; a token that is a word has the same characters as its counterpart."""
    return tokens.words.get(token, [""])


def _words_per_token(tokens: Tokens) -> Longs:
    return np.array([len(_words(tokens, t)) for t in range(len(tokens.forms))], np.int64)


def _spans(starts: Longs, ends: Longs) -> Longs:
    """One number for each pair; texts are shorter than 2^31 characters."""
    return starts << 31 | ends


def _same_words(ours: list[str], theirs: list[str]) -> int:
    is_split_alike = len(ours) == len(theirs)
    return is_split_alike and sum(a.lower() == b.lower() for a, b in zip(ours, theirs, strict=True))


def _f1(same: int, predicted: int, right: int) -> float:
    return round(200.0 * same / (predicted + right), 3) if predicted + right else 100.0
