import pickle
from dataclasses import replace

import conllu as conllu_package
import pytest
from errors import rejects

from arbora.data import treebank
from arbora.data.columns import parse_sentence
from arbora.data.sentence import Sentence, Word
from arbora.data.tree import Tree
from arbora.errors import DataError, InputError


@pytest.fixture(scope="module")
def sentences(small_treebank):
    return list(treebank.read(small_treebank))


def test_columns_and_words(sentences):
    first = sentences[0]
    assert len(first) == 5
    assert first.forms == ("The", "old", "boat", "sleeps", ".")
    assert first.heads == (3, 3, 4, 0, 4)
    assert first[3] == Word(
        4,
        "sleeps",
        "sleep",
        "VERB",
        "VBZ",
        "Number=Sing|Person=3",
        0,
        "root",
        "0:root",
        "SpaceAfter=No",
    )
    assert first[-1].form == "."
    assert [word.id for word in first] == [1, 2, 3, 4, 5]
    assert first[3].features == {"Number": "Sing", "Person": "3"}
    assert first[4].features == {}
    with pytest.raises(IndexError):
        first[5]


def test_places_of_words():
    bare = Sentence.from_lists(["a", "b"])
    assert bare[0].start is bare[0].end is None
    assert [word.start for word in replace(bare, spans=((3, 4), (5, 6)))] == [3, 5]
    assert replace(bare, spans=((3, 4), (5, 6))) == bare
    with rejects(InputError, field="spans"):
        replace(bare, spans=((3, 4),))
    told = Sentence.from_lists(["a", "b"], misc=["SpaceAfter=No|TokenRange=0:1", "TokenRange=1:2|X=y"])
    assert [(word.start, word.end) for word in told] == [(0, 1), (1, 2)]
    assert (told[1].start, told[1].end) == (1, 2)
    for odd in ("TokenRange=1", "TokenRange=a:b", "XTokenRange=0:1", f"TokenRange=0:{'9' * 5000}"):
        assert Sentence.from_lists(["a"], misc=[odd])[0].end is None


def test_comments_multiword_tokens_and_empty_nodes(sentences):
    assert sentences[2].metadata["sent_id"] == "h-3"
    assert sentences[2].metadata["note without an equals sign"] == ""
    (token,) = sentences[1].multiword_tokens
    assert (token.first, token.last, token.form, token.id) == (1, 2, "Don't", "1-2")
    (node,) = sentences[2].empty_nodes
    assert (node.id, node.form, node.deps) == ("5.1", "mends", "2:conj:and")
    assert [node.id for node in sentences[10].empty_nodes] == ["2.1", "2.2", "4.1"]


def test_text_is_the_comment_or_made_of_tokens(sentences):
    assert sentences[1].text == "Don't wake the harbour cat!"
    for sentence in sentences:
        bare = Sentence(
            *(getattr(sentence, name) for name in list(Sentence.__match_args__)[:9]),
            multiword_tokens=sentence.multiword_tokens,
        )
        assert bare.text == sentence.text


def test_a_sentence_is_a_value(sentences):
    again = parse_sentence(sentences[2].to_conllu())
    assert again == sentences[2]
    assert hash(again) == hash(sentences[2])
    assert again.origin != sentences[2].origin
    assert pickle.loads(pickle.dumps(again)) == again
    with pytest.raises(AttributeError):
        again.forms = ()


def test_tree_and_back(sentences):
    tree = sentences[3].tree
    assert tree is sentences[3].tree
    assert tree == Tree.from_heads([2, 3, 0, 3, 7, 7, 2, 3], labels=sentences[3].deprels)
    assert not tree.is_projective()
    chain = Tree.from_heads(range(8))
    changed = sentences[3].with_tree(chain)
    assert changed.tree.heads.tolist() == chain.heads.tolist()
    assert changed.deprels == sentences[3].deprels
    assert changed.comments == sentences[3].comments
    assert sentences[3].tree is tree
    with rejects(InputError, field="tree"):
        sentences[3].with_tree(Tree.from_heads([0]))


def test_missing_heads_have_no_tree(sentences, small_treebank):
    assert sentences[6].heads == (-1, -1)
    with rejects(DataError, line=62) as caught:
        _ = sentences[6].tree
    assert caught.value.source == str(small_treebank)
    assert caught.value.line == sentences[6].origin.line


def test_plain_lists_both_ways(sentences):
    made = Sentence.from_lists(["She", "reads"], ["PRON", "VERB"], [2, 0], ["nsubj", "root"])
    assert made.tree.roots == (2,)
    assert made.to_conllu() == (
        "1\tShe\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\treads\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    )
    assert Sentence.from_lists(["a"], heads=[None]).heads == (-1,)
    plain = [s for s in sentences if not s.multiword_tokens and not s.empty_nodes]
    assert [Sentence.from_lists(**s.to_lists()) for s in plain] == plain


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"forms": []}, "forms"),
        ({"forms": ["a\tb"]}, "forms"),
        ({"forms": [""]}, "forms"),
        ({"forms": ["\ud800"]}, "forms"),
        ({"forms": ["a"], "upos": ["A", "B"]}, "upos"),
        ({"forms": ["a"], "upos": []}, "upos"),
        ({"forms": ["a"], "heads": [0, 0]}, "heads"),
        ({"forms": ["a"], "heads": [2]}, "word 1"),
        ({"forms": ["a", "b"], "heads": [2, 1]}, "heads"),
        ({"forms": ["a", "b", "c"], "heads": [2, 1, None]}, "heads"),
        ({"forms": ["a"], "comments": ["x\ny"]}, "comments"),
    ],
)
def test_malformed_lists_are_rejected(arguments, field):
    with rejects(InputError, field=field):
        Sentence.from_lists(**arguments)


def test_unequal_columns_are_rejected():
    with rejects(InputError, field="columns"):
        Sentence(("a",), (), (), (), (), (), (), (), ())


def test_the_conllu_package_both_ways(sentences):
    tokens = sentences[2].to_token_list()
    assert isinstance(tokens, conllu_package.TokenList)
    assert [token["form"] for token in tokens][:3] == ["Mira", "mends", "nets"]
    assert tokens.metadata["sent_id"] == "h-3"
    for sentence in sentences:
        assert Sentence.from_token_list(sentence.to_token_list()) == sentence
    with rejects(InputError, field="tokens"):
        Sentence.from_token_list("no tokens")


def test_objects_of_the_conllu_package_on_real_treebanks(treebank_dir):
    for path in sorted(treebank_dir.glob("*/*dev.conllu"))[:3]:
        text = path.read_text(encoding="utf-8")[:40_000].rpartition("\n\n")[0] + "\n\n"
        ours = [s for s in treebank.read(path) if s.origin.line < text.count("\n")]
        theirs = conllu_package.parse(text)
        assert len(ours) == len(theirs) > 5
        for sentence, tokens in zip(ours, theirs, strict=True):
            assert [word.form for word in sentence] == [
                token["form"] for token in tokens if isinstance(token["id"], int)
            ]
            assert list(sentence.heads) == [token["head"] for token in tokens if isinstance(token["id"], int)]


def test_formats_parse_and_render_one_sentence():
    text = "1\ta\t_\tN\tN\t_\t0\tROOT\t2\tX\n\n"
    assert parse_sentence(text, "conllx").to_conllu() == text
    assert parse_sentence(text).to_conllu() == text
    with rejects(DataError, source="<text>"):
        parse_sentence(text + text)
    with rejects(DataError, line=1, source="<text>"):
        parse_sentence("1\ta\n", "conllx")
    with rejects(DataError, line=2, source="<text>"):
        parse_sentence(text.strip() + "\n2\tb\t_\t_\t_\t_\t0\t_\t_\t_\n", roots="single")


def test_projective_heads_of_conllx_survive_conllu():
    text = "1\ta\t_\tN\tN\t_\t0\tROOT\t2\tX\n2\tb\t_\tN\tN\t_\t1\tR\t_\t_\n"
    sentence = parse_sentence(text, "conllx")
    there = treebank.conllx_to_conllu(sentence)
    assert there.deps == ("_", "_")
    assert there.misc == ("PHead=2|PDeprel=X", "_")
    assert treebank.conllu_to_conllx(there) == sentence


def test_conllx_keeps_words_only(sentences):
    for sentence in map(treebank.conllu_to_conllx, sentences):
        assert parse_sentence(sentence.to_conllu(), "conllx") == sentence
        assert not sentence.comments
    assert treebank.conllu_to_conllx(sentences[4]).forms[2] == "3_000"
