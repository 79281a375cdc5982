"""From raw text to trees: what a model file holds, in the order in which it is used.

    text ──segmenter──▶ words ──tagger──▶ UPOS, XPOS, FEATS ──lemmatizer──▶ LEMMA ──parser──▶ trees

Every part is optional; what a model lacks, its input must have.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns, TextColumn, columns_of
from arbora.data.encode import filled
from arbora.data.sentence import Sentence
from arbora.errors import InputError
from arbora.inference.distribution import TreeDistribution
from arbora.parsing.inputs import as_sentence, several
from arbora.parsing.parsed import Parsed, make_parsed
from arbora.parsing.parser import Parser
from arbora.pipeline.lemmatizer import Lemmatizer
from arbora.pipeline.segmenter import Segmented, Segmenter
from arbora.pipeline.tagger import Tagger
from arbora.search.request import Decode
from arbora.storage.bundled import find_model
from arbora.storage.model_file import ModelFile, read_model, write_model
from arbora.storage.pickling import Reloaded
from arbora.types import Bools

KIND = "pipeline"
PARTS = ("segmenter", "tagger", "lemmatizer", "parser")
TAGGED: tuple[TextColumn, ...] = ("upos", "xpos", "feats")
FILLED: tuple[TextColumn, ...] = (*TAGGED, "lemma")


@dataclass(frozen=True, kw_only=True, eq=False)
class Pipeline(Reloaded):
    """Trees of texts: `arbora.load()("She reads books.")`, or of words and of tagged sentences: `parse`.

    Immutable; may be used from several threads, and sent to other processes.
    """

    parser: Parser
    segmenter: Segmenter | None = None
    tagger: Tagger | None = None
    lemmatizer: Lemmatizer | None = None
    about: dict[str, Any] = field(default_factory=dict)  # How it was made: scores on dev, the data's licence
    source: str = "the model"  # What messages call it

    def __repr__(self) -> str:
        return f"<Pipeline of {self.source}: {', '.join(self.parts)}>"

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(name for name in PARTS if getattr(self, name) is not None)

    # From text

    def __call__(self, text: str, *, decode: Decode = "argmax", threads: int = 1) -> list[Parsed]:
        """The sentences of a text with their trees, and how sure these are. O(length), as the parser is.

        Words say where they stand: `text[word.start : word.end]`.
        """
        segmented = self.segment(text)
        columns = self.prepare(segmented.columns, threads=threads)
        if not len(columns):
            return []
        found = self.parser.judge(columns, decode=decode, threads=threads)
        sentences = segmented.placed(columns.sentences())
        return [tree for (tree,) in make_parsed(sentences, found, self.parser.names.labels, self.parser)]

    def segment(self, text: str) -> Segmented:
        """The words of a text, without annotation, and where they stand in it."""
        if not isinstance(text, str):
            raise InputError(
                f"expected a text, got {type(text).__name__}; for sentences and lists of words: .parse(...)"
            )
        return self.require_segmenter().segment(text)

    def require_segmenter(self) -> Segmenter:
        """The segmenter; InputError where there is none."""
        if self.segmenter is None:
            raise InputError(
                f"{self.source} has no segmenter, so it cannot read raw text; give it words as CoNLL-U, or "
                "train on a treebank with `# text` or SpaceAfter=No"
            )
        return self.segmenter

    # From words

    def prepare(self, columns: Columns, *, retag: bool = False, threads: int = 1) -> Columns:
        """The same sentences, tagged: what a sentence without UPOS lacks is filled in, or all with `retag`.

        Sentences that have tags stay as they are; so do lemmas, XPOS and FEATS where a sentence has some.
        """
        if self.tagger is None:
            if retag:
                raise InputError(f"{self.source} has no tagger; it was trained without one")
            return columns
        if not retag and filled(columns, "upos") == columns.words:
            return columns
        found = self.tagger.tag(columns, threads=threads)
        if self.lemmatizer is not None:
            found = self.lemmatizer.lemmatize(found, threads=threads)
        if retag or not any(filled(columns, column) for column in FILLED):
            return found
        return _filled_in(columns, found)

    @overload
    def parse(
        self,
        sentences: Iterable[Sentence | Sequence[str]],
        *,
        decode: Decode = "argmax",
        probabilities: Literal[False] = False,
        keep_heads: bool = False,
        threads: int = 1,
    ) -> list[Sentence]: ...
    @overload
    def parse(
        self,
        sentences: Iterable[Sentence | Sequence[str]],
        *,
        decode: Decode = "argmax",
        probabilities: Literal[True],
        keep_heads: bool = False,
        threads: int = 1,
    ) -> list[Parsed]: ...
    def parse(
        self,
        sentences: Iterable[Sentence | Sequence[str]],
        *,
        decode: Decode = "argmax",
        probabilities: bool = False,
        keep_heads: bool = False,
        threads: int = 1,
    ) -> list[Sentence] | list[Parsed]:
        """Sentences with their trees: tagged sentences, or words, which are tagged first.

        `probabilities`: each as a `Parsed`, which knows how sure its heads, labels and tree are.
        `decode`: the tree with the best score, or the one with the most expected correct heads.
        `keep_heads`: heads that a sentence has are kept, and the others found around them.
        """
        tagged = self._tagged(several(sentences), threads)
        if probabilities:
            return self.parser.parse(
                tagged, decode=decode, probabilities=True, keep_heads=keep_heads, threads=threads
            )
        return self.parser.parse(tagged, decode=decode, keep_heads=keep_heads, threads=threads)

    def _tagged(self, given: Iterable[Any], threads: int = 1) -> list[Sentence]:
        """Sentences however they are given, with tags where they have none."""
        sentences = [as_sentence(sentence) for sentence in given]
        bare = [i for i, sentence in enumerate(sentences) if set(sentence.upos) == {"_"}]
        if self.tagger is None or not bare:
            return sentences
        columns = columns_of(sentences[i] for i in bare)
        for i, tagged in zip(bare, self.prepare(columns, threads=threads).sentences(), strict=True):
            sentences[i] = replace(
                sentences[i], lemmas=tagged.lemmas, upos=tagged.upos, xpos=tagged.xpos, feats=tagged.feats
            )
        return sentences

    def kbest(self, sentence: Sentence | Sequence[str], k: int, *, keep_heads: bool = False) -> list[Parsed]:
        """The k most probable trees (1 <= k <= 1000), best first; see `Parser.kbest`."""
        return self.parser.kbest(self._tagged([sentence])[0], k, keep_heads=keep_heads)

    def distribution(self, sentence: Sentence | Sequence[str]) -> TreeDistribution:
        """The distribution over a sentence's trees, labels summed out; of first-order parsers."""
        return self.parser.distribution(self._tagged([sentence])[0])

    # The model file

    def rounded(self) -> Pipeline:
        """The pipeline that a file saved with `quantized` holds: to judge what is lost before saving."""
        parts: dict[str, Any] = {}
        for name in self.parts[:-1]:  # the parser comes last
            part = getattr(self, name)
            parts[name] = type(part).from_parts(*_to_parts(part, quantized=True), self.source)
        return replace(self, parser=self.parser.rounded(), **parts)

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file; `quantized` stores weights in one byte each, at a small loss of accuracy."""
        write_model(path, *self.to_parts(quantized=quantized))

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        if self.parts == ("parser",):
            return self.parser.to_parts(quantized=quantized)
        tensors: dict[str, NDArray[Any]] = {}
        metadata: dict[str, Any] = {}
        for name in self.parts:
            arrays, metadata[name] = _to_parts(getattr(self, name), quantized=quantized)
            tensors |= {f"{name}/{key}": array for key, array in arrays.items()}
        return tensors, {"kind": KIND, "parts": metadata, "about": self.about}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pipeline:
        """What a model file holds, a parser alone or more; its data is held against its checksum."""
        return cls.from_file(read_model(path, verify=True))

    @classmethod
    def from_file(cls, file: ModelFile) -> Pipeline:
        if "parts" not in file.metadata:
            parser = Parser.from_file(file)
            about: dict[str, Any] = {
                name: parser.about[name] for name in ("dev", "data") if name in parser.about
            }
            return cls(parser=parser, about=about, source=file.source).remember(file)
        file.require_kind(KIND, "a model, as `arbora train` writes it")
        pipeline = cls(
            parser=Parser.from_file(file.part("parser")),
            segmenter=_read_part(file, "segmenter", Segmenter.from_parts),
            tagger=_read_part(file, "tagger", Tagger.from_parts),
            lemmatizer=_read_part(file, "lemmatizer", Lemmatizer.from_parts),
            about=file.entry("about", dict),
            source=file.source,
        )
        return pipeline.remember(file)


def load(path: str | os.PathLike[str] | None = None) -> Pipeline:
    """The model in a file, `arbora.load("da.arbora")`, or the English one that comes with Arbora.

    The latter's name is `"english"`; a file that is called so goes first.
    """
    return Pipeline.load(find_model(path))


def _to_parts(part: Any, *, quantized: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """A segmenter's weights are always small."""
    return part.to_parts() if isinstance(part, Segmenter) else part.to_parts(quantized=quantized)


def _read_part(file: ModelFile, name: str, read: Callable[..., Any]) -> Any:
    if name not in file.entry("parts", dict):
        return None
    part = file.part(name)
    return read(part.tensors, part.metadata, part.source)


def _filled_in(columns: Columns, found: Columns) -> Columns:
    """`columns` with what was found, in sentences without UPOS, for those columns that are `_` in them."""
    bare = _is_bare(columns, "upos")
    for column in FILLED:
        wanted = np.repeat(bare & _is_bare(columns, column), np.diff(columns.offsets))
        old = columns.strings(column)
        ids = np.where(wanted, found.ids(column) + len(old), columns.ids(column)).astype(np.int32)
        columns = columns.with_column(column, ids, old + found.strings(column))
    return columns


def _is_bare(columns: Columns, column: TextColumn) -> Bools:
    """Of each sentence, whether a column is `_` everywhere. Shape (S,)."""
    before = np.concatenate([[0], np.cumsum(columns.ids(column) != 0)])
    return np.asarray(np.diff(before[columns.offsets]) == 0)
