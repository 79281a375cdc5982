"""Classifiers of sparse examples, learned online, with a cost per mistake; estimators as in scikit-learn.

Each class has a weight for every feature, and the class with the greatest score is predicted. The weights are
found by any learner that needs the best class, the k best, or probabilities of classes.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights
from arbora.classification.classes import as_classes, classes_of, cost_matrix, from_sklearn, numbers_of, shown
from arbora.classification.rows import SparseRows, sparse_rows
from arbora.errors import InputError, UnknownNameError
from arbora.interfaces import Epoch, Learner, Problem
from arbora.learners._candidates import CandidateTrainer
from arbora.learners._online import OnlineTrainer
from arbora.learners.stage import Which
from arbora.problems.multiclass import MulticlassProblem
from arbora.registry import learners, seeded_learner
from arbora.storage.model_file import ModelFile, read_model, write_model
from arbora.types import Doubles, Floats, weights_of

KIND = "classifier"
# Chosen by cross-validation on training data: `benchmarks/classification.py --accuracy`. With all classes as
# candidates, a Gaussian prior would lower near and far ones alike, and learn little.
DEFAULTS: dict[str, dict[str, int | float]] = {n: {"k": 2, "gamma": 0.01} for n in ("spv", "mec")}


OTHER: dict[Which, Which] = {"averaged": "last", "last": "averaged"}


@dataclass
class Course:
    """Passes over examples, the same or others, by a learner that keeps nothing but weights.

    Weights to predict with are made when they are needed: a pass over one example costs what the example
    touches, not the number of weights.
    """

    which: Which
    """Which weights to predict with."""
    made: dict[Which, Floats] = field(default_factory=dict)
    w: Weights | None = None
    """Weights to go on with; None: made from both of `made`, if both are there."""
    passes: int = 0
    steps: int = 0

    @classmethod
    def from_file(cls, file: ModelFile, which: Which, weights: Floats) -> Course:
        """The course in a model file; one that cannot go on if the file was not saved as resumable."""
        if "course" not in file.metadata:
            return cls(which, {which: weights})
        counts: list[Any] = [file.entry("course", dict).get(name) for name in ("passes", "steps")]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise file.error(f"course: expected numbers of passes and steps, got {counts!r:.80}")
        other = OTHER[which]
        both: dict[Which, Floats] = {which: weights, other: file.tensor(other, np.float32, weights.shape)}
        return cls(which, both, None, *counts)

    def require_open(self) -> None:
        """InputError unless it can go on."""
        if self.w is None and len(self.made) < len(OTHER):
            raise InputError(
                "this classifier was loaded from a file that holds the weights to predict with, but not "
                "those to go on with; save it with `resumable=True`, or call `fit`"
            )

    @property
    def size(self) -> int:
        return len(self.weights(self.which)) if self.w is None else len(self.w)

    def weights(self, which: Which | None = None) -> Floats:
        """Weights to predict with, or those of the name; (size,)."""
        which = which or self.which
        if which not in self.made:
            assert self.w is not None
            self.made[which] = self.w.average() if which == "averaged" else self.w.values()
        return self.made[which]

    def go_on(self, learner: OnlineTrainer, problem: Problem, which: Which) -> Epoch:
        if self.w is None:  # float32 averages are all that is known
            self.w = weights_of(self.weights("last"), self.weights("averaged"), self.steps)
        self.made = {}
        self.which = which
        epoch = learner.go_on(problem, self.w, number=self.passes + 1, done=self.steps)
        self.passes += 1
        self.steps += -(-len(problem) // learner.batch)
        return epoch

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which go on to the same bits."""
        return {**self.__dict__, "w": None if self.w is None else self.w.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["w"] is not None:
            self.w = Weights.from_state(state["w"])


@dataclass(eq=False, repr=False)
class OnlineClassifier:
    """A linear classifier of several classes, learned from one example after the other.

    `learner`: a name of `arbora list learners`; `parameters`: some of its own, e.g. `{"C": 0.1}`. The default
    of `k`, the number of candidates, is all classes for mira and au, 2 for spv and mec, whose default gamma
    is 0.01.
    `cost`: None, 1 for every mistake; "hierarchical", less for a wrong subtype (`hierarchical_costs`);
    or a matrix, `[right, other]` in the order of sorted classes. `weights`: "averaged" or "last".
    `intercept`: the value of a feature that every example has; 0: none.

    Once fitted: `classes_`, `weights_` (columns, classes), `costs_`, `history_` (of `partial_fit`, the last
    pass), `n_features_in_`.
    """

    _estimator_type: ClassVar[str] = "classifier"

    # Stored as given and checked by `fit`, as scikit-learn's `clone` requires.
    learner: str = "mira"
    _: KW_ONLY
    parameters: Mapping[str, int | float | str] | None = None
    cost: Any = None
    epochs: int = 5
    seed: int = 0
    weights: Which = "averaged"
    intercept: float = 1.0

    # ------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> OnlineClassifier:
        """Learn from rows `X` (see `sparse_rows`) and their classes `y`, starting anew."""
        rows = sparse_rows(X)
        classes, right = np.unique(classes_of(y, len(rows)), return_inverse=True)
        costs = cost_matrix(self.cost, classes)
        problem = self._problem(rows, right, costs)
        learner = self._make_learner(len(classes))
        learned = learner.fit(problem)
        if len(classes) > 1:
            warn_of_nothing(learner, learned.history)
        passes = len(learned.history)
        steps = passes * -(-len(rows) // learner.batch) if isinstance(learner, OnlineTrainer) else 0
        made: dict[Which, Floats] = {"last": learned.last, "averaged": learned.averaged}
        self._course = Course(self.weights, made, None, passes, steps)
        return self._learned(classes, costs, rows.width, learned.history)

    def _problem(self, rows: SparseRows, right: NDArray[Any], costs: Doubles) -> MulticlassProblem:
        if self.weights not in OTHER:
            raise InputError(f"weights: expected averaged or last, got {self.weights!r}")
        if not isinstance(self.intercept, int | float) or not math.isfinite(self.intercept):
            raise InputError(f"intercept: expected a finite number, got {self.intercept!r}")
        return MulticlassProblem(rows.examples(float(self.intercept)), right, costs)

    def _learned(
        self, classes: NDArray[Any], costs: Doubles, width: int, history: tuple[Epoch, ...]
    ) -> OnlineClassifier:
        self.classes_, self.costs_, self.n_features_in_, self.history_ = classes, costs, width, history
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> OnlineClassifier:
        """Make one more pass over these rows, from the weights learned so far.

        `classes`: all there will ever be; required by the first call, unless `fit` came before. As many calls
        with the same rows as `fit` makes epochs give the same weights. InputError if the learner needs all
        examples at once, or keeps more than weights.
        """
        rows = sparse_rows(X)
        given = classes_of(y, len(rows))
        known = self._all_classes(classes)
        costs = cost_matrix(self.cost, known)
        problem = self._problem(rows, numbers_of(given, known), costs)
        learner = self._make_learner(len(known))
        if not isinstance(learner, OnlineTrainer) or not learner.incremental:
            able = [name for name in learners if getattr(learners.create(name), "incremental", False)]
            raise InputError(
                f"partial_fit: the learner {self.learner} does not learn incrementally; call `fit`, or "
                f"choose one of {', '.join(able)}"
            )
        if self.__sklearn_is_fitted__():
            self._require_width(rows)
        course = getattr(self, "_course", None) or Course(self.weights, w=Weights(problem.size))
        course.require_open()
        if course.size != problem.size:
            raise InputError(
                f"intercept: got {self.intercept!r}, but the weights learned so far have "
                f"{'one' if course.size > problem.size else 'none'}; leave it as it was, or call `fit`"
            )
        epoch = course.go_on(learner, problem, self.weights)
        self._course = course
        return self._learned(known, costs, rows.width, (epoch,))

    def _all_classes(self, given: Any) -> NDArray[Any]:
        """The classes of earlier calls, or those given for the first."""
        known: NDArray[Any] | None = getattr(self, "classes_", None)
        if given is None:
            if known is None:
                raise InputError("partial_fit: classes must be passed on the first call: all that will occur")
            return known
        found = np.unique(as_classes(given, "classes"))
        if not len(found):
            raise InputError("classes: expected at least one class, got none")
        if known is None:
            return found
        if found.tolist() != known.tolist():
            raise InputError(
                f"classes: expected those of the first call, {shown(known)}, got {shown(found)}; make a new "
                "classifier for others"
            )
        return known

    def _make_learner(self, classes: int) -> Learner:
        factory: Any = learners.factory(self.learner)
        given: dict[str, Any] = dict(self.parameters or {})
        own = {"epochs", "seed"} & given.keys()
        if own:
            raise InputError(f"parameters: {own.pop()} is a parameter of the classifier, not of the learner")
        if issubclass(factory, CandidateTrainer):
            given = {"k": max(2, classes), **DEFAULTS.get(self.learner, {}), **given}
        return seeded_learner(self.learner, {**given, "epochs": self.epochs}, self.seed)

    # ------------------------------------------------------------ using

    def decision_function(self, X: Any) -> Doubles:
        """The score of each class, (rows, classes); for two classes, second minus first, (rows,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the greatest score for each row; the first of equal ones."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any) -> float:
        """The accuracy: the share of rows whose class is right."""
        found = self.predict(X)
        return float(np.mean(found == classes_of(y, len(found))))

    def mean_cost(self, X: Any, y: Any) -> float:
        """The mean cost of the predicted classes; `y` holds only classes that were learned."""
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
        return self.weights_[: self.n_features_in_].T

    @property
    def intercept_(self) -> Floats:
        """The constant term of each class's score, (classes,)."""
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
            error = from_sklearn("NotFittedError", NotFittedError)
            raise error(f"this {type(self).__name__} is not fitted yet; call `fit` first")

    # ------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str], *, resumable: bool = False) -> None:
        """Write one file, atomically: arrays and JSON, no code (see docs/model-file.md).

        `resumable`: include what `partial_fit` needs to go on, which doubles the size.
        """
        self._require_fitted()
        settings = {**self.get_params(), "parameters": dict(self.parameters or {})}
        del settings["cost"]  # a matrix by now, among the arrays
        metadata = {"kind": KIND, "settings": settings, "classes": self.classes_.tolist()}
        tensors: dict[str, NDArray[Any]] = {"weights": self.weights_, "costs": self.costs_}
        if resumable:
            self._course.require_open()
            metadata["course"] = {"passes": self._course.passes, "steps": self._course.steps}
            other = OTHER[self._course.which]
            tensors[other] = self._course.weights(other)
        write_model(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlineClassifier:
        """Load a saved classifier; ModelError if the file is something else, or damaged.

        Its cost is a matrix, whatever it was made from.
        """
        file = read_model(path, verify=True)
        made = cls(**_stored_settings(file, cls._parameter_names()))
        classes = _stored_classes(file)
        weights = file.tensor("weights", np.float32, (None, len(classes)))
        try:
            made._make_learner(len(classes))
        except InputError as error:
            raise file.error(f"settings: {error}") from None
        made._course = Course.from_file(file, made.weights, weights.reshape(-1))
        made.cost = file.tensor("costs", np.float64, (len(classes), len(classes)))
        return made._learned(classes, made.cost, len(weights) - (1 if made.intercept else 0), ())

    # ------------------------------------------------------------ scikit-learn's conventions

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [each.name for each in fields(cls)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> OnlineClassifier:
        """Change some of the constructor's arguments; InputError for unknown names."""
        for name, value in params.items():
            if name not in self._parameter_names():
                raise UnknownNameError("parameter", name, self._parameter_names())
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_course")

    def __sklearn_tags__(self) -> Any:
        """For scikit-learn: a classifier of sparse and dense rows."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(sparse=True),
        )

    def __repr__(self) -> str:
        values = [(each, getattr(self, each.name)) for each in fields(self)]
        changed = [f"{each.name}={value!r}" for each, value in values if value is not each.default]
        return f"{type(self).__name__}({', '.join(changed)})"


def warn_of_nothing(learner: Learner, history: Sequence[Epoch]) -> None:
    """Warn if the prior was so strong that no step was made."""
    gamma = learner.settings().get("gamma")
    if gamma is not None and not any(epoch.updates for epoch in history):
        warnings.warn(
            f"nothing was learned: gamma = {gamma:g} of {learner.name} is too large; try a smaller one, "
            f"{DEFAULTS['spv']['gamma']} is the default",
            stacklevel=3,
        )


class NotFittedError(InputError, AttributeError):
    """The classifier was used before `fit`."""


def _stored_settings(file: ModelFile, names: list[str]) -> dict[str, Any]:
    """The constructor's arguments from a file; ModelError if they are damaged."""
    file.require_kind(KIND, "a classifier, as `OnlineClassifier.save` writes it")
    settings = file.entry("settings", dict)
    intercept, weights = settings.get("intercept"), settings.get("weights")
    parameters, learner = settings.get("parameters", {}), settings.get("learner", "")
    if not (
        isinstance(intercept, int | float) and isinstance(learner, str) and isinstance(weights, str)
    ) or not (isinstance(parameters, dict) and weights in OTHER and settings.keys() <= set(names)):
        expected = f"those of a classifier, {', '.join(names)}"
        raise file.error(f"settings: expected {expected}, got {str(settings)[:200]}")
    return settings


def _stored_classes(file: ModelFile) -> NDArray[Any]:
    try:
        classes = as_classes(file.entry("classes", list), "classes")
    except InputError as error:
        raise file.error(str(error)) from error
    if classes.ndim != 1 or not len(classes):
        raise file.error(f"classes: expected a list, got {classes.tolist()!r:.80}")
    return classes
