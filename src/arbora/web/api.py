"""The JSON API without the network: the types of requests and responses, and the functions between them.

`openapi.py` describes these types and `ENDPOINTS`. A bad request raises `Rejected`, with an
HTTP status, a code for programs and a message for people.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Annotated, Generic, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from arbora.data.columns import parse_text
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import ArboraError, DataError, NoTreeError, StoppedError
from arbora.parsing.parsed import HEAD
from arbora.web.limits import Limits
from arbora.web.serving import NO_RANKING, Engine, RankedTrees, without_tree
from arbora.web.svg import draw_svg
from arbora.web.validation import explain

JSON = "application/json"
SVG = "image/svg+xml"
HEAD_PROBABILITY = re.compile(rf"(?:^|\|){HEAD}=(0\.\d{{1,9}}|1\.0{{1,9}})(?:\||$)")

RANKED_COST = 4
"""How much longer k best trees and marginals take than the best tree."""

DRAWN_COST = 100
"""The cost of drawing a character."""

Node = Annotated[int, Meta(ge=0, lt=10**6, description="The number of a word; 0 is the root.")]
Probability = Annotated[float, Meta(ge=0, le=1)]


class _Object(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object with exactly these fields."""


class PinnedArc(_Object):
    """An arc that every returned tree must have."""

    word: Annotated[int, Meta(ge=1, lt=10**6)]
    head: Node
    deprel: str | None = None


class ParseRequest(_Object):
    """Either text or CoNLL-U, and options for results besides the best tree."""

    text: Annotated[str | None, Meta(description="Raw text.")] = None
    conllu: Annotated[str | None, Meta(description="Sentences. UPOS is used where it is given.")] = None
    k: Annotated[int, Meta(ge=1, description="The number of most probable trees.")] = 1
    marginals: Annotated[bool, Meta(description="Also return the probability of every arc.")] = False
    keep: Annotated[list[PinnedArc], Meta(description="Arcs to keep; only with a single sentence.")] = []


class SvgRequest(_Object):
    """A picture to draw."""

    conllu: Annotated[str, Meta(description="One sentence with its tree.")]


class Word(_Object):
    """A word with its tags."""

    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str


class MultiwordToken(_Object):
    """A token of the text that consists of the words `first` to `last`."""

    first: int
    last: int
    form: str


class GivenTree(_Object):
    """The tree that the request had; it may be partial."""

    heads: Annotated[Sequence[Node | None], Meta(description="Null where the request has no head.")]
    deprels: Sequence[str]
    conllu: str


class RankedTree(_Object):
    """A tree with its probabilities; null where the parser does not know them."""

    probability: Probability | None
    heads: Sequence[Node]
    deprels: Sequence[str]
    head_probabilities: list[Probability | None]
    label_probabilities: list[Probability | None]
    conllu: Annotated[str, Meta(description="The sentence with this tree.")]


class ParsedSentence(_Object):
    """A sentence with its trees."""

    text: str
    words: list[Word]
    tokens: Annotated[list[MultiwordToken], Meta(description="Multiword tokens.")]
    entropy: Annotated[float | None, Meta(description="Of the distribution over trees, in nats.")]
    trees: Annotated[list[RankedTree], Meta(min_length=1, description="The most probable tree first.")]
    given: GivenTree | None
    kept: Annotated[list[Node], Meta(description="The words of `keep`.")]
    marginals: Annotated[list[list[Probability]] | None, Meta(description="P(arc) at [head][word].")]
    labels: Annotated[list[dict[str, Probability]] | None, Meta(description="P(label) in the first tree.")]


class ParseResponse(_Object):
    """The parsed sentences, and notes on parts that the model lacks."""

    sentences: list[ParsedSentence]
    notes: list[str]


class Info(_Object):
    """The model and the limits of the server."""

    name: str
    trees: Literal["projective", "nonprojective"]
    roots: Literal["single", "multi"]
    order: Annotated[int, Meta(ge=1, le=3, description="The number of arcs in the largest scored part.")]
    labels: list[str]
    is_calibrated: bool
    unranked: Annotated[str, Meta(description="Why there are no k best trees; empty if there are.")]
    reads_text: Annotated[bool, Meta(description="Whether the model has a segmenter.")]
    tags_words: Annotated[bool, Meta(description="Whether the model has a tagger.")]
    example: Annotated[str, Meta(description="A text to start with; may be empty.")]
    version: str
    limits: Limits


class ErrorDetail(_Object):
    """Why a request failed."""

    code: str
    message: str


class ErrorResponse(_Object):
    """The body of every response with a status of 400 or more."""

    error: ErrorDetail


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


class Rejected(Exception):  # noqa: N818
    """A rejected request."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def stopping() -> Rejected:
    """The error of requests that a shutdown ended."""
    return Rejected(503, "stopping", "the server is shutting down")


R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")


class Plan(NamedTuple, Generic[T]):
    """A checked request: its cost, in the unit of `Limits.work`, and the function that computes it."""

    cost: float
    compute: Callable[[], T]


def read_request(body: bytes, kind: type[R]) -> R:
    """Decode and check the body of a request."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
        if b"\\u" in body:  # only escapes can smuggle in half a surrogate pair
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise Rejected(400, "bad_encoding", f"body: invalid UTF-8 at byte {error.start}") from None
    except UnicodeEncodeError:
        raise Rejected(422, "bad_encoding", "body: half a surrogate pair in a string") from None
    except RecursionError:
        raise Rejected(400, "bad_json", "body: JSON is nested too deeply") from None
    except ValueError as error:
        raise Rejected(400, "bad_json", f"body: invalid JSON: {error}") from None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Rejected(422, "bad_request", f"body: {explain(error, kind)}") from None


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def read_conllu(text: str, limits: Limits) -> list[Sentence]:
    """Read CoNLL-U sentences within the limits."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.strip():
        raise Rejected(422, "no_words", "conllu: expected at least one sentence, got none")
    try:
        columns = parse_text(text.rstrip("\n") + "\n\n", "conllu")
    except DataError as error:
        where = "" if error.line is None else f", line {error.line}"
        raise Rejected(422, "bad_conllu", f"conllu{where}: {error.what}") from None
    sentences = list(islice(columns.sentences(), limits.sentences + 1))
    check_sizes(sentences, limits.sentences, limits.words)
    return sentences


def check_sizes(sentences: Sequence[Sentence], max_sentences: int, max_words: int) -> None:
    """Reject requests without sentences, with too many, or with too long ones."""
    if not sentences:
        raise Rejected(422, "no_words", "expected at least one word, got none")
    if len(sentences) > max_sentences:
        message = f"expected at most {max_sentences} sentences; split the request"
        raise Rejected(413, "too_many_sentences", message)
    for number, n in enumerate(map(len, sentences), start=1):
        if n > max_words:
            message = f"sentence {number}: expected at most {max_words} words, got {n}; split it"
            raise Rejected(413, "sentence_too_long", message)


def check_cost(sentences: Sequence[Sentence], limits: Limits) -> int:
    """The sum of the cubed lengths of the sentences; Rejected if it is above `limits.work`.

    The time of a chart grows with the cube of the length where a pruner keeps everything, as it does for
    sentences of one word repeated. One sentence of the greatest length is always allowed.
    """
    cost, most = sum(len(sentence) ** 3 for sentence in sentences), max(limits.work, limits.words**3)
    if cost > most:
        message = (
            f"expected sentences whose cubed lengths add up to at most {most:,}, got {cost:,}; "
            "send fewer long sentences at once"
        )
        raise Rejected(413, "too_much_work", message)
    return cost


def read_picture(request: SvgRequest, limits: Limits) -> tuple[Sentence, list[float] | None]:
    """The sentence to draw, and its head probabilities if MISC has one for every word."""
    sentences = read_conllu(request.conllu, limits)
    if len(sentences) != 1:
        raise Rejected(422, "bad_request", f"conllu: expected one sentence, got {len(sentences)}")
    if NO_HEAD in sentences[0].heads:
        raise Rejected(422, "bad_request", "conllu: expected a head for each word, got _")
    matches = [HEAD_PROBABILITY.search(misc) for misc in sentences[0].misc]
    known = [float(match[1]) for match in matches if match]
    return sentences[0], known if len(known) == len(matches) else None


def plan_picture(request: SvgRequest, limits: Limits) -> Plan[str]:
    """Read the sentence of a request to /api/svg; drawing comes later."""
    sentence, probabilities = read_picture(request, limits)
    cost = DRAWN_COST * len(request.conllu)
    return Plan(cost, lambda: draw_svg(sentence, probabilities=probabilities))


def parse(request: ParseRequest, engine: Engine, limits: Limits) -> ParseResponse:
    """Answer a request to /api/parse."""
    return plan_parse(request, engine, limits).compute()


def plan_parse(request: ParseRequest, engine: Engine, limits: Limits) -> Plan[ParseResponse]:
    """Read a request to /api/parse and check its sizes and its cost; parsing itself comes later."""
    if (request.text is None) == (request.conllu is None):
        raise Rejected(422, "bad_request", "body: expected either text or conllu, got both or neither")
    if request.k > limits.trees:
        raise Rejected(422, "bad_request", f"k: expected at most {limits.trees}, got {request.k}")
    notes: list[str] = []
    with parsing_errors():
        if request.text is not None:
            sentences, notes = engine.split(request.text, limits.sentences + 1)
            check_sizes(sentences, limits.sentences, limits.words)
        else:
            sentences = read_conllu(request.conllu or "", limits)
    is_ranked = request.k > 1 or request.marginals
    if is_ranked:
        check_sizes(sentences, limits.ranked_sentences, limits.ranked_words)
    if request.k > 1 and not engine.ranks:
        notes.append(NO_RANKING)
    cost = check_cost(sentences, limits)
    return Plan(cost * (RANKED_COST if is_ranked else 1), lambda: _parse(request, sentences, notes, engine))


def _parse(
    request: ParseRequest, sentences: Sequence[Sentence], notes: list[str], engine: Engine
) -> ParseResponse:
    with parsing_errors():
        sentences = engine.tag(sentences)
        bare = [without_tree(sentence) for sentence in sentences]
        if request.keep:
            bare = [_pin_heads(bare, request.keep)]
        results = engine.parse(bare, k=request.k, marginals=request.marginals)
    kept = [arc.word for arc in request.keep]
    pairs = zip(sentences, results, strict=True)
    return ParseResponse([_to_json(sentence, result, kept) for sentence, result in pairs], notes)


@contextmanager
def parsing_errors() -> Iterator[None]:
    """Turn the errors of a parser into rejections."""
    try:
        yield
    except StoppedError:
        raise stopping() from None
    except ArboraError as error:
        code = "no_tree" if isinstance(error, NoTreeError) else "not_parsed"
        raise Rejected(422, code, str(error)) from None


def _pin_heads(sentences: Sequence[Sentence], keep: Sequence[PinnedArc]) -> Sentence:
    if len(sentences) != 1:
        raise Rejected(422, "bad_request", f"keep: expected a single sentence, got {len(sentences)}")
    (sentence,) = sentences
    heads, labels = list(sentence.heads), list(sentence.deprels)
    for arc in keep:
        label = arc.deprel or "_"
        if arc.word > len(sentence) or arc.head > len(sentence) or arc.word == arc.head:
            expected = f"keep: expected a word from 1 to {len(sentence)} and another word or 0 as its head"
            raise Rejected(422, "bad_request", f"{expected}; got word {arc.word}, head {arc.head}")
        if any(mark in label for mark in "\t\n\r"):
            raise Rejected(422, "bad_request", "keep: expected a label without tabs and line breaks")
        heads[arc.word - 1], labels[arc.word - 1] = arc.head, label
    return replace(sentence, heads=tuple(heads), deprels=tuple(labels))


def _to_json(given: Sentence, result: RankedTrees, kept: list[int]) -> ParsedSentence:
    trees, arcs, labels = result
    return ParsedSentence(
        text=given.text,
        words=[Word(w.form, w.lemma, w.upos, w.xpos, w.feats) for w in given],
        tokens=[MultiwordToken(token.first, token.last, token.form) for token in given.multiword_tokens],
        entropy=_rounded(trees[0].entropy),
        trees=[
            RankedTree(
                probability=_rounded(tree.probability),
                heads=tree.sentence.heads,
                deprels=tree.sentence.deprels,
                head_probabilities=[_rounded(p) for p in tree.head_probabilities],
                label_probabilities=[_rounded(p) for p in tree.label_probabilities],
                conllu=tree.to_conllu(),
            )
            for tree in trees
        ],
        given=_given_tree(given),
        kept=kept,
        marginals=None if arcs is None else np.nan_to_num(np.round(arcs, 5)).tolist(),
        labels=labels,
    )


def _given_tree(given: Sentence) -> GivenTree | None:
    """The heads of the request, if it has any."""
    heads = [None if head == NO_HEAD else head for head in given.heads]
    return (
        None
        if not any(head is not None for head in heads)
        else GivenTree(heads, given.deprels, given.to_conllu())
    )


def _rounded(value: float | None) -> float | None:
    """Six digits; None if unknown."""
    return None if value is None or value != value else float(f"{value:.6g}")
