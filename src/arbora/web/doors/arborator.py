"""Arborator's parser server without the network: its requests, and parsing with kept columns.

Arborator's backend starts a task, gets its ID, and asks for its status until it is ready. Every response has
a `status`, `success` or `failure`, with `data` or `error`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from arbora.data.columns import columns_of
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.web.api import Plan, Rejected, check_cost, check_sizes, parsing_errors, read_conllu
from arbora.web.doors.catalog import ModelInfo
from arbora.web.limits import Limits
from arbora.web.serving import Engine

OWN_PROJECT = "arbora"
"""The project of the model that the server was started with."""
TAGS = {"upos": "keep_upos", "xpos": "keep_xpos", "feats": "keep_feats", "lemmas": "keep_lemmas"}

Keep: TypeAlias = Literal["NONE", "EXISTING", "ALL"]
Samples: TypeAlias = dict[str, str]
"""CoNLL-U by name."""


class TrainRequest(msgspec.Struct):
    """Train a model on samples, from nothing or from another model."""

    project_name: Annotated[str, Meta(min_length=1, max_length=200)]
    train_samples: Annotated[Samples, Meta(min_length=1)]
    max_epoch: Annotated[int, Meta(ge=1, le=1000)] = 10
    base_model: ModelInfo | None = None


class TrainStatusRequest(msgspec.Struct):
    """How far a training is."""

    train_task_id: str
    model_info: ModelInfo | None = None


class ParsingSettings(msgspec.Struct):
    """What to keep of each column: nothing, existing values, or the whole column."""

    keep_upos: Keep = "NONE"
    keep_xpos: Keep = "NONE"
    keep_feats: Keep = "NONE"
    keep_lemmas: Keep = "NONE"
    keep_heads: Keep = "NONE"
    keep_deprels: Keep = "NONE"


class ParseRequest(msgspec.Struct):
    """Parse samples."""

    model_info: ModelInfo
    to_parse_samples: Samples
    parsing_settings: ParsingSettings = msgspec.field(default_factory=ParsingSettings)


class ParseStatusRequest(msgspec.Struct):
    """Whether samples are parsed."""

    parse_task_id: str


def success(data: Any) -> dict[str, Any]:
    """A response."""
    return {"status": "success", "data": data}


def failure(message: str) -> dict[str, Any]:
    """The response to a failed request."""
    return {"status": "failure", "error": message}


def read_treebank(samples: Samples, limits: Limits) -> tuple[str, int]:
    """The sentences of all samples as one treebank, and how many they are."""
    all_of_them = replace(limits, sentences=10**8)
    found = [each.to_conllu() for name, text in samples.items() for each in _read(name, text, all_of_them)]
    return "".join(found), len(found)


def _read(name: str, text: str, limits: Limits) -> list[Sentence]:
    if not text.strip():
        return []
    try:
        return read_conllu(text, limits)
    except Rejected as rejected:
        raise Rejected(rejected.status, rejected.code, f"sample {name[:100]!r}: {rejected.message}") from None


def plan_parse(request: ParseRequest, engine: Engine, limits: Limits) -> Plan[Samples]:
    """Read the samples; tagging and parsing come later."""
    samples = {name: _read(name, text, limits) for name, text in request.to_parse_samples.items()}
    sentences = [sentence for each in samples.values() for sentence in each]
    check_sizes(sentences, limits.sentences, limits.words)
    return Plan(check_cost(sentences, limits), lambda: _parse(samples, request.parsing_settings, engine))


def _parse(samples: Mapping[str, Sequence[Sentence]], settings: ParsingSettings, engine: Engine) -> Samples:
    with parsing_errors():
        return {
            name: "".join(found.to_conllu() for found in parse_keeping(sentences, settings, engine))
            for name, sentences in samples.items()
        }


def parse_keeping(sentences: Sequence[Sentence], settings: ParsingSettings, engine: Engine) -> list[Sentence]:
    """Tag and parse sentences; keep the values that `settings` selects, and predict the rest around them."""
    if not sentences:
        return []
    tagged = list(sentences)
    if engine.pipeline.annotator is not None:
        found = engine.pipeline.prepare(columns_of(sentences), retag=True).sentences()
        tagged = [_kept(given, new, settings) for given, new in zip(sentences, found, strict=True)]
    with_heads = settings.keep_heads != "NONE"
    bare = [_bare(sentence, keep_heads=with_heads) for sentence in tagged]
    trees = engine.parser.parse(bare, keep_heads=with_heads)
    return [_with_tree(given, new, settings) for given, new in zip(tagged, trees, strict=True)]


def _kept(given: Sentence, found: Sentence, settings: ParsingSettings) -> Sentence:
    columns: dict[str, Any] = {
        column: merged(getattr(given, column), getattr(found, column), getattr(settings, keep), "_")
        for column, keep in TAGS.items()
    }
    return replace(given, **columns)


def _bare(sentence: Sentence, *, keep_heads: bool) -> Sentence:
    n = len(sentence)
    return replace(sentence, heads=sentence.heads if keep_heads else (NO_HEAD,) * n, deprels=("_",) * n)


def _with_tree(given: Sentence, found: Sentence, settings: ParsingSettings) -> Sentence:
    heads = merged(given.heads, found.heads, settings.keep_heads, NO_HEAD)
    return replace(
        given, heads=heads, deprels=merged(given.deprels, found.deprels, settings.keep_deprels, "_")
    )


def merged(given: Sequence[Any], found: Sequence[Any], keep: Keep, empty: Any) -> tuple[Any, ...]:
    """A column with the values that are kept, and others from `found`."""
    if keep == "ALL":
        return tuple(given)
    if keep == "NONE":
        return tuple(found)
    return tuple(new if old == empty else old for old, new in zip(given, found, strict=True))
