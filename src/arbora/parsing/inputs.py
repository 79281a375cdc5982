"""Sentences given to a parser: checked, and converted to columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arbora.data.columns import Columns, TextColumn
from arbora.data.sentence import Sentence
from arbora.errors import InputError
from arbora.parsing.parsed import Parsed


def several(given: object) -> Iterable[Any]:
    """Raise InputError if one sentence, a name or nothing was given instead of sentences."""
    if isinstance(given, Iterable) and not isinstance(given, str | Sentence):
        return given
    got = repr(given)[:80] if given is None or isinstance(given, str) else f"one {type(given).__name__}"
    advice = "read a file with arbora.read first" if isinstance(given, str) else "put it in [ ]"
    raise InputError(f"parse: expected a list of sentences, got {got}; {advice}")


def as_sentence(given: Sentence | Sequence[str]) -> Sentence:
    """A sentence, or one made of the given words; InputError for anything else."""
    if isinstance(given, Sentence | Parsed):
        return given if isinstance(given, Sentence) else given.sentence
    if isinstance(given, str):
        raise InputError(
            f"expected a Sentence or a list of words, got the text {given[:80]!r}; for raw text call the "
            "model itself: nlp(text); for one sentence of words put the list in [ ]"
        )
    if not isinstance(given, Iterable) or not all(isinstance(word, str) for word in given):
        raise InputError(f"parse: expected a Sentence or a list of words, got {repr(given)[:80]}")
    return Sentence.from_lists(list(given))


def columns_of_input(sentences: Sequence[Sentence]) -> Columns:
    """Return the columns that a parser reads, as one batch."""
    texts: dict[TextColumn, list[str]] = {"form": [], "lemma": [], "upos": [], "xpos": [], "feats": []}
    offsets = [0]
    for sentence in sentences:
        for whole, own in zip(texts.values(), sentence.columns(), strict=False):
            whole += own
        offsets.append(len(texts["form"]))
    return Columns.from_arrays(offsets, texts, source="<text>")
