"""Classifiers of sparse examples, learned online, with a cost for each mistake; after scikit-learn's manner.

A class has weights of its own for every feature, and the class of the greatest score is chosen. Any of
Arbora's learners finds the weights that asks for the best class, the k best, or probabilities of classes.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from arbora.classification.costs import cost_matrix
from arbora.classification.rows import SparseRows, sparse_rows
from arbora.errors import InputError, ModelError
from arbora.interfaces import Learner
from arbora.learners._candidates import CandidateTrainer
from arbora.model_file import ModelFile, read_model, write_model
from arbora.problems.multiclass import MulticlassProblem
from arbora.registry import learners

KIND = "classifier"


class OnlineClassifier:
    """A linear classifier of several classes, learned from one example after the other.

    `learner`: a name of `arbora list learners`; `parameters`: some of its own, e.g. `{"gamma": 10.0}`.
    Learners that weigh several candidates (mira, au, spv, mec) weigh all classes unless `k` says how many.
    `cost`: None, 1 for every mistake; "hierarchical", less for a wrong subtype (`hierarchical_costs`);
    or a matrix, `[right, other]` in the order of sorted classes. `weights`: "averaged" or "last".
    `intercept`: the value of a feature that every example has; 0: none.

    Once fitted: `classes_`, `weights_` (columns, classes), `costs_`, `history_`, `n_features_in_`.
    """

    _estimator_type: ClassVar[str] = "classifier"

    def __init__(
        self,
        learner: str = "mec",
        *,
        parameters: Mapping[str, int | float | str] | None = None,
        cost: Any = None,
        epochs: int = 5,
        seed: int = 0,
        weights: Literal["averaged", "last"] = "averaged",
        intercept: float = 1.0,
    ) -> None:
        # Stored as given and checked by `fit`, so that copies made of parameters are equal.
        self.learner = learner
        self.parameters = parameters
        self.cost = cost
        self.epochs = epochs
        self.seed = seed
        self.weights = weights
        self.intercept = intercept

    # ------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> OnlineClassifier:
        """Learn from rows `X` (see `sparse_rows`) and their classes `y`, one for each."""
        rows = sparse_rows(X)
        classes, right = numbered(y, len(rows))
        self._check()
        costs = cost_matrix(self.cost, classes)
        problem = MulticlassProblem(rows.examples(float(self.intercept)), right, costs)
        learned = self._make_learner(len(classes)).fit(problem)
        found: NDArray[np.float32] = getattr(learned, self.weights)
        self.classes_ = classes
        self.costs_ = costs
        self.weights_ = found.reshape(-1, len(classes))
        self.history_ = learned.history
        self.n_features_in_ = rows.width
        return self

    def _check(self) -> None:
        if self.weights not in ("averaged", "last"):
            raise InputError(f"weights: expected averaged or last, got {self.weights!r}")
        if not isinstance(self.intercept, int | float) or not math.isfinite(self.intercept):
            raise InputError(f"intercept: expected a finite number, got {self.intercept!r}")

    def _make_learner(self, classes: int) -> Learner:
        factory: Any = learners.factory(self.learner)
        given: dict[str, Any] = dict(self.parameters or {})
        own = {"epochs", "seed"} & given.keys()
        if own:
            raise InputError(
                f"parameters: {own.pop()} is a parameter of the classifier itself, not of a learner"
            )
        given["epochs"] = self.epochs
        if any(declared.name == "seed" for declared in factory.parameters()):
            given["seed"] = self.seed
        if issubclass(factory, CandidateTrainer):
            given.setdefault("k", max(2, classes))
        made: Learner = learners.create(self.learner, **given)
        return made

    # ------------------------------------------------------------ using

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of each class, (rows, classes); of two, how far the second is ahead, (rows,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the greatest score for each row; of equal ones the first."""
        best = self._scores(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose class is found."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def mean_cost(self, X: Any, y: Any) -> float:
        """What the classes that are found cost on average; `y` holds none that was not learned."""
        found = self._scores(X).argmax(axis=1)
        given = np.asarray(y)
        right = np.minimum(np.searchsorted(self.classes_, given), len(self.classes_) - 1)
        if (self.classes_[right] != given).any():
            unseen = given[self.classes_[right] != given].tolist()[0]
            raise InputError(f"y: expected classes that were learned, got {unseen!r}")
        return float(self.costs_[right, found].mean())

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights of features, (classes, features)."""
        self._require_fitted()
        return self.weights_[: self.n_features_in_].T

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """What every example adds to the score of each class, (classes,)."""
        self._require_fitted()
        rest = self.weights_[self.n_features_in_ :]  # one row, or none
        added: NDArray[np.float32] = np.float32(self.intercept) * rest.sum(axis=0, dtype=np.float32)
        return added

    def _scores(self, X: Any) -> NDArray[np.float64]:
        self._require_fitted()
        rows: SparseRows = sparse_rows(X)
        if rows.width != self.n_features_in_:
            raise InputError(
                f"X has {rows.width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        flat = np.ascontiguousarray(self.weights_).reshape(-1)
        return rows.examples(float(self.intercept)).scores(flat, len(self.classes_), 1)

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call `fit` first")

    # ------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one file, whole or not at all: arrays and JSON, no code (see docs/model-file.md)."""
        self._require_fitted()
        settings = {**self.get_params(), "cost": None, "parameters": dict(self.parameters or {})}
        metadata = {"kind": KIND, "settings": settings, "classes": self.classes_.tolist()}
        write_model(path, {"weights": self.weights_, "costs": self.costs_}, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlineClassifier:
        """One that was saved; ModelError where the file is something else, or damaged.

        Its costs are given as a matrix, whatever they were made from.
        """
        file = read_model(path, verify=True)
        made = cls(**stored_settings(file, cls._parameter_names()))
        classes = np.array(file.entry("classes", list))
        made.classes_ = classes
        made.weights_ = file.tensor("weights", np.float32, (None, len(classes)))
        made.costs_ = file.tensor("costs", np.float64, (len(classes), len(classes)))
        made.cost = made.costs_
        made.history_ = ()
        made.n_features_in_ = len(made.weights_) - (1 if made.intercept else 0)
        return made

    # ------------------------------------------------------------ scikit-learn's conventions

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> OnlineClassifier:
        """Change some of the constructor's arguments; InputError where there is none of the name."""
        for name, value in params.items():
            if name not in self._parameter_names():
                known = ", ".join(self._parameter_names())
                raise InputError(f"unknown parameter {name!r} of {type(self).__name__}; known: {known}")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        """For scikit-learn, which alone asks: a classifier of sparse and dense rows."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(sparse=True),
        )

    def __repr__(self) -> str:
        default = type(self)().get_params()
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value is not default[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def numbered(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The classes, sorted, and the number of each example's; InputError where `y` is no list of classes."""
    if y is None:
        raise InputError("OnlineClassifier requires y to be passed, but the target y is None")
    given = np.asarray(y)
    if given.shape != (count,):
        raise InputError(f"y: expected one class for each of {count} rows, got the shape {given.shape}")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.round(given)).all()):
        raise InputError(
            "y: Unknown label type: continuous, NaN or inf; expected classes, as text or whole numbers"
        )
    if given.dtype.kind == "O":
        kinds = {type(each) for each in given.tolist()}
        if len(kinds) > 1 or not kinds <= {str, int, bool}:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise InputError(f"y: Unknown label type: expected all text or all whole numbers, got {names}")
    classes, right = np.unique(given, return_inverse=True)
    return classes, right.astype(np.int32)


def stored_settings(file: ModelFile, names: list[str]) -> dict[str, Any]:
    """The constructor's arguments from a file; ModelError where it holds no classifier."""
    settings = file.entry("settings", dict)
    kind = file.entry("kind", str)
    intercept = settings.get("intercept")
    if kind != KIND or not isinstance(intercept, int | float) or not settings.keys() <= set(names):
        raise ModelError(f"expected a classifier and its settings, got {kind[:40]!r}", source=file.source)
    return settings


def not_fitted(message: str) -> Exception:
    """scikit-learn's own error where that is at work, so that its tools recognize it; else InputError."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return InputError(message) if exceptions is None else exceptions.NotFittedError(message)
