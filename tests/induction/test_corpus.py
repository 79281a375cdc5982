"""Sentences as tags: what is left out, in which order, and trees without punctuation."""

import numpy as np
import pytest

from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora.induction.corpus import Stripped, TagCorpus, by_length, is_word


def sentence(text, tags, heads):
    forms, upos = text.split(), tags.split()
    return Sentence.from_lists(forms, upos=upos, heads=heads)


SENTENCES = [
    sentence("She reads , though .", "PRON VERB PUNCT ADV PUNCT", [2, 0, 2, 2, 2]),
    sentence("... !", "PUNCT PUNCT", [0, 1]),
    sentence("Yes -", "INTJ X", [0, 1]),
    sentence("a b c", "X X X", [0, 1, 2]),
]


def test_punctuation_is_left_out_by_tag_or_by_form():
    assert is_word(columns_of(SENTENCES)).tolist() == [
        *(True, True, False, True, False),
        *(False, False),
        *(True, False),
        *(True, True, True),
    ]


def test_a_corpus_has_short_sentences_as_numbers_of_sorted_tags():
    corpus = TagCorpus.of(columns_of(SENTENCES), longest=None)
    assert corpus.tags == ("ADV", "INTJ", "PRON", "VERB", "X")
    assert [s.tolist() for s in corpus.sentences] == [[2, 3, 0], [1], [4, 4, 4]]
    assert corpus.words == 7
    short = TagCorpus.of(columns_of(SENTENCES), longest=2)
    assert short.tags == ("INTJ",)
    assert [s.tolist() for s in short.sentences] == [[0]]


def test_groups_are_of_one_length_and_know_their_places(monkeypatch):
    sentences = TagCorpus.of(columns_of(SENTENCES), longest=None).sentences
    assert [(tags.shape, places.tolist()) for places, tags in by_length(sentences)] == [
        ((1, 1), [1]),
        ((2, 3), [0, 2]),
    ]
    monkeypatch.setattr("arbora.induction.corpus.MOST_PARTS", 1)
    assert [places.tolist() for places, _ in by_length(sentences)] == [[1], [0], [2]]


@pytest.mark.parametrize(
    ("heads", "kept", "expected"),
    [
        ([2, 0, 2], [1, 1, 1], [2, 0, 2]),
        ([2, 0, 2, 3, 3], [1, 1, 0, 1, 0], [2, 0, 2]),  # a word hung on the comma
        ([2, 0, 2], [1, 0, 1], [0, 0]),  # the root was punctuation: two roots are left
        ([2, 3, 0, 1], [0, 0, 1, 1], [0, 1]),  # up a chain of two
    ],
)
def test_dependents_of_punctuation_move_up_to_its_head(heads, kept, expected):
    kept, heads = np.array(kept, dtype=bool), np.array(heads, dtype=np.int32)
    assert Stripped(heads, kept, heads, ~kept).known_heads().tolist() == expected
