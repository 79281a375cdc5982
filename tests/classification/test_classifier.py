"""Classifiers of sparse examples: what they learn, how they are given examples, how they are kept."""

import copy
import pickle

import numpy as np
import pytest
from errors import rejects
from scipy import sparse

import arbora.learners
from arbora.classification import (
    OnlineClassifier,
    SparseRows,
    hashed_rows,
    hierarchical_costs,
    quadratic_expansion,
    sparse_rows,
)
from arbora.classification.classes import from_sklearn
from arbora.classification.classifier import NotFittedError
from arbora.errors import InputError, ModelError, UnknownNameError
from arbora.registry import learners
from arbora.storage.model_file import write_model

ACTIONS = np.array(["LEFT:obj", "LEFT:subj", "REDUCE", "SHIFT"])
# They need scores of arcs, or a loss of the problem's own.
NOT_FOR_CLASSES = {"exponentiated_gradient", "adamw", "muon"}
STRONG = {
    "pegasos": {"lam": 0.001},
    "one_slack": {"C": 1000.0, "patience": 50},
    "log_linear": {"C": 10.0},
    "adagrad": {"C": 10.0},
}


def clusters(seed=0, count=200, spread=0.4):
    """Points around one corner per class."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, len(ACTIONS), count)
    return 2.0 * np.eye(len(ACTIONS))[right] + spread * rng.normal(size=(count, len(ACTIONS))), ACTIONS[right]


@pytest.mark.parametrize("name", [name for name in learners if name not in NOT_FOR_CLASSES])
def test_every_learner_learns_classes(name):
    X, y = clusters()
    classifier = OnlineClassifier(name, parameters=STRONG.get(name), epochs=10).fit(X, y)
    assert classifier.score(*clusters(seed=1)) > 0.95
    assert list(classifier.classes_) == list(ACTIONS)
    assert classifier.weights_.shape == (5, 4)
    assert len(classifier.history_) <= 10


def test_arrays_matrices_and_rows_give_the_same():
    X, y = clusters()
    X[np.abs(X) < 0.3] = 0.0
    given = [X, X.tolist(), sparse.csr_matrix(X), sparse.coo_array(X), sparse_rows(X)]
    fitted = [OnlineClassifier().fit(each, y) for each in given]
    for each, classifier in zip(given, fitted, strict=True):
        assert np.array_equal(classifier.weights_, fitted[0].weights_)
        assert np.array_equal(classifier.predict(each), fitted[0].predict(X))


@pytest.mark.parametrize(("name", "prior"), [(n, p) for n in ("spv", "mec") for p in ("gauss", "laplace")])
def test_learners_with_a_prior_learn_many_classes_by_default(name, prior):
    """Of all classes, most are far away; a prior must not take them down with those that are near."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 600)
    rows = hashed_rows([[f"hint={c}" if rng.random() < 0.9 else "none", f"any={rng.integers(9)}"] for c in y])
    fitted = OnlineClassifier(name, parameters={"prior": prior}).fit(rows, y)
    assert fitted.score(rows, y) > 0.85


def test_a_prior_that_lets_nothing_be_learned_warns():
    X, y = clusters()
    for name in ("spv", "mec"):
        with pytest.warns() as warned:
            fitted = OnlineClassifier(name, parameters={"gamma": 1e6, "prior": "laplace"}).fit(X, y)
        assert len(warned) == 1
        assert not fitted.weights_.any()


def test_one_seed_gives_one_classifier():
    X, y = clusters()
    first, again, other = (OnlineClassifier(seed=seed).fit(X, y).weights_ for seed in (0, 0, 1))
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_scores_are_weights_times_features():
    X, y = clusters()
    classifier = OnlineClassifier("spv", intercept=0.5).fit(X, y)
    by_hand = X.astype(np.float32) @ classifier.coef_.T + classifier.intercept_
    assert classifier.decision_function(X) == pytest.approx(by_hand, abs=1e-4)
    assert np.array_equal(classifier.predict(X), ACTIONS[by_hand.argmax(axis=1)])
    none = OnlineClassifier("spv", intercept=0.0).fit(X, y)
    assert none.intercept_.tolist() == [0.0] * 4


def test_of_two_classes_the_second_is_ahead_or_not():
    X, y = clusters()
    two = y == "SHIFT"
    classifier = OnlineClassifier().fit(X, two)
    ahead = classifier.decision_function(X)
    assert ahead.shape == (len(X),)
    assert np.array_equal(classifier.predict(X), ahead > 0)


def test_one_class_is_always_found():
    X, _ = clusters()
    assert set(OnlineClassifier().fit(X, np.full(len(X), "SHIFT")).predict(X)) == {"SHIFT"}


@pytest.mark.parametrize("name", ["mec", "spv"])
def test_costs_make_a_difference(name):
    """Where classes cannot be told apart, the one whose mistakes are cheap is chosen."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.ones((400, 1))
    dear = [[0.0, 9.0], [1.0, 0.0]]
    parameters = {"gamma": 30.0}
    classifier = OnlineClassifier(name, parameters=parameters, cost=dear).fit(X, y)
    assert set(classifier.predict(X)) == {0}
    assert classifier.mean_cost(X, y) == pytest.approx(y.mean())
    turned = OnlineClassifier(name, parameters=parameters, cost=np.transpose(dear)).fit(X, y)
    assert set(turned.predict(X)) == {1}


def test_hierarchical_costs():
    costs = hierarchical_costs(ACTIONS.tolist())
    assert costs.tolist() == [
        [0.0, 0.5, 1.0, 1.0],
        [0.5, 0.0, 1.0, 1.0],
        [1.0, 1.0, 0.0, 1.0],
        [1.0, 1.0, 1.0, 0.0],
    ]
    other = hierarchical_costs(["a/x", "a/y", "b"], separator="/", type_cost=3.0, subtype_cost=2.0)
    assert other[0].tolist() == [0.0, 2.0, 3.0]
    X, y = clusters(spread=1.5)
    classifier = OnlineClassifier(cost="hierarchical").fit(X, y)
    assert np.array_equal(classifier.costs_, costs)
    found = classifier.predict(X)
    by_hand = np.mean(
        [costs[list(ACTIONS).index(a), list(ACTIONS).index(b)] for a, b in zip(y, found, strict=True)]
    )
    assert classifier.mean_cost(X, y) == pytest.approx(by_hand)


def test_pairs_of_features_separate_what_features_do_not():
    y = np.array([0, 1, 1, 0] * 20)
    named = [["a=%d" % (i // 2 % 2), "b=%d" % (i % 2)] for i in range(80)]  # noqa: UP031 - short
    rows = hashed_rows(named)
    assert OnlineClassifier().fit(rows, y).score(rows, y) < 0.8
    pairs = quadratic_expansion(rows)
    assert np.diff(pairs.offsets).tolist() == [3] * 80
    assert OnlineClassifier().fit(pairs, y).score(pairs, y) == 1.0


def test_an_expansion_has_products_of_values_whatever_their_order():
    rows = SparseRows(
        np.array([0, 3, 6]), np.array([5, 2, 9, 9, 5, 2]), np.array([2, 3, 4, 4, 2, 3], np.float32), 10
    )
    pairs = quadratic_expansion(rows, bits=20)
    assert pairs.shape == (2, 1 << 20)
    first, second = (
        sorted(zip(pairs.columns[a:b].tolist(), pairs.values[a:b].tolist(), strict=True))
        for a, b in ((0, 6), (6, 12))
    )
    assert first == second
    assert sorted(value for _, value in first) == [2.0, 3.0, 4.0, 6.0, 8.0, 12.0]
    for bits in (3, 31):
        with rejects(InputError, field="bits"):
            quadratic_expansion(rows, bits=bits)


def test_named_features():
    rows = hashed_rows([{"word=the": 1.0, "length": 3.0}, ["word=the", "first"], []], bits=12)
    assert rows.shape == (3, 4096)
    assert rows.values.tolist() == [1.0, 3.0, 1.0, 1.0]
    assert rows.columns[0] == rows.columns[2]
    with rejects(InputError, field="examples"):
        hashed_rows(["word"])
    with rejects(InputError, field="examples"):
        hashed_rows([[3]])
    with rejects(InputError, field="X"):
        hashed_rows([{"word": "the"}])
    with rejects(InputError, field="bits"):
        hashed_rows([], bits=0)


@pytest.mark.parametrize(
    "key",
    [
        slice(2, 9, 3),
        slice(None, None, -1),
        [5, 0, -1],
        np.array([3, 3]),
        np.arange(200) % 3 == 0,
        [],
        (slice(4), slice(None)),
        (np.array([1, 2]), ...),
    ],
    ids=str,
)
def test_rows_are_chosen_as_of_an_array(key):
    X, _ = clusters()
    X[np.abs(X) < 0.3] = 0.0
    found, wanted = sparse_rows(X)[key], X[key]
    assert found.shape == wanted.shape
    dense = np.zeros(wanted.shape, dtype=np.float32)
    dense[np.repeat(np.arange(len(found)), np.diff(found.offsets)), found.columns] = found.values
    assert np.array_equal(dense, wanted.astype(np.float32))


def test_one_row_is_rows_too():
    rows = sparse_rows(clusters()[0])
    assert rows[3].shape == (1, 4)
    assert np.array_equal(rows[-1].values, rows[199:].values)
    assert len(list(rows)) == 200
    with pytest.raises(IndexError):
        rows[200]
    with pytest.raises(IndexError):
        rows[np.ones(3, dtype=bool)]
    for key in ((slice(3), 1), (slice(3), slice(2)), None, [[1, 2]], ()):
        with rejects(InputError, field="rows"):
            rows[key]


def test_rows_for_tools_that_know_only_scipys():
    X, y = clusters()
    X[np.abs(X) < 0.3] = 0.0
    rows = sparse_rows(X)
    assert np.array_equal(rows.tocsr().toarray(), X.astype(np.float32))
    assert np.array_equal(
        OnlineClassifier().fit(rows.tocsr(), y).weights_, OnlineClassifier().fit(X, y).weights_
    )
    with pytest.raises(TypeError):
        np.asarray(rows)


def test_some_of_the_rows():
    X, y = clusters()
    rows = sparse_rows(X)
    some = np.array([5, 0, 7])
    assert np.array_equal(rows.take(some).values, sparse_rows(X[some]).values)
    assert np.array_equal(rows.take(y == "SHIFT").columns, sparse_rows(X[y == "SHIFT"]).columns)
    assert len(rows.take(np.array([], dtype=int))) == 0


def test_saved_and_loaded(tmp_path):
    X, y = clusters()
    for labels in (y, (y == "SHIFT"), np.unique(y, return_inverse=True)[1]):
        kept = OnlineClassifier("spv", parameters={"gamma": 3.0, "prior": "laplace"}, seed=4).fit(X, labels)
        kept.save(tmp_path / "actions.arbora")
        loaded = OnlineClassifier.load(tmp_path / "actions.arbora")
        assert np.array_equal(loaded.predict(X), kept.predict(X))
        assert loaded.classes_.dtype == kept.classes_.dtype
        assert np.array_equal(loaded.decision_function(X), kept.decision_function(X))
        assert loaded.mean_cost(X, labels) == kept.mean_cost(X, labels)
        assert loaded.parameters == kept.parameters
        assert np.array_equal(loaded.fit(X, labels).weights_, kept.weights_)


def test_other_files_are_rejected(tmp_path):
    path = tmp_path / "other.arbora"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError):
        OnlineClassifier.load(path)
    write_model(path, {}, {"kind": "graph-parser", "settings": {"intercept": 1.0}, "classes": []})
    with rejects(ModelError, source=str(path), field=None):
        OnlineClassifier.load(path)
    settings = {"intercept": 1.0, "weights": "averaged"}
    for metadata, field in (
        ({"settings": {**settings, "weights": "best"}, "classes": ["a"]}, "settings"),
        ({"settings": {**settings, "x": 1}, "classes": ["a"]}, "settings"),
        ({"settings": {**settings, "weights": []}, "classes": ["a"]}, "settings"),
        ({"settings": {**settings, "parameters": 7}, "classes": ["a"]}, "settings"),
        ({"settings": {**settings, "learner": {}}, "classes": ["a"]}, "settings"),
        ({"settings": {**settings, "epochs": "x"}, "classes": ["a"]}, None),
        ({"settings": settings, "classes": ["a", 1]}, "classes"),
        ({"settings": settings, "classes": [["a"], ["b"]]}, "classes"),
        ({"settings": settings, "classes": []}, "classes"),
        ({"settings": settings, "classes": ["a"]}, None),
    ):
        write_model(path, {}, {"kind": "classifier", **metadata})
        with rejects(ModelError, field=field):
            OnlineClassifier.load(path)


def test_copies_and_pickles():
    X, y = clusters()
    kept = OnlineClassifier().fit(X, y)
    for each in (copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert np.array_equal(each.predict(X), kept.predict(X))


def test_parameters_are_named_and_changed():
    classifier = OnlineClassifier("pegasos", parameters={"lam": 0.1})
    assert repr(classifier) == "OnlineClassifier(learner='pegasos', parameters={'lam': 0.1})"
    assert classifier.set_params(epochs=7).get_params()["epochs"] == 7
    with rejects(UnknownNameError, field="parameter", name="epoch", suggestion="epochs"):
        classifier.set_params(epoch=3)


def test_learners_gives_the_same_names():
    assert arbora.learners.OnlineClassifier is OnlineClassifier
    assert arbora.learners.hierarchical_costs is hierarchical_costs
    with pytest.raises(AttributeError):
        _ = arbora.learners.OflineClassifier


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"learner": "mek"}, "learner"),
        ({"learner": "exponentiated_gradient"}, "learner"),
        (
            {"learner": "mec", "parameters": {"gama": 1.0}},
            "parameter of mec",
        ),
        ({"parameters": {"epochs": 1}}, "parameters"),
        ({"weights": "lst"}, "weights"),
        ({"epochs": 0}, "epochs"),
        ({"intercept": float("nan")}, "intercept"),
        ({"intercept": None}, "intercept"),
        ({"cost": "flat"}, "cost"),
        ({"cost": np.ones((2, 2))}, "cost"),
        ({"cost": np.ones((4, 4))}, "cost"),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        OnlineClassifier(**options).fit(*clusters(count=20))


@pytest.mark.parametrize(
    ("X", "y", "field"),
    [
        ([1.0, 2.0], [0, 1], "X"),
        ([[np.nan], [1.0]], [0, 1], "X"),
        ([[1e300], [1.0]], [0, 1], "X"),
        ([[1j], [1.0]], [0, 1], "X"),
        ([["a"], ["b"]], [0, 1], "X"),
        (np.zeros((0, 3)), [], "X"),
        ([], [], "X"),
        (hashed_rows([]), [], "X"),
        (np.zeros((3, 0)), [0, 1, 0], "X"),
        ([[1.0], [2.0]], [0], "y"),
        ([[1.0], [2.0]], [0.5, 1.5], "y"),
        ([[1.0], [2.0]], np.array(["a", 1], dtype=object), "y"),
        ([[1.0], [2.0]], ["a", 1], "y"),
        ([[1.0], [2.0]], [True, 2], "y"),
        ([[1.0], [2.0]], ["a", None], "y"),
        ([[1.0], [2.0]], [b"a", b"b"], "y"),
        ([[1.0], [2.0]], np.array([b"a", b"b"]), "y"),
        ([[1.0], [2.0]], [[1], [2, 3]], "y"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], "y"),
        ([[1.0], [2.0]], None, None),
    ],
)
def test_bad_examples_are_rejected(X, y, field):
    with rejects(InputError, field=field):
        OnlineClassifier().fit(X, y)


def test_classes_keep_their_kind():
    X = [[-1.0], [1.0]]
    for y, kind in ((["a", "b"], "U"), ([1, 2], "i"), ([False, True], "b"), (np.array([1, 2], object), "O")):
        fitted = OnlineClassifier().fit(X, y)
        assert fitted.classes_.dtype.kind == kind
        assert fitted.predict(X).tolist() == list(y)


def test_a_column_of_classes_is_flattened_with_a_warning():
    X, y = clusters()
    with pytest.warns() as warned:
        fitted = OnlineClassifier().fit(X, y[:, None])
    assert len(warned) == 1
    assert np.array_equal(fitted.weights_, OnlineClassifier().fit(X, y).weights_)


def test_predicting_what_was_not_learned_is_rejected():
    X, y = clusters()
    classifier = OnlineClassifier().fit(X, y)
    with pytest.raises(InputError):
        classifier.predict(X[:, :3])
    with rejects(InputError, field="y"):
        classifier.mean_cost(X[:1], ["RIGHT"])
    with pytest.raises(from_sklearn("NotFittedError", NotFittedError)):
        OnlineClassifier().predict(X)
    assert not hasattr(OnlineClassifier(), "weights_")
