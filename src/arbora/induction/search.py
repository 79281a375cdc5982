"""Search with a model that was learned from tags alone.

The model's own search finds and sums trees of words. Punctuation was no part of training, so it is attached
afterwards, as `arbora.induction.corpus` says; its probabilities come from the best few trees. Labels
follow from the tree: `root`, `dep` and `punct`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias, get_args

import numpy as np

from arbora import inference
from arbora.data.encode import Batch, Names
from arbora.errors import InputError, NoTreeError
from arbora.formatting import counted
from arbora.induction.arc_model import ArcModel
from arbora.induction.corpus import PUNCTUATION, Stripped, by_length, strip
from arbora.induction.interfaces import TagModel, best_heads
from arbora.induction.valence_model import ValenceModel
from arbora.inference.distribution import TreeDistribution
from arbora.interfaces import Best, GoldTree, PartKind, PartScores, Roots, Trees
from arbora.parsing.parser import Parser
from arbora.search.base import Parts, Search
from arbora.search.confidence import Confidence, ConfidenceAt
from arbora.search.exact import ExactSearch
from arbora.search.request import ParseRequest, Temperatures
from arbora.storage.model_file import ModelFile
from arbora.types import Bools, Doubles, Ints

LABELS = ROOT, DEPENDENT, MARK = "root", "dep", "punct"
LISTED = 8  # Trees that the probabilities of punctuation come from
MODELS: dict[str, Any] = {model.name: model for model in (ArcModel, ValenceModel)}  # In model files
Answer: TypeAlias = Callable[[list[Stripped], dict[PartKind, Doubles]], list[Any]]
"""From sentences of one length and their scores, (m, ...) each, to something for each of them."""


def induced_parser(model: TagModel, about: dict[str, Any] | None = None) -> Parser:
    """A parser with a model that was learned without a treebank."""
    return Parser(names=induced_names(model.tags), search=InducedSearch(model), about=about or {})


def induced_names(tags: Sequence[str]) -> Names:
    """The names of a parser whose model knows these tags."""
    return Names((*tags, PUNCTUATION), LABELS, ("upos",))


class InducedSearch(ExactSearch):
    """Exact search with a model over tags, learned without a treebank."""

    name: ClassVar[str] = "induced"
    recipe = ""
    is_supervised: ClassVar[bool] = False

    def __init__(self, model: TagModel) -> None:
        self.model = model
        super().__init__(model, trees=model.trees, roots=model.roots)  # type: ignore[arg-type]

    def describe(self) -> str:
        tags = counted(len(self.model.tags), "tag")
        return f"a model of {self.model.name} over {tags}, learned without a treebank"

    def best(self, batch: Batch, request: ParseRequest) -> tuple[Ints, Ints]:
        """O(n²) or O(n³) per sentence, as the family's argmax."""
        stripped = strip(batch.columns, batch.heads, self.model.tags, keep_heads=request.keep_heads)

        def best_trees(sentences: list[Stripped], scores: PartScores) -> list[Ints]:
            found = best_heads(*scores.values(), **self.model.family, threads=request.threads)
            return [sentence.put_back(heads[1:]) for sentence, heads in zip(sentences, found, strict=True)]

        found = self._answers(stripped, request, best_trees)
        nothing = np.zeros(0, dtype=np.int32)
        labels = [_labels(heads, each.marks) for heads, each in zip(found, stripped, strict=True)]
        return np.concatenate([nothing, *found]), np.concatenate([nothing, *labels])

    def _answers(self, stripped: Sequence[Stripped], request: ParseRequest, answer: Answer) -> list[Any]:
        """The answers for all sentences; enforces given heads if requested, and NoTreeError names them."""
        found: list[Any] = [None] * len(stripped)
        for places, tags in by_length([each.tags for each in stripped]):
            sentences, scores = [stripped[i] for i in places.tolist()], self.model.scores(tags)
            if request.keep_heads:
                for sentence, arcs in zip(sentences, scores[PartKind.ARC], strict=True):
                    sentence.enforce_heads(arcs)
            try:
                answers = answer(sentences, scores)
            except NoTreeError:
                reasons = (each.conflict(self.trees, self.roots) for each in sentences)
                generic = "no tree of this parser has all heads that are given; unpin some"
                raise NoTreeError(next(filter(None, reasons), generic)) from None
            for place, own in zip(places.tolist(), answers, strict=True):
                found[place] = own
        return found

    checked = Search.checked  # `_answers` looks at given heads: punctuation takes part in no search
    kbest = Search.kbest  # from `confidence_at`, which puts punctuation back

    def confidence_at(self, batch: Batch, request: ParseRequest) -> ConfidenceAt:
        """Sums over all trees, computed again for each temperature."""
        stripped = strip(batch.columns, batch.heads, self.model.tags, keep_heads=request.keep_heads)

        def at(temperatures: Temperatures) -> Confidence:
            def confidences(sentences: list[Stripped], scores: PartScores) -> list[dict[str, Any]]:
                rows = [dict(zip(scores, row, strict=True)) for row in zip(*scores.values(), strict=True)]
                pairs = zip(sentences, rows, strict=True)
                return [self._with_marks(*pair, request, temperatures) for pair in pairs]

            return Confidence.joined(self._answers(stripped, request, confidences))

        return at

    def _with_marks(
        self, sentence: Stripped, scores: PartScores, request: ParseRequest, t: Temperatures
    ) -> dict[str, Any]:
        """The arrays of a `Confidence` for one sentence, punctuation included."""
        known = sentence.known_heads()
        gold = GoldTree(np.append(np.int32(-1), known), np.full(len(known) + 1, -1, dtype=np.int32))
        inner = self._confidence(scores, gold, replace(request, arc_table=True), t)
        trees, small = inner["heads"], inner["arc_table"]
        is_given = request.decode == "given" and not request.k
        heads = [sentence.all_heads] if is_given else list(map(sentence.put_back, trees))
        table = sentence.table(small, self._weighted_trees(sentence, scores, t, trees, inner["scores"]))
        n, k, words = len(sentence.kept), len(trees), np.arange(1, len(sentence.kept) + 1)
        sure = table[np.maximum(heads, 0), words]
        sure[:, sentence.kept] = inner["head_probabilities"]
        known_sure = np.full((k, n), np.nan)
        known_sure[:, sentence.kept] = inner["known_head_probabilities"].reshape(k, -1)
        logs = np.log(np.where(table > 0.0, table, 1.0))
        return {
            **inner,
            "heads": heads,
            "labels": [_labels(each, sentence.marks) for each in heads],
            "head_probabilities": sure,
            "label_probabilities": np.full((k, n), np.nan),
            "head_entropies": np.tile(np.maximum(0.0, -np.sum(table * logs, axis=0))[words], k),
            "known_head_probabilities": known_sure,
            "known_label_probabilities": np.full((k, n), np.nan),
            "arc_table": table if request.arc_table else (),
            "label_table": np.zeros((k, n, len(LABELS))) if request.label_table else (),
        }

    def _decoded(
        self, scores: PartScores, gold: GoldTree, request: ParseRequest, t: Temperatures
    ) -> list[Best]:
        """As for other searches; a given tree may be one that the model does not allow."""
        if request.k or request.decode != "given":
            return super()._decoded(scores, gold, request, t)
        arcs, siblings = scores[PartKind.ARC], scores.get(PartKind.SIBLING)
        log_probability = inference.log_prob(arcs, gold.heads, siblings=siblings, **self.model.family)
        return [Best(gold.heads, log_probability + self.family.log_partition(scores))]

    def _weighted_trees(
        self, sentence: Stripped, scores: PartScores, t: Temperatures, trees: Ints, own: Sequence[float]
    ) -> list[tuple[Ints, float]]:
        """The best few trees and the chosen ones with all words and their weights: heads of marks."""
        if sentence.kept.all():
            return []
        tempered = {kind: array / t.trees for kind, array in scores.items()}
        best = [(each.heads[1:], each.score) for each in self.family.kbest(tempered, LISTED)]
        known = {heads.tobytes() for heads, _ in best}
        best += [pair for pair in zip(trees, own, strict=True) if pair[0].tobytes() not in known]
        top = max(score for _, score in best)
        return [(sentence.put_back(heads), float(np.exp(score - top))) for heads, score in best]

    def distribution(self, batch: Batch, temperatures: Temperatures) -> TreeDistribution:
        """Punctuation has the word before it (or after it) as its only head; other words are unaffected."""
        if self.order != 1:
            return super().distribution(batch, temperatures)
        (sentence,) = strip(batch.columns, batch.heads, self.model.tags, keep_heads=False)
        nodes = sentence.nodes
        scores = np.full((len(sentence.kept) + 1,) * 2, -np.inf)
        scores[np.ix_(nodes, nodes)] = self.model.scores(sentence.tags[None])[PartKind.ARC][0]
        for mark in (np.flatnonzero(~sentence.kept) + 1).tolist():
            scores[sentence.neighbour(mark), mark] = 0.0
        return TreeDistribution(scores / temperatures.trees, **self.model.family)

    def to_parts(self, *, quantized: bool = False) -> Parts:
        settings = {"tags": list(self.model.tags), **self.model.family}
        return self.model.tensors(), {"model": self.model.name, **self.model.family, "settings": settings}

    @classmethod
    def from_file(cls, file: ModelFile, names: Names) -> Self:
        name, trees, roots = (file.entry(key, str) for key in ("model", "trees", "roots"))
        if name not in MODELS or trees not in get_args(Trees) or roots not in get_args(Roots):
            raise InputError(f"model: expected {' or '.join(MODELS)} with trees and roots, got {name[:40]!r}")
        if names.tags[-1:] != (PUNCTUATION,) or names.labels != LABELS:
            raise file.error("expected the tags and labels of a model learned without a treebank")
        return cls(MODELS[name].from_file(file, tags=names.tags[:-1], trees=trees, roots=roots))


def _labels(heads: Ints, marks: Bools) -> Ints:
    """The labels that follow from the tree, as places in LABELS."""
    found = np.where(marks, LABELS.index(MARK), LABELS.index(DEPENDENT))
    return np.where(heads == 0, LABELS.index(ROOT), found).astype(np.int32)
