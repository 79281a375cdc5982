"""UDPipe's REST calls without the network: the answers of `/models` and `/process`.

As UDPipe 2 documents them: `data` is raw text if there is a parameter `tokenizer`, else sentences in the
format `input`; `tagger` and `parser`, with any values, request tags and lemmas, and trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import msgspec

from arbora import __version__
from arbora.data.columns import columns_of
from arbora.data.sentence import MultiwordToken, Sentence, Span
from arbora.web.api import Plan, Rejected, check_cost, check_sizes, parsing_errors, read_conllu
from arbora.web.limits import Limits
from arbora.web.serving import Engine, without_tree

INPUTS = ("conllu", "horizontal", "vertical")
OUTPUTS = ("conllu", "horizontal", "vertical")
TOKENIZER_OPTIONS = ("presegmented", "ranges")


class Models(msgspec.Struct):
    """The response to `/models`."""

    models: dict[str, list[str]]
    default_model: str


class Processed(msgspec.Struct):
    """The response to `/process`."""

    model: str
    acknowledgements: list[str]
    result: str


@dataclass(frozen=True)
class ProcessRequest:
    """The checked parameters of `/process`."""

    data: str
    tokenizer: frozenset[str] | None
    """Options of the tokenizer; None: `data` is tokenized."""
    input: str
    output: str
    tag: bool
    parse: bool


def model_name(engine: Engine) -> str:
    """The name of the served model as UDPipe would write it: `english`, `da-ddt`."""
    return engine.name.removesuffix(".arbora").lower().replace("_", "-").replace(" ", "-")


def models(engine: Engine) -> Models:
    """The served model and its abilities."""
    pipeline = engine.pipeline
    parts = {
        "tokenizer": pipeline.segmenter is not None,
        "tagger": pipeline.annotator is not None,
        "parser": True,
    }
    name = model_name(engine)
    return Models({name: [part for part, is_there in parts.items() if is_there]}, name)


def read_process(parameters: Mapping[str, str], engine: Engine) -> ProcessRequest:
    """Check the parameters of `/process`."""
    if "data" not in parameters:
        raise Rejected(400, "bad_request", "data: expected this parameter, got none")
    _require_model(parameters.get("model", ""), engine)
    known = models(engine)
    for part in ("tokenizer", "tagger"):
        if part in parameters and part not in known.models[known.default_model]:
            message = f"{part}: the model {known.default_model} has none; send tokenized and tagged CoNLL-U"
            raise Rejected(400, "bad_request", message)
    options = None
    if "tokenizer" in parameters:
        options = frozenset(filter(None, parameters["tokenizer"].split(";")))
        for option in options.difference(TOKENIZER_OPTIONS):
            raise _unsupported("tokenizer", option, TOKENIZER_OPTIONS)
    return ProcessRequest(
        data=parameters["data"],
        tokenizer=options,
        # With a tokenizer, the input is text, and `input` the default of the client.
        input=_format("input", {} if options is not None else parameters, INPUTS),
        output=_format("output", parameters, OUTPUTS),
        tag="tagger" in parameters,
        parse="parser" in parameters,
    )


def _format(name: str, parameters: Mapping[str, str], known: Sequence[str]) -> str:
    chosen = parameters.get(name, "") or "conllu"
    if chosen not in known:
        raise _unsupported(name, chosen, known)
    return chosen


def _unsupported(name: str, got: str, expected: Sequence[str]) -> Rejected:
    return Rejected(400, "bad_request", f"{name}: expected {' or '.join(expected)}, got {got[:60]!r}")


def _require_model(asked: str, engine: Engine) -> None:
    """Reject the name of another model.

    As in UDPipe, the first parts of a name are enough. More parts may follow, too: a client that names
    `english-ewt-ud-2.15-241121` gets the model `english`.
    """
    own, asked = model_name(engine), asked.lower().replace("_", "-")
    if asked and not f"{own}-".startswith(f"{asked}-") and not f"{asked}-".startswith(f"{own}-"):
        raise Rejected(400, "no_model", f"model: expected {own}, or no model, got {asked[:100]!r}")


def plan_process(parameters: Mapping[str, str], engine: Engine, limits: Limits) -> Plan[Processed]:
    """Read the sentences of a request to `/process`; tagging and parsing come later."""
    request = read_process(parameters, engine)
    with parsing_errors():
        sentences = list(islice(_read(request, engine, limits), limits.sentences + 1))
    if sentences:
        check_sizes(sentences, limits.sentences, limits.words)
    return Plan(check_cost(sentences, limits), lambda: _process(request, sentences, engine))


def _read(request: ProcessRequest, engine: Engine, limits: Limits) -> Iterator[Sentence]:
    data = request.data.replace("\r\n", "\n").removeprefix("\ufeff")
    if not data.strip():
        return
    if request.tokenizer is not None:
        found = _tokenized(data, "presegmented" in request.tokenizer, engine)
        yield from found if "ranges" in request.tokenizer else (replace(each, spans=None) for each in found)
    elif request.input == "conllu":
        yield from read_conllu(data, limits)
    else:
        yield from map(Sentence.from_lists, _read_words(request))


def _tokenized(data: str, on_lines: bool, engine: Engine) -> Iterator[Sentence]:
    """The sentences of a text, with the places of their words; `on_lines`: each line is one."""
    segmenter = engine.pipeline.require_segmenter()
    if not on_lines:
        found = segmenter.segment(data)
        yield from found.placed(found.columns.sentences())
        return
    offset = number = 0
    for line in data.split("\n"):
        if line.strip():
            number += 1
            found = segmenter.segment(line, offset=offset)
            comments = (f"# sent_id = {number}", f"# text = {line.strip()}")
            yield replace(_joined(list(found.placed(found.columns.sentences()))), comments=comments)
        offset += len(line) + 1


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    """Sentences without trees as one."""
    lists = [each.to_lists() for each in sentences]
    columns: dict[str, Any] = {name: list(chain(*(each[name] for each in lists))) for name in lists[0]}
    tokens: list[MultiwordToken] = []
    spans: list[Span] = []
    words = 0
    for each in sentences:
        tokens += [t._replace(first=t.first + words, last=t.last + words) for t in each.multiword_tokens]
        spans += each.spans or ()
        words += len(each)
    joined = Sentence.from_lists(**columns)
    return replace(joined, multiword_tokens=tuple(tokens), spans=tuple(spans))


def _read_words(request: ProcessRequest) -> Iterator[list[str]]:
    """The words of each sentence: on one line, or one per line with a blank line after the sentence."""
    lines = request.data.split("\n")
    if request.input == "horizontal":
        yield from filter(None, map(str.split, lines))
        return
    words: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            words.append(line.partition("\t")[0].strip())
        elif words:
            yield words
            words = []


def _process(request: ProcessRequest, sentences: list[Sentence], engine: Engine) -> Processed:
    if sentences and request.tag:
        columns = engine.pipeline.prepare(columns_of(sentences), retag=True)
        sentences = [
            _placed(given, found) for given, found in zip(sentences, columns.sentences(), strict=True)
        ]
    if sentences and request.parse:
        with parsing_errors():
            tagged = sentences if request.tag else engine.tag(sentences)
            trees = engine.parser.parse([without_tree(sentence) for sentence in tagged])
        sentences = [given.with_tree(found.tree) for given, found in zip(sentences, trees, strict=True)]
    show = {"conllu": _to_conllu, "horizontal": _to_line, "vertical": _to_lines}[request.output]
    result = "".join(map(show, sentences))
    thanks = [str(data["attribution"]) for data in _treebanks(engine) if data.get("attribution")]
    if result and request.output == "conllu":
        result = _header(engine) + result
    return Processed(model_name(engine), thanks, result)


def _placed(given: Sentence, found: Sentence) -> Sentence:
    return found if given.spans is None else replace(found, spans=given.spans)


def _treebanks(engine: Engine) -> list[Mapping[str, Any]]:
    """The record of the treebanks that the model was trained on."""
    data = engine.pipeline.about.get("data")
    return [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []


def _header(engine: Engine) -> str:
    """Comments before the first sentence, under the names that UDPipe gives them."""
    licences = [str(each["licence"]) for each in _treebanks(engine) if each.get("licence")]
    lines = [f"# generator = Arbora {__version__}", f"# udpipe_model = {model_name(engine)}"]
    lines += [f"# udpipe_model_licence = {' '.join(each.split())}" for each in licences]
    return "\n".join([*lines, ""])


def _to_conllu(sentence: Sentence) -> str:
    return (sentence if sentence.spans is None else _with_ranges(sentence, sentence.spans)).to_conllu()


def _with_ranges(sentence: Sentence, spans: Sequence[Span]) -> Sentence:
    """Write the place of each token in the text to MISC; a multiword token has one, its words have none."""
    misc, tokens = list(sentence.misc), list(sentence.multiword_tokens)
    inside = {word for token in tokens for word in range(token.first, token.last + 1)}
    for i, (start, end) in enumerate(spans):
        if i + 1 not in inside:
            misc[i] = _added(misc[i], start, end)
    for i, token in enumerate(tokens):
        own = _added(token.misc, spans[token.first - 1][0], spans[token.last - 1][1])
        tokens[i] = token._replace(fields=(*token.fields[:-1], own))
    return replace(sentence, misc=tuple(misc), multiword_tokens=tuple(tokens))


def _added(misc: str, start: int, end: int) -> str:
    mark = f"TokenRange={start}:{end}"
    return mark if misc == "_" else f"{misc}|{mark}"


def _to_line(sentence: Sentence) -> str:
    """The words of a sentence; spaces in them become no-break spaces, as UDPipe writes them."""
    return " ".join(form.replace(" ", "\u00a0") for form in sentence.forms) + "\n"


def _to_lines(sentence: Sentence) -> str:
    return "\n".join(sentence.forms) + "\n\n"
