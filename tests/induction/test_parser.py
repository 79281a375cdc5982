"""Parsers over tags: trees, probabilities, punctuation, given heads and files, against plain enumeration."""

import itertools
import math
import pickle

import numpy as np
import pytest
from errors import rejects

from arbora import load
from arbora.data.columns import columns_of
from arbora.data.sentence import Sentence
from arbora.errors import InputError, ModelError, NoTreeError
from arbora.induction.arc_model import ArcFeatures, ArcModel, pair_table
from arbora.induction.corpus import strip
from arbora.induction.search import InducedSearch, induced_parser
from arbora.interfaces import PartKind
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.search.request import ParseRequest, Temperatures
from arbora.storage.model_file import read_model, write_model

TAGS = ("ADJ", "NOUN", "VERB")


def make_parser(trees="projective", roots="single", seed=0):
    rng = np.random.default_rng(seed)
    model = ArcModel(
        tags=TAGS,
        weights=rng.normal(scale=0.5, size=ArcFeatures(len(TAGS)).size).astype(np.float32).astype(float),
        pairs=pair_table(rng.normal(size=(4, 3))),
        trees=trees,
        roots=roots,
    )
    return induced_parser(model, {"model": "crfae"})


def make_sentence(text, tags, heads=None):
    return Sentence.from_lists(text.split(), upos=tags.split(), heads=heads)


PLAIN = make_sentence("big dogs bark", "ADJ NOUN VERB")
MARKED = make_sentence('" big dogs , bark !', "PUNCT ADJ NOUN PUNCT VERB PUNCT")


def all_trees(n, projective):
    """Heads of all single-root trees, as tuples without the root's."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) != 1 or any(head == word for word, head in enumerate(heads, 1)):
            continue
        if all(reaches_root(heads, word) for word in range(1, n + 1)) and not (projective and crosses(heads)):
            yield heads


def reaches_root(heads, word):
    for _ in heads:
        word = heads[word - 1]
        if word == 0:
            return True
    return False


def crosses(heads):
    """The root's arcs count, as from a node before all words."""
    arcs = [sorted((head, word)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


def shares(parser, sentence, trees):
    """P of each tree of the sentence's words, by adding up."""
    tags = np.array([[TAGS.index(t) for t in sentence.upos if t in TAGS]], dtype=np.int32)
    scores = parser.search.model.scores(tags)[PartKind.ARC][0]
    weights = {tree: math.exp(sum(scores[head, word] for word, head in enumerate(tree, 1))) for tree in trees}
    total = sum(weights.values())
    return {tree: weight / total for tree, weight in weights.items()}


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_trees_and_probabilities_are_those_of_all_trees_added_up(trees):
    parser = make_parser(trees)
    expected = shares(parser, PLAIN, all_trees(3, trees == "projective"))
    (parsed,) = parser.parse([PLAIN], probabilities=True)
    best = max(expected, key=expected.__getitem__)
    assert parsed.heads == best
    assert parsed.probability == pytest.approx(expected[best])
    for word, head in enumerate(best):
        of_word = sum(p for tree, p in expected.items() if tree[word] == head)
        assert parsed.head_probabilities[word] == pytest.approx(of_word)
    assert parsed.entropy == pytest.approx(-sum(p * math.log(p) for p in expected.values()))
    ranked = parser.kbest(PLAIN, 1000)
    assert [tree.heads for tree in ranked] == sorted(expected, key=expected.__getitem__, reverse=True)
    assert sum(tree.probability for tree in ranked) == pytest.approx(1.0)
    logs = [parser.distribution(PLAIN).log_prob([-1, *tree.heads]) for tree in ranked]
    assert np.exp(logs) == pytest.approx([tree.probability for tree in ranked])


def test_labels_follow_from_the_tree():
    (parsed,) = make_parser().parse([MARKED])
    assert parsed.deprels.count("root") == 1
    assert [label == "punct" for label in parsed.deprels] == [tag == "PUNCT" for tag in MARKED.upos]
    assert parsed.heads[parsed.deprels.index("root")] == 0


def test_punctuation_changes_nothing_else():
    parser = make_parser()
    (plain,), (marked,) = (parser.parse([s], probabilities=True) for s in (PLAIN, MARKED))
    places = [2, 3, 5]
    number = {0: 0, **{place: i for i, place in enumerate(places, 1)}}
    assert [number[marked.heads[place - 1]] for place in places] == list(plain.heads)
    assert [marked.head_probabilities[place - 1] for place in places] == pytest.approx(
        plain.head_probabilities
    )
    assert marked.probability == pytest.approx(plain.probability)
    assert marked.entropy == pytest.approx(plain.entropy)
    assert parser.distribution(MARKED).entropy == pytest.approx(plain.entropy)


def test_marks_hang_as_high_as_they_can_without_crossing():
    text = make_sentence("( a b , c d .", "PUNCT X X PUNCT X X PUNCT")
    columns = columns_of([text])
    (stripped,) = strip(columns, columns.heads, TAGS, keep_heads=False)
    # b hangs on d over the comma, which so may hang on b or d; c on d; d is the root.
    found = stripped.put_back(np.array([2, 4, 4, 0], dtype=np.int32))
    assert found.tolist() == [6, 3, 6, 6, 6, 0, 6]
    # a is the root and b its dependent, c and d are b's: the comma lies within b's span.
    found = stripped.put_back(np.array([0, 1, 2, 3], dtype=np.int32))
    assert found.tolist() == [2, 0, 2, 3, 3, 5, 2]


@pytest.mark.parametrize("seed", range(20))
def test_marks_never_make_arcs_cross(seed):
    rng = np.random.default_rng(seed)
    tags = rng.choice(["PUNCT", *TAGS], size=rng.integers(1, 12))
    sentence = make_sentence(" ".join("w" if t != "PUNCT" else "," for t in tags), " ".join(tags))
    (parsed,) = make_parser(seed=seed).parse([sentence])
    assert parsed.heads.count(0) == 1
    assert all(reaches_root(parsed.heads, word) for word in range(1, len(tags) + 1))
    assert not crosses(parsed.heads)


def test_sentences_of_punctuation_have_trees():
    (parsed,) = make_parser().parse([make_sentence("... !", "PUNCT PUNCT")])
    assert parsed.heads.count(0) == 1


def test_unknown_tags_have_trees():
    (parsed,) = make_parser().parse([make_sentence("x y z", "FOO BAR NOUN")], probabilities=True)
    assert 0.0 < parsed.probability <= 1.0


@pytest.mark.parametrize("given", [(-1, 1, -1), (2, -1, 2), (3, 3, 0)])
def test_given_heads_are_kept_and_the_rest_is_best(given):
    parser = make_parser()
    sentence = make_sentence("big dogs bark", "ADJ NOUN VERB", [None if h < 0 else h for h in given])
    expected = shares(
        parser,
        PLAIN,
        [
            tree
            for tree in all_trees(3, True)
            if all(h in (-1, own) for h, own in zip(given, tree, strict=True))
        ],
    )
    (parsed,) = parser.parse([sentence], probabilities=True, keep_heads=True)
    best = max(expected, key=expected.__getitem__)
    assert parsed.heads == best
    assert parsed.probability == pytest.approx(expected[best])


def test_given_heads_on_marks_are_kept():
    sentence = make_sentence("big , dogs", "ADJ PUNCT NOUN", [2, 3, 0])
    (parsed,) = make_parser().parse([sentence], keep_heads=True)
    assert parsed.heads == (2, 3, 0)


def test_given_heads_in_no_tree_are_an_error():
    sentence = make_sentence("big dogs bark", "ADJ NOUN VERB", [0, 0, 1])
    with pytest.raises(NoTreeError):
        make_parser().parse([sentence], keep_heads=True)


def test_minimum_risk_has_the_most_expected_heads():
    parser = make_parser("nonprojective", seed=3)
    expected = shares(parser, PLAIN, all_trees(3, False))
    found = parser.confidence(
        columns_of([PLAIN]), decode="minimum-risk", temperatures=Temperatures(risk=1.0), arc_table=True
    )
    gains = {
        tree: sum(
            sum(p for other, p in expected.items() if other[word] == head) for word, head in enumerate(tree)
        )
        for tree in expected
    }
    assert tuple(found.heads.tolist()) == max(gains, key=gains.__getitem__)
    assert found.arc_table.reshape(4, 4)[:, 1:].sum(axis=0) == pytest.approx(1.0)


def test_a_high_temperature_makes_all_trees_alike():
    found = make_parser().confidence(columns_of([PLAIN]), temperatures=Temperatures(trees=1e6), k=100)
    assert np.exp(found.log_probabilities) == pytest.approx(1 / len(found.log_probabilities), rel=1e-3)


def test_many_sentences_at_once_are_as_one_by_one():
    rng = np.random.default_rng(5)
    sentences = []
    for _ in range(30):
        tags = rng.choice(["PUNCT", *TAGS, "X"], size=rng.integers(1, 9))
        sentences.append(make_sentence(" ".join("." if t == "PUNCT" else "w" for t in tags), " ".join(tags)))
    parser = make_parser()
    together = parser.parse(sentences, probabilities=True, threads=2)
    for sentence, one in zip(sentences, together, strict=True):
        (alone,) = parser.parse([sentence], probabilities=True)
        assert alone.heads == one.heads == parser.parse([sentence])[0].heads
        assert alone.head_probabilities == pytest.approx(one.head_probabilities)


def test_heads_of_marks_are_as_sure_as_the_trees_that_have_them():
    parser = make_parser(seed=4)
    ranked = parser.kbest(MARKED, 7)  # all projective trees of three words
    assert sum(tree.probability for tree in ranked) == pytest.approx(1.0)
    for mark in (0, 3, 5):
        shares = {}
        for tree in ranked:
            shares[tree.heads[mark]] = shares.get(tree.heads[mark], 0.0) + tree.probability
        for tree in ranked:
            assert tree.head_probabilities[mark] == pytest.approx(shares[tree.heads[mark]])
    found = parser.confidence(columns_of([MARKED]), arc_table=True)
    assert found.arc_table.reshape(7, 7)[:, 1:].sum(axis=0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "heads",
    [
        [0, 0, -1, -1],  # two roots
        [2, 1, -1, -1],  # a cycle
        [3, 4, -1, -1],  # arcs that cross
    ],
)
def test_given_heads_without_any_tree_are_rejected(heads):
    parser = make_parser()
    given = parser.encode(columns_of([make_sentence("a b c d", "NOUN NOUN VERB ADJ")]))
    given.set_heads(np.array(heads, dtype=np.int32))
    with pytest.raises(NoTreeError):
        parser.trees(given, keep_heads=True)
    with pytest.raises(NoTreeError):
        parser.confidence(given, keep_heads=True)


def test_kept_marks_are_labelled_as_marks():
    given = make_sentence("big dogs , bark", "ADJ NOUN PUNCT VERB", [None, None, 4, None])
    (parsed,) = make_parser().parse([given], keep_heads=True)
    assert parsed.deprels[2] == "punct"
    (only_marks,) = make_parser().parse([make_sentence("... !", "PUNCT PUNCT")])
    assert sorted(only_marks.deprels) == ["punct", "root"]


def test_kbest_lists_are_those_of_the_parser():
    parser = make_parser()
    (found,) = parser.search.kbest(parser.encode(columns_of([MARKED])), 4, ParseRequest())
    assert [tuple(heads) for heads in found.heads.tolist()] == [
        tree.heads for tree in parser.kbest(MARKED, 4)
    ]


def test_it_may_be_one_of_an_ensemble():
    pair = ensemble([make_parser(seed=1), make_parser(seed=2)])
    found = pair.confidence(columns_of([PLAIN, MARKED]))
    names = [pair.names.labels[label] for label in found.labels.tolist()]
    assert names.count("root") == 2
    assert names[3:].count("punct") == 3
    assert len(found.heads) == 9
    assert np.all((found.head_probabilities >= 0) & (found.head_probabilities <= 1 + 1e-12))


def test_files_bring_it_back(tmp_path):
    parser, path = make_parser(), tmp_path / "x.arbora"
    parser.save(path)
    for again in (Parser.load(path), load(path).parser, pickle.loads(pickle.dumps(parser))):
        assert isinstance(again.search, InducedSearch)
        assert again.parse([MARKED]) == parser.parse([MARKED])
        assert again.about == parser.about


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda m, t: m.update(model="other"), "model"),
        (lambda m, t: m.update(tags=["NOUN", "NOUN", "PUNCT"]), "tags"),
        (lambda m, t: m.update(trees="other"), "model"),
        (lambda m, t: m.update(calibration=3), "calibration"),
        (lambda m, t: t.update(pairs=np.full((5, 4), np.nan)), "tensor 'pairs'"),
        (lambda m, t: t.update(places=t["places"] + 10**9), "weights"),
        (lambda m, t: t.update(weights=t["weights"][1:]), "weights"),
    ],
)
def test_damaged_files_are_rejected(tmp_path, change, field):
    path = tmp_path / "x.arbora"
    make_parser().save(path)
    file = read_model(path)
    metadata, tensors = dict(file.metadata), {name: array.copy() for name, array in file.tensors.items()}
    change(metadata, tensors)
    write_model(path, tensors, metadata)
    with rejects(ModelError, field=field):
        load(path)


def test_malformed_heads_are_rejected():
    encoded = make_parser().encode(columns_of([PLAIN]))
    with rejects(InputError, field="sentence 0, word 2"):
        encoded.set_heads(np.array([0, 2, 1], dtype=np.int32))
