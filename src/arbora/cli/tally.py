"""How much `arbora parse` has parsed, and what the input lacks that the model was trained with."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from arbora.cli.files import counted
from arbora.cli.texts import show_seconds
from arbora.data.columns import Columns
from arbora.data.encode import INPUT_COLUMNS, NOTHING, InputColumn, Names, filled, numbers_of


class Tally:
    """How much was parsed, and how fast."""

    def __init__(self, names: Names) -> None:
        self.sentences = self.words = self.unknown_tags = 0
        self.skipped = 0
        """Sentences whose heads are in no tree."""
        self.filled = dict.fromkeys(INPUT_COLUMNS, 0)
        self._names = names
        self._begun = time.monotonic()

    def count(self, columns: Columns) -> None:
        """One more piece."""
        self.sentences += len(columns)
        self.words += columns.words
        for column in INPUT_COLUMNS:
            self.filled[column] += filled(columns, column)
        unknown = numbers_of(columns.strings("upos"), self._names.tags)[columns.ids("upos")] < 0
        self.unknown_tags += int(np.count_nonzero(unknown & (columns.ids("upos") != 0)))

    def summary(self) -> str:
        """One line."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = f"{self.sentences / seconds:,.0f} sentences/s, {self.words / seconds:,.0f} words/s"
        done = f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}"
        return f"{done} in {show_seconds(seconds)} ({speed})"


def misfits(names: Names, tally: Tally, model: str) -> Iterator[str]:
    """What the input lacks that the model was trained with: trees are then worse than they could be."""
    tagged: tuple[InputColumn, ...] = ("upos",) if names.tags != (NOTHING,) else ()
    trained = tagged if names.columns is None else names.columns  # which older versions did not store
    for column in trained:
        if tally.words and not tally.filled[column]:
            advice = "tag the words first, or the trees will be poor"
            advice = advice if column == "upos" else "fill it, or the trees will be worse than on dev"
            yield f"{column.upper()} is `_` everywhere, but {model} was trained with it; {advice}"
    if "upos" in trained and 2 * tally.unknown_tags > tally.filled["upos"]:
        yield (
            f"{tally.unknown_tags:,} of {tally.filled['upos']:,} UPOS tags were not in the training of "
            f"{model}; is it a model for these tags?"
        )
