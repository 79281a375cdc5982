"""A parser: names, a search with its scorer, and a calibration. Load it, give it words, get trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from arbora.data.columns import Columns, TextColumn
from arbora.data.encode import Batch, Names
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.errors import InputError, require_threads, require_whole
from arbora.inference.distribution import TreeDistribution
from arbora.inference.queries import MOST_TREES
from arbora.interfaces import Query
from arbora.moved import renamed
from arbora.parsing.long_sentences import pieces_of
from arbora.parsing.model_file import parser_parts, read_parts
from arbora.parsing.parsed import Parsed, label_names, make_parsed, with_kept_labels
from arbora.progress import Observer, Silent
from arbora.search.base import Search
from arbora.search.confidence import Confidence, ConfidenceAt
from arbora.search.request import Decode, ParseRequest, Temperatures
from arbora.storage.files import Source, open_output
from arbora.storage.model_file import ModelFile, Reloaded, write_model
from arbora.types import Ints

UNCALIBRATED = Temperatures()

Words: TypeAlias = Sentence | Sequence[str]
"""A sentence, or its words."""


class ParseOptions(TypedDict, total=False):
    """Options of `Parser.parse` besides `probabilities`."""

    decode: Decode
    keep_heads: bool
    threads: int


@dataclass(frozen=True, kw_only=True)
class Parser(Reloaded):
    """Finds the trees of tagged words: `Parser.load("da.arbora").parse(sentences)`.

    Immutable; may be used from several threads, and sent to other processes.
    """

    names: Names
    """Tags, labels and columns, and the guide of a guided parser."""
    search: Search
    """The search, with its scorer."""
    calibration: Temperatures = UNCALIBRATED
    """Scores are divided by these before they become probabilities."""
    is_calibrated: bool = False
    """Whether the calibration was fitted on a dev set."""
    about: dict[str, Any] = field(default_factory=dict)
    """How it was trained: the resolved configuration, scores on dev, epochs."""

    def __repr__(self) -> str:
        guide = "" if self.names.guide is None else f", guided by {self.names.guide!r}"
        trees, labels = self.search.trees, len(self.plain_labels)
        return f"<Parser: {trees} trees, {self.search.describe()}, {labels} labels{guide}>"

    @property
    def scorer(self) -> Any:
        """The scorer of trees or transitions."""
        return self.search.scorer

    @property
    def queries(self) -> frozenset[Query]:
        """Its queries: k best trees (KBEST), P(tree) (LOG_PARTITION), given heads (GIVEN_HEADS), ..."""
        return self.search.queries

    def require(self, query: Query) -> None:
        """InputError unless the parser answers the query."""
        if query not in self.queries:
            raise self.search.not_answered(query)

    @property
    def gives_labels(self) -> bool:
        """Whether it predicts labels, with probabilities."""
        return self.search.label_count > 0

    @property
    def plain_labels(self) -> tuple[str, ...]:
        """The labels that trees may have, without the marks of pseudo-projective trees."""
        return self.search.plain_labels(self.names.labels)

    def encode(self, sentences: Columns, *, threads: int = 1) -> Batch:
        """Encode sentences; a guide parses them when they are first scored."""
        return self.names.batch(sentences, threads=threads)

    # Parsing

    def trees(
        self,
        sentences: Columns | Batch,
        *,
        decode: Decode = "argmax",
        keep_heads: bool = False,
        threads: int = 1,
    ) -> tuple[Ints, Ints]:
        """Heads and labels of all words of a treebank in one native call, shape (W,) each.

        Labels are indices into `names.labels`, -1 if the parser has none. `keep_heads`: see `parse`, but
        labels are the parser's own. With a pruner that keeps k heads: O(n² + n k²) scores per sentence;
        without, O(n²) first order and O(n³) second.
        """
        _check_decode(decode)
        if decode == "argmax":
            request = ParseRequest(keep_heads=keep_heads, threads=threads)
            batch = self._as_batch(sentences, threads)
            request = self.search.checked(batch, request)
            if pieces := pieces_of(batch, self.search, request):
                return pieces.join(*self.search.best(pieces.batch, request))
            return self.search.best(batch, request)
        # Without probabilities, one pass with sums over trees is enough.
        temperatures = self.calibration.for_minimum_risk
        confidence = self.confidence(
            sentences, decode=decode, temperatures=temperatures, keep_heads=keep_heads, threads=threads
        )
        return confidence.heads, confidence.labels

    @overload
    def parse(
        self,
        sentences: Iterable[Words],
        *,
        probabilities: Literal[False] = False,
        **options: Unpack[ParseOptions],
    ) -> list[Sentence]: ...
    @overload
    def parse(
        self, sentences: Iterable[Words], *, probabilities: Literal[True], **options: Unpack[ParseOptions]
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
        """Parse sentences. A sentence may be a plain list of words, too, but tags help a lot.

        `probabilities`: return `Parsed` objects, with the probabilities of heads, labels and tree.
        `decode`: the tree with the best score, or the one with the most expected correct heads.
        `keep_heads`: keep the heads that a sentence has, with their labels. The result is the best tree that
        agrees with them, and its probabilities are given them; NoTreeError if no tree of this parser does.
        A `Parsed` does not remember which heads were given: for its next-best trees, call `Parser.kbest`.
        """
        _check_decode(decode)
        given = [as_sentence(sentence) for sentence in several(sentences)]
        if not given:
            return []
        batch = self._encoded(given, keep_heads, threads)
        if probabilities:
            self.require(Query.MARGINALS)
            confidence = self.confidence(batch, decode=decode, keep_heads=keep_heads, threads=threads)
            return [tree for (tree,) in make_parsed(given, confidence, self, keep_heads=keep_heads)]
        heads, labels = self.trees(batch, decode=decode, keep_heads=keep_heads, threads=threads)
        names = label_names(labels, self)
        trees, at = [], 0
        for sentence in given:
            end = at + len(sentence)
            tree = sentence.with_tree(Tree.from_heads(heads[at:end].tolist(), labels=names[at:end]))
            trees.append(with_kept_labels(tree, sentence) if keep_heads else tree)
            at = end
        return trees

    def _as_batch(self, sentences: Columns | Batch, threads: int) -> Batch:
        require_threads(threads)
        return self.encode(sentences, threads=threads) if isinstance(sentences, Columns) else sentences

    def _encoded(self, sentences: Sequence[Sentence], keep_heads: bool, threads: int = 1) -> Batch:
        """The sentences without their trees, or with the heads that they have."""
        batch = self._as_batch(columns_of_input(sentences), threads)
        if keep_heads:
            batch.set_heads(np.array([head for s in sentences for head in s.heads], dtype=np.int32))
        return batch

    def parse_file(
        self,
        source: Source,
        target: Source,
        *,
        format: FormatOrAuto = "auto",  # noqa: A002
        lenient: bool = False,
        threads: int = 1,
        observer: Observer | None = None,
    ) -> ColumnReader:
        """Read a treebank and write it with trees: HEAD and DEPREL change, every other byte stays.

        Streams in pieces of about a megabyte, in order; `observer` follows the count of sentences.
        """
        reader = ColumnReader(source, format=format, lenient=lenient)
        observer = observer or Silent()
        observer.begin(reader.source)
        with open_output(target) as stream:
            for columns in reader:
                heads, labels = self.trees(columns, threads=threads)
                stream.write(columns.with_trees(heads, labels, self.names.labels).to_bytes())
                observer.advance(len(columns))
        observer.end()
        return reader

    # Probabilities

    def confidence_at(self, sentences: Columns | Batch, request: ParseRequest) -> ConfidenceAt:
        """`confidence` as a function of temperatures: work that does not depend on them is done once."""
        batch = self._as_batch(sentences, request.threads)
        request = self.search.checked(batch, request)
        if pieces := pieces_of(batch, self.search, request):
            confidence_at = self.search.confidence_at(pieces.batch, request)
            return lambda temperatures: pieces.joined(confidence_at(temperatures))
        return self.search.confidence_at(batch, request)

    def confidence(
        self,
        sentences: Columns | Batch,
        *,
        decode: Decode | Literal["given"] = "argmax",
        k: int = 0,
        temperatures: Temperatures | None = None,
        arc_table: bool = False,
        label_table: bool = False,
        keep_heads: bool = False,
        threads: int = 1,
    ) -> Confidence:
        """Trees and probabilities of all words of a treebank in one native call, as arrays.

        `decode="given"` takes the trees that the sentences have; `k` > 0 the k most probable ones. The tables
        hold the probabilities of all arcs, (n+1)² per sentence, and of all labels, (W, labels). First order
        takes O(n³) per sentence, second order with a pruner that keeps k heads O(n² k²).

        P(head) and P(tree) of pseudo-projective parsers are those of lifted trees; P(label) is that of the
        label with any mark. Some of k lifted trees may become the same tree; all of them are kept.
        """
        request = ParseRequest(
            decode=decode,
            k=k,
            arc_table=arc_table,
            label_table=label_table,
            keep_heads=keep_heads,
            threads=threads,
        )
        return self.confidence_at(sentences, request)(temperatures or self.calibration)

    def kbest(self, sentence: Words, k: int, *, keep_heads: bool = False) -> list[Parsed]:
        """The k most probable trees (1 <= k <= 1000), best first; all of them if there are fewer.

        The first is the one that `parse` gives: with a beam, others may be more probable. `keep_heads`: only
        trees with the heads that the sentence has, see `parse`. InputError if the search has no k best trees,
        as that of an ensemble.
        """
        require_whole("k", k, 1, MOST_TREES)
        given = as_sentence(sentence)
        confidence = self.confidence(self._encoded([given], keep_heads), k=int(k), keep_heads=keep_heads)
        return next(make_parsed([given], confidence, self, keep_heads=keep_heads))

    def distribution(self, sentence: Words) -> TreeDistribution:
        """The distribution over a sentence's trees, labels summed out; for first-order parsers."""
        batch = self.encode(columns_of_input([as_sentence(sentence)]))
        return self.search.distribution(batch, self.calibration)

    judge = renamed("judge", "confidence")
    temperatures = renamed("temperatures", "calibration")

    # The model file

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file; `quantized` stores one byte per weight, at a small loss of accuracy."""
        write_model(path, *self.to_parts(quantized=quantized))

    def rounded(self) -> Parser:
        """The parser as saved with `quantized`, to measure the loss before saving."""
        names = replace(self.names, guide=self.names.guide and self.names.guide.rounded())
        return replace(self, names=names, search=self.search.quantized(), about=dict(self.about))

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""
        return parser_parts(self, quantized=quantized)

    @classmethod
    def from_whole(cls, file: ModelFile) -> Parser:
        return cls.from_file(file.part("parser") if "parts" in file.metadata else file)

    @classmethod
    def from_file(cls, file: ModelFile) -> Parser:
        """The parser in an open model file, or in a part of one."""
        return cls(**read_parts(file)).remember(file)


def _check_decode(decode: str) -> None:
    if decode not in get_args(Decode):
        raise InputError(f"decode: expected {' or '.join(get_args(Decode))}, got {decode!r}")


def several(given: object) -> Iterable[Any]:
    """Raise InputError if one sentence, a name or nothing was given instead of sentences."""
    if isinstance(given, Iterable) and not isinstance(given, str | Sentence):
        return given
    got = repr(given)[:80] if given is None or isinstance(given, str) else f"one {type(given).__name__}"
    advice = "read a file with arbora.read first" if isinstance(given, str) else "put it in [ ]"
    raise InputError(f"parse: expected a list of sentences, got {got}; {advice}")


def as_sentence(given: Sentence | Sequence[str]) -> Sentence:
    """A sentence, or one made of the given words; InputError for anything else."""
    if isinstance(given, Sentence | Parsed):
        return given if isinstance(given, Sentence) else given.sentence
    if isinstance(given, str):
        raise InputError(
            f"expected a Sentence or a list of words, got the text {given[:80]!r}; for raw text call the "
            "model itself: nlp(text); for one sentence of words put the list in [ ]"
        )
    if not isinstance(given, Iterable) or not all(isinstance(word, str) for word in given):
        raise InputError(f"parse: expected a Sentence or a list of words, got {repr(given)[:80]}")
    return Sentence.from_lists(list(given))


def columns_of_input(sentences: Sequence[Sentence]) -> Columns:
    """Return the columns that a parser reads, as one batch."""
    texts: dict[TextColumn, list[str]] = {"form": [], "lemma": [], "upos": [], "xpos": [], "feats": []}
    offsets = [0]
    for sentence in sentences:
        for whole, own in zip(texts.values(), sentence.columns(), strict=False):
            whole += own
        offsets.append(len(texts["form"]))
    return Columns.from_arrays(offsets, texts, source="<text>")
