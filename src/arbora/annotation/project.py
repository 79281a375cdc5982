"""A treebank being annotated: edits, undo, the model's probabilities, and the next question.

One lock guards all state. Parsing one sentence is fast and happens under it; training and parsing everything
anew happen in the background (`arbora.annotation.learning`) and take it only to read and to save.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arbora import __version__
from arbora.annotation import api, views
from arbora.annotation.arcs import forget, repair
from arbora.annotation.assistant import CONFLICT, Assistant
from arbora.annotation.draft import STATE, STATES, Draft
from arbora.annotation.editing import KEEP_TREE, apply_edit, describe
from arbora.annotation.findings import Findings, ImprobableArc, InvalidWord, key_of
from arbora.annotation.journal import Splice
from arbora.annotation.questions import Questions
from arbora.annotation.refusal import Refusal
from arbora.annotation.store import Change, Store
from arbora.annotation.structure import sentence_names
from arbora.annotation.texts import known_draft, like, plain, read_draft
from arbora.data.sentence import NO_HEAD
from arbora.errors import DataError
from arbora.interfaces import Roots

NO_MODEL = "there is no model yet: the order is that of the text"
NO_LABELS = "the model gives no probabilities of labels here: the file's labels come first, by frequency"


def no_learning() -> api.LearningView:
    """The state without a background."""
    return api.LearningView("idle", 0, 0, "", None)


@dataclass(frozen=True)
class Limits:
    """The settings of a project."""

    words: int = 300
    body: int = 1_000_000


class Project:
    """The state behind the API; safe to call from several threads."""

    def __init__(self, file: Path, folder: Path, limits: Limits | None = None) -> None:
        self.lock = threading.RLock()
        self.limits = limits or Limits()
        self.store = Store(file, folder)
        self.assistant: Assistant | None = None
        self.learning_view: Callable[[], api.LearningView] = no_learning
        """What the background does; set by `Learning`."""
        self.on_decisions: Callable[[int], None] = lambda count: None
        """Called under the lock after an edit, with the number of decisions."""
        self._questions = Questions()
        self._findings = Findings(self.store.folder)
        self._checks = 0
        self._summarise()

    def close(self) -> None:
        """Let others open the project."""
        with self.lock:
            self.store.close()

    def _summarise(self) -> None:
        self.summaries = [views.Summary.of(known_draft(text), text) for text in self.store.texts]
        self.totals = views.Totals()
        self.totals.add(self.summaries)
        self.roots: Roots = "multi" if any(each.roots > 1 for each in self.summaries) else "single"

    # Reading

    def view(self) -> api.ProjectView:
        """The whole project."""
        with self.lock:
            totals, store = self.totals, self.store
            return api.ProjectView(
                file=store.file.name,
                name=store.file.stem,
                sentences=len(store.texts),
                words=totals.words,
                states={state: totals.states[state] for state in STATES},
                decisions=totals.decisions,
                undo=store.undoable,
                redo=store.redoable,
                changed_outside=store.is_changed_outside,
                revision=store.revision + self._checks + (self.assistant.number if self.assistant else 0),
                roots=self.roots,
                version=__version__,
                model=None if self.assistant is None else views.view_model(self.assistant),
                learning=self.learning_view(),
                orders=["text", "doubt", "diversity"] if self._knows_arcs else ["text"],
                upos=views.known_first(totals.upos, views.UPOS),
                deprels=views.known_first(totals.deprels, views.DEPRELS),
                limits=api.LimitsView(self.limits.words, self.limits.body),
                notes=list(store.notes),
            )

    @property
    def _knows_arcs(self) -> bool:
        return self.assistant is not None and self.assistant.knows_arcs

    def rows(self, wanted: api.ListRequest) -> api.SentenceList:
        """Sentences in some states, or with some text."""
        with self.lock:
            states = wanted.states or STATES
            places = [i for i, each in enumerate(self.summaries) if each.state in states]
            if wanted.contains:
                needle = wanted.contains.casefold()
                words = needle.split()  # a cheap test of the lines first
                places = [i for i in places if all(word in self.store.texts[i].casefold() for word in words)]
                places = [i for i in places if needle in self._text(i).casefold()]
            chosen = places[wanted.start - 1 : wanted.start - 1 + wanted.count]
            return api.SentenceList(len(places), [self._row(place) for place in chosen])

    def _text(self, place: int) -> str:
        return known_draft(self.store.texts[place]).to_sentence(marks=False).text

    def _row(self, place: int) -> api.SentenceRow:
        own = self.summaries[place]
        return api.SentenceRow(
            number=place + 1,
            version=own.version,
            state=own.state,
            text=self._text(place)[:300],
            words=own.words,
            decided=own.decided,
            suspicious=sum(mark.arc is not None for mark in self._marks(place).values()),
        )

    def sentence(self, number: int) -> api.SentenceView:
        """One sentence with all that can be edited."""
        with self.lock:
            place = self._place(number)
            text, assistant = self.store.texts[place], self.assistant
        return self._view(text, number, assistant)

    def _view(self, text: str, number: int, assistant: Assistant | None) -> api.SentenceView:
        draft = known_draft(text)
        belief = None if assistant is None else assistant.believe(draft)
        marks = views.marks_of(draft, key_of(draft), self._findings)
        return views.view_sentence(draft, text, number, belief, marks)

    def _marks(self, place: int) -> dict[int, views.Mark]:
        own = self.summaries[place]
        if not own.faulty and own.key not in self._findings:
            return {}
        return views.marks_of(known_draft(self.store.texts[place]), own.key, self._findings)

    def findings(self, wanted: api.FindingsRequest) -> api.FindingList:
        """The words that may be wrong, the likeliest errors first."""
        with self.lock:
            rows: list[tuple[float, int, int]] = []
            for place, own in enumerate(self.summaries):
                if own.key in self._findings:
                    marks = self._marks(place).items()
                    rows += [(0.0 if m.arc is None else -m.arc.odds, place, word) for word, m in marks]
                else:
                    rows += [(0.0, place, word) for word in own.faulty]
            rows.sort()
            chosen = rows[wanted.start - 1 : wanted.start - 1 + wanted.count]
            return api.FindingList(len(rows), [self._finding(place, word) for _, place, word in chosen])

    def _finding(self, place: int, word: int) -> api.Finding:
        faults, arc = mark = self._marks(place)[word]
        form = known_draft(self.store.texts[place]).nodes[word - 1].form
        return api.Finding(
            number=place + 1,
            version=self.summaries[place].version,
            word=word,
            form=form,
            faults=faults,
            probability=None if arc is None else views.rounded(arc.probability),
            proposal=mark.proposal,
        )

    def settle(self, wanted: api.SettleRequest) -> api.SentenceView:
        """Take the mark off a word that is right as it is, or put it back."""
        with self.lock:
            place = self._place(wanted.number, wanted.version)
            draft = known_draft(self.store.texts[place])
            draft.node(wanted.word)
            try:
                self._findings.settle(draft, wanted.word, right=wanted.right)
            except OSError as error:
                raise Refusal("not_saved", f"the mark could not be saved ({error.strerror})") from None
            self._checks += 1
        return self.sentence(wanted.number)

    def _place(self, number: int, version: str | None = None) -> int:
        """The place of a sentence; Refusal if there is none, or it has changed."""
        if not 1 <= number <= len(self.store.texts):
            count = len(self.store.texts)
            raise Refusal("no_such_sentence", f"number: expected 1 to {count}, got {number}")
        if version is not None and version != self.summaries[number - 1].version:
            raise Refusal("stale", f"sentence {number} has changed meanwhile; load it again")
        return number - 1

    # Changing

    def edit(self, wanted: api.EditRequest) -> api.EditResponse:
        """Make one edit and, if asked to, parse around it."""
        with self.lock:
            place = self._place(wanted.number, wanted.version)
            others = _Others(self.store.texts, place)
            texts = others.replaced
            draft = read_draft(texts[0])
            what = describe(wanted.edit, draft)
            drafts = apply_edit(wanted.edit, draft, others, self.roots)
            for each in drafts:
                if len(each) > self.limits.words:
                    raise Refusal(
                        "sentence_too_long",
                        f"expected at most {self.limits.words} words in a sentence, got {len(each)}",
                    )
            before = [(node.head, node.deprel) for node in drafts[0].nodes]
            notes = self._reparse(drafts, wanted)
            after = [(node.head, node.deprel) for node in drafts[0].nodes]
            reparsed = [i for i, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]]
            splice = Splice(place, texts, [self._to_text(texts[0], each) for each in drafts])
            known = self.totals.decisions
            change = self._replaced(self.store.replace("edit", what, [splice]))
            self.on_decisions(max(1, self.totals.decisions - known))
            return self._response(change, reparsed, notes)

    def _to_text(self, old: str, draft: Draft) -> str:
        try:
            return like(old, draft.to_sentence())
        except DataError as error:
            raise Refusal("bad_edit", f"this would not be CoNLL-U: {error.what}") from None

    def _reparse(self, drafts: Sequence[Draft], wanted: api.EditRequest) -> list[str]:
        """Let the parser fill in undecided words; without one, drop contradictions."""
        notes: list[str] = []
        for draft in drafts:
            if isinstance(wanted.edit, KEEP_TREE) or draft.state == "done":
                continue
            if self.assistant is not None and wanted.reparse:
                notes += self.assistant.fill([draft], self.roots)
            else:
                repair(draft, self.roots)
        return notes

    def _replaced(self, change: Change) -> Change:
        """Bring summaries and totals up to date."""
        for at, before, after in change.splices:
            new = [views.Summary.of(known_draft(text), text) for text in after]
            self.totals.add(self.summaries[at : at + len(before)], -1)
            self.totals.add(new)
            self.summaries[at : at + len(before)] = new
        return change

    def _response(self, change: Change, reparsed: list[int], notes: list[str]) -> api.EditResponse:
        first, _, texts = change.splices[-1]
        shown = [self._view(text, first + 1 + i, self.assistant) for i, text in enumerate(texts)]
        for each in shown[:1]:
            each.notes = list(dict.fromkeys([*each.notes, *notes]))
        return api.EditResponse(shown, first + 1, change.shift, reparsed, change.what, self.view())

    def undo(self) -> api.EditResponse:
        """Take back the last edit."""
        with self.lock:
            return self._response(self._replaced(self.store.undo()), [], [])

    def redo(self) -> api.EditResponse:
        """Make the edit again that was undone last."""
        with self.lock:
            return self._response(self._replaced(self.store.redo()), [], [])

    def put_parsed(self, parsed: dict[str, str]) -> None:
        """Save the parser's new trees: from the text of a sentence, if it still is there, to the new one."""
        with self.lock:
            splices = [
                Splice(at, [text], [parsed[text]])
                for at, text in enumerate(self.store.texts)
                if parsed.get(text, text) != text
            ]
            if splices:
                self._replaced(self.store.replace("parse", "parsed anew", splices))

    def give_to_parser(self) -> None:
        """Let the parser change all trees of sentences without our marks."""
        with self.lock:
            splices = []
            for at, text in enumerate(self.store.texts):
                draft = read_draft(text)
                if any(node.human or node.parser for node in draft.nodes) or f"# {STATE} =" in text:
                    continue
                draft.is_done = False
                forget(draft, [])
                splices.append(Splice(at, [text], [like(text, draft.to_sentence())]))
            if splices:
                self._replaced(self.store.replace("parse", "trees of the file given to the parser", splices))

    def put_findings(
        self, arcs: dict[str, list[ImprobableArc]], invalid: dict[str, list[InvalidWord]]
    ) -> None:
        """Remember what a check found, by the keys of sentences."""
        with self.lock:
            self._findings.put(arcs, invalid)
            self._checks += 1

    def adopt(self, assistant: Assistant) -> None:
        """Use another model from now on."""
        with self.lock:
            self.assistant = assistant

    # Asking

    def choices(self, wanted: api.ChoicesRequest) -> api.Choices:
        """Heads of a word and labels of one of its arcs, likely ones first."""
        with self.lock:
            place = self._place(wanted.number, wanted.version)
            draft, assistant = known_draft(self.store.texts[place]), self.assistant
            frequent = [label for label, count in self.totals.deprels.most_common() if count > 0]
        node = draft.node(wanted.word)
        head = node.head if wanted.head is None else wanted.head
        if head > len(draft) or head == wanted.word:
            raise Refusal("no_such_word", f"head: expected another word or 0, got {head}")
        found = None if assistant is None else assistant.choices(draft, wanted.word, head)
        ranked = [] if found is None else found.heads
        shares = dict(ranked)
        heads = [h for h, _ in ranked] or [h for h in range(len(draft) + 1) if h != wanted.word]
        labels = {} if found is None else dict(found.labels)
        hidden = {"_", *labels, *(() if head == 0 else ("root",))}
        others = [name for name in (*frequent, *views.DEPRELS) if name not in hidden]
        notes = [views.NO_MODEL] if found is None else found.notes
        return api.Choices(
            [
                api.HeadChoice(h, "ROOT" if h == 0 else draft.name(h), views.rounded(shares.get(h)))
                for h in heads
            ],
            None if head == NO_HEAD else head,
            [api.LabelChoice(name, views.rounded(p)) for name, p in labels.items()]
            + [api.LabelChoice(name, None) for name in dict.fromkeys(others)],
            notes if labels else [*notes, NO_LABELS],
        )

    def trees(self, wanted: api.TreesRequest) -> api.Trees:
        """The most probable trees with the heads that humans decided."""
        with self.lock:
            place = self._place(wanted.number, wanted.version)
            draft, assistant = known_draft(self.store.texts[place]), self.assistant
        if assistant is None:
            raise Refusal("no_model", views.NO_MODEL)
        found, notes = assistant.ranked(draft, wanted.k)
        trees = [
            api.TreeView(
                views.rounded(each.probability),
                list(each.heads),
                list(each.deprels),
                [views.rounded(p) for p in each.head_probabilities],
            )
            for each in found
        ]
        return api.Trees(trees, notes)

    def next(self, wanted: api.NextRequest) -> api.Question:
        """The next question to a human."""
        with self.lock:
            assistant = self.assistant
            texts, summaries = list(self.store.texts), list(self.summaries)
        notes = []
        if wanted.order != "text" and (assistant is None or not assistant.knows_arcs):
            notes = [NO_MODEL if assistant is None else CONFLICT]
            assistant = None
        return self._questions.next(wanted, texts, summaries, assistant, notes)

    # The file

    def reload(self) -> api.ProjectView:
        """Take the file as another program left it."""
        with self.lock:
            try:
                self.store.reload()
            except DataError as error:
                raise Refusal("bad_conllu", f"the file cannot be read: {error}") from None
            except OSError as error:
                raise Refusal("not_saved", f"the file cannot be read ({error.strerror})") from None
            self._summarise()
            return self.view()

    def save_copy(self, name: str) -> api.Saved:
        """Write this version under another name."""
        with self.lock:
            return api.Saved(self.store.save_copy(name).name)

    def export(self, wanted: api.ExportRequest) -> str:
        """The treebank as CoNLL-U."""
        with self.lock:
            texts = list(self.store.texts)
            states = [each.state for each in self.summaries]
        chosen = [t for t, state in zip(texts, states, strict=True) if state in (wanted.states or STATES)]
        if wanted.marks:
            return "".join(map(plain, chosen))
        return "".join(known_draft(text).to_sentence(marks=False).to_conllu() for text in chosen)


class _Others:
    """The other sentences, for an edit of one; `replaced` holds the texts that the edit replaces."""

    def __init__(self, texts: list[str], place: int) -> None:
        self._texts, self._place = texts, place
        self.replaced = texts[place : place + 1]

    def following(self) -> Draft:
        if self._place + 1 == len(self._texts):
            raise Refusal("no_next_sentence", "this is the last sentence: nothing follows to join")
        self.replaced.append(self._texts[self._place + 1])
        return read_draft(self.replaced[1])

    def names(self) -> set[str]:
        comments = (line for text in self._texts for line in text.splitlines() if line.startswith("#"))
        return set(sentence_names(comments))
