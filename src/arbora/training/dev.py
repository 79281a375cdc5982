"""A treebank to judge a parser on, encoded once for all epochs."""

from __future__ import annotations

from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.parsing._tree_parser import AnyParser
from arbora.progress import Scores


class Dev:
    """A treebank to judge a parser on: all words, punctuation included, whole labels."""

    def __init__(self, columns: Columns, names: Names, sentences: Any = None) -> None:
        """`sentences`: the same, as the parser encodes them; None: by their names alone."""
        self.columns = columns
        self.sentences = names.encode(columns) if sentences is None else sentences
        self.words = columns.words
        lengths = np.diff(columns.offsets)
        self.arcs = int(np.sum(lengths * lengths))
        self._heads = columns.heads
        self._labels = names.label_numbers(columns)

    @classmethod
    def of(cls, parser: AnyParser, columns: Columns, threads: int = 1) -> Dev:
        """A treebank as a parser sees it, with its guide's trees where it has one."""
        return cls(columns, parser.names, parser.encode(columns, threads=threads))

    def scores(self, parser: AnyParser, threads: int = 1) -> Scores:
        """LAS (where there are labels) and UAS, in percent."""
        heads, labels = parser.trees_of(self.sentences, threads=threads)
        right = heads == self._heads
        uas = 100 * float(np.mean(right))
        if not parser.gives_labels:
            return {"uas": uas}
        return {"las": 100 * float(np.mean(right & (labels == self._labels))), "uas": uas}
