"""Speed of trained parsers on UD_English-EWT dev, text to text, with peers in the same run.

    python benchmarks/parsing.py                    # everything; trains models that are not cached
    python benchmarks/parsing.py --quick            # short trainings, fewer rounds
    python benchmarks/parsing.py --only growth      # or speed, load
    python benchmarks/parsing.py --network small.arbora --only networks
    python benchmarks/parsing.py --json > figures.json
    python benchmarks/parsing.py --check            # exit status 1 if a limit is missed

Each parser is loaded once, in its own process with one thread. Then all take turns parsing the same CoNLL-U
file, and the median counts. Speed on one core is CPU time, so a busy machine matters little. On two threads,
and for loading, it is elapsed time, and the best of several counts. Accuracy is that of the written file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import parsing_rows as rows
from parsing_networks import network_lines
from parsing_rows import Line
from parsing_systems import (
    Arbora,
    Files,
    Loadable,
    MissingError,
    System,
    Trained,
    accuracy,
    obtain,
    say,
    worker_command,
    worker_environment,
)
from rich.console import Console
from rich.table import Table
from training import argument_parser, shortenings, trained_peers

REPEATS = 4  # copies of dev in the parsed file
ROUNDS = 5
LOADS = 5
SIZES = (20, 50, 100, 200, 500, 1000, rows.LONG_WORDS)
GROUPS = ("speed", "load", "growth", "networks")

Models = dict[str, tuple[System, Trained]]


class Worker:
    """A parser in its own process, loaded and waiting for files."""

    def __init__(self, system: Loadable, model: Path, threads: int = 1) -> None:
        command = worker_command("parse", system.name, model, threads)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=worker_environment()
        )
        self.rounds: list[dict[str, float]] = []
        self.loaded = self._answer()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def parse(self, source: Path, target: Path) -> dict[str, float]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{source}\t{target}\n")
        self.process.stdin.flush()
        return self._answer()

    def round(self, source: Path, target: Path) -> None:
        self.rounds.append(self.parse(source, target))

    def cpu(self) -> float:
        return median(figures["cpu"] for figures in self.rounds)

    def wall(self) -> float:
        return min(figures["wall"] for figures in self.rounds)

    def peak(self) -> float:
        return max(figures["peak_mb"] for figures in self.rounds)

    def _answer(self) -> dict[str, float]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise MissingError(f"the process ended with status {self.process.wait()}")
        figures: dict[str, float] = json.loads(line)
        return figures


def ask_once(*arguments: object) -> dict[str, Any]:
    """A worker's answer to one request."""
    command = worker_command(*arguments)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=worker_environment(), check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


# --- Speed, accuracy and memory -------------------------------------------------------------


def speed_lines(ours: Models, others: Models, dev: Path, *, quick: bool) -> list[Line]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        long = folder / "dev.conllu"
        long.write_bytes(dev.read_bytes() * (1 if quick else REPEATS))
        tokens = word_count(long)
        workers = {
            name: stack.enter_context(Worker(system, trained.model))
            for name, (system, trained) in {**ours, **others}.items()
        }
        pairs = {
            name: stack.enter_context(Worker(system, trained.model, 2))
            for name, (system, trained) in ours.items()
        }
        scores = {}
        for name, worker in workers.items():
            worker.parse(dev, folder / name)  # warms up
            scores[name] = accuracy(dev, folder / name)
        for i in range(2 if quick else ROUNDS):
            say(f"speed, round {i + 1} ...")
            for name, worker in {**workers, **{f"{name} 2": pair for name, pair in pairs.items()}}.items():
                worker.round(long, folder / name)
        return judged(ours, others, workers, pairs, scores, tokens)


def judged(
    ours: Models,
    others: Models,
    workers: dict[str, Worker],
    pairs: dict[str, Worker],
    scores: dict[str, dict[str, float]],
    tokens: int,
) -> list[Line]:
    def each(
        row: str,
        unit: str,
        figure: Callable[[str], float],
        bar: Callable[[int], rows.Bar | None] = lambda order: None,
        digits: int = 0,
        *,
        peers: bool = True,
        of_training: bool = False,
    ) -> list[Line]:
        shown = {name: figure(name) for name in others} if peers else {}
        return [
            Line(
                row,
                rows.PARSERS[order_of(name)],
                figure(name),
                unit,
                bar(order_of(name)),
                shown,
                digits,
                trained.shortened if of_training else "",
            )
            for name, (_, trained) in ours.items()
        ]

    def speed(name: str) -> float:
        return tokens / workers[name].cpu()

    rivals = {name: speed(name) for name in others}
    for name in ("udpipe", "spacy"):
        recorded = rows.RECORDED[name].speed
        if name not in rivals and recorded is not None:
            rivals[name] = recorded
    fastest = max(rivals.values())
    several = (os.cpu_count() or 1) > 1
    return [
        *each("UAS on dev", "%", lambda n: scores[n]["uas"], rows.UAS.get, 2, of_training=True),
        *each("LAS on dev", "%", lambda n: scores[n]["las"], rows.LAS.get, 2, of_training=True),
        *each("speed, one core", "tokens/s", speed, rows.TOKENS_PER_SECOND.get),
        *each("speed / fastest peer's", "times", lambda n: speed(n) / fastest, digits=1, peers=False),
        *(each(
            "two threads / one, by the clock", "times",
            lambda n: workers[n].wall() / pairs[n].wall(), digits=2, peers=False,
        ) if several else []),
        *each("peak memory of parsing", "MB", lambda n: workers[n].peak(), rows.PARSING_MB.get),
    ]  # fmt: skip


def order_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def word_count(path: Path) -> int:
    from arbora.data.treebank import read_columns

    return read_columns(path).words


# --- Loading --------------------------------------------------------------------------------


def load_lines(ours: Models, others: Models, *, quick: bool) -> list[Line]:
    def milliseconds(system: System, model: Path) -> float:
        times = [ask_once("load", system.name, model)["load"] for _ in range(2 if quick else LOADS)]
        return 1000 * min(times)

    say("loading ...")
    shown = {name: milliseconds(system, trained.model) for name, (system, trained) in others.items()}
    lines = []
    for row, which, bar, peers in (
        ("load, fresh process", "model", rows.LOAD_MS, shown),
        ("load, compact model", "compact", None, {}),
    ):
        for name, (system, trained) in ours.items():
            figure = milliseconds(system, getattr(trained, which))
            lines.append(Line(row, rows.PARSERS[order_of(name)], figure, "ms", bar, peers))
    return lines


# --- Growth ---------------------------------------------------------------------------------


def growth(ours: Models, dev: Path) -> dict[str, dict[str, Any]]:
    """Time of a sentence by its length, for each of our parsers."""
    found = {}
    for name, (_, trained) in ours.items():
        say(f"growth, {name} ...")
        found[name] = ask_once("growth", trained.model, dev, *SIZES)
    return found


def long_lines(grown: dict[str, dict[str, Any]]) -> list[Line]:
    """Whether sentences of all lengths got a tree, the longest too."""
    bar = rows.Bar(">=", rows.LONG_WORDS)
    return [
        Line("longest sentence parsed", rows.PARSERS[order_of(name)], figures["longest"], "words", bar, {}, 0)
        for name, figures in grown.items()
    ]


def show_growth(grown: dict[str, dict[str, Any]], console: Console) -> None:
    table = Table(title="ms per sentence by its length, text to text, one core")
    table.add_column("words")
    for n in SIZES:
        table.add_column(f"{n:,}", justify="right")
    table.add_column("peak memory, MB", justify="right")
    for name, figures in grown.items():
        times = {n: f"{milliseconds:,.2f}" for n, milliseconds in figures["sentences"]}
        shown = [times.get(n, "–") for n in SIZES]
        table.add_row(rows.PARSERS[order_of(name)], *shown, f"{figures['peak_mb']:,.0f}")
    console.print(table)


def busy() -> list[str]:
    """A note if other programs use the cores."""
    load = os.getloadavg()[0]
    if load < 0.5 * (os.cpu_count() or 1):
        return []
    return [
        f"other programs are running (load {load:.1f}): figures by the clock are worse than they could be"
    ]


def main() -> int:
    parser = argument_parser(__doc__.splitlines()[0], GROUPS)
    parser.add_argument(
        "--network",
        type=Path,
        action="append",
        default=[],
        help="a trained neural model to measure; repeatable",
    )
    arguments = parser.parse_args()
    console = Console(stderr=arguments.json, width=max(132, Console().width))
    try:
        files = Files.find()
    except MissingError as missing:
        say(f"skipped: {missing}")
        return 0
    wanted = [group for group in GROUPS if arguments.only in (None, group)]
    others: Models = {}
    notes = busy()
    if arguments.no_peers:
        notes.append("no peers were run: speed is compared with their recorded figures")
    if not arguments.no_peers and {"speed", "load"} & set(wanted):
        others, about = trained_peers(files, quick=arguments.quick, iterations=arguments.iterations)
        notes += about
    ours: Models = {}
    for order in rows.PARSERS if wanted != ["networks"] else ():
        system = Arbora(order)
        ours[system.name] = (system, obtain(system, files, quick=arguments.quick))
    lines: list[Line] = []
    if "speed" in wanted:
        lines += speed_lines(ours, others, files.dev, quick=arguments.quick)
    if "load" in wanted:
        lines += load_lines(ours, others, quick=arguments.quick)
    grown = growth(ours, files.dev) if "growth" in wanted else {}
    lines += long_lines(grown)
    if "networks" in wanted and arguments.network:
        with tempfile.TemporaryDirectory() as folder:
            rounds, repeats = (2, 1) if arguments.quick else (ROUNDS, REPEATS)
            models = arguments.network
            lines += network_lines(models, files.dev, Path(folder), Worker, rounds=rounds, repeats=repeats)
    rows.show("parsing UD_English-EWT dev, model loaded", lines, shortenings(others), console)
    if grown:
        show_growth(grown, console)
    rows.show_recorded(console)
    for note in notes:
        console.print(note, highlight=False)
    cleared = rows.summary(lines, console)
    if arguments.json:
        figures = {"lines": [line.to_json() for line in lines], "growth": grown, "notes": notes}
        print(json.dumps(figures, indent=1))
    return 1 if arguments.check and not cleared else 0


if __name__ == "__main__":
    sys.exit(main())
