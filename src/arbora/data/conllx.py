"""Conversion between CoNLL-U and CoNLL-X (the 2006 shared task), which has words only.

Its last two columns are PHEAD and PDEPREL. CoNLL-U keeps them in MISC as `PHead=` and `PDeprel=`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from arbora.data.columns import Columns, Format
from arbora.data.sentence import Sentence


def to_conllu(sentence: Sentence) -> Sentence:
    """Convert a sentence read as CoNLL-X: PHEAD and PDEPREL move to MISC."""
    misc = tuple(map(_to_misc, sentence.deps, sentence.misc))
    return replace(sentence, deps=("_",) * len(sentence), misc=misc)


def columns_to_conllu(columns: Columns, read_as: Format = "conllx") -> Columns:
    """Convert columns like `to_conllu` converts sentences, unless they were read as CoNLL-U. O(W)."""
    if read_as == "conllu":
        return columns
    deps, misc = columns.strings("deps"), columns.strings("misc")
    both = np.stack([columns.ids("deps"), columns.ids("misc")])
    pairs, ids = np.unique(both, axis=1, return_inverse=True)
    names = [_to_misc(deps[phead], misc[pdeprel]) for phead, pdeprel in pairs.T.tolist()]
    with_misc = columns.with_column("misc", ids.reshape(-1).astype(np.int32), names)
    return with_misc.with_column("deps", np.zeros(columns.words, dtype=np.int32), ["_"])


def from_conllu(sentence: Sentence) -> Sentence:
    """Convert a sentence read as CoNLL-U for writing as CoNLL-X.

    Comments, multiword tokens (not their words), empty nodes, DEPS and the rest of MISC are dropped. Spaces
    within a field become `_`, since readers of CoNLL-X split at any white space.
    """
    return replace(
        sentence,
        forms=tuple(re.sub(r"\s", "_", text) for text in sentence.forms),
        lemmas=tuple(re.sub(r"\s", "_", text) for text in sentence.lemmas),
        deps=tuple(_from_misc(misc, "PHead=") for misc in sentence.misc),
        misc=tuple(_from_misc(misc, "PDeprel=") for misc in sentence.misc),
        comments=(),
        multiword_tokens=(),
        empty_nodes=(),
    )


def _to_misc(phead: str, pdeprel: str) -> str:
    pairs = (("PHead", phead), ("PDeprel", pdeprel))
    return "|".join(f"{name}={value}" for name, value in pairs if value != "_") or "_"


def _from_misc(misc: str, prefix: str) -> str:
    values = (part.removeprefix(prefix) for part in misc.split("|") if part.startswith(prefix))
    return next(values, "") or "_"
