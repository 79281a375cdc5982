"""Pages of trees: well formed, complete, and escaped."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from treebanks import random_treebank

from arbora.data.sentence import Sentence
from arbora.web.html import draw_html
from arbora.web.svg import Look

HOSTILE = Sentence.from_lists(
    ["<script>alert(1)</script>", "</svg>", "</style>", "\x1b"],
    None,
    [0, 1, 1, 1],
    ["<img src=x onerror=alert(1)>", "_", "a", "b"],
    comments=['# text = </span><script>alert("2")</script>'],
)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        self.texts.append(data)


def names(page):
    return [tag for tag, _ in Elements(page).found]


def test_every_sentence_has_its_number_text_and_picture():
    sentences = random_treebank(1, 5)
    page = draw_html(sentences, title="five trees")
    elements = Elements(page)
    assert names(page).count("svg") == names(page).count("section") == 5
    assert [attributes["id"] for tag, attributes in elements.found if tag == "section"] == [
        "s1", "s2", "s3", "s4", "s5",
    ]  # fmt: skip
    for sentence in sentences:
        assert sentence.text in elements.texts
    assert elements.texts.count("five trees") == 2
    assert page == draw_html(sentences, title="five trees")


def test_all_but_the_first_line_is_well_formed_xml():
    page = draw_html([HOSTILE, *random_treebank(2, 3)], title="<&>")
    body = page[page.index("<main>") : page.index("</body>")]
    ET.fromstring(body)


def test_words_are_escaped():
    page = draw_html([HOSTILE], title="<script>")
    assert {"script", "img"}.isdisjoint(names(page))
    assert "\x1b" not in page
    assert "<script>alert(1)</script>" in Elements(page).texts


def test_pages_are_self_contained():
    page = draw_html(random_treebank(3, 2))
    used = [value for _, attributes in Elements(page).found for value in attributes.values() if value]
    assert [value for value in used if "//" in value] == ["http://www.w3.org/2000/svg"] * 2
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page


def test_right_to_left_sentences_are_aligned_right():
    hebrew = Sentence.from_lists(["הילדה", "קוראת"], None, [2, 0], ["nsubj", "root"])
    figures = [attributes for tag, attributes in Elements(draw_html([hebrew])).found if tag == "figure"]
    assert figures == [{"dir": "rtl"}]


def test_looks_and_empty_pages():
    (sentence,) = random_treebank(4, 1)
    assert "arbora-tag" not in draw_html([sentence], look=Look(tags=False))
    assert names(draw_html([])).count("section") == 0
