"""Arbora as a component of spaCy pipelines."""

import pickle
from pathlib import Path

import pytest
from errors import rejects

import arbora
from arbora.data.sentence import Sentence
from arbora.data.synthetic import generate
from arbora.errors import ModelError

spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'arbora-nlp[spacy]'")

from spacy.tokens import Doc, DocBin  # noqa: E402

from arbora.integrations import spacy as integration  # noqa: E402


@pytest.fixture(scope="module")
def gold():
    return list(generate(60, seed=5))


@pytest.fixture(scope="module")
def model(gold, tmp_path_factory):
    config = {"tree_bits": 12, "label_bits": 12, "order": 1, "parameters": {"epochs": 2}}
    path = tmp_path_factory.mktemp("spacy") / "small.arbora"
    arbora.train(gold, config=config).parser.save(path)
    return str(path)


@pytest.fixture(scope="module")
def parser(model):
    return arbora.load(model)


@pytest.fixture
def nlp(model):
    made = spacy.blank("xx")
    made.add_pipe("arbora", config={"model": model})
    return made


def make_doc(nlp, sentences, *, starts=True, tags=True):
    """A Doc that is tokenized, and perhaps tagged and split."""
    words = [form for sentence in sentences for form in sentence.forms]
    given = {}
    if starts:
        given["sent_starts"] = [i == 0 for sentence in sentences for i in range(len(sentence))]
    if tags:
        given["pos"] = [tag for sentence in sentences for tag in sentence.upos]
        given["tags"] = ["" if tag == "_" else tag for sentence in sentences for tag in sentence.xpos]
        given["morphs"] = [
            "" if feats == "_" else feats for sentence in sentences for feats in sentence.feats
        ]
        given["lemmas"] = [
            "" if lemma == "_" else lemma for sentence in sentences for lemma in sentence.lemmas
        ]
    return Doc(nlp.vocab, words=words, **given)


def heads_of(span):
    return tuple(0 if token.head == token else token.head.i - span.start + 1 for token in span)


def check(doc, parsed):
    sents = list(doc.sents)
    assert [sent.text.split() for sent in sents] == [list(tree.sentence.forms) for tree in parsed]
    for sent, tree in zip(sents, parsed, strict=True):
        assert heads_of(sent) == tree.sentence.heads
        labels = ["ROOT" if word.head == 0 else word.deprel for word in tree]
        assert [token.dep_ for token in sent] == labels
        assert tuple(token._.head_probability for token in sent) == tree.head_probabilities
        assert tuple(token._.label_probability for token in sent) == tree.label_probabilities
        assert tuple(token._.head_entropy for token in sent) == tree.entropies
        assert sent._.tree_probability == tree.probability
        assert sent._.tree_entropy == tree.entropy
        assert sent.root.dep_ == "ROOT"


def test_trees_are_those_of_the_parser(nlp, gold, parser):
    doc = nlp(make_doc(nlp, gold[:4]))
    check(doc, parser.parse(gold[:4], probabilities=True))
    assert doc.has_annotation("DEP")
    assert [token.pos_ for token in doc] == [tag for sentence in gold[:4] for tag in sentence.upos]


def test_batches_are_one_call(nlp, gold, parser, monkeypatch):
    component = nlp.get_pipe("arbora")
    calls = []

    class Counting:
        def parse(self, sentences, **options):
            calls.append(len(sentences))
            return parser.parse(sentences, **options)

    monkeypatch.setattr(component, "_loaded", Counting())
    docs = [make_doc(nlp, gold[i : i + 2]) for i in range(0, 20, 2)]
    found = list(nlp.pipe(docs, batch_size=4))
    assert calls == [8, 8, 4]
    for i, doc in enumerate(found):
        check(doc, parser.parse(gold[2 * i : 2 * i + 2], probabilities=True))


def test_given_sentence_starts_are_kept(nlp):
    doc = Doc(nlp.vocab, words=["a", ".", "b", ".", "c"], sent_starts=[True, None, None, None, True])
    assert [sent.text for sent in nlp(doc).sents] == ["a . b .", "c"]
    doc = Doc(nlp.vocab, words=["a", ".", "b", "c"], sent_starts=[True, False, False, False])
    assert [sent.text for sent in nlp(doc).sents] == ["a . b c"]
    assert [sent.text for sent in nlp("One here. Two here! Three").sents] == [
        "One here.",
        "Two here!",
        "Three",
    ]


def test_whitespace_tokens_attach_to_words(nlp):
    doc = nlp("  One  here.\n\nTwo\there.   ")
    for token in doc:
        if token.is_space:
            assert token.dep_ == "dep"
            assert not token.head.is_space
    assert [sent.text.split() for sent in doc.sents] == [["One", "here."], ["Two", "here."]]
    assert all(sum(token.head == token for token in sent) == 1 for sent in doc.sents)
    blank = nlp(" \n ")
    assert len(list(blank.sents)) == 1
    assert len(nlp("")) == 0


def test_tokens_with_tabs_and_line_breaks(nlp):
    words = ["a\tb", "c\nd", "\u200d", "<script>", "#", "_", "1-2"]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [token.text for token in doc] == words
    assert sum(token.head == token for token in doc) == len(list(doc.sents))


def test_features_are_sorted_as_in_treebanks(nlp):
    doc = Doc(nlp.vocab, words=["1st"], morphs=["Number=Sing|NumForm=Combi|NumType=Ord"])
    assert str(doc[0].morph) != "Number=Sing|NumForm=Combi|NumType=Ord"
    assert integration._sentence(list(doc)).feats == ("Number=Sing|NumForm=Combi|NumType=Ord",)


class Tagging:
    """A stand-in for a model that tags and returns several roots and crossing arcs."""

    def parse(self, sentences, *, probabilities, threads):
        assert not probabilities
        return [
            Sentence.from_lists(
                sentence.forms, ["NOUN", "VERB", "X", "NOUN"], [3, 0, 0, 1], ["a", "root", "root", "b"],
                lemmas=["l"] * 4, xpos=["t"] * 4, feats=["Number=Sing"] * 4,
            )
            for sentence in sentences
        ]  # fmt: skip


def test_missing_annotation_is_filled_in(model):
    nlp = spacy.blank("xx")
    component = nlp.add_pipe("arbora", config={"model": model, "probabilities": False})
    component._loaded = Tagging()
    doc = Doc(nlp.vocab, words=["a", "b", "c", "d"], pos=["ADJ", "", "", ""], lemmas=["mine", "", "", ""])
    doc = nlp(doc)
    assert [token.pos_ for token in doc] == ["ADJ", "VERB", "X", "NOUN"]
    assert [token.lemma_ for token in doc] == ["mine", "l", "l", "l"]
    assert [token.tag_ for token in doc] == ["t"] * 4
    assert str(doc[0].morph) == "Number=Sing"
    assert [token.head.i for token in doc] == [2, 1, 1, 0]  # one root: the second hangs on the first
    assert len(list(doc.sents)) == 1
    assert doc[0]._.head_probability is None
    assert next(doc.sents)._.tree_probability is None


def test_saved_pipelines_contain_their_model(model, gold, tmp_path):
    moved = tmp_path / "moved.arbora"
    moved.write_bytes(Path(model).read_bytes())
    nlp = spacy.blank("xx")
    nlp.add_pipe("arbora", config={"model": str(moved)})
    doc = nlp(make_doc(nlp, gold[:2]))
    nlp.to_disk(tmp_path / "pipeline")
    moved.unlink()
    again = spacy.load(tmp_path / "pipeline")
    copied = spacy.blank("xx")
    copied.add_pipe("arbora", config={"model": model})
    copied.from_bytes(again.to_bytes())
    pickled = pickle.loads(pickle.dumps(copied.get_pipe("arbora")))
    for other in (again, copied):
        found = other(make_doc(other, gold[:2]))
        assert [token.head.i for token in found] == [token.head.i for token in doc]
        assert [token._.head_probability for token in found] == [token._.head_probability for token in doc]
    assert [token.head.i for token in pickled(make_doc(nlp, gold[:2]))] == [token.head.i for token in doc]


def test_probabilities_are_saved_with_the_doc(nlp, gold):
    doc = nlp(make_doc(nlp, gold[:2]))
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert [token._.head_probability for token in again] == [token._.head_probability for token in doc]
    assert [s._.tree_probability for s in again.sents] == [s._.tree_probability for s in doc.sents]


def test_models_have_names(model, monkeypatch):
    monkeypatch.setenv("ARBORA_MODELS", str(Path(model).parent))
    nlp = spacy.blank("xx")
    component = nlp.add_pipe("arbora", config={"model": "Small"})
    assert component.parser.source == arbora.load("small").source


def test_models_are_checked_in_pipelines_that_were_saved(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    with rejects(ModelError, source="no-such"):
        again.add_pipe("arbora", name="second", config={"model": "no-such"})


def test_bad_models_and_settings_are_rejected(tmp_path):
    nlp = spacy.blank("xx")
    with rejects(ModelError, source="no-such.arbora"):
        nlp.add_pipe("arbora", config={"model": "no-such.arbora"})
    bad = tmp_path / "bad.arbora"
    bad.write_bytes(b"no model")
    with rejects(ModelError, source=str(bad)):
        spacy.blank("xx").add_pipe("arbora", config={"model": str(bad)})
    with pytest.raises(arbora.InputError):
        integration.ArboraParser("arbora").from_bytes(b"{}\n")


def test_errors_reach_the_error_handler(nlp, gold):
    seen = []
    nlp.set_error_handler(lambda name, component, docs, error: seen.append((name, len(docs), error)))
    nlp.get_pipe("arbora")._loaded = object()
    list(nlp.pipe([make_doc(nlp, gold[:1]), make_doc(nlp, gold[1:2])]))
    ((name, count, error),) = seen
    assert (name, count, type(error)) == ("arbora", 2, AttributeError)
