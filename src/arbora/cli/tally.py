"""What `arbora parse` counts: words, tags that the model does not know, and how far several models agree."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from arbora.cli.console import counted, show_seconds
from arbora.data.columns import Columns
from arbora.data.encode import EMPTY_FIELD, INPUT_COLUMNS, Batch, InputColumn, Names, filled, numbers_of
from arbora.parsing.ensemble import Combined


class Tally:
    """Counts sentences and words, and measures the time."""

    def __init__(self, names: Names) -> None:
        self.sentences = self.words = self.unknown_tags = 0
        self.skipped = 0
        """Sentences whose heads are part of no tree."""
        self.filled = dict.fromkeys(INPUT_COLUMNS, 0)
        self._names = names
        self._begun = time.monotonic()

    def count(self, columns: Columns) -> None:
        """Count one more piece."""
        self.sentences += len(columns)
        self.words += columns.words
        for column in INPUT_COLUMNS:
            self.filled[column] += filled(columns, column)
        unknown = numbers_of(columns.strings("upos"), self._names.tags)[columns.ids("upos")] < 0
        self.unknown_tags += int(np.count_nonzero(unknown & (columns.ids("upos") != 0)))

    def summary(self) -> str:
        """One line: how much was parsed, and how fast."""
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = f"{self.sentences / seconds:,.0f} sentences/s, {self.words / seconds:,.0f} words/s"
        done = f"{counted(self.sentences, 'sentence')}, {counted(self.words, 'word')}"
        return f"{done} in {show_seconds(seconds)} ({speed})"

    def misfits(self, names: Names, model: str) -> Iterator[str]:
        """Warn about what the model was trained with and the input lacks."""
        tagged: tuple[InputColumn, ...] = ("upos",) if names.tags != (EMPTY_FIELD,) else ()
        trained = tagged if names.columns is None else names.columns  # older versions did not store them
        for column in trained:
            if self.words and not self.filled[column]:
                advice = "tag the words first" if column == "upos" else "fill it for better trees"
                yield f"{column.upper()} is `_` everywhere, but {model} was trained with it; {advice}"
        if "upos" in trained and 2 * self.unknown_tags > self.filled["upos"]:
            yield (
                f"{self.unknown_tags:,} of {self.filled['upos']:,} UPOS tags are unknown to {model}; is it a "
                "model for these tags?"
            )


class Gains:
    """Counts how often several models agree and, if the input has trees, what combining them gains."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._words = self._agreed = 0
        self._right = np.zeros((len(names) + 1, 2), dtype=np.int64)
        self._has_gold = True

    def count(self, batch: Batch, combined: Combined) -> None:
        """Count one more piece."""
        columns, labels = batch.columns, batch.names.labels
        self._words += columns.words
        self._agreed += int(np.count_nonzero(combined.agreement))
        self._has_gold = self._has_gold and bool(np.all(columns.heads >= 0))
        gold = numbers_of(columns.strings("deprel"), labels)[columns.ids("deprel")]
        for i, (heads, own) in enumerate([*combined.alone, (combined.heads, combined.labels)]):
            right = heads == columns.heads
            self._right[i] += [np.count_nonzero(right), np.count_nonzero(right & (own == gold))]

    def lines(self) -> Iterator[str]:
        """Report the counts."""
        if not self._words:
            return
        yield f"the {len(self._names)} models agree on {100 * self._agreed / self._words:.2f}% of the heads"
        if self._has_gold:
            yield "compared with the trees of the input:"
            shares = (100 * self._right / self._words).tolist()
            for name, (heads, arcs) in zip([*self._names, "together"], shares, strict=True):
                yield f"  {name}: UAS {heads:.2f}, LAS {arcs:.2f}"
