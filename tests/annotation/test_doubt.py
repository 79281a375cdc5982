"""Doubts of parsed sentences against all trees of short ones; orders by doubt and diversity."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank
from oracle.enumerate_trees import enumerate_forest

from arbora.annotation.doubt import (
    arc_doubts,
    arc_features,
    decaying_order,
    order_arcs,
    order_sentences,
    sentence_doubts,
    sentence_features,
)
from arbora.data.sentence import NO_HEAD
from arbora.errors import InputError, UnknownNameError
from arbora.interfaces import PartKind
from arbora.parsing.ensemble import ensemble
from arbora.search.request import Temperatures
from arbora.training import train

SHORT = [s for s in treebank(90, seed=3, nonprojective=0.3, longest=8).sentences() if 2 <= len(s) <= 5][:6]
MEASURES = ("entropy", "wrong-heads", "wrong-arcs", "margin")


@pytest.fixture(scope="module", params=["projective", "nonprojective"])
def parser(request):
    made = train(treebank(40, seed=1), config=config(epochs=2, order=1, trees=request.param)).parser
    return replace(made, calibration=Temperatures(trees=0.4, labels=0.6), is_calibrated=True)


@pytest.fixture(scope="module")
def second_order():
    made = train(treebank(30, seed=1), config=config(epochs=1, order=2, trees="nonprojective")).parser
    return replace(made, is_calibrated=True)


def forest_of(parser, sentence, required=None):
    scores = parser.distribution(sentence).scores
    return enumerate_forest(scores, parser.search.trees, parser.search.roots, required=required)


def margin(probabilities):
    best = np.sort(np.append(probabilities, [0.0, 0.0]))[::-1]
    return float(1 - (best[0] - best[1])) if np.count_nonzero(best) > 1 else 0.0


def test_doubts_of_sentences_are_those_of_all_trees(parser):
    parsed = parser.parse(SHORT, probabilities=True)
    got = {measure: sentence_doubts(parsed, measure, per_word=False) for measure in MEASURES}
    for number, each in enumerate(parsed):
        forest = forest_of(parser, each.sentence)
        wrong = (forest.heads[:, 1:] != np.array(each.heads)).sum(axis=1)
        assert got["entropy"][number] == pytest.approx(forest.entropy, abs=1e-4)
        assert got["wrong-heads"][number] == pytest.approx(float(forest.probabilities @ wrong), abs=1e-4)
        assert got["margin"][number] == pytest.approx(margin(forest.probabilities), abs=1e-4)
        assert got["wrong-arcs"][number] >= got["wrong-heads"][number]


def test_doubts_of_arcs_are_those_of_all_trees(parser):
    parsed = parser.parse(SHORT, probabilities=True)
    got = {measure: arc_doubts(parsed, measure) for measure in MEASURES}
    for number, each in enumerate(parsed):
        marginals = forest_of(parser, each.sentence).head_marginals()
        for word, head in enumerate(each.heads, start=1):
            heads = marginals[:, word]
            own = heads[heads > 0]
            assert got["entropy"][number][word - 1] == pytest.approx(-float(own @ np.log(own)), abs=1e-4)
            assert got["wrong-heads"][number][word - 1] == pytest.approx(1 - heads[head], abs=1e-4)
            assert got["margin"][number][word - 1] == pytest.approx(margin(heads), abs=1e-4)
            label = each.label_probabilities[word - 1]
            assert got["wrong-arcs"][number][word - 1] == pytest.approx(1 - heads[head] * label, abs=1e-4)


def test_margins_respect_the_heads_that_were_kept(parser):
    gold = SHORT[0]
    word = 2
    heads = [NO_HEAD] * len(gold)
    heads[word - 1] = gold.heads[word - 1]
    given = [replace(gold, heads=tuple(heads), deprels=("_",) * len(gold))]
    parsed = parser.parse(given, probabilities=True, keep_heads=True)
    forest = forest_of(parser, gold, required=np.array([-1, *heads]))
    assert sentence_doubts(parsed, "margin", given=given) == pytest.approx(
        [margin(forest.probabilities)], abs=1e-4
    )
    of_arcs = arc_doubts(parsed, "margin", given=given)[0]
    marginals = forest.head_marginals()
    assert of_arcs == pytest.approx([margin(marginals[:, d]) for d in range(1, len(gold) + 1)], abs=1e-4)
    assert of_arcs[word - 1] == pytest.approx(0.0)
    arcs = order_arcs(parsed, given=given)
    assert word not in [arc.word for arc in arcs]
    assert len(arcs) == len(gold) - 1


def test_doubt_is_divided_by_length(parser):
    parsed = parser.parse(SHORT, probabilities=True)
    lengths = np.array([*map(len, SHORT)])
    for measure in ("entropy", "wrong-heads", "wrong-arcs"):
        whole = sentence_doubts(parsed, measure, per_word=False)
        assert sentence_doubts(parsed, measure) * lengths == pytest.approx(whole)
    assert np.array_equal(
        sentence_doubts(parsed, "margin"), sentence_doubts(parsed, "margin", per_word=False)
    )


def test_the_most_doubtful_comes_first(parser):
    parsed = parser.parse(SHORT, probabilities=True)
    doubts = sentence_doubts(parsed)
    assert order_sentences(parsed) == sorted(range(len(SHORT)), key=lambda s: (-doubts[s], s))
    arcs = order_arcs(parsed, n=7)
    every = [doubt for row in arc_doubts(parsed) for doubt in row]
    assert [arc.doubt for arc in arcs] == sorted(every, reverse=True)[:7]
    assert all(arc_doubts(parsed)[arc.sentence][arc.word - 1] == arc.doubt for arc in arcs)


def test_other_orders(parser):
    parsed = parser.parse(SHORT, probabilities=True)
    assert order_sentences(parsed, "text", n=3) == [0, 1, 2]
    assert [(arc.sentence, arc.word) for arc in order_arcs(parsed, "text", n=3)][:2] == [(0, 1), (0, 2)]
    drawn = order_sentences(parsed, "random", seed=4)
    assert sorted(drawn) == [*range(len(SHORT))]
    assert drawn == order_sentences(parsed, "random", seed=4)
    assert order_sentences([], "diversity") == order_arcs([], "diversity") == []


def test_diversity_avoids_what_was_chosen_or_annotated(parser):
    twice = [SHORT[0], SHORT[0], SHORT[1]]
    parsed = parser.parse(twice, probabilities=True)
    assert order_sentences(parsed, "diversity")[2] in (0, 1)
    annotated = [SHORT[0]] * 50
    assert order_sentences(parsed, "diversity", annotated=annotated)[0] == 2
    arcs = order_arcs(parsed, "diversity", annotated=annotated)
    assert len(arcs) == sum(map(len, twice))
    words = {f for row in arc_features(SHORT[0]) for f in row}
    assert not words.issuperset(arc_features(SHORT[1])[arcs[0].word - 1])
    assert arcs[0].sentence == 2


def slow_order(doubts, features, seen, n, frequency):
    """Look at every item anew in each step."""
    counts = {}
    for row in seen:
        for feature in row:
            counts[feature] = counts.get(feature, 0) + 1
    left, chosen = [*range(len(features))], []
    while left and len(chosen) < n:
        values = {
            item: doubts[item]
            * sum(frequency.get(f, 1) / (1 + counts.get(f, 0)) for f in features[item])
            / len(features[item])
            for item in left
        }
        best = min(left, key=lambda item: (-values[item], item))
        left.remove(best)
        chosen.append(best)
        for feature in features[best]:
            counts[feature] = counts.get(feature, 0) + 1
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_the_heap_gives_the_order_of_plain_greedy_search(seed):
    rng = np.random.default_rng(seed)
    doubts = rng.integers(0, 5, 60) / 4.0
    features = [[str(f) for f in rng.integers(0, 12, rng.integers(1, 6))] for _ in doubts]
    seen = features[:5]
    assert decaying_order(doubts, features, seen, 40) == slow_order(doubts, features, seen, 40, {})
    frequency = {str(f): 2**f for f in range(12)}
    ordered = decaying_order(doubts, features, seen, 40, frequency)
    assert ordered == slow_order(doubts, features, seen, 40, frequency)
    assert sorted(decaying_order(doubts, features)) == [*range(60)]


def test_features_are_words_and_tags():
    sentence = SHORT[0]
    assert len(sentence_features(sentence)) == 2 * len(sentence) + 1
    assert [row[0] for row in arc_features(sentence)] == [*sentence.forms]


@pytest.mark.parametrize("measure", ["entropy", "wrong-heads", "margin"])
def test_second_order_nonprojective_parsers_have_every_measure(second_order, measure):
    assert PartKind.SIBLING in second_order.scorer.parts
    doubts = sentence_doubts(second_order.parse(SHORT, probabilities=True), measure)
    assert np.all(doubts >= 0)
    assert np.any(doubts > 0)


def test_parsers_without_lists_of_trees_have_no_margin_of_trees(parser, second_order):
    parsed = ensemble([parser, second_order]).parse(SHORT, probabilities=True)
    with rejects(InputError, field="kbest"):
        sentence_doubts(parsed, "margin")
    assert np.all(sentence_doubts(parsed, "wrong-heads") >= 0)
    assert np.all(arc_doubts(parsed, "margin")[0] >= 0)


def test_unknown_names_are_rejected(parser):
    parsed = parser.parse(SHORT[:1], probabilities=True)
    with pytest.raises(UnknownNameError):
        arc_doubts(parsed, "doubt")
    with pytest.raises(UnknownNameError):
        order_sentences(parsed, "entropy")
    with rejects(InputError, field="given"):
        arc_doubts(parsed, given=[])
