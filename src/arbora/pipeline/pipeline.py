"""The pipeline from raw text to trees: the parts of a model file, in order of use.

    text ──segmenter──▶ words ──tagger──▶ UPOS, XPOS, FEATS ──lemmatizer──▶ LEMMA ──parser──▶ trees

All parts but the parser are optional; the input must have the columns that a model cannot predict. A neural
parser predicts tags and lemmas itself, and has neither tagger nor lemmatizer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from arbora import __version__
from arbora.data.columns import PIECE, Columns, TextColumn, columns_of
from arbora.data.encode import filled
from arbora.data.sentence import Sentence
from arbora.errors import InputError, require_threads
from arbora.inference.distribution import TreeDistribution
from arbora.parsing.parsed import Parsed, make_parsed
from arbora.parsing.parser import ParseOptions, Parser, Words, as_sentence, several
from arbora.pipeline.lemmatizer import Lemmatizer
from arbora.pipeline.segmenter import Segmented, Segmenter
from arbora.pipeline.tagger import Tagger
from arbora.search.request import Decode
from arbora.storage._safetensors import DAMAGED
from arbora.storage.model_file import FORMAT, ModelFile, Reloaded, write_model
from arbora.storage.models import find_model

Given: TypeAlias = Iterable[Words]
KIND = "pipeline"
PARTS: dict[str, Any] = {"segmenter": Segmenter, "tagger": Tagger, "lemmatizer": Lemmatizer, "parser": Parser}
TAGGED: tuple[TextColumn, ...] = ("upos", "xpos", "feats")
FILLED: tuple[TextColumn, ...] = (*TAGGED, "lemma")


class Annotator(Protocol):
    """Predicts tags and lemmas of words."""

    def annotate(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The same words with predicted tags, and lemmas if it has any."""


@dataclass(frozen=True, eq=False)
class WordAnnotator:
    """A tagger, then a lemmatizer if there is one."""

    tagger: Tagger
    lemmatizer: Lemmatizer | None = None

    def annotate(self, columns: Columns, *, threads: int = 1) -> Columns:
        """The same words with predicted tags, and lemmas if there is a lemmatizer."""
        found = self.tagger.tag(columns, threads=threads)
        return found if self.lemmatizer is None else self.lemmatizer.lemmatize(found, threads=threads)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pipeline(Reloaded):
    """Parses raw text, `arbora.load()("She reads books.")`; `parse` takes words or tagged sentences.

    Immutable; safe to use from several threads, and can be pickled.
    """

    parser: Parser
    segmenter: Segmenter | None = None
    tagger: Tagger | None = None
    lemmatizer: Lemmatizer | None = None
    about: dict[str, Any] = field(default_factory=dict)  # scores on dev, the licence of the data
    source: str = "the model"  # its name in messages

    def __repr__(self) -> str:
        return f"<Pipeline of {self.source}: {', '.join(self.parts)}>"

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(name for name in PARTS if getattr(self, name) is not None)

    @cached_property
    def annotator(self) -> Annotator | None:
        """The predictor of tags and lemmas: tagger and lemmatizer, or the parser; None: neither."""
        if self.tagger is not None:
            return WordAnnotator(self.tagger, self.lemmatizer)
        annotator: Annotator | None = self.parser.search.annotator
        return annotator

    # From text

    @overload
    def __call__(
        self, text: str, *, probabilities: Literal[True] = True, decode: Decode = ..., threads: int = ...
    ) -> list[Parsed]: ...
    @overload
    def __call__(
        self, text: str, *, probabilities: Literal[False], decode: Decode = ..., threads: int = ...
    ) -> list[Sentence]: ...
    def __call__(
        self, text: str, *, probabilities: bool = True, decode: Decode = "argmax", threads: int = 1
    ) -> list[Parsed] | list[Sentence]:
        """Parse a text into sentences with trees, and with probabilities if the parser gives them.

        Words know their offsets: `text[word.start : word.end]`. Without `probabilities`, each result is a
        `Sentence`, which takes less time.
        """
        parsed: list[Any] = []
        for piece in self.segment(text).pieces():
            columns = self.prepare(piece.columns, threads=threads)
            if not probabilities:
                heads, labels = self.parser.trees(columns, decode=decode, threads=threads)
                trees = columns.with_trees(heads, labels, self.parser.names.labels)
                parsed += piece.placed(trees.sentences())
                continue
            found = self.parser.confidence(columns, decode=decode, threads=threads)
            sentences = piece.placed(columns.sentences())
            parsed += (tree for (tree,) in make_parsed(sentences, found, self.parser))
        return parsed

    def segment(self, text: str) -> Segmented:
        """Split a text into words, without annotation, and their offsets."""
        return self.require_segmenter().segment(text)

    def require_segmenter(self) -> Segmenter:
        """The segmenter; InputError if there is none."""
        if self.segmenter is None:
            advice = "pass words as CoNLL-U, or train all parts on a treebank with spaces (`# text`)"
            raise InputError(f"{self.source} has no segmenter, so it cannot read raw text; {advice}")
        return self.segmenter

    # From words

    def prepare(self, columns: Columns, *, retag: bool = False, threads: int = 1) -> Columns:
        """Tag sentences without UPOS, or all with `retag`.

        Without `retag`, sentences with tags are unchanged, and so are lemmas, XPOS and FEATS that exist.
        """
        require_threads(threads)
        if self.annotator is None and retag:
            raise InputError(f"{self.source} has no tagger; it was trained without one")
        if self.annotator is None or (not retag and filled(columns, "upos") == columns.words):
            return columns
        found = self.annotator.annotate(columns, threads=threads)
        if retag or not any(filled(columns, column) for column in FILLED):
            return found
        return _fill_in(columns, found)

    @overload
    def parse(
        self, sentences: Given, *, probabilities: Literal[False] = False, **options: Unpack[ParseOptions]
    ) -> list[Sentence]: ...
    @overload
    def parse(
        self, sentences: Given, *, probabilities: Literal[True], **options: Unpack[ParseOptions]
    ) -> list[Parsed]: ...
    def parse(
        self,
        sentences: Iterable[Words],
        *,
        decode: Decode = "argmax",
        probabilities: bool = False,
        keep_heads: bool = False,
        threads: int = 1,
    ) -> list[Sentence] | list[Parsed]:
        """Parse tagged sentences, or lists of words, which are tagged first.

        With `probabilities`, each result is a `Parsed` with the probabilities of its heads, labels and tree.
        `decode` chooses between the tree with the best score and the one with the most expected correct
        heads. With `keep_heads`, heads that a sentence has are kept, and the parser finds the others.
        """
        options: Any = {"decode": decode, "probabilities": probabilities, "keep_heads": keep_heads}
        given = [as_sentence(sentence) for sentence in several(sentences)]
        trees: list[Any] = []
        for piece in [given] if keep_heads else _pieces(given):  # errors about heads number the sentences
            trees += self.parser.parse(self._tagged(piece, threads), threads=threads, **options)
        return trees

    def _tagged(self, sentences: list[Sentence], threads: int = 1) -> list[Sentence]:
        """Tag the sentences without tags."""
        sentences = list(sentences)
        bare = [i for i, sentence in enumerate(sentences) if set(sentence.upos) == {"_"}]
        if self.annotator is None or not bare:
            return sentences
        columns = columns_of(sentences[i] for i in bare)
        for i, tagged in zip(bare, self.prepare(columns, threads=threads).sentences(), strict=True):
            found: Any = {name: getattr(tagged, name) for name in ("lemmas", *TAGGED)}
            sentences[i] = replace(sentences[i], **found)
        return sentences

    def kbest(self, sentence: Words, k: int, *, keep_heads: bool = False) -> list[Parsed]:
        """The k most probable trees (1 <= k <= 1000), best first; see `Parser.kbest`."""
        return self.parser.kbest(self._tagged([as_sentence(sentence)])[0], k, keep_heads=keep_heads)

    def distribution(self, sentence: Words) -> TreeDistribution:
        """The distribution over a sentence's trees, summed over labels; first-order parsers only."""
        return self.parser.distribution(self._tagged([as_sentence(sentence)])[0])

    # The model file

    def rounded(self) -> Pipeline:
        """The pipeline as `save(quantized=True)` would store it, to measure the loss before saving."""
        parts: dict[str, Any] = {"parser": self.parser.rounded()}
        for name in self.parts[:-1]:  # the parser comes last
            tensors, metadata = getattr(self, name).to_parts(quantized=True)
            file = ModelFile(self.source, FORMAT, __version__, metadata, tensors)
            parts[name] = PARTS[name].from_file(file)
        return replace(self, **parts)

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file; `quantized` stores weights in one byte each, at a small loss of accuracy."""
        write_model(path, *self.to_parts(quantized=quantized))

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        if self.parts == ("parser",):
            return self.parser.to_parts(quantized=quantized)
        tensors: dict[str, NDArray[Any]] = {}
        metadata: dict[str, Any] = {}
        for name in self.parts:
            arrays, metadata[name] = getattr(self, name).to_parts(quantized=quantized)
            tensors |= {f"{name}/{key}": array for key, array in arrays.items()}
        return tensors, {"kind": KIND, "parts": metadata, "about": self.about}

    @classmethod
    def from_file(cls, file: ModelFile) -> Pipeline:
        if "parts" not in file.metadata:
            parser = Parser.from_file(file)
            about = {name: value for name, value in parser.about.items() if name in ("dev", "data")}
            return cls(parser=parser, about=about, source=file.source).remember(file)
        file.require_kind(KIND, "a model, as `arbora train` writes it")
        names = [name for name in PARTS if name == "parser" or name in file.entry("parts", dict)]
        about = file.entry("about", dict)
        try:
            parts: dict[str, Any] = {name: PARTS[name].from_file(file.part(name)) for name in names}
        except InputError as error:
            raise file.error(f"{error}; {DAMAGED}") from None
        return cls(**parts, about=about, source=file.source).remember(file)


def load(path: str | os.PathLike[str] | None = None) -> Pipeline:
    """Load a model: a file, `arbora.load("da.arbora")`, or one by name, `arbora.load("danish")`.

    Names are those of `arbora list models`: `"english"`, the bundled model and the default, and the models
    that `arbora get` has installed. A file of that name takes precedence.
    """
    return Pipeline.load(find_model(path))


def _pieces(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Sentences in pieces of about `PIECE` words; an empty one if there are none."""
    piece: list[Sentence] = []
    words = 0
    for sentence in sentences:
        if piece and words + len(sentence) > PIECE:
            yield piece
            piece, words = [], 0
        piece.append(sentence)
        words += len(sentence)
    yield piece


def _fill_in(columns: Columns, found: Columns) -> Columns:
    """Fill the columns that are `_` throughout a sentence without UPOS from `found`."""
    bare = ~columns.any_word(columns.ids("upos") != 0)
    for column in FILLED:
        empty = ~columns.any_word(columns.ids(column) != 0)
        wanted = np.repeat(bare & empty, np.diff(columns.offsets))
        old = columns.strings(column)
        ids = np.where(wanted, found.ids(column) + len(old), columns.ids(column)).astype(np.int32)
        columns = columns.with_column(column, ids, old + found.strings(column))
    return columns
