"""Workers as processes on this machine.

Each is a new Python that runs `arbora.distributed.worker` and is spoken to by its stdin and stdout. A worker
ends when this process does, however it ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, Any, ClassVar

from arbora.distributed.engines import Make, Outcome, WorkerLostError, Workers
from arbora.distributed.worker import read_message, write_message

GRACE = 0.5  # seconds in which workers may end by themselves

Message = tuple[int, int, Outcome]
"""The worker, which process of this worker it was, and the outcome."""


class LocalWorkers(Workers):
    """Processes on this machine."""

    name: ClassVar[str] = "local"

    def __init__(self, make: Make, count: int) -> None:
        super().__init__(make, count)
        self._made = pickle.dumps(make)
        self._results: SimpleQueue[Message] = SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: dict[int, Thread] = {}
        self._starts = [0] * count
        try:
            for worker in range(count):
                self._processes.append(self._start(worker))
        except BaseException:
            self.close()
            raise

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "arbora.distributed.worker"]
        # A new program, not a fork: it neither runs the caller's main module nor inherits its locks.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C reaches this process alone, which then ends its workers
        )
        self._starts[worker] += 1
        assert process.stdout is not None
        arguments = (worker, self._starts[worker], process, process.stdout)
        self._threads[worker] = Thread(target=self._listen, args=arguments, daemon=True)
        self._threads[worker].start()
        self._send(process, self._made)
        return process

    @staticmethod
    def _send(process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        with suppress(OSError):  # it has ended, which the thread that listens to it finds out
            write_message(process.stdin, data)

    def _listen(self, worker: int, start: int, process: subprocess.Popen[bytes], stream: IO[bytes]) -> None:
        with stream:
            while (data := read_message(stream)) is not None:
                self._results.put((worker, start, Outcome(*pickle.loads(data))))
        status = process.wait()
        self._results.put((worker, start, Outcome(error=WorkerLostError(_ending(status)))))

    def call(self, worker: int, method: str, *arguments: Any) -> None:
        self._send(self._processes[worker], pickle.dumps((method, arguments)))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        found: list[tuple[int, Outcome]] = []
        try:
            worker, start, outcome = self._results.get(timeout=timeout)
            while True:
                if start == self._starts[worker]:
                    found.append((worker, outcome))
                worker, start, outcome = self._results.get_nowait()
        except Empty:
            return found

    def end(self, worker: int) -> None:
        self._end(worker, monotonic())
        self._starts[worker] += 1  # its messages, such as that it was lost, are of the past

    def restart(self, worker: int) -> None:
        self.end(worker)
        self._processes[worker] = self._start(worker)

    def close(self) -> None:
        for process in self._processes:
            _close_input(process)  # a worker ends at the end of its input
        last = monotonic() + GRACE
        for worker in range(len(self._processes)):
            self._end(worker, last)
        self._processes = []

    def _end(self, worker: int, last: float) -> None:
        """End a process; kill it if it runs at this time."""
        process = self._processes[worker]
        _close_input(process)
        try:
            process.wait(max(0.0, last - monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._threads[worker].join()


def _close_input(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _ending(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"the worker ended with status {status}"
    name = signal.Signals(-status).name if -status in list(signal.Signals) else f"signal {-status}"
    advice = "; was there too little memory?" if -status == signal.SIGKILL else ""
    return f"the worker was ended by {name}{advice}"
