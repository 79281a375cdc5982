"""The JSON of the API: what a request may hold, and what an answer does. Pure functions, no network.

Whatever is wrong with a request is a `Refused` with a status, a code that programs can rely on, and a
message that says what was expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from arbora.data.columns import parse_text
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import ArboraError, DataError, InputError, NoTreeError
from arbora.parsing.parsed import HEAD, Parsed
from arbora.web.serving import NO_RANKING, Engine, Judged, without_tree

SHARE = re.compile(rf"(?:^|\|){HEAD}=(0\.\d{{1,9}}|1\.0{{1,9}})(?:\||$)")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a server takes on."""

    body: int = 1_000_000
    """Bytes of a request."""
    sentences: int = 500
    """Of one request."""
    words: int = 300
    """Of one sentence."""
    ranked_words: int = 100
    """Of one sentence, where several trees or all arcs are asked for: these take n times as long."""
    ranked_sentences: int = 5
    """Of one request, likewise."""
    trees: int = 20
    """The largest k."""
    running: int = 2
    """Requests that are computed at a time."""
    waiting: int = 32
    """Requests that wait for that; more are told to come back."""
    seconds: float = 20.0
    """From a request's first byte to its answer."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name == "waiting" else 1
            if not least <= value < 1e9:
                raise InputError(f"{name}: expected a number of at least {least}, got {value!r}")


class Refused(Exception):  # noqa: N818
    """A request that is not answered as it was hoped."""

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        self.message = message
        super().__init__(message)

    def to_json(self) -> dict[str, Any]:
        """As the client gets it."""
        return {"error": {"code": self.code, "message": self.message}}


def read_json(body: bytes) -> dict[str, Any]:
    """The object in a request's body."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            400, "bad_encoding", f"body: expected UTF-8, got another byte at {error.start}"
        ) from None
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise Refused(400, "bad_json", "body: expected JSON of a few levels, got too many") from None
    except ValueError as error:
        raise Refused(400, "bad_json", f"body: expected JSON, got something else: {error}") from None
    if not isinstance(found, dict):
        raise Refused(422, "bad_request", f"body: expected an object, got {_kind(found)}")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


# What may be asked


@dataclass(frozen=True)
class Question:
    """A request to parse, checked."""

    text: str | None
    conllu: str | None
    k: int
    marginals: bool
    keep: tuple[tuple[int, int, str], ...]
    """Word, head and label (`_`: none) of arcs that stay."""


def read_question(given: Mapping[str, Any], limits: Limits) -> Question:
    """The request to /api/parse."""
    _refuse_unknown(given, ("text", "conllu", "k", "marginals", "keep"), "body")
    text, conllu = _text(given, "text"), _text(given, "conllu")
    if (text is None) == (conllu is None):
        raise Refused(422, "bad_request", "body: expected either text or conllu, got both or neither")
    k = given.get("k", 1)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= limits.trees:
        raise Refused(
            422, "bad_request", f"k: expected a whole number from 1 to {limits.trees}, got {k!r:.40}"
        )
    marginals = given.get("marginals", False)
    if not isinstance(marginals, bool):
        raise Refused(422, "bad_request", f"marginals: expected true or false, got {_kind(marginals)}")
    keep = given.get("keep", [])
    if not isinstance(keep, list):
        raise Refused(422, "bad_request", f"keep: expected a list, got {_kind(keep)}")
    return Question(text, conllu, k, marginals, tuple(_kept(each) for each in keep))


def read_picture(given: Mapping[str, Any], limits: Limits) -> tuple[Sentence, list[float] | None]:
    """The request to /api/svg: one sentence with its tree, and P(head) where MISC says it of all words."""
    _refuse_unknown(given, ("conllu",), "body")
    conllu = _text(given, "conllu")
    if conllu is None:
        raise Refused(422, "bad_request", "body: expected conllu, got none")
    sentences = read_conllu(conllu, limits)
    if len(sentences) != 1:
        raise Refused(422, "bad_request", f"conllu: expected one sentence, got {len(sentences)}")
    if NO_HEAD in sentences[0].heads:
        raise Refused(422, "bad_request", "conllu: expected a head for each word, got _")
    shares = [match and float(match[1]) for match in map(SHARE.search, sentences[0].misc)]
    known = [share for share in shares if share is not None]
    return sentences[0], known if len(known) == len(shares) else None


def _kept(given: object) -> tuple[int, int, str]:
    if not isinstance(given, dict):
        raise Refused(422, "bad_request", f"keep: expected objects with word and head, got {_kind(given)}")
    _refuse_unknown(given, ("word", "head", "deprel"), "keep")
    for name in ("word", "head"):
        value = given.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**6:
            raise Refused(422, "bad_request", f"keep: expected a whole number as {name}, got {value!r:.40}")
    return given["word"], given["head"], _text(given, "deprel") or "_"


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise Refused(
                422, "bad_request", f"{where}: expected some of {', '.join(known)}, got {name!r:.40}"
            )


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise Refused(422, "bad_request", f"{name}: expected a text, got {_kind(value)}")
    if value is not None:
        try:
            value.encode()
        except UnicodeEncodeError:
            what = f"{name}: expected text that UTF-8 can hold, got half a surrogate pair"
            raise Refused(422, "bad_encoding", what) from None
    return value


def read_conllu(text: str, limits: Limits) -> list[Sentence]:
    """Sentences of CoNLL-U text, within the limits."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.strip():
        raise Refused(422, "no_words", "conllu: expected at least one sentence, got none")
    if not text.endswith("\n"):
        text += "\n"
    try:
        columns = parse_text(text if text.endswith("\n\n") else text + "\n", "conllu")
    except DataError as error:
        where = "" if error.line is None else f", line {error.line}"
        raise Refused(422, "bad_conllu", f"conllu{where}: {error.what}") from None
    sentences = list(islice(columns.sentences(), limits.sentences + 1))
    check_sizes(sentences, limits.sentences, limits.words)
    return sentences


def check_sizes(sentences: Sequence[Sentence], most: int, longest: int) -> None:
    """Refused where there are too many sentences, none, or too long ones."""
    if not sentences:
        raise Refused(422, "no_words", "expected at least one word, got none")
    if len(sentences) > most:
        what = f"expected at most {most} sentences, got more; send them in parts"
        raise Refused(413, "too_many_sentences", what)
    for number, sentence in enumerate(sentences, start=1):
        if len(sentence) > longest:
            what = f"sentence {number}: expected at most {longest} words, got {len(sentence)}; split it"
            raise Refused(413, "sentence_too_long", what)


# What is answered


def answer(question: Question, engine: Engine, limits: Limits) -> dict[str, Any]:
    """The answer to /api/parse."""
    try:
        return _answer(question, engine, limits)
    except NoTreeError as error:
        raise Refused(422, "no_tree", str(error)) from None
    except ArboraError as error:
        raise Refused(422, "not_parsed", str(error)) from None


def _answer(question: Question, engine: Engine, limits: Limits) -> dict[str, Any]:
    notes: list[str] = []
    if question.text is not None:
        sentences, notes = engine.split(question.text, limits.sentences + 1)
        check_sizes(sentences, limits.sentences, limits.words)
    else:
        assert question.conllu is not None
        sentences = read_conllu(question.conllu, limits)
    if question.k > 1 or question.marginals:
        check_sizes(sentences, limits.ranked_sentences, limits.ranked_words)
    sentences = engine.tagged(sentences)  # only now: what is too large costs next to nothing
    if question.k > 1 and not engine.ranks:
        notes.append(NO_RANKING)
    bare = [without_tree(sentence) for sentence in sentences]
    if question.keep:
        bare = [_with_kept(bare, question.keep)]
    judged = engine.judge(bare, k=question.k, marginals=question.marginals)
    pairs = zip(sentences, judged, strict=True)
    return {"sentences": [sentence_json(*pair, question.keep) for pair in pairs], "notes": notes}


def _with_kept(sentences: Sequence[Sentence], keep: Sequence[tuple[int, int, str]]) -> Sentence:
    if len(sentences) != 1:
        raise Refused(422, "bad_request", f"keep: expected one sentence with it, got {len(sentences)}")
    (sentence,) = sentences
    heads, labels = list(sentence.heads), list(sentence.deprels)
    for word, head, label in keep:
        if not 1 <= word <= len(sentence) or head > len(sentence) or word == head:
            what = f"keep: expected a word from 1 to {len(sentence)} and another as its head, or 0"
            raise Refused(422, "bad_request", f"{what}; got word {word}, head {head}")
        if any(mark in label for mark in "\t\n\r") or not label:
            raise Refused(422, "bad_request", "keep: expected a label without tabs and line breaks")
        heads[word - 1], labels[word - 1] = head, label
    return replace(sentence, heads=tuple(heads), deprels=tuple(labels))


def sentence_json(given: Sentence, judged: Judged, keep: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    """One sentence: its words, its trees, P(arc), and the tree that it came with."""
    best = judged.trees[0]
    whole = NO_HEAD not in given.heads
    return {
        "text": given.text,
        "words": [
            {"form": w.form, "lemma": w.lemma, "upos": w.upos, "xpos": w.xpos, "feats": w.feats}
            for w in given
        ],
        "entropy": _rounded(best.entropy),
        "trees": [_tree_json(tree) for tree in judged.trees],
        "given": {"heads": given.heads, "deprels": given.deprels, "conllu": given.to_conllu()}
        if whole
        else None,
        "kept": [word for word, _, _ in keep],
        "marginals": None if judged.arcs is None else _table(judged.arcs),
    }


def _tree_json(tree: Parsed) -> dict[str, Any]:
    return {
        "probability": _rounded(tree.probability),
        "heads": tree.sentence.heads,
        "deprels": tree.sentence.deprels,
        "head_probabilities": [_rounded(p) for p in tree.head_probabilities],
        "label_probabilities": [_rounded(p) for p in tree.label_probabilities],
        "conllu": tree.to_conllu(),
    }


def _table(arcs: np.ndarray[Any, Any]) -> list[list[float]]:
    rows: list[list[float]] = np.nan_to_num(np.round(arcs, 5)).tolist()
    return rows


def _rounded(value: float | None) -> float | None:
    """Six digits; None for what is not known."""
    return None if value is None or value != value else float(f"{value:.6g}")
