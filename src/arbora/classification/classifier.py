"""Classifiers of sparse examples, learned online, with a cost for each mistake; after scikit-learn's manner.

A class has weights of its own for every feature, and the class of the greatest score is chosen. Any of
Arbora's learners finds the weights that asks for the best class, the k best, or probabilities of classes.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora.classification._file import KIND, stored_classes, stored_course, stored_settings
from arbora.classification.classes import as_classes, classes_of, numbers_of, shown
from arbora.classification.costs import cost_matrix
from arbora.classification.course import OTHER, Course, Which
from arbora.classification.rows import SparseRows, sparse_rows
from arbora.errors import InputError, UnknownNameError
from arbora.interfaces import Epoch, Learner
from arbora.learners._candidates import CandidateTrainer
from arbora.learners._online import OnlineTrainer
from arbora.problems.multiclass import MulticlassProblem
from arbora.registry import learners
from arbora.storage.model_file import read_model, write_model
from arbora.types import Doubles, Floats

# Chosen by cross-validation on training data: `benchmarks/classification.py --accuracy`. Were all classes
# weighed, a Gaussian prior would take near ones and far ones down alike, and learn little.
DEFAULTS: dict[str, dict[str, int | float]] = {
    "spv": {"k": 2, "gamma": 0.01},
    "mec": {"k": 2, "gamma": 0.01},
}


class OnlineClassifier:
    """A linear classifier of several classes, learned from one example after the other.

    `learner`: a name of `arbora list learners`; `parameters`: some of its own, e.g. `{"C": 0.1}`. Of learners
    that weigh several candidates, mira and au weigh all classes, spv and mec the best two, unless `k` says
    how many; their gamma is 0.01 unless given.
    `cost`: None, 1 for every mistake; "hierarchical", less for a wrong subtype (`hierarchical_costs`);
    or a matrix, `[right, other]` in the order of sorted classes. `weights`: "averaged" or "last".
    `intercept`: the value of a feature that every example has; 0: none.

    Once fitted: `classes_`, `weights_` (columns, classes), `costs_`, `history_` (of `partial_fit`, the last
    pass), `n_features_in_`.
    """

    _estimator_type: ClassVar[str] = "classifier"

    def __init__(
        self,
        learner: str = "mira",
        *,
        parameters: Mapping[str, int | float | str] | None = None,
        cost: Any = None,
        epochs: int = 5,
        seed: int = 0,
        weights: Which = "averaged",
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
        """Learn from rows `X` (see `sparse_rows`) and their classes `y`, one for each; from nothing else."""
        rows = sparse_rows(X)
        classes, right = np.unique(classes_of(y, len(rows)), return_inverse=True)
        self._check()
        costs = cost_matrix(self.cost, classes)
        problem = MulticlassProblem(rows.examples(float(self.intercept)), right.astype(np.int32), costs)
        learner = self._make_learner(len(classes))
        learned = learner.fit(problem)
        if len(classes) > 1:
            warn_of_nothing(learner, learned.history)
        passes = len(learned.history)
        steps = passes * -(-len(rows) // learner.batch) if isinstance(learner, OnlineTrainer) else 0
        self._course = Course.after(self.weights, learned.last, learned.averaged, passes=passes, steps=steps)
        self.classes_ = classes
        self.costs_ = costs
        self.history_ = learned.history
        self.n_features_in_ = rows.width
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> OnlineClassifier:
        """One more pass: over these rows, with what was learned before from these or others.

        `classes`: all there will ever be; needed by the first call, unless `fit` came before. As many calls
        with the same rows as `fit` makes epochs come to the same weights. InputError where the learner needs
        all examples at once, or keeps more than weights.
        """
        self._check()
        rows = sparse_rows(X)
        given = classes_of(y, len(rows))
        known = self._all_classes(classes)
        right = numbers_of(given, known)
        learner = self._make_learner(len(known))
        if not isinstance(learner, OnlineTrainer) or not learner.incremental:
            able = [name for name in learners if getattr(learners.create(name), "incremental", False)]
            raise InputError(
                f"partial_fit: the learner {self.learner} does not learn from one example after the other; "
                f"call `fit`, or choose one of {', '.join(able)}"
            )
        if self.__sklearn_is_fitted__():
            self._require_width(rows)
        costs = cost_matrix(self.cost, known)
        problem = MulticlassProblem(rows.examples(float(self.intercept)), right, costs)
        course = getattr(self, "_course", None) or Course.at_start(self.weights, problem.size)
        course.require_open()
        if course.size != problem.size:
            raise InputError(
                f"intercept: got {self.intercept!r}, but what was learned before has "
                f"{'one' if course.size > problem.size else 'none'}; leave it as it was, or call `fit`"
            )
        self.history_ = (course.go_on(learner, problem, self.weights),)
        self._course = course
        self.classes_ = known
        self.costs_ = costs
        self.n_features_in_ = rows.width
        return self

    def _all_classes(self, given: Any) -> NDArray[Any]:
        """Those of the calls before, or those that are given for the first."""
        known: NDArray[Any] | None = getattr(self, "classes_", None)
        if given is None:
            if known is None:
                raise InputError(
                    "partial_fit: classes must be passed on the first call: all that there will ever be"
                )
            return known
        found = np.unique(as_classes(given, "classes"))
        if not len(found):
            raise InputError("classes: expected at least one class, got none")
        if known is None:
            return found
        if found.tolist() != known.tolist():
            raise InputError(
                f"classes: expected those of the first call, {shown(known)}, got {shown(found)}; a new "
                "classifier learns others"
            )
        return known

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
            given = {"k": max(2, classes), **DEFAULTS.get(self.learner, {}), **given}
        return learners.create(self.learner, **given)

    # ------------------------------------------------------------ using

    def decision_function(self, X: Any) -> Doubles:
        """The score of each class, (rows, classes); of two, how far the second is ahead, (rows,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the greatest score for each row; of equal ones the first."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose class is found."""
        found = self.predict(X)
        return float(np.mean(found == classes_of(y, len(found))))

    def mean_cost(self, X: Any, y: Any) -> float:
        """What the classes that are found cost on average; `y` holds none that was not learned."""
        found = self._scores(X).argmax(axis=1)
        right = numbers_of(classes_of(y, len(found)), self.classes_)
        return float(self.costs_[right, found].mean())

    @property
    def weights_(self) -> Floats:
        """The weight of each class for each column, (columns, classes)."""
        self._require_fitted()
        return self._course.weights().reshape(-1, len(self.classes_))

    @property
    def coef_(self) -> Floats:
        """The weights of features, (classes, features)."""
        self._require_fitted()
        return self.weights_[: self.n_features_in_].T

    @property
    def intercept_(self) -> Floats:
        """What every example adds to the score of each class, (classes,)."""
        self._require_fitted()
        rest = self.weights_[self.n_features_in_ :]  # one row, or none
        return np.float32(self.intercept) * rest.sum(axis=0, dtype=np.float32)

    def _scores(self, X: Any) -> Doubles:
        self._require_fitted()
        rows: SparseRows = sparse_rows(X)
        self._require_width(rows)
        return rows.examples(float(self.intercept)).scores(self._course.weights(), len(self.classes_), 1)

    def _require_width(self, rows: SparseRows) -> None:
        if rows.width != self.n_features_in_:
            raise InputError(
                f"X has {rows.width} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call `fit` first")

    # ------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str], *, resumable: bool = False) -> None:
        """Write it to one file, whole or not at all: arrays and JSON, no code (see docs/model-file.md).

        `resumable`: with what `partial_fit` goes on from, which makes the file twice as large.
        """
        self._require_fitted()
        settings = {**self.get_params(), "parameters": dict(self.parameters or {})}
        del settings["cost"]  # a matrix by now, among the arrays
        metadata = {"kind": KIND, "settings": settings, "classes": self.classes_.tolist()}
        tensors: dict[str, NDArray[Any]] = {"weights": self.weights_, "costs": self.costs_}
        if resumable:
            self._course.require_open()
            metadata["course"] = {"passes": self._course.passes, "steps": self._course.steps}
            tensors |= {which: self._course.weights(which) for which in OTHER[self._course.which]}
        write_model(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlineClassifier:
        """One that was saved; ModelError where the file is something else, or damaged.

        Its costs are given as a matrix, whatever they were made from.
        """
        file = read_model(path, verify=True)
        made = cls(**stored_settings(file, cls._parameter_names()))
        classes = stored_classes(file)
        weights = file.tensor("weights", np.float32, (None, len(classes)))
        made._course = stored_course(file, made.weights, weights.reshape(-1))
        made.classes_ = classes
        made.costs_ = file.tensor("costs", np.float64, (len(classes), len(classes)))
        made.cost = made.costs_
        made.history_ = ()
        made.n_features_in_ = len(weights) - (1 if made.intercept else 0)
        return made

    # ------------------------------------------------------------ scikit-learn's conventions

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> OnlineClassifier:
        """Change some of the constructor's arguments; InputError where there is none of the name."""
        for name, value in params.items():
            if name not in self._parameter_names():
                raise UnknownNameError("parameter", name, list(self._parameter_names()))
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_course")

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


def warn_of_nothing(learner: Learner, history: Sequence[Epoch]) -> None:
    """A prior that is too strong lets no step be made at all: that would pass for learning otherwise."""
    gamma = learner.settings().get("gamma")
    if gamma is not None and not any(epoch.updates for epoch in history):
        warnings.warn(
            f"nothing was learned: {learner.name} with gamma = {gamma:g} holds every step back; "
            f"try a smaller one, {DEFAULTS['spv']['gamma']} is the default",
            stacklevel=3,
        )


class NotFittedError(InputError, AttributeError):
    """What is asked for is only there once something was learned."""


def not_fitted(message: str) -> Exception:
    """scikit-learn's own error where that is at work, so that its tools recognize it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return NotFittedError(message) if exceptions is None else exceptions.NotFittedError(message)
