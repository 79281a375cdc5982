"""Workers as actors of a Ray cluster: `pip install 'arbora-nlp[ray]'`.

What makes a worker's object is put into the cluster's object store once; each node then has one copy. Ray may
start workers on any node, and starts one again elsewhere if its node is lost.
"""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

from arbora.distributed.engines import Make, Outcome, WorkerLostError, Workers, cores
from arbora.errors import InputError, import_package

AUTO = "auto"


def _ray() -> Any:
    return import_package("ray", "pip install 'arbora-nlp[ray]'")


class _Actor:
    def __init__(self, make: Make) -> None:
        self._make, self._made = make, None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        if self._made is None:  # not in __init__, where an error would count as a lost actor
            self._made = self._make()
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
        self._actors = [self._class.remote(self._made) for _ in range(count)]

    def call(self, worker: int, method: str, *arguments: Any) -> None:
        self._calls[self._actors[worker].call.remote(method, arguments)] = worker

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        ray = _ray()
        if not self._calls:
            return []
        ended, _ = ray.wait(list(self._calls), num_returns=1, timeout=timeout)
        if ended and len(self._calls) > 1:  # others that have ended, too
            ended, _ = ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
        return [(self._calls.pop(reference), _outcome(reference)) for reference in ended]

    def restart(self, worker: int) -> None:
        ray = _ray()
        ray.kill(self._actors[worker])
        self._calls = {reference: other for reference, other in self._calls.items() if other != worker}
        self._actors[worker] = self._class.remote(self._made)

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
    try:
        ray.init(address=address or "local", **options)
    except (ConnectionError, ValueError) as error:
        what = f"no Ray cluster answers at {address}: {error}; start one with `ray start --head`"
        raise InputError(what, field="address") from error


def _outcome(reference: Any) -> Outcome:
    ray = _ray()
    try:
        return Outcome(ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        return Outcome(error=error.cause if isinstance(error.cause, BaseException) else error)
    except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
        return Outcome(error=WorkerLostError(f"the actor was lost: {error}".splitlines()[0]))
    except ray.exceptions.RayError as error:
        return Outcome(error=error)
