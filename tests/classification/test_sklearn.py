"""scikit-learn's own checks of estimators, and its tools at work with ours."""

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import warnings

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import resample, shuffle
from sklearn.utils.estimator_checks import parametrize_with_checks

from arbora.classification import OnlineClassifier, SparseRows, hashed_rows, quadratic_expansion

with warnings.catch_warnings():
    # That it does not inherit from scikit-learn's own base is meant so: scikit-learn is no dependency.
    warnings.simplefilter("ignore")
    each_check = parametrize_with_checks([OnlineClassifier(epochs=3), OnlineClassifier("mec", epochs=3)])


@pytest.mark.filterwarnings("default")
@each_check
def test_estimator_checks(estimator, check):
    check(estimator)


def test_clones_grids_and_pipelines():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = 50.0 * np.eye(3)[y] + rng.normal(size=(90, 3))
    classifier = OnlineClassifier("spv", parameters={"gamma": 2.0}, cost=1.0 - np.eye(3))
    assert is_classifier(classifier)
    assert clone(classifier).get_params().keys() == classifier.get_params().keys()
    grid = GridSearchCV(OnlineClassifier("mec"), {"parameters": [{"gamma": 1.0}, {"gamma": 1e9}]}, cv=3)
    searched = make_pipeline(MaxAbsScaler(), grid).fit(X, y)
    assert grid.best_params_ == {"parameters": {"gamma": 1.0}}
    assert searched.score(X, y) == 1.0


def named_examples():
    """Words that end in one of two ways."""
    rng = np.random.default_rng(0)
    y = np.array(["NOUN", "VERB"])[rng.integers(0, 2, 60)]
    return hashed_rows([[f"word={i}", f"end={kind}"] for i, kind in enumerate(y)]), y


def test_hashed_rows_are_split_and_cross_validated():
    rows, y = named_examples()
    classifier = OnlineClassifier("passive_aggressive")
    assert cross_val_score(classifier, rows, y, cv=3).tolist() == [1.0] * 3
    assert (cross_val_predict(classifier, quadratic_expansion(rows), y, cv=StratifiedKFold(3)) == y).all()
    train, test, known, wanted = train_test_split(rows, y, test_size=0.25, random_state=0, stratify=y)
    assert isinstance(train, SparseRows)
    assert (len(train), len(test)) == (45, 15)
    assert classifier.fit(train, known).score(test, wanted) == 1.0
    grid = GridSearchCV(classifier, {"parameters": [{"C": 0.1}, {"C": 1.0}]}, cv=3).fit(rows, y)
    assert grid.best_score_ == 1.0
    again, order = shuffle(rows, np.arange(60), random_state=1)
    assert np.array_equal(again.columns, rows[order].columns)
    assert len(resample(rows, n_samples=7, random_state=0)) == 7


def test_ensembles_want_scipys_matrices():
    rows, y = named_examples()
    with pytest.raises(TypeError):
        BaggingClassifier(OnlineClassifier(), n_estimators=2).fit(rows, y)
    bag = BaggingClassifier(OnlineClassifier(), n_estimators=2, random_state=0).fit(rows.tocsr(), y)
    assert bag.score(rows.tocsr(), y) == 1.0


def test_learning_curves_go_on_where_they_were():
    rows, y = named_examples()
    sizes, _, scores = learning_curve(
        OnlineClassifier("au"), rows, y, cv=3, train_sizes=[5, 20, 40], exploit_incremental_learning=True
    )
    assert sizes.tolist() == [5, 20, 40]
    assert scores[-1].min() == 1.0
