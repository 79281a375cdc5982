"""Words as numbers: the names that a model knows, and sentences encoded by them.

Words are hashed, so a model stores no vocabulary; only coarse tags and labels have names and ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from arbora._core import Encoded
from arbora.data.batch import Batch
from arbora.data.columns import Columns, TextColumn
from arbora.types import Ints

NOTHING = "_"
InputColumn: TypeAlias = Literal["lemma", "upos", "xpos", "feats"]
INPUT_COLUMNS: Final[tuple[InputColumn, ...]] = get_args(InputColumn)
"""The columns that a parser uses besides the forms, where they are filled."""


@dataclass(frozen=True, slots=True)
class Names:
    """Coarse tags and labels, whose ids are their positions, and the columns that a parser uses."""

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    columns: tuple[InputColumn, ...] | None = None
    """Those that were filled in training; others are ignored. None: unknown, so none is ignored."""

    @classmethod
    def of(cls, columns: Columns) -> Names:
        """Return all names in a treebank, the most common first, so that common ids lie close together."""
        return cls(
            used(columns, "upos"),
            tuple(name for name in used(columns, "deprel") if name != NOTHING),
            tuple(column for column in INPUT_COLUMNS if filled(columns, column)),
        )

    def encode(self, columns: Columns, *, threads: int = 1) -> Encoded:
        """Encode sentences as ids; unknown labels count as none. O(words + distinct text)."""
        known = INPUT_COLUMNS if self.columns is None else self.columns
        ignored = [column for column in INPUT_COLUMNS if column not in known]
        return Encoded(columns.native, self.tags, self.labels, ignored)

    @property
    def guides(self) -> tuple[Any, ...]:
        """The parsers whose trees are features; none here, see `arbora.parsing.guide`."""
        return ()

    def rounded(self) -> Names:
        """Return the names that a quantized file holds."""
        return self

    def batch(self, columns: Columns, *, threads: int = 1) -> Batch:
        """Return sentences as a parser sees them."""
        return Batch(columns, self, threads)

    def label_numbers(self, columns: Columns) -> Ints:
        """Return the label id of every word, shape (W,); -1 for unknown labels."""
        return numbers_of(columns.strings("deprel"), self.labels)[columns.ids("deprel")]


def filled(columns: Columns, column: TextColumn) -> int:
    """Count the words for which a column is not `_`."""
    return int(np.count_nonzero(columns.ids(column)))


def numbers_of(strings: Sequence[str], names: Sequence[str]) -> Ints:
    """Return the position of each string in `names`, or -1."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(text, -1) for text in strings], dtype=np.int32)


def used(columns: Columns, column: TextColumn) -> tuple[str, ...]:
    """Return the distinct texts of a column, the most common first."""
    strings = columns.strings(column)
    ids, counts = np.unique(columns.ids(column), return_counts=True)
    by_count = sorted((-count, strings[number]) for number, count in zip(ids, counts.tolist(), strict=True))
    return tuple(name for _, name in by_count)
