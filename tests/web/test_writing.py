import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbora.web.writing import cells, clipped, clusters, direction_of, ems, safe_in_terminal, safe_in_xml

FAMILY, FLAG, HEART, THUMB = "👩‍👩‍👧‍👦", "🇩🇰", "❤️", "👍🏽"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("日本語", 6),
        ("ｱ", 1),
        ("Ａ", 2),
        ("e\u0301", 1),
        (FAMILY, 2),
        (FLAG, 2),
        (FLAG * 2, 4),
        (HEART, 2),
        (THUMB, 2),
        ("\u1112\u1161\u11ab", 2),
        ("שָׁלוֹם", 4),
        ("a\u200bb", 2),
    ],
)
def test_cells(text, width):
    assert cells(text) == width


def test_clusters_stay_whole():
    text = f"a{FAMILY}e\u0301{FLAG}{FLAG}{THUMB}{HEART}\u1112\u1161\u11abz"
    assert list(clusters(text)) == [
        *("a", FAMILY, "e\u0301", FLAG, FLAG, THUMB, HEART, "\u1112\u1161\u11ab", "z"),
    ]
    assert clipped(FAMILY * 5, 3) == FAMILY * 2 + "…"
    assert clipped("abc", 3) == "abc"
    assert max(map(len, clusters("a" + "\u0301" * 1000))) <= 32


@given(st.text())
def test_clusters_join_to_the_text(text):
    assert "".join(clusters(text)) == text
    assert cells(text) >= 0
    assert ems(text) >= 0


@given(st.text(st.characters()))
@example("\U000115bf0")  # a vowel sign without a letter
def test_cells_of_clusters_add_up(text):
    shown = safe_in_terminal(text)
    assert sum(map(cells, clusters(shown))) == cells(shown)


def test_conjuncts_count_every_letter():
    assert ems("न्द") == pytest.approx(2 * ems("न"))
    assert ems("न्दी") > ems("न्द")


def test_ems_depend_on_the_shown_characters():
    assert ems("iiii") < ems("nnnn") < ems("WWWW") < ems("日本語字")
    assert ems("é") == ems("e") == ems("e\u0301")
    assert ems(FAMILY) == ems(FLAG) == ems(HEART) == ems("🌳")
    assert ems("كتاب") == pytest.approx(4 * ems("ك"))


@pytest.mark.parametrize(
    ("texts", "direction"),
    [
        ([], "ltr"),
        (["abc"], "ltr"),
        (["הילדה", "x"], "rtl"),
        (["كتاب", "1984"], "rtl"),
        (["...", "12"], "ltr"),
    ],
)
def test_direction(texts, direction):
    assert direction_of(texts) == direction


@given(st.text(st.characters()))
def test_harmful_characters_are_escaped(text):
    shown = safe_in_terminal(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u202e\u2066" for c in shown)
    marked = safe_in_xml(text)
    assert not set(marked) & set("<>\"'")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\ufffe\uffff" for c in marked)
    assert ET.fromstring(f"<a b='{marked}'>{marked}</a>").text == (
        ET.fromstring(f"<a b='{marked}'/>").get("b") or None
    )
