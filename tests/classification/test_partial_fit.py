"""Classifiers that learn piece by piece: what calls come to, and what they ask for."""

import copy
import pickle

import numpy as np
import pytest
from errors import rejects

from arbora.classification import OnlineClassifier, hashed_rows, sparse_rows
from arbora.errors import InputError
from arbora.registry import learners

ONLINE = ["perceptron", "mira", "passive_aggressive", "au", "spv", "mec", "pegasos"]
CLASSES = ["a", "b", "c"]


def points(seed=0, count=90):
    """Around one corner per class."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, len(CLASSES), count)
    return 2.0 * np.eye(len(CLASSES))[right] + rng.normal(size=(count, 3)), np.array(CLASSES)[right]


def test_which_learners_go_on():
    assert [name for name in learners if getattr(learners.create(name), "incremental", False)] == ONLINE


@pytest.mark.parametrize("name", ONLINE)
def test_as_many_calls_as_epochs_come_to_what_fit_does(name):
    X, y = points()
    for weights in ("averaged", "last"):
        whole = OnlineClassifier(name, epochs=3, weights=weights).fit(X, y)
        called = OnlineClassifier(name, weights=weights)
        for _ in range(3):
            called.partial_fit(X, y, classes=CLASSES)
        assert called.weights_.tobytes() == whole.weights_.tobytes()
        assert [epoch.number for epoch in called.history_] == [3]
        assert called.history_[0].loss == whole.history_[-1].loss


@pytest.mark.parametrize("name", ONLINE)
def test_goes_on_from_what_fit_learned(name):
    X, y = points()
    whole = OnlineClassifier(name, epochs=3).fit(X, y)
    begun = OnlineClassifier(name, epochs=2).fit(X, y).partial_fit(X, y)
    assert begun.weights_ == pytest.approx(whole.weights_, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ONLINE)
def test_learns_from_one_example_after_the_other(name):
    X, y = points(count=300)
    rows = sparse_rows(X)
    classifier = OnlineClassifier(name, parameters={"lam": 0.01} if name == "pegasos" else None)
    for i in range(len(rows)):
        classifier.partial_fit(rows[i], y[i : i + 1], classes=CLASSES if i == 0 else None)
    assert classifier.score(*points(seed=1)) > 0.8
    # The order is that of the calls, which an order drawn at random is not.
    by_fit = OnlineClassifier(name, epochs=1).fit(X, y)
    assert not np.array_equal(classifier.weights_, by_fit.weights_)


def test_a_class_that_comes_late_is_known_from_the_start():
    X, y = points()
    classifier = OnlineClassifier().partial_fit(X[y == "a"], y[y == "a"], classes=["c", "a", "b"])
    assert classifier.classes_.tolist() == CLASSES
    assert classifier.weights_.shape == (4, 3)
    for _ in range(3):
        classifier.partial_fit(X, y)
    assert classifier.score(X, y) > 0.8


def test_fit_begins_anew():
    X, y = points()
    classifier = OnlineClassifier().partial_fit(*points(seed=3), classes=CLASSES)
    assert np.array_equal(classifier.fit(X, y).weights_, OnlineClassifier().fit(X, y).weights_)


def test_parameters_may_change_on_the_way():
    X, y = points()
    classifier = OnlineClassifier("passive_aggressive").partial_fit(X, y, classes=CLASSES)
    averaged = classifier.weights_
    classifier.set_params(parameters={"C": 0.01}, weights="last").partial_fit(X, y)
    assert not np.array_equal(classifier.weights_, averaged)
    costs = 2.0 * (1.0 - np.eye(3))
    assert np.array_equal(classifier.set_params(cost=costs).partial_fit(X, y).costs_, costs)


def test_copies_and_pickles_go_on_to_the_same_bits():
    X, y = points()
    classifier = OnlineClassifier().partial_fit(X, y, classes=CLASSES)
    others = [copy.deepcopy(classifier), pickle.loads(pickle.dumps(classifier))]
    classifier.partial_fit(X, y)
    for other in others:
        assert np.array_equal(other.partial_fit(X, y).weights_, classifier.weights_)
    fitted = OnlineClassifier().fit(X, y)
    other = copy.deepcopy(fitted).partial_fit(X, y)
    assert np.array_equal(other.weights_, fitted.partial_fit(X, y).weights_)


@pytest.mark.parametrize("weights", ["averaged", "last"])
def test_a_file_to_go_on_from(tmp_path, weights):
    X, y = points()
    classifier = OnlineClassifier("mira", weights=weights).partial_fit(X, y, classes=CLASSES)
    classifier.save(tmp_path / "more", resumable=True)
    classifier.save(tmp_path / "plain")
    loaded = OnlineClassifier.load(tmp_path / "more")
    assert np.array_equal(loaded.predict(X), classifier.predict(X))
    went_on = loaded.partial_fit(X, y).weights_
    assert went_on == pytest.approx(classifier.partial_fit(X, y).weights_, rel=1e-5, abs=1e-6)
    plain = OnlineClassifier.load(tmp_path / "plain")
    with pytest.raises(InputError):
        plain.partial_fit(X, y)
    with pytest.raises(InputError):
        plain.save(tmp_path / "again", resumable=True)
    assert np.array_equal(plain.fit(X, y).partial_fit(X, y).classes_, CLASSES)


@pytest.mark.parametrize("name", ["log_linear", "one_slack", "adagrad", "exponentiated_gradient"])
def test_batch_learners_are_rejected(name):
    X, y = points()
    with rejects(InputError, field="partial_fit"):
        OnlineClassifier(name).partial_fit(X, y, classes=CLASSES)


def test_bad_calls_are_rejected():
    X, y = points()
    with rejects(InputError, field="classes"):
        OnlineClassifier().partial_fit(X, y)
    with rejects(InputError, field="y"):
        OnlineClassifier().partial_fit(X, y, classes=["a", "b"])
    with rejects(InputError, field="classes"):
        OnlineClassifier().partial_fit(X, y, classes=["a", 1])
    with rejects(InputError, field="classes"):
        OnlineClassifier().partial_fit(X, y, classes=[])
    classifier = OnlineClassifier().partial_fit(X, y, classes=CLASSES)
    before = classifier.weights_.copy()
    with rejects(InputError, field="classes"):
        classifier.partial_fit(X, y, classes=["a", "b"])
    with rejects(InputError, field="y"):
        classifier.partial_fit(X[:1], [7])
    with pytest.raises(InputError):
        classifier.partial_fit(X[:, :2], y)
    with rejects(InputError, field="X"):
        classifier.partial_fit(hashed_rows([]), [])
    with rejects(InputError, field="intercept"):
        classifier.set_params(intercept=0.0).partial_fit(X, y)
    assert np.array_equal(classifier.weights_, before)
