"""The OpenAPI 3.1 document, generated from the endpoints and the types of `api.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from arbora import __version__
from arbora.web.api import ErrorResponse, Info, ParseRequest, ParseResponse, SvgRequest
from arbora.web.limits import Limits

JSON = "application/json"
SVG = "image/svg+xml"
REF = "#/components/schemas/{name}"


class Endpoint(NamedTuple):
    """A path of the API with its types; `response` is None for JSON of any form and for other media types."""

    path: str
    name: str
    summary: str
    request: type | None = None
    response: type | None = None
    media_type: str = JSON

    @property
    def method(self) -> str:
        """POST if the endpoint has a request body."""
        return "GET" if self.request is None else "POST"


ENDPOINTS = (
    Endpoint("/api/info", "info", "Describe the model and the limits.", None, Info),
    Endpoint("/api/parse", "parse", "Parse a text, or sentences in CoNLL-U.", ParseRequest, ParseResponse),
    Endpoint("/api/svg", "svg", "Draw one tree.", SvgRequest, media_type=SVG),
    Endpoint("/openapi.json", "openapi", "Return this document."),
)


def describe(limits: Limits) -> dict[str, Any]:
    """Return the document at /openapi.json."""
    types = [kind for each in ENDPOINTS for kind in (each.request, each.response) if kind is not None]
    _, schemas = msgspec.json.schema_components([*types, ErrorResponse], ref_template=REF)
    schemas["ParseRequest"]["properties"]["k"]["maximum"] = limits.trees
    for schema in schemas.values():
        schema["additionalProperties"] = False
    paths = {each.path: {each.method.lower(): _operation(each)} for each in ENDPOINTS}
    paths["/api/parse"]["post"]["description"] = (
        f"At most {limits.sentences} sentences of {limits.words} words; with k > 1 or marginals, at most "
        f"{limits.ranked_sentences} of {limits.ranked_words} words."
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Arbora",
            "version": __version__,
            "description": "Dependency trees and their probabilities. Errors are JSON: a code and a message.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    failure = "A rejected request, or a busy server (503)."
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "responses": {
            "200": {"description": "Success.", **_content(endpoint.response, endpoint.media_type)},
            "default": {"description": failure, **_content(ErrorResponse)},
        },
    }
    if endpoint.request is not None:
        operation["requestBody"] = {"required": True, **_content(endpoint.request)}
    return operation


def _content(kind: type | None, media_type: str = JSON) -> dict[str, Any]:
    plain = {"type": "object" if media_type == JSON else "string"}
    schema = plain if kind is None else {"$ref": REF.format(name=kind.__name__)}
    return {"content": {media_type: {"schema": schema}}}
