"""Discriminative clustering: the regression, the gradient, and Frank-Wolfe against mixtures of all trees."""

import numpy as np
import pytest
from errors import rejects
from induction_rounds import Rounds
from oracle.enumerate_trees import head_matrix

from arbora.errors import InputError
from arbora.induction.arc_model import ArcFeatures, pair_table
from arbora.induction.convex_mst import Clustering, ConvexMst
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import parse
from arbora.induction.rules import NO_RULES, Rules
from arbora.interfaces import PartKind

RULES = Rules.parse("ROOT -> V\nV -> N\nN -> D")
TAGS = ("D", "N", "V")
SMALL = TagCorpus(
    TAGS, tuple(np.array(s, dtype=np.int32) for s in ([1, 2], [0, 1, 2], [2], [2, 0, 1], [1, 2]))
)


def random_corpus(seed, sentences=30, longest=6):
    rng = np.random.default_rng(seed)
    return TagCorpus(
        TAGS,
        tuple(
            rng.integers(0, 3, size=rng.integers(1, longest + 1), dtype=np.int32) for _ in range(sentences)
        ),
    )


def dense(corpus, kept):
    """X by loops: arcs of sentences by length, as `Clustering` has them."""
    features = ArcFeatures(len(corpus.tags))
    column = {place: at for at, place in enumerate(kept)}
    rows = []
    for sentence in sorted(corpus.sentences, key=len):
        places = features.places(sentence[None])[0]
        n = len(sentence)
        for head in range(n + 1):
            for dep in range(1, n + 1):
                if head != dep:
                    row = np.zeros(len(kept))
                    for place in places[head, dep].tolist():
                        row[column[place]] += 1
                    rows.append(row)
    return np.array(rows)


def tree_vectors(corpus, trees):
    """For each sentence, the vectors of all its trees among all arcs."""
    start, size, found = 0, sum(len(s) ** 2 for s in corpus.sentences), []
    for sentence in sorted(corpus.sentences, key=len):
        n = len(sentence)
        arcs = [(h, d) for h in range(n + 1) for d in range(1, n + 1) if h != d]
        vectors = []
        for heads in head_matrix(n, trees, "single").tolist():
            vector = np.zeros(size)
            for dep in range(1, n + 1):
                vector[start + arcs.index((heads[dep], dep))] = 1
            vectors.append(vector)
        found.append(np.array(vectors))
        start += n * n
    return found


def least_value(corpus, settings, rules, trees):
    """The least f over mixtures of all trees, by exponentiated gradient from the definition."""
    clustering = Clustering(corpus, settings, rules)
    x = dense(corpus, clustering.arcs.used.tolist())
    words = corpus.words
    inverse = np.linalg.inv(x.T @ x + words * settings.l2 * np.eye(x.shape[1]))
    quadratic = (np.eye(len(x)) - x @ inverse @ x.T) / words
    wanted = clustering._wanted / words
    vectors = tree_vectors(corpus, trees)
    logits = [np.zeros(len(each)) for each in vectors]
    for _ in range(2500):
        shares = [np.exp(each - np.logaddexp.reduce(each)) for each in logits]
        y = sum(share @ each for share, each in zip(shares, vectors, strict=True))
        gradient = quadratic @ y - wanted
        logits = [each - 20 * (v @ gradient) for each, v in zip(logits, vectors, strict=True)]
    return float(y @ quadratic @ y / 2 - wanted @ y)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("rules", [NO_RULES, RULES])
def test_the_gap_bounds_the_way_to_the_best_mixture(trees, rules):
    settings = ConvexMst(trees=trees, l2=0.05, prior=0.2, rounds=200, gap=0.0)
    least = least_value(SMALL, settings, rules, trees)
    found = settings.fit(SMALL, rules=rules)
    for done in found.history:
        assert -1e-7 <= -done.objective - least <= done.measures["gap"] + 1e-9
    assert -found.objective == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_never_falls_and_the_gap_never_grows(trees, seed):
    corpus = random_corpus(3)
    found = ConvexMst(trees=trees, rounds=40, gap=0.0, prior=0.1).fit(corpus, rules=RULES, seed=seed)
    objectives = np.array([done.objective for done in found.history])
    gaps = np.array([done.measures["gap"] for done in found.history])
    assert len(found.history) == 40
    assert (np.diff(objectives) >= -1e-12).all()
    assert (np.diff(gaps) <= 1e-12).all()
    assert gaps[-1] < gaps[0] / 5


def test_all_starts_come_to_the_same():
    corpus = random_corpus(4, sentences=10)
    settings = ConvexMst(rounds=300, gap=2e-3, l2=0.05)
    ends = [settings.fit(corpus, rules=RULES, seed=seed) for seed in (0, 1)]
    assert all(end.history[-1].measures["gap"] <= 2e-3 for end in ends)
    assert abs(ends[0].objective - ends[1].objective) <= 2e-3


def test_weights_are_those_of_a_regression():
    corpus = random_corpus(5, sentences=12, longest=4)
    settings = ConvexMst(l2=0.02)
    clustering = Clustering(corpus, settings, NO_RULES)
    kept = clustering.arcs.used.tolist()
    x = dense(corpus, kept)
    assert np.array_equal(clustering.gram(), x.T @ x)
    y = np.random.default_rng(0).uniform(size=len(x))
    # A ridge is plain least squares with a row √(Nλ) e_f of target 0 for each feature.
    longer = np.concatenate([x, np.sqrt(corpus.words * 0.02) * np.eye(len(kept))])
    expected = np.linalg.lstsq(longer, np.concatenate([y, np.zeros(len(kept))]), rcond=None)[0]
    state = clustering.at(y)
    np.testing.assert_allclose(state.weights, expected, atol=1e-9)
    np.testing.assert_allclose(state.predicted, x @ expected, atol=1e-9)
    error = ((y - x @ expected) ** 2).sum() / 2 / corpus.words + 0.01 * (expected**2).sum()
    assert state.value == pytest.approx(error)


def test_gradient_against_differences():
    clustering = Clustering(random_corpus(6, longest=4), ConvexMst(prior=0.3), RULES)
    rng = np.random.default_rng(1)
    y = rng.uniform(size=clustering.size)
    gradient = clustering.gradient(clustering.at(y))
    for _ in range(5):
        direction = rng.normal(size=len(y))
        ahead, behind = (clustering.at(y + sign * 1e-4 * direction).value for sign in (1, -1))
        assert (ahead - behind) / 2e-4 == pytest.approx(float(gradient @ direction), rel=1e-6, abs=1e-9)


def test_only_the_most_frequent_features_are_used():
    corpus = random_corpus(7)
    found = ConvexMst(features=10, rounds=3).fit(corpus)
    assert 0 < np.count_nonzero(found.model.weights) <= 10


def test_rules_are_followed_where_they_can_be():
    found = ConvexMst(prior=5.0, rounds=20).fit(SMALL, rules=RULES)
    [heads] = parse(found.model, [np.array([0, 1, 2], dtype=np.int32)])
    assert heads.tolist() == [2, 3, 0]
    assert found.model.trees == "nonprojective"
    assert not found.model.pairs.any()


def test_rules_may_count_in_parsing_too():
    clustering = Clustering(SMALL, ConvexMst(prior=3.0, parse_prior=0.5), RULES)
    state = clustering.at(clustering.middle())
    model = clustering.model(state)
    assert np.array_equal(model.pairs, 1.5 * pair_table(RULES.table(TAGS)))
    scores = model.scores(np.array([[2]], dtype=np.int32))[PartKind.ARC]
    assert scores[0, 0, 1] == pytest.approx(state.predicted[0] + 1.5)


def test_one_seed_gives_one_model_whatever_the_threads():
    corpus = random_corpus(8)
    one, two = (ConvexMst(rounds=5).fit(corpus, seed=3, threads=threads).model for threads in (1, 2))
    assert np.array_equal(one.weights, two.weights)


def test_an_observer_sees_each_round_and_may_end_it():
    seen = Rounds(stop_at=3)
    found = ConvexMst(gap=0.0).fit(random_corpus(9), observer=seen)
    assert [epoch.number for epoch in seen.epochs] == [1, 2, 3]
    assert len(found.history) == 3
    assert not found.interrupted
    assert found.model.weights.any()


def test_a_corpus_of_nothing_is_refused():
    with rejects(InputError, field="convex-mst"):
        ConvexMst().fit(TagCorpus((), ()))
