"""The annotation page and its JSON API as a Starlette application; `arbora annotate` serves it.

The same checks of hosts, origins, sizes and deadlines as in `arbora.web.server`. Static files are those of
`web/static`; `annotate.html` is the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arbora.annotation import api
from arbora.annotation.learning import Learning
from arbora.annotation.project import Project
from arbora.annotation.refusal import Refusal
from arbora.errors import StoppedError
from arbora.web.api import Endpoint, Plan, Rejected, stopping
from arbora.web.limits import Limits
from arbora.web.openapi import document
from arbora.web.server import guarded, json_response, page_routes
from arbora.web.workers import SMALL_COST, Workers

CONLLU = "text/plain"
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

    @property
    def is_large(self) -> bool:
        """Whether it may take long, so that others must not wait for it."""
        return self.endpoint.name in ("next", "findings", "export", "reload")


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
            "project",
            "Describe the project, the model and the background work.",
            view,
            lambda _: project.view(),
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
        post("next", "Choose the next question.", api.NextRequest, api.Question, project.next),
        post("learn", "Start or cancel learning.", api.LearnRequest, view, learning.command),
        post(
            "findings",
            "List words that may be wrong.",
            api.FindingsRequest,
            api.FindingList,
            project.findings,
        ),
        post(
            "settle",
            "Say that a marked word is right.",
            api.SettleRequest,
            api.SentenceView,
            project.settle,
        ),
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
    described = document("Arbora: annotation", "Annotate a treebank.", [each.endpoint for each in known])
    routes = page_routes("annotate.html")
    routes.append(Route("/openapi.json", json_response(described), methods=["GET"]))
    for call in known:
        handler = (
            _get(workers, limits.seconds, call) if call.endpoint.request is None else _post(workers, call)
        )
        routes.append(Route(call.endpoint.path, handler, methods=[call.endpoint.method]))
    return guarded(routes, workers, hosts=hosts, quiet=quiet)


def _answer(work: Callable[[Any], Any], wanted: Any) -> Response:
    try:
        result = work(wanted)
    except Refusal as refusal:
        raise Rejected(STATUSES.get(refusal.code, 422), refusal.code, str(refusal)) from None
    except StoppedError:
        raise stopping() from None
    if isinstance(result, str):
        return Response(result, media_type=f"{CONLLU}; charset=utf-8")
    return json_response(result)


def _post(workers: Workers, call: Call) -> Any:
    cost = 2 * SMALL_COST if call.is_large else 0

    def plan(wanted: Any) -> Plan[Response]:
        return Plan(cost, lambda: _answer(call.work, wanted))

    kind: Any = call.endpoint.request
    return workers.endpoint(kind, plan, lambda response: response)


def _get(workers: Workers, seconds: float, call: Call) -> Any:
    async def respond(request: Request) -> Response:
        deadline = asyncio.get_running_loop().time() + seconds
        return await workers.run(lambda: _answer(call.work, None), deadline, large=False)

    return respond
