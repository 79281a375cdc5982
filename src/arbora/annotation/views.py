"""The API's views of drafts and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from arbora.annotation import api
from arbora.annotation.assistant import Assistant, Belief
from arbora.annotation.draft import COLUMNS, Draft, Node, State
from arbora.annotation.findings import Findings, ImprobableArc, key_of
from arbora.annotation.texts import version_of
from arbora.data.sentence import NO_HEAD

_UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_DEPRELS = (
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated "
    "expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum "
    "root vocative xcomp"
)
UPOS = tuple(_UPOS.split())
"""The tags of Universal Dependencies."""
DEPRELS = tuple(_DEPRELS.split())
"""The relations of Universal Dependencies."""
NO_MODEL = "there is no model yet, so these arcs have no probabilities"


class Summary(NamedTuple):
    """The part of a sentence for lists and totals."""

    version: str
    state: State
    words: int
    decided: int
    corrections: int
    upos: tuple[str, ...]
    deprels: tuple[str, ...]
    roots: int
    key: str
    """See `key_of`."""
    faulty: tuple[int, ...]
    """Words whose tag or relation is no valid one."""

    @classmethod
    def of(cls, draft: Draft, text: str) -> Summary:
        return cls(
            version=version_of(text),
            state=draft.state,
            words=len(draft),
            decided=draft.decided,
            corrections=draft.corrections,
            upos=tuple({node.upos for node in draft.nodes}),
            deprels=tuple(node.deprel for node in draft.nodes),
            roots=sum(node.head == 0 for node in draft.nodes),
            key=key_of(draft),
            faulty=tuple(word for word, node in enumerate(draft.nodes, start=1) if _faults(node)),
        )


class Totals:
    """Sums over the sentences of a project, kept as these change."""

    def __init__(self) -> None:
        self.states: Counter[State] = Counter()
        self.words = 0
        self.decisions = 0
        self.upos: Counter[str] = Counter()
        self.deprels: Counter[str] = Counter()

    def add(self, summaries: Iterable[Summary], sign: int = 1) -> None:
        """Add sentences, or remove them with sign -1."""
        for each in summaries:
            self.states[each.state] += sign
            self.words += sign * each.words
            self.decisions += sign * each.decided
            for tag in each.upos:
                self.upos[tag] += sign
            for label in each.deprels:
                self.deprels[label] += sign


def known_first(counts: Counter[str], universal: tuple[str, ...]) -> list[str]:
    """Universal names, then others that occur, the frequent ones first."""
    others = [name for name, count in counts.most_common() if count > 0 and name not in universal]
    return [*universal, *(name for name in others if name != "_")]


class Mark(NamedTuple):
    """Why a word may be wrong: messages, and the arc that a check found improbable."""

    faults: list[str]
    arc: ImprobableArc | None

    @property
    def proposal(self) -> api.Proposal | None:
        """The arc that the check proposes."""
        return None if self.arc is None else api.Proposal(self.arc.proposed_head, self.arc.proposed_deprel)


def marks_of(draft: Draft, key: str, findings: Findings) -> dict[int, Mark]:
    """The words that may be wrong, without those that a human found right."""
    improbable, right = findings.improbable(draft, key), findings.right(draft, key)
    marks = {}
    for word, node in enumerate(draft.nodes, start=1):
        arc, faults = improbable.get(word), [*_faults(node), *findings.messages(draft, key, word)]
        if arc is not None:
            proposed = f"{draft.name(arc.proposed_head)} with the label {arc.proposed_deprel}"
            share = f"{arc.probability:.1%}"
            faults.append(f"improbable ({share}); the check proposes {proposed}")
        if faults and word not in right:
            marks[word] = Mark(faults, arc)
    return marks


def view_sentence(
    draft: Draft, text: str, number: int, belief: Belief | None, marks: Mapping[int, Mark]
) -> api.SentenceView:
    """A sentence with the model's probabilities of its arcs; None: there is no model."""
    unmarked = Mark([], None)
    unknown: list[float | None] = [None] * len(draft)
    heads, labels = (unknown, unknown) if belief is None else (belief.heads, belief.labels)
    words = [
        api.WordView(
            id=word,
            form=node.form,
            lemma=node.lemma,
            upos=node.upos,
            xpos=node.xpos,
            feats=node.feats,
            head=None if node.head == NO_HEAD else node.head,
            deprel=node.deprel,
            misc=node.misc,
            space_after=node.space_after,
            by={column: node.by(column) for column in COLUMNS},
            head_probability=rounded(heads[word - 1]),
            label_probability=rounded(labels[word - 1]),
            faults=marks.get(word, unmarked).faults,
            proposal=marks.get(word, unmarked).proposal,
        )
        for word, node in enumerate(draft.nodes, start=1)
    ]
    metadata = draft.to_sentence(marks=False).metadata
    return api.SentenceView(
        number=number,
        version=version_of(text),
        state=draft.state,
        text=metadata.get("text", draft.text),
        sent_id=metadata.get("sent_id"),
        words=words,
        tokens=[api.TokenView(t.first, t.last, t.form, t.misc) for t in draft.tokens],
        empty_nodes=len(draft.empty),
        corrections=draft.corrections,
        doubtful=_most_doubtful(words),
        probability=None if belief is None else rounded(belief.probability),
        entropy=None if belief is None else belief.entropy,
        notes=[NO_MODEL] if belief is None else belief.notes,
    )


def _most_doubtful(words: list[api.WordView]) -> int | None:
    """The word that no human decided with the least probable arc; one without a head first."""
    open_words = [word for word in words if word.by["head"] != "human"]
    missing = [word.id for word in open_words if word.head is None]
    known = [
        (
            (word.head_probability or 0.0)
            * (1.0 if word.label_probability is None else word.label_probability),
            word.id,
        )
        for word in open_words
        if word.head_probability is not None
    ]
    if missing:
        return missing[0]
    return min(known)[1] if known else None


def _faults(node: Node) -> list[str]:
    """What is wrong with the values that humans decided."""
    faults = []
    if node.by("upos") == "human" and node.upos not in (*UPOS, "_"):
        faults.append(f"{node.upos} is not a UPOS tag of Universal Dependencies")
    if node.by("deprel") != "human" or node.deprel == "_":
        return faults
    if node.deprel.partition(":")[0] not in DEPRELS:
        faults.append(f"{node.deprel} is not a relation of Universal Dependencies")
    if node.head == 0 and node.deprel != "root":
        faults.append(f"the label of a root is root, not {node.deprel}")
    if node.head > 0 and node.deprel == "root":
        faults.append("only the root of a sentence has the label root")
    return faults


def view_model(assistant: Assistant) -> api.ModelView:
    """Describe a model."""
    return api.ModelView(
        name=assistant.name,
        number=assistant.number,
        source=assistant.source,
        probabilities=assistant.knows_arcs,
        ranks=assistant.ranks,
        labels=list(assistant.parser.plain_labels),
        tags_words=assistant.pipeline.annotator is not None and assistant.writes_tags,
        calibrated=assistant.parser.is_calibrated,
    )


def rounded(value: float | None) -> float | None:
    """Six digits, within [0, 1]; None if unknown."""
    return None if value is None or value != value else float(f"{min(1.0, max(0.0, value)):.6g}")
