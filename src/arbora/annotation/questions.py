"""The next question: a sentence or a single arc, by doubt, by diversity or in text order."""

from __future__ import annotations

from collections.abc import Sequence

from arbora.annotation import api
from arbora.annotation.assistant import Assistant
from arbora.annotation.doubt import order_arcs, order_sentences
from arbora.annotation.draft import Draft
from arbora.data.sentence import Sentence
from arbora.parsing.parsed import Parsed

MOST = 2000
"""Sentences among which the next question is looked for; parsing more would take too long."""
PIECE = 100


class Questions:
    """Orders what is open; parsed sentences are kept while the model is the same."""

    def __init__(self) -> None:
        self._model: Assistant | None = None
        self._parsed: dict[int, tuple[Draft, Parsed | None, Sentence]] = {}

    def next(
        self,
        wanted: api.NextRequest,
        drafts: Sequence[Draft],
        assistant: Assistant | None,
        notes: list[str],
    ) -> api.Question:
        """The next question; in text order without a model. `notes` are passed on."""
        skipped = {(number, word) for number, word in wanted.skip}
        pending = [
            place
            for place, draft in enumerate(drafts)
            if draft.state != "done" and (place + 1, 0) not in skipped
        ]
        if wanted.unit == "arc":
            pending = [place for place in pending if drafts[place].decided < len(drafts[place])]
            left = sum(len(drafts[place]) - drafts[place].decided for place in pending)
        else:
            left = len(pending)
        if not pending:
            return api.Question(None, None, None, left, notes)
        if wanted.order == "text" or assistant is None:
            return self._in_text(wanted, drafts, pending, skipped, left, notes)
        return self._by_doubt(wanted, drafts, pending, skipped, left, assistant, notes)

    def _in_text(
        self,
        wanted: api.NextRequest,
        drafts: Sequence[Draft],
        pending: list[int],
        skipped: set[tuple[int, int]],
        left: int,
        notes: list[str],
    ) -> api.Question:
        pending = sorted(pending, key=lambda place: (place < wanted.after, place))
        for place in pending:
            if wanted.unit == "sentence":
                return api.Question(place + 1, None, None, left, notes)
            for word, node in enumerate(drafts[place].nodes, start=1):
                if node.by("head") != "human" and (place + 1, word) not in skipped:
                    return api.Question(place + 1, word, None, left, notes)
        return api.Question(None, None, None, left, notes)

    def _by_doubt(
        self,
        wanted: api.NextRequest,
        drafts: Sequence[Draft],
        pending: list[int],
        skipped: set[tuple[int, int]],
        left: int,
        assistant: Assistant,
        notes: list[str],
    ) -> api.Question:
        if len(pending) > MOST:
            notes = [*notes, f"the next question is looked for in the first {MOST} open sentences"]
        found = self._parse(drafts, pending[:MOST], assistant)
        places = [place for place, _, _ in found]
        parsed, given = [each for _, each, _ in found], [each for _, _, each in found]
        annotated = []
        if wanted.order == "diversity":
            annotated = [draft.to_sentence(marks=False) for draft in drafts if draft.state == "done"]
        by = wanted.order
        if wanted.unit == "sentence" and parsed:
            first = order_sentences(parsed, by, n=1, annotated=annotated)[0]
            value = sum(1.0 - (p or 0.0) for p in parsed[first].head_probabilities) / len(parsed[first])
            return api.Question(places[first] + 1, None, round(value, 6), left, notes)
        if wanted.unit == "arc":
            for arc in order_arcs(parsed, by, n=len(skipped) + 1, given=given, annotated=annotated):
                number = places[arc.sentence] + 1
                if (number, arc.word) not in skipped:
                    return api.Question(number, arc.word, round(arc.doubt, 6), left, notes)
        return self._in_text(wanted, drafts, pending, skipped, left, notes)

    def _parse(
        self, drafts: Sequence[Draft], pending: Sequence[int], assistant: Assistant
    ) -> list[tuple[int, Parsed, Sentence]]:
        """The sentences that have a tree, parsed around the decisions, and before."""
        if self._model is not assistant:
            self._model, self._parsed = assistant, {}
        known = self._parsed
        todo = [place for place in pending if place not in known or known[place][0] is not drafts[place]]
        for start in range(0, len(todo), PIECE):
            piece = todo[start : start + PIECE]
            results = assistant.parsed([drafts[place] for place in piece])
            for place, (tree, given) in zip(piece, results, strict=True):
                known[place] = (drafts[place], tree, given)
        found = []
        for place in pending:
            _, parsed, sentence = known[place]
            if parsed is not None:
                found.append((place, parsed, sentence))
        return found
