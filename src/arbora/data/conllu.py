"""CoNLL-U: ten columns, comments, multiword tokens (3-4) and empty nodes (5.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from arbora.data.columns import Columns, Roots, parse_sentence

if TYPE_CHECKING:
    from arbora.data.sentence import Sentence


def parse(text: str, *, roots: Roots = "multi") -> Sentence:
    """The sentence in `text`. DataError (with the line) if it is malformed or not just one."""
    return parse_sentence(text, "conllu", roots)


def render(sentence: Sentence) -> str:
    """The sentence as CoNLL-U text in the standard layout."""
    return sentence.to_conllu()


def from_conllx(sentence: Sentence) -> Sentence:
    """A sentence read as CoNLL-X, for writing as CoNLL-U.

    PHEAD and PDEPREL have no column here: where given, they go to MISC as `PHead=` and `PDeprel=`,
    from which `conllx.from_conllu` takes them back.
    """
    misc = tuple(map(_projective_to_misc, sentence.deps, sentence.misc))
    return replace(sentence, deps=("_",) * len(sentence), misc=misc)


def columns_from_conllx(columns: Columns) -> Columns:
    """Return what `from_conllx` gives, for columns. O(W)."""
    deps, misc = columns.strings("deps"), columns.strings("misc")
    both = np.stack([columns.ids("deps"), columns.ids("misc")])
    pairs, ids = np.unique(both, axis=1, return_inverse=True)
    names = [_projective_to_misc(deps[phead], misc[pdeprel]) for phead, pdeprel in pairs.T.tolist()]
    nothing = np.zeros(columns.words, dtype=np.int32)
    with_misc = columns.with_column("misc", ids.reshape(-1).astype(np.int32), names)
    return with_misc.with_column("deps", nothing, ["_"])


def _projective_to_misc(phead: str, pdeprel: str) -> str:
    given = (("PHead", phead), ("PDeprel", pdeprel))
    return "|".join(f"{name}={value}" for name, value in given if value != "_") or "_"
