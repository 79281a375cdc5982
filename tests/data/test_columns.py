"""Columns from arrays, joined and with other trees: equal to what a file with the same lines gives."""

import dataclasses

import numpy as np
import pytest

from arbora.data import treebank
from arbora.data.columns import TEXT_COLUMNS, Columns, columns_of, parse_text
from arbora.data.sentence import EmptyNode, MultiwordToken, Sentence
from arbora.data.treebank import ColumnReader, gather, read_columns
from arbora.errors import DataError, InputError

FIELDS = ("_",) * 8
EXTRAS = """# sent_id = 1
# text = du x
0.1\te\t_\t_\t_\t_\t_\t_\t_\t_
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_
2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_
2.1\te\t_\t_\t_\t_\t_\t_\t3:dep\t_
2.2\te\t_\t_\t_\t_\t_\t_\t3:dep\t_
3\tx\tx\tNOUN\t_\tA=b\t0\troot\t_\t_
3.1\te\t_\t_\t_\t_\t_\t_\t3:dep\t_

1\tx\t_\t_\t_\t_\t_\t_\t_\t_

"""


def same_columns(left, right, *, lines=True):
    assert left.to_bytes() == right.to_bytes()
    assert left.offsets.tolist() == right.offsets.tolist()
    assert left.heads.tolist() == right.heads.tolist()
    assert not lines or left.lines.tolist() == right.lines.tolist()
    for column in TEXT_COLUMNS:
        assert left.strings(column) == right.strings(column)
        assert left.ids(column).tolist() == right.ids(column).tolist()
    assert left.native.extra_kinds.tolist() == right.native.extra_kinds.tolist()
    assert left.native.extra_positions.tolist() == right.native.extra_positions.tolist()
    assert left.native.extra_texts() == right.native.extra_texts()
    return True


def sentence(forms=("a", "b"), heads=(0, 1), **others):
    return dataclasses.replace(Sentence.from_lists(["a"] * len(forms)), forms=forms, heads=heads, **others)


def test_sentences_give_the_columns_of_their_text():
    columns = parse_text(EXTRAS, "conllu")
    assert same_columns(columns_of(columns.sentences()), columns)


def test_real_sentences_give_the_columns_of_their_text(treebank_files):
    for path in treebank_files:
        columns = next(ColumnReader(path))
        standard = parse_text("".join(each.to_conllu() for each in columns.sentences()), "conllu")
        assert same_columns(columns_of(columns.sentences()), standard)


def test_a_column_is_given_as_strings_or_as_ids():
    strings = Columns.from_arrays([0, 2, 3], {"form": ["b", "a", "b"], "upos": ["_", "X", "X"]})
    ids = np.array([2, 1, 2]), ["unused", "a", "b"]
    numbered = Columns.from_arrays([0, 2, 3], {"form": ids, "upos": (np.array([0, 1, 1]), ["_", "X"])})
    assert same_columns(strings, numbered)
    assert strings.strings("form") == ["_", "b", "a"]
    assert strings.heads.tolist() == [-1, -1, -1]


def test_no_sentences_are_fine():
    assert len(columns_of([])) == len(Columns.concat([])) == len(Columns.from_arrays([0], {})) == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"forms": ("a\tb", "c")},
        {"forms": ("a\nb", "c")},
        {"forms": ("a\rb", "c")},
        {"forms": ("", "c")},
        {"misc": ("_", "")},
        {"heads": (2, 1)},
        {"heads": (1, 0)},
        {"heads": (0, 3)},
        {"heads": (0, -2)},
        {"heads": (0, 2**40)},
        {"heads": (0, None)},
        {"heads": (0, 1.5)},
        {"comments": ("no mark",)},
        {"comments": ("# a\n# b",)},
        {"comments": ("",)},
        {"multiword_tokens": (MultiwordToken(1, 2, ("ab", *FIELDS[1:])),)},
        {"multiword_tokens": (MultiwordToken(1, 3, ("abc", *FIELDS)),)},
        {"multiword_tokens": (MultiwordToken(2, 1, ("ab", *FIELDS)),)},
        {"multiword_tokens": (MultiwordToken(1, 2, ("", *FIELDS)),)},
        {"multiword_tokens": (MultiwordToken(1, 2, ("a", *FIELDS)), MultiwordToken(2, 2, ("b", *FIELDS)))},
        {"empty_nodes": (EmptyNode(1, 2, ("e", *FIELDS)),)},
        {"empty_nodes": (EmptyNode(3, 1, ("e", *FIELDS)),)},
        {"empty_nodes": (EmptyNode(-1, 1, ("e", *FIELDS)),)},
    ],
    ids=str,
)
def test_malformed_sentences_are_rejected(bad):
    with pytest.raises(DataError):
        columns_of([sentence(), sentence(**bad)])


def test_faults_have_the_line_of_a_file():
    sentences = [sentence(comments=("# one",)), sentence(), sentence(forms=("a", "b\tc"))]
    with pytest.raises(DataError) as error:
        columns_of(sentences, "here")
    assert (error.value.source, error.value.line) == ("here", 9)


def test_sentences_without_words_are_rejected():
    with pytest.raises(DataError):
        Columns.from_arrays([0, 0], {}, other_lines=[["# only"]])
    with pytest.raises(DataError):
        Columns.from_arrays([0, 0], {})


def test_words_are_no_other_lines():
    with pytest.raises(DataError):
        Columns.from_arrays([0, 1], {"form": ["a"]}, other_lines=[["2\tb" + "\t_" * 8]])


def test_text_that_is_not_unicode_is_rejected():
    with pytest.raises(InputError):
        Columns.from_arrays([0, 1], {"form": ["\ud800"]})


@pytest.mark.parametrize(
    ("offsets", "texts", "others"),
    [
        ([0, 2], {"form": ["a"]}, None),
        ([1, 2], {"form": ["a", "b"]}, None),
        ([0, 2, 1], {"form": ["a"]}, None),
        ([], {}, None),
        ([0, 1], {"words": ["a"]}, None),
        ([0, 1], {"form": ["a"]}, [[], []]),
        ([0, 1], {"form": (np.array([1]), ["a"])}, None),
        ([0, 1], {"form": (np.array([-1]), ["a"])}, None),
    ],
)
def test_arrays_that_do_not_fit_are_rejected(offsets, texts, others):
    with pytest.raises(InputError):
        Columns.from_arrays(offsets, texts, other_lines=others)


def test_pieces_of_a_file_join_to_the_file(treebank_files):
    smallest = {path.parent: path for path in reversed(treebank_files)}
    for path in (*smallest.values(), treebank_files[-1]):  # the last has many pieces
        whole = read_columns(path)
        assert same_columns(Columns.concat(list(ColumnReader(path))), whole)
        halves = [whole.select(np.arange(7)), whole.select(np.arange(7, len(whole)))]
        assert same_columns(Columns.concat(halves), whole)


def test_joining_keeps_the_layout_of_a_file(tmp_path):
    text = b"\xef\xbb\xbf\r\n" + EXTRAS.rstrip("\n").replace("\n", "\r\n").encode()
    (tmp_path / "a.conllu").write_bytes(text)
    columns = read_columns(tmp_path / "a.conllu")
    empty = columns_of([])
    assert Columns.concat([empty, columns, empty]).to_bytes() == text
    twice = Columns.concat([columns, columns])
    assert twice.to_bytes() == text + b"\n\n" + text.removeprefix(b"\xef\xbb\xbf\r\n")
    assert twice.source == columns.source


def test_selected_sentences_have_the_strings_of_their_own():
    columns = parse_text(EXTRAS, "conllu").select(np.array([1]))
    assert columns.strings("form") == ["_", "x"]
    assert same_columns(columns, parse_text("1\tx" + "\t_" * 8 + "\n\n", "conllu"), lines=False)


def test_gathered_parts_are_one_treebank(tmp_path):
    (tmp_path / "a.conllu").write_text(EXTRAS)
    columns = parse_text(EXTRAS, "conllu")
    loose = list(columns.sentences())
    checked = []
    parts = [loose[0], loose[1:], str(tmp_path / "a.conllu"), columns]
    joined = gather(parts, checked.append)
    assert joined.to_bytes() == 3 * EXTRAS.encode()
    assert [part.source for part in checked] == [str(tmp_path / "a.conllu"), "<text>"]
    assert same_columns(joined, parse_text(3 * EXTRAS, "conllu"), lines=False)


def test_other_trees_replace_heads_and_labels():
    columns = parse_text(EXTRAS, "conllu")
    heads, labels = np.array([0, 1, 2, -1], np.int32), np.array([1, 0, 1, -1], np.int32)
    changed = columns.with_trees(heads, labels, ["x", "root"])
    assert changed.heads.tolist() == heads.tolist()
    assert changed.strings("deprel") == ["_", "root", "x"]
    assert changed.ids("deprel").tolist() == [1, 2, 1, 0]


@pytest.mark.parametrize(
    ("heads", "labels", "name"),
    [
        ([2, 1, 0, 0], [0] * 4, "a"),
        ([0, 0, 0, 2], [0] * 4, "a"),
        ([0] * 4, [0, 1, 0, 0], "a"),
        ([0] * 4, [-2, 0, 0, 0], "a"),
        ([0] * 4, [0] * 4, "a\tb"),
        ([0] * 4, [0] * 4, ""),
        ([0], [0], "a"),
    ],
)
def test_other_trees_are_checked(heads, labels, name):
    with pytest.raises(InputError):
        parse_text(EXTRAS, "conllu").with_trees(np.array(heads, np.int32), np.array(labels, np.int32), [name])


def test_columns_of_conllx_become_conllu_as_sentences_do():
    rows = ["1\ta" + "\t_" * 6 + "\t2\tx", "2\tb" + "\t_" * 8, "3\tc" + "\t_" * 6 + "\t2\t_"]
    columns = parse_text("\n".join([*rows, "", rows[0], "", ""]), "conllx")
    expected = [treebank.conllx_to_conllu(each) for each in columns.sentences()]
    assert list(treebank.columns_to_conllu(columns).sentences()) == expected
