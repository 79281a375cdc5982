"""Engines: where workers run. A worker holds one object and calls its methods, one call at a time.

    local   processes on this machine
    ray     actors of a Ray cluster (extra `ray`)

`Workers` starts calls and waits for their results; `run_tasks` keeps all workers busy until a list of tasks
is done, and replaces workers that are lost. Objects, arguments and results are pickled.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from arbora.errors import MOST_THREADS, ArboraError, InputError, require_whole
from arbora.registry import Registry

Task = TypeVar("Task")
Make: TypeAlias = Callable[[], Any]
"""Makes the object of a worker, in the worker."""

ATTEMPTS = 3
"""How often a task is given to a worker, if workers are lost while they do it; and how often in a row a
worker may fail to start."""

logger = logging.getLogger("arbora")


class WorkerLostError(ArboraError):
    """A worker ended before it returned a result: it crashed, was killed, or its machine is gone."""


class StartError(ArboraError):
    """A worker could not make its object, so it did not start its task."""


class TimeLimitError(ArboraError):
    """A call took longer than its limit; its worker was ended."""


def in_words(error: BaseException) -> str:
    """The text of an error, with its type where the text alone may not be understood."""
    text = str(error)
    known = isinstance(error, ArboraError | OSError | MemoryError)
    return (text if known and text else f"{type(error).__name__}: {text}").removesuffix(": ")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: a value, or an error."""

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        """The value; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        return self.value


class Workers(ABC):
    """Workers that each hold an object; use as a context manager.

    `make` runs in each worker; if it raises an error, calls have the outcome `StartError`. A call after which
    a worker is lost has the outcome `WorkerLostError`. The worker can be restarted. After `close` no worker
    runs.
    """

    name: ClassVar[str]
    has_address: ClassVar[bool] = False
    """Whether it takes the `address` of a cluster."""

    @classmethod
    def require_installed(cls) -> None:
        """InputError if a package is missing."""
        return

    def __init__(self, make: Make, count: int) -> None:
        self.make, self.count = make, count

    @abstractmethod
    def call(self, worker: int, method: str, *arguments: Any) -> None:
        """Start a call of a method of a worker's object; a worker takes one call at a time."""

    def is_ready(self, worker: int) -> bool:
        """Whether a worker takes calls now; on a cluster, it may have to wait for a free place."""
        return True

    @abstractmethod
    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Calls that have ended since the last `wait`: worker and outcome; none after `timeout` seconds.

        Also workers that could not start, with or without a call. May return nothing earlier.
        """

    @abstractmethod
    def end(self, worker: int) -> None:
        """End a worker, even a busy one."""

    @abstractmethod
    def restart(self, worker: int) -> None:
        """End a worker, even a busy one, and start another in its place."""

    @abstractmethod
    def close(self) -> None:
        """End all workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call_all(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every worker with its own arguments; results in the order of workers.

        Raises the first error.
        """
        for worker, own in enumerate(arguments):
            self.call(worker, method, *own)
        found: dict[int, Outcome] = {}
        while len(found) < len(arguments):
            found |= dict(self.wait())
        return [found[worker].get() for worker in range(len(arguments))]


engines: Registry[Workers] = Registry(
    "engine",
    {"local": "arbora.distributed.local:LocalWorkers", "ray": "arbora.distributed.ray:RayWorkers"},
    group="arbora.engines",
)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def open_workers(engine: str, make: Make, count: int | None = None, **options: Any) -> Iterator[Workers]:
    """Start the workers of an engine, one per core unless `count` says otherwise."""
    with engines.create(engine, make=make, count=count or cores(), **options) as workers:
        yield workers


@dataclass(frozen=True)
class Pool:
    """Where work is done: by how many workers of which engine, and on which cluster."""

    engine: str = "local"
    count: int = 1
    address: str | None = None
    """Of a cluster; None: this machine."""

    def __post_init__(self) -> None:
        """InputError for an unknown engine, one that is not installed, or a wrong number or address."""
        require_whole("workers", self.count, 1, MOST_THREADS)
        kind: Any = engines.factory(self.engine)
        kind.require_installed()
        if self.address is not None and not kind.has_address:
            what = f"the engine {self.engine} has none, got {self.address}; choose the engine ray, or omit it"
            raise InputError(what, field="address")

    def limited(self, most: int) -> Pool:
        """The same with at most this many workers."""
        return replace(self, count=min(self.count, most))

    @contextmanager
    def open(self, make: Make) -> Iterator[Workers]:
        """Start the workers; see `Workers`."""
        options = {} if self.address is None else {"address": self.address}
        with open_workers(self.engine, make, self.count, **options) as workers:
            yield workers


@dataclass
class _Running(Generic[Task]):
    task: Task
    lost: int = 0  # workers that were lost while they did it
    since: float = 0.0


def run_tasks(
    workers: Workers,
    method: str,
    tasks: Iterable[Task],
    *,
    attempts: int = ATTEMPTS,
    limit: float | None = None,
    idle: float = 1.0,
) -> Iterator[tuple[Task, Outcome] | None]:
    """Call a method with each task on any free worker; yield tasks as they end, in any order.

    A task whose worker was lost is tried again, `attempts` times in all. One that takes longer than `limit`
    seconds, with the time that a local worker may need to start, ends with `TimeLimitError`. Yields None
    after at most `idle` seconds in which no task has ended.

    A worker that does not start is started again, `attempts` times in all; then the others go on without it.
    Raises the error if none is left.
    """
    left, waiting = map(_Running, tasks), deque[_Running[Task]]()
    free, running = list(range(workers.count)), dict[int, _Running[Task]]()
    failed_starts = dict.fromkeys(free, 0)

    def has_task() -> bool:
        waiting.extend(islice(left, 0 if waiting else 1))
        return bool(waiting)

    def start_again(worker: int, error: BaseException) -> None:
        failed_starts[worker] += 1
        if failed_starts[worker] < attempts:
            workers.restart(worker)
            return
        free.remove(worker)
        workers.end(worker)
        if not free and not running:
            raise error
        logger.warning(
            "worker %d of %d does not start (%s); the others go on", worker + 1, workers.count, error
        )

    while True:
        for worker in [each for each in free if workers.is_ready(each)]:
            if not has_task():
                break
            free.remove(worker)
            running[worker] = given = waiting.popleft()
            given.since = monotonic()
            workers.call(worker, method, given.task)
        if not running and not has_task():
            return
        ended = workers.wait(_patience(running.values(), limit, idle))
        now = monotonic()
        for worker in [w for w, each in running.items() if limit is not None and now - each.since > limit]:
            if all(worker != other for other, _ in ended):
                workers.restart(worker)
                ended.append((worker, Outcome(error=TimeLimitError(f"took longer than {limit:g} s"))))
        for worker, outcome in ended:
            done = running.pop(worker, None)
            if done is not None:
                free.append(worker)
            if outcome.error is not None and (done is None or isinstance(outcome.error, StartError)):
                waiting.extend([done] if done else [])
                start_again(worker, outcome.error)
            elif done is not None:
                failed_starts[worker] = 0
                if isinstance(outcome.error, WorkerLostError):
                    workers.restart(worker)
                    done.lost += 1
                    if done.lost < attempts:
                        waiting.append(done)
                        continue
                yield done.task, outcome
        if not ended:
            yield None


def _patience(running: Iterable[_Running[Any]], limit: float | None, idle: float) -> float:
    """How long to wait: until a task reaches its limit, at most `idle` seconds."""
    begun = [each.since for each in running]
    if limit is None or not begun:
        return idle
    return max(0.0, min(idle, min(begun) + limit - monotonic() + 0.001))
