"""Computations for each sentence, and output formats: CoNLL-U, CoNLL-X, JSON lines, Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from arbora.data import treebank
from arbora.data.columns import Columns, Format
from arbora.data.encode import numbers_of
from arbora.data.sentence import Sentence
from arbora.parsing.parsed import RANK, Parsed, make_parsed
from arbora.parsing.parser import Parser
from arbora.search.request import Decode
from arbora.types import Ints

TextFormat: TypeAlias = Literal["conllu", "conllx", "json"]
NEW_DOCUMENT = "# newdoc id = "


@dataclass(frozen=True)
class Request:
    """The requested trees and their additional values."""

    decode: Decode = "argmax"
    probabilities: bool = False
    kbest: int = 0
    """Number of trees per sentence; 0: the one that is decoded."""
    threads: int = 1
    keep_heads: bool = False
    """Keep the heads of the input, with their labels."""

    @property
    def needs_probabilities(self) -> bool:
        """Whether the output shows probabilities."""
        return self.probabilities or self.kbest > 0

    def parsed(self, parser: Parser, columns: Columns) -> Iterator[list[Parsed]]:
        """Parse with probabilities: the trees of each sentence, one or the k best."""
        found = parser.confidence(
            columns, decode=self.decode, k=self.kbest, keep_heads=self.keep_heads, threads=self.threads
        )
        return make_parsed(columns.sentences(), found, parser, keep_heads=self.keep_heads)

    def trees(self, parser: Parser, columns: Columns) -> tuple[Ints, Ints, Sequence[str]]:
        """Parse without probabilities: heads and labels of all words, and the names of labels."""
        names = parser.names.labels
        heads, labels = parser.trees(
            columns, decode=self.decode, keep_heads=self.keep_heads, threads=self.threads
        )
        if not self.keep_heads:
            return heads, labels, names
        strings = columns.strings("deprel")
        known = set(names)
        names = (*names, *dict.fromkeys(name for name in strings if name not in known))
        given = numbers_of(strings, names)[columns.ids("deprel")]
        is_kept = (columns.heads >= 0) & (columns.ids("deprel") != 0)
        return heads, np.where(is_kept, given, labels).astype(np.int32), names


class Renderer:
    """Parses pieces of a treebank, one after the other, and renders them as bytes in one format."""

    def __init__(self, parser: Parser, form: str, read_as: Format, request: Request) -> None:
        """`form`: a `TextFormat`, or `auto`, that of the input with every byte but the trees' kept."""
        self.parser, self.form, self.read_as, self.request = parser, form, read_as, request
        self._document: str | None = None

    def __call__(self, columns: Columns) -> bytes:
        if self.request.needs_probabilities:
            found = self.request.parsed(self.parser, columns)
            show = self._ranked_json if self.form == "json" else self._annotated
            return "".join(map(show, found)).encode()
        parsed = columns.with_trees(*self.request.trees(self.parser, columns))
        if self.form == "auto" or self.form == self.read_as == "conllu":
            return parsed.to_bytes()
        shows: dict[str, Callable[[Sentence], str]] = {
            "conllu": lambda sentence: treebank.conllx_to_conllu(sentence).to_conllu(),
            "conllx": lambda sentence: "\n".join([*treebank.conllu_to_conllx(sentence).lines(), "", ""]),
            "json": lambda sentence: self._json(sentence, sentence.to_json()),
        }
        return "".join(map(shows[self.form], parsed.sentences())).encode()

    def _json(self, sentence: Sentence, document: dict[str, Any]) -> str:
        """One line, with the id of the sentence's document if it has one."""
        for comment in sentence.comments:
            if comment.startswith(NEW_DOCUMENT):
                self._document = comment.removeprefix(NEW_DOCUMENT)
        about = {} if self._document is None else {"document": self._document}
        return json.dumps({**about, **document}, ensure_ascii=False) + "\n"

    def _ranked_json(self, trees: list[Parsed]) -> str:
        """One object per tree and line."""
        count, lines = len(trees), []
        for i, tree in enumerate(trees, start=1):
            rank = {RANK: i, "trees": count} if self.request.kbest else {}
            lines.append(self._json(tree.sentence, {**rank, **tree.to_json()}))
        return "".join(lines)

    def _annotated(self, trees: list[Parsed]) -> str:
        """CoNLL-U with comments, and with probabilities in MISC if wanted; lines end as in the input."""
        text = []
        for i, tree in enumerate(trees, start=1):
            if self.read_as == "conllx":
                tree = replace(tree, sentence=treebank.conllx_to_conllu(tree.sentence))
            sentence = tree.annotated(*([f"# {RANK} = {i}/{len(trees)}"] if self.request.kbest else []))
            if not self.request.probabilities:
                sentence = replace(sentence, misc=tree.sentence.misc)
            text.append(sentence.to_conllu().replace("\n", sentence.origin.newline))
        return "".join(text)


@contextmanager
def open_table_sink(
    parser: Parser, output: str, read_as: Format, request: Request, *, moves_offsets: bool = False
) -> Iterator[Callable[[Columns], None]]:
    """Yield a function that parses each piece and writes it to a Parquet table.

    `moves_offsets`: `TokenRange` moves from MISC to the columns `start` and `end`.
    """
    from arbora.integrations.table import parquet_writer, pieces

    with parquet_writer(output, moves_offsets=moves_offsets) as writer:

        def put(columns: Columns) -> None:
            given = treebank.columns_to_conllu(columns, read_as)
            if request.probabilities:
                for piece, probabilities in pieces(tree for (tree,) in request.parsed(parser, given)):
                    writer.write(piece, probabilities)
            else:
                writer.write(given.with_trees(*request.trees(parser, given)))

        yield put
