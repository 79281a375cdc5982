"""The types of the annotation API's requests and responses; docs/annotate.md has an example of each.

The OpenAPI document is generated from them. Numbers of sentences and words count from 1.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from arbora.annotation.changes import AnyEdit, Node, Object, Text, WordNumber
from arbora.annotation.draft import By, Column, State

Number = Annotated[int, Meta(ge=1, lt=10**9, description="The number of a sentence.")]
Version = Annotated[str, Meta(max_length=40, description="Of the sentence, as it was loaded.")]
Probability = Annotated[float, Meta(ge=0, le=1.000001)]
Order: TypeAlias = Literal["doubt", "diversity", "text"]


# Requests


class Nothing(Object):
    """An empty object."""


class ListRequest(Object):
    """Which sentences to list; `start` is a place among those that match."""

    start: Number = 1
    count: Annotated[int, Meta(ge=1, le=500)] = 100
    states: list[State] | None = None
    contains: Text | None = None


class SentenceRequest(Object):
    """A sentence to load."""

    number: Number


class EditRequest(Object):
    """A change of a sentence; `reparse`: then let the parser re-attach all undecided words."""

    number: Number
    version: Version
    edit: AnyEdit
    reparse: bool = True


class ChoicesRequest(Object):
    """A word whose heads to rank, and the head whose labels to rank; null: the present head."""

    number: Number
    version: Version
    word: WordNumber
    head: Node | None = None


class TreesRequest(Object):
    """How many trees to return."""

    number: Number
    version: Version
    k: Annotated[int, Meta(ge=1, le=20)] = 5


class NextRequest(Object):
    """A request for the next question. `skip`: pairs of sentence and word; word 0 is the whole sentence."""

    order: Order = "text"
    unit: Literal["sentence", "arc"] = "sentence"
    after: Annotated[int, Meta(ge=0, lt=10**9)] = 0
    skip: Annotated[list[tuple[int, int]], Meta(max_length=1000)] = msgspec.field(default_factory=list)


class LearnRequest(Object):
    """Start or cancel learning, or look for improbable arcs in the sentences that are done."""

    do: Literal["start", "cancel", "check"]


class FindingsRequest(Object):
    """Which of the marked words to list; `start` is a place among them."""

    start: Number = 1
    count: Annotated[int, Meta(ge=1, le=500)] = 100


class SettleRequest(Object):
    """A marked word that is right as it is; `right` false: mark it again."""

    number: Number
    version: Version
    word: WordNumber
    right: bool = True


class SaveRequest(Object):
    """The name of a copy, in the folder of the treebank."""

    name: Annotated[str, Meta(max_length=200)]


class ExportRequest(Object):
    """An export: with our marks or without, and sentences in these states (null: all)."""

    marks: bool = False
    states: list[State] | None = None


# Responses


class Proposal(Object):
    """The arc that the parser proposes instead of an improbable one."""

    head: int
    deprel: str


class WordView(Object):
    """A word; probabilities are those of the shown arc, null if unknown."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None
    deprel: str
    misc: str
    space_after: bool
    by: dict[Column, By | None]
    head_probability: Probability | None
    label_probability: Probability | None
    faults: Annotated[list[str], Meta(description="Why it may be wrong.")]
    proposal: Annotated[Proposal | None, Meta(description="Instead of an arc that a check found improbable.")]


class TokenView(Object):
    """A multiword token."""

    first: int
    last: int
    form: str
    misc: str


class SentenceView(Object):
    """A sentence with everything that can be edited, and the model's probabilities."""

    number: int
    version: str
    state: State
    text: str
    sent_id: str | None
    words: list[WordView]
    tokens: list[TokenView]
    empty_nodes: int
    corrections: int
    doubtful: Annotated[int | None, Meta(description="The most doubtful word that no human decided.")]
    probability: Probability | None
    entropy: float | None
    notes: list[str]


class SentenceRow(Object):
    """A sentence in a list."""

    number: int
    version: str
    state: State
    text: str
    words: int
    decided: int
    suspicious: Annotated[int, Meta(description="Improbable arcs that a check has found.")]


class SentenceList(Object):
    """The sentences that match."""

    total: int
    sentences: list[SentenceRow]


class Finding(Object):
    """A word that may be wrong, and why."""

    number: int
    version: str
    word: int
    form: str
    faults: list[str]
    probability: Annotated[Probability | None, Meta(description="Of its head; null: it is not improbable.")]
    proposal: Proposal | None


class FindingList(Object):
    """Words that may be wrong: improbable arcs, the likeliest errors first, then other faults."""

    total: int
    findings: list[Finding]


class ModelView(Object):
    """The present model."""

    name: str
    number: int
    source: Literal["given", "induced", "learned"]
    probabilities: bool
    ranks: bool
    labels: list[str]
    tags_words: bool
    calibrated: bool


class LearningView(Object):
    """The state of background training; `since` counts decisions since the last training."""

    phase: Literal["idle", "training", "parsing", "checking"]
    every: int
    since: int
    message: str
    error: str | None


class LimitsView(Object):
    """Limits of requests."""

    words: int
    body: int


class ProjectView(Object):
    """The whole project; `revision` grows with every change."""

    file: str
    name: str
    sentences: int
    words: int
    states: dict[State, int]
    decisions: int
    undo: str | None
    redo: str | None
    changed_outside: bool
    revision: int
    roots: Literal["single", "multi"]
    version: str
    model: ModelView | None
    learning: LearningView
    orders: list[Order]
    upos: list[str]
    deprels: list[str]
    limits: LimitsView
    notes: list[str]


class EditResponse(Object):
    """The sentences that changed, from `first` on; later numbers grow by `shift`."""

    sentences: list[SentenceView]
    first: int
    shift: int
    reparsed: list[int]
    what: str
    project: ProjectView


class HeadChoice(Object):
    """A possible head; probability null: unknown."""

    head: int
    form: str
    probability: Probability | None


class LabelChoice(Object):
    """A possible label; probability null: the model does not know it."""

    deprel: str
    probability: Probability | None


class Choices(Object):
    """Heads of a word, and labels of the arc from `head`, the likeliest first."""

    heads: list[HeadChoice]
    head: int | None
    labels: list[LabelChoice]
    notes: list[str]


class TreeView(Object):
    """A tree with the heads that humans decided."""

    probability: Probability | None
    heads: list[int]
    deprels: list[str]
    head_probabilities: list[Probability | None]


class Trees(Object):
    """The most probable tree first."""

    trees: list[TreeView]
    notes: list[str]


class Question(Object):
    """The next question; number null: none is left. `left` counts the open questions."""

    number: int | None
    word: int | None
    doubt: float | None
    left: int
    notes: list[str]


class CurvePoint(Object):
    """The scores of one model on the held-out part, in percent."""

    decisions: int
    done: int
    las: float | None
    uas: float | None
    held_out_words: int
    source: Literal["given", "induced", "learned"]


class Effort(Object):
    """How many heads and labels a human changed in a sentence."""

    words: int
    corrections: int


class Curve(Object):
    """How the model and the work develop."""

    points: list[CurvePoint]
    sentences: Annotated[list[Effort], Meta(description="Those that were done last, the latest last.")]
    held_out: str


class Saved(Object):
    """The file that was written."""

    file: str
