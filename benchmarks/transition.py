"""Transition parsers on UD_English-EWT and Danish (CoNLL-X): accuracy, speed, and cost by sentence length.

    python benchmarks/transition.py              # trains each parser anew, some 15 CPU minutes
    python benchmarks/transition.py --quick      # 1,000 sentences, two epochs: a first look, no limits
    python benchmarks/transition.py --only ewt   # one part alone: ewt, danish or lengths
    python benchmarks/transition.py --check      # exit status 1 if a limit is missed

One thread; speed is from text to text, including reading and writing, in CPU time. English is evaluated on
dev, all words; Danish on test, without punctuation, with settings tuned on every tenth sentence of its
training set. All tags are gold. MaltParser's figures are recorded. Prints Markdown.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from parsing_rows import RECORDED, Bar
from parsing_worker import joined

from arbora.data.columns import Columns, columns_of
from arbora.data.treebank import gather
from arbora.evaluation.attachment import evaluate
from arbora.parsing.parser import Parser
from arbora.scorers import TransitionSettings
from arbora.training import TrainConfig, train
from arbora.training.annotation import check_treebank

DATA = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LENGTHS = (10, 30, 100, 300, 1000, 2000, 5000)
ROUNDS = 3
LINEAR = 2.0
"""Words of the longest sentences may cost so many times as much as those of the shortest."""


@dataclass(frozen=True)
class Row:
    """A parser, its limits, and whether they are checked."""

    name: str
    search: TransitionSettings
    options: dict[str, Any] = field(default_factory=dict)
    uas: Bar | None = None
    las: Bar | None = None
    speed: Bar | None = None

    def config(self, *, quick: bool) -> TrainConfig:
        epochs = {"epochs": 2} if quick else {}
        given = {**self.options, "parameters": {**self.options.get("parameters", {}), **epochs}}
        return TrainConfig(parser="transition", transition=self.search, only="parser", **given)


ENGLISH = (
    Row(
        "arc-eager, greedy",
        TransitionSettings(),
        uas=Bar(">=", 85.8),
        las=Bar(">=", 82.8),
        speed=Bar(">=", 100_000),
    ),
    Row("arc-eager, greedy, nivre-v1", TransitionSettings(), {"features": "nivre-v1"}),
    Row("arc-standard, greedy", TransitionSettings(system="arc-standard")),
    Row("swap, greedy", TransitionSettings(system="swap")),
    Row(
        "arc-eager, beam 64",
        TransitionSettings(beam=64),
        {"learner": "passive_aggressive"},
        las=Bar(">=", 86.0),
        speed=Bar(">=", 3000),
    ),
)
DANISH = Row(
    "arc-eager, beam 64",
    TransitionSettings(beam=64),
    {
        "learner": "passive_aggressive",
        "projectivize": "pseudo-projective",
        "parameters": {"epochs": 35},
    },
    uas=Bar(">=", 90.8),
    las=Bar(">=", 86.6),
)


class Bench:
    """The report, and whether all limits are met."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.missed: list[str] = []

    def cell(self, name: str, figure: float, bar: Bar | None, form: str = ".2f") -> str:
        text = f"{figure:{form}}"
        if bar is None or self.quick:
            return text
        if not bar.holds(figure):
            self.missed.append(f"{name}: {text}, expected {bar}")
        return f"{text} ({bar})"

    def train(self, row: Row, columns: Columns, dev: Columns | None) -> tuple[Parser, float]:
        """The parser and its CPU seconds of training."""
        given = columns_of(list(columns.sentences())[:1000]) if self.quick else columns
        begin = time.process_time()
        parser = train(given, dev, config=row.config(quick=self.quick)).parser
        return parser, time.process_time() - begin

    def row(self, row: Row, parser: Parser, gold: Columns, seconds: float, *, punctuation: bool) -> str:
        """A line of the table; punctuation is excluded by CoNLL-X's rule."""
        parsed, taken = parsed_text(parser, gold.to_bytes())
        found = evaluate(
            gold.sentences(), gather(io.BytesIO(parsed), check_treebank).sentences(), subtypes=True
        )
        scores = found.all if punctuation else found.conllx
        cells = (
            self.cell(row.name, scores.uas, row.uas),
            self.cell(row.name, scores.las, row.las),
            self.cell(row.name, gold.words / taken, row.speed, ",.0f"),
            f"{seconds / 60:.1f}",
        )
        return f"| {row.name} | " + " | ".join(cells) + " |"


def parsed_text(parser: Parser, text: bytes, rounds: int = ROUNDS) -> tuple[bytes, float]:
    """Text with trees, and the least CPU time."""
    times = []
    for _ in range(rounds):
        target = io.BytesIO()
        begin = time.process_time()
        parser.parse_file(io.BytesIO(text), target)
        times.append(time.process_time() - begin)
    return target.getvalue(), min(times)


def find(pattern: str) -> Columns | None:
    """A treebank, or a message on stderr if it is missing."""
    paths = sorted(DATA.glob(pattern))
    if not paths:
        print(f"transition: no {pattern} in {DATA}; set ARBORA_DATA", file=sys.stderr)
        return None
    return gather(paths[0], check_treebank)


HEADINGS = "| parser | UAS | LAS | tokens/s | training, CPU min |\n|---|---:|---:|---:|---:|"


def english(bench: Bench) -> Iterator[str]:
    """Parsers on dev, and MaltParser."""
    treebank, dev = find("UD_English-EWT/*-train.conllu"), find("UD_English-EWT/*-dev.conllu")
    if treebank is None or dev is None:
        return
    yield f"UD_English-EWT, dev, all words:\n\n{HEADINGS}"
    for row in ENGLISH:
        parser, seconds = bench.train(row, treebank, dev)
        yield bench.row(row, parser, dev, seconds, punctuation=True)
    malt = RECORDED["malt"]
    yield f"| {malt.name} (recorded) | {malt.uas} | {malt.las} | {malt.speed:,.0f} | {malt.minutes} |\n"


def danish(bench: Bench) -> Iterator[str]:
    """One parser on test. Without a dev set the last epoch is taken."""
    treebank, test = find("CoNLLX_Danish-DDT/*train.conll"), find("CoNLLX_Danish-DDT/*test.conll")
    if treebank is None or test is None:
        return
    yield f"Danish, CoNLL-X, test, punctuation left out:\n\n{HEADINGS}"
    parser, seconds = bench.train(DANISH, treebank, None)
    yield bench.row(DANISH, parser, test, seconds, punctuation=False) + "\n"


def lengths(bench: Bench) -> Iterator[str]:
    """CPU microseconds per word, text to text, by sentence length; short trainings suffice."""
    dev = find("UD_English-EWT/*-dev.conllu")
    if dev is None:
        return
    rows = [row for row in ENGLISH if row.speed is not None]
    few = columns_of(list(dev.sentences())[:500])
    parsers = [train(few, config=row.config(quick=True)).parser for row in rows]
    lines = [line.split("\t") for line in dev.to_bytes().decode().splitlines() if line[:1].isdigit()]
    words = [line for line in lines if line[0].isdecimal()]
    yield "CPU microseconds per word, by words in a sentence:\n"
    yield "| words | " + " | ".join(row.name for row in rows) + " |\n|---:|" + "---:|" * len(rows)
    costs = np.zeros((len(LENGTHS), len(rows)))
    for i, n in enumerate(LENGTHS):
        count = max(1, max(LENGTHS) // n)
        text = "".join(joined(words[j * n : (j + 1) * n]) for j in range(count)).encode()
        for j, parser in enumerate(parsers):
            costs[i, j] = 1e6 * parsed_text(parser, text)[1] / (n * count)
        yield f"| {n:,} | " + " | ".join(f"{cost:.1f}" for cost in costs[i]) + " |"
    ratio = float((costs[-1] / costs[0]).max())
    bench.cell("cost of a word, longest to shortest", ratio, Bar("<=", LINEAR))
    yield f"\nA word of the longest sentences costs at most {ratio:.2f} times one of the shortest.\n"


PARTS = {"lengths": lengths, "ewt": english, "danish": danish}


def main() -> int:
    parser = argparse.ArgumentParser(description="Transition parsers: accuracy, speed, cost by length.")
    parser.add_argument("--quick", action="store_true", help="few sentences, two epochs")
    parser.add_argument("--only", choices=list(PARTS), help="that part alone")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a limit is missed")
    options = parser.parse_args()
    bench = Bench(quick=options.quick)
    for name, part in PARTS.items():
        if options.only in (None, name):
            for line in part(bench):
                print(line, flush=True)
    for line in bench.missed:
        print(f"MISSED: {line}")
    return 1 if bench.missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
