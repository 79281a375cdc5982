"""From words to numbers: the names that a model knows, and sentences encoded by them.

Words are hashed, so no vocabulary of words is kept; only coarse tags and labels have names and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded
from arbora.data.columns import Columns, TextColumn

NOTHING = "_"


@dataclass(frozen=True, slots=True)
class Names:
    """Coarse tags and labels, each in order: its place is its number."""

    tags: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, columns: Columns) -> Names:
        """All that occur in a treebank, the most common first: what is common then lies close together."""
        return cls(
            _used(columns, "upos"), tuple(name for name in _used(columns, "deprel") if name != NOTHING)
        )

    def encode(self, columns: Columns) -> Encoded:
        """Sentences as numbers; labels that are not known count as none. O(words + distinct text)."""
        return Encoded(columns.native, self.tags, self.labels)

    def label_numbers(self, columns: Columns) -> NDArray[np.int32]:
        """The label of every word as its number; -1 where it is not known. Shape (W,)."""
        return numbers_of(columns.strings("deprel"), self.labels)[columns.ids("deprel")]


def numbers_of(strings: Sequence[str], names: Sequence[str]) -> NDArray[np.int32]:
    """The place of each string among the names, -1 where it is not one of them."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(text, -1) for text in strings], dtype=np.int32)


def _used(columns: Columns, column: TextColumn) -> tuple[str, ...]:
    strings = columns.strings(column)
    ids, counts = np.unique(columns.ids(column), return_counts=True)
    by_count = sorted((-count, strings[number]) for number, count in zip(ids, counts.tolist(), strict=True))
    return tuple(name for _, name in by_count)
