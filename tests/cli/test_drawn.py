"""`arbora parse` draws: on terminals of any width, as SVG, as a web page."""

import gzip
import re
import sys
import xml.etree.ElementTree as ET

import pytest

from arbora.data.sentence import Sentence
from arbora.data.treebank import read, write

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def few(synthetic, tmp_path):
    """The first three sentences of the treebank to judge by."""
    path = tmp_path / "few.conllu"
    write(list(read(synthetic[1]))[:3], path)
    return path


def test_one_picture_of_all_sentences(arbora, model, parser, few, tmp_path):
    shown = arbora("parse", few, "-m", model, "--format", "svg", "-q").stdout
    assert arbora("parse", few, "-m", model, "-o", tmp_path / "x.svg", "-q").status == 0
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == shown
    assert arbora("parse", few, "-m", model, "-o", tmp_path / "x.svg.gz", "-q").status == 0
    assert gzip.decompress((tmp_path / "x.svg.gz").read_bytes()).decode() == shown
    arcs = [group for group in ET.fromstring(shown).iter(f"{SVG}g") if group.get("data-dep")]
    parsed = parser.parse(list(read(few)))
    assert sorted((int(arc.get("data-dep")), int(arc.get("data-head"))) for arc in arcs) == sorted(
        arc for sentence in parsed for arc in enumerate(sentence.heads, start=1)
    )


def test_one_page_of_all_sentences(arbora, model, few, tmp_path):
    assert arbora("parse", few, "-m", model, "-o", tmp_path / "x.html", "-q").status == 0
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert (page.count("<section"), page.count("<svg")) == (3, 3)
    assert f"<h1>{few}</h1>" in page
    assert page.endswith("</html>\n")
    best = arbora("parse", few, "-m", model, "--format", "html", "--kbest", 2, "-q").stdout
    assert (best.count("<section"), best.count("<svg")) == (3, 6)
    assert "<figcaption>1/2, tree probability 0." in best


def test_probabilities_in_pictures(arbora, model, parser, few):
    words = sum(map(len, read(few)))
    every = arbora("parse", few, "-m", model, "--format", "svg", "--probabilities", "-q").stdout
    assert len(re.findall(r"<tspan[^>]*>[01]\.\d\d</tspan>", every)) == words
    assert every.count(">tree probability ") == 3
    sure = [each for parsed in parser.parse(list(read(few)), probabilities=True) for each in parsed]
    doubtful = sum(word.head_probability < 0.8 for word in sure)
    plain = arbora("parse", few, "-m", model, "--format", "svg", "-q").stdout
    assert plain.count("stroke-dasharray") == doubtful
    assert "tree probability" not in plain
    drawn = arbora("parse", few, "-m", model, "--format", "tree", "-q").stdout
    assert len(re.findall(r" \?$", drawn, re.MULTILINE)) == doubtful
    best = arbora("parse", few, "-m", model, "--format", "svg", "--kbest", 2, "-q").stdout
    assert best.count(">2/2, tree probability ") == 3


def test_nothing_to_draw(arbora, model, tmp_path):
    (tmp_path / "empty.conllu").write_text("")
    for name in ("svg", "html"):
        result = arbora("parse", tmp_path / "empty.conllu", "-m", model, "--format", name)
        assert result.status == 0
        assert result.stdout.endswith(f"</{name}>\n")


def test_markup_and_escape_codes_in_words_are_escaped(arbora, model, tmp_path):
    words = ["<script>", "\x1b[31m", "</svg>", "&"]
    write([Sentence.from_lists(words, ["NOUN"] * 4)], tmp_path / "x.conllu")
    for name in ("svg", "html", "tree"):
        shown = arbora("parse", tmp_path / "x.conllu", "-m", model, "--format", name, "-q").stdout
        assert "\x1b" not in shown
        assert "<script" not in shown or name == "tree"


@pytest.mark.parametrize("columns", [16, 80])
def test_a_terminal_of_any_width(model, few, run_in_terminal, columns):
    command = [sys.executable, "-m", "arbora", "parse", str(few), "-m", str(model), "-q"]
    shown = run_in_terminal(command, COLUMNS=str(columns))
    assert ("\x1b[36m" in shown) == ("╭" in shown)
    plain = run_in_terminal(command, COLUMNS=str(columns), NO_COLOR="1")
    assert re.sub(r"\x1b\[\d+m", "", shown) == plain
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= columns


def test_files_and_pipes_get_no_codes(arbora, model, few, tmp_path):
    shown = arbora("parse", few, "-m", model, "--format", "tree", "-q").stdout
    assert "\x1b" not in shown
    assert arbora("parse", few, "-m", model, "--format", "tree", "-o", tmp_path / "x", "-q").status == 0
    assert (tmp_path / "x").read_text(encoding="utf-8") == shown
