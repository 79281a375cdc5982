"""What the page and its API ask of a model: sentences of a text, their trees, and how probable each arc is.

The one place that knows what a model can do. A pipeline splits and tags raw text itself. Where there is no
segmenter, words are split by spaces and punctuation; notes say so, and where there is no tagger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns, columns_of
from arbora.data.plain_text import split_plainly
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.interfaces import Query
from arbora.parsing.parsed import Parsed, keep_labels, make_parsed
from arbora.parsing.parser import Parser

NO_SEGMENTER = "this model has no segmenter: words were split by spaces and punctuation"
NO_TAGGER = "this model has no tagger: trees of words without tags are poorer than those of tagged CoNLL-U"
NO_RANKING = (
    "the k best trees of a second-order parser of crossing trees are not known: the best one is shown"
)


class Segmented(Protocol):
    """The words of a text."""

    @property
    def columns(self) -> Columns:
        """Sentences without annotation."""


class Pipeline(Protocol):
    """From raw text to trees; what `arbora.load` gives. A part that it lacks is None."""

    @property
    def parser(self) -> Parser:
        """What makes trees of tagged words."""

    @property
    def segmenter(self) -> object | None:
        """What makes words of texts."""

    @property
    def tagger(self) -> object | None:
        """What tags words."""

    def segment(self, text: str) -> Segmented:
        """The words of a text."""

    def prepare(self, columns: Columns) -> Columns:
        """Sentences with tags, where they have none."""


@dataclass(frozen=True)
class Judged:
    """A sentence with its most probable trees, or the best alone, and P(arc), (n+1, n+1), if asked for."""

    trees: list[Parsed]
    arcs: NDArray[np.float64] | None


class Engine:
    """A model as the server uses it; may be asked from several threads."""

    def __init__(self, model: Parser | Pipeline, name: str = "model", example: str = "") -> None:
        self.name = name
        self.example = example
        self.parser = model if isinstance(model, Parser) else model.parser
        self.pipeline = None if isinstance(model, Parser) else model
        self.segments = self.pipeline is not None and self.pipeline.segmenter is not None
        self.tags = self.pipeline is not None and self.pipeline.tagger is not None

    @property
    def ranks(self) -> bool:
        """Whether the k best trees are known."""
        return Query.KBEST in self.parser.queries

    def split(self, text: str, most: int) -> tuple[list[Sentence], list[str]]:
        """The first sentences of a text, not tagged yet, and notes on what the model lacks. O(length)."""
        notes = [] if self.tags else [NO_TAGGER]
        if self.segments and self.pipeline is not None:
            return list(islice(self.pipeline.segment(text).columns.sentences(), most)), notes
        return list(islice(split_plainly(text), most)), [NO_SEGMENTER, *notes]

    def tagged(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Sentences with tags: their own, or the model's for those that have none."""
        bare = [i for i, s in enumerate(sentences) if all(tag == "_" for tag in s.upos)]
        result = list(sentences)
        if self.pipeline is None or not self.tags or not bare:
            return result
        found = self.pipeline.prepare(columns_of(without_tree(sentences[i]) for i in bare))
        for i, tags in zip(bare, found.sentences(), strict=True):
            result[i] = replace(
                sentences[i], lemmas=tags.lemmas, upos=tags.upos, xpos=tags.xpos, feats=tags.feats
            )
        return result

    def judge(self, sentences: Sequence[Sentence], *, k: int, marginals: bool) -> list[Judged]:
        """Trees around the heads that the sentences have; k > 1: the k most probable ones."""
        if not sentences:
            return []
        parser = self.parser
        rank = k if k > 1 and self.ranks else 0
        # Heads go in by themselves: a reader of CoNLL-U would refuse a cycle before the parser can name it.
        encoded = parser.encode(columns_of(map(without_tree, sentences)))
        encoded.set_heads(np.array([head for s in sentences for head in s.heads], dtype=np.int32))
        found = parser.judge(encoded, k=rank, arc_table=marginals, keep_heads=True)
        trees = make_parsed(sentences, found, parser.names.labels, parser)
        table, at, result = found.arc_table, 0, []
        for sentence, each in zip(sentences, trees, strict=True):
            nodes = len(sentence) + 1
            arcs = table[at : at + nodes * nodes].reshape(nodes, nodes) if marginals else None
            at += nodes * nodes
            result.append(Judged([keep_labels(tree, sentence) for tree in each], arcs))
        return result

    def about(self) -> dict[str, Any]:
        """What the page says of the model."""
        shape = self.parser.search
        return {
            "name": self.name,
            "trees": shape.trees,
            "roots": shape.roots,
            "order": shape.order,
            "labels": list(self.parser.plain_labels),
            "is_calibrated": self.parser.is_calibrated,
            "reads_text": self.segments,
            "tags_words": self.tags,
            "example": self.example,
        }


def make_engine(model: object, name: str = "model", example: str = "") -> Engine:
    """An engine of what `arbora.load` gave; `example` is a text for the page to begin with."""
    return Engine(cast("Parser | Pipeline", model), name, example)


def without_tree(sentence: Sentence) -> Sentence:
    """The sentence with no heads and labels."""
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)
