"""Workers as actors of a Ray cluster: `pip install 'arbora-nlp[ray]'`.

What makes a worker's object is put into the cluster's object store once; each node then has one copy. Ray may
start workers on any node. An actor waits until a node has a CPU for it, so a cluster may be smaller than the
number of workers, and may grow and shrink.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from math import inf
from threading import current_thread, main_thread
from time import monotonic
from typing import Any, ClassVar

from arbora.distributed.engines import (
    Make,
    Outcome,
    StartError,
    WorkerLostError,
    Workers,
    cores,
    in_words,
    logger,
)
from arbora.errors import ArboraError, InputError, import_package

AUTO = "auto"
CONNECTING = 10.0
"""Seconds in which a cluster must accept a connection."""
PATIENCE = 60.0
"""Seconds without a worker after which a warning says so."""


class ClusterError(ArboraError):
    """A Ray cluster does not start or does not answer."""


def _ray() -> Any:
    return import_package("ray", "pip install 'arbora-nlp[ray]'")


class _Actor:
    def start(self, make: Make) -> None:
        """Make the object; not in __init__, where an error would count as a lost actor."""
        self._made = make()

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(self._made, method)(*arguments)


class RayWorkers(Workers):
    """Actors of a Ray cluster."""

    name: ClassVar[str] = "ray"
    has_address: ClassVar[bool] = True

    @classmethod
    def require_installed(cls) -> None:
        _ray()

    def __init__(self, make: Make, count: int, *, address: str | None = None) -> None:
        """`address`: of a running cluster, or `auto`; None: a cluster of its own on this machine."""
        super().__init__(make, count)
        ray = _ray()
        self._is_own = not ray.is_initialized()
        if self._is_own:
            connect(ray, address, count)
        self._made = ray.put(make)
        self._class = ray.remote(_Actor).options(num_cpus=1, max_restarts=0)
        self._calls: dict[Any, int] = {}
        self._starts: dict[Any, int] = {}
        self._ready: set[int] = set()
        self._actors = [self._start(worker) for worker in range(count)]
        self._warning_at = monotonic() + PATIENCE
        if ray.cluster_resources().get("CPU", 0) < count:
            what = "%d workers need a CPU each, and the Ray cluster has %s; some workers wait for more"
            logger.warning(what, count, _free_cpus(ray))

    def _start(self, worker: int) -> Any:
        actor = self._class.remote()
        self._starts[actor.start.remote(self._made)] = worker
        return actor

    def is_ready(self, worker: int) -> bool:
        return worker in self._ready

    def call(self, worker: int, method: str, *arguments: Any) -> None:
        self._calls[self._actors[worker].call.remote(method, arguments)] = worker

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        ray = _ray()
        references = [*self._starts, *self._calls]
        if not references:
            return []
        ended, _ = ray.wait(references, num_returns=1, timeout=self._patience(timeout))
        if not (ended or self._ready) and monotonic() > self._warning_at:
            self._warning_at = inf
            logger.warning("no worker has started yet: the Ray cluster has %s", _free_cpus(ray))
        if ended and len(references) > 1:  # others that have ended, too
            ended, _ = ray.wait(references, num_returns=len(references), timeout=0)
        found: list[tuple[int, Outcome]] = []
        for reference in ended:
            worker, outcome = self._starts.get(reference), _outcome(reference)
            if worker is None:
                if (worker := self._calls.pop(reference, None)) is not None:
                    found.append((worker, outcome))
                continue
            del self._starts[reference]
            if outcome.error is None:
                self._ready.add(worker)
                continue
            self._forget(worker)
            if not isinstance(outcome.error, WorkerLostError):
                outcome = Outcome(error=StartError(_last_line(outcome.error)))
            found.append((worker, outcome))
        return found

    def _patience(self, timeout: float | None) -> float | None:
        """How long to wait at a time: not for ever while workers start."""
        return PATIENCE if timeout is None and self._starts else timeout

    def _forget(self, worker: int) -> None:
        """Forget the calls of a worker, and that it has started."""
        for calls in (self._calls, self._starts):
            for reference in [each for each, other in calls.items() if other == worker]:
                del calls[reference]
        self._ready.discard(worker)

    def end(self, worker: int) -> None:
        _ray().kill(self._actors[worker])
        self._forget(worker)

    def restart(self, worker: int) -> None:
        self.end(worker)
        self._actors[worker] = self._start(worker)

    def close(self) -> None:
        ray = _ray()
        if not ray.is_initialized():
            return
        for actor in self._actors:
            ray.kill(actor)
        if self._is_own:
            ray.shutdown()


def connect(ray: Any, address: str | None, count: int) -> None:
    """Join a cluster, or start one with as many CPUs as there are workers."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Sums of linear algebra depend on its number of threads. Workers have as many as here; Ray would take 1.
    variables = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(cores()))}
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        options |= {"num_cpus": count, "include_dashboard": False}
    options["runtime_env"] = {"env_vars": variables}
    handler = signal.getsignal(signal.SIGTERM)
    cause: BaseException | None = None
    try:
        _require_answer(address)
        ray.init(address=address or "local", **options)
    except (Exception, SystemExit) as error:  # if a cluster does not answer, Ray exits
        cause = error
    finally:
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray has set one that exits
    if isinstance(cause, SystemExit) and cause.code == signal.SIGTERM:
        signal.raise_signal(signal.SIGTERM)  # for the handler that was there before
    if cause is not None and address is None:
        what = f"Ray does not start on this machine: {in_words(cause)}"
        raise ClusterError(f"{what}; see its logs in /tmp/ray, or choose --engine local") from cause
    if cause is not None:
        what = f"no Ray cluster answers at {address}: {in_words(cause)}; start one with `ray start --head`"
        raise InputError(what, field="address") from cause


def _require_answer(address: str | None) -> None:
    """OSError if nothing listens at HOST:PORT, for which Ray would wait for minutes."""
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS")
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTING).close()


def _free_cpus(ray: Any) -> str:
    have, free = (int(get().get("CPU", 0)) for get in (ray.cluster_resources, ray.available_resources))
    return f"{have} CPUs, {free} of them free"


def _outcome(reference: Any) -> Outcome:
    ray = _ray()
    errors = ray.exceptions
    try:
        return Outcome(ray.get(reference))
    except errors.RayTaskError as error:
        return Outcome(error=error.cause if isinstance(error.cause, BaseException) else error)
    except (
        errors.RayActorError,
        errors.ObjectLostError,
        errors.OutOfMemoryError,
        errors.NodeDiedError,
        errors.WorkerCrashedError,
        errors.LocalRayletDiedError,
    ) as error:
        return Outcome(error=WorkerLostError(_why_lost(error)))
    except errors.RayError as error:
        return Outcome(error=error)


def _last_line(error: BaseException) -> str:
    """An error in words; of Ray's, which quote tracebacks, the last line."""
    return in_words(error).strip().splitlines()[-1]


def _why_lost(error: BaseException) -> str:
    """Ray's reason on one line, without its advice."""
    reason = " ".join(str(error).split()).partition(" Some common causes")[0]
    return f"the actor was lost: {reason}"
