"""Progress on stderr: bars on a terminal, a line per epoch elsewhere, nothing with --quiet."""

from __future__ import annotations

import time
from enum import Enum, auto
from typing import TYPE_CHECKING, Self

from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from arbora.cli.console import draws_bars, make_console, show_loss, show_scores, show_seconds
from arbora.progress import EpochReport, Silent

if TYPE_CHECKING:
    from rich.console import Console

REFRESH_SECONDS = 0.1
WIDE = 120
"""Width from which bars show all scores."""


class Mode(Enum):
    """How much is shown."""

    BARS = auto()
    LINES = auto()
    NOTHING = auto()


def choose_mode(*, quiet: bool) -> Mode:
    """Choose bars on a terminal that accepts escape codes, else lines."""
    return Mode.NOTHING if quiet else Mode.BARS if draws_bars() else Mode.LINES


class CountColumn(ProgressColumn):
    """Steps done, of how many, and how many per second."""

    def render(self, task: Task) -> Text:
        show = decimal if task.fields["unit"] == "byte" else "{:,.0f}".format
        total = "" if task.total is None else f"/{show(int(task.total))}"
        speed = task.finished_speed or task.speed
        return Text(show(int(task.completed)) + total + ("" if speed is None else f" {show(int(speed))}/s"))


class ResultColumn(ProgressColumn):
    """The text at the end, which is cut on narrow terminals."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=False, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        return Text(task.fields["result"], no_wrap=True, overflow="ellipsis")


class Screen:
    """The part of the terminal that all observers of one command draw on."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.console: Console = make_console(stderr=True)
        self.is_narrow = self.console.width < WIDE
        self.noted: set[str] = set()
        self.seconds: dict[tuple[str, int], float] = {}
        self.bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10 if self.is_narrow else 24),
            CountColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
            ResultColumn(),
            console=self.console,
            transient=True,
            disable=mode is not Mode.BARS,
            refresh_per_second=4,
        )

    def line(self, text: str) -> None:
        """Print a line above the bars."""
        if self.mode is not Mode.NOTHING:
            self.console.print(text, markup=False, soft_wrap=True)


class TerminalProgress(Silent):
    """Shows all tasks of a command: how far they are, how long they will take, and the scores so far.

    A task with epochs has two bars, one for the epoch and one for all. A child of a running task draws its
    bars below that task's, and prints no lines of its own.
    """

    def __init__(self, mode: Mode, *, parent: TerminalProgress | None = None, name: str = "") -> None:
        self._screen: Screen = parent._screen if parent is not None else Screen(mode)
        self._name = name
        self._is_inside: bool = parent is not None and (parent._task != "" or parent._is_inside)
        self._bars: list[TaskID] = []
        self._task: str = ""
        self._best = ""
        self._total: int | None = None
        self._epochs: int | None = None
        self._done = self._waiting = 0
        self._unit = "sentence"
        self._begun = self._shown = time.monotonic()

    @property
    def mode(self) -> Mode:
        return self._screen.mode

    @property
    def seconds(self) -> dict[tuple[str, int], float]:
        """The time of each epoch, by stage and number."""
        return self._screen.seconds

    def __enter__(self) -> Self:
        self._screen.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.bars.stop()

    def child(self, name: str) -> TerminalProgress:
        if self._bars:
            self._screen.bars.update(self._bars[-1], result=name)
        return TerminalProgress(self._screen.mode, parent=self, name=self._full(name))

    def begin(
        self,
        task: str,
        total: int | None = None,
        *,
        epochs: int | None = None,
        done: int = 0,
        unit: str = "sentence",
    ) -> None:
        self._hide()
        self._task = task if self._is_inside else self._full(task)
        self._total, self._epochs, self._done, self._unit = total, epochs, done, unit
        self._begun, self._best, self._waiting = time.monotonic(), "", 0
        if self._screen.mode is not Mode.BARS:
            return
        add = self._screen.bars.add_task
        if epochs is None:
            self._bars = [add(self._task, total=total, completed=done, unit=unit, result="")]
            return
        size = total or 0
        whole = f"{self._task:<6} all"
        self._bars = [
            add("", total=size, unit=unit, result=""),
            add(whole, total=size * epochs, completed=size * done, unit=unit, result=""),
        ]
        self._next_epoch(done + 1)

    def advance(self, steps: int = 1) -> None:
        self._waiting += steps
        now = time.monotonic()
        if now - self._shown > REFRESH_SECONDS:
            self._flush(now)

    def report(self, report: EpochReport) -> None:
        number = report.epoch.number
        stage = report.stage if self._is_inside else self._full(report.stage)
        self.seconds[stage, number] = report.epoch.seconds
        self._flush(time.monotonic())
        results = _results(report)
        if report.best and report.scores:
            score = next(iter(report.scores.values()))
            shown = f"{show_scores(report.scores)} (epoch {number})"
            self._best = f"best {score:.2f}" if self._screen.is_narrow else f"best: {shown}"
        if self._bars:
            self._screen.bars.update(self._bars[-1], result=self._best)
            self._screen.bars.update(self._bars[0], result=self._last(report, results))
            if self._epochs is not None:
                self._screen.bars.update(self._bars[-1], completed=(self._total or 0) * number)
                self._next_epoch(number + 1)
        if self._screen.mode is Mode.LINES and not self._is_inside:
            self._print_epoch(stage, report, results)

    def end(self, result: str = "") -> None:
        if result:
            took = f" ({show_seconds(time.monotonic() - self._begun)})"
            self._screen.line(f"{self._task or self._name}: {result}{took}")
        self._hide()
        self._task = ""

    def note(self, text: str) -> None:
        text = text if self._is_inside else self._full(text)
        if text not in self._screen.noted:  # many trainings have the same notes
            self._screen.noted.add(text)
            self._screen.line(f"note: {text}")

    def _full(self, name: str) -> str:
        return f"{self._name}: {name}" if self._name else name

    def _last(self, report: EpochReport, results: list[str]) -> str:
        """The result of the last epoch, in few words; a narrow terminal shows the first score only."""
        if not self._screen.is_narrow:
            return f"last: {results[-1]}"
        return f"last {next(iter(report.scores.values())):.2f}" if report.scores else results[-1]

    def _next_epoch(self, number: int) -> None:
        if self._epochs is not None and number <= self._epochs:
            name = f"{self._task:<6} epoch {number}/{self._epochs}"
            self._screen.bars.reset(self._bars[0], description=name)

    def _flush(self, now: float) -> None:
        self._shown = now
        for bar in self._bars:
            self._screen.bars.advance(bar, self._waiting)
        self._waiting = 0

    def _hide(self) -> None:
        for bar in self._bars:
            self._screen.bars.remove_task(bar)
        self._bars = []

    def _print_epoch(self, stage: str, report: EpochReport, results: list[str]) -> None:
        number, most = report.epoch.number, self._epochs or self._total or report.epoch.number
        parts = [*results, show_seconds(report.epoch.seconds)]
        if number < most:
            each = (time.monotonic() - self._begun) / max(1, number - self._done)
            parts.append(f"at most {show_seconds(each * (most - number))} left")
        unit = "epoch" if self._epochs is not None else self._unit
        best = " *" if report.best and report.scores else ""
        self._screen.line(f"{stage} {unit} {number}/{most}: {', '.join(parts)}{best}")


def _results(report: EpochReport) -> list[str]:
    """The loss and the scores of an epoch; a model learned without trees has an objective instead."""
    if "objective" in report.scores:
        return [f"objective {report.scores['objective']:.4f}"]
    scores = show_scores(report.scores)
    return [f"loss {show_loss(report.epoch.loss)}", *([scores] if scores else [])]
