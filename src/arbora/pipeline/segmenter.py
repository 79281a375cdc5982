"""Sentences, tokens and words from raw text, learned from a treebank's own text.

Between any two characters a linear classifier decides whether a token ends, and after each token whether a
sentence does; rules learned from the treebank split multiword tokens. See core/segment. Nothing here knows a
language.

Any run of spaces, line ends and control characters (NUL and tabs among them) separates tokens, unless the
treebank has tokens with spaces in them; no token holds a tab or a line end. A byte order mark is a space. A
blank line ends a sentence, a single line end only where the classifier says so, or always with `lines`.
Marks stay with what they follow, joined emoji stay together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora import _core
from arbora.data.columns import Columns
from arbora.errors import InputError, ModelError
from arbora.storage.quantization import dequantize, is_quantized, quantize
from arbora.types import Floats, Longs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arbora.data.sentence import Sentence

FORMAT = 1
PIECE = 1 << 20
WEIGHTS = ("token", "sentence", "multiword")
ANSWERS = ("token_answers", "gap_answers", "sentence_answers")
LONGEST_SENTENCE = 2000
AGAIN = "copy the file again, or train the model again"

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n(?=[ \t\r]*[^\s])")


@dataclass(frozen=True, slots=True)
class Segmented:
    """Words of a text as a treebank without annotation, and where they stand in it.

    Word w is written at `text[starts[w]:ends[w]]`. The words of a multiword token have their own characters
    where the token is only cut (`do` and `n't`), and all of the token's where it is not (`de` and `le` of
    `du`).
    """

    columns: Columns
    starts: Longs  # Shape (W,), in characters
    ends: Longs  # Shape (W,)
    sentences: Longs  # Shape (S, 2): where each sentence begins and ends

    def placed(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences of these columns, whatever was added to them, with the places of their words."""
        spans = list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))
        for sentence, (first, last) in zip(sentences, pairwise(self.columns.offsets.tolist()), strict=True):
            yield replace(sentence, spans=tuple(spans[first:last]))


@dataclass(frozen=True, eq=False)
class Segmenter:
    """Finds sentences, tokens and words; made by `train_segmenter` or from a model file's parts.

    `scores` are those on dev: F1 of tokens, words and sentences, in percent.
    """

    native: _core.SegmenterModel
    scores: Mapping[str, float] = field(default_factory=dict)

    def segment(
        self,
        text: str,
        *,
        lines: bool = False,
        longest_sentence: int = LONGEST_SENTENCE,
        first_number: int = 1,
    ) -> Segmented:
        """The sentences of a text; O(length).

        `lines`: every line end ends a sentence. A sentence of more than `longest_sentence` words is cut
        there. `first_number` is the first one's `# sent_id`.
        """
        return self._segment(text, _Options(lines, longest_sentence, first_number))

    def segment_stream(
        self,
        pieces: Iterable[str],
        *,
        lines: bool = False,
        longest_sentence: int = LONGEST_SENTENCE,
    ) -> Iterator[Segmented]:
        """The same for a text that comes in pieces of any size, in the memory of about a million characters.

        Offsets count from the beginning of the stream. The text is cut at blank lines; where none comes for a
        million characters, at the end of a sentence; and where a sentence is longer than that, anywhere.
        """
        number, offset, continues = 1, 0, False
        for text, goes_on in self._cut(pieces, lines):
            options = _Options(lines, longest_sentence, number, continues)
            found = self._segment(text, options, offset)
            continues = goes_on
            offset += len(text)
            number += len(found.columns)
            if len(found.columns):
                yield found

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        parts = self.native.parts()
        tensors: dict[str, NDArray[Any]] = {}
        for name in WEIGHTS:
            tensors |= quantize(parts[name], f"segmenter.{name}")
        for name in (*ANSWERS, "keys", "key_rules"):
            tensors[f"segmenter.{name}"] = parts[name]
        rules = [
            [from_end, list(cuts), [[off, "".join(map(chr, on))] for off, on in pieces]]
            for from_end, cuts, pieces in parts["rules"]
        ]
        metadata = {
            "format": FORMAT,
            "characters": _core.SEGMENTER_CHARACTERS,
            "features": _core.SEGMENTER_FEATURES,
            "bits": parts["bits"],
            "rules": rules,
            "scores": dict(self.scores),
        }
        return tensors, metadata

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any], source: str = "<model>"
    ) -> Segmenter:
        parts = _Parts(tensors, metadata, source)
        parts.check_versions()
        arrays: dict[str, NDArray[Any]] = {name: parts.weights(name) for name in WEIGHTS}
        arrays |= {name: parts.tensor(name, np.uint8) for name in ANSWERS}
        arrays |= {"keys": parts.tensor("keys", np.uint64), "key_rules": parts.tensor("key_rules", np.uint16)}
        try:
            native = _core.SegmenterModel(
                bits=parts.number("bits"),
                rules=parts.rules(),
                **arrays,
            )
        except InputError as error:
            raise parts.error(str(error)) from None
        return cls(native, parts.scores())

    def _segment(self, text: str, options: _Options, offset: int = 0) -> Segmented:
        if not isinstance(text, str):
            raise InputError(f"text: expected a str, got {type(text).__name__}; decode bytes first")
        if options.longest_sentence < 1:
            raise InputError(f"longest_sentence: expected a number from 1, got {options.longest_sentence}")
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"text: expected text that UTF-8 can hold, got the lone surrogate "
                f"U+{ord(text[error.start]):04X} at character {offset + error.start}; decode the text anew"
            ) from None
        found = self.native.segment(
            data,
            longest_sentence=options.longest_sentence,
            lines=options.lines,
            first_number=options.first_number,
            continues=options.continues,
        )
        sentences = np.stack([found.take_sentence_starts(), found.take_sentence_ends()], axis=1)
        starts, ends = found.take_starts(), found.take_ends()
        if offset:
            starts, ends, sentences = starts + offset, ends + offset, sentences + offset
        return Segmented(Columns(found.take_columns()), starts, ends, sentences)

    def _cut(self, pieces: Iterable[str], lines: bool) -> Iterator[tuple[str, bool]]:
        """Texts of about PIECE characters, and whether the next one goes on with the same paragraph."""
        waiting: list[str] = []
        size = 0
        for piece in pieces:
            for at in range(0, len(piece), PIECE):
                part = piece[at : at + PIECE]
                waiting.append(part)
                size += len(part)
                if size < PIECE:
                    continue
                text = "".join(waiting)
                cut, goes_on = self._place_to_cut(text, lines)
                yield text[:cut], goes_on
                waiting, size = [text[cut:]], len(text) - cut
        if size:
            yield "".join(waiting), False

    def _place_to_cut(self, text: str, lines: bool) -> tuple[int, bool]:
        breaks = [match.end() for match in _BLANK_LINE.finditer(text, len(text) // 2)]
        if breaks:
            return breaks[-1], False
        sentences = self._segment(text, _Options(lines, LONGEST_SENTENCE)).sentences
        return (int(sentences[-1, 0]), True) if len(sentences) > 1 else (len(text), True)


@dataclass(frozen=True, slots=True)
class _Options:
    lines: bool
    longest_sentence: int
    first_number: int = 1
    continues: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a model file says of a segmenter, checked piece by piece."""

    tensors: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, Any]
    source: str

    def error(self, what: str) -> ModelError:
        return ModelError(f"segmenter: {what}; {AGAIN}", source=self.source)

    def number(self, name: str) -> int:
        value = self.metadata.get(name)
        if type(value) is not int or abs(value) >= 2**31:
            raise self.error(f"metadata {name!r}: expected a number, got {str(value)[:40]}")
        return value

    def check_versions(self) -> None:
        wanted = {
            "format": FORMAT,
            "characters": _core.SEGMENTER_CHARACTERS,
            "features": _core.SEGMENTER_FEATURES,
        }
        for name, version in wanted.items():
            got = self.number(name)
            if got > version:
                raise ModelError(
                    f"segmenter: expected version {version} of its {name}, got {got}; upgrade Arbora, "
                    "or train the model again",
                    source=self.source,
                )
            if got != version:
                raise self.error(f"metadata {name!r}: expected {version}, got {got}")

    def tensor(self, name: str, kind: type[np.generic]) -> NDArray[Any]:
        found = self.tensors.get(f"segmenter.{name}")
        if found is None or found.dtype != kind or found.ndim != 1:
            got = "none" if found is None else f"{found.dtype}{list(found.shape)}"
            raise self.error(f"tensor 'segmenter.{name}': expected {np.dtype(kind)}[any], got {got}")
        return np.ascontiguousarray(found)

    def weights(self, name: str) -> Floats:
        if is_quantized(self.tensors, f"segmenter.{name}"):
            restored = dequantize(self.tensors, f"segmenter.{name}", source=self.source)
            return np.ascontiguousarray(restored.reshape(-1))
        return self.tensor(name, np.float32)

    def rules(self) -> list[tuple[bool, list[int], list[tuple[int, list[int]]]]]:
        rules = self.metadata.get("rules")
        try:
            return [_rule(rule) for rule in _list(rules)]
        except (TypeError, ValueError):
            raise self.error("metadata 'rules': expected [from_end, cuts, [[off, on], ...]] each") from None

    def scores(self) -> dict[str, float]:
        scores = self.metadata.get("scores", {})
        good = isinstance(scores, dict) and all(
            isinstance(name, str) and isinstance(value, int | float) for name, value in scores.items()
        )
        if not good:
            raise self.error("metadata 'scores': expected numbers by name")
        return {name: float(value) for name, value in scores.items()}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**16:
        raise ValueError
    return value


def _rule(rule: Any) -> tuple[bool, list[int], list[tuple[int, list[int]]]]:
    from_end, cuts, pieces = _list(rule)
    if type(from_end) is not bool:
        raise TypeError
    made: list[tuple[int, list[int]]] = []
    for piece in _list(pieces):
        off, on = _list(piece)
        if not isinstance(on, str):
            raise TypeError
        made.append((_count(off), [ord(character) for character in on]))
    return from_end, [_count(cut) for cut in _list(cuts)], made
