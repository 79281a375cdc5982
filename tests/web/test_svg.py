"""Pictures of trees, read back from their own attributes."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from treebanks import UD_LABELS, random_heads

from arbora.data.projectivize import projectivize
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.web.svg import Look, draw_svg, draw_svgs

SVG = "{http://www.w3.org/2000/svg}"
SHORT = Sentence.from_lists(
    ["She", "reads", "books"], ["PRON", "VERB", "NOUN"], [2, 0, 2], ["nsubj", "root", "obj"]
)
CROSSING = Sentence.from_lists(
    ["A", "letter", "came", "today", "lost"], None, [2, 3, 0, 3, 2], ["det", "nsubj", "root", "advmod", "acl"]
)
HEBREW = Sentence.from_lists(["הילדה", "קוראת", "ספר"], None, [2, 0, 2], ["nsubj", "root", "obj"])
DOCS = Path(__file__).resolve().parents[2] / "docs"
LETTER = Sentence.from_lists(
    ["A", "letter", "arrived", "yesterday", "that", "nobody", "could", "read", "."],
    ["DET", "NOUN", "VERB", "ADV", "PRON", "PRON", "AUX", "VERB", "PUNCT"],
    [2, 3, 0, 3, 8, 8, 8, 2, 3],
    ["det", "nsubj", "root", "advmod", "obj", "nsubj", "aux", "acl:relcl", "punct"],
)
SURE = [0.99, 0.98, 0.99, 0.93, 0.95, 0.99, 0.99, 0.64, 0.97]
SLACK = 0.11  # numbers are rounded to one decimal


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other):
        across = self.left < other.right - SLACK and other.left < self.right - SLACK
        return across and self.top < other.bottom - SLACK and other.top < self.bottom - SLACK


def arcs_of(drawn):
    return [group for group in ET.fromstring(drawn).iter(f"{SVG}g") if group.get("data-dep")]


def boxes_of(drawn):
    found = []
    for box in ET.fromstring(drawn).iter(f"{SVG}rect"):
        x, y, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        found.append(Box(x, y, x + width, y + height))
    return found


def strokes_of(drawn):
    """The straight pieces of all lines and the boxes around their curves."""
    found = []
    for group in arcs_of(drawn):
        x = y = 0.0
        for command, numbers in re.findall(r"([MHVC])([^MHVC]+)", group.find(f"{SVG}path").get("d")):
            values = [float(number) for number in numbers.split()]
            before = x, y
            x = values[0] if command == "H" else x if command == "V" else values[-2]
            y = values[0] if command == "V" else y if command == "H" else values[-1]
            if command != "M":
                found.append(Box(min(x, before[0]), min(y, before[1]), max(x, before[0]), max(y, before[1])))
    return found


def words_of(drawn):
    found = [each for each in ET.fromstring(drawn).iter(f"{SVG}text") if each.get("data-word")]
    return {int(each.get("data-word")): each for each in found}


@st.composite
def sentences(draw, most=40):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tree = Tree.from_heads(random_heads(rng, n, single_root=draw(st.booleans())))
    if draw(st.booleans()):
        tree = projectivize(tree)
    forms = ["w" * int(length) for length in rng.integers(1, 12, size=n)]
    heads = tree.heads[1:].tolist()
    return Sentence.from_lists(forms, ["NOUN"] * n, heads, rng.choice(UD_LABELS, size=n).tolist())


@given(sentences(), st.sampled_from([None, 300, 800]), st.booleans())
def test_labels_overlap_neither_labels_nor_lines(sentence, max_width, sure):
    probabilities = None if sure else np.linspace(0, 1, len(sentence)).tolist()
    drawn = draw_svg(sentence, max_width=max_width, probabilities=probabilities)
    boxes = boxes_of(drawn)
    assert len(boxes) == len(sentence)
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))
    strokes = strokes_of(drawn)
    assert not any(box.meets(stroke) for box in boxes for stroke in strokes)


@given(sentences())
def test_every_arc_ends_at_its_words(sentence):
    drawn = draw_svg(sentence)
    words = words_of(drawn)
    places = {word: float(each.get("x")) for word, each in words.items()}
    assert [words[word].text for word in sorted(words)] == list(sentence.forms)
    assert list(places.values()) == sorted(places.values())
    arcs = arcs_of(drawn)
    assert {int(arc.get("data-dep")): int(arc.get("data-head")) for arc in arcs} == dict(
        enumerate(sentence.heads, start=1)
    )
    for arc in arcs:
        tip = float(
            re.findall(r"L([\d.]+) [\d.]+Z", arc.find(f"{SVG}path[@class='arbora-head']").get("d"))[0]
        )
        dep = int(arc.get("data-dep"))
        assert places.get(dep - 1, 0.0) < tip < places.get(dep + 1, 1e9)


@given(sentences(20))
def test_projective_trees_have_no_crossing_lines(sentence):
    tree = projectivize(sentence.tree)
    strokes = strokes_of(draw_svg(sentence.with_tree(tree)))
    level = [stroke for stroke in strokes if stroke.top == stroke.bottom]
    upright = [stroke for stroke in strokes if stroke.left == stroke.right]
    assert not any(
        one.left + SLACK < other.left < one.right - SLACK
        and other.top + SLACK < one.top < other.bottom - SLACK
        for one in level
        for other in upright
    )


def test_crossing_and_uncertain_arcs_are_marked():
    drawn = draw_svg(CROSSING, probabilities=[0.9, 0.9, 1.0, 0.5, 0.9])
    kinds = {int(arc.get("data-dep")): arc.get("class").split()[1:] for arc in arcs_of(drawn)}
    assert kinds == {1: [], 2: [], 3: ["arbora-root"], 4: ["arbora-uncertain"], 5: ["arbora-crossing"]}
    texts = ["".join(each.itertext()) for each in ET.fromstring(drawn).iter(f"{SVG}text")]
    assert "advmod 0.50" in texts
    assert "acl" in texts
    assert "came → today: advmod, P(head) = 0.5000" in drawn
    every = draw_svg(CROSSING, probabilities=[0.9, 0.9, 1.0, 0.5, 0.9], every_probability=True)
    assert len(re.findall(r"<tspan[^>]*>\d\.\d\d</tspan>", every)) == 5
    assert "stroke-dasharray" not in draw_svg(CROSSING, probabilities=[0.5] * 5, threshold=0.5)


def test_everything_is_escaped():
    hostile = Sentence.from_lists(
        ["<script>alert(1)</script>", "\x1b[31m", "a&b\"'", "\uffff\x85", "]]>"],
        ["<b>", "_", "&", "'", '"'],
        [2, 0, 2, 2, 2],
        ["<i>", "root", "&amp;", "\x00", "--"],
        comments=["# text = </title><script>"],
    )
    drawn = draw_svg(hostile, caption="<u>")
    root = ET.fromstring(drawn)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "style", "g", "path", "rect", "text", "tspan"),
    }
    words = words_of(drawn)
    assert words[1].text == "<script>alert(1)</script>"
    assert [words[word].text for word in (2, 3, 4)] == ["␛[31m", "a&b\"'", "\ufffd\ufffd"]
    assert "<script" not in drawn
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", drawn)


def test_right_to_left_is_mirrored():
    for options in ({}, {"direction": "rtl"}):
        places = [float(each.get("x")) for each in words_of(draw_svg(HEBREW, **options)).values()]
        assert places == sorted(places, reverse=True)
    forced = [float(each.get("x")) for each in words_of(draw_svg(HEBREW, direction="ltr")).values()]
    assert forced == sorted(forced)
    width = float(ET.fromstring(draw_svg(HEBREW)).get("width")) - 16
    assert places == pytest.approx([width - place for place in forced], abs=0.11)


def test_rows_hold_all_words_within_the_width():
    n = 60
    chain = Sentence.from_lists(["word"] * n, None, [0, *range(1, n)], ["dep"] * n)
    drawn = draw_svg(chain, max_width=400)
    assert float(ET.fromstring(drawn).get("width")) <= 400
    words = words_of(drawn)
    assert len(words) == n
    assert len({each.get("y") for each in words.values()}) > 3
    assert len(boxes_of(drawn)) == n
    assert drawn == draw_svg(chain, max_width=400)
    # Two subtrees of equal length are parted where only one arc is cut.
    halves = Sentence.from_lists(["word"] * 20, None, [0] + [1] * 9 + [1] + [11] * 9, ["dep"] * 20)
    rows = {each.get("y"): [] for each in words_of(draw_svg(halves, max_width=900)).values()}
    for word, each in words_of(draw_svg(halves, max_width=900)).items():
        rows[each.get("y")].append(word)
    assert list(rows.values()) == [list(range(1, 11)), list(range(11, 21))]
    narrow = draw_svg(chain, max_width=1)
    assert len({each.get("y") for each in words_of(narrow).values()}) == n


def test_pictures_are_accessible_and_deterministic():
    drawn = draw_svg(SHORT)
    root = ET.fromstring(drawn)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Dependency tree: She reads books"
    assert (
        root.find(f"{SVG}desc").text
        == "She: nsubj of reads. reads: root of the sentence. books: obj of reads."
    )
    assert drawn == draw_svg(SHORT)
    assert "prefers-color-scheme:dark" in drawn


def test_the_picture_in_the_guide_is_up_to_date():
    """If pictures change on purpose, write docs/letter.svg again."""
    assert (DOCS / "letter.svg").read_text(encoding="utf-8") == draw_svg(LETTER, probabilities=SURE)


def test_missing_tags_labels_and_heads():
    assert "arbora-tag" not in draw_svg(SHORT, tags=False)
    assert draw_svg(SHORT).count('class="arbora-tag"') == 3
    assert "arbora-tag" not in draw_svg(CROSSING)
    partial = Sentence.from_lists(["a", "b", "c"], None, [2, None, 2])
    drawn = draw_svg(partial)
    assert len(arcs_of(drawn)) == 2
    assert len(words_of(drawn)) == 3
    assert boxes_of(drawn) == []
    assert words_of(draw_svg(Sentence.from_lists(["x" * 1000])))[1].text == "x" * 59 + "…"


def test_several_trees_are_stacked():
    drawn = draw_svgs([SHORT, HEBREW, CROSSING])
    assert len(arcs_of(drawn)) == 11
    heights = [float(ET.fromstring(draw_svg(each)).get("height")) for each in (SHORT, HEBREW, CROSSING)]
    assert float(ET.fromstring(drawn).get("height")) >= sum(heights)
    assert ET.fromstring(draw_svgs([])).get("width") == "16"


def test_long_sentences():
    n = 600
    heads = random_heads(np.random.default_rng(1), n)
    for max_width in (None, 1000):
        drawn = draw_svg(Sentence.from_lists(["w"] * n, None, heads, ["dep"] * n), max_width=max_width)
        assert drawn.endswith("</svg>\n")


@pytest.mark.parametrize(
    "options", [{"probabilities": [0.5]}, {"threshold": 2.0}, {"direction": "up"}, {"max_width": 0.0}]
)
def test_bad_options_are_rejected(options):
    with rejects(InputError, field=next(iter(options))):
        draw_svg(SHORT, **options)


def test_one_look_applies_to_all_pictures():
    assert "arbora-tag" not in draw_svgs([SHORT], Look(tags=False))
