"""A trained parser: load it, give it words, get trees."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from arbora import compact
from arbora._core import Encoded, GraphConfidence, GraphJudge, Pruning, in_memory
from arbora.confidence import (
    Decode,
    Parsed,
    Temperatures,
    check_count,
    check_decode,
    keep_labels,
    make_parsed,
    with_kept_labels,
)
from arbora.config import from_dict, to_dict
from arbora.data.columns import Columns, parse_text
from arbora.data.encode import INPUT_COLUMNS, InputColumn, Names
from arbora.data.files import Source, open_output
from arbora.data.sentence import Sentence
from arbora.data.tree import Tree
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.distribution import TreeDistribution
from arbora.errors import InputError, ModelError, require_threads
from arbora.model_file import ModelFile, read_model, write_model
from arbora.pruner import Pruner, PrunerSettings, pruner_scorer, require_rule
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer

logger = logging.getLogger("arbora")

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int32]

KIND = "graph-parser"
HASH_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Parser:
    """Trees for tagged words: `Parser.load("da.arbora").parse(sentences)`.

    Immutable; may be used from several threads.
    """

    settings: GraphSettings
    names: Names
    seen: NDArray[np.uint8]
    """Which labels each pair of tags had in training, (64 * 64 * labels,)."""
    tree: Floats
    labels: Floats | None = None
    pruner: Pruner | None = None
    about: dict[str, Any] = field(default_factory=dict)
    """How it was made: the resolved configuration, scores on dev, epochs."""

    def __repr__(self) -> str:
        s = self.settings
        return f"<Parser: {s.trees} trees, order {s.order}, {len(self.names.labels)} labels>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scorer", self.make_scorer(self.settings, self.names, self.seen))

    @staticmethod
    def make_scorer(settings: GraphSettings, names: Names, seen: NDArray[np.uint8]) -> LinearScorer:
        """The scorer for a parser's settings."""
        return LinearScorer(settings, features.create(settings.features), labels=len(names.labels), seen=seen)

    @property
    def scorer(self) -> LinearScorer:
        """Scores of parts by these settings."""
        scorer: LinearScorer = self._scorer  # type: ignore[attr-defined]
        return scorer

    # Parsing

    def trees(
        self,
        sentences: Columns | Encoded,
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
            encoded = sentences if isinstance(sentences, Encoded) else self.names.encode(sentences)
            return self.trees_of(encoded, keep_heads=keep_heads, threads=threads)
        # Nobody asks for probabilities: one pass with sums over trees is enough.
        at_risk = self.temperatures.at_risk
        found = self.judge(
            sentences, decode=decode, temperatures=at_risk, keep_heads=keep_heads, threads=threads
        )
        return found.heads, found.labels

    def trees_of(
        self, sentences: Encoded, *, keep_heads: bool = False, threads: int = 1
    ) -> tuple[Ints, Ints]:
        """The same for sentences that are encoded already."""
        require_threads(threads)
        pruner = self.pruner
        return self.scorer.native.parse(
            sentences,
            self.tree,
            self.labels,
            self.settings.labels == "staged",
            None if pruner is None else pruner.scorer.native,
            None if pruner is None else pruner.weights,
            Pruning() if pruner is None else pruner.settings.native,
            keep_heads,
            threads,
        )

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
        encoded = self._encoded(given, keep_heads)
        if probabilities:
            found = self.judge(encoded, decode=decode, keep_heads=keep_heads, threads=threads)
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

    def _encoded(self, sentences: Sequence[Sentence], keep_heads: bool) -> Encoded:
        """The sentences without their trees, or with the heads that they have."""
        encoded = self.names.encode(_columns(sentences))
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
        progress: Callable[[int, int], None] | None = None,
    ) -> ColumnReader:
        """Reads a treebank, writes it with trees: HEAD and DEPREL change, every other byte stays.

        Streams in pieces of about a megabyte, in order; `progress` is told sentences and words so far.
        """
        reader = ColumnReader(source, format=format, lenient=lenient)
        sentences = words = 0
        with open_output(target) as stream:
            for columns in reader:
                heads, labels = self.trees(columns, threads=threads)
                stream.write(columns.to_bytes_with(heads, labels, self.names.labels))
                sentences, words = sentences + len(columns), words + columns.words
                if progress is not None:
                    progress(sentences, words)
        return reader

    # Probabilities

    @property
    def temperatures(self) -> Temperatures:
        """What scores are divided by before they become probabilities: 1 where nothing was fitted."""
        return _temperatures(self.about)

    @property
    def is_calibrated(self) -> bool:
        """Whether the temperatures were fitted on a dev set."""
        return "temperature" in self.about

    def judge(
        self,
        sentences: Columns | Encoded,
        *,
        decode: Decode | Literal["given"] = "argmax",
        k: int = 0,
        temperatures: Temperatures | None = None,
        arc_table: bool = False,
        label_table: bool = False,
        keep_heads: bool = False,
        threads: int = 1,
    ) -> GraphConfidence:
        """Trees and probabilities of all words of a treebank in one native call, as arrays.

        `decode="given"` takes the trees that the sentences have; `k` > 0 the k most probable ones. The tables
        hold the probabilities of all arcs, (n+1)² per sentence, and of all labels, (W, labels). First order
        takes O(n³) per sentence, second order with a pruner that keeps k heads O(n² k²).
        """
        t = self.temperatures if temperatures is None else temperatures
        encoded = sentences if isinstance(sentences, Encoded) else self.names.encode(sentences)
        return self._judge.judge(
            encoded,
            decode=decode,
            k=k,
            tree_temperature=t.trees,
            risk_temperature=t.risk * t.trees,
            label_temperature=t.labels,
            missed=t.missed,
            arc_table=arc_table,
            label_table=label_table,
            keep_heads=keep_heads,
            threads=threads,
        )

    @property
    def _judge(self) -> GraphJudge:
        pruner = self.pruner
        return GraphJudge(
            self.scorer.native,
            self.tree,
            self.labels,
            self.settings.labels == "staged",
            None if pruner is None else pruner.scorer.native,
            None if pruner is None else pruner.weights,
            Pruning() if pruner is None else pruner.settings.native,
        )

    def kbest(self, sentence: Sentence | Sequence[str], k: int, *, keep_heads: bool = False) -> list[Parsed]:
        """The k most probable trees (1 <= k <= 1000), best first; all of them where fewer exist.

        `keep_heads`: of those trees that have the heads that the sentence has, see `parse`.
        Not for second-order parsers of crossing trees, whose best trees are not known: InputError.
        """
        check_count(k)
        given = as_sentence(sentence)
        found = self.judge(self._encoded([given], keep_heads), k=int(k), keep_heads=keep_heads)
        trees = next(make_parsed([given], found, self.names.labels, self))
        return [keep_labels(tree, given) for tree in trees] if keep_heads else trees

    def distribution(self, sentence: Sentence | Sequence[str]) -> TreeDistribution:
        """The distribution over a sentence's trees, labels summed out; of first-order parsers."""
        if self.settings.order != 1:
            raise InputError(
                "distribution: expected a first-order parser, got one of second order; P(head), P(tree) and "
                "kbest are there for those, or train with order=1"
            )
        encoded = self.names.encode(_columns([as_sentence(sentence)]))
        t = self.temperatures
        scores = self._judge.scores(encoded, 0, tree_temperature=t.trees, label_temperature=t.labels)
        return TreeDistribution(scores, trees=self.settings.trees, roots=self.settings.roots)

    # The model file

    def rounded(self) -> Parser:
        """The parser that a file saved with `quantized` holds: to judge what is lost before saving."""
        pruner = self.pruner
        if pruner is not None:
            pruner = Pruner(pruner.settings, _rounded(pruner.weights), self.settings.roots)
        labels = None if self.labels is None else _rounded(self.labels)
        return replace(self, tree=_rounded(self.tree), labels=labels, pruner=pruner, about=dict(self.about))

    def save(self, path: str | os.PathLike[str], *, quantized: bool = False) -> None:
        """Write the model file; `quantized` stores weights in one byte each, at a small loss of accuracy."""
        write_model(path, *self.to_parts(quantized=quantized))

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""
        tables: dict[str, Floats] = {"tree": self.tree}
        if self.labels is not None:
            tables["labels"] = self.labels
        if self.pruner is not None:
            tables["pruner"] = self.pruner.weights
        tensors: dict[str, NDArray[Any]] = {"seen": np.packbits(self.seen)}
        for name, table in tables.items():
            tensors.update(compact.quantize(table, name) if quantized else {name: table})
        metadata = {
            "kind": KIND,
            "hash": HASH_VERSION,
            "settings": to_dict(self.settings),
            "pruner": None if self.pruner is None else to_dict(self.pruner.settings),
            "tags": list(self.names.tags),
            "labels": list(self.names.labels),
            "columns": None if self.names.columns is None else list(self.names.columns),
            "about": self.about,
        }
        return tensors, metadata

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Parser:
        """The parser in a model file; weights are memory-mapped, so this takes milliseconds."""
        file = read_model(path)
        return cls.from_file(file.part("parser") if "parts" in file.metadata else file)

    @classmethod
    def from_file(cls, file: ModelFile) -> Parser:
        """The parser in a file, or in a part of one, that is read already."""
        if file.entry("kind", str) != KIND or file.entry("hash", int) != HASH_VERSION:
            raise ModelError(
                f"expected a model of kind {KIND!r} with hash version {HASH_VERSION}, got "
                f"{str(file.metadata['kind'])[:40]!r} with {str(file.metadata.get('hash'))[:40]}; it is of "
                "another version",
                source=file.source,
            )
        try:
            settings = from_dict(GraphSettings, file.entry("settings", dict))
            names = Names(_names(file, "tags"), _names(file, "labels"), _input_columns(file))
            scorer = LinearScorer(settings, features.create(settings.features), labels=len(names.labels))
            pruner = _load_pruner(file, settings)
            _temperatures(file.entry("about", dict))
        except InputError as error:
            what = f"{error}; the file is damaged or from another version"
            raise ModelError(what, source=file.source) from None
        count = 64 * 64 * len(names.labels)
        seen = np.unpackbits(file.tensor("seen", np.uint8, [(count + 7) // 8]), count=count)
        return cls(
            settings=settings,
            names=names,
            seen=seen,
            tree=_table(file, "tree", scorer.size("tree")),
            labels=None if settings.labels == "none" else _table(file, "labels", scorer.size("labels")),
            pruner=pruner,
            about=file.entry("about", dict),
        )


def _temperatures(about: dict[str, Any]) -> Temperatures:
    """What a model has, or the defaults: models of earlier versions have none."""
    found = about.get("temperature", {})
    if not isinstance(found, dict):
        raise InputError(f"temperature: expected a table, got {found!r}")
    return from_dict(Temperatures, found)


def _rounded(weights: Floats) -> Floats:
    return compact.dequantize(compact.quantize(weights))


def _load_pruner(file: ModelFile, shape: GraphSettings) -> Pruner | None:
    if file.metadata.get("pruner") is None:
        return None
    settings = from_dict(PrunerSettings, file.entry("pruner", dict))
    require_rule(settings, shape.trees)
    return Pruner(settings, _table(file, "pruner", pruner_scorer(settings).size()), shape.roots)


def _names(file: ModelFile, name: str) -> tuple[str, ...]:
    found = file.entry(name, list)
    if not all(map(_is_name, found)) or len(set(found)) < len(found):
        raise InputError(f"{name}: expected texts that are all different, got others")
    return tuple(found)


def _is_name(found: object) -> bool:
    """Whether it is a text that a column of a treebank can hold."""
    return isinstance(found, str) and found != "" and not any(c in found for c in "\t\n\r")


def _input_columns(file: ModelFile) -> tuple[InputColumn, ...] | None:
    """The columns that training had; None in files of versions that did not store them."""
    if file.metadata.get("columns") is None:
        return None
    found = _names(file, "columns")
    if not set(found) <= set(INPUT_COLUMNS):
        raise InputError(f"columns: expected some of {', '.join(INPUT_COLUMNS)}, got {', '.join(found)[:80]}")
    return tuple(column for column in INPUT_COLUMNS if column in found)


def _table(file: ModelFile, name: str, size: int) -> Floats:
    if not compact.is_quantized(file.tensors, name):
        return in_memory(file.tensor(name, np.float32, [size]))
    weights = in_memory(compact.dequantize(file.tensors, name, source=file.source).reshape(-1))
    if weights.shape != (size,):
        raise ModelError(f"tensor {name!r}: expected {size} weights, got {weights.size}", source=file.source)
    return weights


def several(given: object) -> Iterable[Any]:
    """InputError where one sentence, a name or nothing was given instead of sentences."""
    if isinstance(given, Iterable) and not isinstance(given, str | Sentence):
        return given
    got = repr(given)[:80] if given is None or isinstance(given, str) else f"one {type(given).__name__}"
    advice = "read a file with arbora.read first" if isinstance(given, str) else "put it in [ ]"
    raise InputError(f"parse: expected a list of sentences, got {got}; {advice}")


def as_sentence(given: Sentence | Sequence[str]) -> Sentence:
    """A sentence, or one of the words given; InputError for anything else."""
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


def _columns(sentences: Sequence[Sentence]) -> Columns:
    """One batch of the columns that a parser reads."""
    lines: list[str] = []
    for s in sentences:
        rows = zip(s.forms, s.lemmas, s.upos, s.xpos, s.feats, strict=True)
        lines += ("\t".join((str(i), *row, "_\t_\t_\t_")) for i, row in enumerate(rows, start=1))
        lines.append("")
    return parse_text("\n".join(lines) + "\n", "conllu")
