"""Log-likelihoods of graph problems: gradients, partial annotation, threads, and questions about arcs."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import BITS, treebank

from arbora import inference
from arbora._core import Weights
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import PartKind, Query
from arbora.problems import GraphProblem
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer

COLUMNS = treebank(6, seed=5)
NAMES = Names.of(COLUMNS)
KINDS = [
    ("projective", 1, False, "tree"),
    ("nonprojective", 1, False, "tree"),
    ("projective", 2, False, "tree"),
    ("projective", 2, True, "tree"),
    ("projective", 1, False, "joint"),
    ("nonprojective", 1, False, "joint"),
    ("projective", 2, True, "joint"),
    ("projective", 1, False, "labels"),
]
EVERYONE = np.arange(len(COLUMNS))


def problem(trees, order, grandparents, task, *, roots="single", known=None, threads=1):
    """Of the treebank; `known`: which heads are, None for all."""
    encoded = NAMES.encode(COLUMNS)
    if known is not None:
        encoded.set_heads(np.where(known, COLUMNS.heads, -1).astype(np.int32))
    settings = GraphSettings(
        trees=trees, roots=roots, order=order, grandparents=grandparents, tree_bits=BITS, label_bits=BITS
    )
    seen = np.ones(64 * 64 * len(NAMES.labels), np.uint8)
    made = LinearScorer(settings, features.create("graph-v1"), labels=len(NAMES.labels), seen=seen)
    return GraphProblem(made, encoded, task, threads=threads), made, encoded


def weights_of(values):
    state = Weights(len(values), averaged=False).state()
    state["v"] = values.astype(np.float32)
    state["norm2"] = float(np.sum(state["v"].astype(np.float64) ** 2))
    return Weights.from_state(state)


def random_weights(size, seed=0, scale=0.05):
    return (np.random.default_rng(seed).normal(size=size) * scale).astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("known", ["all", "some", "none"])
@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_gradients_equal_finite_differences(kind, roots, known):
    which = {"all": None, "none": np.zeros(COLUMNS.words, bool)}.get(known, np.arange(COLUMNS.words) % 3 > 0)
    asked, _, _ = problem(*kind, roots=roots, known=which)
    x = random_weights(asked.size)
    direction = random_weights(asked.size, seed=1, scale=1.0)
    for query in (Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS):
        loss, gradient = asked.gradient(EVERYONE, weights_of(x), query)
        assert gradient.shape == (asked.size,)
        step = 2.0**-10
        above, below = (
            asked.gradient(EVERYONE, weights_of(x + sign * step * direction), query)[0] for sign in (1, -1)
        )
        assert gradient @ direction == pytest.approx((above - below) / (2 * step), rel=2e-3, abs=2e-2)
        answers = [asked.answer(i, weights_of(x), query) for i in range(len(asked))]
        assert loss == pytest.approx(sum(answer.loss for answer in answers), abs=1e-9)
        summed = np.zeros(asked.size)
        for answer in answers:
            np.subtract.at(summed, answer.difference.indices, answer.difference.values)
        assert np.allclose(summed, gradient, atol=1e-5)
        if known == "none" and query is Query.MARGINALS and kind[3] != "joint":
            assert loss == 0.0  # all trees agree with nothing


@pytest.mark.parametrize("roots", ["single", "multi"])
@pytest.mark.parametrize("kind", KINDS[:3], ids=str)
def test_the_loss_is_minus_the_log_probability(kind, roots):
    asked, made, encoded = problem(*kind, roots=roots)
    w = weights_of(random_weights(asked.size))
    for i, sentence in enumerate(COLUMNS.sentences()):
        scores = made.sentence_scores(encoded, i, w)
        family = {"trees": kind[0], "roots": roots}
        extra = {"siblings": scores[PartKind.SIBLING]} if kind[1] == 2 else {}
        expected = inference.log_prob(scores[PartKind.ARC], list(sentence.tree.heads), **family, **extra)
        assert asked.answer(i, w, Query.MARGINALS).loss == pytest.approx(-expected, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_threads_change_nothing(kind):
    results = []
    for threads in (1, 2, 3):
        asked, _, _ = problem(*kind, threads=threads)
        results.append(asked.gradient(EVERYONE, weights_of(random_weights(asked.size)), Query.MARGINALS))
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        assert np.array_equal(gradient, results[0][1])


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_arcs_have_scores_marginals_and_features(trees):
    asked, made, encoded = problem(trees, 1, False, "tree")
    x = random_weights(asked.size)
    w = weights_of(x)
    for i, sentence in enumerate(COLUMNS.sentences()):
        scores, gold = asked.arc_scores(i, w), asked.arc_gold(i)
        n = len(sentence)
        assert scores.shape == gold.shape == (n * n,)
        assert gold.sum() == n
        dense = made.sentence_scores(encoded, i, w)[PartKind.ARC]
        log_partition, marginals = asked.arc_marginals(i, scores)
        assert log_partition == pytest.approx(inference.log_partition(dense, trees=trees), abs=1e-6)
        expected = inference.marginals(dense, trees=trees)
        pairs = [(h, d) for d in range(1, n + 1) for h in range(n + 1) if h != d]
        assert marginals == pytest.approx([expected[pair] for pair in pairs], abs=1e-6)
        coefficients = random_weights(n * n, seed=i, scale=1.0)
        summed = asked.arc_features(i, coefficients)
        assert float(x[summed.indices] @ summed.values) == pytest.approx(
            float(scores @ coefficients), abs=1e-4
        )
        answer = asked.answer(i, w, Query.MARGINALS)
        difference = asked.arc_features(i, gold - marginals)
        assert np.array_equal(difference.indices, answer.difference.indices)
        assert difference.values == pytest.approx(answer.difference.values, abs=1e-5)


def test_sums_without_an_algorithm_are_rejected():
    asked, _, _ = problem("nonprojective", 2, False, "tree")
    assert Query.MARGINALS not in asked.queries
    with pytest.raises(InputError):
        asked.answer(0, Weights(asked.size), Query.MARGINALS)
    asked, _, _ = problem("projective", 2, True, "tree")
    assert Query.ARC_MARGINALS not in asked.queries
    with rejects(InputError, field="arc_scores"):
        asked.arc_scores(0, Weights(asked.size))
    asked, _, _ = problem("projective", 1, False, "tree")
    with rejects(InputError, field="scores"):
        asked.arc_marginals(0, np.zeros(3))
    with rejects(InputError, field="weights"):
        asked.gradient(EVERYONE, Weights(5), Query.MARGINALS)
    with pytest.raises(IndexError):
        asked.gradient(np.array([99]), Weights(asked.size), Query.MARGINALS)
