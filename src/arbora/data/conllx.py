"""CoNLL-X (the 2006 shared task): ten columns, the last two PHEAD and PDEPREL; words only."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from arbora.data.columns import Roots, parse_sentence

if TYPE_CHECKING:
    from arbora.data.sentence import Sentence


def parse(text: str, *, roots: Roots = "multi") -> Sentence:
    """The sentence in `text`. DataError (with the line) if it is malformed or not just one."""
    return parse_sentence(text, "conllx", roots)


def render(sentence: Sentence) -> str:
    """The sentence as CoNLL-X text in the standard layout."""
    return sentence.to_conllu()


def from_conllu(sentence: Sentence) -> Sentence:
    """A sentence read as CoNLL-U, for writing as CoNLL-X, which can hold less.

    Dropped: comments, multiword tokens (their words stay), empty nodes, DEPS, and MISC but for the
    `PHead=` and `PDeprel=` that `conllu.from_conllx` put there. Spaces within a field become `_`,
    since readers of CoNLL-X split at any white space.
    """
    return replace(
        sentence,
        forms=_without_spaces(sentence.forms),
        lemmas=_without_spaces(sentence.lemmas),
        deps=tuple(_from_misc(misc, "PHead=") for misc in sentence.misc),
        misc=tuple(_from_misc(misc, "PDeprel=") for misc in sentence.misc),
        comments=(),
        multiword_tokens=(),
        empty_nodes=(),
    )


def _without_spaces(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(re.sub(r"\s", "_", text) for text in texts)


def _from_misc(misc: str, prefix: str) -> str:
    if prefix not in misc:
        return "_"
    values = (part.removeprefix(prefix) for part in misc.split("|") if part.startswith(prefix))
    return next(values, "") or "_"
