"""Every learner that asks no more than labels of words can answer learns them; the others are told so."""

import numpy as np
import pytest
from errors import rejects
from pipeline_toys import columns

from arbora._core import SparseVector, TagLexicon, Weights
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.pipeline.tagger import _upos_model
from arbora.pipeline.words import numbers
from arbora.problems import SequenceProblem
from arbora.registry import learners

TAGS = ("NOUN", "PUNCT", "VERB", "DET", "PROPN")
FOR_TOYS = {"pegasos": {"lam": 0.01, "epochs": 60}, "one_slack": {"C": 100.0, "epochs": 60}}
FOR_TOYS |= {"log_linear": {"C": 30.0, "epochs": 4}}
FOR_TOYS |= {"adagrad": {"C": 30.0, "rate": 1.0}}
SUMS = (Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS)
ASKED = (Query.ARGMAX, Query.COST_AUGMENTED, *SUMS)


def make_problem(*, threads=1, unknown=0, bits=10):
    """Tags of a treebank that its words tell; every `unknown`th of them is not known."""
    given = columns(20)
    model = _upos_model(TAGS, bits, None)
    lexicon = TagLexicon(given.native, list(TAGS))
    gold = numbers(given, "upos", TAGS)
    if unknown:
        gold = np.where(np.arange(len(gold)) % unknown == 0, -1, gold).astype(np.int32)
    batch = model.encode(given, lexicon, np.zeros(given.words, np.int32), gold)
    return SequenceProblem(model.native, batch, threads=threads), model, batch


def make(name):
    return learners.create(name, **{"epochs": 10, **FOR_TOYS.get(name, {})})


def some_weights(problem, seed=0):
    return as_weights(np.random.default_rng(seed).normal(size=problem.size))


def as_weights(values):
    w = Weights(len(values))
    w.add(SparseVector(list(range(len(values))), [float(value) for value in values]), 1.0)
    return w


def dense(difference, size):
    full = np.zeros(size)
    full[difference.indices] = difference.values
    return full


CAN = [name for name in learners if make(name).needs <= make_problem()[0].queries]


def test_most_learners_can():
    assert {"passive_aggressive", "perceptron", "mira", "pegasos", "one_slack", "log_linear"} <= set(CAN)


@pytest.mark.parametrize("name", CAN)
def test_separable_tags_are_learned(name):
    problem, model, batch = make_problem()
    learned = make(name).fit(problem)
    right = numbers(columns(20), "upos", TAGS)
    for weights in (learned.last, learned.averaged):
        assert weights.shape == (problem.size,)
        assert np.array_equal(model.native.predict(batch, weights, 1), right)
        w = as_weights(weights)
        assert problem.total(np.arange(len(problem)), w, Query.ARGMAX).loss == 0


@pytest.mark.parametrize("name", CAN)
def test_threads_and_runs_give_the_same_bytes(name):
    found = [make(name).fit(make_problem(threads=threads, unknown=4)[0]) for threads in (1, 2, 1)]
    assert len({learned.last.tobytes() for learned in found}) == 1
    assert len({learned.averaged.tobytes() for learned in found}) == 1


@pytest.mark.parametrize("name", [name for name in learners if name not in CAN])
def test_learners_of_trees_are_rejected(name):
    with rejects(InputError, field="learner"):
        make(name).fit(make_problem()[0])


@pytest.mark.parametrize("query", ASKED)
@pytest.mark.parametrize("unknown", [0, 3])
def test_the_total_is_the_sum_of_answers(query, unknown):
    problem, _, _ = make_problem(unknown=unknown)
    w = some_weights(problem)
    chosen = np.array([3, 0, 7, 7, 19], np.int64)
    answers = [problem.answer(int(i), w, query) for i in chosen]
    total = problem.total(chosen, w, query)
    assert total.loss == pytest.approx(sum(answer.loss for answer in answers))
    assert total.margin == pytest.approx(sum(answer.margin for answer in answers), abs=1e-3)
    sums = sum(dense(answer.difference, problem.size) for answer in answers)
    assert dense(total.difference, problem.size) == pytest.approx(sums, abs=1e-4)
    two = make_problem(threads=2, unknown=unknown)[0].total(chosen, w, query)
    assert two.loss == total.loss
    assert two.margin == total.margin
    assert np.array_equal(two.difference.indices, total.difference.indices)
    assert two.difference.values.tobytes() == total.difference.values.tobytes()


@pytest.mark.parametrize("query", SUMS)
def test_the_gradient_is_that_of_the_total(query):
    problem, _, _ = make_problem()
    w = some_weights(problem)
    everything = np.arange(len(problem))
    loss, gradient = problem.gradient(everything, w, query)
    total = problem.total(everything, w, query)
    assert loss == pytest.approx(total.loss)
    assert gradient == pytest.approx(-dense(total.difference, problem.size), abs=1e-4)
    assert loss > 0


def test_a_sentence_of_which_nothing_is_known_teaches_nothing():
    problem, _, _ = make_problem(unknown=1)
    w = some_weights(problem)
    for query in ASKED:
        answer = problem.answer(0, w, query)
        assert answer.loss == pytest.approx(0, abs=1e-9)
        assert np.abs(dense(answer.difference, problem.size)).max() < 1e-6


def test_other_queries_are_rejected():
    problem, _, batch = make_problem()
    w = some_weights(problem)
    questions = {
        "candidates": (0, w, 2),
        "arc_scores": (0, w),
        "arc_gold": (0,),
        "arc_marginals": (0, np.zeros((2, 2))),
        "arc_features": (0, np.zeros(2)),
    }
    for name, arguments in questions.items():
        with rejects(InputError, field=name):
            getattr(problem, name)(*arguments)
    with rejects(InputError, field="gradient"):
        problem.gradient(np.arange(2), w, Query.ARGMAX)
    with pytest.raises(IndexError):
        problem.answer(len(problem), w, Query.ARGMAX)
    with pytest.raises((InputError, IndexError)):
        problem.total(np.array([0, len(problem)]), w, Query.ARGMAX)
    with pytest.raises((InputError, IndexError)):
        problem.total(np.array([-1]), w, Query.ARGMAX)
    with rejects(InputError, field="weights"):
        problem.answer(0, Weights(5), Query.ARGMAX)
    with pytest.raises(InputError):
        batch.set_labels(np.ones(3, np.int32), np.ones(3, np.int32))


def test_labels_of_another_model_are_rejected():
    _, model, batch = make_problem()
    words = batch.words
    count = len(TAGS)
    for labels, gold, field in (
        (0, -1, "labels"),
        (count + 1, -1, "labels"),
        (count - 1, -1, "labels"),
        (count, count, "gold"),
    ):
        batch.set_labels(np.full(words, labels, np.int32), np.full(words, gold, np.int32))
        with rejects(InputError, field=field):
            SequenceProblem(model.native, batch)
    small = _upos_model(TAGS, 8, None).native
    batch.set_labels(np.full(words, len(TAGS), np.int32), np.full(words, 0, np.int32))
    with rejects(InputError, field="places"):
        SequenceProblem(small, batch)
