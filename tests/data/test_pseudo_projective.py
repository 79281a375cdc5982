"""Lifting crossing arcs and finding them again: by hand, on random trees, and as arrays."""

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st
from treebanks import random_heads, random_treebank

from arbora.data.columns import columns_of
from arbora.data.projectivize import LIFTED, PseudoProjective, Restorer
from arbora.data.tree import Tree
from arbora.errors import InputError, UnknownNameError

ENCODINGS = ("head", "path", "head+path")
BOTH = PseudoProjective(encoding="head+path")

# "A hearing is scheduled on the issue today": on -> hearing crosses today -> scheduled.
HEARING = ([-1, 2, 4, 4, 0, 2, 7, 5, 4], ["det", "nsubj", "aux", "root", "nmod", "det", "pobj", "advmod"])


@pytest.mark.parametrize(
    ("encoding", "marked"),
    [
        ("head", ("nmod^nsubj", "nsubj")),
        ("path", ("nmod^", "nsubj~")),
        ("head+path", ("nmod^nsubj", "nsubj~")),
    ],
)
def test_one_lift(encoding, marked):
    how = PseudoProjective(encoding=encoding)
    heads, labels = how.encode(*HEARING)
    assert heads == [-1, 2, 4, 4, 0, 4, 7, 5, 4]
    assert (labels[4], labels[1]) == marked
    assert [label for i, label in enumerate(labels) if i not in (1, 4)] == [
        label for i, label in enumerate(HEARING[1]) if i not in (1, 4)
    ]
    assert how.decode(heads, labels) == HEARING


def test_a_path_is_followed_to_its_end():
    # 5 was lifted from 3, past 2: both are marked and have the label, and someone must have left 3.
    heads, labels = [-1, 0, 1, 2, 1, 1], ["root", "nmod~", "nmod~", "punct", "conj^nmod"]
    assert BOTH.decode(heads, labels)[0][5] == 3
    assert BOTH.encode([-1, 0, 1, 2, 1, 3], ["root", "nmod", "nmod", "punct", "conj"]) == (heads, labels)


def test_heads_whose_arc_would_not_cross_are_left_out():
    # From 4, right beside it, word 5 would not have been lifted: 2 it was, though 4 is nearer.
    heads, labels = [-1, 0, 1, 1, 1, 1], ["root", "obj", "punct", "obj", "acl^obj"]
    assert BOTH.decode(heads, labels)[0][5] == 2


def test_marks_are_such_as_no_label_contains():
    assert PseudoProjective.for_labels(["obj", "nsubj:pass"]) == PseudoProjective()
    how = PseudoProjective.for_labels(["obj", "a^b", "x~"])
    assert (how.encoding, how.lifted, how.on_path) == ("head", "↑", "↓")
    heads, labels = HEARING[0], ["a^b" if label == "nsubj" else label for label in HEARING[1]]
    assert how.encode(heads, labels)[1][4] == "nmod↑a^b"
    assert how.decode(*how.encode(heads, labels)) == (heads, labels)
    with rejects(InputError, field="labels"):
        PseudoProjective.for_labels(LIFTED)


def test_bad_settings_are_rejected():
    with rejects(UnknownNameError, field="encoding", suggestion="head"):
        PseudoProjective(encoding="heads")
    for lifted, on_path in (("^", "^"), ("", "~"), ("^", "")):
        with rejects(InputError, field="marks"):
            PseudoProjective(lifted=lifted, on_path=on_path)
    with rejects(InputError, field="labels"):
        Restorer(BOTH, ["root", "obj~"])
    with rejects(InputError, field="labels"):
        Restorer(BOTH, [])


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("single_root", [False, True])
@given(seed=st.integers(0, 10**6), labels=st.sampled_from([2, 5, 100]))
def test_random_trees(encoding, single_root, seed, labels):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    heads = [-1, *random_heads(rng, n, single_root=single_root)]
    names = [f"l{i}" for i in (range(n) if labels == 100 else rng.integers(labels, size=n))]
    how = PseudoProjective(encoding=encoding)
    flat, marked = how.encode(heads, names)
    assert Tree(flat).is_projective()
    back, plain = how.decode(flat, marked)
    assert plain == names
    Tree(back)
    if single_root:
        assert back.index(0) == heads.index(0) == flat.index(0)
    assert all(b == h for b, h, f in zip(back, heads, flat, strict=True) if h == f)
    if labels == 100 and encoding != "path":
        assert back == heads


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_most_trees_with_few_nonprojective_arcs_are_restored(encoding):
    rng = np.random.default_rng(0)
    same = count = 0
    while count < 200:
        heads = [-1, *random_heads(rng, 7)]
        if Tree(heads).nonprojective_arcs().sum() == 1:
            labels = rng.choice(list("abcdef"), size=7).tolist()
            how = PseudoProjective(encoding=encoding)
            same += how.decode(*how.encode(heads, labels)) == (heads, labels)
            count += 1
    assert same > (190 if encoding == "head+path" else 150)


def marked_arrays(encoding, seed=3):
    """A treebank of trees with crossing arcs: columns, how it is marked, and its trees lifted."""
    columns = columns_of(random_treebank(seed, 30, labels=["a", "b", "c", "a:b"]))
    how = PseudoProjective(encoding=encoding)
    heads, marked = how.encode_columns(columns, np.array(columns.heads))
    names = list(dict.fromkeys([*marked.strings("deprel"), *columns.strings("deprel")]))
    return columns, how, heads, marked, names


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_arrays_and_single_trees_agree(encoding):
    columns, how, heads, marked, names = marked_arrays(encoding)
    ids = np.array([names.index(name) for name in marked.strings("deprel")], dtype=np.int32)
    labels = ids[marked.ids("deprel")]
    restored, plain = Restorer(how, names).restore(heads, labels, np.diff(columns.offsets))
    at = 0
    for sentence in columns.sentences():
        end = at + len(sentence)
        flat = how.encode([-1, *sentence.heads], sentence.deprels)
        assert flat == ([-1, *heads[at:end].tolist()], [names[i] for i in labels[at:end]])
        found = how.decode(*flat)
        assert found == ([-1, *restored[at:end].tolist()], [names[i] for i in plain[at:end]])
        at = end
    assert (restored == columns.heads).mean() > (heads == columns.heads).mean()


def test_words_with_a_given_head_stay():
    columns, how, heads, marked, names = marked_arrays("head+path")
    ids = np.array([names.index(name) for name in marked.strings("deprel")], dtype=np.int32)
    labels, lengths = ids[marked.ids("deprel")], np.diff(columns.offsets)
    restorer = Restorer(how, names)
    everywhere = restorer.restore(heads, labels, lengths)[0]
    assert not np.array_equal(everywhere, heads)
    fixed = np.where(np.arange(len(heads)) % 3 == 0, heads, -1).astype(np.int32)
    some, plain = restorer.restore(heads, labels, lengths, fixed)
    assert np.array_equal(some[::3], heads[::3])
    assert not np.array_equal(some, heads)
    assert not any("^" in names[i] or "~" in names[i] for i in plain)
    assert np.array_equal(restorer.restore(heads, labels, lengths, heads)[0], heads)


def test_probabilities_of_marked_labels_are_added_up():
    names = ["a~", "b", "a", "a^b", "b^a~"]
    restorer = Restorer(BOTH, names)
    table = np.array([[0.1, 0.2, 0.3, 0.15, 0.25], [0.0, 1.0, 0.0, 0.0, 0.0]])
    merged = restorer.merged(table)
    assert merged == pytest.approx(np.array([[0.0, 0.45, 0.55, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]]))
    assert restorer.unmarked(np.array([4, 0, -1, 2], dtype=np.int32)).tolist() == [1, 2, -1, 2]


def test_a_target_that_is_no_label_leaves_the_word_in_place():
    restorer = Restorer(BOTH, ["a", "a^zzz"])
    heads, labels = np.array([0, 1, 1], dtype=np.int32), np.array([0, 0, 1], dtype=np.int32)
    restored, plain = restorer.restore(heads, labels, np.array([3]))
    assert restored.tolist() == [0, 1, 1]
    assert plain.tolist() == [0, 0, 0]
