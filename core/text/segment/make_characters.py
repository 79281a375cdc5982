"""Writes characters_table.inc: what the segmenter knows of Unicode, from Python's unicodedata.

    python core/text/segment/make_characters.py > core/text/segment/characters_table.inc

Models rest on these classes, so a new table is a new version (kCharacterVersion in symbols.hpp).
Characters that a Unicode version does not know yet are OTHER.
"""

import sys
import unicodedata
from collections.abc import Callable, Iterator

# fmt: off
CLASSES = [
    "space", "newline", "control",
    "upper", "lower", "title", "letter", "ideograph", "hiragana", "katakana", "hangul", "unspaced",
    "digit", "number", "mark", "joiner",
    "stop", "comma", "colon", "mid_stop", "terminator", "hyphen", "dash", "apostrophe", "quote",
    "open", "close", "opening_quote", "closing_quote", "slash", "at", "underscore", "punctuation",
    "currency", "percent", "math", "symbol", "emoji", "regional", "format", "private_use", "other",
]

SINGLE = {
    **dict.fromkeys(".．", "stop"),
    **dict.fromkeys("!?。｡！？؟‼⁇⁈⁉‽…।॥۔።", "terminator"),
    **dict.fromkeys(",،、，", "comma"),
    **dict.fromkeys(";؛·", "mid_stop"),
    ":": "colon",
    **dict.fromkeys("-‐‑", "hyphen"),
    **dict.fromkeys("'’ʼ＇", "apostrophe"),
    **dict.fromkeys('"`´', "quote"),
    **dict.fromkeys("/\\", "slash"),
    "@": "at",
    "_": "underscore",
    **dict.fromkeys("%‰", "percent"),
    "\u200d": "joiner",
    **dict.fromkeys("\u200b\ufeff", "space"),
    **dict.fromkeys("\n\r\x0b\x0c\x85\u2028\u2029", "newline"),
}

BY_CATEGORY = {
    "Lu": "upper", "Ll": "lower", "Lt": "title", "Lm": "letter", "Lo": "letter",
    "Nd": "digit", "Nl": "number", "No": "number", "Mn": "mark", "Mc": "mark", "Me": "mark",
    "Pc": "underscore", "Pd": "dash", "Ps": "open", "Pe": "close",
    "Pi": "opening_quote", "Pf": "closing_quote", "Po": "punctuation",
    "Sc": "currency", "Sm": "math", "Sk": "symbol", "So": "symbol",
    "Zs": "space", "Zl": "newline", "Zp": "newline", "Cc": "control", "Cf": "format", "Co": "private_use",
}

# Letters of scripts that are written without spaces, and others that behave in their own way.
RANGES = [
    (0x3040, 0x309F, "hiragana"), (0x30A0, 0x30FF, "katakana"), (0x31F0, 0x31FF, "katakana"),
    (0xFF66, 0xFF9D, "katakana"), (0x3005, 0x3007, "ideograph"), (0x3400, 0x4DBF, "ideograph"),
    (0x4E00, 0x9FFF, "ideograph"), (0xF900, 0xFAFF, "ideograph"), (0x20000, 0x3FFFD, "ideograph"),
    (0x1100, 0x11FF, "hangul"), (0xAC00, 0xD7FF, "hangul"), (0x3130, 0x318F, "hangul"),
    (0x0E00, 0x0EFF, "unspaced"), (0x1000, 0x109F, "unspaced"), (0x1780, 0x17FF, "unspaced"),
]

EMOJI = [
    (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF), (0x2300, 0x23FF), (0x3030, 0x3030), (0x303D,
    0x303D),
]
# fmt: on


def class_of(code: int) -> str:
    """The class of one character."""
    character = chr(code)
    if character in SINGLE:
        return SINGLE[character]
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "regional"
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return "mark"  # skin tones, flags of regions: part of what they follow
    if (
        0x80 <= code < 0xA0
    ):  # letters of old code pages that were read in the wrong way: part of words, as a rule
        return "format"
    category = unicodedata.category(character)
    if category[0] == "L":
        for first, last, name in RANGES:
            if first <= code <= last:
                return name
    if category in ("So", "Cn") and any(first <= code <= last for first, last in EMOJI):
        return "emoji"
    return BY_CATEGORY.get(category, "other")


def lower_of(code: int) -> int:
    """The lower case of one character where that is one character."""
    lower = chr(code).lower()
    return ord(lower) if len(lower) == 1 else code


def upper_of(code: int) -> int:
    """The upper case of one character where that is one character, and the lower case of that is this one."""
    upper = chr(code).upper()
    return ord(upper) if len(upper) == 1 and lower_of(ord(upper)) == code else code


def runs(value: Callable[[int], object]) -> Iterator[tuple[int, object]]:
    """Where a value changes, and to what."""
    before: object = None
    for code in range(0x110000):
        now = value(code)
        if now != before:
            yield code, now
        before = now


def write_rows(name: str, kind: str, rows: list[str]) -> None:
    """One array."""
    print(f"inline constexpr {kind} {name}[] = {{")
    for at in range(0, len(rows), 10):
        print("    " + " ".join(f"{row}," for row in rows[at : at + 10]))
    print("};\n")


def case_rows(change: Callable[[int], int]) -> list[str]:
    """Runs of characters, every one or every second, whose case lies at one distance."""
    changed = [(code, change(code) - code) for code in range(0x110000) if change(code) != code]
    found: list[list[int]] = []  # first, last, stride, distance
    for code, distance in changed:
        if found and found[-1][3] == distance:
            first, last, stride, _ = found[-1]
            step = code - last
            if step <= 2 and (first == last or step == stride):
                found[-1][1:3] = [code, step]
                continue
        found.append([code, code, 1, distance])
    return ["{" + ", ".join(map(str, row)) + "}" for row in found]


def main() -> None:
    """All tables, to stdout."""
    print(f"// Made by make_characters.py from Unicode {unicodedata.unidata_version}.")
    print(f"enum class CharacterClass : std::uint8_t {{ {', '.join(CLASSES)} }};")
    print(f"inline constexpr int kCharacterClasses = {len(CLASSES)};\n")
    rows = [f"{{{code}, {CLASSES.index(str(name))}}}" for code, name in runs(class_of)]
    write_rows("kClassRuns", "ClassRun", rows)
    write_rows("kLowerRuns", "CaseRun", case_rows(lower_of))
    write_rows("kUpperRuns", "CaseRun", case_rows(upper_of))


if __name__ == "__main__":
    sys.exit(main())
