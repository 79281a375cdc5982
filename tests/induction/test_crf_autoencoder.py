"""The CRF autoencoder: its argmax, gradients and steps against slow ones, and what it learns."""

from itertools import pairwise

import numpy as np
import pytest
from errors import rejects
from induction_rounds import Rounds
from oracle.enumerate_trees import enumerate_forest

from arbora.data.columns import columns_of
from arbora.errors import InputError
from arbora.induction.arc_model import ArcModel, CorpusArcs, is_arc
from arbora.induction.corpus import TagCorpus, strip
from arbora.induction.crf_autoencoder import CrfAutoencoder, ProximalAdagrad, Run, near_arcs
from arbora.induction.interfaces import as_arcs, parse
from arbora.induction.rules import NO_RULES, Rules
from arbora.induction.rules import RULES as KNOWN_RULES

TREES = ["projective", "nonprojective"]
OBJECTIVES = ["viterbi", "likelihood"]
RULES = Rules.parse("ROOT -> B\nB -> A, B\nC -> A")


def random_corpus(rng, sentences=12, longest=5, tags="ABCD"):
    lengths = rng.integers(1, longest + 1, size=sentences)
    return TagCorpus(tuple(tags), tuple(rng.integers(0, len(tags), size=n).astype(np.int32) for n in lengths))


def random_run(rng, corpus, **options):
    """Somewhere in the middle of learning: random weights and decoder."""
    run = Run(CrfAutoencoder(**options), corpus, rules=RULES)
    run.weights[:] = rng.normal(size=run.arcs.size)
    counts = rng.uniform(0.1, 1, size=run.decoder.shape)
    run.decoder = counts / counts.sum(axis=1, keepdims=True)
    return run


def slow_scores(run, tags):
    """Encoder's scores, and with decoder and rules, of one sentence: arc by arc."""
    n = len(tags)
    names = run.arcs.corpus.tags
    weights = run.model().weights
    places = run.arcs.features.places(np.array([tags], dtype=np.int32))[0]
    encoder, rest = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for head in range(n + 1):
        for dep in range(1, n + 1):
            row = tags[head - 1] if head else len(names)
            pair = (names[row] if head else "ROOT", names[tags[dep - 1]])
            encoder[head, dep] = weights[places[head, dep]].sum()
            rest[head, dep] = np.log(run.decoder[row, tags[dep - 1]])
            rest[head, dep] += run.options.prior * (pair in RULES.pairs)
    return encoder, encoder + rest


@pytest.mark.parametrize("trees", TREES)
def test_parsing_is_the_argmax_of_encoder_decoder_and_rules(trees):
    rng = np.random.default_rng(1)
    corpus = random_corpus(rng)
    run = random_run(rng, corpus, trees=trees, prior=0.7)
    for tags, heads in zip(corpus.sentences, parse(run.model(), corpus.sentences), strict=True):
        _, joint = slow_scores(run, tags)
        forest = enumerate_forest(joint, trees, "single")
        assert joint[heads, np.arange(1, len(tags) + 1)].sum() == pytest.approx(forest.best_score)


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objective_is_that_of_all_trees_listed(objective, trees):
    rng = np.random.default_rng(2)
    corpus = random_corpus(rng)
    run = random_run(rng, corpus, trees=trees, prior=0.7, objective=objective, l1=3.0, batch=4)
    expected = 0.0
    for tags in corpus.sentences:
        encoder, joint = (enumerate_forest(s, trees, "single") for s in slow_scores(run, tags))
        top = joint.best_score if objective == "viterbi" else joint.log_partition
        expected += top - encoder.log_partition
    expected -= 3.0 * len(corpus) / 4 * np.abs(run.weights).sum()
    assert run.objective() == pytest.approx(expected / corpus.words)


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradients_are_finite_differences(objective, trees):
    rng = np.random.default_rng(3)
    corpus = random_corpus(rng, sentences=5)
    run = random_run(rng, corpus, trees=trees, prior=0.7, objective=objective)
    gradient = run.gradient()

    def value():
        return sum(run.log_likelihood(each) for each in run.arcs.sets())

    for place in rng.choice(run.arcs.size, size=30, replace=False):
        kept = run.weights[place]
        sides = []
        for step in (1e-5, -1e-5):
            run.weights[place] = kept + step
            sides.append(value())
        run.weights[place] = kept
        assert gradient[place] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-6)


def test_gradients_of_batches_add_up():
    rng = np.random.default_rng(4)
    corpus = random_corpus(rng, sentences=9)
    run = random_run(rng, corpus)
    order = rng.permutation(9)
    parts = run.gradient(order[:4]) + run.gradient(order[4:])
    np.testing.assert_allclose(parts, run.gradient(), atol=1e-12)


def test_a_proximal_step_solves_its_problem():
    rng = np.random.default_rng(5)
    steps = ProximalAdagrad(np.zeros(6), rate=0.3)
    squares = np.zeros(6)
    for _ in range(4):
        before, gradient, penalty = steps.weights.copy(), rng.normal(size=6), 0.8
        gradient[0] = 0.0
        squares += gradient**2
        steps.step(gradient, penalty)
        for j in range(1, 6):
            rate = 0.3 / np.sqrt(squares[j])
            aim = before[j] + rate * gradient[j]

            def problem(v, aim=aim, rate=rate, penalty=penalty):
                return (v - aim) ** 2 / 2 + rate * penalty * abs(v)

            low, high = -5.0, 5.0
            for _ in range(200):  # it is convex: thirds close in on the least value
                third = (high - low) / 3
                if problem(low + third) <= problem(high - third):
                    high -= third
                else:
                    low += third
            assert steps.weights[j] == pytest.approx((low + high) / 2, abs=1e-6)
    assert steps.weights[0] == 0.0
    assert 0 < np.count_nonzero(steps.weights) < 6


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_steps_of_the_decoder_never_lower_the_objective(objective):
    rng = np.random.default_rng(6)
    corpus = random_corpus(rng, sentences=60, longest=7)
    run = random_run(rng, corpus, objective=objective, prior=0.5)
    run.weights[:] *= 0.2
    values = [run.objective()]
    for _ in range(12):
        run.improve_decoder()
        np.testing.assert_allclose(run.decoder.sum(axis=1), 1.0)
        assert (run.decoder > 0).all()
        values.append(run.objective())
    assert all(after >= before - 1e-6 for before, after in pairwise(values))
    assert values[-1] > values[0] + 0.1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_passes_of_the_encoder_raise_the_objective(objective):
    rng = np.random.default_rng(7)
    corpus, _ = sampled_treebank(rng, 200)
    run = Run(CrfAutoencoder(objective=objective, batch=50), corpus, rules=RULES)
    run.initialize()
    values = [run.objective()]
    for _ in range(4):
        run.improve_encoder()
        values.append(run.objective())
    assert values == sorted(values)


def test_a_large_penalty_leaves_no_weights():
    corpus, _ = sampled_treebank(np.random.default_rng(8), 100)
    light, heavy = (
        CrfAutoencoder(l1=l1, rounds=1, passes=1).fit(corpus).history[-1].measures["nonzero"]
        for l1 in (0.0, 1e4)
    )
    assert light > 0.5
    assert heavy == 0.0


@pytest.mark.parametrize("n", [1, 2, 6])
def test_near_words_are_heads_at_the_start(n):
    arcs = near_arcs(n)
    assert not arcs[~is_arc(n)].any()
    np.testing.assert_allclose(arcs[:, 1:].sum(axis=0), 1.0)
    np.testing.assert_allclose(arcs[0, 1:], 1 / n)
    if n == 6:
        assert arcs[2, 1] / arcs[4, 1] == pytest.approx(3.0)


def test_starts_are_told_apart():
    corpus, _ = sampled_treebank(np.random.default_rng(9), 50)
    runs = {}
    for init in ("decoder", "both", "none"):
        runs[init] = Run(CrfAutoencoder(init=init, l1=0.01), corpus, NO_RULES)
        runs[init].initialize()
    np.testing.assert_allclose(runs["none"].decoder, 1 / 3)
    np.testing.assert_allclose(runs["both"].decoder, runs["decoder"].decoder)
    assert not runs["decoder"].weights.any()
    assert runs["both"].weights.any()
    # Weights of "both" make near heads more probable than far ones.
    weights = runs["both"].model().weights
    scores = weights[runs["both"].arcs.features.places(np.zeros((1, 4), dtype=np.int32))].sum(axis=-1)[0]
    assert scores[2, 1] > scores[4, 1]


def sampled_treebank(rng, sentences):
    """Tags and trees of a known autoencoder's kind: B is the root and takes A on its left, and C on its
    right; C takes As on its left, too. Heads of words, 0 for the root.
    """
    tags, trees = [], []
    for _ in range(sentences):
        left = rng.integers(0, 3)
        phrases = [int(rng.integers(0, 3)) for _ in range(rng.integers(0, 3))]
        root = int(left) + 1
        sentence, heads = [0] * int(left) + [1], [root] * int(left) + [0]
        for size in phrases:
            head = len(sentence) + size + 1
            sentence += [0] * size + [2]
            heads += [head] * size + [root]
        tags.append(np.array(sentence, dtype=np.int32))
        trees.append(np.array(heads, dtype=np.int32))
    return TagCorpus(("A", "B", "C"), tuple(tags)), trees


def accuracy(found, gold):
    return sum((f == g).sum() for f, g in zip(found, gold, strict=True)) / sum(map(len, gold))


@pytest.mark.parametrize("trees", TREES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_trees_of_a_known_model_are_found_better_than_by_branching(objective, trees):
    corpus, gold = sampled_treebank(np.random.default_rng(10), 400)
    learner = CrfAutoencoder(objective=objective, trees=trees, rounds=3, batch=50)
    found = learner.fit(corpus, rules=Rules.parse("ROOT -> B\nB -> C"))
    right = accuracy(parse(found.model, corpus.sentences), gold)
    left_branching = accuracy([np.r_[np.arange(2, len(g) + 1), 0] for g in gold], gold)
    right_branching = accuracy([np.arange(len(g)) for g in gold], gold)
    assert right > max(left_branching, right_branching) + 0.1


def test_rules_are_followed_more_with_more_weight():
    corpus, _ = sampled_treebank(np.random.default_rng(11), 100)
    rules = Rules.parse("ROOT -> C")
    shares = []
    for prior in (0.0, 25.0):
        model = CrfAutoencoder(prior=prior).fit(corpus, rules=rules).model
        trees = parse(model, corpus.sentences)
        roots = [tags[heads == 0] for tags, heads in zip(corpus.sentences, trees, strict=True)]
        have = [(tags == 2).any() for tags in corpus.sentences]
        shares.append(np.mean([root[0] == 2 for root, any_c in zip(roots, have, strict=True) if any_c]))
    assert shares[1] == 1.0 > shares[0]


def parts(induced):
    assert isinstance(induced.model, ArcModel)
    return induced.model.weights.tobytes(), induced.model.pairs.tobytes()


def test_one_seed_gives_one_model_whatever_the_threads():
    corpus, _ = sampled_treebank(np.random.default_rng(12), 120)
    learner = CrfAutoencoder(batch=30, rounds=2)
    first, again, threaded = (learner.fit(corpus, seed=3, threads=t) for t in (1, 1, 2))
    assert parts(first) == parts(again) == parts(threaded)
    assert [r.objective for r in first.history] == [r.objective for r in threaded.history]
    assert parts(learner.fit(corpus, seed=4)) != parts(first)


def test_rounds_are_reported_and_can_be_stopped():
    corpus, _ = sampled_treebank(np.random.default_rng(13), 40)
    seen = Rounds(stop_at=2)
    induced = CrfAutoencoder(rounds=5).fit(corpus, observer=seen)
    assert [epoch.number for epoch in seen.epochs] == [1, 2]
    assert induced.objective == -seen.epochs[-1].loss
    assert all(0 <= each.measures["nonzero"] <= 1 and each.seconds > 0 for each in induced.history)


def test_words_alone_are_roots():
    corpus = TagCorpus(("A",), (np.zeros(1, dtype=np.int32),))
    induced = CrfAutoencoder(rounds=1).fit(corpus)
    assert parse(induced.model, corpus.sentences)[0].tolist() == [0]
    assert induced.objective == pytest.approx(0.0)


def test_arcs_of_trees_and_features_are_adjoint():
    rng = np.random.default_rng(14)
    corpus = random_corpus(rng)
    arcs = CorpusArcs(corpus)
    weights, table = rng.normal(size=arcs.size), rng.normal(size=(6, 5))
    for each in arcs.sets():
        coefficients = rng.normal(size=each.shape) * is_arc(each.length)
        features, pairs = np.zeros(arcs.size), np.zeros((7, 7))
        each.add_features(coefficients, features)
        each.add_pairs(coefficients, pairs)
        assert (each.scores(weights) * coefficients).sum() == pytest.approx(weights @ features)
        assert (each.pairs(table) * coefficients).sum() == pytest.approx((table * pairs[:6, :5]).sum())
    assert as_arcs(np.array([[-1, 2, 0]]))[0].tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"rate": 0.0}, "rate"),
        ({"objective": "best"}, "objective"),
        ({"trees": "flat"}, "trees"),
        ({"prior": float("inf")}, "prior"),
        ({"batch": 0}, "batch"),
        ({"l2": 1.0}, "parameter of crfae"),
    ],
)
def test_bad_parameters_are_rejected(options, field):
    with rejects(InputError, field=field):
        CrfAutoencoder(**options)


def test_nothing_to_learn_from_is_an_error():
    with rejects(InputError, field="crfae"):
        CrfAutoencoder().fit(TagCorpus((), ()))


def test_english_trees_with_rules_for_ud(real_sentences):
    columns = columns_of(real_sentences("UD_English-EWT", "en_ewt-ud-train.conllu", 4000))
    corpus = TagCorpus.of(columns)
    dev = columns_of(real_sentences("UD_English-EWT", "en_ewt-ud-dev.conllu"))
    stripped = strip(dev, dev.heads, corpus.tags, keep_heads=False)
    short = [each for each in stripped if not each.marks.all() and len(each.tags) <= 10]
    tags, gold = [each.tags for each in short], [each.known_heads() for each in short]
    right = {}
    for objective in OBJECTIVES:
        model = CrfAutoencoder(objective=objective).fit(corpus, rules=KNOWN_RULES["universal"]).model
        right[objective] = accuracy(parse(model, tags), gold)
    assert right["viterbi"] > 0.6
    assert right["viterbi"] > right["likelihood"]
