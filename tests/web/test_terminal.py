import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from treebanks import random_heads

from arbora.data.projectivize import projectivize
from arbora.data.tree import Tree
from arbora.errors import InputError
from arbora.web.terminal import draw
from arbora.web.writing import cells

CROSSING = Tree.from_heads([2, 3, 0, 3, 2], labels=["det", "nsubj", "root", "advmod", "acl"])
FORMS = ["A", "letter", "came", "today", "lost"]


def random_heads_of(n, seed):
    return random_heads(np.random.default_rng(seed), n, single_root=False)


def read_back(drawing):
    """The heads that a drawing shows, found by following its lines."""
    rows = [re.match(r"[ ─╌│╭├╰┼┬┴]*", line)[0] for line in drawing.splitlines()]
    # A word's line starts where nothing but spines of other words stand to the left.
    starts = [re.match(r"[ │]*", row).end() for row in rows]
    return [owner(rows, row, column) for row, column in enumerate(starts)]


def owner(rows, row, column):
    """Up and down the spine in this column to the word whose line runs across it; 0 if there is none."""
    for step, joints in ((-1, "├╰"), (1, "├╭")):
        if rows[row][column] in joints:
            here = row + step
            while rows[here][column] in "│├":
                here += step
            if rows[here][column] in "┼┬┴":
                return here + 1
    return 0


def test_a_drawing_shows_crossing_arcs_labels_and_notes():
    assert draw(CROSSING, FORMS, notes=list("12345")) == "\n".join([
        "    ╭─ A       det     1",
        "  ╭─┼─ letter  nsubj   2",
        "──┼─│─ came    root    3",
        "  ╰─│─ today   advmod  4",
        "    ╰─ lost    acl     5",
    ])  # fmt: skip


def test_ascii_lines():
    drawn = draw(CROSSING, FORMS, ascii_only=True)
    assert drawn.isascii()
    assert drawn.splitlines()[2] == "--+-|- came    root"


@pytest.mark.parametrize(
    ("heads", "expected"),
    [([], ""), ([0], "── a"), ([0, 0], "╭─ a\n╰─ b"), ([0, 1, 0], "╭─┬─ a\n│ ╰─ b\n╰─── c")],
)
def test_small_trees_and_several_roots(heads, expected):
    assert draw(Tree.from_heads(heads), "abc"[: len(heads)]) == expected


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_the_tree_can_be_read_back(n, seed):
    heads = random_heads_of(n, seed)
    drawn = draw(Tree.from_heads(heads), ["w"] * n)
    lines = drawn.splitlines()
    assert len(lines) == n
    assert len({len(line) for line in lines}) == 1
    assert read_back(drawn) == heads


def test_projective_trees_have_no_crossings():
    for seed in range(200):
        tree = projectivize(Tree.from_heads(random_heads_of(1 + seed % 20, seed)))
        assert "─│" not in draw(tree, ["w"] * len(tree))


def test_wide_and_combining_characters_keep_the_columns():
    tree = Tree.from_heads([2, 0, 2], labels=["x", "y", "z"])
    lines = draw(tree, ["日本語", "e\u0301", "abc"]).splitlines()

    def cells(text):
        wide = sum(unicodedata.east_asian_width(c) == "W" for c in text)
        return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)

    assert {cells(line) for line in lines} == {cells(lines[0])}


@pytest.mark.parametrize("width", [1, 2, 5, 11, 12, 17, 20, 40])
def test_lines_fit_any_width(width):
    for ascii_only in (False, True):
        lines = draw(CROSSING, FORMS, width=width, ascii_only=ascii_only).splitlines()
        assert max(map(len, lines)) <= width
        assert not ascii_only or all(map(str.isascii, lines))
    assert draw(CROSSING, FORMS, width=40) == draw(CROSSING, FORMS)


@given(st.integers(1, 30), st.integers(0, 2**32), st.integers(1, 60))
def test_any_tree_fits_any_width(n, seed, width):
    tree = Tree.from_heads(random_heads_of(n, seed), labels=["nsubj:pass"] * n)
    forms = ["日本語", "👩‍👩‍👧‍👦", "e\u0301" * 20, "word", "הילדה"] * 6
    sure = np.linspace(0, 1, n).tolist()
    lines = draw(tree, forms[:n], width=width, probabilities=sure, every_probability=True).splitlines()
    assert max(map(cells, lines)) <= width
    assert len(lines) >= n


def test_narrow_drawings():
    assert draw(CROSSING, FORMS, width=19) == "\n".join([
        "  ╭─ A       det",
        " ╭┼─ letter  nsubj",
        "─┼│─ came    root",
        " ╰│─ today   advmod",
        "  ╰─ lost    acl",
    ])  # fmt: skip
    assert draw(CROSSING, FORMS, width=17).splitlines()[:3] == ["1 A ← 2 det", "2 letter ← 3", "  nsubj"]
    long = ["incomprehensible", *FORMS[1:]]
    assert draw(CROSSING, long, width=20).splitlines()[0] == "  ╭─ incomp…  det"
    deep = Tree.from_heads([0, *range(1, 20)], labels=["dep"] * 20)
    assert draw(deep, ["w"] * 20, width=12).splitlines()[10] == "11 w ← 10"


def test_uncertain_heads_are_marked():
    sure = [0.99, 0.79, 1.0, 0.8, 0.123]
    assert draw(CROSSING, FORMS, probabilities=sure) == "\n".join([
        "    ╭─ A       det",
        "  ╭╌┼╌ letter  nsubj   0.79 ?",
        "──┼─│─ came    root",
        "  ╰─│─ today   advmod",
        "    ╰╌ lost    acl     0.12 ?",
    ])  # fmt: skip
    every = draw(CROSSING, FORMS, probabilities=sure, every_probability=True, threshold=0.5).splitlines()
    assert every[1] == "  ╭─┼─ letter  nsubj   0.79"
    assert every[4] == "    ╰╌ lost    acl     0.12 ?"
    assert draw(CROSSING, FORMS, probabilities=sure, ascii_only=True).splitlines()[1].startswith("  ,~+~")


def test_colour_adds_codes_and_nothing_else():
    for options in ({}, {"probabilities": [0.1, 0.9, 0.9, 0.1, 0.9]}, {"width": 19}, {"width": 9}):
        coloured = draw(CROSSING, FORMS, colour=True, **options)
        plain = draw(CROSSING, FORMS, **options)
        assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
        assert "\x1b" not in plain
    hostile = draw(Tree.from_heads([0]), ["\x1b[31m"], colour=True)
    assert re.sub(r"\x1b\[(?:36|1|0)m", "", hostile) == "── \\x1b[31m"


def test_right_to_left_words_keep_their_place():
    """A mark before the line, which else might run right to left, and one after the word."""
    tree = Tree.from_heads([2, 0, 2], labels=["nsubj", "root", "obj"])
    lines = draw(tree, ["הילדה", "קוראת", "x"], probabilities=[0.5, 1.0, 1.0]).splitlines()
    assert lines == [
        "\u200e  ╭╌ הילדה\u200e  nsubj  0.50 ?",
        "\u200e──┼─ קוראת\u200e  root",
        "  ╰─ x      obj",
    ]


def test_characters_that_could_harm_a_terminal_are_escaped():
    drawn = draw(Tree.from_heads([0]), ["\x1b[31mred\n\u202e\ud800"])
    assert drawn == "── \\x1b[31mred\\n\\u202e\\ud800"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"forms": ["a"]}, r"forms: expected one per word \(5\), got 1"),
        ({"forms": FORMS, "notes": ["1"]}, "notes: expected one per word"),
        ({"forms": FORMS, "probabilities": [0.5]}, "probabilities: expected one per word"),
        ({"forms": FORMS, "threshold": -1.0}, r"threshold: expected a number within \[0, 1\], got -1.0"),
        ({"forms": FORMS, "width": 0}, "width: expected at least 1, got 0"),
    ],
)
def test_bad_options_are_rejected(options, told):
    with pytest.raises(InputError, match=told):
        draw(CROSSING, **options)
