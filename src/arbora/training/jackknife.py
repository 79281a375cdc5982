"""Folds of a treebank for jackknifing: each fold is annotated by a model trained on the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from arbora.data.columns import Columns
from arbora.types import Longs

BLOCK = 16
"""Sentences that stay together, since neighbours are alike."""


class Fold(NamedTuple):
    """One fold and the rest of the treebank."""

    name: str
    rest: Columns
    held: Columns
    words: Longs
    """The indices of the held words in the whole treebank."""


def jackknife(columns: Columns, folds: int) -> Iterator[Fold]:
    """Every fold with the sentences that are not in it."""
    for number, held in enumerate(fold_sentences(columns, folds), start=1):
        rest = np.setdiff1d(np.arange(len(columns)), held)
        words = np.isin(np.repeat(np.arange(len(columns)), np.diff(columns.offsets)), held)
        name = f"fold {number} of {folds}"
        yield Fold(name, columns.select(rest), columns.select(held), np.flatnonzero(words))


def fold_sentences(columns: Columns, folds: int) -> Iterator[Longs]:
    """The indices of each fold's sentences: blocks of them, dealt in turn."""
    groups = np.arange(len(columns)) // (BLOCK if len(columns) >= folds * BLOCK else 1)
    for fold in range(folds):
        yield np.flatnonzero(groups % folds == fold)
