"""The page and the JSON API as a Starlette application, and the uvicorn server that runs it.

Requests are read on one event loop and computed on a few threads, since native code releases the GIL. Every
request has a deadline, every resource a limit, and every error a JSON body with a code. Work that exceeds its
deadline keeps its thread until it ends, so the number of running requests stays bounded.

Only the server's own page may call it: requests from other sites, or under a foreign host name (DNS
rebinding), are rejected. Logs never contain the parsed text.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from arbora import __version__, _core
from arbora.web import api
from arbora.web.api import ENDPOINTS, JSON, SVG, R, Rejected, describe, stopping
from arbora.web.limits import Limits
from arbora.web.serving import Engine
from arbora.web.svg import draw_svg

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
PAGES = {
    "/": ("index.html", "text/html"),
    "/arbora.css": ("arbora.css", "text/css"),
    "/arbora.js": ("arbora.js", "text/javascript"),
    "/tree.js": ("tree.js", "text/javascript"),
}
GRACE = 1.0
"""Seconds that running requests have after SIGINT or SIGTERM. Then the computations are stopped."""
THREADS = "arbora-serve"
"""The names of threads that compute responses start with this."""
# A body that is too large is read up to this many times the limit, so that clients see the response.
DRAIN = 16


def make_application(
    engine: Engine, limits: Limits | None = None, *, hosts: tuple[str, ...] = (), quiet: bool = True
) -> Starlette:
    """Build the ASGI application; `hosts` are allowed host names besides localhost and IP addresses."""
    limits = limits or Limits()
    workers = Workers(limits)

    def draw(wanted: api.SvgRequest) -> Response:
        sentence, probabilities = api.read_picture(wanted, limits)
        picture = draw_svg(sentence, probabilities=probabilities)
        headers = {"content-security-policy": PICTURE_POLICY}
        return Response(picture, media_type=f"{SVG}; charset=utf-8", headers=headers)

    handlers: dict[str, Any] = {
        "/api/info": _json(api.Info(**engine.about(), version=__version__, limits=limits)),
        "/api/parse": workers.endpoint(api.ParseRequest, lambda w: _json(api.parse(w, engine, limits))),
        "/api/svg": workers.endpoint(api.SvgRequest, draw),
        "/openapi.json": _json(describe(limits)),
    }
    pages = [Route(path, _page(*file), methods=["GET"]) for path, file in PAGES.items()]
    computed = [Route(each.path, handlers[each.path], methods=[each.method]) for each in ENDPOINTS]
    application = Starlette(
        routes=[*pages, *computed],
        middleware=[Middleware(Guard, hosts=hosts, quiet=quiet)],
        exception_handlers={HTTPException: _routing_error},
        lifespan=workers.lifespan,
    )
    application.router.redirect_slashes = False
    return application


def _page(name: str, media_type: str) -> Response:
    content = (files("arbora.web") / "static" / name).read_bytes()
    return Response(content, media_type=media_type, headers={"cache-control": "no-cache"})


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, media_type=JSON)


def _error(rejected: Rejected, headers: dict[str, str] | None = None) -> Response:
    headers = {"retry-after": "1"} if rejected.status == 503 else headers
    error = api.ErrorResponse(api.ErrorDetail(rejected.code, rejected.message))
    return _json(error, rejected.status, headers)


def _routing_error(request: Request, error: Exception) -> Response:
    """Handle a path or method that no route has."""
    allowed = (error.headers or {}).get("Allow") if isinstance(error, HTTPException) else None
    if allowed is None:
        path = quote(request.scope["path"])[:100]
        return _error(Rejected(404, "not_found", f"no such path: {path}; see /openapi.json"))
    methods = ", ".join(sorted(allowed.split(", ")))
    message = f"expected {methods}, got {quote(request.method)[:20]}"
    return _error(Rejected(405, "method_not_allowed", message), {"allow": methods})


class Guard:
    """Middleware that checks the host, adds security headers, logs requests and handles all errors."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], quiet: bool) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in (*hosts, "localhost"))
        self.quiet = quiet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, size = time.monotonic(), 0, 0

        async def send_guarded(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            size += len(message.get("body", b""))
            await send(message)

        what = f"{quote(scope['method'])} {quote(scope['path'])[:100]}"
        try:
            self._check_host(Headers(scope=scope))
            await self.app(scope, receive, send_guarded)
        except Rejected as rejected:
            await _error(rejected)(scope, receive, send_guarded)
        except Exception as error:  # the message could contain the text, so only the type is logged
            print(f"error: {what}: {type(error).__name__}", file=sys.stderr)
            failure = Rejected(500, "internal", "the server failed on this request")
            await _error(failure)(scope, receive, send_guarded)
        if not self.quiet:
            client, spent = (scope.get("client") or ("-",))[0], 1000 * (time.monotonic() - started)
            print(f"{client} {what} {status} {size}B {spent:.1f}ms", file=sys.stderr, flush=True)

    def _check_host(self, headers: Headers) -> None:
        host = _only(headers, "host")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in self.hosts and not is_address(name):
            message = f"unknown host name {quote(name)[:100]!r}; start the server with --allow-host NAME"
            raise Rejected(403, "bad_host", message)


def _only(headers: Headers, name: str, default: str = "") -> str:
    """The value of a header; one that occurs twice matches nothing."""
    return ",".join(headers.getlist(name) or [default])


def is_address(name: str) -> bool:
    """Whether a host is an IP address, which DNS rebinding cannot redirect."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


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


def check_caller(headers: Headers) -> None:
    """Reject requests that a browser sends for another site, and forms."""
    own = f"://{_only(headers, 'host')}"
    is_own = _only(headers, "origin", f"http{own}") in (f"http{own}", f"https{own}")
    if not is_own or _only(headers, "sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Rejected(403, "bad_origin", "expected a request from the server's own page")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        message = f"content-type: expected {JSON}, got {quote(kind, safe='/')[:60] or 'none'}"
        raise Rejected(415, "bad_type", message)


class Workers:
    """A few threads with a bounded queue and deadlines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places = threading.Semaphore(limits.running + limits.waiting)
        self._pool = ThreadPoolExecutor(limits.running, thread_name_prefix=THREADS)

    def endpoint(
        self, kind: type[R], work: Callable[[R], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler of requests with a JSON body of this kind."""

        async def respond(request: Request) -> Response:
            deadline = asyncio.get_running_loop().time() + self._limits.seconds
            check_caller(request.headers)
            try:
                async with asyncio.timeout_at(deadline):
                    body = await _read_body(request, self._limits.body)
            except TimeoutError:
                raise Rejected(408, "slow_request", "the body did not arrive in time") from None
            return await self.run(lambda: work(api.read_request(body, kind)), deadline)

        return respond

    async def run(self, work: Callable[[], Response], deadline: float) -> Response:
        """Run `work` on a thread; Rejected if the queue is full or the deadline of the loop passes."""
        if not self._places.acquire(blocking=False):
            raise Rejected(503, "busy", "too many requests; try again in a second")
        running = self._pool.submit(work)
        running.add_done_callback(lambda _: self._places.release())
        try:
            async with asyncio.timeout_at(deadline):  # late work leaves the queue, but not its thread
                return await asyncio.wrap_future(running)
        except TimeoutError:
            message = f"not finished within {self._limits.seconds:g} seconds; split the request"
            raise Rejected(503, "timeout", message) from None
        except asyncio.CancelledError:  # by uvicorn, which ends
            raise stopping() from None

    @asynccontextmanager
    async def lifespan(self, application: Starlette) -> AsyncIterator[None]:
        """Run with the server; when it stops, drop waiting work and let running work finish."""
        yield
        self._pool.shutdown(wait=False, cancel_futures=True)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.create_server((host, port), family=family)
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # inherited by its connections
    return bound


def serve(application: ASGIApp, bound: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests that need less than GRACE seconds."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            stop = asyncio.get_running_loop().call_later(GRACE, _core.stop_native, True)
            await super().shutdown(sockets)
            stop.cancel()

    config = uvicorn.Config(
        application,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
    )
    # Uvicorn stops on these signals, then raises them again; by then they have done their work.
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {each: signal.signal(each, lambda number, frame: None) for each in signals}
    try:
        Server(config).run(sockets=[bound])
    finally:
        _end_computations()
        for each, handler in before.items():
            signal.signal(each, handler)


def _end_computations() -> None:
    """Stop what still computes responses, as those that missed their deadline do."""
    _core.stop_native(True)
    try:
        deadline = time.monotonic() + GRACE
        for thread in threading.enumerate():
            if thread.name.startswith(THREADS):
                thread.join(max(0.0, deadline - time.monotonic()))
    finally:
        _core.stop_native(False)
