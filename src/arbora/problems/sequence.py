"""Labelling the words of sentences as a problem: tags, say."""

from __future__ import annotations

from arbora._core import SequenceBatch, SequenceModel, SequenceQuestions
from arbora.interfaces import Query
from arbora.problems.base import SUMS, NativeProblem


class SequenceProblem(NativeProblem):
    """One example per sentence. Loss: the number of wrong labels. All answers are exact.

    Words without a gold label are ignored by the best labelling, and summed over in sums. O(labels) per word,
    O(labels²) if pairs of neighbours are scored.
    """

    queries = frozenset({Query.ARGMAX, Query.COST_AUGMENTED}) | SUMS

    def __init__(self, model: SequenceModel, batch: SequenceBatch, *, threads: int = 1) -> None:
        super().__init__(SequenceQuestions(model, batch, threads))
