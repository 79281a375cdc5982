"""Splitting and joining words and sentences, multiword tokens: numbers, texts, and decisions that stay."""

from dataclasses import replace

import pytest
from annotation_toys import ROWS, conllu, draft, edit, make_project
from errors import rejects
from hypothesis import given, settings
from hypothesis import strategies as st

from arbora.annotation import changes, structure
from arbora.annotation.draft import Draft
from arbora.annotation.refusal import Refusal
from arbora.data.columns import parse_sentence

LINES = """\
# sent_id = s1
# text = I don't go du bois
1	I	I	PRON	_	_	4	nsubj	4:nsubj|3.1:x	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	_	_	4	aux	4:aux	_
3	n't	not	PART	_	_	2	advmod	2:advmod	_
3.1	er	_	_	_	_	_	_	4:dep	_
4	go	go	VERB	_	_	0	root	0:root	_
5-6	du	_	_	_	_	_	_	_	SpaceAfter=No
5	de	de	ADP	_	_	7	case	7:case	_
6	le	le	DET	_	_	7	det	7:det	_
7	bois	bois	NOUN	_	_	4	obl	4:obl	_

"""


def of(text=LINES):
    return Draft.of(parse_sentence(text))


def check(sentence):
    """The sentence is valid CoNLL-U; its forms and heads."""
    again = parse_sentence(sentence.to_sentence().to_conllu())
    return list(again.forms), list(again.heads)


def test_split_word_into_a_token():
    sentence = draft("I PRON 2 nsubj|cannot VERB 0 root|go VERB 2 xcomp")
    structure.split_word(sentence, 2, ["can", "not"], token=True)
    assert check(sentence) == (["I", "can", "not", "go"], [2, 0, -1, 2])
    assert [(t.first, t.last, t.form) for t in sentence.tokens] == [(2, 3, "cannot")]
    assert sentence.text == "I cannot go"
    assert sentence.node(2).by("head") == "human"


def test_split_word_without_a_token():
    sentence = draft("I PRON 2 nsubj|cannot VERB 0 root|go VERB 2 xcomp")
    structure.split_word(sentence, 2, ["can", "not"], token=False)
    assert sentence.text == "I cannot go"
    assert not sentence.tokens


def test_split_inside_a_token():
    sentence = of()
    structure.split_word(sentence, 6, ["l", "e"], token=True)
    assert [(t.first, t.last) for t in sentence.tokens] == [(2, 3), (5, 7)]
    assert check(sentence)[1] == [4, 4, 2, 0, 8, 8, -1, 4]
    assert sentence.node(8).deps == "4:obl"
    assert sentence.text == "I don't go dubois"


def test_join_words_of_a_token():
    sentence = of()
    structure.join_words(sentence, 2, 3, None, roots="single")
    assert check(sentence) == (["I", "don't", "go", "de", "le", "bois"], [3, 3, 0, 6, 6, 3])
    assert [(t.first, t.last) for t in sentence.tokens] == [(4, 5)]
    assert sentence.node(1).deps == "3:nsubj|2.1:x" or "3:nsubj" in sentence.node(1).deps
    assert [(e.word, e.number) for e in sentence.empty] == [(2, 1)]
    assert sentence.text == "I don't go dubois"


def test_join_keeps_the_highest_arc():
    sentence = draft()
    structure.join_words(sentence, 3, 4, None, roots="single")
    assert check(sentence) == (["She", "reads", "old books"], [2, 0, 2])
    assert sentence.node(3).deprel == "obj"
    structure.join_words(sentence, 1, 3, "x", roots="single")
    assert check(sentence) == (["x"], [0])


def test_tokens_can_be_made_edited_and_removed():
    sentence = draft()
    structure.make_token(sentence, 3, 4, None)
    assert sentence.text == "She reads oldbooks"
    structure.edit_token(sentence, 3, "o.b.")
    assert sentence.text == "She reads o.b."
    for first, last in ((1, 3), (4, 5), (3, 4), (2, 2)):
        with pytest.raises(Refusal):
            structure.make_token(sentence, first, last, None)
    with rejects(Refusal, code="bad_edit"):
        structure.join_words(sentence, 2, 3, None, roots="single")
    structure.remove_token(sentence, 3)
    assert sentence.text == "She reads old books"
    with rejects(Refusal, code="no_such_word"):
        structure.remove_token(sentence, 3)


def test_spaces_can_be_set():
    sentence = of()
    structure.set_space(sentence, 6, after=True)
    assert sentence.text == "I don't go du bois"
    structure.set_space(sentence, 1, after=False)
    assert sentence.text == "Idon't go du bois"
    with rejects(Refusal, code="bad_edit"):
        structure.set_space(sentence, 5, after=False)


def test_split_sentence():
    first, second = structure.split_sentence(of(), 4)
    assert check(first) == (["I", "do", "n't", "go"], [4, 4, 2, 0])
    assert check(second) == (["de", "le", "bois"], [3, 3, -1])
    assert first.comments == ["# sent_id = s1", "# text = I don't go"]
    assert second.comments == ["# sent_id = s1-b", "# text = dubois"]
    assert (first.empty[0].word, second.empty) == (3, [])
    assert second.tokens[0].first == 1
    for word in (2, 7, 8):
        with pytest.raises(Refusal):
            structure.split_sentence(of(), word)


def test_parts_of_a_sentence_get_new_names():
    _, second = structure.split_sentence(of(), 4, {"s1", "s1-b", "s1-d"})
    assert second.comments[0] == "# sent_id = s1-c"
    assert structure.new_name("x", {f"x-{letter}" for letter in "bcdefghijklmnopqrstuvwxyz"}) == "x-2"


def test_join_sentences_keeps_one_root():
    joined = structure.join_sentences(of(), draft(comments=["# sent_id = s2", "# note = x"]), roots="single")
    assert check(joined)[1] == [4, 4, 2, 0, 7, 7, 4, 9, -1, 11, 9]
    assert joined.comments[0] == "# sent_id = s1"
    assert "# note = x" in joined.comments
    both = structure.join_sentences(draft(), draft(), roots="multi")
    assert check(both)[1].count(0) == 2


def test_splitting_and_joining_again_keeps_decisions(tmp_path):
    project = make_project(tmp_path, LINES + conllu())
    response = edit(project, 1, changes.SplitSentence(word=4))
    assert (response.first, response.shift, [v.number for v in response.sentences]) == (1, 1, [1, 2])
    assert [word.by["head"] for word in response.sentences[1].words] == ["human", "human", "parser"]
    response = edit(project, 1, changes.JoinSentences())
    assert (response.shift, response.project.sentences) == (-1, 2)
    assert [w.head for w in response.sentences[0].words][:6] == [4, 4, 2, 0, 7, 7]
    assert response.sentences[0].sent_id == "s1"
    response = project.undo()
    assert response.shift == 1
    project.undo()
    assert "".join(project.store.texts) == LINES + conllu()


def test_too_long_sentences_are_refused(tmp_path):
    project = make_project(tmp_path, conllu() * 2)
    project.limits = replace(project.limits, words=7)
    with rejects(Refusal, code="sentence_too_long"):
        edit(project, 1, changes.JoinSentences())


NUMBERS = st.integers(1, 9)
TEXTS = st.sampled_from(["a", "bc", "é x", "٣"])
FORMS = st.lists(TEXTS, min_size=2, max_size=3)
CHANGES = st.one_of(
    st.builds(changes.SplitWord, word=NUMBERS, forms=FORMS, token=st.booleans()),
    st.builds(changes.JoinWords, first=NUMBERS, last=NUMBERS),
    st.builds(changes.MakeToken, first=NUMBERS, last=NUMBERS),
    st.builds(changes.RemoveToken, first=NUMBERS),
    st.builds(changes.SplitSentence, word=NUMBERS),
    st.builds(changes.JoinSentences),
    st.builds(changes.SetSpace, word=NUMBERS, after=st.booleans()),
    st.builds(changes.SetHead, word=NUMBERS, head=st.integers(0, 9), release=st.booleans()),
)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 2), CHANGES), max_size=8), st.booleans())
def test_any_edits_give_valid_sentences_and_can_be_undone(tmp_path_factory, steps, reparse):
    text = LINES + conllu(ROWS)
    project = make_project(tmp_path_factory.mktemp("p"), text)
    states = [project.store.texts]
    for number, change in steps:
        try:
            edit(project, min(number, len(project.summaries)), change, reparse=reparse)
        except Refusal:
            continue
        states.append(project.store.texts)
        assert project.totals.words == sum(len(parse_sentence(each)) for each in project.store.texts)
    for before in reversed(states[:-1]):
        project.undo()
        assert project.store.texts == before
    project.close()
