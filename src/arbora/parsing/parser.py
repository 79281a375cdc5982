"""A parser: names, a search with its scorer, and a calibration. Load it, give it words, get trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from arbora.data.batch import Batch
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.data.files import Source, open_output
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.errors import require_threads
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import Query
from arbora.parsing.inputs import as_sentence, columns_of_input, several
from arbora.parsing.model_file import parser_parts, read_parts
from arbora.parsing.parsed import (
    Parsed,
    check_count,
    check_decode,
    keep_labels,
    make_parsed,
    with_kept_labels,
)
from arbora.progress import Observer, Silent
from arbora.search.base import Search
from arbora.search.confidence import Confidence, ConfidenceAt
from arbora.search.request import Decode, ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile, read_model, write_model
from arbora.storage.pickling import Reloaded
from arbora.types import Ints

UNCALIBRATED = Temperatures()


@dataclass(frozen=True, kw_only=True)
class Parser(Reloaded):
    """Trees for tagged words: `Parser.load("da.arbora").parse(sentences)`.

    Immutable; may be used from several threads, and sent to other processes.
    """

    names: Names
    """Tags, labels and columns; of a guided parser, the guide, too."""
    search: Search
    """How trees are found, and by which scores."""
    calibration: Temperatures = UNCALIBRATED
    """What scores are divided by before they become probabilities."""
    is_calibrated: bool = False
    """Whether the calibration was fitted on a dev set."""
    about: dict[str, Any] = field(default_factory=dict)
    """How it was made: the resolved configuration, scores on dev, epochs."""

    def __repr__(self) -> str:
        guide = "".join(f", guided by {guide!r}" for guide in self.names.guides)
        trees, labels = self.search.trees, len(self.plain_labels)
        return f"<Parser: {trees} trees, {self.search.describe()}, {labels} labels{guide}>"

    @property
    def scorer(self) -> Any:
        """What scores trees, or moves towards them."""
        return self.search.scorer

    @property
    def queries(self) -> frozenset[Query]:
        """What it answers: k best trees (KBEST), P(tree) (LOG_PARTITION), parsing around heads, ..."""
        return self.search.queries

    @property
    def gives_labels(self) -> bool:
        """Whether it chooses labels, and says how probable they are."""
        return self.search.label_count > 0

    @property
    def plain_labels(self) -> tuple[str, ...]:
        """The labels that trees may have: those without marks of pseudo-projective trees."""
        return self.search.plain_labels(self.names.labels)

    def encode(self, sentences: Columns, *, threads: int = 1) -> Batch:
        """Sentences as this parser sees them; a guide parses them when they are first scored."""
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

        Labels are places in `names.labels`, -1 where the parser has none. `keep_heads`: see `parse`, but
        labels are the parser's own. With a pruner that keeps k heads: O(n² + n k²) scores per sentence;
        without, O(n²) first order and O(n³) second.
        """
        check_decode(decode)
        if decode == "argmax":
            return self.search.best(
                *self._checked(sentences, ParseRequest(keep_heads=keep_heads, threads=threads))
            )
        # Without probabilities, one pass with sums over trees is enough.
        at_risk = self.temperatures.for_minimum_risk
        found = self.confidence(
            sentences, decode=decode, temperatures=at_risk, keep_heads=keep_heads, threads=threads
        )
        return found.heads, found.labels

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
        """Sentences with their trees; a sentence may be a plain list of words, too, though tags help much.

        `probabilities`: each as a `Parsed`, which knows how sure its heads, labels and tree are.
        `decode`: the tree with the best score, or the one with the most expected correct heads.
        `keep_heads`: heads that a sentence has are kept, with their labels; the best tree that agrees with
        them is found, and its probabilities are given them. NoTreeError where no tree of this parser does.
        A `Parsed` does not remember which heads were given: its next-best trees are `Parser.kbest`'s.
        """
        check_decode(decode)
        given = [as_sentence(sentence) for sentence in several(sentences)]
        if not given:
            return []
        encoded = self._encoded(given, keep_heads, threads)
        if probabilities:
            found = self.confidence(encoded, decode=decode, keep_heads=keep_heads, threads=threads)
            parsed = [tree for (tree,) in make_parsed(given, found, self.names.labels, self)]
            return list(map(keep_labels, parsed, given)) if keep_heads else parsed
        heads, labels = self.trees(encoded, decode=decode, keep_heads=keep_heads, threads=threads)
        trees, at = [], 0
        for sentence in given:
            end = at + len(sentence)
            tree = sentence.with_tree(self._tree(heads[at:end], labels[at:end]))
            trees.append(with_kept_labels(tree, sentence) if keep_heads else tree)
            at = end
        return trees

    def _as_batch(self, sentences: Columns | Batch, threads: int) -> Batch:
        require_threads(threads)
        return self.encode(sentences, threads=threads) if isinstance(sentences, Columns) else sentences

    def _encoded(self, sentences: Sequence[Sentence], keep_heads: bool, threads: int = 1) -> Batch:
        """The sentences without their trees, or with the heads that they have."""
        encoded = self._as_batch(columns_of_input(sentences), threads)
        if keep_heads:
            encoded.set_heads(np.array([head for s in sentences for head in s.heads], dtype=np.int32))
        return encoded

    def _tree(self, heads: Ints, labels: Ints) -> Tree:
        names = [self.names.labels[label] if label >= 0 else "_" for label in labels.tolist()]
        return Tree.from_heads(heads.tolist(), labels=names)

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
                stream.write(columns.to_bytes_with(heads, labels, self.names.labels))
                observer.advance(len(columns))
        observer.end()
        return reader

    # Probabilities

    @property
    def temperatures(self) -> Temperatures:
        """The calibration's temperatures; 1 where none was fitted."""
        return self.calibration

    def confidence_at(self, sentences: Columns | Batch, request: ParseRequest) -> ConfidenceAt:
        """`confidence` at several temperatures: what does not depend on them is computed once."""
        return self.search.confidence_at(*self._checked(sentences, request))

    def _checked(self, sentences: Columns | Batch, request: ParseRequest) -> tuple[Batch, ParseRequest]:
        """The sentences as a batch; InputError if they have heads to keep and the search cannot keep any."""
        batch = self._as_batch(sentences, request.threads)
        if request.keep_heads and Query.GIVEN_HEADS not in self.queries:
            if np.any(batch.heads >= 0):
                raise self.search.not_answered(Query.GIVEN_HEADS)
            request = replace(request, keep_heads=False)
        return batch, request

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

        Where marks in labels tell of crossing arcs, P(head) and P(tree) are those of lifted trees, P(label)
        that of the label with any mark. Of k trees some may become the same with words put back; all stay.
        """
        request = ParseRequest(
            decode=decode,
            k=k,
            arc_table=arc_table,
            label_table=label_table,
            keep_heads=keep_heads,
            threads=threads,
        )
        t = self.temperatures if temperatures is None else temperatures
        return self.confidence_at(sentences, request)(t)

    def kbest(self, sentence: Sentence | Sequence[str], k: int, *, keep_heads: bool = False) -> list[Parsed]:
        """The k most probable trees (1 <= k <= 1000), best first; all of them where fewer exist.

        The first is what `parse` gives: of parsers that search with a beam, even where others are more
        probable. `keep_heads`: of those trees that have the heads that the sentence has, see `parse`.
        Not for second-order parsers of crossing trees, whose best trees are not known: InputError.
        """
        check_count(k)
        given = as_sentence(sentence)
        found = self.confidence(self._encoded([given], keep_heads), k=int(k), keep_heads=keep_heads)
        trees = next(make_parsed([given], found, self.names.labels, self))
        return [keep_labels(tree, given) for tree in trees] if keep_heads else trees

    # The model file

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file; `quantized` stores weights in one byte each, at a small loss of accuracy."""
        write_model(path, *self.to_parts(quantized=quantized))

    def distribution(self, sentence: Sentence | Sequence[str]) -> TreeDistribution:
        """The distribution over a sentence's trees, labels summed out; of first-order parsers."""
        batch = self.encode(columns_of_input([as_sentence(sentence)]))
        return self.search.distribution(batch, self.temperatures)

    def rounded(self) -> Parser:
        """The parser that a file saved with `quantized` holds: to see what is lost before saving."""
        return replace(
            self, names=self.names.rounded(), search=self.search.quantized(), about=dict(self.about)
        )

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""
        return parser_parts(self, quantized=quantized)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Parser:
        """The parser in a model file; its data is checked against its checksum."""
        file = read_model(path, verify=True)
        return cls.from_file(file.part("parser") if "parts" in file.metadata else file)

    @classmethod
    def from_file(cls, file: ModelFile) -> Parser:
        """The parser in a file, or in a part of one, that is read already."""
        return cls(**read_parts(file)).remember(file)
