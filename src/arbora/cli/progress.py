"""Progress on stderr: bars on a terminal, a line per epoch elsewhere, nothing with --quiet."""

from __future__ import annotations

import math
import time
from copy import copy
from enum import Enum, auto
from typing import Self

from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from arbora.cli.console import (
    counted,
    draws_bars,
    make_console,
    printable,
    show_loss,
    show_scores,
    show_seconds,
)
from arbora.progress import EpochReport, Silent

REFRESH_SECONDS = 0.1
STATUS_SECONDS = 10.0
"""How often a status is printed where there are no bars."""
WIDE = 120
"""Width from which bars show all scores."""


class Mode(Enum):
    """How much is shown."""

    BARS = auto()
    LINES = auto()
    NOTHING = auto()


class CountColumn(ProgressColumn):
    """Steps done, of how many, and how many per second."""

    def render(self, task: Task) -> Text:
        show = decimal if task.fields["unit"] == "byte" else "{:,.0f}".format
        total = "" if task.total is None else f"/{show(int(task.total))}"
        speed = task.finished_speed or task.speed
        per_second = "" if speed is None or speed < 1 else f" {show(int(speed))}/s"
        return Text(show(int(task.completed)) + total + per_second)


class ResultColumn(ProgressColumn):
    """The text at the end, which is cut on narrow terminals."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=False, overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        return Text(task.fields["result"], no_wrap=True, overflow="ellipsis")


class TerminalProgress(Silent):
    """Shows all tasks of a command: how far they are, how long they will take, and the scores so far.

    A task with epochs has two bars, one for the epoch and one for all. A child of a running task draws its
    bars below that task's, and prints no lines of its own. Unless `mode` is given, there are bars on a
    terminal that accepts escape codes, else lines.
    """

    def __init__(self, mode: Mode | None = None, *, quiet: bool = False) -> None:
        self.mode = mode or (Mode.NOTHING if quiet else Mode.BARS if draws_bars() else Mode.LINES)
        self.seconds: dict[tuple[str, int], float] = {}
        """The time of each epoch, by stage and number."""
        self._console = make_console(stderr=True)
        self._is_narrow = self._console.width < WIDE
        self._noted: set[str] = set()
        self._screen = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10 if self._is_narrow else 24),
            CountColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
            ResultColumn(),
            console=self._console,
            transient=True,
            disable=self.mode is not Mode.BARS,
            refresh_per_second=4,
            speed_estimate_period=math.inf,  # a step may take hours
        )
        self._name, self._is_inside = "", False
        self._shown = time.monotonic()
        self._restart()

    def _restart(
        self, task: str = "", total: int | None = None, epochs: int | None = None, done: int = 0
    ) -> None:
        self._task, self._total, self._epochs, self._done = task, total, epochs, done
        self._begun, self._best, self._waiting = time.monotonic(), "", 0
        self._steps, self._status, self._stated = 0, "", -STATUS_SECONDS
        self._unit = "sentence"
        self._bars: list[TaskID] = []

    def __enter__(self) -> Self:
        self._screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.stop()

    def child(self, name: str) -> TerminalProgress:
        if self._bars:
            self._screen.update(self._bars[-1], result=_joined(self._status, printable(name)))
        child = copy(self)  # on the same screen
        child._restart()
        child._name, child._is_inside = self._full(name), self._task != "" or self._is_inside
        return child

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
        self._restart(printable(task if self._is_inside else self._full(task)), total, epochs, done)
        self._unit = unit
        if self.mode is not Mode.BARS:
            return
        add = self._screen.add_task
        if epochs is None:
            self._bars = [add(self._task, total=total, completed=done, unit=unit, result="")]
            self._flush(self._begun)  # the speed counts from here
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
        self._steps += steps
        now = time.monotonic()
        if now - self._shown > REFRESH_SECONDS:
            self._flush(now)

    def report(self, report: EpochReport) -> None:
        number = report.epoch.number
        stage = report.stage if self._is_inside else self._full(report.stage)
        self.seconds[stage, number] = report.epoch.seconds
        self._flush(time.monotonic())
        results = _results(report)
        best, last = f"best: {show_scores(report.scores)} (epoch {number})", f"last: {results[-1]}"
        if self._is_narrow:
            first = next((f" {score:.2f}" for score in report.scores.values()), None)
            best, last = f"best{first}", f"last{first}" if first else results[-1]
        if report.best and report.scores:
            self._best = best
        if self._bars:
            self._screen.update(self._bars[-1], result=self._best)
            self._screen.update(self._bars[0], result=last)
            if self._epochs is not None:
                self._screen.update(self._bars[-1], completed=(self._total or 0) * number)
                self._next_epoch(number + 1)
        if self.mode is Mode.LINES and not self._is_inside:
            self._print_epoch(stage, report, results)

    def status(self, text: str = "") -> None:
        self._status, now = printable(text), time.monotonic()
        self._flush(now)
        if self._bars:
            self._screen.update(self._bars[0], result=self._status)
        elif now - self._stated >= STATUS_SECONDS and not self._is_inside:
            self._stated = now
            self._print(f"{self._task}: {_joined(self._count_of(), text)}")

    def _count_of(self) -> str:
        """How far a task without bars is, and how long it will still take."""
        if not self._total:
            return counted(self._steps, self._unit)
        if not self._steps:
            return f"0 of {counted(self._total, self._unit)}"
        left = (time.monotonic() - self._begun) / self._steps * (self._total - self._steps)
        return f"{self._steps:,} of {counted(self._total, self._unit)}, {show_seconds(left)} left"

    def end(self, result: str = "") -> None:
        if result:
            took = f" ({show_seconds(time.monotonic() - self._begun)})"
            self._print(f"{self._task or self._name}: {result}{took}")
        self._hide()
        self._task = ""

    def note(self, text: str) -> None:
        text = text if self._is_inside else self._full(text)
        if text not in self._noted:  # many trainings have the same notes
            self._noted.add(text)
            self._print(f"note: {text}")

    def _print(self, text: str) -> None:
        """Print a line above the bars."""
        if self.mode is not Mode.NOTHING:
            self._console.print(printable(text), markup=False, soft_wrap=True)

    def _full(self, name: str) -> str:
        return f"{self._name}: {name}" if self._name else name

    def _next_epoch(self, number: int) -> None:
        if self._epochs is not None and number <= self._epochs:
            name = f"{self._task:<6} epoch {number}/{self._epochs}"
            self._screen.reset(self._bars[0], description=name)

    def _flush(self, now: float) -> None:
        self._shown = now
        for bar in self._bars:
            self._screen.advance(bar, self._waiting)
        self._waiting = 0

    def _hide(self) -> None:
        for bar in self._bars:
            self._screen.remove_task(bar)
        self._bars = []

    def _print_epoch(self, stage: str, report: EpochReport, results: list[str]) -> None:
        number, most = report.epoch.number, self._epochs or self._total or report.epoch.number
        parts = [*results, show_seconds(report.epoch.seconds)]
        if number < most:
            each = (time.monotonic() - self._begun) / max(1, number - self._done)
            parts.append(f"at most {show_seconds(each * (most - number))} left")
        unit = "epoch" if self._epochs is not None else self._unit
        best = " *" if report.best and report.scores else ""
        self._print(f"{stage} {unit} {number}/{most}: {', '.join(parts)}{best}")


def _joined(*texts: str) -> str:
    return ", ".join(filter(None, texts))


def _results(report: EpochReport) -> list[str]:
    """The loss and the scores of an epoch; a model learned without trees has an objective instead."""
    if "objective" in report.scores:
        return [f"objective {report.scores['objective']:.4f}"]
    scores = show_scores(report.scores)
    return [f"loss {show_loss(report.epoch.loss)}", *([scores] if scores else [])]
