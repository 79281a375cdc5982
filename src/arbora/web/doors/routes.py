"""Routes for other tools' requests: who may send them, and how their errors are written.

A browser may send UDPipe's requests from the server's own page and from the origins that the server was
started with. Arborator's requests, which change what is stored, come from its backend, not from a browser.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import arbora
from arbora.web.api import JSON, Plan, Rejected, read_request
from arbora.web.doors import arborator, training, udpipe
from arbora.web.doors.arborator import OWN_PROJECT, failure, success
from arbora.web.doors.catalog import Catalog, Entry, ModelInfo, new_id
from arbora.web.doors.forms import read_parameters
from arbora.web.limits import Limits
from arbora.web.serving import Engine
from arbora.web.workers import Workers, check_caller, check_origin, only

TRAINING, PARSING = "train-", "parse-"
MOST_WAITING = 4
"""Tasks of a kind that may wait for the one that runs."""
MOST_FINISHED = 100
"""Tasks whose results are kept."""

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Work: TypeAlias = tuple[ModelInfo, Awaitable[dict[str, Any]]]
R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")


def _json(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type=JSON)


# UDPipe


def udpipe_routes(engine: Engine, limits: Limits, workers: Workers, origins: Collection[str]) -> list[Route]:
    """`/models` and `/process`; `origins` are those of other pages that may call them."""

    async def models(request: Request) -> Response:
        return _json(udpipe.models(engine))

    async def process(request: Request) -> Response:
        def plan(body: bytes) -> Plan[Response]:
            content_type = request.headers.get("content-type", "")
            parameters = read_parameters(request.scope["query_string"], content_type, body)
            planned = udpipe.plan_process(parameters, engine, limits)
            return Plan(planned.cost, lambda: _json(planned.compute()))

        compute = await workers.plan(request, plan)
        return await compute()

    handlers = {"/models": models, "/process": process}
    return [
        Route(path, _shared(handler, frozenset(origins)), methods=["GET", "POST", "OPTIONS"])
        for path, handler in handlers.items()
    ]


def _shared(handler: Handler, origins: frozenset[str]) -> Handler:
    """Let pages of these origins call a handler; errors are plain text, as UDPipe writes them."""

    async def handle(request: Request) -> Response:
        origin = only(request.headers, "origin")
        try:
            if origin not in origins:
                check_origin(request.headers)
            response = Response(status_code=204) if request.method == "OPTIONS" else await handler(request)
        except Rejected as rejected:
            retry = {"retry-after": "1"} if rejected.status == 503 else None
            response = PlainTextResponse(rejected.message + "\n", rejected.status, retry)
        if origin in origins:
            response.headers["access-control-allow-origin"] = origin
            response.headers["vary"] = "origin"
            if request.method == "OPTIONS":
                response.headers["access-control-allow-methods"] = "GET, POST"
                response.headers["access-control-allow-headers"] = "content-type"
                response.headers["access-control-allow-private-network"] = "true"
        return response

    return handle


# Arborator


class Arborator:
    """Arborator's parser server: a folder of models, and tasks that train and parse in the background."""

    def __init__(self, engine: Engine, limits: Limits, workers: Workers, folder: Path) -> None:
        self._engine, self._limits, self._workers = engine, limits, workers
        self._catalog = Catalog(folder)
        training.clean(folder)
        self._own = ModelInfo(OWN_PROJECT, udpipe.model_name(engine))
        self._load = lru_cache(2)(lambda path: Engine(arbora.load(path), path.stem))
        self._tasks: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._one_training = asyncio.Lock()

    def routes(self) -> list[Route]:
        """The calls that Arborator's backend sends."""
        prefix = "/parser/models"
        posted = {
            "/train/start": self._train_start,
            "/train/status": self._train_status,
            "/parse/start": self._parse_start,
            "/parse/status": self._parse_status,
        }
        return [
            Route(f"{prefix}/list", _answered(self._list, check_origin), methods=["GET"]),
            Route(
                f"{prefix}/list/{{project_name}}/{{model_id}}",
                _answered(self._delete, check_origin),
                methods=["DELETE"],
            ),
            *(
                Route(prefix + path, _answered(call, check_caller), methods=["POST"])
                for path, call in posted.items()
            ),
        ]

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run with the server; when it stops, end all tasks."""
        yield
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _list(self, request: Request) -> dict[str, Any]:
        return success([Entry(self._own, {}), *self._catalog.entries()])

    async def _delete(self, request: Request) -> dict[str, Any]:
        info = ModelInfo(request.path_params["project_name"], request.path_params["model_id"])
        if not self._catalog.remove(info):
            return failure("there is no such model, or it is the one that the server was started with")
        self._load.cache_clear()
        return {"status": "success"}

    async def _train_start(self, request: Request) -> dict[str, Any]:
        def plan(wanted: arborator.TrainRequest) -> Plan[Work]:
            base = None if wanted.base_model is None else self._catalog.path(wanted.base_model)
            if wanted.base_model is not None and base is None:
                raise Rejected(200, "no_model", "base_model: this server has trained no such model")
            treebank, count = arborator.read_treebank(wanted.train_samples, self._limits)
            options = [] if base is None else training.base_options(base)
            info = ModelInfo(wanted.project_name, new_id())
            settings = training.Settings(treebank, count, wanted.max_epoch, options)
            return Plan(0.0, lambda: (info, self._train(info, settings)))

        compute = await self._plan(request, arborator.TrainRequest, plan)
        info, work = await compute()
        return success({"model_info": info, "train_task_id": self._start(TRAINING, work)})

    async def _train(self, info: ModelInfo, settings: training.Settings) -> dict[str, Any]:
        async with self._one_training, training.trained(settings, self._catalog.folder) as (model, report):
            scores = training.scores_of(report)
            self._catalog.add(model, info, scores)
        return {"model_info": info, "scores_history": training.history_of(report), "scores_best": scores}

    async def _train_status(self, request: Request) -> dict[str, Any]:
        wanted = await self._read(request, arborator.TrainStatusRequest)
        return self._status(TRAINING + wanted.train_task_id, {"scores_history": None, "scores_best": None})

    async def _parse_start(self, request: Request) -> dict[str, Any]:
        def plan(wanted: arborator.ParseRequest) -> Plan[dict[str, Any]]:
            path = self._catalog.path(wanted.model_info)
            if path is None and wanted.model_info != self._own:
                raise Rejected(200, "no_model", "model_info: there is no such model; see /parser/models/list")
            engine = self._engine if path is None else self._load(path)
            planned = arborator.plan_parse(wanted, engine, self._limits)
            info = wanted.model_info
            return Plan(planned.cost, lambda: {"model_info": info, "parsed_samples": planned.compute()})

        work = (await self._plan(request, arborator.ParseRequest, plan))()
        return success({"parse_task_id": self._start(PARSING, work)})

    async def _parse_status(self, request: Request) -> dict[str, Any]:
        wanted = await self._read(request, arborator.ParseStatusRequest)
        return self._status(PARSING + wanted.parse_task_id, {})

    async def _plan(
        self, request: Request, kind: type[R], plan: Callable[[R], Plan[T]]
    ) -> Callable[[], Awaitable[T]]:
        return await self._workers.plan(request, lambda body: plan(read_request(body, kind)))

    async def _read(self, request: Request, kind: type[R]) -> R:
        compute = await self._plan(request, kind, lambda wanted: Plan(0.0, lambda: wanted))
        return await compute()

    def _start(self, kind: str, work: Awaitable[dict[str, Any]]) -> str:
        """Run work in the background; returns the ID of its task."""
        running = [name for name, task in self._tasks.items() if name.startswith(kind) and not task.done()]
        if len(running) > MOST_WAITING:
            asyncio.ensure_future(work).cancel()
            raise Rejected(503, "busy", "too many tasks are waiting; try again later")
        finished = [name for name, task in self._tasks.items() if task.done()]
        for name in finished[: len(finished) - MOST_FINISHED]:
            del self._tasks[name]
        number = secrets.token_hex(16)
        self._tasks[kind + number] = asyncio.ensure_future(work)
        return number

    def _status(self, name: str, pending: dict[str, Any]) -> dict[str, Any]:
        task = self._tasks.get(name)
        if task is None:
            return failure("there is no such task; its result was removed, or the server was started again")
        if not task.done():
            return success({"ready": False, **pending})
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Rejected):
            print(f"error: task: {type(error).__name__}", file=sys.stderr)
        if task.cancelled() or error is not None:
            return failure(error.message if isinstance(error, Rejected) else "the server failed on this task")
        return success({"ready": True, **task.result()})


def _answered(
    call: Callable[[Request], Awaitable[dict[str, Any]]], check: Callable[[Headers], None]
) -> Handler:
    """A handler whose errors Arborator understands."""

    async def handle(request: Request) -> Response:
        try:
            check(request.headers)
            return _json(await call(request))
        except Rejected as rejected:
            return _json(failure(rejected.message), rejected.status)

    return handle
