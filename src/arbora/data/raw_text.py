"""The running text of a treebank, with the position of every token; and plain text as sentences.

A space follows each token unless MISC says `SpaceAfter=No`. A blank line precedes `# newdoc` and `# newpar`.
The raw texts of the Universal Dependencies shared tasks are built the same way.

For old treebanks, which do not record spaces, they are guessed: none before closing punctuation, none after
opening punctuation, quotes in pairs, and none between letters of scripts that are written without spaces.
`split_plainly` goes the other way by rules, for languages without a trained segmenter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import COMMENT, Columns
from arbora.data.sentence import Sentence
from arbora.errors import InputError, require_known
from arbora.types import Bools, Longs

Spaces = Literal["auto", "given", "guessed"]

_NO_SPACE = "SpaceAfter=No"
_NO_SPACE_BEFORE = frozenset(".,;:!?…)]}»”’%،؛؟。、，．：；！？）］｝」』】〉》")
_NO_SPACE_AFTER = frozenset("([{«“‘¿¡（［｛「『【〈《")
_SENTENCE_ENDS = frozenset(".!?…。！？؟।")
_STRAIGHT_QUOTES = frozenset("\"'`")
_UNSPACED_SCRIPTS = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0x31F0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFD)),
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The surface tokens of a treebank: multiword tokens, and the words outside of them."""

    forms: list[str]
    spaces: Bools  # shape (T,): whether a space follows
    offsets: Longs  # shape (S+1,): start of each sentence's tokens, and T
    paragraphs: Bools  # shape (S,): whether the sentence starts a paragraph
    words: dict[int, list[str]]  # the words of each multiword token, by token


@dataclass(frozen=True, slots=True)
class RawText:
    """Running text; token t is `text[starts[t]:ends[t]]`."""

    text: str
    starts: Longs
    ends: Longs
    last: NDArray[np.uint8]  # shape (T,): 1 for the last token of a sentence
    tokens: Tokens


def tokens_of(columns: Columns, *, spaces: Spaces = "auto") -> Tokens:
    """Return the tokens of a treebank and the spaces between them; O(W).

    `spaces`: "given" in MISC; "guessed"; or "auto": guessed if there is no `SpaceAfter=No` and no `# text`.
    """
    require_known("spaces", spaces, get_args(Spaces))
    forms = columns.texts("form")
    space_after = [_NO_SPACE not in misc.split("|") for misc in columns.strings("misc")]
    word_spaced = [space_after[number] for number in columns.ids("misc").tolist()]
    tokens: list[str] = []
    spaced: list[bool] = []
    words: dict[int, list[str]] = {}
    offsets, paragraphs, has_text = [0], [], False
    for (first, last), (comments, ranges, _) in zip(
        pairwise(columns.offsets.tolist()), columns.extras(), strict=True
    ):
        names = [comment[1:].lstrip() for comment in comments]
        paragraphs.append(any(name.startswith(("newpar", "newdoc")) for name in names))
        has_text = has_text or any(name.startswith("text ") for name in names)
        w = first
        for token in ranges:
            begin, end = first + token.first - 1, first + token.last
            words[len(tokens) + begin - w] = forms[begin:end]
            tokens += [*forms[w:begin], token.form]
            spaced += [*word_spaced[w:begin], _NO_SPACE not in token.misc.split("|")]
            w = end
        tokens += forms[w:last]
        spaced += word_spaced[w:last]
        offsets.append(len(tokens))
    if spaces == "guessed" or (spaces == "auto" and all(spaced) and not has_text):
        spaced = _guess_spaces(tokens, offsets)
    starts = np.array(offsets, np.int64)
    return Tokens(tokens, np.array(spaced, np.bool_), starts, np.array(paragraphs, np.bool_), words)


def has_attached_words(columns: Columns) -> bool:
    """Whether a treebank marks words that no space follows."""
    return any(_NO_SPACE in misc for misc in columns.strings("misc"))


def has_text(columns: Columns) -> bool:
    """Whether a treebank says where there is no space between words."""
    if has_attached_words(columns):
        return True
    native = columns.native
    kinds = native.extra_kinds.tolist()
    return any(
        kind == COMMENT and text.replace(" ", "").startswith("#text=")
        for kind, text in zip(kinds, native.extra_texts(), strict=True)
    )


def join_tokens(tokens: Tokens, *, after: list[str] | None = None) -> RawText:
    """Join tokens to text; `after` is the text after each: "", " " or line breaks. O(length)."""
    if after is None:
        after = [" " if space else "" for space in tokens.spaces.tolist()]
        for end, starts in zip(tokens.offsets[1:-1].tolist(), tokens.paragraphs[1:].tolist(), strict=True):
            if end and starts:
                after[end - 1] = "\n\n"
        if after:
            after[-1] = ""
    if len(after) != len(tokens.forms):
        raise InputError(f"after: expected {len(tokens.forms)} texts, got {len(after)}")
    last = np.zeros(len(tokens.forms), np.uint8)
    last[tokens.offsets[1:][np.diff(tokens.offsets) > 0] - 1] = 1
    forms = np.fromiter(map(len, tokens.forms), np.int64, len(tokens.forms))
    gaps = np.fromiter(map(len, after), np.int64, len(after))
    ends = np.cumsum(forms + gaps) - gaps
    text = "".join([part for pair in zip(tokens.forms, after, strict=True) for part in pair])
    return RawText(text, ends - forms, ends, last, tokens)


def raw_text(columns: Columns, *, spaces: Spaces = "auto") -> RawText:
    """Return the running text of a treebank, as Universal Dependencies builds it. O(W)."""
    return join_tokens(tokens_of(columns, spaces=spaces))


def _guess_spaces(forms: list[str], offsets: list[int]) -> list[bool]:
    spaced: list[bool] = []
    for first, last in pairwise(offsets):
        open_quotes: set[str] = set()
        for t in range(first, last):
            form, after = forms[t], forms[t + 1] if t + 1 < last else ""
            opens = form in _NO_SPACE_AFTER or (form in _STRAIGHT_QUOTES and form not in open_quotes)
            open_quotes ^= {form} & _STRAIGHT_QUOTES
            closes = after and (after in open_quotes or all(c in _NO_SPACE_BEFORE for c in after))
            spaced.append(not (opens or closes or _are_unspaced(form, after)))
    # A space separates sentences, too, unless the script has none.
    for end in offsets[1:-1]:
        if end and end < len(forms):
            spaced[end - 1] = not _are_unspaced(forms[end - 1], forms[end])
    return spaced


def _are_unspaced(form: str, after: str) -> bool:
    codes = [ord(character) for character in form[-1:] + after[:1]]
    return len(codes) == 2 and all(
        any(first <= code <= last for first, last in _UNSPACED_SCRIPTS) for code in codes
    )


def split_plainly(text: str) -> Iterator[Sentence]:
    """Split at spaces and around punctuation; sentences end at line breaks and sentence-final marks."""
    for line in text.splitlines():
        forms: list[str] = []
        spaces: list[bool] = []
        for chunk in line.split():
            pieces = _pieces(chunk)
            forms += pieces
            spaces += [*[False] * (len(pieces) - 1), True]
            if pieces[-1] in _SENTENCE_ENDS:
                yield _sentence(forms, spaces)
                forms, spaces = [], []
        if forms:
            yield _sentence(forms, spaces)


def _pieces(chunk: str) -> list[str]:
    marks = "".join(c for c in chunk if unicodedata.category(c)[0] == "P")
    word = chunk.strip(marks)
    start = len(chunk) - len(chunk.lstrip(marks))
    return [*chunk[:start], *([word] if word else []), *chunk[start + len(word) :]]


def _sentence(forms: Sequence[str], spaces: Sequence[bool]) -> Sentence:
    misc = [None if space else "SpaceAfter=No" for space in spaces]
    text = "".join(form + " " * space for form, space in zip(forms, spaces, strict=True)).rstrip(" ")
    return Sentence.from_lists(forms, misc=misc, comments=[f"text = {text}"])
