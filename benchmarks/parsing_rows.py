"""Limits of benchmarks/training.py and benchmarks/parsing.py, and recorded figures of other parsers.

All on UD_English-EWT: dev, all tokens, gold tags, whole labels; one core of a common machine. Recorded
figures were measured on such a machine, and replace peers that cannot be installed.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Bar:
    """A limit: a figure must reach it (`>=`) or stay below it (`<=`, `<`)."""

    relation: str
    bound: float

    def holds(self, figure: float) -> bool:
        compare = {">=": operator.ge, "<=": operator.le, "<": operator.lt}[self.relation]
        return bool(compare(figure, self.bound))

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:,g}"


PARSERS = {1: "first order", 2: "second order", 3: "third order, cube"}
UAS = {1: Bar(">=", 86.8), 2: Bar(">=", 89.7), 3: Bar(">=", 90.5)}
LAS = {1: Bar(">=", 85.1), 2: Bar(">=", 87.5), 3: Bar(">=", 88.3)}
LAS_GAIN = Bar(">=", 0.5)
TOKENS_PER_SECOND = {1: Bar(">=", 100_000), 2: Bar(">=", 30_000), 3: Bar(">=", 10_000)}
TRAINING_MINUTES = {1: Bar("<=", 3), 2: Bar("<=", 8), 3: Bar("<=", 15)}
TRAINING_MB = Bar("<=", 1000)
PARSING_MB = {1: Bar("<=", 200), 2: Bar("<=", 200)}
LOAD_MS = Bar("<", 100)
LONG_WORDS = 2000


@dataclass(frozen=True)
class Recorded:
    """Figures of another parser; None if there is none."""

    name: str
    uas: float | None
    las: float | None
    speed: float | None = None  # tokens per second
    minutes: float | None = None  # CPU, training
    training_mb: float | None = None
    model_mb: float | None = None
    load_ms: float | None = None
    remark: str = ""


RECORDED = {
    "udpipe": Recorded("UDPipe 1", None, 86.2, 11_000, 130, remark="accuracy published for a near version"),
    "spacy": Recorded("spaCy", 85.5, 81.9, 11_000, 18, remark="without tags"),
    "turbo-1": Recorded("TurboParser arc-factored", 86.8, 85.1, 3400, 16),
    "turbo": Recorded(
        "TurboParser standard", 89.7, 87.5, 1600, 42.6, 2800, 500, 17_000, "second and third order"
    ),
    "malt": Recorded("MaltParser arc-eager", 85.8, 82.8, 6000, 0.8, remark="6,000 to 8,000 tokens/s"),
}


@dataclass
class Line:
    """One of our figures, its limit (if any), and peers' figures in the same unit."""

    row: str
    parser: str
    figure: float
    unit: str
    bar: Bar | None
    peers: dict[str, float]
    digits: int = 1
    remark: str = ""  # a reason not to check the limit, such as a shortened training

    @property
    def verdict(self) -> str:
        if self.bar is None or self.remark:
            return ""
        return "pass" if self.bar.holds(self.figure) else "MISS"

    def to_json(self) -> dict[str, object]:
        bar = None if self.bar is None else str(self.bar)
        return {**vars(self), "bar": bar, "verdict": self.verdict}


OF_TRAINING = ("UAS on dev", "LAS on dev", "training, all epochs", "peak memory of training", "model")


def show(title: str, lines: list[Line], peers: dict[str, str], console: Console) -> None:
    """The figures as a table, with a column for each peer; a star marks shortened training.

    `peers` are names, and how their training was shortened, if it was.
    """
    table = Table(title=title)
    for heading in ("what", "parser"):
        table.add_column(heading)
    for heading in ("ours", "needed", "", *peers):
        table.add_column(heading, justify="right")
    previous = None
    for line in lines:
        if previous not in (None, line.row):
            table.add_section()
        color = {"pass": "green", "MISS": "red"}.get(line.verdict, "default")
        table.add_row(
            f"{line.row}, {line.unit}" if previous != line.row else "",
            line.parser,
            f"{line.figure:,.{line.digits}f}",
            "" if line.bar is None else str(line.bar),
            f"[{color}]{line.verdict}[/]" if not line.remark else line.remark,
            *(peer_cell(line, name, shortened) for name, shortened in peers.items()),
        )
        previous = line.row
    console.print(table)


def peer_cell(line: Line, name: str, shortened: str) -> str:
    if name not in line.peers:
        return "–"
    star = "*" if shortened and line.row in OF_TRAINING else ""
    return f"{line.peers[name]:,.{line.digits}f}{star}"


def show_recorded(console: Console) -> None:
    """Recorded figures of other parsers on this treebank."""
    table = Table(title="recorded on such a machine, not measured in this run")
    table.add_column("parser")
    for heading in ("UAS", "LAS", "tokens/s", "training, CPU min", "training, MB", "model, MB", "load, ms"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for r in RECORDED.values():
        figures = (r.uas, r.las, r.speed, r.minutes, r.training_mb, r.model_mb, r.load_ms)
        table.add_row(r.name, *("–" if f is None else f"{f:,g}" for f in figures), r.remark)
    console.print(table)


def summary(lines: list[Line], console: Console) -> bool:
    """Print how many limits were met; return whether all were."""
    judged = [line for line in lines if line.verdict]
    missed = [line for line in judged if line.verdict == "MISS"]
    console.print(f"{len(judged) - len(missed)} of {len(judged)} limits met", highlight=False)
    return not missed
