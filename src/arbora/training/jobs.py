"""Independent jobs: trials of a search, folds of jackknifing, restarts of induction.

They run one after the other, or at the same time on the workers of a pool. The results are the same. Work,
tasks and results are pickled for workers. Progress inside a worker is not shown, but its notes and warnings
are.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from arbora.errors import ArboraError
from arbora.progress import Observer, Silent

if TYPE_CHECKING:
    from arbora.distributed.engines import Pool

Task = TypeVar("Task")
Work: TypeAlias = Callable[[Task, Observer], Any]
"""Does a task, and reports progress."""

logger = logging.getLogger("arbora")


class Finished(NamedTuple):
    """A job that has ended."""

    place: int
    """Of the job in the list."""
    observer: Observer
    """The job's own; its time began with the job."""
    result: Any
    lost: ArboraError | None = None
    """Why there is no result: a worker was lost in every attempt."""

    def get(self) -> Any:
        """The result; raises `lost` if there is none."""
        if self.lost is not None:
            raise self.lost
        return self.result


def run_jobs(
    work: Work[Task],
    names: Sequence[str],
    tasks: Iterable[Task],
    observer: Observer,
    pool: Pool | None = None,
) -> Generator[Finished, None, None]:
    """Do all tasks; yield jobs as they end, in any order. One name per task.

    An error of a job ends all. A job whose worker is lost is tried again; if that fails, too, it is yielded
    without a result, and the others go on. Close the iterator to end the workers.
    """
    if pool is not None and pool.count > 1 and len(names) > 1:
        yield from _run_in_parallel(work, names, tasks, observer, pool)
        return
    for place, (name, task) in enumerate(zip(names, tasks, strict=True)):
        child = observer.child(name)
        yield Finished(place, child, work(task, child))


def run_all(
    work: Work[Task],
    names: Sequence[str],
    tasks: Iterable[Task],
    observer: Observer,
    pool: Pool | None = None,
    *,
    task: str,
    unit: str = "fold",
) -> list[Any]:
    """The results of all tasks, in order; `task` and `unit` name the whole and one step of it."""
    results: list[Any] = [None] * len(names)
    observer.begin(task, len(names), unit=unit)
    with closing(run_jobs(work, names, tasks, observer, pool)) as jobs:
        for job in jobs:
            results[job.place] = job.get()
            observer.advance()
            observer.status()
    observer.end()
    return results


def _run_in_parallel(
    work: Work[Task], names: Sequence[str], tasks: Iterable[Task], observer: Observer, pool: Pool
) -> Iterator[Finished]:
    from arbora.distributed.engines import WorkerLostError, run_tasks  # imports the packages above it

    children: list[Observer] = []

    def begun() -> Iterator[tuple[int, Task]]:
        for place, (name, task) in enumerate(zip(names, tasks, strict=True)):
            children.append(observer.child(name))
            yield place, task

    with pool.limited(len(names)).open(partial(_Remote, work)) as workers:
        for ended in run_tasks(workers, "run", begun()):
            if ended is None:
                continue
            (place, _), outcome = ended
            if isinstance(outcome.error, WorkerLostError):
                yield Finished(place, children[place], None, outcome.error)
                continue
            result, notes, warnings = outcome.get()
            for note in notes:
                children[place].note(note)
            for level, message in warnings:
                logger.log(level, message)
            yield Finished(place, children[place], result)


@dataclass(frozen=True)
class _Remote(Generic[Task]):
    """The state of a worker."""

    work: Work[Task]

    def run(self, job: tuple[int, Task]) -> tuple[Any, list[str], list[tuple[int, str]]]:
        """The result, notes, and warnings with their levels."""
        notes = _Notes()
        with _logged() as warnings:
            return self.work(job[1], notes), notes.texts, warnings


class _Notes(Silent):
    """Keeps notes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


class _Kept(logging.Handler):
    """Keeps the level and text of log messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append((record.levelno, record.getMessage()))


@contextmanager
def _logged() -> Iterator[list[tuple[int, str]]]:
    """Arbora's log messages within the block, which are not printed."""
    handler, propagates = _Kept(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield handler.kept
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
