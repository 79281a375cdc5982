"""Words that may be wrong: what a check found, and words that a human found right after all.

Both are kept in `findings.json`, by the forms of a sentence, so they stay with it when others come and go.
They hold while the word is as it was then: its arc, and for all but improbable arcs its other columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from arbora.annotation.draft import Draft
from arbora.storage.files import replacing

NAME = "findings.json"


class ImprobableArc(msgspec.Struct):
    """An arc that a check found improbable, and what the parser proposes."""

    word: int
    head: int
    deprel: str
    probability: float
    odds: float
    proposed_head: int
    proposed_deprel: str


class InvalidWord(msgspec.Struct):
    """A word that breaks a rule of Universal Dependencies."""

    word: int
    columns: str
    message: str


class RightWord(msgspec.Struct, frozen=True):
    """A word that a human found right."""

    word: int
    columns: str


class _Kept(msgspec.Struct):
    arcs: dict[str, list[ImprobableArc]] = msgspec.field(default_factory=dict)
    invalid: dict[str, list[InvalidWord]] = msgspec.field(default_factory=dict)
    right: dict[str, list[RightWord]] = msgspec.field(default_factory=dict)


class Findings:
    """The findings of a project, by the keys of sentences."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        try:
            self._kept = msgspec.json.decode(self.path.read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError):
            self._kept = _Kept()

    def __contains__(self, key: str) -> bool:
        """Whether something is known about a sentence."""
        return any(key in each for each in (self._kept.arcs, self._kept.invalid, self._kept.right))

    def improbable(self, draft: Draft, key: str) -> dict[int, ImprobableArc]:
        """The arcs of a sentence that a check found improbable, by words."""
        arcs = {}
        for arc in self._kept.arcs.get(key, ()):
            node = draft.nodes[arc.word - 1]
            if (node.head, node.deprel) == (arc.head, arc.deprel):
                arcs[arc.word] = arc
        return arcs

    def messages(self, draft: Draft, key: str, word: int) -> list[str]:
        """The rules of Universal Dependencies that a word breaks."""
        invalid = (each for each in self._kept.invalid.get(key, ()) if each.word == word)
        return [each.message for each in invalid if each.columns == columns_of(draft, word)]

    def right(self, draft: Draft, key: str) -> set[int]:
        """The words of a sentence that a human found right as they are."""
        known = self._kept.right.get(key, ())
        return {each.word for each in known if each.columns == columns_of(draft, each.word)}

    def put(self, arcs: dict[str, list[ImprobableArc]], invalid: dict[str, list[InvalidWord]]) -> None:
        """Replace what the last check found."""
        self._save(_Kept(arcs, invalid, self._kept.right))

    def settle(self, draft: Draft, word: int, *, right: bool) -> None:
        """Note that a word is right as it is, or take that back."""
        key, own = key_of(draft), RightWord(word, columns_of(draft, word))
        words = [each for each in self._kept.right.get(key, ()) if each.word != word]
        all_right = {**self._kept.right, key: [*words, own] if right else words}
        kept = {key: words for key, words in all_right.items() if words}
        self._save(_Kept(self._kept.arcs, self._kept.invalid, kept))

    def _save(self, kept: _Kept) -> None:
        with replacing(self.path, durable=True) as stream:
            stream.write(msgspec.json.encode(kept))
        self._kept = kept


def key_of(draft: Draft) -> str:
    """A short name of the forms of a sentence."""
    forms = "\t".join(node.form for node in draft.nodes)
    return hashlib.blake2b(forms.encode(), digest_size=9).hexdigest()


def columns_of(draft: Draft, word: int) -> str:
    """The columns of a word that a check looks at."""
    node = draft.nodes[word - 1]
    return "\t".join((node.lemma, node.upos, node.xpos, node.feats, str(node.head), node.deprel))


def invalid_words(
    faults: Iterable[tuple[int, int, str]], drafts: Sequence[Draft]
) -> dict[str, list[InvalidWord]]:
    """Faults of words by the keys of their sentences, from places of sentences, words and messages."""
    found: dict[str, list[InvalidWord]] = {}
    for place, word, message in faults:
        own = InvalidWord(word, columns_of(drafts[place], word), message)
        found.setdefault(key_of(drafts[place]), []).append(own)
    return found


def improbable_arcs(
    report: Iterable[dict[str, Any]], drafts: Sequence[Draft]
) -> dict[str, list[ImprobableArc]]:
    """The improbable arcs of a check of some sentences, by their keys."""
    found: dict[str, list[ImprobableArc]] = {}
    for each in report:
        arc = msgspec.convert({name: each[name] for name in ImprobableArc.__struct_fields__}, ImprobableArc)
        found.setdefault(key_of(drafts[each["sentence"]]), []).append(arc)
    return found
