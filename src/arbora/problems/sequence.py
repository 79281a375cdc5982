"""A learner's questions about sentences whose words have labels: tags, say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arbora._core import SequenceBatch, SequenceModel, SequenceQuestions, Weights
from arbora.errors import InputError
from arbora.interfaces import Answer, Query
from arbora.problems._unanswered import Unanswered

SUMS = (Query.MARGINALS, Query.COST_AUGMENTED_MARGINALS)


class SequenceProblem(Unanswered):
    """One example per sentence. Loss: the number of wrong labels. All answers are exact.

    Words whose right label is not known are left alone by the best labelling, and summed over in sums.
    O(labels) per word, O(labels²) where neighbours have a say.
    """

    def __init__(self, model: SequenceModel, batch: SequenceBatch, *, threads: int = 1) -> None:
        self._questions = SequenceQuestions(model, batch, threads)

    @property
    def queries(self) -> frozenset[Query]:
        """What is answered."""
        return frozenset({Query.ARGMAX, Query.COST_AUGMENTED, *SUMS})

    @property
    def size(self) -> int:
        """The length of a weight vector."""
        return self._questions.weight_count

    def __len__(self) -> int:
        return len(self._questions)

    def answer(self, i: int, w: Weights, query: Query) -> Answer:
        """The best labels of sentence i (ARGMAX, COST_AUGMENTED), or all of them (MARGINALS, likewise)."""
        return Answer(*self._questions.ask(i, w, *_asked(query)))

    def total(self, indices: NDArray[np.int64], w: Weights, query: Query) -> Answer:
        """The sum of `answer` over sentences; the same bytes whatever the number of threads."""
        return Answer(*self._questions.total(np.ascontiguousarray(indices), w, *_asked(query)))

    def gradient(
        self, indices: NDArray[np.int64], w: Weights, query: Query
    ) -> tuple[float, NDArray[np.float64]]:
        """The sum of -log P over sentences, and its gradient."""
        sums, cost_augmented = _asked(query)
        if not sums:
            raise InputError(f"gradient: expected marginals or cost_augmented_marginals, got {query}")
        return self._questions.gradient(np.ascontiguousarray(indices), w, cost_augmented)

    # Questions about trees.


def _asked(query: Query) -> tuple[bool, bool]:
    """Whether sums are asked for, and whether costs count."""
    return query in SUMS, query in (Query.COST_AUGMENTED, Query.COST_AUGMENTED_MARGINALS)
