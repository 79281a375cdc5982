"""The epoch loop of every learner: order of examples, callbacks, interruption, checkpoints and history.

The order of epoch e is a permutation drawn from (seed, e) alone, so a resumed run needs no generator's state
and gives the same bytes as one that was never interrupted. Steps are numbered from 1 through all epochs.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

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
from arbora.settings import parameter
from arbora.types import Floats, Longs

State: TypeAlias = dict[str, NDArray[Any]]
Stored: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Trainer(Learner):
    """Base class of learners: a number of epochs, and `fit`."""

    needs_more: ClassVar[str] = ""  # What other than default parameters need, in words

    epochs: int = parameter(10, "passes over the examples", least=1)

    def require_installed(self) -> None:
        """Raise InputError if an optional package is missing."""

    @property
    def incremental(self) -> bool:
        """Whether weights are all it keeps, so that it can go on with other examples (`go_on`)."""
        return False

    @abstractmethod
    def begin(self, problem: Problem) -> Run:
        """Return a run at its start."""

    def fit(
        self, problem: Problem, *, callbacks: Sequence[Callback] = (), resume: Stored | None = None
    ) -> Learned:
        """Train; `callbacks` run after each epoch, `resume` is the `state()` of an earlier run's progress.

        Ctrl-C ends training and returns the weights so far, from the middle of an epoch.
        """
        require_answers(self, problem)
        run = self.begin(problem)
        if resume is not None:
            try:
                run.restore(resume)
            except KeyError as error:
                raise InputError(f"resume: the state has no entry {error}; it is not complete") from error
        return run.fit(callbacks)


@dataclass
class Tally:
    """Sums over an epoch's answers."""

    loss: float = 0.0
    hinge: float = 0.0
    updates: int = 0
    measures: dict[str, float] = field(default_factory=dict)


class Run(ABC):
    """The state of a learner in training; callbacks see it as `Progress`."""

    kept: ClassVar[tuple[str, ...]] = ()
    """The attributes that a checkpoint stores, arrays and numbers."""
    kept_weights: ClassVar[dict[str, str]] = {}
    """Likewise, weights, with the prefix of their arrays."""

    def __init__(self, learner: Any, problem: Problem) -> None:
        self.learner = learner
        self.problem = problem
        self.everyone = np.arange(len(problem), dtype=np.int64)
        self.history: list[Epoch] = []
        self.converged = False
        self._about = {"learner": learner.name, "examples": len(problem), "size": problem.size}

    @property
    def epoch(self) -> Epoch:
        return self.history[-1]

    @property
    def epochs(self) -> int:
        return int(self.learner.epochs)

    def fit(self, callbacks: Sequence[Callback]) -> Learned:
        """Run the epochs that are left."""
        stopped: Literal["finished", "converged", "callback", "interrupted"] = "finished"
        try:
            while len(self.history) < self.epochs and not self.converged:
                number = len(self.history) + 1
                self.history.append(timed(self.problem, number, partial(self.pass_over, number)))
                for callback in callbacks:
                    callback(self)
            if self.converged:
                stopped = "converged"
        except StopTraining:
            stopped = "callback"
        except KeyboardInterrupt:
            stopped = "interrupted"
        return Learned(self.last(), self.averaged(), tuple(self.history), stopped)

    @abstractmethod
    def pass_over(self, number: int) -> Tally:
        """Make an epoch, numbered from 1."""

    @abstractmethod
    def last(self) -> Floats: ...

    def averaged(self) -> Floats:
        return self.last()

    def state(self) -> State:
        history = [list(astuple(epoch)) for epoch in self.history]
        about = {**self._about, "settings": self.learner.settings(), "history": history}
        held = attributes_to_arrays(self, self.kept)
        for name, prefix in self.kept_weights.items():
            weights: Weights = getattr(self, name)
            held |= {prefix + entry: np.asarray(value) for entry, value in weights.state().items()}
        return {"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy(), **held}

    def restore(self, state: Stored) -> None:
        """Go on from what `state` returned; InputError if it is of another training, KeyError if damaged."""
        try:
            about = json.loads(np.asarray(state["about"], dtype=np.uint8).tobytes())
            history = [Epoch(*row) for row in about["history"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"resume: not the state of a training ({error!r}); give what `state()` returned"
            ) from error
        there = {**about, **about["settings"]}
        for name, value in {**self._about, **self.learner.settings()}.items():
            # Training for more epochs is a reason to resume.
            if name != "epochs" and there.get(name) != value:
                raise InputError(
                    f"resume: the state is of a training with {name} = {there.get(name)!r}, this one has "
                    f"{value!r}; resume with the same settings and data, or start again"
                )
        for name, prefix in self.kept_weights.items():
            entries: dict[str, Any] = {
                entry.removeprefix(prefix): array if array.ndim else float(array)
                for entry, array in state.items()
                if entry.startswith(prefix)
            }
            weights = Weights.from_state(entries)
            require_size(len(weights), self.problem.size)
            setattr(self, name, weights)
        attributes_from_arrays(self, self.kept, state)
        self.history = history


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


class OnlineRun(Run):
    """The weights of an online learner, and steps on them."""

    kept_weights: ClassVar = {"w": "weights."}
    w: Weights

    def __init__(self, learner: OnlineTrainer, problem: Problem, w: Weights | None = None) -> None:
        super().__init__(learner, problem)
        self.w = Weights(problem.size) if w is None else w

    def pass_over(self, number: int) -> Tally:
        steps = -(-len(self.problem) // self.learner.batch)
        return self.over(shuffled(len(self.problem), self.learner.seed, number), (number - 1) * steps + 1)

    def over(self, order: Longs, first: int) -> Tally:
        tally, batch = Tally(), self.learner.batch
        for t, start in enumerate(range(0, len(order), batch), first):
            answer, changed = self.step(order[start : start + batch], t)
            tally.loss += answer.loss
            tally.hinge += answer.hinge
            tally.updates += changed
        return tally

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        answer, changed = self.learner.step(self.problem, chosen, self.w, t)
        return answer, changed

    def last(self) -> Floats:
        return self.w.values()

    def averaged(self) -> Floats:
        return self.w.average()


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
        needs, answers, lacks = (
            ", ".join(query.value for query in Query if query in queries) or "nothing"
            for queries in (learner.needs, problem.queries, missing)
        )
        raise InputError(
            f"{learner.name} needs {needs}, but the problem answers {answers}; missing: {lacks}. Choose "
            "another learner or other trees (`arbora list learners` says what each needs)",
            field="learner",
        )


def require_size(count: int, size: int) -> None:
    """Raise InputError unless a state has as many weights as the problem."""
    if count != size:
        raise InputError(f"resume: the state has {count} weights, the problem {size}")


def weights_of(values: Floats, averaged: Floats | None = None, steps: int = 0) -> Weights:
    """Weights with these values after so many steps; without `averaged`, they keep no average."""
    total = np.zeros(0) if averaged is None else averaged.astype(np.float64) * steps
    state: dict[str, Any] = {"v": values, "u": total, "ticks": float(steps), "norm2": squared_norm(values)}
    return Weights.from_state({**state, "scale": 1.0, "carried": 0.0, "norm2_error": 0.0})


def squared_norm(values: Floats) -> float:
    """|w|², in float64 without a copy of w."""
    return float(np.einsum("i,i->", values, values, dtype=np.float64))


def attributes_to_arrays(owner: object, names: Iterable[str], prefix: str = "") -> State:
    """Attributes, arrays or numbers, for `Run.state`."""
    return {prefix + name: np.array(getattr(owner, name)) for name in names}


def attributes_from_arrays(owner: object, names: Iterable[str], state: Stored, prefix: str = "") -> None:
    """Set the attributes that `attributes_to_arrays` stored."""
    for name in names:
        old, new = getattr(owner, name), np.array(state[prefix + name])
        setattr(owner, name, new if isinstance(old, np.ndarray) else type(old)(new))
