"""A treebank to evaluate a parser on, encoded once for all epochs."""

from __future__ import annotations

import numpy as np

from arbora.data.encode import Batch
from arbora.parsing.parser import Parser
from arbora.progress import Scores


class Dev:
    """A treebank to evaluate a parser on: all words, punctuation included, whole labels."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.columns = batch.columns
        self.words = batch.words
        self.arcs = int(np.sum(batch.lengths * batch.lengths))

    def scores(self, parser: Parser, threads: int = 1) -> Scores:
        """LAS (where there are labels) and UAS, in percent."""
        heads, labels = parser.trees(self.batch, threads=threads)
        right = heads == self.columns.heads
        uas = 100 * float(np.mean(right))
        if not parser.gives_labels:
            return {"uas": uas}
        return {"las": 100 * float(np.mean(right & (labels == self.batch.labels))), "uas": uas}
