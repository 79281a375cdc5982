"""Prodigy's tasks with dependencies: JSON lines with tokens, relations between them, and spans.

A relation has the positions of a head and its child, counted from 0; the root of a sentence is its own head.
Words with a tag have a span of one token whose label is the tag. What Prodigy has no place for (lemmas,
features, multiword tokens, comments) is in `conllu`, which Prodigy passes on: reading takes it from there,
and words, heads, labels and tags from the task.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from arbora.data.columns import parse_sentence
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.treebank import ending_of
from arbora.errors import DataError, InputError
from arbora.storage.files import Source, name_of, open_output, read_text

UPOS = frozenset(
    [
        *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
        *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
    ]
)
ENDING = ".jsonl"
ROOT = "root"
NOT_ACCEPTED = ("reject", "ignore")

logger = logging.getLogger("arbora")


def is_tasks(name: str) -> bool:
    """Whether a file's name says that it holds tasks."""
    return ending_of(name) == ENDING


# From treebank to tasks


def to_task(sentence: Sentence) -> dict[str, Any]:
    """A sentence as a task; words without a head have no relation."""
    tokens = _tokens(sentence)
    places = [{"start": token["start"], "end": token["end"], **_position(token["id"])} for token in tokens]
    task: dict[str, Any] = {
        "text": "".join(token["text"] + " " * token["ws"] for token in tokens).rstrip(" "),
        "tokens": tokens,
        "spans": [
            {**place, "label": tag} for place, tag in zip(places, sentence.upos, strict=True) if tag != "_"
        ],
        "relations": [
            _relation(places, head - 1 if head else child, child, label)
            for child, (head, label) in enumerate(zip(sentence.heads, sentence.deprels, strict=True))
            if head != NO_HEAD
        ],
        "conllu": sentence.to_conllu(),
    }
    number = sentence.metadata.get("sent_id")
    return task if number is None else {**task, "meta": {"sent_id": number}}


def _tokens(sentence: Sentence) -> list[dict[str, Any]]:
    inner = {word: "" for token in sentence.multiword_tokens for word in range(token.first, token.last)}
    after = inner | {token.last: token.misc for token in sentence.multiword_tokens}
    whole = {
        word: "".join(sentence.forms[token.first - 1 : token.last]) == token.form
        for token in sentence.multiword_tokens
        for word in range(token.first, token.last)
    }
    tokens, end = [], 0
    for word in sentence:
        # A space follows the words of a multiword token, unless the token is only cut, as `don't` is.
        is_spaced = "SpaceAfter=No" not in after.get(word.id, word.misc).split("|") and not whole.get(word.id)
        start, end = end, end + len(word.form)
        tokens.append({"text": word.form, "start": start, "end": end, "id": word.id - 1, "ws": is_spaced})
        end += is_spaced
    return tokens


def _position(index: int) -> dict[str, int]:
    return {"token_start": index, "token_end": index}


def _relation(places: Sequence[Mapping[str, int]], head: int, child: int, label: str) -> dict[str, Any]:
    spans = {"head_span": {**places[head], "label": None}, "child_span": {**places[child], "label": None}}
    return {"head": head, "child": child, **spans, "label": None if label == "_" else label}


def write_tasks(sentences: Iterable[Sentence], target: Source) -> int:
    """Write sentences as tasks; returns how many they are. The file appears only when it is complete."""
    count = 0
    with open_output(target) as stream:
        for sentence in sentences:
            stream.write(json.dumps(to_task(sentence), ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


# From tasks to treebank


class TaskReader:
    """Iterates over the sentences of a file of tasks.

    `unaccepted` counts the tasks that were rejected or ignored. If lenient, malformed ones are skipped,
    logged and counted in `skipped`.
    """

    def __init__(self, source: Source, *, lenient: bool = False) -> None:
        self.source, self.lenient = name_of(source), lenient
        self.unaccepted = self.skipped = 0
        self._given = source

    def __iter__(self) -> Iterator[Sentence]:
        for number, line in enumerate(_lines(self._given), start=1):
            if not line.strip():
                continue
            try:
                sentence = _from_line(line, self.source, number)
            except DataError as error:
                if not self.lenient:
                    raise
                self.skipped += 1
                logger.warning("%s", error)
                continue
            if sentence is None:
                self.unaccepted += 1
            else:
                yield sentence


def read_tasks(source: Source, *, lenient: bool = False) -> TaskReader:
    """Read the sentences of a file of tasks; DataError names the line of one that is malformed."""
    return TaskReader(source, lenient=lenient)


def _from_line(line: str, source: str, number: int) -> Sentence | None:
    try:
        return from_task(json.loads(line))
    except DataError as error:
        raise DataError(error.what, source=source, line=number) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected JSON: {error}", source=source, line=number) from None


def _lines(source: Source) -> Iterator[str]:
    rest = ""
    for piece in read_text(source):
        *lines, rest = (rest + piece).split("\n")
        yield from lines
    yield rest


def from_task(task: Any) -> Sentence | None:
    """The sentence of a task, None if an annotator rejected or ignored it; DataError if it is malformed."""
    if not isinstance(task, Mapping):
        raise DataError(f"expected a JSON object, got {type(task).__name__}")
    if task.get("answer") in NOT_ACCEPTED:
        return None
    tokens = _objects(task, "tokens")
    if not tokens:
        raise DataError(
            "tokens: expected a list of words, got none; Prodigy's recipes for relations add them"
        )
    forms = [str(token.get("text", "")) for token in tokens]
    words = [i for i, form in enumerate(forms) if form.strip()]  # some tokenizers make tokens of line breaks
    number_of = {token: number for number, token in enumerate(words, start=1)}
    heads, labels = _heads(task, number_of)
    try:
        sentence = Sentence.from_lists(
            [" ".join(forms[i].split()) for i in words], _tags(task, number_of), heads, labels
        )
    except InputError as error:
        raise DataError(str(error)) from None
    return _completed(sentence, task, [tokens[i].get("ws", True) for i in words])


def _objects(task: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = task.get(name) or []
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise DataError(f"{name}: expected a list of objects")
    return found


def _heads(task: Mapping[str, Any], number_of: Mapping[int, int]) -> tuple[list[int], list[str]]:
    heads, labels = [NO_HEAD] * len(number_of), ["_"] * len(number_of)
    single = [task["arc"]] if isinstance(task.get("arc"), Mapping) else []
    for relation in [*_objects(task, "relations"), *_objects(task, "arcs"), *single]:
        head, child = relation.get("head"), relation.get("child")
        if not (type(head) is type(child) is int and head in number_of and child in number_of):
            got = f"{head!r} and {child!r}"[:100]
            raise DataError(f"relations: expected head and child to be positions of tokens, got {got}")
        word = number_of[child]
        if heads[word - 1] != NO_HEAD:
            raise DataError(f"relations: word {word} has two heads; a word of a tree has one")
        heads[word - 1] = 0 if head == child else number_of[head]
        labels[word - 1] = str(relation.get("label") or "_")
    if heads.count(NO_HEAD) == 1 and 0 not in heads:
        root = heads.index(NO_HEAD)
        heads[root], labels[root] = 0, ROOT
    return heads, labels


def _tags(task: Mapping[str, Any], number_of: Mapping[int, int]) -> list[str]:
    tags = ["_"] * len(number_of)
    for span in _objects(task, "spans"):
        place = span.get("token_start")
        label = span.get("label")
        if type(place) is int and place == span.get("token_end") and place in number_of and label in UPOS:
            tags[number_of[place] - 1] = label
    return tags


def _completed(sentence: Sentence, task: Mapping[str, Any], spaces: Sequence[Any]) -> Sentence:
    """The sentence with what `conllu` says of the same words; without it, with the text and the spaces."""
    given = task.get("conllu")
    if isinstance(given, str):
        try:
            whole = parse_sentence(given)
        except (DataError, InputError) as error:
            raise DataError(f"conllu: {error}") from None
        if whole.forms == sentence.forms:
            pairs = zip(sentence.upos, whole.upos, strict=True)
            tags = tuple(old if new == "_" else new for new, old in pairs)
            return replace(whole, upos=tags, heads=sentence.heads, deprels=sentence.deprels)
    misc = tuple("_" if space else "SpaceAfter=No" for space in spaces)
    text = " ".join(str(task.get("text", "")).split())
    return replace(sentence, misc=misc, comments=(f"# text = {text}",) if text else ())
