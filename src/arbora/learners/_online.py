"""The only epoch loop: order of examples, callbacks, interruption, checkpoints and history for every learner.

The order of epoch e is a permutation drawn from (seed, e) alone, so that a run that is resumed after some
epoch needs no generator's state and gives the same bytes as one that was never interrupted. Steps are
numbered from 1 through all epochs.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from arbora.learners._parameters import Configured, parameter
from arbora.types import Floats, Longs

State = dict[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Trainer(Configured, ABC):
    """What all learners share: a number of epochs, and `fit`."""

    name: ClassVar[str]
    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""
    needs_more: ClassVar[str] = ""
    """What other parameters than the defaults need, in words."""

    epochs: int = parameter(10, "passes over the examples", least=1)

    @property
    @abstractmethod
    def needs(self) -> frozenset[Query]:
        """What the problem must answer."""

    def require_installed(self) -> None:
        """InputError where something that it works with is not installed; most need nothing."""

    @property
    def incremental(self) -> bool:
        """Whether weights are all that it keeps, so that it can go on with other examples (`go_on`)."""
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

        Ctrl-C ends training, not the program: what was learned so far is returned. The weights are then those
        in the middle of an epoch; a callback that keeps the best epoch's has them already.
        """
        require_answers(self, problem)
        loop = Loop(self, problem, self.begin(problem))
        if resume is not None:
            loop.restore(resume)
        return loop.run(callbacks)


class Run(Protocol):
    """What changes while a learner trains, epoch by epoch."""

    def epoch(self, number: int) -> Tally:
        """One pass over the examples; `number` counts from 1."""

    @property
    def converged(self) -> bool:
        """Whether there is nothing left to gain."""

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
    """A learner that changes the weights after every few examples: a subclass says how, in `step`."""

    seed: int = parameter(0, "of the order of examples, which is another in each epoch", least=0)

    @property
    def batch(self) -> int:
        """How many examples a step sees; the last step of an epoch sees what is left."""
        return 1

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        """Step t, from 1: ask, change `w`, tick its average; returns the answer and whether `w` changed."""
        raise NotImplementedError

    @property
    def incremental(self) -> bool:
        """Unless its runs are of its own making, and may keep more than weights."""
        return type(self).begin is OnlineTrainer.begin

    def begin(self, problem: Problem) -> Run:
        return OnlineRun(self, problem)

    def go_on(self, problem: Problem, w: Weights, *, number: int, done: int) -> Epoch:
        """Pass `number` over examples, from 1, with weights that `done` steps on the same or others made.

        The weights are changed. InputError unless it is `incremental`.
        """
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
        """`w`: weights to go on with, which are changed; None: zero."""
        self.learner = learner
        self.problem = problem
        self.w = Weights(problem.size) if w is None else w

    def epoch(self, number: int) -> Tally:
        steps = -(-len(self.problem) // self.learner.batch)
        return self.over(shuffled(len(self.problem), self.learner.seed, number), (number - 1) * steps + 1)

    def over(self, order: Longs, first: int) -> Tally:
        """Steps on the examples in this order; the number of the first of them."""
        tally = Tally()
        batch = self.learner.batch
        for t, start in enumerate(range(0, len(order), batch), first):
            answer, changed = self.step(order[start : start + batch], t)
            tally.count(answer, changed=changed)
        return tally

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        """Step t on the chosen examples: the learner's, unless the run keeps more than weights."""
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
    """Epochs of one run; this is what callbacks see as `Progress`."""

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
        last = self.last()
        averaged = self.averaged()
        return Learned(last, averaged, tuple(self.history), stopped)

    def state(self) -> State:
        """All that `fit(resume=...)` needs to go on after the last finished epoch, to the same bytes."""
        about = {
            "learner": self.learner.name,
            "settings": self.learner.settings(),
            "examples": len(self.problem),
            "size": self.problem.size,
            "history": [
                [e.number, e.loss, e.hinge, e.updates, e.seconds, dict(e.measures)] for e in self.history
            ],
        }
        text = json.dumps(about, ensure_ascii=True)
        return {"about": np.frombuffer(text.encode(), dtype=np.uint8).copy(), **self._run.state()}

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
            # More epochs than were planned are a reason to resume.
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
    """An epoch with all that is to be told of it."""
    begin = time.perf_counter()
    tally = pass_over()
    seconds = time.perf_counter() - begin
    if isinstance(problem, Measured):
        tally.measures |= problem.take_measures()
    return Epoch(number, tally.loss, tally.hinge, tally.updates, seconds, dict(tally.measures))


def shuffled(count: int, seed: int, epoch: int) -> Longs:
    """The order of an epoch's examples: a permutation that depends on nothing else.

    By sorting raw numbers: unlike `Generator.permutation`, numpy promises these for all its versions.
    """
    numbers = np.random.PCG64([seed, epoch]).random_raw(count)
    return np.argsort(numbers, kind="stable").astype(np.int64)


def require_answers(learner: Learner, problem: Problem) -> None:
    """InputError unless the problem has examples and answers all that the learner asks, and that can work."""
    if isinstance(learner, Trainer):
        learner.require_installed()
    if not len(problem):
        raise InputError(f"{learner.name}: the problem has no examples; at least one is needed to learn from")
    missing = learner.needs - problem.queries
    if missing:

        def names(queries: frozenset[Query]) -> str:
            return ", ".join(query.value for query in Query if query in queries) or "nothing"

        raise InputError(
            f"the learner {learner.name} needs {names(learner.needs)}, but the problem answers "
            f"{names(problem.queries)}; missing: {names(missing)}. Choose another learner or other trees "
            f"(`arbora list learners` says what each needs)"
        )


def weights_to_arrays(w: Weights, prefix: str = "weights.") -> State:
    """A Weights' state, every entry an array."""
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
