"""One model on many workers, in four ways.

    sums       one run of the learner, here; each step asks all workers for sums over their sentences. The
               same result as in one process, up to the order of float64 sums
    mixing     each worker runs over its sentences from the same weights; after an epoch their changes are
               added up: iterative parameter mixing [mcdonald-2010], see `mixed`. Features are hashed, so
               weights are added by place. Another result than in one process
    dual       the same with the mean of changes, and each run raises its part of a dual; the optimum is
               that of one process (`arbora.learners.exponentiated_gradient`) [ma-2015]
    replicas   each worker has the whole network and takes the same steps; the gradient of a batch is summed
               over its parts, one per worker (`arbora.neural.group`). The same result as in one process

The learner says which: batch learners and mini-batches ask for sums, online learners are mixed, and networks
are replicated. Sentence i is with worker i mod N, and workers are added in their order, so that results do
not depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from arbora._core import Weights
from arbora.distributed.share_worker import Passed, Way, unpacked
from arbora.distributed.team import Team
from arbora.errors import InputError
from arbora.interfaces import Answer, Epoch, Problem, Query
from arbora.learners._online import Run, State, Stored
from arbora.learners.stage import PIECE, Stage
from arbora.types import Doubles, Floats, Longs, squared_norm


def way_of(learner: Any, problem: Problem) -> Way:
    """How workers train a learner on a problem."""
    way: Way = "replicas" if learner.name in getattr(problem, "runs", {}) else learner.sharing
    return way


def dealt(count: int, workers: int, way: Way) -> list[Longs]:
    """The sentences of each worker, of `count`."""
    everyone = np.arange(count, dtype=np.int64)
    return [everyone if way == "replicas" else everyone[worker::workers] for worker in range(workers)]


def shared(stage: Stage, team: Team, done: Mapping[str, Floats]) -> Stage:
    """A stage that the workers of a team train, which have taken their shares."""
    learner: Any = stage.learner
    way = way_of(learner, stage.problem)
    replays = way == "sums" or (way == "mixing" and bool(getattr(learner, "incremental", False)))
    if way == "replicas" and not team.has("join_group"):
        meeting = team.ask("open_group", {0: ()})[0]
        team.set("join_group", [(rank, team.count, *meeting) for rank in range(team.count)])
    team.begin(stage.name, dict(done), way, team.count, replays=replays)
    return replace(stage, problem=ShardedProblem(stage.problem, team, learner.name, way))


class ShardedProblem:
    """A problem whose examples are with the workers of a team."""

    def __init__(self, problem: Problem, team: Team, learner: str, way: Way) -> None:
        """`problem`: the same over all examples, used only for its size."""
        if len(problem) < team.count:
            what = f"expected at most one per sentence, of which there are {len(problem)}, got {team.count}"
            raise InputError(what, field="workers")
        self._problem: Any = problem
        self.team = team
        self.piece = PIECE * team.count  # weights and gradients travel once per piece
        self.runs: dict[str, type[Run]] = {}
        if way != "sums":
            self.runs[learner] = ReplicatedRun if way == "replicas" else MixedRun
        self._counts = [1] if way == "replicas" else [1] * team.count
        self._held: tuple[Floats, float] | None = None

    @property
    def queries(self) -> frozenset[Query]:
        queries: frozenset[Query] = self._problem.queries
        return queries

    @cached_property
    def size(self) -> int:
        return int(self._problem.size)

    def __len__(self) -> int:
        return len(self._problem)

    def __getattr__(self, name: str) -> Any:
        if name not in ("initial_weights", "lengths"):
            raise AttributeError(name)
        return getattr(self._problem, name)

    def advance(self, examples: int) -> None:
        """Called with the number of examples that were seen; `Watched` has its own."""

    def take_measures(self) -> dict[str, float]:
        """The means of the workers' measurements."""
        found = self.team.ask("measures", dict.fromkeys(range(self.team.count), ()))
        return means(list(found.values()))

    # Sums

    def _hold(self, w: Weights) -> None:
        """Send weights to all workers, unless they have them."""
        values, scale = (w.values(), 1.0) if w.scale == 1.0 else (w.state()["v"], w.scale)
        held = self._held
        if held is None or held[1] != scale or not np.array_equal(held[0], values):
            self.team.set("hold", [(values, scale)] * self.team.count)
            self._held = values, scale

    def _sum(self, method: str, indices: Longs, w: Weights, query: Query) -> list[Any]:
        self._hold(w)
        numbers = np.asarray(indices)
        parts = {
            k: numbers[numbers % self.team.count == k] // self.team.count for k in range(self.team.count)
        }
        asked = {worker: (method, own, query) for worker, own in parts.items() if len(own)}
        return [unpacked(each) for each in self.team.ask("answer", asked).values()]

    def total(self, indices: Longs, w: Weights, query: Query) -> Answer:
        """The sum of answers over examples."""
        first, *others = self._sum("total", indices, w, query)
        for other in others:
            difference = first.difference + other.difference
            first = Answer(first.loss + other.loss, first.margin + other.margin, difference)
        return first

    def gradient(self, indices: Longs, w: Weights, query: Query) -> tuple[float, Doubles]:
        """The sum of losses and its gradient, (size,)."""
        found = self._sum("gradient", indices, w, query)
        total = np.zeros(self.size)
        for _, gradient in found:
            total += gradient
        return sum(loss for loss, _ in found), total

    # One example

    def _ask(self, method: str, i: int, *arguments: Any, w: Weights | None = None) -> Any:
        if w is not None:
            self._hold(w)
        worker, number = i % self.team.count, i // self.team.count
        call = "answer" if w is not None else "answer_without_weights"
        return unpacked(self.team.ask(call, {worker: (method, number, *arguments)})[worker])

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        answer: Answer = self._ask("answer", i, query, w=w)
        return answer

    def candidates(self, i: int, w: Weights, k: int) -> list[Answer]:
        answers: list[Answer] = self._ask("candidates", i, k, w=w)
        return answers

    def arc_scores(self, i: int, w: Weights) -> Doubles:
        scores: Doubles = self._ask("arc_scores", i, w=w)
        return scores

    def arc_gold(self, i: int) -> Doubles:
        gold: Doubles = self._ask("arc_gold", i)
        return gold

    def arc_marginals(self, i: int, scores: Doubles) -> tuple[float, Doubles]:
        marginals: tuple[float, Doubles] = self._ask("arc_marginals", i, scores)
        return marginals

    def arc_features(self, i: int, coefficients: Doubles) -> Any:
        return self._ask("arc_features", i, coefficients)

    # Passes

    def passes(self, number: int, values: Floats | None, advance: Callable[[int], None]) -> list[Any]:
        """Let every worker make a pass over its examples; their results in order."""
        start = (number,) if values is None else (number, values)
        self.team.set("start", [start] * self.team.count)
        found: dict[int, Any] = {}
        while len(found) < self.team.count:
            waiting = {worker: () for worker in range(self.team.count) if worker not in found}
            for worker, (seen, result) in self.team.ask("poll", waiting).items():
                if worker < len(self._counts):
                    advance(seen)
                if result is not None:
                    found[worker] = result
        return [found[worker] for worker in range(self.team.count)]


class MixedRun(Run):
    """Weights that are mixed after each epoch [mcdonald-2010].

    What a run keeps besides weights stays with its worker, and goes into checkpoints.
    """

    kept = ("weights", "converged")

    def __init__(self, learner: Any, problem: Any) -> None:
        super().__init__(learner, problem)
        self.shards_of: Any = problem
        self._about["workers"] = self.shards_of.team.count
        self.weights = Weights(problem.size)

    def pass_over(self, number: int) -> Epoch:
        problem = self.shards_of
        passed = problem.passes(number, self.weights.values(), problem.advance)
        self.weights = mixed(self.weights, passed, self.learner.sharing)
        epochs = [each.epoch for each in passed]
        sums = {name: sum(getattr(each, name) for each in epochs) for name in ("loss", "hinge", "updates")}
        epoch = Epoch(number, **sums, measures=means([each.measures for each in epochs]))
        epoch, self.converged = self.learner.complete(epoch, self.problem, self.weights)
        return epoch

    def last(self) -> Floats:
        return self.weights.values()

    def averaged(self) -> Floats:
        return self.weights.average() if self.weights.averaged else self.last()

    def state(self) -> State:
        team = self.shards_of.team
        states = team.ask("state", dict.fromkeys(range(team.count), ()))
        own = {f"worker.{k}.{name}": value for k, held in states.items() for name, value in held.items()}
        return {**super().state(), **own}

    def restore(self, state: Stored) -> None:
        super().restore(state)
        team = self.shards_of.team
        found = {worker: (part(state, f"worker.{worker}."),) for worker in range(team.count)}
        team.ask("restore", {worker: own for worker, own in found.items() if own[0]})


class ReplicatedRun(Run):
    """A run that is equal on all workers; the first one's weights and state represent all."""

    def __init__(self, learner: Any, problem: Any) -> None:
        super().__init__(learner, problem)
        self.replicas: Any = problem
        self._weights: tuple[Floats, Floats] = (self.replicas.initial_weights(),) * 2

    def pass_over(self, number: int) -> Epoch:
        epochs: list[Epoch] = self.replicas.passes(number, None, self.replicas.advance)
        self._weights = self._ask("weights")
        return epochs[0]

    def _ask(self, method: str) -> Any:
        return self.replicas.team.ask(method, {0: ()})[0]

    def last(self) -> Floats:
        return self._weights[0]

    def averaged(self) -> Floats:
        return self._weights[1]

    def state(self) -> State:
        own: State = self._ask("state")
        return {**super().state(), **{f"replica.{name}": value for name, value in own.items()}}

    def restore(self, state: Stored) -> None:
        super().restore(state)
        team, own = self.replicas.team, part(state, "replica.")
        team.ask("restore", dict.fromkeys(range(team.count), (own,)))
        self._weights = self._ask("weights")


def part(state: Stored, prefix: str) -> State:
    """The entries whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def mixed(before: Weights, passed: Sequence[Passed], way: Way) -> Weights:
    """Weights after a pass of all workers, and the sum of them over ticks. O(workers · size).

        mixing   w_j ← w_j + Σ_k Δ_kj / √n_j        n_j: the number of workers that changed weight j
        dual     w_j ← w_j + Σ_k Δ_kj / N

    The mean, Σ_k Δ_kj / N, would learn a feature that one worker sees N times more slowly than that worker
    does. The sum would go too far where all workers make the same change. See docs/distributed-training.md.
    """
    old, values = before.state(), before.values().astype(np.float64)
    change, total, changed, ticks = np.zeros_like(values), np.zeros_like(values), np.zeros_like(values), 0.0
    for each in passed:
        change += each.values - values
        changed += each.values != values
        if each.total is not None:
            total += each.total - each.ticks * values
            ticks += each.ticks / len(passed)
    divisor = np.sqrt(np.maximum(changed, 1.0)) if way == "mixing" else len(passed)
    rounded = (values + change / divisor).astype(np.float32)
    state = {"v": rounded, "scale": 1.0, "carried": 0.0, "norm2": squared_norm(rounded), "norm2_error": 0.0}
    if passed[0].total is None:
        return Weights.from_state({**state, "u": np.zeros(0), "ticks": 0.0})
    total = old["u"] + ticks * values + total / divisor
    return Weights.from_state({**state, "u": total, "ticks": old["ticks"] + ticks})


def means(measures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure over workers."""
    names = dict.fromkeys(name for each in measures for name in each)
    return {name: float(np.mean([each[name] for each in measures if name in each])) for name in names}
