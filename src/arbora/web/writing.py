"""Text on screens and pages: grapheme clusters, widths, direction and escaping.

wcwidth knows grapheme clusters and their widths in terminal cells. Widths on pages, in ems (the size of the
font), are estimates without a font, rather too wide than too narrow; no library has these.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["ltr", "rtl"]

EMOJI_STYLE = "\ufe0f"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
HANGUL_TAILS = range(0x1160, 0x1200)
LONGEST_CLUSTER = 32
INVISIBLE = frozenset({"Mn", "Me", "Cf"})
RIGHT_TO_LEFT = frozenset({"R", "AL"})

# Control characters, surrogates, line breaks and direction changes could harm a terminal.
UNSAFE = frozenset({"Cc", "Cs", "Cn", "Co", "Zl", "Zp"})
DIRECTION_CHANGES = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x2070))))

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
    """Split text into grapheme clusters; excessive combining marks are cut off into further ones."""
    if text.isascii():
        yield from text
        return
    import wcwidth  # takes long to import, and plain text does not need it

    for cluster in wcwidth.iter_graphemes(text):
        for start in range(0, len(cluster), LONGEST_CLUSTER):
            yield cluster[start : start + LONGEST_CLUSTER]


def cells(text: str) -> int:
    """Width in terminal cells."""
    if text.isascii() and text.isprintable():
        return len(text)
    import wcwidth

    return sum(map(wcwidth.width, clusters(text)))


def ems(text: str) -> float:
    """Width on a page in a sans-serif font, in units of the font size."""
    return sum(map(_cluster_ems, clusters(text)))


def _cluster_ems(cluster: str) -> float:
    first, rest = cluster[0], cluster[1:]
    is_wide = unicodedata.east_asian_width(first) == "W"
    is_symbol = unicodedata.category(first) == "So" and ord(first) > 0x3300 and is_wide
    if is_symbol or (rest and (EMOJI_STYLE in rest or ord(first) in FLAG_LETTERS)):
        return EMOJI_EMS
    return _character_ems(first) + sum(_character_ems(c) for c in rest if ord(c) not in HANGUL_TAILS)


def _character_ems(character: str) -> float:
    if (known := ASCII_EMS.get(character)) is not None:
        return known
    category, code = unicodedata.category(character), ord(character)
    if category in INVISIBLE:
        return 0.0
    if category == "Mc":
        return SPACING_MARK_EMS
    if unicodedata.east_asian_width(character) in "WF":
        return WIDE_EMS
    for script, width in SCRIPT_EMS:
        if code in script:
            return width
    base = unicodedata.normalize("NFD", character)[0]
    return ASCII_EMS.get(base, OTHER_EMS)


def direction_of(texts: Iterable[str]) -> Direction:
    """The direction of most characters; left to right if none has a direction."""
    kinds = [unicodedata.bidirectional(character) for text in texts for character in text]
    return "rtl" if sum(kind in RIGHT_TO_LEFT for kind in kinds) > kinds.count("L") else "ltr"


def runs_right_to_left(text: str) -> bool:
    """Whether any character runs from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(c) in RIGHT_TO_LEFT for c in text)


def safe_in_terminal(text: str) -> str:
    """Replace characters that could harm a terminal by escapes such as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(c) in UNSAFE or c in DIRECTION_CHANGES
        else c
        for c in text
    )


def safe_in_xml(text: str) -> str:
    """Escape text for XML and HTML content and attributes.

    Control characters become their pictures (U+001B is ␛); other forbidden ones the replacement character.
    """
    return html.escape(text if text.isascii() and text.isprintable() else "".join(map(_pictured, text)))


def _pictured(character: str) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + min(code, 0x21))
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    is_control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    return "\ufffd" if is_control or is_noncharacter else character


def clipped(text: str, most: int) -> str:
    """Keep at most `most` clusters; an ellipsis replaces the rest."""
    if len(text) <= most:
        return text
    pieces = list(islice(clusters(text), most + 1))
    return text if len(pieces) <= most else "".join(pieces[: most - 1]) + "…"
