"""Objects of other packages: pyconll both ways, dictionaries for displaCy."""

import json
from dataclasses import replace

import pytest
from errors import rejects

import arbora
from arbora.data.sentence import Sentence
from arbora.errors import DataError, InputError


@pytest.fixture
def sentences(small_treebank):
    return list(arbora.read(small_treebank))


def test_plain_values_for_json(sentences):
    told = sentences[1].to_json()
    assert told["text"] == sentences[1].text
    assert told["comments"] == list(sentences[1].comments)
    (token,) = sentences[1].multiword_tokens
    (shown,) = told["multiword_tokens"]
    assert {"first": token.first, "last": token.last, "form": token.form}.items() <= shown.items()
    assert "start" not in shown
    assert [word["form"] for word in told["words"]] == list(sentences[1].forms)
    assert "multiword_tokens" not in sentences[0].to_json()
    assert json.loads(json.dumps(told)) == told
    n = len(sentences[1])
    placed = replace(sentences[1], spans=tuple((i, i + 1) for i in range(n))).to_json()
    assert (placed["words"][0]["start"], placed["words"][-1]["end"]) == (0, n)
    (shown,) = placed["multiword_tokens"]
    assert (shown["start"], shown["end"]) == (token.first - 1, token.last)


def test_json_has_spans_only_once():
    given = Sentence.from_lists(["a", "b"], misc=["SpaceAfter=No|TokenRange=0:1", "TokenRange=1:2|X=y"])
    first, second = given.to_json()["words"]
    assert (first["misc"], first["start"], first["end"]) == ("SpaceAfter=No", 0, 1)
    assert (second["misc"], second["start"], second["end"]) == ("X=y", 1, 2)


def test_pyconll_both_ways(sentences):
    pyconll = pytest.importorskip("pyconll", reason="pyconll is not installed: pip install pyconll")
    for sentence in sentences:
        theirs = sentence.to_pyconll()
        assert isinstance(theirs, pyconll.unit.sentence.Sentence)
        assert [token.form for token in theirs if token.id.isdigit()] == list(sentence.forms)
        assert Sentence.from_pyconll(theirs) == sentence
    theirs = sentences[0].to_pyconll()
    theirs[0].deprel = "dep"
    assert Sentence.from_pyconll(theirs).deprels[0] == "dep"
    theirs[0].head = "77"
    with rejects(DataError, line=4, source="<text>"):
        Sentence.from_pyconll(theirs)
    with rejects(InputError, field="sentence"):
        Sentence.from_pyconll("no sentence")


def test_pyconll_on_real_treebanks(treebank_dir):
    pyconll = pytest.importorskip("pyconll", reason="pyconll is not installed: pip install pyconll")
    path = min(treebank_dir.glob("*/*dev.conllu"))
    theirs = pyconll.load_from_string("\n".join(path.read_text(encoding="utf-8").split("\n\n")[:200]))
    assert len(theirs) > 0
    for sentence in list(arbora.read(path))[:200]:
        there = sentence.to_pyconll()
        assert Sentence.from_pyconll(there).heads == sentence.heads


def test_dictionaries_for_displacy():
    sentence = Sentence.from_lists(
        ["She", "reads", "<b>"], ["PRON", "VERB", None], [2, 0, 2], ["nsubj", "root", "obj"]
    )
    assert sentence.to_displacy() == {
        "words": [
            {"text": "She", "tag": "PRON"},
            {"text": "reads", "tag": "VERB"},
            {"text": "<b>", "tag": ""},
        ],
        "arcs": [
            {"start": 0, "end": 1, "label": "nsubj", "dir": "left"},
            {"start": 1, "end": 2, "label": "obj", "dir": "right"},
        ],
    }
    assert sentence.to_displacy(lemmas=True)["words"][0] == {"text": "She", "tag": "PRON", "lemma": None}
    with rejects(DataError, source="<text>"):
        Sentence.from_lists(["a", "b"]).to_displacy()


def test_displacy_draws_them(sentences):
    pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'arbora-nlp[spacy]'")
    from spacy import displacy

    sentences = [sentence for sentence in sentences if -1 not in sentence.heads]
    for options in ({}, {"lemmas": True}):
        drawn = [sentence.to_displacy(**options) for sentence in sentences]
        picture = displacy.render(
            drawn, style="dep", manual=True, jupyter=False, options={"add_lemma": bool(options)}
        )
        assert picture.count("<svg") == len(sentences)
        for sentence in sentences:
            assert all(label in picture for label in sentence.deprels if label != "root")
