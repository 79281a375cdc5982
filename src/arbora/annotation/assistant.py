"""A model that helps a human annotate: it fills in undecided words, and gives probabilities of arcs.

Heads and labels that humans decided are kept; the parser finds the best tree around them. If there is none
(a projective parser and crossing decisions, for instance), first-order parsers look among non-projective
trees; otherwise the old tree stays as far as it agrees with the decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from arbora.annotation.arcs import repair
from arbora.annotation.draft import TAGS, Draft
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import InputError, NoTreeError
from arbora.interfaces import Query, Roots
from arbora.parsing.parsed import Parsed, label_names, make_parsed
from arbora.parsing.parser import Parser, columns_of_input
from arbora.pipeline.pipeline import Pipeline
from arbora.search.confidence import Confidence
from arbora.types import Doubles

Source: TypeAlias = Literal["given", "induced", "learned"]
NO_PROBABILITIES = "this parser gives no probabilities"
NO_TREE_PROBABILITY = (
    "this parser has no sums over trees, so the probability of a tree is unknown; parsers of order 1, or of "
    "projective trees, know it"
)
NO_RANKING = "this parser does not rank trees: only the best one is shown"
CONFLICT = "the model has no tree with all of your heads; its older proposals are kept where they fit"


class Belief(NamedTuple):
    """The model's probabilities of a draft's arcs; None if unknown."""

    heads: list[float | None]
    labels: list[float | None]
    probability: float | None
    entropy: float | None
    notes: list[str]


class Likely(NamedTuple):
    """Heads of a word and labels of one of its arcs, each with its probability, the likeliest first."""

    heads: list[tuple[int, float]]
    labels: list[tuple[str, float]]
    notes: list[str]


@dataclass(frozen=True)
class Assistant:
    """A model as the annotation uses it; safe to call from several threads."""

    pipeline: Pipeline
    name: str
    source: Source
    number: int = 0
    """Grows with every model of a project."""
    writes_tags: bool = True
    """Whether predicted tags belong into the treebank; induced word classes do not."""

    @property
    def parser(self) -> Parser:
        return self.pipeline.parser

    @property
    def knows_arcs(self) -> bool:
        return Query.MARGINALS in self.parser.queries

    @property
    def ranks(self) -> bool:
        return Query.KBEST in self.parser.queries

    @cached_property
    def _free_parser(self) -> Parser | None:
        """The parser over non-projective trees, if it can be."""
        if self.parser.search.trees == "nonprojective":
            return None
        try:
            return replace(self.parser, search=self.parser.search.with_trees("nonprojective"))
        except InputError:
            return None

    # Filling in

    def fill(self, drafts: Sequence[Draft], roots: Roots) -> list[str]:
        """Fill in tags, heads and labels that humans did not decide; return notes on what failed."""
        if not drafts:
            return []
        sentences = self.tagged(drafts)
        if self.writes_tags and self.pipeline.annotator is not None:
            for draft, sentence in zip(drafts, sentences, strict=True):
                _fill_tags(draft, sentence)
        try:
            found = self._trees(self.parser, sentences)
        except (NoTreeError, InputError):
            found = []
        if found:
            for draft, (heads, labels) in zip(drafts, found, strict=True):
                _fill_tree(draft, heads, labels)
            return []
        if len(drafts) > 1:
            return list(dict.fromkeys(note for draft in drafts for note in self.fill([draft], roots)))
        (draft,) = drafts
        try:
            if self._free_parser is not None:
                _fill_tree(draft, *self._trees(self._free_parser, sentences)[0])
                return []
        except (NoTreeError, InputError):
            pass
        repair(draft, roots)
        return [CONFLICT]

    def tagged(self, drafts: Sequence[Draft]) -> list[Sentence]:
        """The words with the tags that the parser reads, and the heads and labels that humans decided."""
        sentences = [_decided(draft) for draft in drafts]
        if not self.writes_tags:  # the model knows word classes of its own
            sentences = [without_tags(sentence) for sentence in sentences]
        nodes = enumerate(draft.nodes for draft in drafts)
        missing = [
            i for i, words in nodes if not self.writes_tags or any(_lacks(word, "upos") for word in words)
        ]
        annotator = self.pipeline.annotator
        if annotator is None or not missing:
            return sentences
        found = annotator.annotate(columns_of_input([sentences[i] for i in missing]))
        for i, tagged in zip(missing, found.sentences(), strict=True):
            sentences[i] = _with_tags(drafts[i] if self.writes_tags else None, sentences[i], tagged)
        return sentences

    def _trees(self, parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[list[int], list[str]]]:
        """Heads and labels of each sentence around the heads that it has."""
        batch = parser.encode(columns_of_input(sentences))
        known = _heads(sentences)
        batch.set_heads(known)
        heads, labels = parser.trees(batch, keep_heads=bool((known >= 0).any()))
        names = label_names(labels, parser)
        ends = np.cumsum([len(sentence) for sentence in sentences]).tolist()
        starts = [0, *ends[:-1]]
        return [
            (heads[start:end].tolist(), names[start:end]) for start, end in zip(starts, ends, strict=True)
        ]

    # Probabilities

    def parsed(self, drafts: Sequence[Draft]) -> list[tuple[Parsed | None, Sentence]]:
        """Each sentence parsed around decisions, with probabilities, and before; None if there is no tree."""
        sentences = self.tagged(drafts)
        try:
            found: list[Parsed | None] = [tree for (tree,) in self._confident(sentences)]
        except (NoTreeError, InputError):
            found = [self._parsed_alone(sentence) for sentence in sentences]
        return list(zip(found, sentences, strict=True))

    def _parsed_alone(self, sentence: Sentence) -> Parsed | None:
        try:
            return self._confident([sentence])[0][0]
        except (NoTreeError, InputError):
            return None

    def _confident(self, sentences: Sequence[Sentence], k: int = 0) -> list[list[Parsed]]:
        found = self._confidence(sentences, k=k)
        return list(make_parsed(sentences, found, self.parser, keep_heads=True))

    def _confidence(self, sentences: Sequence[Sentence], **options: Any) -> Confidence:
        batch = self.parser.encode(columns_of_input(sentences))
        heads = _heads(sentences)
        batch.set_heads(heads)
        return self.parser.confidence(batch, keep_heads=bool((heads >= 0).any()), **options)

    def believe(self, draft: Draft) -> Belief:
        """How likely the shown arcs are: the humans' without their decisions, the parser's given these."""
        n = len(draft)
        unknown: list[float | None] = [None] * n
        if not self.knows_arcs:
            return Belief(unknown, unknown, None, None, [NO_PROBABILITIES])
        (sentence,) = self.tagged([draft])
        is_decided = [head != NO_HEAD for head in sentence.heads]
        heads, labels, notes = list(unknown), list(unknown), []
        try:
            given = self._confidence([sentence], arc_table=True, label_table=True)
        except (NoTreeError, InputError):
            given = None
            notes.append(CONFLICT)
        free = (
            self._confidence([_bare(sentence)], arc_table=True, label_table=True)
            if any(is_decided)
            else given
        )
        for i, node in enumerate(draft.nodes):
            found = free if is_decided[i] else given
            if found is not None and node.head != NO_HEAD:
                heads[i] = float(found.arc_table.reshape(n + 1, n + 1)[node.head, i + 1])
                labels[i] = self._label_probability(found, i, node.head, node.deprel)
        if given is None:
            return Belief(heads, labels, None, None, notes)
        probability = float(np.exp(given.log_probabilities[0]))
        if probability != probability:
            return Belief(heads, labels, None, None, [*notes, NO_TREE_PROBABILITY])
        is_shown = given.heads.tolist() == [node.head for node in draft.nodes]
        entropy = float(given.entropies[0])
        return Belief(heads, labels, probability if is_shown else None, _known(entropy), notes)

    def _label_probability(self, found: Confidence, place: int, head: int, label: str) -> float | None:
        """P(label | head), known for the head that the parser itself chose."""
        names = self.parser.names.labels
        if not self.parser.gives_labels or found.heads[place] != head or label not in names:
            return None
        table = found.label_table.reshape(len(found.heads), -1)
        return _known(float(table[place, names.index(label)]))

    def choices(self, draft: Draft, word: int, head: int) -> Likely:
        """Heads of a word, and labels of the arc from `head`, given human decisions on other words."""
        if not self.knows_arcs:
            return Likely([], [], [NO_PROBABILITIES])
        (sentence,) = self.tagged([draft])
        n = len(sentence)
        free = _with_arc(sentence, word, NO_HEAD)
        notes: list[str] = []
        heads: list[tuple[int, float]] = []
        labels: list[tuple[str, float]] = []
        try:
            table = self._confidence([free], arc_table=True).arc_table.reshape(n + 1, n + 1)
            heads = [(h, float(table[h, word])) for h in range(n + 1) if h != word]
            heads.sort(key=lambda pair: -pair[1])
        except (NoTreeError, InputError):
            notes.append(CONFLICT)
        if self.parser.gives_labels and head != NO_HEAD:
            try:
                found = self._confidence([_with_arc(sentence, word, head)], label_table=True)
            except (NoTreeError, InputError):  # the arc contradicts other decisions: without these
                found = self._confidence([_with_arc(_bare(sentence), word, head)], label_table=True)
            labels = self._ranked_labels(found.label_table.reshape(n, -1)[word - 1])
        return Likely(heads, labels, notes)

    def _ranked_labels(self, shares: Doubles) -> list[tuple[str, float]]:
        plain = set(self.parser.plain_labels)
        pairs = zip(self.parser.names.labels, shares.tolist(), strict=True)
        return sorted(((name, p) for name, p in pairs if name in plain), key=lambda pair: -pair[1])

    def ranked(self, draft: Draft, k: int) -> tuple[list[Parsed], list[str]]:
        """The k most probable trees with the heads that humans decided, and notes."""
        sentences = self.tagged([draft])
        try:
            if self.ranks:
                return self._confident(sentences, k=k)[0], []
            return self._confident(sentences)[0], [NO_RANKING]
        except (NoTreeError, InputError):
            return [], [CONFLICT]


def _lacks(node: Any, column: str) -> bool:
    """Whether the parser may fill in a column."""
    return column not in node.human and (node.is_empty(column) or node.by(column) == "parser")


def _decided(draft: Draft) -> Sentence:
    heads, labels = tuple(draft.decided_heads()), tuple(draft.decided_labels())
    return replace(draft.to_sentence(marks=False), heads=heads, deprels=labels)


def without_tags(sentence: Sentence) -> Sentence:
    """A copy with words and tree alone."""
    empty = ("_",) * len(sentence)
    return replace(sentence, upos=empty, xpos=empty, feats=empty, lemmas=empty)


def _with_tags(draft: Draft | None, sentence: Sentence, tagged: Sentence) -> Sentence:
    """The tags of another sentence, but where a human has set them in the draft."""
    columns: dict[str, Any] = {}
    for name, own in zip(TAGS, ("upos", "xpos", "feats", "lemmas"), strict=True):
        old, new = getattr(sentence, own), getattr(tagged, own)
        free = [draft is None or _lacks(node, name) for node in (draft.nodes if draft else sentence)]
        rows = zip(free, old, new, strict=True)
        columns[own] = tuple(n if is_free and n != "_" else o for is_free, o, n in rows)
    return replace(sentence, **columns)


def _fill_tags(draft: Draft, sentence: Sentence) -> None:
    for node, word in zip(draft.nodes, sentence, strict=True):
        found = {column: getattr(word, column) for column in TAGS}
        node.fill(**{c: v for c, v in found.items() if _lacks(node, c) and v != getattr(node, c)})


def _fill_tree(draft: Draft, heads: list[int], labels: list[str]) -> None:
    for node, head, label in zip(draft.nodes, heads, labels, strict=True):
        if node.by("head") != "human":
            node.fill(head=head)
        if node.by("deprel") != "human" and label != "_":
            node.fill(deprel=label)


def _heads(sentences: Sequence[Sentence]) -> Any:
    return np.array([head for sentence in sentences for head in sentence.heads], dtype=np.int32)


def _bare(sentence: Sentence) -> Sentence:
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)


def _with_arc(sentence: Sentence, word: int, head: int) -> Sentence:
    """A copy with another head of one word, without its label."""
    heads, labels = list(sentence.heads), list(sentence.deprels)
    heads[word - 1], labels[word - 1] = head, "_"
    return replace(sentence, heads=tuple(heads), deprels=tuple(labels))


def _known(value: float) -> float | None:
    return None if value != value else value
