"""Search with a model that was learned from tags alone.

Labels follow from the tree: `root`, `dep` and `punct`. Punctuation was no part of training, so it is attached
after the search, as `arbora.induction.tagged` says; its probabilities come from the best few trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from arbora import inference
from arbora.data.batch import Batch
from arbora.data.encode import Names
from arbora.errors import InputError, ModelError, NoTreeError
from arbora.formatting import counted
from arbora.induction.arc_model import ArcModel
from arbora.induction.corpus import PUNCTUATION, Group, by_length
from arbora.induction.interfaces import TagModel
from arbora.induction.tagged import Stripped, TagSentences
from arbora.induction.trees import pieces
from arbora.induction.valence_model import ValenceModel
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import PartKind, Query, Roots, Trees
from arbora.parsing.parser import Parser
from arbora.search.base import Parts, Search
from arbora.search.request import Judge, Judgement, ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Doubles as Floats
from arbora.types import Ints

LABELS = ROOT, DEPENDENT, MARK = "root", "dep", "punct"
LISTED = 8
"""Trees that the probabilities of punctuation come from."""
MODELS: dict[str, Callable[..., TagModel]] = {
    ArcModel.kind: ArcModel.from_file,
    ValenceModel.kind: ValenceModel.from_file,
}
"""What model files may hold, by kind."""


def induced_parser(model: TagModel, about: dict[str, Any] | None = None) -> Parser:
    """A parser with a model that was learned without a treebank."""
    return Parser(names=induced_names(model.tags), search=InducedSearch(model), about=about or {})


def induced_names(tags: Sequence[str]) -> Names:
    """The names of a parser whose model knows these tags."""
    return Names((*tags, PUNCTUATION), LABELS, ("upos",))


class InducedSearch(Search):
    """Exact search with a model over tags, learned without a treebank."""

    name: ClassVar[str] = "induced"
    scorer: TagModel

    def __init__(self, model: TagModel) -> None:
        self.scorer = self.model = model

    @property
    def queries(self) -> frozenset[Query]:
        answered = (Query.ARGMAX, Query.KBEST, Query.MARGINALS, Query.LOG_PARTITION, Query.GIVEN_HEADS)
        return frozenset(answered)

    @property
    def trees(self) -> Trees:
        return self.model.trees

    @property
    def roots(self) -> Roots:
        return self.model.roots

    @property
    def order(self) -> int:
        return self.model.order

    @property
    def label_count(self) -> int:
        """None was learned."""
        return 0

    def describe(self) -> str:
        tags = counted(len(self.model.tags), "tag")
        return f"a model of {self.model.kind} over {tags}, learned without a treebank"

    # Finding trees

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """O(n²) or O(n³) per sentence, as the family's argmax."""
        stripped = TagSentences(batch, self.model.tags).split(keep_heads=request.keep_heads)
        found: list[Ints] = [np.zeros(0, dtype=np.int32)] * len(stripped)
        for piece in self._pieces(stripped):
            scores = self._scores(piece, stripped, request.keep_heads, 1.0)
            with _refusals(piece, stripped, self.model):
                best = inference.argmax(scores.arcs, **scores.options(request.threads))
            for place, tree in zip(piece.places.tolist(), best, strict=True):
                found[place] = stripped[place].put_back(tree.heads[1:])
        labels = [_labels(heads, each.marks) for heads, each in zip(found, stripped, strict=True)]
        nothing = np.zeros(0, dtype=np.int32)
        return np.concatenate([nothing, *found]), np.concatenate([nothing, *labels])

    def _pieces(self, stripped: Sequence[Stripped]) -> Iterator[Group]:
        axes = 1 + self.order
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

    def judging(self, batch: Batch, request: ParseRequest) -> Judge:
        """Sums over all trees, computed again for each temperature."""
        stripped = TagSentences(batch, self.model.tags).split(keep_heads=request.keep_heads)

        def judge(temperatures: Temperatures) -> Judgement:
            found: list[dict[str, Any]] = [{}] * len(stripped)
            for piece in self._pieces(stripped):
                answers = self._judged(piece, stripped, request, temperatures)
                for place, judged in zip(piece.places.tolist(), answers, strict=True):
                    found[place] = judged
            return Judgement.joined(found)

        return judge

    def _judged(
        self, piece: Group, stripped: Sequence[Stripped], request: ParseRequest, t: Temperatures
    ) -> Iterator[dict[str, Any]]:
        """The arrays of a `Judgement` for each sentence of a piece."""
        q, threads = request, request.threads
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
            answers = Answers(trees, tables[i], self._listed(sentence, one, trees), sums[i], entropies[i])
            yield _of_sentence(sentence, answers, q, t.missed)

    def _listed(self, sentence: Stripped, scores: _Scores, trees: Sequence[Scored]) -> list[Scored]:
        """The best few trees of all words and those asked for, with their weights, for the heads of marks."""
        if sentence.kept.all():
            return []
        best = [(b.heads, b.score) for b in inference.kbest(scores.arcs[0], LISTED, **scores.plain())]
        known = {tree.tobytes() for tree, _ in best}
        best += [(heads, score) for heads, score in trees if heads.astype(np.int32).tobytes() not in known]
        top = max(score for _, score in best)
        return [(sentence.put_back(heads[1:]), float(np.exp(score - top))) for heads, score in best]

    def distribution(self, batch: Batch, temperatures: Temperatures) -> TreeDistribution:
        """Punctuation has the word before it (or after it) as its only head; other words are unaffected."""
        if self.order != 1:
            return super().distribution(batch, temperatures)
        (stripped,) = TagSentences(batch, self.model.tags).split(keep_heads=False)
        small = self.model.scores(stripped.tags[None])[PartKind.ARC][0] / temperatures.trees
        nodes = stripped.nodes
        scores = np.full((len(stripped.kept) + 1,) * 2, -np.inf)
        scores[np.ix_(nodes, nodes)] = small
        for mark in (np.flatnonzero(~stripped.kept) + 1).tolist():
            before = nodes[(nodes > 0) & (nodes < mark)]
            scores[before[-1] if len(before) else nodes[1], mark] = 0.0
        return TreeDistribution(scores, trees=self.trees, roots=self.roots)

    # The model file

    def to_parts(self, *, quantized: bool = False) -> Parts:
        tensors, settings = self.model.to_parts()
        model = self.model
        return tensors, {
            "model": model.kind,
            "trees": model.trees,
            "roots": model.roots,
            "settings": settings,
        }

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        kind, trees, roots = (file.entry(name, str) for name in ("model", "trees", "roots"))
        if kind not in MODELS or trees not in get_args(Trees) or roots not in get_args(Roots):
            raise InputError(
                f"model: expected {' or '.join(MODELS)} with its trees and roots, got {kind[:40]!r}"
            )
        if names.tags[-1:] != (PUNCTUATION,) or names.labels != LABELS:
            raise ModelError(
                "expected the tags and labels of a model learned without a treebank", source=file.source
            )
        return cls(MODELS[kind](file, names.tags[:-1], trees, roots))


Scored: TypeAlias = tuple[Ints, float]
"""Heads, and their score or weight."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model answers for one sentence without punctuation, and its trees with it."""

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
            reason = stripped[place].refusal(model.trees, model.roots)
            if not reason.startswith("no tree"):
                raise NoTreeError(reason) from None
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


def _of_sentence(
    sentence: Stripped, answers: Answers, request: ParseRequest, missed: float
) -> dict[str, Any]:
    """What a `Judgement` says of one sentence, by the names of its arrays."""
    n, trees, small = len(sentence.kept), answers.trees, answers.arcs
    words = np.arange(1, n + 1)
    is_given = request.decode == "given" and not request.k
    all_heads = [sentence.all_heads if is_given else sentence.put_back(heads[1:]) for heads, _ in trees]
    table = sentence.table(small, answers.listed)
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
        "entropies": np.array([abs(answers.entropy)]),
        "log_probabilities": np.minimum(scores - answers.log_sum, 0.0) + np.log1p(-missed),
        "scores": scores,
        "heads": np.concatenate(all_heads),
        "labels": np.concatenate([_labels(heads, sentence.marks) for heads in all_heads]),
        "head_probabilities": np.concatenate(sure),
        "label_probabilities": np.full(n * len(trees), np.nan),
        "head_entropies": np.tile(np.abs(entropies), len(trees)),
        "known_head_probabilities": np.tile(known, len(trees)),
        "known_label_probabilities": np.full(n * len(trees), np.nan),
        "arc_table": table.ravel() if request.arc_table else nothing,
        "label_table": np.zeros(n * len(trees) * len(LABELS)) if request.label_table else nothing,
    }
