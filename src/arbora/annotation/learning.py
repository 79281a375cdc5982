"""Learning while a human annotates: train in a separate process, then parse unfinished sentences again.

A thread waits for the process; the API never does. At most one training runs. It starts by itself after every
N decisions, and at the beginning if there is no model. A new model replaces one that the user gave only if it
is not worse on the held-out part: a fixed share of the sentences that are done, chosen by a checksum of their
words, so that it does not change while others come and go.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from arbora.annotation import api, examples
from arbora.annotation.assistant import Assistant, Source, without_tags
from arbora.annotation.draft import Draft
from arbora.annotation.examples import HELD_OUT, LEAST_HELD_OUT, PIECE
from arbora.annotation.findings import improbable_arcs, invalid_words
from arbora.annotation.learner import INVALID, MODEL, SUSPICIOUS, TAGGED, TRAIN, WORDS, Request
from arbora.annotation.project import Project
from arbora.annotation.refusal import Refusal
from arbora.annotation.texts import like, read_draft
from arbora.data.columns import columns_of
from arbora.errors import ArboraError
from arbora.pipeline.pipeline import Pipeline, load
from arbora.storage.files import replacing

CURVE, STATE, START, LOG = "curve.jsonl", "state.json", "start.arbora", "log.txt"
ABOUT_HELD_OUT = (
    f"about {HELD_OUT:.0%} of the sentences that are done, chosen by a checksum of their words; models never "
    "learn from them"
)

COMMAND = ("-m", "arbora.annotation.learner")
"""Arguments of Python that train in a folder."""

FOLDS = 5
"""Sentences that a check needs: each fold is parsed by a parser that learned from the others."""
Phase: TypeAlias = Literal["idle", "training", "parsing", "checking"]

logger = logging.getLogger("arbora")


@dataclass
class Learning:
    """The background of a project: training and parsing."""

    project: Project
    given: Pipeline | None = None
    name: str = ""
    given_path: str | None = None
    """The file of the given model."""
    every: int = 50
    seed: int = 0
    language: str | None = None
    """Whose rules of Universal Dependencies a check tests, with `udtools`."""
    phase: Phase = "idle"
    message: str = ""
    error: str | None = None
    since: int = 0
    _thread: threading.Thread | None = None
    _process: subprocess.Popen[bytes] | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _lock: Any = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.folder = self.project.store.folder
        self.project.learning_view = self.view
        self.project.on_decisions = self.count
        self.start_assistant: Assistant | None = None
        """The model that learning starts from."""
        self._number = 0
        self._outcome = ""
        """What to say when the work is done."""

    def view(self) -> api.LearningView:
        """The state of the background."""
        return api.LearningView(self.phase, self.every, self.since, self.message, self.error)

    def curve(self) -> api.Curve:
        """How scores and corrections develop."""
        with self.project.lock:
            done = [
                api.Effort(each.words, each.corrections)
                for each in self.project.summaries
                if each.state == "done"
            ]
        return api.Curve(_read_points(self.folder / CURVE), done[-200:], ABOUT_HELD_OUT)

    # Commands

    def open(self) -> None:
        """Load the last model, or start with the given one; without any, learn one."""
        kept = self._kept_state()
        if self.given is not None:
            self.start_assistant = self._assistant(self.given, "given", self.name)
        elif (self.folder / START).exists():
            has_tags = kept.get("tags") in ("given", "predicted")
            self.start_assistant = self._assistant(load(self.folder / START), "induced", writes_tags=has_tags)
        if kept.get("source") == "learned" and (self.folder / MODEL).exists():
            found = load(self.folder / MODEL)
            self.project.adopt(self._assistant(found, "learned", writes_tags=bool(kept.get("writes_tags"))))
        elif self.start_assistant is not None:
            self.project.adopt(self.start_assistant)
        needs_model = self.project.assistant is None
        if needs_model or any(each.state == "raw" for each in self.project.summaries):
            if needs_model:
                self._begin("training", self._learn)
            else:
                self._begin("parsing", self.parse_all)

    def command(self, wanted: api.LearnRequest) -> api.ProjectView:
        """Start or cancel learning."""
        if wanted.do == "check":
            done = self.project.totals.states["done"]
            if done < FOLDS:
                raise Refusal(
                    "nothing_to_learn", f"a check needs at least {FOLDS} sentences that are done, got {done}"
                )
            self._begin_or_refuse("checking", self._check)
        elif wanted.do == "start":
            self._begin_or_refuse("training", self._learn)
        elif not self._stop():
            raise Refusal("not_learning", "nothing is being learned")
        return self.project.view()

    def count(self, decisions: int) -> None:
        """Count decisions; enough of them start a training."""
        with self._lock:
            self.since += decisions
            if self.every and self.since >= self.every:
                self._begin("training", self._learn)

    def close(self) -> None:
        """Stop running work, and wait for it."""
        self._stop()
        thread = self._thread
        if thread is not None:
            thread.join(timeout=10)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the background is idle."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _begin_or_refuse(self, phase: Phase, work: Callable[[], None]) -> None:
        if not self._begin(phase, work):
            raise Refusal("learning", "the parser learns or checks already; wait, or cancel it")

    def _begin(self, phase: Phase, work: Callable[[], None]) -> bool:
        """Start work in the background, unless there is some."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return False
            self._cancelled.clear()
            self.phase, self.error = phase, None
            self._thread = threading.Thread(
                target=self._run, args=(work,), daemon=True, name="arbora-learning"
            )
            self._thread.start()
            return True

    def _stop(self) -> bool:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                return False
            self._cancelled.set()
            if self._process is not None:
                self._process.kill()
            return True

    # The background

    def _run(self, work: Callable[[], None]) -> None:
        try:
            self._outcome = "up to date"
            work()
            self.message = self._outcome
        except Cancelled:
            self.message = "cancelled"
        except (ArboraError, OSError) as error:
            self.error, self.message = str(error), ""
        except Exception as error:
            logger.exception("learning failed")
            self.error, self.message = f"learning failed: {type(error).__name__}", ""
        finally:
            self.phase = "idle"

    def _learn(self) -> None:
        """Train and parse, again while enough decisions were made meanwhile."""
        while True:
            self.phase = "training"
            self._train()
            self.phase = "parsing"
            self.parse_all()
            with self._lock:
                if not self.every or self.since < self.every:
                    return

    def _check(self) -> None:
        """Look for improbable arcs in the sentences that are done."""
        self.message = "looking for improbable arcs"
        with self.project.lock:
            rows = zip(self.project.store.texts, self.project.summaries, strict=True)
            texts = [text for text, each in rows if each.state == "done"]
        drafts = examples.within([read_draft(text) for text in texts])
        folder = self._work_folder()
        _write(folder / TRAIN, [draft.learnable() for draft in drafts])
        self._run_learner(folder, Request("check", seed=self.seed, language=self.language))
        report, invalid = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in (SUSPICIOUS, INVALID)
        )
        self.project.put_findings(improbable_arcs(report, drafts), invalid_words(invalid, drafts))
        faults = "" if self.language is None else f" and {len(invalid):,} errors"
        self._outcome = f"{len(report):,} improbable arcs{faults} in {len(drafts):,} sentences"

    def _train(self) -> None:
        with self.project.lock:
            texts = list(self.project.store.texts)
            decisions = self.project.totals.decisions
            with self._lock:
                self.since = 0
        drafts = [read_draft(text) for text in texts]
        pool, held = examples.split(drafts, self.seed)
        if self.given is None:
            self._induce(drafts)
        start = self.start_assistant
        if not any(each.decided for each in pool):
            if start is None:
                raise Refusal("nothing_to_learn", "no model could be induced, and no head is decided yet")
            self._adopt(start, decisions, held)
            return
        self.message = f"learning from {sum(each.decided for each in pool):,} arcs"
        folder = self._work_folder()
        if start is not None and self.given is not None:
            _write(folder / TRAIN, examples.with_proposals(pool, start, self.project.roots))
        else:
            _write(folder / TRAIN, examples.decided(pool, start))
        path = None if start is None else self.given_path or str(self.folder / START)
        self._run_learner(folder, Request("learn", path, self.project.roots, self.seed))
        writes_tags = start is None or start.writes_tags
        self._adopt(
            self._assistant(load(folder / MODEL), "learned", writes_tags=writes_tags), decisions, held
        )

    def _induce(self, drafts: Sequence[Draft]) -> None:
        """Learn a first model from words alone, or a better one if there are more tags than before."""
        tags = examples.known_tags(drafts)
        if self.start_assistant is not None and self._kept_state().get("tags") == tags:
            return
        self.message = "inducing a first model from words alone"
        folder = self._work_folder()
        sentences = [examples.words_of(each) for each in examples.within(drafts)]
        if tags == "classes":
            sentences = [without_tags(sentence) for sentence in sentences]
        _write(folder / WORDS, sentences)
        if tags == "predicted":
            _write(folder / TAGGED, [examples.words_of(each) for each in examples.tagged(drafts)])
        try:
            self._run_learner(folder, Request("induce", seed=self.seed, has_tagged=tags == "predicted"))
        except LearnerError as error:
            self.message = str(error)
            return
        self._install(START, tags=tags)
        self.start_assistant = self._assistant(
            load(self.folder / START), "induced", writes_tags=tags != "classes"
        )

    def _run_learner(self, folder: Path, request: Request) -> None:
        request.write(folder)
        (folder / MODEL).unlink(missing_ok=True)
        command = [sys.executable, *COMMAND, str(folder)]
        with self._lock:
            if self._cancelled.is_set():
                raise Cancelled
            with (folder / LOG).open("wb") as log:
                process = self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
                )
        try:
            assert process.stdout is not None
            output = process.stdout.read()
            process.wait()
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
            with self._lock:
                self._process = None
        if self._cancelled.is_set():
            raise Cancelled
        lines = output.splitlines()
        report = json.loads(lines[-1]) if lines else {"error": f"the training failed; see {folder / LOG}"}
        if report["error"]:
            raise LearnerError(report["error"])

    def _adopt(self, new: Assistant, decisions: int, held: Sequence[Draft]) -> None:
        """Use a model unless it is worse than the given one, and add a point to the curve."""
        las, uas = examples.scores_on(new, held)
        chosen = new
        if new.source == "learned" and self.start_assistant is not None and self.given is not None:
            before = examples.scores_on(self.start_assistant, held)
            why = why_given_stays(las, before[0], sum(map(len, held)))
            if why:
                chosen, las, uas = self.start_assistant, *before
                self._outcome = f"{self.name} stays: {why}"
        state = {"source": chosen.source, "writes_tags": chosen.writes_tags}
        if chosen.source == "learned":
            self._install(MODEL, **state)
        else:
            self._save_state(**state)
        words = sum(map(len, held))
        done = self.project.totals.states["done"]
        point = api.CurvePoint(decisions, done, las, uas, words, chosen.source)
        with (self.folder / CURVE).open("ab") as stream:
            stream.write(msgspec.json.encode(point) + b"\n")
        self.project.adopt(chosen)

    def parse_all(self) -> None:
        """Parse all unfinished sentences again, around human decisions."""
        with self.project.lock:
            assistant, roots = self.project.assistant, self.project.roots
            texts = [
                text
                for text, each in zip(self.project.store.texts, self.project.summaries, strict=True)
                if each.state != "done" and each.words <= self.project.limits.words
            ]
        if assistant is None:
            return
        parsed: dict[str, str] = {}
        for start in range(0, len(texts), PIECE):
            if self._cancelled.is_set():
                raise Cancelled
            self.message = f"parsing sentence {start + 1:,} of {len(texts):,}"
            piece = texts[start : start + PIECE]
            drafts = [read_draft(text) for text in piece]
            assistant.fill(drafts, roots)
            for text, draft in zip(piece, drafts, strict=True):
                parsed[text] = like(text, draft.to_sentence())
        self.project.put_parsed(parsed)

    # Parts

    def _assistant(
        self, pipeline: Pipeline, source: Source, name: str = "", *, writes_tags: bool = True
    ) -> Assistant:
        self._number += 1
        return Assistant(pipeline, name or source, source, self._number, writes_tags)

    def _work_folder(self) -> Path:
        folder = self.folder / "learning"
        folder.mkdir(exist_ok=True)
        return folder

    def _install(self, name: str, **state: Any) -> None:
        """Keep the model of the last training; model and state stay consistent if the process is killed."""
        (self.folder / name).unlink(missing_ok=True)
        self._save_state(**state)
        (self._work_folder() / MODEL).replace(self.folder / name)

    def _kept_state(self) -> dict[str, Any]:
        try:
            found = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _save_state(self, **values: Any) -> None:
        with replacing(self.folder / STATE) as stream:
            stream.write(json.dumps({**self._kept_state(), **values}).encode())


def why_given_stays(learned: float | None, given: float | None, words: int) -> str:
    """Why a learned model does not replace the given one, from their LAS on held-out words; "" if it does."""
    if learned is None or given is None:
        few = f"a comparison needs {LEAST_HELD_OUT} held-out words in sentences that are done, got {words}"
        return f"{few}; finish more sentences"
    if learned < given:
        return f"LAS {given:.1f} on {words} held-out words; the learned model has {learned:.1f}"
    return ""


class Cancelled(Exception):  # noqa: N818
    """Learning was cancelled."""


class LearnerError(ArboraError):
    """The training process reported an error."""


def _write(path: Path, sentences: Sequence[Any]) -> None:
    path.write_bytes(columns_of(sentences).to_bytes() if sentences else b"")


def _read_points(path: Path) -> list[api.CurvePoint]:
    points = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            points.append(msgspec.json.decode(line, type=api.CurvePoint))
        except msgspec.MsgspecError:
            continue
    return points
