"""Counts of an evaluation, and the measures that follow from them; docs/evaluation.md defines them.

Made by `arbora.evaluate`. All measures are percentages; a share of nothing is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, get_args

from arbora.errors import require_known
from arbora.types import Bools, Longs

PunctuationRule = Literal["upos", "form"]
Breakdown = Literal["label", "arc-length", "sentence-length"]
BREAKDOWNS: tuple[Breakdown, ...] = get_args(Breakdown)


def percentage(part: int, whole: int | None) -> float:
    """100 part / whole, or 0 without a whole."""
    return 100 * (part / whole) if whole else 0.0


class Share:
    """An attribute: one count of an object as a percentage of another."""

    def __init__(self, part: str, whole: str) -> None:
        self._counts = attrgetter(part, whole)

    def __get__(self, counts: object, kind: type | None = None) -> float:
        return percentage(*self._counts(counts))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Precision, recall and F1 of one group, from three counts."""

    gold: int
    predicted: int
    correct: int
    aligned: int | None = None  # how many words are aligned, where the two sides may have different words

    precision = Share("correct", "predicted")
    recall = Share("correct", "gold")
    aligned_accuracy = Share("correct", "aligned")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return percentage(2 * self.correct, self.gold + self.predicted)

    def to_json(self) -> dict[str, float]:
        names = ["gold", "predicted", "correct", "precision", "recall", "f1"]
        names += [] if self.aligned is None else ["aligned", "aligned_accuracy"]
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Attachment:
    """Attachment over one group of sentences."""

    sentences: int  # with at least one scored word
    tokens: int
    heads: int  # words with the right head
    arcs: int  # words with the right head and label
    exact: int  # sentences with every head right

    uas = Share("heads", "tokens")
    las = Share("arcs", "tokens")
    exact_match = Share("exact", "sentences")

    def to_json(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("sentences", "tokens", "uas", "las", "exact_match")}


@dataclass(frozen=True, slots=True, eq=False)
class PerSentence:
    """Counts of scored words per sentence, each of shape (sentences,), for significance tests."""

    tokens: Longs
    heads: Longs
    arcs: Longs

    def __post_init__(self) -> None:
        for counts in (self.tokens, self.heads, self.arcs):
            counts.flags.writeable = False

    def totals(self, inside: Bools) -> dict[str, int]:
        """The counts of `Attachment` over a choice of sentences."""
        found = {name: int(getattr(self, name)[inside].sum()) for name in ("tokens", "heads", "arcs")}
        exact = inside & (self.heads == self.tokens)
        return {**found, "sentences": int(inside.sum()), "exact": int(exact.sum())}


@dataclass(frozen=True, slots=True)
class Scores(Attachment):
    """All measures over one choice of words (all of them, or without punctuation)."""

    labels: int  # words with the right label
    exact_labelled: int  # sentences with every head and label right
    roots: int  # sentences where exactly the gold words are roots
    content: Agreement | None
    """Words with content relations of UD; None if the gold labels are not UD's."""
    by_label: Mapping[str, Agreement]
    by_arc_length: Mapping[str, Agreement]
    by_sentence_length: Mapping[str, Attachment]
    per_sentence: PerSentence = field(compare=False, repr=False)

    la = Share("labels", "tokens")
    exact_match_labelled = Share("exact_labelled", "sentences")
    root_accuracy = Share("roots", "sentences")

    @property
    def clas(self) -> float | None:
        """LAS of words with content relations; None if the gold labels are not UD's."""
        return None if self.content is None else self.content.f1

    def measures(self) -> dict[str, float]:
        """The measures by name, and the number of scored words."""
        result = {name: getattr(self, name) for name in ("tokens", "uas", "las", "la")}
        if (content := self.content) is not None:
            result |= {"clas": content.f1, "clas_precision": content.precision, "clas_recall": content.recall}
        names = ("exact_match", "exact_match_labelled", "root_accuracy")
        return result | {name: getattr(self, name) for name in names}

    def breakdown(self, by: Breakdown) -> Mapping[str, Agreement] | Mapping[str, Attachment]:
        """The groups of one breakdown, by name."""
        require_known("by", by, BREAKDOWNS)
        return getattr(self, f"by_{by.replace('-', '_')}")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of `evaluate`: the same measures over three choices of words.

    `all` scores every word; `nopunct` leaves out punctuation by the rule in `punctuation`; `conllx` is the
    CoNLL-X shared task's measure, whatever the other options.
    """

    sentences: int
    tokens: int
    punctuation: PunctuationRule
    subtypes: bool
    all: Scores
    nopunct: Scores
    conllx: Scores

    def __repr__(self) -> str:
        what = f"{self.sentences:,} sentences, {self.tokens:,} words"
        return f"<Evaluation of {what}: UAS {self.uas:.2f}, LAS {self.las:.2f}>"

    @property
    def uas(self) -> float:
        return self.all.uas

    @property
    def las(self) -> float:
        return self.all.las

    def to_json(self, by: Iterable[Breakdown] = (), *, nopunct: bool = False) -> dict[str, object]:
        """Plain values for `json.dumps`.

        Measures have their own name over all words, and end in `_nopunct` and `_conllx` over the others. `by`
        adds breakdowns, over all words unless `nopunct`.
        """
        result: dict[str, object] = {"sentences": self.sentences, **self.all.measures()}
        for suffix, scores in (("nopunct", self.nopunct), ("conllx", self.conllx)):
            result |= {f"{name}_{suffix}": value for name, value in scores.measures().items()}
        result |= {"punctuation": self.punctuation, "subtypes": self.subtypes}
        for name in by:
            groups = (self.nopunct if nopunct else self.all).breakdown(name)
            key = f"by_{name.replace('-', '_')}"
            result[key] = {group: value.to_json() for group, value in groups.items()}
        return result
