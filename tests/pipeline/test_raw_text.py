"""The text that a treebank was made from."""

import numpy as np
import pytest
from errors import rejects
from segmenter_toys import toy_columns

from arbora.data.columns import parse_text
from arbora.data.raw_text import join_tokens, raw_text, tokens_of
from arbora.errors import InputError

TWO = """\
# newdoc
# newpar
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\t_\t_\t_\t_\t_\t_\t_\t_
2\tn't\t_\t_\t_\t_\t_\t_\t_\t_
3\tgo\t_\t_\t_\t_\t_\t_\t_\tX=1|SpaceAfter=No
4\t.\t_\t_\t_\t_\t_\t_\t_\t_

1\tStay\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\t!\t_\t_\t_\t_\t_\t_\t_\t_

# newpar id = p2
1\tOK\t_\t_\t_\t_\t_\t_\t_\t_

"""


def test_sentences_are_joined_by_spaces_and_paragraphs_by_blank_lines():
    raw = raw_text(parse_text(TWO, "conllu"))
    assert raw.text == "Don't go. Stay!\n\nOK"
    assert [raw.text[a:b] for a, b in zip(raw.starts, raw.ends, strict=True)] == raw.tokens.forms
    assert raw.tokens.forms == ["Don't", "go", ".", "Stay", "!", "OK"]
    assert raw.tokens.words == {0: ["Do", "n't"]}
    assert raw.last.tolist() == [0, 0, 1, 0, 1, 1]


def test_tokens_are_found_in_the_raw_text():
    raw = raw_text(toy_columns())
    found = [raw.text[a:b] for a, b in zip(raw.starts, raw.ends, strict=True)]
    assert found == raw.tokens.forms
    assert raw.last.sum() == 400


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("He said ( softly ) : “ No ! ”", "He said (softly): “No!”"),
        ('The " old " man , 5 %', 'The "old" man, 5%'),
        ("¿ Qué ? « Nada »", "¿Qué? «Nada»"),
        ("東京 は 広い 。", "東京は広い。"),
        ("ไทย ดี มาก", "ไทยดีมาก"),
        ("x = 2 ...", "x = 2..."),
    ],
)
def test_missing_spaces_are_guessed(tokens, text):
    lines = [f"{i}\t{form}" + "\t_" * 8 for i, form in enumerate(tokens.split(), 1)]
    columns = parse_text("\n".join([*lines, "", ""]), "conllu")
    assert raw_text(columns).text == text
    assert raw_text(columns, spaces="given").text == tokens


def test_an_empty_treebank_is_an_empty_text():
    raw = raw_text(parse_text("", "conllu"))
    assert raw.text == ""
    assert raw.starts.size == 0


def test_bad_arguments_are_rejected():
    columns = toy_columns(sentences=2)
    with rejects(InputError, field="spaces"):
        tokens_of(columns, spaces="some")
    with rejects(InputError, field="after"):
        join_tokens(tokens_of(columns), after=[" "])


def test_offsets_are_whole_numbers_of_64_bits():
    raw = raw_text(toy_columns(sentences=3))
    assert raw.starts.dtype == raw.ends.dtype == np.int64
