"""Classes of sparse examples: every answer against dense arithmetic, and the short way against the long."""

import numpy as np
import pytest
from errors import rejects

from arbora._core import MulticlassExamples, SparseVector, Weights
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.learners._candidates import ListedCandidates
from arbora.problems import MulticlassProblem
from arbora.registry import learners

CLASSES, WIDTH, COUNT = 5, 12, 20


class Toy:
    """Random rows, costs and weights, dense and as a problem."""

    def __init__(self, seed=0, *, bias=0.0, binary=False, threads=1, count=COUNT):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(count, WIDTH)).astype(np.float32) * (rng.random((count, WIDTH)) < 0.4)
        self.rows = (rows != 0).astype(np.float32) if binary else rows.astype(np.float32)
        self.right = rng.integers(0, CLASSES, count).astype(np.int32)
        self.costs = rng.integers(1, 4, (CLASSES, CLASSES)) * 0.5
        np.fill_diagonal(self.costs, 0.0)
        self.examples = examples_of(self.rows, bias)
        self.problem = MulticlassProblem(self.examples, self.right, self.costs, threads=threads)
        if bias:
            self.rows = np.hstack([self.rows, np.full((count, 1), bias, np.float32)])
        self.w = rng.normal(size=(self.rows.shape[1], CLASSES)).astype(np.float32)

    def weights(self):
        flat = self.w.reshape(-1)
        made = Weights(len(flat))
        made.add(SparseVector(np.arange(len(flat)), flat), 1.0)
        return made

    def scores(self, i):
        return self.rows[i].astype(float) @ self.w.astype(float)

    def difference(self, i, shares):
        """x ⊗ (e_right - shares), dense."""
        return np.outer(self.rows[i], np.eye(CLASSES)[self.right[i]] - shares).reshape(-1)


def examples_of(rows, bias=0.0):
    places = np.nonzero(rows)
    offsets = np.searchsorted(places[0], np.arange(len(rows) + 1)).astype(np.int64)
    return MulticlassExamples(offsets, places[1].astype(np.int64), rows[places], rows.shape[1], bias)


def dense(vector, size):
    result = np.zeros(size)
    result[vector.indices] = vector.values
    return result


@pytest.mark.parametrize("bias", [0.0, 0.5])
@pytest.mark.parametrize("query", [Query.ARGMAX, Query.COST_AUGMENTED])
def test_the_best_class(query, bias):
    toy = Toy(1, bias=bias)
    w = toy.weights()
    for i in range(COUNT):
        scores, costs = toy.scores(i), toy.costs[toy.right[i]]
        best = int(np.argmax(scores + costs * (query is Query.COST_AUGMENTED)))
        answer = toy.problem.answer(i, w, query)
        assert answer.loss == costs[best]
        assert answer.margin == pytest.approx(scores[toy.right[i]] - scores[best], abs=1e-5)
        expected = toy.difference(i, np.eye(CLASSES)[best])
        assert dense(answer.difference, toy.problem.size) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("query", [Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS])
def test_sums_over_classes(query):
    toy = Toy(2)
    w = toy.weights()
    gradient, loss = np.zeros(toy.problem.size), 0.0
    for i in range(COUNT):
        scores = toy.scores(i) + toy.costs[toy.right[i]] * (query is Query.COST_AUGMENTED_MARGINALS)
        shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        answer = toy.problem.answer(i, w, query)
        assert answer.loss == pytest.approx(-np.log(shares[toy.right[i]]), abs=1e-9)
        expected = toy.difference(i, shares)
        assert dense(answer.difference, toy.problem.size) == pytest.approx(expected, abs=1e-6)
        gradient -= expected
        loss += answer.loss
    found = toy.problem.gradient(np.arange(COUNT), w, query)
    assert found[0] == pytest.approx(loss)
    assert found[1] == pytest.approx(gradient, abs=1e-6)


@pytest.mark.parametrize("count", [20, 200])
@pytest.mark.parametrize("query", [Query.ARGMAX, Query.COST_AUGMENTED, Query.MARGINALS])
def test_a_total_is_the_sum_of_answers(query, count):
    toy = Toy(3, count=count)
    w = toy.weights()
    answers = [toy.problem.answer(i, w, query) for i in range(count)]
    total = toy.problem.total(np.arange(count), w, query)
    assert total.loss == pytest.approx(sum(answer.loss for answer in answers))
    assert total.margin == pytest.approx(sum(answer.margin for answer in answers), abs=1e-4)
    summed = sum(dense(answer.difference, toy.problem.size) for answer in answers)
    assert dense(total.difference, toy.problem.size) == pytest.approx(summed, abs=1e-4)


def test_the_number_of_threads_leaves_no_trace():
    one, four = (Toy(4, count=3000, threads=threads) for threads in (1, 4))
    for query in (Query.COST_AUGMENTED, Query.MARGINALS):
        totals = [toy.problem.total(np.arange(3000), toy.weights(), query) for toy in (one, four)]
        assert totals[0] == totals[1]
    gradients = [toy.problem.gradient(np.arange(3000), toy.weights(), Query.MARGINALS) for toy in (one, four)]
    assert gradients[0][0] == gradients[1][0]
    assert np.array_equal(gradients[0][1], gradients[1][1])


@pytest.mark.parametrize("k", [1, 2, CLASSES, 100])
def test_the_k_best_classes(k):
    toy = Toy(5)
    w = toy.weights()
    for i in range(COUNT):
        scores = toy.scores(i)
        order = np.argsort(-scores, kind="stable")[:k]
        found = toy.problem.candidates(i, w, k)
        assert [answer.loss for answer in found] == list(toy.costs[toy.right[i]][order])
        assert [answer.margin for answer in found] == pytest.approx(scores[toy.right[i]] - scores[order])


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("k", [2, CLASSES])
def test_the_short_way_gives_the_same_numbers_as_the_long(k, binary):
    toy = Toy(6, bias=1.0, binary=binary)
    w = toy.weights()
    for i in range(COUNT):
        short = toy.problem.wrong_candidates(i, w, k)
        long = ListedCandidates(toy.problem.candidates(i, w, k))
        assert short.best == long.best
        assert np.array_equal(short.losses, long.losses)
        assert np.array_equal(short.margins, long.margins)
        assert short.gram() == pytest.approx(long.gram(), rel=1e-12)
        if binary:
            assert np.array_equal(short.gram(), long.gram())
        multipliers = np.random.default_rng(i).normal(size=len(short.losses))
        changed = [toy.weights(), toy.weights()]
        short.add_to(changed[0], multipliers)
        long.add_to(changed[1], multipliers)
        assert changed[0].values() == pytest.approx(changed[1].values(), abs=1e-5)


@pytest.mark.parametrize("name", ["mira", "au", "spv", "mec"])
def test_learners_find_the_same_weights_both_ways(name):
    toy = Toy(7, binary=True)

    class LongWay:
        """The same problem, without its short way."""

        def __init__(self, problem):
            self.queries, self.size = problem.queries, problem.size
            self.answer, self.candidates, self.total = problem.answer, problem.candidates, problem.total

        def __len__(self):
            return COUNT

    learner = learners.create(name, k=CLASSES, epochs=3)
    short, long = (learner.fit(each).averaged for each in (toy.problem, LongWay(toy.problem)))
    assert short == pytest.approx(long, abs=1e-3)
    assert short.any()


def test_ties_go_to_the_first_class():
    toy = Toy(8)
    zero = Weights(toy.problem.size)
    for i in range(COUNT):
        assert [answer.loss for answer in toy.problem.candidates(i, zero, 3)] == list(
            toy.costs[toy.right[i]][:3]
        )


def test_rows_may_repeat_columns_in_any_order():
    rows = MulticlassExamples(
        np.array([0, 3]), np.array([4, 1, 4]), np.array([1.0, 2.0, 0.5], np.float32), 6, 0.0
    )
    weights = np.arange(12, dtype=np.float32)
    assert rows.scores(weights, 2, 1).tolist() == [[2 * 2 + 1.5 * 8, 2 * 3 + 1.5 * 9]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"right": np.full(COUNT, CLASSES, np.int32)}, "classes"),
        ({"right": np.zeros(3, np.int32)}, "classes"),
        ({"costs": np.ones((2, 3))}, "costs"),
        ({"costs": np.ones((5, 5))}, "costs"),
        ({"costs": np.eye(5) - 1.0}, "costs"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_arguments_are_rejected(change, field):
    toy = Toy()
    given = {"right": toy.right, "costs": toy.costs, **change}
    with rejects(InputError, field=field):
        MulticlassProblem(toy.examples, **given)


@pytest.mark.parametrize(
    ("offsets", "columns", "values", "field"),
    [
        ([0, 2], [1], [1.0], "examples"),
        ([1, 1], [1], [1.0], "examples"),
        ([0, 1], [6], [1.0], "examples"),
        ([0, 1], [-1], [1.0], "examples"),
        ([0, 1], [1], [np.nan], None),  # any sparse vector
        ([0, 1], [1], [1.0, 2.0], "examples"),
    ],
)
def test_malformed_rows_are_rejected(offsets, columns, values, field):
    with rejects(InputError, field=field):
        MulticlassExamples(np.array(offsets), np.array(columns), np.array(values, np.float32), 6, 0.0)


def test_weights_of_another_problem_are_rejected():
    with rejects(InputError, field="weights"):
        Toy().problem.answer(0, Weights(7), Query.ARGMAX)
    with pytest.raises(IndexError):
        Toy().problem.answer(COUNT, Toy().weights(), Query.ARGMAX)
    with rejects(InputError, field="gradient"):
        Toy().problem.gradient(np.arange(2), Toy().weights(), Query.ARGMAX)
