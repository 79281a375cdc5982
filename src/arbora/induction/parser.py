"""A parser that learned from tags alone: a model's scores, a family's trees.

Trees have no labels to speak of: `root`, `dep` and `punct`, which follow from the tree. Punctuation is put
where `arbora.induction.tagged` says, given the rest of the tree; how sure that is, the best few trees tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.data.columns import Columns
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.errors import InputError, ModelError, NoTreeError, require_threads
from arbora.formatting import counted
from arbora.induction.arc_model import ArcModel
from arbora.induction.corpus import PUNCTUATION, Group, by_length
from arbora.induction.interfaces import TagModel
from arbora.induction.tagged import Stripped, TagSentences
from arbora.induction.trees import pieces
from arbora.induction.valence_model import ValenceModel
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import PartKind, Roots, Trees
from arbora.parsing._tree_parser import TreeParser, read_temperatures
from arbora.parsing.inputs import as_sentence, columns_of_input
from arbora.search.request import Judge, Judgement, Question, Temperatures
from arbora.storage.model_file import ModelFile, read_model

Ints: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]

KIND = "induced-parser"
LABELS = ROOT, DEPENDENT, MARK = "root", "dep", "punct"
LISTED = 8
"""Trees that tell how sure the heads of punctuation are."""


def _models() -> dict[str, Callable[..., TagModel]]:
    """What model files may hold, by kind."""
    return {ArcModel.kind: ArcModel.from_file, ValenceModel.kind: ValenceModel.from_file}


@dataclass(frozen=True)
class InducedShape:
    """Which trees a parser gives."""

    trees: Trees
    roots: Roots
    order: int


@dataclass(frozen=True, kw_only=True, eq=False)
class InducedParser(TreeParser[TagSentences]):
    """Trees for tagged words by a model that no treebank taught."""

    model: TagModel
    about: dict[str, Any] = field(default_factory=dict)
    """How it was made."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", Names((*self.model.tags, PUNCTUATION), LABELS, ("upos",)))

    def __repr__(self) -> str:
        how = self.about.get("model", self.model.kind)
        return f"<InducedParser: {self.model.trees} trees, {how}, {counted(len(self.model.tags), 'tag')}>"

    @property
    def shape(self) -> InducedShape:
        """Which trees it gives."""
        order = 1 if isinstance(self.model, ArcModel) else 2
        return InducedShape(self.model.trees, self.model.roots, order)

    @property
    def gives_labels(self) -> bool:
        """It learned none."""
        return False

    # Parsing

    def encode(self, sentences: Columns, *, threads: int = 1) -> TagSentences:
        """Sentences as this parser sees them."""
        return TagSentences(sentences, self.model.tags)

    def trees_of(
        self, sentences: TagSentences, *, keep_heads: bool = False, threads: int = 1
    ) -> tuple[Ints, Ints]:
        """Heads and labels of all words, (W,) each. O(n²) or O(n³) per sentence, as the family's argmax."""
        require_threads(threads)
        stripped = sentences.split(keep_heads=keep_heads)
        found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(stripped)
        for piece in self._pieces(stripped):
            scores = self._scores(piece, stripped, keep_heads, 1.0)
            with _refusals(piece, stripped, self.model):
                best = inference.argmax(scores.arcs, **scores.options(threads))
            for place, tree in zip(piece.places.tolist(), best, strict=True):
                found[place] = stripped[place].put_back(tree.heads[1:])
        labels = [_labels(heads, each.marks) for heads, each in zip(found, stripped, strict=True)]
        nothing = np.zeros(0, dtype=np.int32)
        return np.concatenate([nothing, *found]), np.concatenate([nothing, *labels])

    def _pieces(self, stripped: Sequence[Stripped]) -> Iterator[Group]:
        axes = 1 + self.shape.order
        for group in by_length([each.tags for each in stripped]):
            yield from pieces(group, axes)

    def _scores(
        self, piece: Group, stripped: Sequence[Stripped], keep_heads: bool, temperature: float
    ) -> _Scores:
        """Scores of a piece at a temperature; with what is given, all else is forbidden."""
        scores = {kind: array / temperature for kind, array in self.model.scores(piece.tags).items()}
        if keep_heads:
            for arcs, place in zip(scores[PartKind.ARC], piece.places.tolist(), strict=True):
                heads = stripped[place].known_heads()
                words = np.flatnonzero(heads >= 0) + 1
                given = arcs[heads[words - 1], words]
                arcs[:, words] = -np.inf
                # What the model forbids may still be what a person knows.
                arcs[heads[words - 1], words] = np.where(np.isfinite(given), given, 0.0)
        siblings = scores.get(PartKind.SIBLING)
        return _Scores(
            list(scores[PartKind.ARC]),
            None if siblings is None else list(siblings),
            self.model.trees,
            self.model.roots,
        )

    # Probabilities

    def judging(self, sentences: Columns | TagSentences, question: Question) -> Judge:
        """Sums over all trees, anew for each temperature."""
        require_threads(question.threads)
        given = self.encode(sentences) if isinstance(sentences, Columns) else sentences
        stripped = given.split(keep_heads=question.keep_heads)

        def judge(temperatures: Temperatures) -> Judgement:
            found: list[dict[str, Any]] = [{}] * len(stripped)
            for piece in self._pieces(stripped):
                for place, judged in zip(
                    piece.places.tolist(),
                    self._judged(piece, stripped, question, temperatures),
                    strict=True,
                ):
                    found[place] = judged
            return _joined(found)

        return judge

    def _judged(
        self, piece: Group, stripped: Sequence[Stripped], question: Question, t: Temperatures
    ) -> Iterator[dict[str, Any]]:
        """What a `Judgement` says of each sentence of a piece."""
        q, threads = question, question.threads
        scores = self._scores(piece, stripped, q.keep_heads, t.trees)
        with _refusals(piece, stripped, self.model):
            tables = scores.arc_marginals(threads)
        sums = inference.log_partition(scores.arcs, **scores.options(threads))
        entropies = inference.entropy(scores.arcs, **scores.options(threads))
        if q.decode == "minimum-risk" and not q.k:
            at_risk = self._scores(piece, stripped, q.keep_heads, t.trees * t.risk).arc_marginals(threads)
            decoded = inference.argmax(at_risk, trees=scores.trees, roots=scores.roots, threads=threads)
        for i, place in enumerate(piece.places.tolist()):
            sentence = stripped[place]
            one = scores.one(i)
            if q.k:
                trees = [(b.heads, b.score) for b in inference.kbest(one.arcs[0], q.k, **one.plain())]
            elif q.decode == "argmax":
                best = inference.argmax(one.arcs[0], **one.plain())
                trees = [(best.heads, best.score)]
            else:
                heads = decoded[i].heads if q.decode == "minimum-risk" else sentence.known_heads()
                heads = np.concatenate([[-1], heads]) if len(heads) < len(one.arcs[0]) else heads
                trees = [(heads, inference.log_prob(one.arcs[0], heads, **one.plain()) + sums[i])]
            told = Told(trees, tables[i], self._listed(sentence, one, trees), sums[i], entropies[i])
            yield _of_sentence(sentence, told, q, t.missed)

    def _listed(self, sentence: Stripped, scores: _Scores, trees: Sequence[Scored]) -> list[Scored]:
        """The best few trees of all words and those asked for, with their weights, for the heads of marks."""
        if sentence.kept.all():
            return []
        best = [(b.heads, b.score) for b in inference.kbest(scores.arcs[0], LISTED, **scores.plain())]
        known = {tree.tobytes() for tree, _ in best}
        best += [(heads, score) for heads, score in trees if heads.astype(np.int32).tobytes() not in known]
        top = max(score for _, score in best)
        return [(sentence.put_back(heads[1:]), float(np.exp(score - top))) for heads, score in best]

    def distribution(self, sentence: Sentence | Sequence[str]) -> TreeDistribution:
        """The distribution over a sentence's trees; of first-order models.

        Punctuation hangs on the word before it there (or after it), which leaves the other words' as it is.
        """
        if self.shape.order != 1:
            raise InputError(
                "distribution: expected a model of arcs (crfae, convex-mst), got one of valence; P(head), "
                "P(tree) and kbest are there for both"
            )
        (stripped,) = self.encode(columns_of_input([as_sentence(sentence)])).split(keep_heads=False)
        small = self.model.scores(stripped.tags[None])[PartKind.ARC][0] / self.temperatures.trees
        nodes = stripped.nodes
        scores = np.full((len(stripped.kept) + 1,) * 2, -np.inf)
        scores[np.ix_(nodes, nodes)] = small
        for mark in (np.flatnonzero(~stripped.kept) + 1).tolist():
            before = nodes[(nodes > 0) & (nodes < mark)]
            scores[before[-1] if len(before) else nodes[1], mark] = 0.0
        return TreeDistribution(scores, trees=self.model.trees, roots=self.model.roots)

    # The model file

    def rounded(self) -> InducedParser:
        """The same: such models are small."""
        return self

    def to_parts(self, *, quantized: bool = False) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""
        tensors, settings = self.model.to_parts()
        metadata = {
            "kind": KIND,
            "model": self.model.kind,
            "tags": list(self.model.tags),
            "trees": self.model.trees,
            "roots": self.model.roots,
            "settings": settings,
            "about": self.about,
        }
        return tensors, metadata

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> InducedParser:
        """The parser in a model file."""
        file = read_model(path, verify=True)
        return cls.from_file(file.part("parser") if "parts" in file.metadata else file)

    @classmethod
    def from_file(cls, file: ModelFile) -> InducedParser:
        """The parser in a file, or in a part of one, that is read already."""
        file.require_kind(KIND, "a parser, as `arbora induce` writes it")
        kinds, kind = _models(), file.entry("model", str)
        tags, trees, roots = file.entry("tags", list), file.entry("trees", str), file.entry("roots", str)
        good = all(isinstance(tag, str) and tag for tag in tags) and len(set(tags)) == len(tags)
        if not good or kind not in kinds or trees not in get_args(Trees) or roots not in get_args(Roots):
            raise ModelError(
                f"expected a model of kind {' or '.join(kinds)} with its tags, trees and roots, got "
                f"{kind[:40]!r}; the file is damaged or from another version",
                source=file.source,
            )
        about = file.entry("about", dict)
        try:
            read_temperatures(about)
        except InputError as error:
            raise ModelError(f"{error}; the file is damaged", source=file.source) from None
        model = kinds[kind](file, tuple(tags), trees, roots)
        return cls(model=model, about=about).remember(file)


Scored: TypeAlias = tuple[Ints, float]
"""Heads, and their score or weight."""


@dataclass(frozen=True, eq=False)
class Told:
    """What is known of one sentence without punctuation, and its trees with it."""

    trees: list[Scored]
    """Those asked for, (m+1,) each."""
    arcs: Floats
    """P(arc), (m+1, m+1)."""
    listed: list[Scored]
    """A few trees of all words, (n,) each, with weights."""
    log_sum: float
    entropy: float


@contextmanager
def _refusals(piece: Group, stripped: Sequence[Stripped], model: TagModel) -> Iterator[None]:
    """Where given heads are in no tree, says which."""
    try:
        yield
    except NoTreeError:
        for place in piece.places.tolist():
            told = stripped[place].refusal(model.trees, model.roots)
            if not told.startswith("no tree"):
                raise NoTreeError(told) from None
        raise NoTreeError(stripped[int(piece.places[0])].refusal(model.trees, model.roots)) from None


@dataclass(frozen=True, eq=False)
class _Scores:
    """Scores of sentences of one length, as `arbora.inference` takes them."""

    arcs: list[Floats]
    siblings: list[Floats] | None
    trees: Trees
    roots: Roots

    def options(self, threads: int = 1) -> dict[str, Any]:
        return {
            "siblings": self.siblings,
            "trees": self.trees,
            "roots": self.roots,
            "threads": threads,
        }

    def plain(self) -> dict[str, Any]:
        """Options for the one sentence that there is."""
        siblings = None if self.siblings is None else self.siblings[0]
        return {"siblings": siblings, "trees": self.trees, "roots": self.roots}

    def one(self, i: int) -> _Scores:
        siblings = None if self.siblings is None else [self.siblings[i]]
        return _Scores([self.arcs[i]], siblings, self.trees, self.roots)

    def arc_marginals(self, threads: int) -> list[Floats]:
        found: list[Any] = inference.marginals(self.arcs, **self.options(threads))
        return found if self.siblings is None else [each.arcs for each in found]


def _labels(heads: Ints, marks: NDArray[np.bool_]) -> Ints:
    """What follows from the tree: places in LABELS."""
    found = np.where(marks, LABELS.index(MARK), LABELS.index(DEPENDENT))
    return np.where(heads == 0, LABELS.index(ROOT), found).astype(np.int32)


def _of_sentence(sentence: Stripped, told: Told, question: Question, missed: float) -> dict[str, Any]:
    """What a `Judgement` says of one sentence, by the names of its arrays."""
    n, trees, small = len(sentence.kept), told.trees, told.arcs
    words = np.arange(1, n + 1)
    is_given = question.decode == "given" and not question.k
    all_heads = [sentence.all_heads if is_given else sentence.put_back(heads[1:]) for heads, _ in trees]
    table = sentence.table(small, told.listed)
    left = 1.0 - missed
    sure, known = [], np.full(n, np.nan)
    for (heads, _), with_marks in zip(trees, all_heads, strict=True):
        of_words = table[np.maximum(with_marks, 0), words]
        of_words[sentence.kept] = left * small[heads[1:], np.arange(1, len(heads))]
        sure.append(of_words)
    came = sentence.known_heads()
    known[sentence.kept] = np.where(
        came >= 0, left * small[np.maximum(came, 0), np.arange(1, len(came) + 1)], np.nan
    )
    logs = np.log(np.where(table > 0.0, table, 1.0))
    entropies = np.maximum(0.0, -np.sum(table * logs, axis=0))[words]
    scores = np.array([score for _, score in trees])
    nothing = np.zeros(0)
    return {
        "counts": np.array([len(trees)], dtype=np.int64),
        "entropies": np.array([abs(told.entropy)]),
        "log_probabilities": np.minimum(scores - told.log_sum, 0.0) + np.log1p(-missed),
        "scores": scores,
        "heads": np.concatenate(all_heads),
        "labels": np.concatenate([_labels(heads, sentence.marks) for heads in all_heads]),
        "head_probabilities": np.concatenate(sure),
        "label_probabilities": np.full(n * len(trees), np.nan),
        "head_entropies": np.tile(np.abs(entropies), len(trees)),
        "known_head_probabilities": np.tile(known, len(trees)),
        "known_label_probabilities": np.full(n * len(trees), np.nan),
        "arc_table": table.ravel() if question.arc_table else nothing,
        "label_table": np.zeros(n * len(trees) * len(LABELS)) if question.label_table else nothing,
    }


def _joined(found: list[dict[str, Any]]) -> Judgement:
    """All sentences in a row."""
    numbers = {"counts": np.int64, "heads": np.int32, "labels": np.int32}
    names = Judgement.__dataclass_fields__
    return Judgement(
        **{
            name: np.concatenate([np.zeros(0), *(each[name] for each in found)]).astype(
                numbers.get(name, np.float64)
            )
            for name in names
        }
    )
