"""scikit-learn's own checks of estimators, and its tools at work with ours."""

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import warnings

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from arbora.classification import OnlineClassifier

EXPECTED = {"check_supervised_y_2d": "a column of classes is refused, not flattened with a warning"}

with warnings.catch_warnings():
    # That it does not inherit from scikit-learn's own base is meant so: scikit-learn is no dependency.
    warnings.simplefilter("ignore")
    each_check = parametrize_with_checks(
        [OnlineClassifier(epochs=3)], expected_failed_checks=lambda estimator: EXPECTED
    )


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
    grid = GridSearchCV(OnlineClassifier(), {"parameters": [{"gamma": 1.0}, {"gamma": 1e9}]}, cv=3)
    searched = make_pipeline(MaxAbsScaler(), grid).fit(X, y)
    assert grid.best_params_ == {"parameters": {"gamma": 1.0}}
    assert searched.score(X, y) == 1.0
