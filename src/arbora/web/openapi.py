"""OpenAPI documents, generated from endpoints and the types of their requests and responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from arbora import __version__
from arbora.web.api import ENDPOINTS, JSON, Endpoint, ErrorResponse
from arbora.web.limits import Limits

REF = "#/components/schemas/{name}"


def describe(limits: Limits) -> dict[str, Any]:
    """Return the document of `arbora serve`."""
    found = document("Arbora", "Dependency trees and their probabilities.", ENDPOINTS)
    found["components"]["schemas"]["ParseRequest"]["properties"]["k"]["maximum"] = limits.trees
    found["paths"]["/api/parse"]["post"]["description"] = (
        f"At most {limits.sentences} sentences of {limits.words} words. The sum of their cubed lengths is at "
        f"most {limits.work:,}; with k > 1 or marginals, at most {limits.ranked_sentences} sentences of "
        f"{limits.ranked_words} words."
    )
    return found


def document(title: str, about: str, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document at /openapi.json for some endpoints."""
    types = [kind for each in endpoints for kind in (each.request, each.response) if kind is not None]
    _, schemas = msgspec.json.schema_components([*types, ErrorResponse], ref_template=REF)
    for schema in schemas.values():
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
    paths = {each.path: {each.method.lower(): _operation(each)} for each in endpoints}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": __version__,
            "description": f"{about} Errors are JSON: a code and a message.",
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
