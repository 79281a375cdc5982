"""Whole models in use: from texts and words to trees, and in files."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from errors import rejects
from pipeline_toys import SMALL, columns, conllu, texts, trained, without

import arbora
from arbora.data.columns import parse_sentence, parse_text
from arbora.data.sentence import Sentence
from arbora.errors import InputError
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import FILLED, Pipeline
from arbora.training import train

TEXT = "Ann calls the dogs. Bob helped the tree!"
WORDS = ["Ann", "calls", "the", "dogs", "."]


@pytest.fixture(scope="module")
def pipeline():
    return trained().pipeline


@pytest.fixture(scope="module")
def bare_parser(pipeline):
    """A parser alone."""
    return Pipeline(parser=pipeline.parser, source="p.arbora")


def parsed(text):
    return parse_text(text, "conllu")


# ---------------------------------------------------------------- texts


def test_parses_text(pipeline):
    first, second = pipeline(TEXT)
    assert first.sentence.forms == tuple(WORDS)
    assert first.sentence.upos == ("PROPN", "VERB", "DET", "NOUN", "PUNCT")
    assert first.sentence.lemmas == ("Ann", "call", "the", "dog", ".")
    assert first.sentence.feats[3] == "Number=Plur"
    assert first.sentence.heads == (2, 0, 4, 2, 2)
    assert second.sentence.forms[-1] == "!"
    assert all(0 < p <= 1 for p in first.head_probabilities)
    assert [p.sentence for p in pipeline(TEXT, threads=2)] == [first.sentence, second.sentence]
    assert pipeline(TEXT, decode="minimum-risk")[0].sentence.heads == (2, 0, 4, 2, 2)


@pytest.mark.parametrize("threads", [0, 2**31])
def test_impossible_numbers_of_threads_are_rejected(pipeline, threads):
    with rejects(InputError, field="threads"):
        pipeline(TEXT, threads=threads)
    with rejects(InputError, field="threads"):
        pipeline.parse([["Ann", "called"]], threads=threads)


def test_words_have_offsets(pipeline):
    text = f"\n  {TEXT.replace(' ', '   ')}"
    for sentence in pipeline(text):
        assert [text[word.start : word.end] for word in sentence] == [word.form for word in sentence]
        assert sentence[1].start == list(sentence)[1].start == sentence.sentence[1].start
        assert sentence.kbest(2)[-1][0].end == sentence[0].end
        assert "TokenRange" not in sentence.to_conllu()
    assert pipeline.parse([WORDS])[0][0].start is None
    assert pipeline.parse([WORDS], probabilities=True)[0][0].end is None


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\r\n", "\x00\x01", "\ufeff"])
def test_empty_text_has_no_sentences(pipeline, text):
    assert pipeline(text) == []


@pytest.mark.parametrize("wrong", [None, 5, b"Ann calls", ["Ann"], Sentence.from_lists(["Ann"])])
def test_only_text_is_accepted(pipeline, wrong):
    with pytest.raises(InputError):
        pipeline(wrong)


def test_raw_text_is_rejected_without_a_segmenter(bare_parser):
    with pytest.raises(InputError):
        bare_parser(TEXT)
    with pytest.raises(InputError):
        bare_parser.segment("")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert('x')</script> & more",
        "👩‍👩‍👧‍👦 🇩🇰 calls 👍🏽.",
        "אן קוראת לכלב. آن تنادي الكلب.",
        "Z" + "\u0301" * 500 + " calls.",
        "a\u202eb\u2066c",
        "x" * 20_000,
        "\ud7ff\ue000\U0010ffff",
        "a\tb\x0bc\x85d\u2028e",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_parses_of_unusual_texts_can_be_written(pipeline, text):
    found = pipeline(text)
    assert found
    for each in found:
        written = each.sentence.to_conllu()
        assert parse_sentence(written, "conllu").to_conllu() == written


# ---------------------------------------------------------------- words


def test_sentences_with_tags_are_untouched(pipeline):
    given = columns(10, 3)
    assert pipeline.prepare(given) is given
    odd = parsed(without(conllu(5, 3), 2, 4))  # UPOS alone is enough
    assert pipeline.prepare(odd) is odd


def test_bare_sentences_are_filled_column_by_column(pipeline):
    gold = columns(10, 3)
    for places in ((3,), (2, 3), (3, 4, 5), (2, 3, 4, 5)):
        found = pipeline.prepare(parsed(without(conllu(10, 3), *places)))
        for column in FILLED:
            assert texts(found, column) == texts(gold, column)
    marked = without(conllu(5, 3), 3, 4).replace("\tNumber=", "\tOdd=")
    found = pipeline.prepare(parsed(marked))
    assert "_" not in texts(found, "upos") + texts(found, "xpos")
    assert texts(found, "feats") == texts(parsed(marked), "feats")  # which was not `_` everywhere
    assert found.to_bytes() != parsed(marked).to_bytes()


def test_mixed_files(pipeline):
    parts = conllu(4, 3).split("\n\n")[:4]
    odd = parts[1].replace("PROPN", "X")  # a tag of its own, which stays
    half = without(parts[2], 3).replace("1\tAnn\tAnn\t_", "1\tAnn\tAnn\tX")
    mixed = "\n\n".join([without(parts[0], 2, 3, 4, 5), odd, half, without(parts[3], 3), ""])
    given = parsed(mixed)
    found = [s.to_conllu() for s in pipeline.prepare(given).sentences()]
    before = [s.to_conllu() for s in given.sentences()]
    gold = [s.to_conllu() for s in parsed("\n\n".join([*parts, ""])).sentences()]
    assert found[0] == gold[0]
    assert found[1] == before[1]
    assert found[3] == gold[3]
    has_some = any(upos != "_" for upos in next(iter(parsed(half + "\n\n").sentences())).upos)
    assert found[2] == (before[2] if has_some else gold[2])


def test_partly_tagged_sentences_are_unchanged(pipeline):
    some = parsed(
        "1\tAnn\t_\tX\t_\t_\t_\t_\t_\t_\n2\tcalls\t_\t_\t_\t_\t_\t_\t_\t_\n\n" + without(conllu(1), 3)
    )
    found = pipeline.prepare(some)
    assert texts(found, "upos")[:2] == ["X", "_"]
    assert texts(found, "upos")[2:] == texts(columns(1), "upos")


def test_retag_replaces_all(pipeline):
    wrong = parsed(conllu(5, 3).replace("\tNOUN\t", "\tX\t").replace("\tVBD\t", "\tODD\t"))
    found = pipeline.prepare(wrong, retag=True)
    for column in FILLED:
        assert texts(found, column) == texts(columns(5, 3), column)
    with pytest.raises(InputError):
        replace(pipeline, tagger=None).prepare(wrong, retag=True)


def test_models_without_some_parts_leave_columns_empty(pipeline, bare_parser):
    bare = parsed(without(conllu(5, 3), 2, 3, 4, 5))
    assert bare_parser.prepare(bare) is bare
    found = replace(pipeline, lemmatizer=None).prepare(bare)
    assert set(texts(found, "lemma")) == {"_"}
    assert "_" not in texts(found, "upos")
    again = replace(pipeline, lemmatizer=None).prepare(columns(5, 3), retag=True)
    assert texts(again, "lemma") == texts(columns(5, 3), "lemma")


def test_no_sentences_at_all(pipeline):
    nothing = parsed("")
    for retag in (False, True):
        assert len(pipeline.prepare(nothing, retag=retag)) == 0
    assert pipeline.parse([]) == []


def test_words_are_tagged_and_parsed(pipeline):
    (tree,) = pipeline.parse([WORDS])
    assert tree == pipeline.parse([Sentence.from_lists(WORDS)])[0] == pipeline.parse([tuple(WORDS)])[0]
    assert tree.upos == ("PROPN", "VERB", "DET", "NOUN", "PUNCT")
    assert tree.heads == (2, 0, 4, 2, 2)
    own = Sentence.from_lists(WORDS, upos=["X"] * 5)
    mixed = pipeline.parse([own, WORDS, own])
    assert mixed[1] == tree
    assert mixed[0].upos == ("X",) * 5
    assert mixed[0].lemmas == ("_",) * 5
    (sure,) = pipeline.parse([WORDS], probabilities=True)
    assert sure.sentence.heads == tree.heads
    assert sure.sentence.upos == tree.upos


def test_other_columns_are_kept(pipeline):
    (given,) = parsed(without(conllu(1), 3)).sentences()
    (tree,) = pipeline.parse([given])
    assert (tree.comments, tree.misc, tree.forms) == (given.comments, given.misc, given.forms)


@pytest.mark.parametrize(
    "wrong", [None, "Ann calls", 5, WORDS, [None], [5], [["Ann", None]], [[b"Ann"]], [[""]]]
)
def test_only_sentences_are_parsed(pipeline, wrong):
    with pytest.raises(InputError):
        pipeline.parse(wrong)


def test_kept_heads_kbest_and_distributions(pipeline):
    given = Sentence.from_lists(WORDS, heads=[-1, -1, 1, -1, -1], deprels=["_", "_", "odd", "_", "_"])
    for tree in (
        pipeline.parse([given], keep_heads=True)[0],
        pipeline.parse([given], keep_heads=True, probabilities=True)[0].sentence,
        *(found.sentence for found in pipeline.kbest(given, 3, keep_heads=True)),
    ):
        assert (tree.heads[2], tree.deprels[2]) == (1, "odd")
        assert tree.upos[1] == "VERB"
    ranked = pipeline.kbest(WORDS, 5)
    assert len(ranked) == 5
    assert ranked[0].sentence == pipeline.parse([WORDS])[0]
    assert all(a.probability >= b.probability for a, b in pairwise(ranked))
    assert tuple(pipeline.distribution(WORDS).best.heads[1:]) == ranked[0].sentence.heads
    for wrong in (0, 1001, 2.5):
        with pytest.raises(InputError):
            pipeline.kbest(WORDS, wrong)


def test_second_order_pipelines_have_no_distribution():
    found = train(columns(10), config={**SMALL, "order": 2}).pipeline
    with rejects(InputError, field="distribution"):
        found.distribution(WORDS)


# ---------------------------------------------------------------- files


def same_everywhere(one, other):
    assert one.parts == other.parts
    text = "".join(
        f"{s.forms[0]} {s.forms[1]} x{i} the dogs. " for i, s in enumerate(columns(20, 7).sentences())
    )
    first, second = one(text), other(text)
    assert [p.sentence for p in first] == [p.sentence for p in second]
    assert [p.head_probabilities for p in first] == [p.head_probabilities for p in second]


def test_saved_pipelines_load_unchanged(pipeline, tmp_path):
    pipeline.save(tmp_path / "a")
    again = arbora.load(tmp_path / "a")
    same_everywhere(replace(pipeline, segmenter=again.segmenter), again)
    assert again.about == pipeline.about
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Parser.load(tmp_path / "a").parse([WORDS]) == pipeline.parser.parse([WORDS])


def test_rounded_equals_a_quantized_file(pipeline, tmp_path):
    pipeline.save(tmp_path / "a", quantized=True)
    pipeline.rounded().save(tmp_path / "b", quantized=True)
    again, rounded = arbora.load(tmp_path / "a"), pipeline.rounded()
    same_everywhere(rounded, again)
    for part in ("tagger", "lemmatizer"):
        ours, theirs = (getattr(each, part).to_parts() for each in (rounded, again))
        assert ours[1] == theirs[1]
        assert all(np.array_equal(ours[0][name], theirs[0][name]) for name in theirs[0])
    ours, theirs = rounded.segmenter.native.parts(), again.segmenter.native.parts()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ("token", "sentence", "multiword"))
    assert (tmp_path / "a").stat().st_size < 0.9 * _size(pipeline, tmp_path / "c")


def _size(pipeline, path):
    pipeline.save(path)
    return path.stat().st_size


def test_a_parser_file_loads_as_a_pipeline(pipeline, tmp_path):
    pipeline.parser.save(tmp_path / "p")
    found = arbora.load(tmp_path / "p")
    assert found.parts == ("parser",)
    assert found.source == str(tmp_path / "p")
    assert found.about == {"dev": pipeline.parser.about["dev"]}
