"""The description of the JSON API, as OpenAPI 3.1; tests hold it against the routes and the answers."""

from __future__ import annotations

from typing import Any

from arbora import __version__
from arbora.web.api import Limits

Schema = dict[str, Any]


def describe(limits: Limits) -> Schema:
    """The document at /openapi.json."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Arbora",
            "version": __version__,
            "description": "Dependency trees and their probabilities. Errors are JSON: a code and a message.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/api/info": {"get": _operation("info", "The model and the limits.", "Info")},
            "/api/parse": {
                "post": _operation(
                    "parse",
                    "Trees of a text, or of sentences in CoNLL-U: at most "
                    f"{limits.sentences} of {limits.words} words; with k > 1 or marginals "
                    f"{limits.ranked_sentences} of {limits.ranked_words} words.",
                    "Answer",
                    "Question",
                )
            },
            "/api/svg": {"post": _svg()},
            "/openapi.json": {"get": _operation("openapi", "This description.", None)},
        },
        "components": {"schemas": _schemas(limits), "responses": {"Error": _error()}},
    }


def _operation(name: str, summary: str, answer: str | None, body: str | None = None) -> Schema:
    schema = {"type": "object"} if answer is None else _ref(answer)
    operation: Schema = {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": schema}}},
            "default": {"$ref": "#/components/responses/Error"},
        },
    }
    if body is not None:
        operation["requestBody"] = _body(body)
    return operation


def _svg() -> Schema:
    operation = _operation("svg", "A picture of one tree.", None, "Picture")
    content = {"image/svg+xml": {"schema": {"type": "string"}}}
    operation["responses"]["200"] = {"description": "An SVG document.", "content": content}
    return operation


def _body(name: str) -> Schema:
    return {"required": True, "content": {"application/json": {"schema": _ref(name)}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _error() -> Schema:
    return {
        "description": "What was wrong with the request, or that there is no room for it (503).",
        "content": {"application/json": {"schema": _ref("Error")}},
    }


def _object(required: list[str], **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
SHARE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
NODE: Schema = {"type": "integer", "minimum": 0}


def _about(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _schemas(limits: Limits) -> Schema:
    tree = {
        "heads": _list(_about(NODE, "A word's head; 0 is the root.")),
        "deprels": _list(TEXT),
        "conllu": _about(TEXT, "The sentence with this tree."),
    }
    shares = _list(SHARE)
    words = dict.fromkeys(("form", "lemma", "upos", "xpos", "feats"), TEXT)
    limit_names = list(vars(limits))
    about = [
        "name",
        "trees",
        "roots",
        "order",
        "labels",
        "is_calibrated",
        "reads_text",
        "tags_words",
        "example",
    ]
    return {
        "Question": _object(
            [],
            text=_about(TEXT, "Raw text; either this or conllu."),
            conllu=_about(TEXT, "Sentences; UPOS, where it is given, is used."),
            k={"type": "integer", "minimum": 1, "maximum": limits.trees, "default": 1},
            marginals=_about(BOOLEAN, "The probability of every arc, too."),
            keep=_about(_list(_ref("Kept")), "Arcs that stay; of one sentence."),
        ),
        "Kept": _object(["word", "head"], word={"type": "integer", "minimum": 1}, head=NODE, deprel=TEXT),
        "Picture": _object(["conllu"], conllu=_about(TEXT, "One sentence with its tree.")),
        "Answer": _object(["sentences", "notes"], sentences=_list(_ref("Sentence")), notes=_list(TEXT)),
        "Sentence": _object(
            ["text", "words", "entropy", "trees", "given", "kept", "marginals"],
            text=TEXT,
            words=_list(_object(list(words), **words)),
            entropy=_about(NUMBER_OR_NULL, "Of the distribution over trees, in nats."),
            trees=_about(_list(_ref("Tree"), minItems=1), "The most probable first."),
            given={
                "oneOf": [_object(list(tree), **tree), {"type": "null"}],
                "description": "As it was sent.",
            },
            kept=_list(NODE),
            marginals={"oneOf": [_list(shares), {"type": "null"}], "description": "P(arc) at [head][word]."},
        ),
        "Tree": _object(
            ["probability", "head_probabilities", "label_probabilities", *tree],
            probability=SHARE,
            head_probabilities=shares,
            label_probabilities=shares,
            **tree,
        ),
        "Info": _object(
            [*about, "version", "limits"],
            name=TEXT,
            trees={"enum": ["projective", "nonprojective"]},
            roots={"enum": ["single", "multi"]},
            order={"enum": [1, 2]},
            labels=_list(TEXT),
            is_calibrated=BOOLEAN,
            reads_text=_about(BOOLEAN, "Whether the model has a segmenter."),
            tags_words=_about(BOOLEAN, "Whether the model has a tagger."),
            example=_about(TEXT, "A text to begin with; empty where none is known."),
            version=TEXT,
            limits=_object(limit_names, **{name: {"type": "number"} for name in limit_names}),
        ),
        "Error": _object(["error"], error=_object(["code", "message"], code=TEXT, message=TEXT)),
    }
