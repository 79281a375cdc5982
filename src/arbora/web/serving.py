"""The server's view of a model: sentences of a text, their tags, their trees and arc probabilities.

A pipeline segments and tags raw text. Without a segmenter, text is split at spaces and punctuation; notes
report the parts that a model lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arbora.data.columns import columns_of
from arbora.data.raw_text import split_plainly
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.interfaces import Query
from arbora.parsing.parsed import Parsed, make_parsed
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.search.confidence import Confidence, split_arcs
from arbora.types import Doubles

NO_SEGMENTER = "this model has no segmenter: words were split at spaces and punctuation"
NO_TAGGER = "this model has no tagger: trees are better for CoNLL-U with tags"
NO_RANKING = "this parser does not rank trees: only the best one is shown"
SHOWN_LABELS = 12

LabelRanking: TypeAlias = dict[str, float]
"""The most probable labels of an arc with their probabilities, the best first."""


class RankedTrees(NamedTuple):
    """The most probable trees of a sentence, and if requested more about its arcs."""

    trees: list[Parsed]
    arcs: Doubles | None
    """P(arc), shape (n+1, n+1)."""
    labels: list[LabelRanking] | None
    """Of the arcs of the first tree."""


class Engine:
    """A model as the server uses it; safe to call from several threads."""

    def __init__(self, model: Parser | Pipeline, name: str = "model", example: str = "") -> None:
        self.name = name
        self.example = example  # a text that the page starts with
        self.pipeline = Pipeline(parser=model) if isinstance(model, Parser) else model
        self.parser = self.pipeline.parser
        self.ranks = Query.KBEST in self.parser.queries

    @property
    def unranked(self) -> str:
        """Why there are no k best trees; empty if there are."""
        return "" if self.ranks else NO_RANKING

    def split(self, text: str, most: int) -> tuple[list[Sentence], list[str]]:
        """The first sentences of a text, untagged, and notes on parts that the model lacks."""
        notes = [NO_TAGGER] if self.pipeline.annotator is None else []
        if self.pipeline.segmenter is None:
            return list(islice(split_plainly(text), most)), [NO_SEGMENTER, *notes]
        return list(islice(self.pipeline.segment(text).columns.sentences(), most)), notes

    def tag(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Tag the sentences that have no tags, if the model can."""
        if self.pipeline.annotator is None:
            return list(sentences)
        return list(self.pipeline.prepare(columns_of(sentences)).sentences())

    def parse(self, sentences: Sequence[Sentence], *, k: int, marginals: bool) -> list[RankedTrees]:
        """Parse around the heads that the sentences have; k > 1 returns the k most probable trees."""
        if not sentences:
            return []
        parser = self.parser
        # Heads are set separately: the CoNLL-U reader would reject a cycle before the parser can name it.
        encoded = parser.encode(columns_of(map(without_tree, sentences)))
        heads = np.array([head for sentence in sentences for head in sentence.heads], dtype=np.int32)
        encoded.set_heads(heads)
        has_heads = bool((heads != NO_HEAD).any())
        k = k if k > 1 and self.ranks else 0
        marginals = marginals and Query.MARGINALS in parser.queries
        found = parser.confidence(
            encoded, k=k, arc_table=marginals, label_table=marginals, keep_heads=has_heads
        )
        trees = list(make_parsed(sentences, found, parser, keep_heads=True))
        if not marginals:
            return [RankedTrees(each, None, None) for each in trees]
        tables = split_arcs(found.arc_table, encoded.lengths)
        labels = self._label_rankings(found, encoded.lengths.tolist())
        return [RankedTrees(*each) for each in zip(trees, tables, labels, strict=True)]

    def _label_rankings(self, found: Confidence, lengths: Sequence[int]) -> list[list[LabelRanking] | None]:
        """The most probable labels of the arcs of each sentence's first tree; None without labels."""
        names, plain = self.parser.names.labels, set(self.parser.plain_labels)
        if not found.label_table.size:
            return [None] * len(lengths)
        table = found.label_table.reshape(len(found.heads), -1)
        places = [i for i, name in enumerate(names[: table.shape[1]]) if name in plain]
        rankings: list[list[LabelRanking] | None] = []
        at = 0
        for n, count in zip(lengths, found.counts.tolist(), strict=True):
            rows = np.nan_to_num(table[at : at + n, places])
            order = np.argsort(-rows, axis=1, kind="stable")[:, :SHOWN_LABELS]
            rankings.append(
                [
                    {names[places[i]]: round(float(row[i]), 5) for i in best if row[i] > 0.0}
                    for row, best in zip(rows, order, strict=True)
                ]
            )
            at += n * count
        return rankings

    def about(self) -> dict[str, Any]:
        """Describe the model for /api/info."""
        shape = self.parser.search
        return {
            "name": self.name,
            "trees": shape.trees,
            "roots": shape.roots,
            "order": shape.order,
            "labels": list(self.parser.plain_labels),
            "is_calibrated": self.parser.is_calibrated,
            "unranked": self.unranked,
            "reads_text": self.pipeline.segmenter is not None,
            "tags_words": self.pipeline.annotator is not None,
            "example": self.example,
        }


def without_tree(sentence: Sentence) -> Sentence:
    """Remove heads and labels."""
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)
