"""The annotation page and its JSON API as a Starlette application; `arbora annotate` serves it.

The same checks of hosts, origins, sizes and deadlines as in `arbora.web.server`. Static files are those of
`web/static`; `annotate.html` is the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arbora import __version__
from arbora.annotation import api
from arbora.annotation.learning import Learning
from arbora.annotation.project import Project
from arbora.annotation.refusal import Refusal
from arbora.errors import StoppedError
from arbora.web.api import REF, Endpoint, ErrorResponse, Rejected, _operation, stopping
from arbora.web.limits import Limits
from arbora.web.server import Guard, Workers, _json, _page, _routing_error

CONLLU = "text/plain"
PAGE = "annotate.html"
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATUSES = {
    "no_such_sentence": 404,
    "stale": 409,
    "changed_outside": 409,
    "nothing_to_undo": 409,
    "nothing_to_redo": 409,
    "learning": 409,
    "not_learning": 409,
    "exists": 409,
    "no_model": 409,
    "sentence_too_long": 413,
    "not_saved": 507,
}
"""The status of a refusal; 422 for others."""


class Call(NamedTuple):
    """An endpoint and the function behind it."""

    endpoint: Endpoint
    work: Callable[[Any], Any]


def calls(project: Project, learning: Learning) -> list[Call]:
    """The endpoints of a project."""

    def post(
        name: str, summary: str, request: type, response: type | None, work: Callable[[Any], Any]
    ) -> Call:
        media_type = "application/json" if response is not None else CONLLU
        return Call(Endpoint(f"/api/{name}", name, summary, request, response, media_type), work)

    def get(name: str, summary: str, response: type, work: Callable[[Any], Any]) -> Call:
        return Call(Endpoint(f"/api/{name}", name, summary, None, response), work)

    view, none = api.ProjectView, api.Nothing
    return [
        get(
            "project", "Describe the project, the model and what is going on.", view, lambda _: project.view()
        ),
        get("curve", "Return how the model and the work develop.", api.Curve, lambda _: learning.curve()),
        post("sentences", "List sentences.", api.ListRequest, api.SentenceList, project.rows),
        post(
            "sentence",
            "Load a sentence.",
            api.SentenceRequest,
            api.SentenceView,
            lambda w: project.sentence(w.number),
        ),
        post("edit", "Change a sentence.", api.EditRequest, api.EditResponse, project.edit),
        post("undo", "Take back the last edit.", none, api.EditResponse, lambda _: project.undo()),
        post(
            "redo",
            "Make the edit again that was undone last.",
            none,
            api.EditResponse,
            lambda _: project.redo(),
        ),
        post("choices", "Rank heads and labels of a word.", api.ChoicesRequest, api.Choices, project.choices),
        post("trees", "Rank the trees of a sentence.", api.TreesRequest, api.Trees, project.trees),
        post("next", "Choose what to ask for next.", api.NextRequest, api.Question, project.next),
        post("learn", "Start or cancel learning.", api.LearnRequest, view, learning.command),
        post("reload", "Take the file as it is on the disk.", none, view, lambda _: project.reload()),
        post(
            "save",
            "Save a copy under another name.",
            api.SaveRequest,
            api.Saved,
            lambda w: project.save_copy(w.name),
        ),
        post("export", "Return the treebank as CoNLL-U.", api.ExportRequest, None, project.export),
    ]


def make_application(
    project: Project,
    learning: Learning,
    limits: Limits | None = None,
    *,
    hosts: tuple[str, ...] = (),
    quiet: bool = True,
) -> Starlette:
    """Build the ASGI application; `hosts` are allowed host names besides localhost and IP addresses."""
    limits = limits or Limits()
    workers = Workers(limits)
    known = calls(project, learning)
    document = _json(describe([call.endpoint for call in known]))
    routes = [Route(path, page, methods=["GET"]) for path, page in _pages().items()]
    routes.append(Route("/openapi.json", document, methods=["GET"]))
    for endpoint, work in known:
        handler = (
            _get(workers, limits.seconds, work)
            if endpoint.request is None
            else _post(workers, endpoint.request, work)
        )
        routes.append(Route(endpoint.path, handler, methods=[endpoint.method]))
    application = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts, quiet=quiet)],
        exception_handlers={HTTPException: _routing_error},
        lifespan=workers.lifespan,
    )
    application.router.redirect_slashes = False
    return application


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document at /openapi.json."""
    types = [kind for each in endpoints for kind in (each.request, each.response) if kind is not None]
    _, schemas = msgspec.json.schema_components([*types, ErrorResponse], ref_template=REF)
    for schema in schemas.values():
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Arbora: annotation",
            "version": __version__,
            "description": "Annotate a treebank. Errors are JSON: a code and a message.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {each.path: {each.method.lower(): _operation(each)} for each in endpoints},
        "components": {"schemas": schemas},
    }


def _pages() -> dict[str, Response]:
    pages = {}
    for each in files("arbora.web").joinpath("static").iterdir():
        ending = each.name[each.name.rfind(".") :]
        if each.is_file() and ending in MEDIA_TYPES and each.name != "index.html":
            path = "/" if each.name == PAGE else f"/{each.name}"
            pages[path] = _page(each.name, MEDIA_TYPES[ending])
    return pages


def _answer(work: Callable[[Any], Any], wanted: Any) -> Response:
    try:
        result = work(wanted)
    except Refusal as refusal:
        raise Rejected(STATUSES.get(refusal.code, 422), refusal.code, str(refusal)) from None
    except StoppedError:
        raise stopping() from None
    if isinstance(result, str):
        return Response(result, media_type=f"{CONLLU}; charset=utf-8")
    return _json(result)


def _post(workers: Workers, kind: Any, work: Callable[[Any], Any]) -> Any:
    return workers.endpoint(kind, lambda wanted: _answer(work, wanted))


def _get(workers: Workers, seconds: float, work: Callable[[Any], Any]) -> Any:
    async def respond(request: Request) -> Response:
        deadline = asyncio.get_running_loop().time() + seconds
        return await workers.run(lambda: _answer(work, None), deadline)

    return respond
