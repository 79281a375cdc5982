"""The fused search of linear parsers gives the answers of `score` followed by generic exact search."""

from dataclasses import fields

import numpy as np
import pytest
from errors import rejects
from graph_toys import SHAPES, name_of, scorer, treebank

from arbora._core import SparseVector, Weights
from arbora.costs import COST
from arbora.data.encode import Names
from arbora.errors import NoTreeError
from arbora.interfaces import PartKind, Query
from arbora.losses import Crf
from arbora.problems import GraphProblem
from arbora.problems.scorer import ScorerProblem, dense
from arbora.search.exact import ExactSearch
from arbora.search.graph import GraphSearch
from arbora.search.request import ParseRequest, Temperatures

COLUMNS = treebank(12, seed=5, longest=9)
NAMES = Names.of(COLUMNS)
EXACT = [shape for shape in SHAPES if shape["trees"] == "projective" or shape["order"] == 1]
each_shape = pytest.mark.parametrize("shape", EXACT, ids=name_of)
TEMPERATURES = Temperatures(trees=1.7, labels=1.3, missed=0.02)


def both(shape, seed=0):
    """The two searches with the same random weights, and a batch."""
    made, _ = scorer(COLUMNS, labels="none", **shape)
    values = np.random.default_rng(seed).normal(size=made.size).astype(np.float32)
    weighted = made.with_weights(values)
    options = {"trees": shape["trees"], "roots": shape["roots"]}
    return GraphSearch(weighted), ExactSearch(weighted, **options), NAMES.batch(COLUMNS)


@each_shape
def test_best_trees_are_the_same(shape):
    for seed in range(3):
        fused, generic, batch = both(shape, seed)
        for first, second in zip(
            fused.best(batch, ParseRequest()), generic.best(batch, ParseRequest()), strict=True
        ):
            assert np.array_equal(first, second)


@each_shape
def test_best_trees_around_given_heads_are_the_same(shape):
    fused, generic, batch = both(shape)
    given = np.where(np.arange(batch.words) % 3 == 0, np.asarray(COLUMNS.heads), -1).astype(np.int32)
    batch.set_heads(given)
    request = ParseRequest(keep_heads=True)
    heads, _ = fused.best(batch, request)
    assert np.array_equal(heads, generic.best(batch, request)[0])
    assert np.array_equal(heads[given >= 0], given[given >= 0])


@each_shape
def test_given_heads_without_a_tree_name_the_sentence(shape):
    _, generic, batch = both(shape)
    given = np.full(batch.words, -1, np.int32)
    start = int(COLUMNS.offsets[3])
    given[start : start + 2] = 2, 1
    batch.set_heads(given)
    with rejects(NoTreeError, field="sentence 3"):
        generic.checked(batch, ParseRequest(keep_heads=True))


def has_grandparents(shape):
    """The family of these trees has no k best."""
    return shape.get("grandparents", False)


REQUESTS = {
    "argmax": {"arc_table": True},
    "minimum-risk": {"decode": "minimum-risk"},
    "given": {"decode": "given"},
    "kbest": {"k": 4},
}


@pytest.mark.parametrize(
    ("shape", "name"),
    [(shape, name) for shape in EXACT for name in REQUESTS if name != "kbest" or not has_grandparents(shape)],
    ids=lambda value: value if isinstance(value, str) else name_of(value),
)
def test_probabilities_are_the_same(shape, name):
    fused, generic, batch = both(shape)
    request = ParseRequest(**REQUESTS[name])
    first, second = (search.confidence_at(batch, request)(TEMPERATURES) for search in (fused, generic))
    for field in fields(first):
        found, expected = getattr(first, field.name), getattr(second, field.name)
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True), field.name


@each_shape
def test_problems_give_the_same_answers(shape):
    made, encoded = scorer(COLUMNS, labels="none", **shape)
    values = np.random.default_rng(1).normal(size=made.size)
    w = Weights(made.size)
    w.add(SparseVector(np.arange(made.size), values), 1.0)
    search = ExactSearch(made, trees=shape["trees"], roots=shape["roots"])
    fused, generic = GraphProblem(made, encoded), ScorerProblem(search, NAMES.batch(COLUMNS), Crf(), COST)
    indices = np.arange(len(COLUMNS))
    for query in (Query.ARGMAX, Query.COST_AUGMENTED):
        for i in indices.tolist():
            first, second = fused.answer(i, w, query), generic.answer(i, w, query)
            assert first.loss == second.loss
            assert first.margin == pytest.approx(second.margin, rel=1e-4, abs=1e-3)
            assert np.allclose(dense(first.difference, made.size), dense(second.difference, made.size))
    (loss, gradient), (other, slope) = (p.gradient(indices, w, Query.MARGINALS) for p in (fused, generic))
    assert loss == pytest.approx(other, rel=1e-5)
    assert np.allclose(gradient, slope, rtol=1e-4, atol=1e-4)


@each_shape
def test_marginals_are_those_of_the_family(shape):
    fused, generic, batch = both(shape)
    scores = generic.scorer.score(batch)
    for search in (fused, generic):
        for found, given in zip(search.marginals(batch, ParseRequest(), Temperatures()), scores, strict=True):
            expected = generic.family.marginals(given)[PartKind.ARC]
            assert np.allclose(found[PartKind.ARC], expected, rtol=1e-4, atol=1e-6)
