"""How training goes, on stderr: bars on a terminal, a line per epoch elsewhere, nothing where asked for."""

from __future__ import annotations

import time
from enum import Enum, auto
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from arbora.cli.console import draws_bars, make_console
from arbora.cli.files import say
from arbora.cli.texts import show_loss, show_scores, show_seconds
from arbora.progress import EpochReport

if TYPE_CHECKING:
    from rich.console import Console

REFRESH_SECONDS = 0.1
WIDE = 120
"""Characters that bars with all scores fit into."""


class Mode(Enum):
    """How much is shown."""

    BARS = auto()
    LINES = auto()
    NOTHING = auto()


def choose_mode(*, quiet: bool) -> Mode:
    """Bars need a terminal that may be sent escape codes."""
    if quiet:
        return Mode.NOTHING
    return Mode.BARS if draws_bars() else Mode.LINES


class SpeedColumn(ProgressColumn):
    """Sentences per second."""

    def render(self, task: Task) -> Text:
        """The speed as it is now, or on the whole where the task is finished."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")


class ScoresColumn(ProgressColumn):
    """The text that gives way where a terminal is narrow."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=False, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        """One line of it."""
        return Text(task.fields["scores"], no_wrap=True, overflow="ellipsis")


class Bars:
    """Bars on stderr while a block runs, where the mode says so; what they leave is gone with them."""

    def __init__(self, mode: Mode, console: Console, *columns: ProgressColumn) -> None:
        self.mode = mode
        self._bars = Progress(
            *columns,
            console=console,
            transient=True,
            disable=mode is not Mode.BARS,
            refresh_per_second=4,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def note(self, text: str) -> None:
        """Something that the user should know: above the bars."""
        if self.mode is not Mode.NOTHING:
            self._bars.console.print(f"note: {text}", markup=False, soft_wrap=True)


class TrainingProgress(Bars):
    """An observer of training that shows how far it is, how long it will take, and the scores so far.

    Also keeps what reports leave out: the seconds of each epoch that was trained here.
    """

    def __init__(self, mode: Mode) -> None:
        console = make_console(stderr=True)
        self._is_narrow = console.width < WIDE
        super().__init__(
            mode,
            console,
            TextColumn("{task.description}"),
            BarColumn(bar_width=10 if self._is_narrow else 24),
            MofNCompleteColumn(),
            SpeedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
            ScoresColumn(),
        )
        self.seconds: dict[tuple[str, int], float] = {}
        self._trials: TaskID | None = None
        self._epoch: TaskID | None = None
        self._all: TaskID | None = None
        self._waiting = 0
        self._shown = 0.0
        self._epochs = 0
        self._examples = 0
        self._begun = 0.0
        self._done = 0
        self._best = ""

    # Several trainings, one after the other

    def trials(self, count: int) -> None:
        """There will be so many trainings."""
        self._trials = self._bars.add_task("trainings", total=count, scores="")

    def trial_begins(self, what: str) -> None:
        """The next training."""
        if self._trials is not None:
            self._bars.update(self._trials, scores=what)

    def trial_ends(self, line: str) -> None:
        """That training is done, with a line to say about it."""
        if self._trials is not None:
            self._bars.advance(self._trials)
        if self.mode is not Mode.NOTHING:
            self._bars.console.print(line, markup=False, soft_wrap=True)

    # One training, as an observer

    def stage_begins(self, stage: str, examples: int, epochs: int, done: int) -> None:
        """New bars: one for the epoch, one for all."""
        self._hide()
        self._examples, self._epochs, self._done = examples, epochs, done
        self._begun, self._best, self._waiting = time.monotonic(), "", 0
        self._epoch = self._bars.add_task("", total=examples, scores="")
        self._all = self._bars.add_task(
            f"{stage:<6} all", total=examples * epochs, completed=examples * done, scores=""
        )
        self._begin_epoch(stage, done + 1)

    def asked(self, examples: int) -> None:
        """Move the bars, a few times a second: this is called for every sentence."""
        self._waiting += examples
        now = time.monotonic()
        if now - self._shown > REFRESH_SECONDS:
            self._flush(now)

    def epoch_ends(self, report: EpochReport) -> None:
        """Show the scores; begin the next epoch's bar."""
        epoch = report.epoch
        self.seconds[report.stage, epoch.number] = epoch.seconds
        self._flush(time.monotonic())
        scores = show_scores(report.scores)
        if report.best and scores:
            first = next(iter(report.scores.values()))
            self._best = f"best {first:.2f}" if self._is_narrow else f"best: {scores} (epoch {epoch.number})"
        if self._all is not None:
            self._bars.update(self._all, completed=self._examples * epoch.number, scores=self._best)
            self._begin_epoch(report.stage, epoch.number + 1, self._came_to(report))
        if self.mode is Mode.LINES:
            self._say_epoch(report, scores)

    def _came_to(self, report: EpochReport) -> str:
        """What an epoch came to, in few words; a narrow terminal gets the score that decides."""
        if report.scores and self._is_narrow:
            return f"last {next(iter(report.scores.values())):.2f}"
        what = self.results(report)[-1]
        return what if self._is_narrow else f"last: {what}"

    def unit(self, stage: str) -> str:
        """What the passes of a stage are called."""
        return "epoch"

    def results(self, report: EpochReport) -> list[str]:
        """What there is to say of a pass on a line of its own."""
        scores = show_scores(report.scores)
        return [f"loss {show_loss(report.epoch.loss)}", *([scores] if scores else [])]

    def _begin_epoch(self, stage: str, number: int, before: str = "") -> None:
        """The epoch's bar from its start, with what the epoch before came to."""
        if self._epoch is not None and number <= self._epochs:
            name = f"{stage:<6} {self.unit(stage)} {number}/{self._epochs}"
            self._bars.reset(self._epoch, description=name, scores=before)

    def _flush(self, now: float) -> None:
        self._shown = now
        if self._waiting and self._epoch is not None and self._all is not None:
            self._bars.advance(self._epoch, self._waiting)
            self._bars.advance(self._all, self._waiting)
        self._waiting = 0

    def _hide(self) -> None:
        for task in (self._epoch, self._all):
            if task is not None:
                self._bars.remove_task(task)
        self._epoch = self._all = None

    def _say_epoch(self, report: EpochReport, scores: str) -> None:
        number = report.epoch.number
        spent = (time.monotonic() - self._begun) / (number - self._done)
        parts = [*self.results(report), show_seconds(report.epoch.seconds)]
        if number < self._epochs:
            parts.append(f"at most {show_seconds(spent * (self._epochs - number))} left")
        best = " *" if report.best and scores else ""
        say(f"{report.stage} {self.unit(report.stage)} {number}/{self._epochs}: {', '.join(parts)}{best}")


class InductionProgress(TrainingProgress):
    """Likewise of learning without trees: a model has rounds, and an objective that rises."""

    def __init__(self, mode: Mode, model: str) -> None:
        """`model`: its name, which its stages begin with."""
        super().__init__(mode)
        self._model = model

    def unit(self, stage: str) -> str:
        """Rounds of the model; the tagger and others have epochs."""
        return "round" if stage.startswith(f"{self._model}, ") else super().unit(stage)

    def results(self, report: EpochReport) -> list[str]:
        """The objective, which is nobody's loss."""
        objective = report.scores.get("objective")
        return super().results(report) if objective is None else [f"objective {objective:.4f}"]
