"""What `arbora parse` computes for each sentence: trees, and their probabilities if they are wanted."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import numbers_of
from arbora.errors import NoTreeError
from arbora.parsing.parsed import Parsed, keep_labels, make_parsed
from arbora.parsing.parser import Parser
from arbora.search.request import Decode
from arbora.types import Ints

logger = logging.getLogger("arbora")


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

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
        with _no_tree_located(parser, columns):
            found = parser.confidence(
                columns, decode=self.decode, k=self.kbest, keep_heads=self.keep_heads, threads=self.threads
            )
        trees = make_parsed(columns.sentences(), found, parser.names.labels, parser)
        if not self.keep_heads:
            return trees
        both = zip(trees, columns.sentences(), strict=True)
        return ([keep_labels(tree, given) for tree in each] for each, given in both)

    def trees(self, parser: Parser, columns: Columns) -> tuple[Ints, Ints, Sequence[str]]:
        """Parse without probabilities: heads and labels of all words, and the names of labels."""
        names = parser.names.labels
        with _no_tree_located(parser, columns):
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


@contextmanager
def _no_tree_located(parser: Parser, columns: Columns) -> Iterator[None]:
    """Add the line of the sentence to a NoTreeError."""
    try:
        yield
    except NoTreeError:
        for _, message in _without_trees(parser, columns):
            raise NoTreeError(f"{message} (--lenient skips such sentences)") from None
        raise


def with_trees(parser: Parser, columns: Columns) -> Columns:
    """Select the sentences whose heads are part of a tree; warn about the others."""
    bad = []
    for number, message in _without_trees(parser, columns):
        logger.warning("%s (sentence skipped)", message)
        bad.append(number)
    return columns.select(np.setdiff1d(np.arange(len(columns)), bad))


def _without_trees(parser: Parser, columns: Columns) -> Iterator[tuple[int, str]]:
    """Find the sentences whose heads are part of no tree: their numbers, and what is wrong on which line."""
    for number, sentence in enumerate(columns.sentences()):
        try:
            parser.parse([sentence], keep_heads=True)
        except NoTreeError as error:
            yield number, f"{sentence.origin.source}:{sentence.origin.line}: {error}"
