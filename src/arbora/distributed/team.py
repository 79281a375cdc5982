"""Workers that train one model together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from arbora.distributed.engines import ATTEMPTS, Outcome, Pool, WorkerLostError, Workers
from arbora.distributed.share_worker import ShareWorker


@contextmanager
def open_team(pool: Pool) -> Iterator[Team]:
    """Start the workers of a pool."""
    with pool.open(ShareWorker) as workers:
        yield Team(workers)


class Team:
    """Workers with a `ShareWorker` each; what they hold survives a lost worker, as far as `replays` says."""

    def __init__(self, workers: Workers) -> None:
        self.workers, self.count = workers, workers.count
        self.replays = True
        """Whether another worker can repeat what a lost one did: else training ends."""
        self._held: dict[str, Sequence[tuple[Any, ...]]] = {}
        self._lost = 0

    def begin(self, *arguments: Any, replays: bool) -> None:
        """Begin a stage of training in all workers, see `ShareWorker.begin`."""
        self.replays = replays
        for method in ("begin", "hold", "start"):
            self._held.pop(method, None)
        self.set("begin", [arguments] * self.count)

    def set(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> None:
        """Call a method that changes what workers hold, each with its own arguments."""
        self._held.pop(method, None)
        self._held[method] = arguments
        self.ask(method, dict(enumerate(arguments)))

    def has(self, method: str) -> bool:
        """Whether `set` has called it."""
        return method in self._held

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some workers; results by worker, in their order.

        Raises the first error, above all that a worker was lost.
        """
        for worker, own in arguments.items():
            self.workers.call(worker, method, *own)
        found: dict[int, Outcome] = {}
        while len(found) < len(arguments):
            for worker, outcome in self.workers.wait():
                if not isinstance(outcome.error, WorkerLostError):
                    found[worker] = outcome
                    continue
                self._lost += 1
                if not self.replays or self._lost > ATTEMPTS:
                    raise self._ending(worker, outcome.error)
                self.workers.restart(worker)
                calls = [(name, each[worker]) for name, each in self._held.items()]
                calls += [] if method in self._held else [(method, arguments[worker])]
                self.workers.call(worker, "replay", calls)
        return {worker: found[worker].get() for worker in sorted(arguments)}

    def _ending(self, worker: int, error: WorkerLostError) -> WorkerLostError:
        why = "too many were lost" if self.replays else "no other has what it kept from step to step"
        return WorkerLostError(
            f"worker {worker + 1} of {self.count}: {error}; {why}, so training ends here. A checkpoint goes "
            "on after the last finished epoch (--resume)"
        )
