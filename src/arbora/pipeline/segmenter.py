"""Split raw text into sentences, tokens and words, as learned from a treebank's own text.

Between any two characters a linear classifier decides whether a token ends, and after each token whether a
sentence ends; rules learned from the treebank split multiword tokens. See core/text, and docs/pipeline.md on
spaces, line ends and odd characters. Nothing here depends on a language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from arbora import _core
from arbora.data.columns import Columns
from arbora.errors import InputError, require_whole
from arbora.pipeline.words import read_bits
from arbora.storage._safetensors import DAMAGED
from arbora.storage.model_file import ModelFile
from arbora.storage.quantization import flat_weights, quantize
from arbora.types import Longs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arbora.data.sentence import Sentence

VERSIONS = {"format": 1, "characters": _core.SEGMENTER_CHARACTERS, "features": _core.SEGMENTER_FEATURES}
PIECE = 1 << 20
WEIGHTS = ("token", "sentence", "multiword")
ARRAYS: dict[str, type[np.generic]] = {
    **dict.fromkeys(("token_answers", "gap_answers", "sentence_answers"), np.uint8),
    "keys": np.uint64,
    "key_rules": np.uint16,
}
LONGEST_SENTENCE = 2000

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n(?=[ \t\r]*[^\s])")


@dataclass(frozen=True, slots=True)
class Segmented:
    """The words of a text as a treebank without annotation, and their offsets.

    Word w is `text[starts[w]:ends[w]]`. Words of a multiword token have their own characters if the token is
    only cut (`do` and `n't`), otherwise all characters of the token (`de` and `le` of `du`).
    """

    columns: Columns
    starts: Longs  # shape (W,), in characters
    ends: Longs  # shape (W,)
    sentences: Longs  # shape (S, 2): start and end of each sentence

    def pieces(self) -> Iterator[Segmented]:
        """Yield pieces of about `columns.PIECE` words, with the offsets of their words."""
        word = sentence = 0
        for columns in self.columns.pieces():
            words, sentences = slice(word, word + columns.words), slice(sentence, sentence + len(columns))
            yield Segmented(columns, self.starts[words], self.ends[words], self.sentences[sentences])
            word, sentence = words.stop, sentences.stop

    def with_offsets(self) -> Columns:
        """The words with `TokenRange=start:end` in MISC. O(W)."""
        words = zip(self.columns.texts("misc"), self.starts.tolist(), self.ends.tolist(), strict=True)
        misc = [f"{'' if old == '_' else f'{old}|'}TokenRange={start}:{end}" for old, start, end in words]
        return self.columns.with_column("misc", np.arange(self.columns.words, dtype=np.int32), misc)

    def placed(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """The sentences of these columns, possibly annotated since, with the offsets of their words."""
        spans = list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))
        for sentence, (first, last) in zip(sentences, pairwise(self.columns.offsets.tolist()), strict=True):
            yield replace(sentence, spans=tuple(spans[first:last]))


@dataclass(frozen=True, eq=False)
class Segmenter:
    """Finds sentences, tokens and words; made by `train_segmenter` or read from a model file.

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
        continues: bool = False,
        offset: int = 0,
        document: str = "",
    ) -> Segmented:
        """Segment a text; O(length).

        With `lines`, every line end ends a sentence. Longer sentences than `longest_sentence` words are cut.
        `first_number` is the `# sent_id` of the first sentence, `document` its `# newdoc id`. If the text is
        part of a longer one, `continues` says that it does not begin a paragraph, and `offset` is where it
        begins.
        """
        if not isinstance(text, str):
            raise InputError(f"text: expected a str (decode bytes; parse words), got {type(text).__name__}")
        require_whole("longest_sentence", longest_sentence, 1)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            got = f"lone surrogate U+{ord(text[error.start]):04X} at character {offset + error.start}"
            raise InputError(f"text: expected valid Unicode, got a {got}; decode the text again") from None
        options: dict[str, Any] = {"lines": lines, "first_number": first_number, "continues": continues}
        options["document"] = " ".join(document.split())
        found = self.native.segment(data, longest_sentence=longest_sentence, **options)
        sentences = np.stack([found.take_sentence_starts(), found.take_sentence_ends()], axis=1) + offset
        columns = Columns(found.take_columns())
        return Segmented(columns, found.take_starts() + offset, found.take_ends() + offset, sentences)

    def segment_stream(
        self,
        pieces: Iterable[str],
        *,
        lines: bool = False,
        blanks: bool = False,
        longest_sentence: int = LONGEST_SENTENCE,
        document: str = "",
    ) -> Iterator[Segmented]:
        """Segment a text that comes in pieces of any size, in the memory of about a million characters.

        Offsets count from the start of the stream; `document` is the `# newdoc id` of the first sentence. The
        text is cut at blank lines; if there is none in a million characters, at the end of a sentence; and if
        a sentence is longer than that, anywhere. With `lines`, each line is segmented by itself, and what is
        complete comes at once; with `blanks`, too, there is an empty item for each blank line.
        """
        if lines:
            yield from self._segment_lines(pieces, longest_sentence, document, blanks=blanks)
            return
        number, offset, continues = 1, 0, False
        for text, goes_on in self._cut(pieces):
            found = self.segment(
                text,
                longest_sentence=longest_sentence,
                first_number=number,
                continues=continues,
                offset=offset,
                document=document,
            )
            continues = goes_on
            offset += len(text)
            number += len(found.columns)
            if len(found.columns):
                document = ""
                yield found

    def to_parts(self, *, quantized: bool = True) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and metadata for a model file; weights are always quantized."""
        parts = self.native.parts()
        tensors: dict[str, NDArray[Any]] = {}
        for name in WEIGHTS:
            tensors |= quantize(parts[name], f"segmenter.{name}")
        tensors |= {f"segmenter.{name}": parts[name] for name in ARRAYS}
        rules = [
            [from_end, list(cuts), [[off, "".join(map(chr, on))] for off, on in pieces]]
            for from_end, cuts, pieces in parts["rules"]
        ]
        return tensors, {**VERSIONS, "bits": parts["bits"], "rules": rules, "scores": dict(self.scores)}

    @classmethod
    def from_file(cls, file: ModelFile) -> Segmenter:
        """Read a segmenter; ModelError if a part is missing, damaged, or of another version."""
        for name, version in VERSIONS.items():
            if (got := file.entry(name, int)) != version:
                advice = "upgrade Arbora, or train the model again" if got > version else DAMAGED
                raise file.error(f"metadata {name!r}: expected version {version}, got {got}; {advice}")
        arrays: dict[str, NDArray[Any]] = {name: flat_weights(file, f"segmenter.{name}") for name in WEIGHTS}
        for name, kind in ARRAYS.items():
            arrays[name] = file.tensor(f"segmenter.{name}", kind, (None,))
        scores = file.metadata.get("scores", {})
        if not isinstance(scores, dict) or not all(isinstance(v, int | float) for v in scores.values()):
            raise file.error(f"metadata 'scores': expected numbers by name; {DAMAGED}")
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        bits = read_bits(file, file.metadata.get("bits"))
        try:
            rules = [
                (from_end, cuts, [(off, list(map(ord, on))) for off, on in pieces])
                for from_end, cuts, pieces in file.entry("rules", list)
            ]
            native = _core.SegmenterModel(bits=bits, rules=rules, **arrays)
        except InputError as error:
            raise file.error(f"segmenter: {error}; {DAMAGED}") from None
        except (TypeError, ValueError):
            what = "expected [from_end, cuts, [[off, on], ...]] each"
            raise file.error(f"metadata 'rules': {what}; {DAMAGED}") from None
        return cls(native, {name: float(value) for name, value in scores.items()})

    def _segment_lines(
        self, pieces: Iterable[str], longest_sentence: int, document: str, *, blanks: bool
    ) -> Iterator[Segmented]:
        number, offset, continues, rest = 1, 0, False, ""
        for piece in chain(pieces, [None]):
            *complete, rest = [rest] if piece is None else (rest + piece).split("\n")
            found: list[Segmented] = []
            for place, line in enumerate([*complete, *([rest] if piece is None else [])]):
                if line.strip():
                    one = self.segment(
                        line,
                        longest_sentence=longest_sentence,
                        first_number=number,
                        continues=continues,
                        offset=offset,
                        document=document,
                    )
                    number += len(one.columns)
                    found.append(one)
                    document = ""
                elif blanks and place < len(complete):
                    if found:
                        yield _joined(found)
                        found = []
                    yield self.segment("", offset=offset)
                continues = bool(line.strip())
                offset += len(line) + 1
            if found:
                yield _joined(found)

    def _cut(self, pieces: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Texts of about PIECE characters, and whether the next one continues the same paragraph."""
        waiting: list[str] = []
        size = 0
        for part in (piece[at : at + PIECE] for piece in pieces for at in range(0, len(piece), PIECE)):
            waiting.append(part)
            size += len(part)
            if size >= PIECE:
                text = "".join(waiting)
                cut, goes_on = self._place_to_cut(text)
                yield text[:cut], goes_on
                waiting, size = [text[cut:]], len(text) - cut
        if size:
            yield "".join(waiting), False

    def _place_to_cut(self, text: str) -> tuple[int, bool]:
        breaks = [match.end() for match in _BLANK_LINE.finditer(text, len(text) // 2)]
        if breaks:
            return breaks[-1], False
        sentences = self.segment(text).sentences
        return (int(sentences[-1, 0]), True) if len(sentences) > 1 else (len(text), True)


def _joined(parts: Sequence[Segmented]) -> Segmented:
    """Consecutive texts, with continued offsets."""
    if len(parts) == 1:
        return parts[0]
    columns = Columns.concat([part.columns for part in parts])
    arrays = ([getattr(part, name) for part in parts] for name in ("starts", "ends", "sentences"))
    return Segmented(columns, *map(np.concatenate, arrays))
