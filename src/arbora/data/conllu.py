"""CoNLL-U: ten columns, comments, multiword tokens (3-4) and empty nodes (5.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from arbora.data.columns import Roots, parse_sentence

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


def _projective_to_misc(phead: str, pdeprel: str) -> str:
    given = (("PHead", phead), ("PDeprel", pdeprel))
    return "|".join(f"{name}={value}" for name, value in given if value != "_") or "_"
