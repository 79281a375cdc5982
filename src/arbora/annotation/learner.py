"""Train a model from a few decisions, in a separate process: `python -m arbora.annotation.learner FOLDER`.

The folder has `request.json` and treebanks; the model is written beside them. Nothing else is written, so the
process can be killed at any time. It ends when its stdin is closed, which happens when the server dies.

Where there is no model, one is induced from words alone. A parser then learns from the arcs that humans
decided (`adagrad` makes them probable, whatever the rest of the tree); the trees of the first model are
features, so that its knowledge is kept. Doubtful arcs are decided first, so easy ones would be missing: a
second parser also learns from the arcs that the first one finds likelier than all others, around the decided
ones. From about 1,000 decisions on, LAS of such a parser grows faster (benchmarks/annotation.py); before, it
would learn too many errors.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from arbora.annotation.check import check
from arbora.annotation.suspicious import suspicious_arcs
from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.errors import ArboraError, InputError
from arbora.induction.induce import induce
from arbora.interfaces import Roots, Trees
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline, WordAnnotator, load
from arbora.progress import Silent
from arbora.training.annotation import crossing_arcs
from arbora.training.config import TrainConfig
from arbora.training.parser import ParserTraining
from arbora.training.pipeline import Tools
from arbora.training.stacking import Guide

REQUEST, MODEL = "request.json", "model.arbora"
WORDS, TAGGED, TRAIN = "words.conllu", "tagged.conllu", "train.conllu"
SUSPICIOUS, INVALID = "suspicious.json", "invalid.json"
EPOCHS = 8
ENOUGH = 1000
"""Decided heads from which likely arcs are learned, too."""


@dataclass(frozen=True)
class Request:
    """What to train. `start`: the file of a model to start from; `has_tagged`: a tagger learns first."""

    do: Literal["induce", "learn", "check"]
    start: str | None = None
    roots: Roots = "single"
    seed: int = 0
    has_tagged: bool = False
    language: str | None = None
    """Whose rules of Universal Dependencies a check tests."""

    def write(self, folder: Path) -> None:
        (folder / REQUEST).write_text(json.dumps(self.__dict__), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Request:
        return cls(**json.loads((folder / REQUEST).read_text(encoding="utf-8")))


def run(folder: Path) -> None:
    """Carry out the request in a folder."""
    request = Request.read(folder)
    if request.do == "induce":
        words = read_columns(str(folder / WORDS), format="conllu")
        tagged = read_columns(str(folder / TAGGED), format="conllu") if request.has_tagged else None
        first_model(words, tagged, request.seed).save(folder / MODEL)
        return
    columns = read_columns(str(folder / TRAIN), format="conllu")
    if request.do == "check":
        found = [each.to_json() for each in suspicious_arcs(columns, seed=request.seed)]
        (folder / SUSPICIOUS).write_text(json.dumps(found), encoding="utf-8")
        invalid = [] if request.language is None else invalid_words(columns, folder / TRAIN, request.language)
        (folder / INVALID).write_text(json.dumps(invalid), encoding="utf-8")
        return
    start = None if request.start is None else load(request.start)
    learn(columns, start, request.start, roots=request.roots, seed=request.seed).save(folder / MODEL)


def invalid_words(columns: Columns, file: Path, language: str) -> list[tuple[int, int, str]]:
    """The errors of words that `udtools` finds in a file: place of the sentence, word, message."""
    found = []
    for fault in check(str(file), format="conllu", language=language).faults:
        place = int(np.searchsorted(columns.native.sentence_lines, fault.line, side="right")) - 1
        first, end = columns.offsets[place : place + 2].tolist()
        named = re.match(r"\d+", fault.node or "")
        own = np.flatnonzero(columns.lines[first:end] == fault.line)
        word = int(named[0]) if named else int(own[0]) + 1 if len(own) else 0
        if fault.severity == "error" and 1 <= word <= end - first:
            found.append((place, word, f"{fault.message} ({fault.test})"))
    return found


def first_model(words: Columns, tagged: Columns | None = None, seed: int = 0) -> Pipeline:
    """A model of words without trees; `tagged`: sentences from which a tagger learns to tag the others."""
    if tagged is None:
        return induce(words, config={"seed": seed}).pipeline
    tools = Tools.of(tagged, None, TrainConfig(parser="graph", seed=seed), 1, Silent())
    assert tools.tagger is not None  # every word of `tagged` has a tag
    words = WordAnnotator(tools.tagger, tools.lemmatizer).annotate(words)
    induced = induce(words, config={"seed": seed, "only": "parser"}).pipeline
    return replace(induced, **tools.parts)


def learn(
    columns: Columns,
    start: Pipeline | None = None,
    path: str | None = None,
    *,
    trees: Trees | Literal["auto"] = "auto",
    roots: Roots = "single",
    seed: int = 0,
) -> Pipeline:
    """A model that learned from the heads that sentences have; `path` is the file of `start`."""
    if start is not None:
        columns = start.prepare(columns)
    guide = None if path is None else _guide(path)
    config = TrainConfig(
        parser="graph",
        order=1,
        learner="adagrad",
        parameters={"epochs": EPOCHS},
        only="parser",
        trees=trees,
        roots=roots,
        seed=seed,
        stack=None if guide is None else path,
    )
    parser = _train(columns, config, guide)
    if ENOUGH <= np.count_nonzero(columns.heads >= 0) < columns.words:
        parser = _train(with_likely_arcs(columns, parser), config, guide)
    return Pipeline(parser=parser) if start is None else replace(start, parser=parser)


def _train(columns: Columns, config: TrainConfig, guide: Guide | None) -> Parser:
    parser, interrupted = ParserTraining(columns, None, config, 1, Silent(), guide=guide).run()
    if interrupted:
        raise KeyboardInterrupt
    return parser


def with_likely_arcs(columns: Columns, parser: Parser, least: float = 0.5) -> Columns:
    """The sentences, with heads and labels for words without, where the parser finds an arc likely.

    P(head) P(label) of such an arc, given the heads that the sentence has, is above `least`. A parser of
    projective trees adds nothing to sentences in which given arcs cross.
    """
    sentence = np.repeat(np.arange(len(columns)), np.diff(columns.offsets))
    is_open = np.ones(columns.words, dtype=np.bool_)
    if parser.search.trees == "projective":
        is_open &= ~np.isin(sentence, sentence[crossing_arcs(columns)])
    found = parser.confidence(columns.select(np.unique(sentence[is_open])), keep_heads=True)
    right = found.head_probabilities * np.nan_to_num(found.label_probabilities, nan=1.0)
    names = list(dict.fromkeys([*columns.strings("deprel"), *parser.names.labels, "_"]))
    places = np.array([names.index(name) for name in (*parser.names.labels, "_")])
    heads, labels = np.array(columns.heads), np.array(columns.ids("deprel"))
    is_added = (heads[is_open] < 0) & (right > least)
    added = np.flatnonzero(is_open)[is_added]
    heads[added], labels[added] = found.heads[is_added], places[found.labels[is_added]]
    return columns.with_trees(heads, labels, names)


def _guide(path: str) -> Guide | None:
    """The parser of a model, which has not seen this treebank; None if it cannot be a guide."""
    try:
        return replace(Guide.load(path), config=None)
    except InputError:
        return None


def _end_with_server() -> None:
    """End this process when its stdin is closed."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def main() -> None:
    """Run the request in the folder that the command line names; errors are JSON on stdout."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(10)
    report: dict[str, Any] = {"error": None}
    try:
        run(Path(sys.argv[1]))
    except ArboraError as error:
        report["error"] = str(error)
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
