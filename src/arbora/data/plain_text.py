"""Rule-based words and sentences, for languages without a trained segmenter."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from arbora.data.sentence import Sentence

ENDS = frozenset(".!?…。！？؟।")


def split_plainly(text: str) -> Iterator[Sentence]:
    """Split at spaces and around punctuation; sentences end at line breaks and sentence-final marks."""
    for line in text.splitlines():
        forms: list[str] = []
        spaces: list[bool] = []
        for chunk in line.split():
            pieces = _pieces(chunk)
            forms += pieces
            spaces += [*[False] * (len(pieces) - 1), True]
            if pieces[-1] in ENDS:
                yield _sentence(forms, spaces)
                forms, spaces = [], []
        if forms:
            yield _sentence(forms, spaces)


def _pieces(chunk: str) -> list[str]:
    start, end = 0, len(chunk)
    while start < end and unicodedata.category(chunk[start]).startswith("P"):
        start += 1
    while end > start and unicodedata.category(chunk[end - 1]).startswith("P"):
        end -= 1
    word = [chunk[start:end]] if start < end else []
    return [*chunk[:start], *word, *chunk[end:]]


def _sentence(forms: Sequence[str], spaces: Sequence[bool]) -> Sentence:
    misc = [None if space else "SpaceAfter=No" for space in spaces]
    text = "".join(form + " " * space for form, space in zip(forms, spaces, strict=True)).rstrip(" ")
    return Sentence.from_lists(forms, misc=misc, comments=[f"text = {text}"])
