"""The page and the JSON API as a Starlette application.

Requests are read on one event loop and computed on a few threads (`workers.py`), since native code releases
the GIL. Every request has a deadline, every resource a limit, and every error a JSON body with a code.

Only the server's own page may call it: requests from other sites, or under a foreign host name (DNS
rebinding), are rejected. Logs never contain the parsed text.
"""

from __future__ import annotations

import ipaddress
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arbora import __version__
from arbora.web import api
from arbora.web.api import ENDPOINTS, JSON, SVG, Rejected
from arbora.web.doors.routes import Arborator, udpipe_routes
from arbora.web.limits import Limits
from arbora.web.openapi import describe
from arbora.web.serving import Engine
from arbora.web.workers import Workers, only

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
STATIC = files("arbora.web") / "static"
MEDIA_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def make_application(
    engine: Engine,
    limits: Limits | None = None,
    *,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    models: Path | None = None,
    quiet: bool = True,
) -> Starlette:
    """Build the ASGI application.

    `hosts` are allowed host names besides localhost and IP addresses, `origins` those of other pages that
    may send UDPipe's requests. `models` is the folder of models that Arborator trains; None: it cannot.
    """
    limits = limits or Limits()
    workers = Workers(limits)
    trainer = None if models is None else Arborator(engine, limits, workers, models)

    handlers: dict[str, Any] = {
        "/api/info": json_response(api.Info(**engine.about(), version=__version__, limits=limits)),
        "/api/parse": workers.endpoint(
            api.ParseRequest, lambda w: api.plan_parse(w, engine, limits), json_response
        ),
        "/api/svg": workers.endpoint(api.SvgRequest, lambda w: api.plan_picture(w, limits), _picture),
        "/openapi.json": json_response(describe(limits)),
    }
    pages = page_routes("index.html")
    computed = [Route(each.path, handlers[each.path], methods=[each.method]) for each in ENDPOINTS]
    routes = [*pages, *computed, *udpipe_routes(engine, limits, workers, origins)]
    if trainer is None:
        return guarded(routes, workers, hosts=hosts, quiet=quiet)
    return guarded([*routes, *trainer.routes()], workers, trainer.lifespan, hosts=hosts, quiet=quiet)


def guarded(
    routes: list[Route],
    workers: Workers,
    background: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
    *,
    hosts: tuple[str, ...],
    quiet: bool,
) -> Starlette:
    """An application with these routes and background tasks; see `Guard`."""

    @asynccontextmanager
    async def lifespan(application: Starlette) -> AsyncIterator[None]:
        async with workers.lifespan(application), background():
            yield

    application = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts, quiet=quiet)],
        exception_handlers={HTTPException: _routing_error},
        lifespan=lifespan,
    )
    application.router.redirect_slashes = False
    return application


def page_routes(start: str) -> list[Route]:
    """The files of the pages under their names, and `start` at /."""
    names = sorted(each.name for each in STATIC.iterdir() if not each.name.endswith(".html"))
    return [
        Route(path, _page(name), methods=["GET"])
        for path, name in [("/", start), *((f"/{n}", n) for n in names)]
    ]


def _page(name: str) -> Response:
    media_type = MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(
        (STATIC / name).read_bytes(), media_type=media_type, headers={"cache-control": "no-cache"}
    )


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type=JSON)


def _picture(picture: str) -> Response:
    headers = {"content-security-policy": PICTURE_POLICY}
    return Response(picture, media_type=f"{SVG}; charset=utf-8", headers=headers)


def _error(rejected: Rejected, headers: dict[str, str] | None = None) -> Response:
    headers = {"retry-after": "1"} if rejected.status == 503 else headers
    error = api.ErrorResponse(api.ErrorDetail(rejected.code, rejected.message))
    return json_response(error, rejected.status, headers)


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
        host = only(headers, "host")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in self.hosts and not is_address(name):
            message = f"unknown host name {quote(name)[:100]!r}; start the server with --allow-host NAME"
            raise Rejected(403, "bad_host", message)


def is_address(name: str) -> bool:
    """Whether a host is an IP address, which DNS rebinding cannot redirect."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
