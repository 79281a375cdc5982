"""Text on screens and pages: clusters, widths, direction, and what may not be shown as it is.

A cluster is what a reader takes for one character: a base with its marks, an emoji sequence joined by
U+200D, a flag of two letters, a Hangul syllable in parts. Widths are estimates without any font: in cells
for terminals, in ems (the font's size) for pages, there rather too wide than too narrow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["ltr", "rtl"]

JOINER, EMOJI_STYLE = "\u200d", "\ufe0f"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
HANGUL_LEADS, HANGUL_TAILS = range(0x1100, 0x1160), range(0x1160, 0x1200)
LONGEST_CLUSTER = 32
INVISIBLE = frozenset({"Mn", "Me", "Cf"})

# Control characters, surrogates and line breaks could do anything to a terminal; so could text
# that changes its direction.
UNSAFE = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
DIRECTION_CHANGES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
DEPRECATED_FORMATS = frozenset(map(chr, range(0x206A, 0x2070)))

# Ems of ASCII in common sans-serif fonts, by class.
ASCII_EMS = {
    character: ems
    for ems, characters in (
        (0.29, " .,:;'|!ijl`"),
        (0.37, "I()[]{}ft-/\\"),
        (0.43, 'r"*^J'),
        (0.52, "csvxyzkLE?F"),
        (0.60, "abdeghnopqu0123456789_$#+<=>~STBPXYZKR"),
        (0.70, "ACVUHDNG&"),
        (0.79, "wOQ"),
        (0.93, "mMW%@"),
    )
    for character in characters
}
WIDE_EMS, EMOJI_EMS, SPACING_MARK_EMS = 1.0, 1.35, 0.45
# Where most letters of a script are alike.
SCRIPT_EMS = (
    (range(0x0370, 0x0400), 0.62),  # Greek
    (range(0x0400, 0x0530), 0.66),  # Cyrillic
    (range(0x0530, 0x0590), 0.72),  # Armenian
    (range(0x0590, 0x0600), 0.60),  # Hebrew
    (range(0x0600, 0x0900), 0.58),  # Arabic, Syriac
    (range(0x0900, 0x0B80), 0.70),  # scripts of northern India
    (range(0x0B80, 0x0E00), 0.95),  # of southern India and Sri Lanka
    (range(0x0E00, 0x0F00), 0.60),  # Thai, Lao
    (range(0x1000, 0x10A0), 0.95),  # Myanmar
)
OTHER_EMS = 0.72


def clusters(text: str) -> Iterator[str]:
    """The text in pieces that are never to be torn apart."""
    cluster = ""
    for character in text:
        if cluster and len(cluster) < LONGEST_CLUSTER and _joins(cluster, character):
            cluster += character
        else:
            if cluster:
                yield cluster
            cluster = character
    if cluster:
        yield cluster


def _joins(cluster: str, character: str) -> bool:
    code = ord(character)
    if code < 0x300:
        return False
    last = cluster[-1]
    if last == JOINER:
        return unicodedata.category(character) == "So" or code in SKIN_TONES
    if code in SKIN_TONES:
        return unicodedata.category(cluster[0]) == "So"
    if code in FLAG_LETTERS:
        return len(cluster) == 1 and ord(last) in FLAG_LETTERS
    if code in HANGUL_TAILS:
        return ord(last) in HANGUL_LEADS or ord(last) in HANGUL_TAILS
    return unicodedata.category(character) in INVISIBLE or unicodedata.category(character) == "Mc"


def cells(text: str) -> int:
    """Width in a terminal: wide East Asian characters and emoji take two cells, combining marks none."""
    return sum(map(_cluster_cells, clusters(text)))


def _cluster_cells(cluster: str) -> int:
    if len(cluster) == 1:
        return _character_cells(cluster)
    if _is_emoji(cluster):
        return 2
    spacing = sum(unicodedata.category(mark) == "Mc" for mark in cluster[1:])
    return _character_cells(cluster[0]) + spacing


def _character_cells(character: str) -> int:
    if unicodedata.category(character) in INVISIBLE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _is_emoji(cluster: str) -> bool:
    """Whether it is shown as a picture: by itself, or since it is a flag or asks to be."""
    if len(cluster) > 1 and (EMOJI_STYLE in cluster or ord(cluster[0]) in FLAG_LETTERS):
        return True
    is_symbol = unicodedata.category(cluster[0]) == "So" and ord(cluster[0]) > 0x3300
    return is_symbol and unicodedata.east_asian_width(cluster[0]) == "W"


def ems(text: str) -> float:
    """Width on a page in a sans-serif font, in units of the font's size."""
    return sum(map(_cluster_ems, clusters(text)))


def _cluster_ems(cluster: str) -> float:
    if _is_emoji(cluster):
        return EMOJI_EMS
    width = _character_ems(cluster[0])
    return width + SPACING_MARK_EMS * sum(unicodedata.category(mark) == "Mc" for mark in cluster[1:])


def _character_ems(character: str) -> float:
    known = ASCII_EMS.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) in INVISIBLE:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return WIDE_EMS
    code = ord(character)
    for script, width in SCRIPT_EMS:
        if code in script:
            return width
    base = unicodedata.normalize("NFD", character)[0]
    return ASCII_EMS.get(base, OTHER_EMS)


def direction_of(texts: Iterable[str]) -> Direction:
    """Which way most of the characters that have a direction run; left to right if none has."""
    right_to_left = left_to_right = 0
    for text in texts:
        for character in text:
            kind = unicodedata.bidirectional(character)
            right_to_left += kind in ("R", "AL")
            left_to_right += kind == "L"
    return "rtl" if right_to_left > left_to_right else "ltr"


def runs_right_to_left(text: str) -> bool:
    """Whether any of it does."""
    return any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)


def safe_in_terminal(text: str) -> str:
    """The text, with escapes such as `\\x1b` in place of what could harm a terminal."""
    return text if text.isascii() and text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    harmful = (
        unicodedata.category(character) in UNSAFE
        or character in DIRECTION_CHANGES
        or character in DEPRECATED_FORMATS
    )
    return character.encode("unicode_escape", "surrogatepass").decode("ascii") if harmful else character


def safe_in_xml(text: str) -> str:
    """The text as XML and HTML content or attribute: markup is escaped, what XML forbids is shown as a sign.

    Control characters become their pictures (U+001B is ␛); what has none is the replacement character.
    """
    shown = text if text.isascii() and text.isprintable() else "".join(map(_pictured, text))
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        shown = shown.replace(character, entity)
    return shown


def _pictured(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    is_control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    return "\ufffd" if is_control or is_noncharacter else character


def clipped(text: str, most: int) -> str:
    """At most so many clusters, the last an ellipsis where some are left out."""
    if len(text) <= most:
        return text
    pieces: list[str] = []
    for cluster in clusters(text):
        if len(pieces) == most:
            return "".join(pieces[:-1]) + "…"
        pieces.append(cluster)
    return text
