"""The uvicorn server: accepts connections within a limit, closes silent ones, and ends on signals.

The accept loop of asyncio takes all waiting connections at once, and fails again and again when there are no
file descriptors. Ours takes one at a time. When there are too many, it closes the one that has waited
longest for its client; a connection whose response is being computed is never closed.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from arbora import _core
from arbora.web.limits import Limits
from arbora.web.workers import THREADS

if TYPE_CHECKING:
    from starlette.types import ASGIApp

Connection: TypeAlias = Any
"""A connection as uvicorn's h11 protocol keeps it."""
GRACE = 1.0
"""Seconds that running requests have after SIGINT or SIGTERM. Then the computations are stopped."""
HEAD, BODY, COMPUTING, RESPONSE = "head", "body", "computing", "response"
"""What a connection waits for: bytes from its client (head, body), a thread, or a reader (response)."""
SWEEP = 1.0
PAUSE = 0.1
RESERVE = 32
"""File descriptors that connections leave to models and files."""
BACKLOG = 1024
"""Connections that the system accepts before we do."""


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family, backlog=BACKLOG)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by its connections
    return bound


class Protocol(H11Protocol):
    """A connection. Uvicorn's own, but a body that is no HTTP ends the request without a traceback."""

    def send_400_response(self, msg: str) -> None:
        """Respond, and drop the response that the application is about to send."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # a response has begun
            self.transport.abort()


class Acceptor:
    """Accepts the connections of a server, and closes those that wait too long for their clients."""

    def __init__(self, server: Server, bound: socket.socket, limits: Limits) -> None:
        self._server, self._bound = server, bound
        self._most = min(limits.connections, _descriptors_left())
        self._patience = {
            HEAD: limits.silence,
            BODY: limits.seconds + limits.silence,  # the application responds after limits.seconds
            COMPUTING: float("inf"),
            RESPONSE: limits.seconds + limits.silence,
        }
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        self._waits: dict[Connection, tuple[tuple[str, object], float]] = {}
        self._warned = -float("inf")
        bound.setblocking(False)
        self._timer = self._loop.call_later(SWEEP, self._sweep)
        self._resume()

    def stop(self) -> None:
        """Accept no further connection."""
        self._timer.cancel()
        self._loop.remove_reader(self._bound)

    def close_waiting(self) -> None:
        """Close the connections that wait for their clients."""
        for each in self._waiting():
            each.transport.abort()

    def _waiting(self) -> list[Connection]:
        return [each for each in self._server.server_state.connections if _phase(each) != COMPUTING]

    def _resume(self) -> None:
        if self._bound.fileno() >= 0:
            self._loop.add_reader(self._bound, self._accept)

    def _pause(self) -> None:
        self._loop.remove_reader(self._bound)
        self._loop.call_later(PAUSE, self._resume)

    def _accept(self) -> None:
        """Accept one connection; the loop calls this again while there are more."""
        if len(self._server.server_state.connections) + len(self._opening) >= self._most:
            if not self._close_oldest():
                self._pause()
            return
        try:
            accepted, _ = self._bound.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # no file descriptors, or no memory
            self._warn(f"no connection accepted: {error.strerror or error}")
            self._close_oldest()
            self._pause()
            return
        accepted.setblocking(False)
        task = self._loop.create_task(self._open(accepted))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._server.make_protocol, accepted)
        except OSError:  # the client has gone
            accepted.close()

    def _warn(self, message: str) -> None:
        if self._loop.time() - self._warned > 60:
            self._warned = self._loop.time()
            print(f"warning: {message}", file=sys.stderr, flush=True)

    def _close_oldest(self) -> bool:
        """Close the connection that has waited longest for its client, if there is one."""
        waiting = self._waiting()
        if not waiting:
            return False
        now = self._loop.time()
        min(waiting, key=lambda each: self._waits.get(each, (None, now))[1]).transport.abort()
        return True

    def _sweep(self) -> None:
        """Close connections that have waited too long."""
        now, waits = self._loop.time(), {}
        connections: list[Connection] = list(self._server.server_state.connections)
        for each in connections:
            phase = (_phase(each), each.cycle)
            before, since = self._waits.get(each, (phase, now))
            waits[each] = phase, since if before == phase else now
            if now - waits[each][1] > self._patience[phase[0]]:
                each.transport.abort()
        self._waits = waits
        self._timer = self._loop.call_later(SWEEP, self._sweep)


def _phase(connection: Connection) -> str:
    cycle = connection.cycle
    if cycle is None or cycle.response_complete:
        return RESPONSE if connection.transport.get_write_buffer_size() else HEAD
    if cycle.response_started:
        return RESPONSE
    return BODY if cycle.more_body else COMPUTING


def _descriptors_left() -> int:
    """How many connections this process can open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return sys.maxsize
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    used = 64
    with suppress(OSError):
        used = len(list(Path("/dev/fd").iterdir()))
    return max(1, most - used - RESERVE)


class Server(uvicorn.Server):
    """Uvicorn with an accept loop of our own."""

    def __init__(self, config: uvicorn.Config, bound: socket.socket, limits: Limits) -> None:
        super().__init__(config)
        self._bound, self._limits = bound, limits

    def make_protocol(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        return Protocol(self.config, self.server_state, self.lifespan.state)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, and accept connections."""
        await super().startup(sockets=[])
        self._acceptor = Acceptor(self, self._bound, self._limits)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and after GRACE seconds all that still runs."""

        def stop() -> None:
            _core.stop_native(True)
            self._acceptor.close_waiting()

        self._acceptor.stop()
        timer = asyncio.get_running_loop().call_later(GRACE, stop)
        await super().shutdown([self._bound])
        timer.cancel()


def serve(application: ASGIApp, bound: socket.socket, limits: Limits) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP, then finish the requests that need less than GRACE seconds."""
    config = uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
    )
    # Uvicorn stops on these signals, then raises them again; by then they have done their work.
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda number, frame: None) for each in signals}
    server = Server(config, bound, limits)
    # Uvicorn does not know this one, of a closed terminal; `nohup` ignores it.
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        before[hangup] = signal.signal(hangup, server.handle_exit)
    try:
        server.run()
    finally:
        _end_computations()
        for each, handler in before.items():
            signal.signal(each, handler)


def _end_computations() -> None:
    """Stop all computations of responses."""
    _core.stop_native(True)
    try:
        deadline = time.monotonic() + GRACE
        for thread in threading.enumerate():
            if thread.name.startswith(THREADS):
                thread.join(max(0.0, deadline - time.monotonic()))
    finally:
        _core.stop_native(False)
