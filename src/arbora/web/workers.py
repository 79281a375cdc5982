"""Compute responses on a few threads, with a bounded queue, deadlines, and a lane for small requests.

A request is first planned, which reads and checks it and estimates its cost, and then computed. Large
requests have `Limits.running` threads, and small ones these and one more, so that they never wait for large
ones. At its deadline a request leaves the queue, or its native computations are stopped. Its thread is free
once it has really ended, so the number of running requests stays bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from arbora import _core
from arbora.web import api
from arbora.web.api import JSON, Plan, R, Rejected, stopping
from arbora.web.limits import Limits

T = TypeVar("T")

THREADS = "arbora-serve"
"""The names of threads that compute responses start with this."""
# A body that is too large is read up to this many times the limit, so that clients see the response.
DRAIN = 16
SMALL_BODY = 20_000
"""Bytes. Planning a request with a larger body is large work."""
SMALL_COST = 2_000_000
"""Computing a request with a larger estimate (see `Plan`) is large work."""


class Lane:
    """Admits requests to some of the threads, and a bounded number of others to its queue."""

    def __init__(self, running: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(running)
        self._places = running + waiting

    async def enter(self) -> None:
        """Wait for a thread; Rejected if the queue is full."""
        if self._places == 0:
            raise Rejected(503, "busy", "too many requests; try again in a second")
        self._places -= 1
        try:
            await self._free.acquire()
        except BaseException:
            self._places += 1
            raise

    def leave(self) -> None:
        """Free the thread."""
        self._places += 1
        self._free.release()


class Workers:
    """A few threads that compute responses."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.running + 1, thread_name_prefix=THREADS)
        self._all = Lane(limits.running + 1, limits.running + limits.waiting)
        self._large = Lane(limits.running, limits.waiting)

    def endpoint(
        self, kind: type[R], plan: Callable[[R], Plan[T]], respond: Callable[[T], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler of requests with a JSON body of this kind."""

        async def handle(request: Request) -> Response:
            check_caller(request.headers)
            compute = await self.plan(request, plan_response)
            return await compute()

        def plan_response(body: bytes) -> Plan[Response]:
            planned = plan(api.read_request(body, kind))
            return Plan(planned.cost, lambda: respond(planned.compute()))

        return handle

    async def plan(self, request: Request, plan: Callable[[bytes], Plan[T]]) -> Callable[[], Awaitable[T]]:
        """Read and plan a request; the result computes it, until the deadline of the request."""
        deadline = asyncio.get_running_loop().time() + self._limits.seconds
        body = await self.read(request, deadline)
        planned = await self.run(lambda: plan(body), deadline, large=len(body) > SMALL_BODY)
        return lambda: self.run(planned.compute, deadline, large=planned.cost > SMALL_COST)

    async def read(self, request: Request, deadline: float) -> bytes:
        """The body of a request; Rejected if it is too large or does not arrive in time."""
        try:
            async with asyncio.timeout_at(deadline):
                return await _read_body(request, self._limits.body)
        except TimeoutError:
            raise Rejected(408, "slow_request", "the body did not arrive in time") from None

    async def run(self, work: Callable[[], T], deadline: float, *, large: bool) -> T:
        """Run `work` on a thread; Rejected if the queue is full or the deadline of the loop passes."""
        stop = _core.StopFlag()
        try:
            async with asyncio.timeout_at(deadline):
                running = await self._start(work, stop, [self._large, self._all] if large else [self._all])
                return await asyncio.wrap_future(running)
        except TimeoutError:
            message = f"not finished within {self._limits.seconds:g} seconds; split the request"
            raise Rejected(503, "timeout", message) from None
        except asyncio.CancelledError:  # by uvicorn, which ends
            raise stopping() from None
        finally:
            stop.stop()

    async def _start(self, work: Callable[[], T], stop: _core.StopFlag, lanes: list[Lane]) -> Future[T]:
        """Wait for a thread in all lanes, and start; the lanes are left when the thread ends."""
        loop = asyncio.get_running_loop()

        def stoppable() -> T:
            with stop:
                return work()

        def end(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(leave)

        def leave() -> None:
            while entered:
                entered.pop().leave()

        entered: list[Lane] = []
        try:
            for lane in lanes:
                await lane.enter()
                entered.append(lane)
            running = self._pool.submit(stoppable)
        except BaseException:
            leave()
            raise
        running.add_done_callback(end)
        return running

    @asynccontextmanager
    async def lifespan(self, application: Starlette) -> AsyncIterator[None]:
        """Run with the server; when it stops, drop waiting work and let running work finish."""
        yield
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _read_body(request: Request, limit: int) -> bytes:
    too_large = Rejected(413, "too_large", f"body: expected at most {limit:,} bytes; split the request")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > DRAIN * limit:
        raise too_large
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > DRAIN * limit:
                raise too_large
            if size <= limit:
                body += chunk
    except ClientDisconnect:
        raise Rejected(400, "gone", "the client disconnected") from None
    if size > limit:
        raise too_large
    return bytes(body)


def check_caller(headers: Headers, *, content_type: str = JSON) -> None:
    """Reject requests that a browser sends for another site, and forms."""
    check_origin(headers)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != content_type:
        message = f"content-type: expected {content_type}, got {quote(kind, safe='/')[:60] or 'none'}"
        raise Rejected(415, "bad_type", message)


def check_origin(headers: Headers) -> None:
    """Reject requests that a browser sends for another site."""
    own = f"://{only(headers, 'host')}"
    is_own = only(headers, "origin", f"http{own}") in (f"http{own}", f"https{own}")
    if not is_own or only(headers, "sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Rejected(403, "bad_origin", "expected a request from the server's own page")


def only(headers: Headers, name: str, default: str = "") -> str:
    """The value of a header; one that occurs twice matches nothing."""
    return ",".join(headers.getlist(name) or [default])
