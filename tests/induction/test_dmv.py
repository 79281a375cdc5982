"""DMV and Neural DMV: what theory promises, and that a known grammar is found again."""

import random

import numpy as np
import pytest
from induction.test_valence_model import model_of
from induction.valence_story import SIDES, sample
from induction_rounds import Rounds
from oracle.enumerate_trees import head_matrix, siblings_of

from arbora.errors import InputError
from arbora.induction.corpus import TagCorpus
from arbora.induction.dmv import Dmv, harmonic_arcs, harmonic_counts
from arbora.induction.interfaces import parse
from arbora.induction.neural_dmv import Network, NeuralDmv
from arbora.induction.rules import Rules
from arbora.induction.valence_model import Counts, Sentences

D, N, V, A = range(4)
TAGS = ("DET", "NOUN", "VERB", "ADV")


def corpus_of(sentences, tags=TAGS):
    return TagCorpus(tags, tuple(np.array(sentence, dtype=np.int32) for sentence in sentences))


def random_corpus(seed, sentences=60, tags=4, longest=7):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, size=sentences)
    return corpus_of([rng.integers(0, tags, size=n).tolist() for n in lengths], TAGS[:tags])


def known_grammar():
    """Verbs have a noun before them, may have one and adverbs after; nouns have determiners before them."""
    stop = {(tag, side, has): 0.98 for tag in range(4) for side in SIDES for has in (False, True)}
    stop |= {(V, "left", False): 0.1, (V, "left", True): 0.95}
    stop |= {(V, "right", False): 0.4, (V, "right", True): 0.6, (N, "left", False): 0.2}
    rare = dict.fromkeys(range(4), 0.01)
    child = {context: dict.fromkeys(range(4), 0.25) for context in stop}
    for has in (False, True):
        child[V, "left", has] = rare | {N: 0.96, A: 0.02}
        child[V, "right", has] = rare | {N: 0.55, A: 0.43}
        child[N, "left", has] = rare | {D: 0.97}
    return {"root": rare | {V: 0.97}, "stop": stop, "child": child}


@pytest.fixture(scope="module")
def treebank():
    rng, found = random.Random(0), []
    while len(found) < 600:
        tags, heads = sample(known_grammar(), rng)
        if len(tags) <= 10:
            found.append((tags, heads))
    return corpus_of([tags for tags, _ in found]), [heads for _, heads in found]


def accuracy(model, corpus, gold):
    trees = parse(model, corpus.sentences)
    return sum(int((tree == heads).sum()) for tree, heads in zip(trees, gold, strict=True)) / corpus.words


def arrays(model):
    return [model.root, model.child, model.stop, model.go_on]


def assert_normalised(model):
    for logs in (model.root, model.child):
        np.testing.assert_allclose(np.exp(logs).sum(axis=-1), 1)
    np.testing.assert_allclose(np.exp(model.stop) + np.exp(model.go_on), 1)


@pytest.mark.parametrize("rules", [None, Rules.parse("ROOT -> VERB\nVERB -> NOUN, ADV\nNOUN -> DET")])
@pytest.mark.parametrize("child_valence", ["no", "yes"])
@pytest.mark.parametrize("mode", ["em", "viterbi"])
def test_the_objective_never_falls(mode, child_valence, rules):
    for seed, smoothing in [(0, 1e-6), (1, 0.1), (2, 3.0)]:
        learner = Dmv(mode=mode, child_valence=child_valence, smoothing=smoothing, rounds=12, tolerance=0.0)
        found = learner.fit(random_corpus(seed), rules=rules, seed=seed)
        objectives = [each.objective for each in found.history]
        assert np.diff(objectives).min() > -1e-9
        assert_normalised(found.model)


def test_the_objective_is_the_likelihood_and_what_smoothing_adds():
    corpus, learner = random_corpus(5), Dmv(smoothing=0.5, rounds=3)
    found = learner.fit(corpus)
    total, _ = Sentences(corpus, "test").counts(found.model, best_only=False)
    # Tables of dependents are the same whether there is one already, and count once.
    logs = sum(float(table.sum()) for table in arrays(found.model)) - float(found.model.child[:, :, 0].sum())
    assert found.objective == pytest.approx((total + 0.5 * logs) / corpus.words)


@pytest.mark.parametrize("inducer", [Dmv, NeuralDmv])
@pytest.mark.parametrize(("mode", "less"), [("em", 0.02), ("viterbi", 0.04)])
def test_a_known_grammar_is_found_again(inducer, mode, less, treebank):
    corpus, gold = treebank
    model = inducer(mode=mode).fit(corpus).model
    assert_normalised(model)
    most = accuracy(model_of(known_grammar(), 4), corpus, gold)
    assert accuracy(model, corpus, gold) > most - less
    assert np.exp(model.root[V]) == pytest.approx(0.98, abs=0.02)
    assert np.exp(model.child[N, 0, 0, D]) == pytest.approx(0.97, abs=0.03)
    assert np.exp(model.go_on[V, 0, 0]) == pytest.approx(0.9, abs=0.03)
    assert np.exp(model.stop[A, :, 0]).min() > 0.75


@pytest.mark.parametrize("learner", [Dmv(rounds=5), NeuralDmv(rounds=3)])
def test_a_seed_gives_one_model(learner):
    corpus = random_corpus(3)
    first, again, other = (learner.fit(corpus, seed=seed) for seed in (1, 1, 2))
    threaded = learner.fit(corpus, seed=1, threads=2)
    for one, two, three, four in zip(
        *(arrays(x.model) for x in (first, again, threaded, other)), strict=True
    ):
        assert one.tobytes() == two.tobytes() == three.tobytes()
        assert one.tobytes() != four.tobytes()


def test_learning_ends_if_nothing_is_gained_or_the_observer_stops_it():
    corpus = random_corpus(0)
    assert len(Dmv(rounds=400, tolerance=0.01).fit(corpus).history) < 50
    seen = Rounds(stop_at=3)
    found = Dmv(tolerance=0.0).fit(corpus, observer=seen)
    assert [each.number for each in found.history] == [1, 2, 3]
    assert list(found.history) == seen.epochs
    whole = Dmv(tolerance=0.0, rounds=3).fit(corpus)
    assert all(np.array_equal(*pair) for pair in zip(arrays(found.model), arrays(whole.model), strict=True))


def test_rules_pull_trees_towards_them():
    corpus = random_corpus(7)
    rules = Rules.parse("ROOT -> ADV")
    roots = [np.exp(Dmv(prior=prior).fit(corpus, rules=rules).model.root[A]) for prior in (0.0, 1.0, 10.0)]
    assert roots[0] == np.exp(Dmv().fit(corpus).model.root[A])
    assert roots[0] < roots[1] < roots[2]


@pytest.mark.parametrize("learner", [Dmv(), NeuralDmv()])
def test_no_sentences_and_long_ones_are_rejected(learner):
    with pytest.raises(InputError):
        learner.fit(corpus_of([]))
    with pytest.raises(InputError):
        learner.fit(corpus_of([[0] * 401]))


def test_one_word_is_enough():
    for learner in (Dmv(), NeuralDmv(rounds=2)):
        model = learner.fit(corpus_of([[0]], ("X",))).model
        assert parse(model, [np.zeros(1, dtype=np.int32)])[0].tolist() == [0]


def network_loss(network, counts):
    """-log P of all choices except the root's, per choice, from the model's tables."""
    model = network.model(("A", "B", "C"), counts)
    tables = ((counts.child, model.child), (counts.stop, model.stop), (counts.go_on, model.go_on))
    total = sum(float((count * logs).sum()) for count, logs in tables)
    return -total / float(counts.stop.sum() + counts.go_on.sum())


@pytest.mark.parametrize("child_valence", ["yes", "no"])
def test_the_network_knows_its_slopes(child_valence):
    rng = np.random.default_rng(0)
    counts = Counts(rng.random(3), rng.random((3, 2, 2, 3)), rng.random((3, 2, 2)))
    network = Network(3, NeuralDmv(tag_size=4, valence_size=2, hidden=5, child_valence=child_valence), seed=1)
    network.weights["bias"] += rng.normal(size=(2, 5)) * 0.1
    gradient = network.gradient(counts)
    assert gradient.keys() == network.weights.keys()
    for name, slopes in gradient.items():
        weights = network.weights[name]
        assert slopes.shape == weights.shape
        for at in np.ndindex(weights.shape):
            before = weights[at]
            weights[at] = before + 1e-6
            above = network_loss(network, counts)
            weights[at] = before - 1e-6
            below = network_loss(network, counts)
            weights[at] = before
            assert (above - below) / 2e-6 == pytest.approx(slopes[at], abs=1e-7), (name, at)


@pytest.mark.parametrize("constant", [0.0, 2.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_first_arcs_are_those_of_harmonic_trees(n, constant):
    listed = head_matrix(n, "projective", "single")
    weights = np.array(
        [np.prod([1 / (abs(h - d) + constant) for d, h in enumerate(row) if d and h]) for row in listed]
    )
    roots = np.array([row.tolist().index(0) for row in listed])
    arcs, nearest = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for row, siblings, root, weight in zip(listed, siblings_of(listed), roots, weights, strict=True):
        share = weight / weights[roots == root].sum() / n
        for dep in range(1, n + 1):
            arcs[row[dep], dep] += share
            nearest[row[dep], dep] += share * (siblings[dep] == row[dep])
    found = harmonic_arcs(n, constant)
    np.testing.assert_allclose(found[0], arcs, atol=1e-12)
    np.testing.assert_allclose(found[1][1:], nearest[1:], atol=1e-12)
    np.testing.assert_allclose(found[0][0, 1:], 1 / n)


def test_heads_first_stop_as_they_are_told():
    sentences = Sentences(random_corpus(0), "test")
    even, told = harmonic_counts(sentences, 0.0, True), harmonic_counts(sentences, 0.0, False)
    np.testing.assert_array_equal(even.stop, even.go_on)
    np.testing.assert_array_equal(even.child, told.child)
    assert told.stop.sum() == pytest.approx(2 * sentences.words)
