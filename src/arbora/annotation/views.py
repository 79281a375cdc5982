"""The API's views of drafts and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from arbora.annotation import api
from arbora.annotation.assistant import Assistant, Belief
from arbora.annotation.draft import COLUMNS, Draft, State
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


def view_sentence(draft: Draft, text: str, number: int, belief: Belief | None) -> api.SentenceView:
    """A sentence with the model's probabilities of its arcs; None: there is no model."""
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
            faults=_faults(node.upos, node.deprel, node.head),
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


def _faults(upos: str, deprel: str, head: int) -> list[str]:
    faults = []
    if upos != "_" and upos not in UPOS:
        faults.append(f"{upos} is no UPOS tag of Universal Dependencies")
    if deprel != "_" and deprel.partition(":")[0] not in DEPRELS:
        faults.append(f"{deprel} is no relation of Universal Dependencies")
    if head == 0 and deprel not in ("root", "_"):
        faults.append(f"the label of a root is root, not {deprel}")
    if head > 0 and deprel == "root":
        faults.append("only the root of a sentence has the label root")
    return faults


def suspicious_words(
    report: Sequence[dict[str, Any]], drafts: Sequence[Draft], texts: Sequence[str]
) -> dict[str, dict[int, str]]:
    """What to say about improbable arcs: messages about words, by the versions of sentences."""
    found: dict[str, dict[int, str]] = {}
    for arc in report:
        draft, version = drafts[arc["sentence"]], version_of(texts[arc["sentence"]])
        proposed = f"{draft.name(arc['proposed_head'])} with the label {arc['proposed_deprel']}"
        message = f"improbable ({arc['probability']:.1%}); the parser would attach it to {proposed}"
        found.setdefault(version, {})[arc["word"]] = message
    return found


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
