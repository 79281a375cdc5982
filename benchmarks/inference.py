"""Speed of arbora.inference and other libraries: microseconds per sentence, one thread, one run.

    python benchmarks/inference.py                      # everything
    python benchmarks/inference.py --quick              # fewer rounds and sizes, for a first look
    python benchmarks/inference.py --only projective --sizes 20 40
    python benchmarks/inference.py --json > figures.json
    python benchmarks/inference.py --check              # exit status 1 if a limit is missed

Arbora and the peers take turns on the same sentences, and the best of several rounds counts, so a
busy machine affects all alike. Lengths with limits are measured again at the end, because a machine
may be busy for longer than a row takes. Arbora is called on lists of float64 arrays, the peers in
their fastest mode (inference_peers.py), each with its best batch size. Missing peers are named, and
then the reference figures in inference_rows.py alone determine the limit.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

# Before numpy loads, so that LAPACK gets one thread, too.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
from inference_peers import Problem, Run
from inference_rows import BAR_SIZES, KINDS, ROWS, Row
from rich.console import Console
from rich.table import Table

SIZES = (10, 20, 40, 80, 160)
LONG_SIZES = (500, 1000)  # for rows with long sentences, and for peers that are fast enough
SENTENCES = 128
ROW = {row.name: row for row in ROWS}
BATCH_BYTES = 2e8  # second-order scores are large, so fewer sentences
SHORTEST_TIME, LONGEST_RUN = 0.01, 0.4  # seconds: minimum per timing, maximum per batch
HOPELESS = 2.0  # seconds per sentence; slower peers skip longer sentences


@dataclass
class Line:
    """One measured line of the table."""

    row: str
    scores: str
    n: int
    ours: float  # µs per sentence
    peers: dict[str, float]
    missing: dict[str, str]
    reference: float | None
    factor: float | None  # None: no limit
    ratio: float | None  # fastest of peers and reference, divided by ours

    @property
    def verdict(self) -> str:
        if self.factor is None or self.ratio is None:
            return ""
        return "pass" if self.ratio >= self.factor else "MISS"


def make_problem(kind: str, n: int, count: int, *, siblings: bool) -> Problem:
    """Standard normal scores, on parser-like ones with a random tree's arcs raised by 10."""
    rng = np.random.default_rng([n, KINDS.index(kind)])
    batch = []
    for _ in range(count):
        scores = rng.normal(size=(n + 1, n + 1))
        if kind == "parser-like":
            scores[random_tree(rng, n)[1:], np.arange(1, n + 1)] += 10.0
        scores[:, 0] = 0.0
        np.fill_diagonal(scores, 0.0)
        batch.append(scores)
    parts = [rng.normal(size=(n + 1,) * 3) for _ in range(count)] if siblings else []
    return Problem(batch, parts)


def random_tree(rng: np.random.Generator, n: int) -> np.ndarray:
    """A projective single-root tree: split each span at a random head."""
    heads = np.full(n + 1, -1)
    pending = [(1, n, 0)]
    while pending:
        first, last, head = pending.pop()
        if first <= last:
            root = int(rng.integers(first, last + 1))
            heads[root] = head
            pending += [(first, root - 1, root), (root + 1, last, root)]
    return heads


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class Contender:
    """A timed call, on its best batch size.

    The batch doubles while that makes a sentence cheaper: torch libraries are fastest on large ones,
    others on batches that fit the caches. Two sizes in a row without a gain end the search.
    """

    def __init__(self, prepare: Callable[[Problem], Run], problem: Problem) -> None:
        self.best = float("inf")
        count, vain = 1, 0
        while vain < 2:
            run = prepare(problem.first(count))
            run()  # imports, caches, first-call costs
            once = seconds(run)
            repeats = max(1, round(SHORTEST_TIME / once))
            time_each = min(self._time(run, count, repeats) for _ in range(2))
            vain = 0 if time_each < 0.95 * self.best else vain + 1
            if time_each < self.best:
                self.count, self.run, self.repeats, self.best = count, run, repeats, time_each
            if count == len(problem.scores) or once > LONGEST_RUN:
                break
            count = min(len(problem.scores), 2 * count)

    @staticmethod
    def _time(run: Run, count: int, repeats: int) -> float:
        """Seconds per sentence."""
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        return (time.perf_counter() - start) / (count * repeats)

    def round(self) -> None:
        self.best = min(self.best, self._time(self.run, self.count, self.repeats))


def measure(row: Row, kind: str, n: int, rounds: int, hopeless: set[tuple[str, str]]) -> Line:
    """Time ours and every installed peer in turns; keep the best of each."""
    size = 8 * (n + 1) ** (3 if row.siblings else 2)
    count = 1 if n in LONG_SIZES else max(1, min(SENTENCES, int(BATCH_BYTES / size)))
    problem = make_problem(kind, n, count, siblings=row.siblings)
    contenders = {"ours": Contender(lambda p: lambda: row.ours(p, 1), problem)}
    missing: dict[str, str] = {}
    for name, adapter in row.peers.items():
        if n in LONG_SIZES and name not in row.long_peers:
            continue
        if (row.name, name) in hopeless:
            missing[name] = "too slow at this length"
            continue
        try:
            contenders[name] = Contender(adapter, problem)
        except ImportError:
            missing[name] = "not installed"
        except Exception as error:  # report a peer's failure instead of hiding it
            missing[name] = f"failed: {type(error).__name__}: {error}"[:80]
    for _ in range(rounds):
        for contender in contenders.values():
            contender.round()
    for name, contender in contenders.items():
        if contender.best > HOPELESS:
            hopeless.add((row.name, name))
    return judge(row, kind, n, {name: c.best * 1e6 for name, c in contenders.items()}, missing)


def better(row: Row, first: Line, second: Line) -> Line:
    """The better figures of two measurements of one line."""
    times = {"ours": min(first.ours, second.ours)}
    for name in first.peers | second.peers:
        times[name] = min(line.peers[name] for line in (first, second) if name in line.peers)
    return judge(row, first.scores, first.n, times, first.missing)


def judge(row: Row, kind: str, n: int, times: dict[str, float], missing: dict[str, str]) -> Line:
    ours = times.pop("ours")
    bar = row.bars[kind]
    reference = bar.figure(n)
    rivals = [*times.values(), *([] if reference is None else [reference])]
    ratio = min(rivals) / ours if rivals else None
    factor = bar.factor if n in BAR_SIZES else None
    return Line(row.name, kind, n, ours, times, missing, reference, factor, ratio)


def two_threads(rounds: int) -> Line:
    """A batch on two threads against the same batch on one: at least 1.7 times as fast."""
    row = ROW["projective marginals"]
    problem = make_problem("normal", 40, 512, siblings=False)
    row.ours(problem.first(8), 2)
    one = two = float("inf")
    for _ in range(3 * max(3, rounds)):  # threads are noisier than one core
        one = min(one, seconds(lambda: row.ours(problem, 1)) / 512)
        two = min(two, seconds(lambda: row.ours(problem, 2)) / 512)
    if (os.cpu_count() or 1) < 2:
        missing = {"one thread": "this machine has one core"}
        return Line("two threads", "normal", 40, two * 1e6, {}, missing, None, None, None)
    times = {"one thread": one * 1e6}
    return Line("two threads", "normal", 40, two * 1e6, times, {}, None, 1.7, one / two)


# Linux: writing 5 to clear_refs resets the peak, so only the query's own use counts.
MEMORY_PROBE = """
import re, sys
from pathlib import Path
import numpy as np
from arbora import inference

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

trees, query, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
ask = getattr(inference, query)
ask(np.zeros((3, 3)), trees=trees)
scores = np.random.default_rng(0).normal(size=(n + 1, n + 1))
Path("/proc/self/clear_refs").write_text("5")
before = kilobytes("VmRSS")
ask(scores, trees=trees)
print(1024 * (kilobytes("VmHWM") - before) / scores.nbytes)
"""


def memory_rows(sizes: tuple[int, int]) -> list[tuple[str, list[float], str]]:
    """Peak memory in units of one score array at two lengths: constant when it grows as n^2."""
    results: list[tuple[str, list[float], str]] = []
    if not Path("/proc/self/clear_refs").exists():
        return results
    for trees in ("nonprojective", "projective"):
        for query in ("argmax", "log_partition", "marginals"):
            arrays = []
            for n in sizes:
                command = [sys.executable, "-c", MEMORY_PROBE, trees, query, str(n)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                arrays.append(float(done.stdout))
            verdict = "pass" if arrays[1] <= 1.5 * max(arrays[0], 1.0) else "MISS"
            results.append((f"{trees} {query}", arrays, verdict))
    return results


def show(lines: list[Line], console: Console) -> None:
    table = Table(title="µs per sentence, one thread, best of several rounds")
    for heading in ("query", "scores"):
        table.add_column(heading)
    for heading in ("n", "ours", "fastest peer", "reference", "ratio", "needed", ""):
        table.add_column(heading, justify="right")
    previous = None
    for line in lines:
        fastest = min(line.peers, key=line.peers.__getitem__, default=None)
        peer = "–" if fastest is None else f"{line.peers[fastest]:,.1f} {fastest}"
        color = {"pass": "green", "MISS": "red"}.get(line.verdict, "default")
        if previous not in (None, line.row):
            table.add_section()
        table.add_row(
            line.row if previous != line.row else "",
            line.scores,
            str(line.n),
            f"{line.ours:,.1f}",
            peer,
            "" if line.reference is None else f"{line.reference:,.1f}",
            "" if line.ratio is None else f"{line.ratio:,.2f}x",
            "" if line.factor is None else f"{line.factor:g}x",
            f"[{color}]{line.verdict}[/]",
        )
        previous = line.row
    console.print(table)
    absent = sorted({f"{peer}: {why} ({line.row})" for line in lines
                     for peer, why in line.missing.items()})  # fmt: skip
    for note in absent:
        console.print(f"peer {note}; compared with the others", highlight=False)


def again(line: Line, rounds: int, hopeless: set[tuple[str, str]]) -> Line:
    """A line, measured again if it has a limit, with the better of each figure."""
    if line.factor is None:
        return line
    print(f"{line.row}, {line.scores}, n = {line.n}, again ...", file=sys.stderr)
    gc.collect()
    row = ROW[line.row]
    return better(row, line, measure(row, line.scores, line.n, rounds, hopeless))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, n up to 40")
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--sizes", type=int, nargs="+", help=f"default: {SIZES}")
    parser.add_argument("--rounds", type=int, help="best of this many (default 7, quick 2)")
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a limit is missed")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    rounds = arguments.rounds or (2 if arguments.quick else 7)
    sizes = tuple(arguments.sizes or (SIZES[:3] if arguments.quick else SIZES))
    long_sizes = () if arguments.sizes or arguments.quick else LONG_SIZES
    console = Console(stderr=arguments.json, width=max(132, Console().width))
    lines: list[Line] = []
    hopeless: set[tuple[str, str]] = set()
    gc.disable()
    chosen = [row for row in ROWS if arguments.only in row.name]
    for row in chosen:
        for kind in KINDS:
            for n in sizes + (long_sizes if row.long else ()):
                print(f"{row.name}, {kind}, n = {n} ...", file=sys.stderr)
                lines.append(measure(row, kind, n, rounds, hopeless))
                gc.collect()
    if not arguments.quick:
        lines = [again(line, rounds, hopeless) for line in lines]
    if arguments.only in "two threads":
        lines.append(two_threads(rounds))
    show(lines, console)
    memory = []
    if arguments.only in "memory":
        memory = memory_rows((500, 1000))
        for name, arrays, verdict in memory:
            console.print(f"peak memory, {name}: {arrays[0]:.1f} then {arrays[1]:.1f} score arrays "
                          f"at twice the length: {verdict}", highlight=False)  # fmt: skip
    if arguments.json:
        rows = [{**asdict(line), "verdict": line.verdict} for line in lines]
        print(json.dumps({"lines": rows, "memory": memory}, indent=1))
    missed = [line for line in lines if line.verdict == "MISS"]
    missed_memory = [name for name, _, verdict in memory if verdict == "MISS"]
    bars = sum(1 for line in lines if line.verdict) + len(memory)
    console.print(f"{bars - len(missed) - len(missed_memory)} of {bars} limits met")
    return 1 if arguments.check and (missed or missed_memory) else 0


if __name__ == "__main__":
    raise SystemExit(main())
