"""The epoch loop: order of examples, callbacks, interruption, checkpoints and history of every learner.

The order of epoch e is a permutation drawn from (seed, e) alone, so a resumed run needs no generator's state
and gives the same bytes as one that was never interrupted. Steps are numbered from 1 through all epochs.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights
from arbora.errors import InputError
from arbora.interfaces import (
    Answer,
    Callback,
    Epoch,
    Learned,
    Learner,
    Measured,
    Problem,
    Query,
    StopTraining,
)
from arbora.settings import Configured, parameter
from arbora.types import Floats, Longs

State = dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Trainer(Configured, ABC):
    """Base class of learners: a number of epochs, and `fit`."""

    name: ClassVar[str]
    paper: ClassVar[str]  # The key of the paper in docs/references.bib
    needs_more: ClassVar[str] = ""  # what non-default parameters need, in words

    epochs: int = parameter(10, "passes over the examples", least=1)

    @property
    @abstractmethod
    def needs(self) -> frozenset[Query]:
        """What the problem must answer."""

    def require_installed(self) -> None:
        """Raise InputError if an optional package is missing."""

    @property
    def incremental(self) -> bool:
        """Whether weights are all it keeps, so that it can go on with other examples (`go_on`)."""
        return False

    @abstractmethod
    def begin(self, problem: Problem) -> Run:
        """A run at its start: weights of zero."""

    def fit(
        self,
        problem: Problem,
        *,
        callbacks: Sequence[Callback] = (),
        resume: Mapping[str, NDArray[Any]] | None = None,
    ) -> Learned:
        """Train; `callbacks` run after each epoch, `resume` is the `state()` of an earlier run's progress.

        Ctrl-C ends training and returns the weights so far, from the middle of an epoch.
        """
        require_answers(self, problem)
        loop = Loop(self, problem, self.begin(problem))
        if resume is not None:
            loop.restore(resume)
        return loop.run(callbacks)


class Run(Protocol):
    """What changes while a learner trains, epoch by epoch."""

    @property
    def converged(self) -> bool: ...
    def epoch(self, number: int) -> Tally: ...
    def last(self) -> Floats: ...
    def averaged(self) -> Floats: ...
    def state(self) -> State: ...
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...


class Tally:
    """Sums over an epoch's answers."""

    def __init__(self) -> None:
        self.loss = 0.0
        self.hinge = 0.0
        self.updates = 0
        self.measures: dict[str, float] = {}

    def count(self, answer: Answer, *, changed: bool) -> None:
        self.loss += answer.loss
        self.hinge += answer.hinge
        self.updates += changed


@dataclass(frozen=True, kw_only=True)
class OnlineTrainer(Trainer):
    """A learner that changes the weights after every few examples; a subclass says how in `step`."""

    seed: int = parameter(0, "random seed of the order of examples", least=0)

    @property
    def batch(self) -> int:
        """Examples per step; the last step of an epoch gets the rest."""
        return 1

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        """Step t, from 1: query, change `w`, tick its average; return the answer and whether `w` changed."""
        raise NotImplementedError

    @property
    def incremental(self) -> bool:
        return type(self).begin is OnlineTrainer.begin

    def begin(self, problem: Problem) -> Run:
        return OnlineRun(self, problem)

    def go_on(self, problem: Problem, w: Weights, *, number: int, done: int) -> Epoch:
        """Make pass `number`, from 1, over examples and change weights that have seen `done` steps before."""
        if not self.incremental:
            raise InputError(
                f"{self.name} keeps more than weights from step to step: it cannot go on with other examples"
            )
        require_answers(self, problem)
        order = shuffled(len(problem), self.seed, number)
        return timed(problem, number, lambda: OnlineRun(self, problem, w).over(order, done + 1))


class OnlineRun:
    """The weights of an online learner, and steps on them."""

    converged = False

    def __init__(self, learner: OnlineTrainer, problem: Problem, w: Weights | None = None) -> None:
        self.learner = learner
        self.problem = problem
        self.w = Weights(problem.size) if w is None else w

    def epoch(self, number: int) -> Tally:
        steps = -(-len(self.problem) // self.learner.batch)
        return self.over(shuffled(len(self.problem), self.learner.seed, number), (number - 1) * steps + 1)

    def over(self, order: Longs, first: int) -> Tally:
        tally = Tally()
        batch = self.learner.batch
        for t, start in enumerate(range(0, len(order), batch), first):
            answer, changed = self.step(order[start : start + batch], t)
            tally.count(answer, changed=changed)
        return tally

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        return self.learner.step(self.problem, chosen, self.w, t)

    def last(self) -> Floats:
        return self.w.values()

    def averaged(self) -> Floats:
        return self.w.average()

    def state(self) -> State:
        return weights_to_arrays(self.w)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.w = weights_from_arrays(state, self.problem.size)


class Loop:
    """The epochs of one run; callbacks see it as `Progress`."""

    def __init__(self, learner: Trainer, problem: Problem, run: Run) -> None:
        self.learner = learner
        self.problem = problem
        self._run = run
        self.history: list[Epoch] = []

    @property
    def epoch(self) -> Epoch:
        return self.history[-1]

    @property
    def epochs(self) -> int:
        return self.learner.epochs

    def last(self) -> Floats:
        return self._run.last()

    def averaged(self) -> Floats:
        return self._run.averaged()

    def run(self, callbacks: Sequence[Callback]) -> Learned:
        stopped: Literal["finished", "converged", "callback", "interrupted"] = "finished"
        try:
            while len(self.history) < self.epochs and not self._run.converged:
                number = len(self.history) + 1
                self.history.append(timed(self.problem, number, partial(self._run.epoch, number)))
                for callback in callbacks:
                    callback(self)
            if self._run.converged:
                stopped = "converged"
        except StopTraining:
            stopped = "callback"
        except KeyboardInterrupt:
            stopped = "interrupted"
        return Learned(self.last(), self.averaged(), tuple(self.history), stopped)

    def state(self) -> State:
        """What `fit(resume=...)` needs to go on after the last finished epoch, to the same bytes."""
        about = {
            "learner": self.learner.name,
            "settings": self.learner.settings(),
            "examples": len(self.problem),
            "size": self.problem.size,
            "history": [list(astuple(epoch)) for epoch in self.history],
        }
        text = json.dumps(about).encode()
        return {"about": np.frombuffer(text, dtype=np.uint8).copy(), **self._run.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        try:
            about = json.loads(np.asarray(state["about"], dtype=np.uint8).tobytes())
            history = [Epoch(*row) for row in about["history"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"resume: not the state of a training ({error!r}); give what `state()` returned"
            ) from error
        here = {
            "learner": self.learner.name,
            "examples": len(self.problem),
            "size": self.problem.size,
            **self.learner.settings(),
        }
        there = {**about, **about["settings"]}
        for name, value in here.items():
            # Training for more epochs is a reason to resume.
            if name != "epochs" and there.get(name) != value:
                raise InputError(
                    f"resume: the state is of a training with {name} = {there.get(name)!r}, this one has "
                    f"{value!r}; resume with what it was begun with, or begin anew"
                )
        try:
            self._run.restore(state)
        except KeyError as error:
            raise InputError(f"resume: the state has no entry {error}; it is not complete") from error
        self.history = history


def timed(problem: Problem, number: int, pass_over: Callable[[], Tally]) -> Epoch:
    """Run an epoch and report on it."""
    begin = time.perf_counter()
    tally = pass_over()
    seconds = time.perf_counter() - begin
    if isinstance(problem, Measured):
        tally.measures |= problem.take_measures()
    return Epoch(number, tally.loss, tally.hinge, tally.updates, seconds, dict(tally.measures))


def shuffled(count: int, seed: int, epoch: int) -> Longs:
    """The order of an epoch's examples, by sorting raw numbers.

    numpy keeps raw numbers the same in all versions, unlike `Generator.permutation`.
    """
    numbers = np.random.PCG64([seed, epoch]).random_raw(count)
    return np.argsort(numbers, kind="stable").astype(np.int64)


def require_answers(learner: Learner, problem: Problem) -> None:
    """Raise InputError unless the problem has examples and answers all queries of the learner."""
    if isinstance(learner, Trainer):
        learner.require_installed()
    if not len(problem):
        raise InputError(f"{learner.name}: the problem has no examples; at least one is needed to learn from")
    missing = learner.needs - problem.queries
    if missing:

        def names(queries: frozenset[Query]) -> str:
            return ", ".join(query.value for query in Query if query in queries) or "nothing"

        raise InputError(
            f"{learner.name} needs {names(learner.needs)}, but the problem answers "
            f"{names(problem.queries)}; missing: {names(missing)}. Choose another learner or other trees "
            f"(`arbora list learners` says what each needs)",
            field="learner",
        )


def weights_to_arrays(w: Weights, prefix: str = "weights.") -> State:
    """The state of weights, every entry an array."""
    return {f"{prefix}{name}": np.asarray(value) for name, value in w.state().items()}


def weights_from_arrays(state: Mapping[str, NDArray[Any]], size: int, prefix: str = "weights.") -> Weights:
    """The inverse of `weights_to_arrays`."""
    entries: dict[str, Any] = {
        name.removeprefix(prefix): array if array.ndim else float(array)
        for name, array in state.items()
        if name.startswith(prefix)
    }
    w = Weights.from_state(entries)
    if len(w) != size:
        raise InputError(f"resume: the state has {len(w)} weights, the problem {size}")
    return w


def attributes_to_arrays(owner: object, names: Sequence[str], prefix: str = "") -> State:
    """Attributes, arrays or numbers, for `Run.state`."""
    return {prefix + name: np.array(getattr(owner, name)) for name in names}


def attributes_from_arrays(
    owner: object, names: Sequence[str], state: Mapping[str, NDArray[Any]], prefix: str = ""
) -> None:
    """Set the attributes that `attributes_to_arrays` stored."""
    for name in names:
        old, new = getattr(owner, name), np.array(state[prefix + name])
        setattr(owner, name, new if isinstance(old, np.ndarray) else type(old)(new))


class BatchRun:
    """A run over all examples at once; `kept` names what it stores besides weights."""

    kept: ClassVar[tuple[str, ...]] = ("converged",)

    def __init__(self, learner: Trainer, problem: Problem) -> None:
        self.problem = problem
        self.everyone = np.arange(len(problem), dtype=np.int64)
        self.converged = False

    def last(self) -> Floats:
        raise NotImplementedError

    def averaged(self) -> Floats:
        """These weights need no averaging."""
        return self.last()

    def state(self) -> State:
        return attributes_to_arrays(self, self.kept)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        attributes_from_arrays(self, self.kept, state)
