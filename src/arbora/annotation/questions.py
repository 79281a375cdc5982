"""The next question: a sentence or a single arc, by doubt, by diversity or in text order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from arbora.annotation import api
from arbora.annotation.assistant import Assistant
from arbora.annotation.doubt import order_arcs, order_sentences
from arbora.annotation.texts import known_draft
from arbora.annotation.views import Summary
from arbora.data.sentence import Sentence
from arbora.parsing.parsed import Parsed

MOST = 2000
"""Sentences among which the next question is looked for, and that diversity avoids to repeat."""
PIECE = 100


@dataclass(frozen=True)
class Open:
    """The open questions: places of open sentences, and skipped ones."""

    texts: Sequence[str]
    pending: list[int]
    skipped: set[tuple[int, int]]
    left: int
    notes: list[str]

    @classmethod
    def of(
        cls, wanted: api.NextRequest, texts: Sequence[str], summaries: Sequence[Summary], notes: list[str]
    ) -> Open:
        skipped = {(number, word) for number, word in wanted.skip}
        pending = [
            place
            for place, each in enumerate(summaries)
            if each.state != "done" and (place + 1, 0) not in skipped
        ]
        if wanted.unit == "sentence":
            return cls(texts, pending, skipped, len(pending), notes)
        pending = [place for place in pending if summaries[place].decided < summaries[place].words]
        left = sum(summaries[place].words - summaries[place].decided for place in pending)
        return cls(texts, pending, skipped, left, notes)

    def ask(self, place: int | None, word: int | None = None, doubt: float | None = None) -> api.Question:
        """A question about a sentence or a word of it; None: no question is left."""
        number = None if place is None else place + 1
        return api.Question(number, word, None if doubt is None else round(doubt, 6), self.left, self.notes)


class Questions:
    """Orders open questions; keeps parsed sentences while the model is the same."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Assistant | None = None
        self._parsed: dict[str, tuple[Parsed | None, Sentence]] = {}

    def next(
        self,
        wanted: api.NextRequest,
        texts: Sequence[str],
        summaries: Sequence[Summary],
        assistant: Assistant | None,
        notes: list[str],
    ) -> api.Question:
        """The next question; in text order without a model. `notes` are passed on."""
        found = Open.of(wanted, texts, summaries, notes)
        if wanted.order == "text" or assistant is None or not found.pending:
            return self._in_text(wanted, found)
        done = [text for text, each in zip(texts, summaries, strict=True) if each.state == "done"]
        with self._lock:
            return self._by_doubt(wanted, found, done[-MOST:], assistant)

    def _in_text(self, wanted: api.NextRequest, found: Open) -> api.Question:
        for place in sorted(found.pending, key=lambda place: (place < wanted.after, place)):
            if wanted.unit == "sentence":
                return found.ask(place)
            for word, node in enumerate(known_draft(found.texts[place]).nodes, start=1):
                if node.by("head") != "human" and (place + 1, word) not in found.skipped:
                    return found.ask(place, word)
        return found.ask(None)

    def _by_doubt(
        self, wanted: api.NextRequest, found: Open, done: Sequence[str], assistant: Assistant
    ) -> api.Question:
        if len(found.pending) > MOST:
            found.notes.append(f"the next question is looked for in the first {MOST:,} open sentences")
        places, parsed, given = self._parse(found, assistant)
        annotated: list[Sentence] = []
        if wanted.order == "diversity":
            annotated = [known_draft(text).to_sentence(marks=False) for text in done]
        by = wanted.order
        if wanted.unit == "sentence" and parsed:
            first = order_sentences(parsed, by, n=1, annotated=annotated)[0]
            right = sum(share or 0.0 for share in parsed[first].head_probabilities)
            return found.ask(places[first], doubt=1.0 - right / len(parsed[first]))
        if wanted.unit == "arc":
            arcs = order_arcs(parsed, by, n=len(found.skipped) + 1, given=given, annotated=annotated)
            for arc in arcs:
                place = places[arc.sentence]
                if (place + 1, arc.word) not in found.skipped:
                    return found.ask(place, arc.word, arc.doubt)
        return self._in_text(wanted, found)

    def _parse(self, found: Open, assistant: Assistant) -> tuple[list[int], list[Parsed], list[Sentence]]:
        """The open sentences that have a tree: places, parsed around the decisions, and before."""
        if self._model is not assistant:
            self._model, self._parsed = assistant, {}
        places = found.pending[:MOST]
        todo = [text for text in {found.texts[place] for place in places} if text not in self._parsed]
        for start in range(0, len(todo), PIECE):
            piece = todo[start : start + PIECE]
            self._parsed.update(zip(piece, assistant.parsed([*map(known_draft, piece)]), strict=True))
        known = {place: self._parsed[found.texts[place]] for place in places}
        self._parsed = {found.texts[place]: result for place, result in known.items()}
        rows = [(place, tree, given) for place, (tree, given) in known.items() if tree is not None]
        return [place for place, _, _ in rows], [tree for _, tree, _ in rows], [given for _, _, given in rows]
