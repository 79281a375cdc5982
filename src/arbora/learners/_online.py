"""The epoch loop of every learner: order of examples, callbacks, interruption, checkpoints and history.

The order of epoch e is a permutation drawn from (seed, e) alone, so a resumed run needs no generator's state
and gives the same bytes as one that was never interrupted. Steps are numbered from 1 through all epochs.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora._core import Weights
from arbora.errors import MOST_SEED, InputError
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
Sharing: TypeAlias = Literal["sums", "dual", "mixing"]
"""How several workers train, see `arbora.distributed.sharing`."""


@dataclass(frozen=True, kw_only=True)
class Trainer(Learner):
    """Base class of learners: a number of epochs, and `fit`."""

    needs_more: ClassVar[str] = ""  # What other than default parameters need, in words
    run_kind: ClassVar[type[Run]]  # The state in training, and how an epoch changes it
    sharing: ClassVar[Sharing] = "sums"

    epochs: int = parameter(10, "passes over the examples", least=1)

    def require_installed(self) -> None:
        """Raise InputError if an optional package is missing."""

    def make_run(self, problem: Problem) -> Run:
        """The state before the first epoch; a problem may bring a kind of its own in `runs`, by learner."""
        kinds: Mapping[str, Callable[[Trainer, Problem], Run]] = getattr(problem, "runs", {})
        return kinds.get(self.name, self.run_kind)(self, problem)

    def complete(self, epoch: Epoch, problem: Problem, w: Weights) -> tuple[Epoch, bool]:
        """What follows the steps of an epoch: measures at its last weights, and whether it has converged."""
        return epoch, False

    def fit(
        self, problem: Problem, *, callbacks: Sequence[Callback] = (), resume: Stored | None = None
    ) -> Learned:
        """Train; `callbacks` run after each epoch, `resume` is the `state()` of an earlier run's progress.

        Ctrl-C ends training and returns the weights so far, from the middle of an epoch.
        """
        require_answers(self, problem)
        run = self.make_run(problem)
        if resume is not None:
            try:
                run.restore(resume)
            except InputError:
                raise
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(
                    f"resume: not the state of a training ({error!r}); pass a state that `state()` returned"
                ) from error
        return run.fit(callbacks)


class Run(ABC):
    """The state of a learner in training; callbacks see it as `Progress`."""

    kept: ClassVar[tuple[str, ...]] = ()
    """The attributes that a checkpoint stores, with a dot if they are another object's."""

    def __init__(self, learner: Any, problem: Problem) -> None:
        self.learner = learner
        self.problem = problem
        self.everyone = np.arange(len(problem), dtype=np.int64)
        self.history: list[Epoch] = []
        self.converged = False
        self.shards = 1
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
                self.history.append(timed(self.problem, partial(self.pass_over, number)))
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
    def pass_over(self, number: int) -> Epoch:
        """Make an epoch, numbered from 1; `timed` adds its time."""

    def take_steps(self, number: int) -> Epoch:
        """The part of an epoch that changes weights; `Trainer.complete` is the rest."""
        return self.pass_over(number)

    def share(self, shards: int) -> None:
        """Become one of several runs over a shard each, whose weights are mixed after each epoch."""
        self.shards = shards

    @abstractmethod
    def last(self) -> Floats: ...

    def averaged(self) -> Floats:
        return self.last()

    def about(self) -> NDArray[Any]:
        """The settings and the history, as JSON."""
        history = [list(astuple(epoch)) for epoch in self.history]
        about = {**self._about, "settings": self.learner.settings(), "history": history}
        return np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy()

    def state(self) -> State:
        held: State = {"about": self.about()}
        for name in self.kept:
            value = attrgetter(name)(self)
            held |= self.entries(name, value) if isinstance(value, Weights) else {name: np.array(value)}
        return held

    @staticmethod
    def entries(name: str, w: Weights) -> State:
        """Weights in a state."""
        return {f"{name}.{entry}": np.array(each) for entry, each in w.state().items()}

    def restore(self, state: Stored) -> None:
        """Go on from what `state` returned; InputError if it is of another training."""
        about = json.loads(np.asarray(state["about"], dtype=np.uint8).tobytes())
        self.history = [Epoch(*row) for row in about["history"]]
        there = {**about, **about["settings"]}
        for name, value in {**self._about, **self.learner.settings()}.items():
            # Training for more epochs is a reason to resume.
            if name != "epochs" and there.get(name) != value:
                raise InputError(
                    f"resume: the state is of a training with {name} = {there.get(name)!r}, this one has "
                    f"{value!r}; resume with the same settings and data, or start again"
                )
        for name in self.kept:
            owner, _, attribute = name.rpartition(".")
            old: Any = attrgetter(name)(self)
            new: Any
            if isinstance(old, Weights):
                entries = {entry: state[f"{name}.{entry}"] for entry in old.state()}
                new = Weights.from_state({n: a if a.ndim else float(a) for n, a in entries.items()})
                require_size(name, len(new), len(old))
            elif isinstance(old, np.ndarray):
                new = np.array(state[name])
                require_size(name, len(new), len(old) or len(new))
            else:
                new = type(old)(state[name])
            setattr(attrgetter(owner)(self) if owner else self, attribute, new)


class OnlineRun(Run):
    """The weights of an online learner, and steps on them."""

    kept: ClassVar[tuple[str, ...]] = ("weights",)

    def __init__(self, learner: Any, problem: Problem, w: Weights | None = None) -> None:
        super().__init__(learner, problem)
        self.weights = Weights(problem.size) if w is None else w

    def pass_over(self, number: int, done: int | None = None) -> Epoch:
        """An epoch after `done` steps; None: after as many as the epochs before have with these examples."""
        order = shuffled(len(self.problem), self.learner.seed, number)
        loss, hinge, updates = 0.0, 0.0, 0
        before = self.steps_before(number) if done is None else done
        for t, chosen in enumerate(self.batches(order), before + 1):
            answer, changed = self.step(chosen, t)
            loss += answer.loss
            hinge += answer.hinge
            updates += changed
        return Epoch(number, loss, hinge, updates)

    def batches(self, order: Longs) -> Iterator[Longs]:
        """The examples of each step of an epoch, in order."""
        batch = self.learner.batch
        return (order[start : start + batch] for start in range(0, len(order), batch))

    def steps_before(self, number: int) -> int:
        """The steps of all epochs before this one."""
        return (number - 1) * -(-len(self.problem) // self.learner.batch)

    def step(self, chosen: Longs, t: int) -> tuple[Answer, bool]:
        answer, changed = self.learner.step(self.problem, chosen, self.weights, t)
        return answer, changed

    def last(self) -> Floats:
        return self.weights.values()

    def averaged(self) -> Floats:
        return self.weights.average()


@dataclass(frozen=True, kw_only=True)
class OnlineTrainer(Trainer):
    """A learner that changes the weights after every few examples; a subclass says how in `step`."""

    run_kind: ClassVar[type[Run]] = OnlineRun
    sharing: ClassVar[Sharing] = "mixing"

    seed: int = parameter(0, "random seed of the order of examples", least=0, most=MOST_SEED)

    @property
    def batch(self) -> int:
        """Examples per step; the last step of an epoch gets the rest."""
        return 1

    def step(self, problem: Problem, chosen: Longs, w: Weights, t: int) -> tuple[Answer, bool]:
        """Step t, from 1: query, change `w`, tick its average; return the answer and whether `w` changed."""
        raise InputError(f"{type(self).__name__} must define `step`", field="learner")

    @property
    def incremental(self) -> bool:
        """Whether weights are all it keeps, so that it can go on with other examples (`go_on`)."""
        return self.run_kind is OnlineRun

    def go_on(self, problem: Problem, w: Weights, *, number: int, done: int) -> Epoch:
        """Make pass `number`, from 1, over examples and change weights that have seen `done` steps before."""
        if not self.incremental:
            raise InputError(
                f"{self.name} keeps more than weights from step to step: it cannot go on with other examples"
            )
        require_answers(self, problem)
        return timed(problem, partial(OnlineRun(self, problem, w).pass_over, number, done))


def timed(problem: Problem, pass_over: Callable[[], Epoch]) -> Epoch:
    """An epoch with its time, and with what the problem measured."""
    begin = time.perf_counter()
    epoch = pass_over()
    seconds = time.perf_counter() - begin
    measured = problem.take_measures() if isinstance(problem, Measured) else {}
    return replace(epoch, seconds=seconds, measures={**epoch.measures, **measured})


def shuffled(count: int, seed: int, epoch: int) -> Longs:
    """The order of an epoch's examples, by sorting raw numbers.

    numpy keeps raw numbers the same in all versions, unlike `Generator.permutation`.
    """
    numbers = np.random.PCG64([seed, epoch]).random_raw(count)
    return np.argsort(numbers, kind="stable").astype(np.int64)


def require_answers(
    learner: Learner,
    problem: Problem,
    who: str = "the problem answers",
    choices: Sequence[str] = ("another learner", "other trees"),
) -> None:
    """Raise InputError unless the problem has examples and answers all queries of the learner.

    `who` answers too few queries, and `choices` would help, in words.
    """
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
            f"{learner.name} needs {needs}, but {who} {answers}; missing: {lacks}. Choose "
            f"{' or '.join(choices)} (`arbora list learners` says what each needs)",
            field="learner",
        )


def require_size(name: str, count: int, size: int) -> None:
    """Raise InputError unless an array of a state is as long as this problem needs."""
    if count != size:
        raise InputError(f"resume: {name}: expected {size} values for this problem, got {count}")
