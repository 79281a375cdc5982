"""Parts of a treebank for jackknifing: what is said of each part is learned from the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns

BLOCK = 16
"""Sentences that stay together in jackknifing, since what stands together is alike."""


def fold_sentences(columns: Columns, folds: int) -> Iterator[NDArray[np.int64]]:
    """The numbers of each fold's sentences: blocks of them, dealt in turn."""
    groups = np.arange(len(columns)) // (BLOCK if len(columns) >= folds * BLOCK else 1)
    for fold in range(folds):
        yield np.flatnonzero(groups % folds == fold)


def other_sentences(columns: Columns, held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those that are not in a fold."""
    return np.setdiff1d(np.arange(len(columns)), held)


def words_of(columns: Columns, sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of these sentences' words, one sentence after another."""
    starts, lengths = columns.offsets[:-1][sentences], np.diff(columns.offsets)[sentences]
    ends = np.cumsum(lengths)
    words: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(starts - (ends - lengths), lengths)
    return words
