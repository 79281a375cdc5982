"""The running text that a treebank was made from, with the place of every token in it.

Tokens follow each other with a space between them, unless MISC says `SpaceAfter=No`; sentences likewise. A
blank line stands before `# newdoc` and `# newpar`. So Universal Dependencies builds the raw texts of its
shared tasks.

Old treebanks do not say where spaces were. There they are guessed: none before closing punctuation, none
after opening punctuation, quotes in pairs, and none between letters of scripts that do without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from arbora.data.columns import COMMENT, MULTIWORD, Columns
from arbora.errors import InputError
from arbora.types import Bools, Longs

if TYPE_CHECKING:
    from numpy.typing import NDArray

Spaces = Literal["auto", "given", "guessed"]

_NO_SPACE = "SpaceAfter=No"
_BEFORE_NOTHING = frozenset(".,;:!?…)]}»”’%،؛؟。、，．：；！？）］｝」』】〉》")
_AFTER_NOTHING = frozenset("([{«“‘¿¡（［｛「『【〈《")
_STRAIGHT = frozenset("\"'`")
_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0x31F0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFD)),
)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The surface tokens of a treebank: what is written, without multiword tokens' words."""

    forms: list[str]
    spaces: Bools
    """Shape (T,): whether a space follows."""
    offsets: Longs
    """Shape (S+1,): where each sentence's tokens start, and T."""
    paragraphs: Bools
    """Shape (S,): whether a paragraph begins with the sentence."""
    words: dict[int, list[str]]
    """Of multiword tokens: the words."""


@dataclass(frozen=True, slots=True)
class RawText:
    """Running text; token t is `text[starts[t]:ends[t]]`."""

    text: str
    starts: Longs
    ends: Longs
    last: NDArray[np.uint8]
    """Shape (T,): 1 where a sentence ends."""
    tokens: Tokens


def tokens_of(columns: Columns, *, spaces: Spaces = "auto") -> Tokens:
    """The tokens of a treebank and the spaces between them; O(W).

    `spaces`: as given in MISC; guessed; or "auto": guessed where there is no `SpaceAfter=No` and no `# text`.
    """
    if spaces not in get_args(Spaces):
        raise InputError(f"spaces: expected {' or '.join(get_args(Spaces))}, got {spaces!r}")
    forms = _texts(columns, "form")
    glued_by_misc = [_NO_SPACE in misc.split("|") for misc in columns.strings("misc")]
    glued = [glued_by_misc[number] for number in columns.ids("misc").tolist()]
    ranges, paragraphs, has_text = _extras(columns)
    found: list[str] = []
    spaced: list[bool] = []
    words: dict[int, list[str]] = {}
    offsets = [0]
    for s, (first, last) in enumerate(pairwise(columns.offsets.tolist())):
        w = first
        for begin, end, form, no_space in ranges.get(s, ()):
            found += forms[w : first + begin]
            spaced += (not each for each in glued[w : first + begin])
            words[len(found)] = forms[first + begin : first + end]
            found.append(form)
            spaced.append(not no_space)
            w = first + end
        found += forms[w:last]
        spaced += (not each for each in glued[w:last])
        offsets.append(len(found))
    if spaces == "guessed" or (spaces == "auto" and all(spaced) and not has_text):
        spaced = _guessed(found, offsets)
    return Tokens(
        found,
        np.array(spaced, np.bool_),
        np.array(offsets, np.int64),
        np.array(paragraphs, np.bool_),
        words,
    )


def join_tokens(tokens: Tokens, *, after: list[str] | None = None) -> RawText:
    """The text of tokens, with what `after` says behind each: "", " " or line ends. O(length)."""
    after = _gaps(tokens) if after is None else after
    if len(after) != len(tokens.forms):
        raise InputError(f"after: expected {len(tokens.forms)} texts, got {len(after)}")
    last = np.zeros(len(tokens.forms), np.uint8)
    last[tokens.offsets[1:][np.diff(tokens.offsets) > 0] - 1] = 1
    forms = np.fromiter(map(len, tokens.forms), np.int64, len(tokens.forms))
    gaps = np.fromiter(map(len, after), np.int64, len(after))
    ends = np.cumsum(forms + gaps) - gaps
    text = "".join([part for pair in zip(tokens.forms, after, strict=True) for part in pair])
    return RawText(text, ends - forms, ends, last, tokens)


def _gaps(tokens: Tokens) -> list[str]:
    """What stands after each token: as the treebank has it; nothing after the last."""
    after = [" " if space else "" for space in tokens.spaces.tolist()]
    for end, begins in zip(tokens.offsets[1:-1].tolist(), tokens.paragraphs[1:].tolist(), strict=True):
        if end and begins:
            after[end - 1] = "\n\n"
    if after:
        after[-1] = ""
    return after


def raw_text(columns: Columns, *, spaces: Spaces = "auto") -> RawText:
    """The running text of a treebank, the way Universal Dependencies builds it. O(W)."""
    return join_tokens(tokens_of(columns, spaces=spaces))


def _texts(columns: Columns, column: Literal["form", "misc"]) -> list[str]:
    return list(map(columns.strings(column).__getitem__, columns.ids(column).tolist()))


Range = tuple[int, int, str, bool]


def _extras(columns: Columns) -> tuple[dict[int, list[Range]], list[bool], bool]:
    """By sentence: multiword tokens (first word, behind the last, form, no space); does a paragraph begin?

    At last, whether any sentence has a `# text`.
    """
    native = columns.native
    kinds, texts = native.extra_kinds.tolist(), native.extra_texts()
    ranges: dict[int, list[Range]] = {}
    paragraphs: list[bool] = []
    has_text = False
    for s, (first, last) in enumerate(pairwise(native.extra_offsets.tolist())):
        paragraph = False
        for kind, text in zip(kinds[first:last], texts[first:last], strict=True):
            if kind == COMMENT:
                name = text[1:].lstrip()
                paragraph = paragraph or name.startswith(("newpar", "newdoc"))
                has_text = has_text or name.startswith("text ")
            elif kind == MULTIWORD:
                number, form, *_, misc = text.split("\t")
                begin, _, end = number.partition("-")
                no_space = _NO_SPACE in misc.split("|")
                ranges.setdefault(s, []).append((int(begin) - 1, int(end), form, no_space))
        paragraphs.append(paragraph)
    return ranges, paragraphs, has_text


def _guessed(forms: list[str], offsets: list[int]) -> list[bool]:
    """Whether a space follows each token, by what its and the next one's characters are."""
    spaced: list[bool] = []
    for first, last in pairwise(offsets):
        open_quotes: set[str] = set()
        for t in range(first, last):
            form, after = forms[t], forms[t + 1] if t + 1 < last else ""
            opens = False
            if form in _STRAIGHT:
                opens = form not in open_quotes
                open_quotes ^= {form}
            spaced.append(not (opens or form in _AFTER_NOTHING or _leans(form, after, open_quotes)))
    # Sentences are told apart by a space as well, unless the script has none.
    for end in offsets[1:-1]:
        if end and end < len(forms):
            spaced[end - 1] = not (_unspaced(forms[end - 1][-1]) and _unspaced(forms[end][0]))
    return spaced


def _leans(form: str, after: str, open_quotes: set[str]) -> bool:
    """Whether the next token stands right behind this one."""
    if not after:
        return False
    closes = after in open_quotes or all(c in _BEFORE_NOTHING for c in after)
    return closes or (_unspaced(form[-1]) and _unspaced(after[0]))


def _unspaced(character: str) -> bool:
    code = ord(character)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _UNSPACED)
