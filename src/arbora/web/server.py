"""The page and the JSON API as an ASGI application, and the server that runs it.

Requests are read on one event loop and computed on a few threads, for native code lets others run beside it.
Every request has a deadline, every resource a limit, every refusal a JSON body with a code. What is computed
past its deadline keeps its place among those that run until it ends, so that no more ever run at a time.

Nothing but this server's own page may call it: requests that a browser sends for another site, or under a
name that is not this server's (DNS rebinding), are refused. No typed text reaches a log.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import quote

from arbora import __version__
from arbora.errors import InputError
from arbora.web.api import Limits, Refused, answer, read_json, read_picture, read_question
from arbora.web.openapi import describe
from arbora.web.serving import Engine

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/arbora.css": ("arbora.css", "text/css; charset=utf-8"),
    "/arbora.js": ("arbora.js", "text/javascript; charset=utf-8"),
    "/tree.js": ("tree.js", "text/javascript; charset=utf-8"),
}
JSON = "application/json"
BACKLOG = 1024
DRAINED = 16
"""A body that is too large is read on to this many times the limit, so that clients see the answer."""


@dataclass(frozen=True)
class Request:
    """What routes look at."""

    method: str
    path: str
    headers: dict[str, str]
    scheme: str = "http"
    client: str = "-"
    begun: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Response:
    """What is sent back."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Application:
    """ASGI 3; `hosts` are names besides localhost and addresses under which it may be called."""

    def __init__(
        self, engine: Engine, limits: Limits | None = None, *, hosts: tuple[str, ...] = (), quiet: bool = True
    ) -> None:
        self.engine = engine
        self.limits = limits or Limits()
        self.hosts = frozenset(host.lower() for host in (*hosts, "localhost"))
        self.quiet = quiet
        self._work = Work(self.limits)
        folder = files("arbora.web") / "static"
        self._static = {
            path: Response(200, kind, (folder / name).read_bytes(), (("cache-control", "no-cache"),))
            for path, (name, kind) in STATIC.items()
        }
        info = {**engine.about(), "version": __version__, "limits": vars(self.limits)}
        self._static["/api/info"] = make_json(200, info)
        self._static["/openapi.json"] = make_json(200, describe(self.limits))
        self._computed = {"/api/parse": self._parse, "/api/svg": self._draw}

    @property
    def routes(self) -> dict[str, str]:
        """The method of each path."""
        return {**dict.fromkeys(self._static, "GET"), **dict.fromkeys(self._computed, "POST")}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's start and end."""
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["type"] != "http":
            raise InputError(f"expected HTTP, got {scope['type']}")
        request = read_request(scope)
        try:
            response = await self._respond(request, receive)
        except Refused as refused:
            response = make_refusal(refused)
        except Exception as error:  # the last door: a fault of ours is told without what was typed
            print(f"error: {request.method} {quote(request.path)}: {type(error).__name__}", file=sys.stderr)
            response = make_refusal(Refused(500, "internal", "the server failed on this request"))
        await send_response(response, send, with_body=request.method != "HEAD")
        if not self.quiet:
            self._log(request, response)
        return None

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._work.close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _respond(self, request: Request, receive: Receive) -> Response:
        self._check_host(request)
        wanted = self.routes.get(request.path)
        if wanted is None:
            raise Refused(404, "not_found", f"no such path: {quote(request.path)[:100]}; see /openapi.json")
        if request.method != wanted and not (wanted == "GET" and request.method == "HEAD"):
            refusal = Refused(
                405, "method_not_allowed", f"expected {wanted}, got {quote(request.method)[:20]}"
            )
            return make_refusal(refusal, ("allow", wanted if wanted == "POST" else "GET, HEAD"))
        if wanted == "GET":
            return self._static[request.path]
        self._check_origin(request)
        body = await self._read(request, receive)
        work = self._computed[request.path]
        return await self._work.do(lambda: work(body), request.begun + self.limits.seconds)

    # What may call

    def _check_host(self, request: Request) -> None:
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() in self.hosts or is_address(name):
            return
        what = f"the server is not known as {quote(name)[:100] or 'a name that is empty'}"
        raise Refused(403, "bad_host", f"{what}; start it with --allow-host NAME if it is to be")

    def _check_origin(self, request: Request) -> None:
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        own = f"://{request.headers.get('host', '')}"
        is_own = origin is None or origin in (f"http{own}", f"https{own}")
        if not is_own or site not in ("same-origin", "none"):
            raise Refused(
                403, "bad_origin", "expected a request of this server's own page, got another site's"
            )
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise Refused(
                415, "bad_type", f"content-type: expected {JSON}, got {quote(kind, safe='/')[:60] or 'none'}"
            )

    # What is sent

    async def _read(self, request: Request, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout_at(_on_loop(request.begun + self.limits.seconds)):
                return await self._read_body(request, receive)
        except TimeoutError:
            raise Refused(408, "slow_request", "the body did not come in time") from None

    async def _read_body(self, request: Request, receive: Receive) -> bytes:
        limit = self.limits.body
        too_large = Refused(
            413, "too_large", f"body: expected at most {limit:,} bytes, got more; send it in parts"
        )
        told = request.headers.get("content-length", "0")
        if told.isdigit() and int(told) > DRAINED * limit:
            raise too_large
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "gone", "the client went away")
            part = message.get("body", b"")
            size += len(part)
            if size <= limit:
                parts.append(part)
            elif size > DRAINED * limit:
                raise too_large
            if not message.get("more_body", False):
                break
        if size > limit:
            raise too_large
        return b"".join(parts)

    # What is computed, on a thread

    def _parse(self, body: bytes) -> Response:
        question = read_question(read_json(body), self.limits)
        return make_json(200, answer(question, self.engine, self.limits))

    def _draw(self, body: bytes) -> Response:
        from arbora.web.svg import draw_svg

        sentence, probabilities = read_picture(read_json(body), self.limits)
        picture = draw_svg(sentence, probabilities=probabilities)
        policy = ("content-security-policy", PICTURE_POLICY)
        return Response(200, "image/svg+xml; charset=utf-8", picture.encode(), (policy,))

    def _log(self, request: Request, response: Response) -> None:
        spent = 1000 * (time.monotonic() - request.begun)
        line = f"{request.client} {quote(request.method)} {quote(request.path)[:100]} {response.status}"
        print(f"{line} {len(response.body)}B {spent:.1f}ms", file=sys.stderr, flush=True)


class Work:
    """A few threads, a queue before them, and deadlines."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.running)
        self._waiting = 0
        self._pool = ThreadPoolExecutor(limits.running, thread_name_prefix="arbora-serve")

    async def do(self, work: Callable[[], Response], deadline: float) -> Response:
        """What `work` makes; Refused where there is no room or no time for it."""
        if self._slots.locked() and self._waiting >= self._limits.waiting:
            raise Refused(503, "busy", "too many requests at a time; come back in a second")
        try:
            async with asyncio.timeout_at(_on_loop(deadline)):
                self._waiting += 1
                try:
                    await self._slots.acquire()
                finally:
                    self._waiting -= 1
                running = asyncio.get_running_loop().run_in_executor(self._pool, work)
                running.add_done_callback(self._ended)
                return await asyncio.shield(running)
        except TimeoutError:
            what = f"not done within {self._limits.seconds:g} seconds; send less at a time"
            raise Refused(503, "timeout", what) from None

    def _ended(self, running: asyncio.Future[Response]) -> None:
        self._slots.release()
        if not running.cancelled():
            running.exception()  # looked at, so that nobody complains where the client is gone

    def close(self) -> None:
        """What waits is dropped; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _on_loop(deadline: float) -> float:
    """A monotonic time as the event loop counts."""
    return asyncio.get_running_loop().time() + deadline - time.monotonic()


def is_address(name: str) -> bool:
    """Whether a host is an address, which no foreign name service can point elsewhere."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def read_request(scope: Message) -> Request:
    """The part of an ASGI scope that counts."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        # A second Host or Origin makes both wrong, rather than the first one right.
        headers[key] = (
            f"{headers[key]},{value.decode('latin-1')}" if key in headers else value.decode("latin-1")
        )
    client = scope.get("client") or ("-",)
    return Request(scope["method"], scope["path"], headers, scope.get("scheme", "http"), str(client[0]))


def make_json(status: int, value: object, *headers: tuple[str, str]) -> Response:
    """A value as a response."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(status, JSON, body, headers)


def make_refusal(refused: Refused, *headers: tuple[str, str]) -> Response:
    """A refusal as a response."""
    again = (("retry-after", "1"),) if refused.status == 503 else ()
    return make_json(refused.status, refused.to_json(), *again, *headers)


async def send_response(response: Response, send: Send, *, with_body: bool) -> None:
    """The response with the headers that all have."""
    headers = {
        "content-type": response.kind,
        "content-length": str(len(response.body)),
        "content-security-policy": PAGE_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
        **dict(response.headers),
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": pairs})
    await send({"type": "http.response.body", "body": response.body if with_body else b""})


# The server


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; OSError where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small answers at once (TCP_NODELAY) on what it accepts.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)  # from here on clients wait rather than fail
    except OSError:
        bound.close()
        raise
    return bound


def serve(application: Application, bound: socket.socket) -> None:
    """Serves until SIGINT or SIGTERM; then what runs is finished, for five seconds at most."""
    import uvicorn

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # Uvicorn's own raises the signal again in the end; here it has done all that it is for.
            ends = (signal.SIGINT, signal.SIGTERM)
            before = {end: signal.signal(end, self.handle_exit) for end in ends}
            try:
                yield
            finally:
                for end, handler in before.items():
                    signal.signal(end, handler)

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
        backlog=BACKLOG,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
    )
    Server(config).run(sockets=[bound])
