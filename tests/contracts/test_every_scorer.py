"""What every scorer promises: score and pullback are adjoint, and scores are those that families take."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import BITS, SHAPES, name_of, scorer, treebank
from oracle.enumerate_trees import head_matrix

from arbora import inference
from arbora._core import SparseVector, Weights
from arbora.errors import InputError
from arbora.interfaces import PartKind, Query
from arbora.problems import GraphProblem

each_shape = pytest.mark.parametrize("shape", SHAPES, ids=name_of)
COLUMNS = treebank(12, seed=5, nonprojective=0.3)
LENGTHS = np.diff(COLUMNS.offsets)


def random_weights(size, seed=0):
    w = Weights(size)
    w.add(SparseVector(np.arange(size), np.random.default_rng(seed).normal(size=size)), 2.0)
    w.multiply(0.25)  # as in the middle of a training: the scale is not 1
    return w


def dot(w, vector):
    """By the values alone, as a model file would have them."""
    values = np.asarray(w.values(), dtype=np.float64)
    return float(values[vector.indices] @ np.asarray(vector.values, dtype=np.float64))


def sibling_of(heads, dep):
    """The next dependent towards the head; the head where there is none."""
    head = int(heads[dep])
    step = 1 if dep < head else -1
    return next((k for k in range(dep + step, head, step) if heads[k] == head), head)


def indicator(heads, shapes):
    """1 for each part of a tree."""
    arrays = {kind: np.zeros(shape) for kind, shape in shapes.items()}
    for dep in range(1, len(heads)):
        head = int(heads[dep])
        arrays[PartKind.ARC][head, dep] = 1
        if PartKind.SIBLING in arrays:
            arrays[PartKind.SIBLING][head, dep, sibling_of(heads, dep)] = 1
        if PartKind.GRANDPARENT in arrays and head:
            arrays[PartKind.GRANDPARENT][heads[head], head, dep] = 1
    return arrays


@each_shape
@pytest.mark.parametrize("features", ["graph-v1", "pruner-v1", "graph-v1+guide-v1"])
def test_score_and_pullback_are_adjoint(shape, features):
    made, encoded = scorer(COLUMNS, features=features, **shape)
    w = random_weights(made.weight_count())
    rng = np.random.default_rng(3)
    for sentence in range(5):
        scores = made.sentence_scores(encoded, sentence, w)
        assert tuple(scores) == made.parts
        nodes = LENGTHS[sentence] + 1
        coefficients = {}
        for kind, array in scores.items():
            assert array.shape == (nodes,) * kind.axes
            assert array.dtype == np.float64
            # Also where there is no part: nothing may come of it.
            coefficients[kind] = rng.integers(-3, 4, array.shape).astype(np.float64)
        pulled = made.sentence_pullback(encoded, sentence, coefficients)
        left = sum(
            float(np.sum(array[np.isfinite(array)] * coefficients[kind][np.isfinite(array)]))
            for kind, array in scores.items()
        )
        assert left == pytest.approx(dot(w, pulled), rel=1e-4, abs=1e-2)
        assert len(pulled) > 0


@each_shape
def test_scores_are_of_the_parts_that_trees_have(shape):
    made, encoded = scorer(COLUMNS, **shape)
    w = random_weights(made.weight_count())
    for sentence in np.flatnonzero(LENGTHS <= 4)[:3].tolist():
        scores = made.sentence_scores(encoded, sentence, w)
        n = int(LENGTHS[sentence])
        used = {kind: np.zeros(array.shape) for kind, array in scores.items()}
        for heads in head_matrix(n, shape["trees"], "multi"):
            for kind, array in indicator(
                heads, {kind: array.shape for kind, array in scores.items()}
            ).items():
                used[kind] += array
        for kind, array in scores.items():
            assert not np.isnan(array).any()
            assert np.isfinite(array[used[kind] > 0]).all()
        assert not np.isfinite(scores[PartKind.ARC][:, 0]).any()
        assert not np.isfinite(np.diag(scores[PartKind.ARC])).any()


@each_shape
def test_problems_answer_as_the_inference_library_does(shape):
    made, encoded = scorer(COLUMNS, **shape)
    problem = GraphProblem(made, encoded)
    assert problem.size == made.weight_count() == 1 << BITS
    w = random_weights(problem.size, seed=1)
    gold = np.split(np.asarray(COLUMNS.heads), COLUMNS.offsets[1:-1])
    exact = shape["trees"] == "projective" or shape["order"] == 1
    for sentence in range(len(problem)):
        scores = made.sentence_scores(encoded, sentence, w)
        heads = np.concatenate([[-1], gold[sentence]])
        parts = indicator(heads, {kind: array.shape for kind, array in scores.items()})
        value = sum(float(np.sum(array[parts[kind] > 0])) for kind, array in scores.items())
        for query in (Query.ARGMAX, Query.COST_AUGMENTED):
            answer = problem.answer(sentence, w, query)
            arcs = scores[PartKind.ARC].copy()
            if query is Query.COST_AUGMENTED:
                arcs += 1
                arcs[heads[1:], np.arange(1, len(heads))] -= 1
            higher = {kind.value: array for kind, array in scores.items() if kind is not PartKind.ARC}
            reached = (answer.loss if query is Query.COST_AUGMENTED else 0.0) - answer.margin + value
            assert answer.margin == pytest.approx(dot(w, answer.difference), rel=1e-6, abs=1e-6)
            if exact:
                best = inference.argmax(arcs, trees=shape["trees"], roots=shape["roots"], **higher)
                assert reached == pytest.approx(best.score, rel=1e-4, abs=1e-3)
                found = np.sum(best.heads[1:] != heads[1:])
                assert answer.loss == found
                expected = indicator(best.heads, {kind: array.shape for kind, array in scores.items()})
                assert answer.difference == made.sentence_pullback(
                    encoded, sentence, {kind: parts[kind] - expected[kind] for kind in parts}
                )
            else:
                best = inference.argmax(arcs, trees="projective", roots=shape["roots"], **higher)
                assert reached >= best.score - 1e-3


def test_coefficients_that_do_not_fit_are_errors():
    made, encoded = scorer(COLUMNS, order=2)
    n = int(LENGTHS[0]) + 1
    with rejects(InputError, field="coefficients"):
        made.sentence_pullback(encoded, 0, {PartKind.SIBLING: np.zeros((n, n, n))})
    with rejects(InputError, field="coefficients"):
        made.sentence_pullback(encoded, 0, {PartKind.ARC: np.zeros((n, n + 1))})
    with rejects(InputError, field="coefficients"):
        made.sentence_pullback(
            encoded, 0, {PartKind.ARC: np.zeros((n, n)), PartKind.SIBLING: np.zeros((n, n))}
        )
    for bad in (np.nan, np.inf):
        arcs = np.zeros((n, n))
        arcs[0, 1] = bad
        with pytest.raises(InputError):
            made.sentence_pullback(encoded, 0, {PartKind.ARC: arcs})
    with pytest.raises(IndexError):
        made.sentence_scores(encoded, len(encoded), Weights(made.weight_count()))
    with pytest.raises(InputError):
        made.sentence_scores(encoded, 0, Weights(7))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"trees": "crossing"}, "trees"),
        ({"roots": "two"}, "roots"),
        ({"order": 4}, "order"),
        ({"labels": "later"}, "labels"),
        ({"tree_bits": 9}, "tree_bits"),
        ({"label_bits": 29}, "label_bits"),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        scorer(COLUMNS, **options)
