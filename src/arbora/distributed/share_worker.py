"""The state of a worker during training: problems over its share, and its run of the learner."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from arbora._core import SparseVector, Weights
from arbora.interfaces import Answer, Epoch, Measured
from arbora.learners._online import Run, Sharing, State
from arbora.learners.stage import Stage, Watched
from arbora.types import Doubles, Floats, squared_norm

PATIENCE = 0.5
"""Seconds after which a worker says how far it is."""

Way: TypeAlias = Sharing | Literal["replicas"]
"""How workers train together, see `arbora.distributed.sharing`."""


class Source(Protocol):
    """Makes the stages of a training over a share of the sentences; a recipe does."""

    def stage(self, name: str, done: dict[str, Floats]) -> Stage:
        """A stage, with the weights of those before it."""


class Share(Protocol):
    """A share of a training that can be pickled, and is opened where it arrives."""

    def open(self) -> Source:
        """What makes the stages."""


class Passed(NamedTuple):
    """The result of a pass of one worker over its shard."""

    epoch: Epoch
    values: Floats  # w, (size,)
    total: Doubles | None  # the sum of w over the ticks of this pass, (size,); None: not averaged
    ticks: float


class ShareWorker:
    """Takes one call at a time, and keeps state between calls."""

    def __init__(self) -> None:
        self.source: Source
        self.problem: Any
        self.run: Any
        self.w: Weights
        self.group: Any = None
        self._seen = 0
        self._ended: list[Any] = []
        self._thread: Thread | None = None

    def replay(self, calls: Sequence[tuple[str, tuple[Any, ...]]]) -> Any:
        """Make several calls; return the result of the last."""
        return [getattr(self, method)(*arguments) for method, arguments in calls][-1]

    def take(self, share: Share) -> None:
        """Take a share of the sentences."""
        self.source = share.open()

    def begin(self, stage: str, done: dict[str, Floats], way: Way, shards: int) -> None:
        """Begin a stage of training; `done` has the weights of those before it."""
        made = self.source.stage(stage, done)
        learner: Any = made.learner
        self.problem = made.problem
        if way == "replicas":
            self.problem.group = self.group
        if way != "sums":
            self.run = learner.make_run(Watched(self.problem, self._count))
        if way in ("dual", "mixing"):
            self.run.share(shards)

    def _count(self, examples: int) -> None:
        self._seen += examples

    def measures(self) -> dict[str, float]:
        """The problem's measurements since the last call."""
        return self.problem.take_measures() if isinstance(self.problem, Measured) else {}

    # Sums

    def hold(self, values: Floats, scale: float = 1.0) -> None:
        """Take the weights w = scale · values, at which questions are answered."""
        state = {"v": values, "u": np.zeros(0), "scale": scale, "norm2": squared_norm(values)}
        self.w = Weights.from_state({**state, "carried": 0.0, "ticks": 0.0, "norm2_error": 0.0})

    def answer(self, method: str, example: Any, *arguments: Any) -> Any:
        """Call a method of the problem for an example, or several, at the weights."""
        return packed(getattr(self.problem, method)(example, self.w, *arguments))

    def answer_without_weights(self, method: str, *arguments: Any) -> Any:
        """The same for methods that take no weights."""
        return packed(getattr(self.problem, method)(*arguments))

    # Mixing and replicas

    def start(self, number: int, values: Floats | None = None) -> None:
        """Start a pass from these weights, or from those that the run has."""
        if values is not None:
            self.hold(values)
            total = np.zeros(len(values) if self.run.weights.averaged else 0)
            self.run.weights = Weights.from_state({**self.w.state(), "u": total})
        self._seen, self._ended = 0, []
        self._thread = Thread(target=self._pass, args=(number, values is not None))
        self._thread.start()

    def _pass(self, number: int, is_mixed: bool) -> None:
        try:
            if self.group is not None:
                self.group.choose_device()  # threads choose for themselves
            epoch = self.run.take_steps(number)
            self._ended.append(_passed(epoch, self.run.weights) if is_mixed else epoch)
        except BaseException as error:
            self._ended.append(error)

    def poll(self) -> tuple[int, Passed | Epoch | None]:
        """Wait a moment for the end of the pass: examples since the last call, and the result at its end."""
        assert self._thread is not None
        self._thread.join(PATIENCE)
        is_running = self._thread.is_alive()
        seen, self._seen = self._seen, 0
        if is_running:
            return seen, None
        result: Any = self._ended[0]
        if isinstance(result, BaseException):
            raise result
        return seen, result

    def weights(self) -> tuple[Floats, Floats]:
        """The last and the averaged weights of the run, (size,) each."""
        return self.run.last(), self.run.averaged()

    def state(self) -> State:
        """The run's state other than mixed weights."""
        held: State = self.run.state()
        return {name: value for name, value in held.items() if name != "about" and name not in self._mixed()}

    def restore(self, state: State) -> None:
        """Continue from a state that `state` returned."""
        self.run.restore({"about": self.run.about(), **self._mixed(), **state})

    def _mixed(self) -> State:
        w = self.run.weights
        return Run.entries("weights", w) if isinstance(w, Weights) else {}

    # Gradients of replicas

    def open_group(self) -> tuple[str, int]:
        """Open a port at which replicas meet; its address."""
        from arbora.neural.group import GradientGroup

        self.group = GradientGroup()
        return self.group.open()

    def join_group(self, rank: int, size: int, host: str, port: int) -> None:
        """Meet the others; returns when all have come."""
        from arbora.neural.group import GradientGroup

        self.group = self.group or GradientGroup()
        self.group.join(rank, size, host, port)


def _passed(epoch: Epoch, w: Weights) -> Passed:
    if not w.averaged:
        return Passed(epoch, w.values(), None, 0.0)
    state = w.state()
    return Passed(epoch, w.values(), state["u"] + state["carried"] * state["v"], state["ticks"])


def packed(value: Any) -> Any:
    """An answer of a problem as plain data, which can be pickled."""
    if isinstance(value, Answer):
        return Answer(value.loss, value.margin, packed(value.difference))
    if isinstance(value, SparseVector):
        return _Sparse(np.array(value.indices), np.array(value.values))
    return [packed(each) for each in value] if isinstance(value, list) else value


def unpacked(value: Any) -> Any:
    """The inverse of `packed`."""
    if isinstance(value, Answer):
        return Answer(value.loss, value.margin, unpacked(value.difference))
    if isinstance(value, _Sparse):
        return SparseVector(value.indices, value.values)
    return [unpacked(each) for each in value] if isinstance(value, list) else value


class _Sparse(NamedTuple):
    indices: Any
    values: Any
