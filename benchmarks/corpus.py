"""Parsing corpora: processes, threads and Ray actors, memory, and the bookkeeping of large corpora.

    python benchmarks/corpus.py                      # some ten minutes on two cores
    python benchmarks/corpus.py --only speed --json
    python benchmarks/corpus.py --only memory        # 1 and 20 million words
    python benchmarks/corpus.py --check              # exit status 1 if a limit is missed

speed   The bundled model on the raw text of UD_English-EWT train, repeated. Words per second of elapsed
        time, from the moment when each worker has finished its first shard.
books   Seconds per shard besides parsing, with a parser that does nothing; and their share of the time of a
        shard of 4 MB, at the speed of one process.
scale   200,000 files are listed, planned and "parsed" by the same parser, then the run is resumed.
memory  The largest resident set of the process that assigns shards, and of its workers; it may grow by a
        fifth from 1 to 20 million words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from parsing_rows import Bar
from rich.console import Console
from rich.table import Table

import arbora
from arbora.data.raw_text import raw_text
from arbora.data.treebank import read_columns
from arbora.distributed import CorpusOptions, Pool, parse
from arbora.distributed.engines import Make, Outcome, Workers, engines
from arbora.distributed.folder import Journal
from arbora.progress import Observer

DATA = Path(os.environ.get("ARBORA_DATA", "../shared/data"))
TRAIN = DATA / "UD_English-EWT/en_ewt-ud-train.conllu"
FILES, SHARD = 8, 330_000
MEGABYTES = 4
PARTS = ("speed", "books", "scale", "memory")
BARS = {
    "2 processes": Bar(">=", 1.85),
    "Ray": Bar(">=", 0.9),
    "share of bookkeeping, %": Bar("<=", 1.0),
    "seconds": Bar("<=", 60.0),
    "megabytes": Bar("<=", 500.0),
    "growth": Bar("<=", 1.2),
}


class Clock(Observer):
    """The time at which each shard was finished."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def advance(self, steps: int = 1) -> None:
        self.times.append(time.monotonic())


class InstantWorkers(Workers):
    """A parser that does nothing: it writes an empty output and a line in the journal."""

    name = "instant"

    def __init__(self, make: Make, count: int) -> None:
        super().__init__(make, count)
        self._made: Any = make()
        self._journal = Journal(self._made.folder)
        self._done: list[tuple[int, Outcome]] = []

    def call(self, worker: int, method: str, *arguments: Any) -> None:
        (shard,) = arguments
        line = {"shard": shard.name, "sentences": 1, "words": 20, "bad": 0, "bad_rows": []}
        target = self._made.options.output(self._made.folder, shard)
        target.parent.mkdir(parents=True, exist_ok=True)
        self._journal.write(line)
        target.touch()
        self._done.append((worker, Outcome(line)))

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        found, self._done = self._done, []
        return found

    def end(self, worker: int) -> None: ...
    def restart(self, worker: int) -> None: ...
    def close(self) -> None: ...


engines.register("instant", InstantWorkers)


def text() -> str:
    if TRAIN.exists():
        return raw_text(read_columns(TRAIN)).text
    from arbora.data.synthetic import generate

    return "\n\n".join(sentence.text for sentence in generate(15_000, seed=1))


def rate(source: Path, target: Path, **options: Any) -> dict[str, float]:
    """Words per second after the start, and seconds in all."""
    clock = Clock()
    begun = time.monotonic()
    report = parse([str(source)], target, observer=clock, options=CorpusOptions(shard_size=SHARD), **options)
    whole = time.monotonic() - begun
    first = min(report.workers, len(clock.times) - 1)
    shards = len(clock.times) - first
    words = report.words * shards / len(clock.times)  # shards are of one size
    return {"words/s": words / (clock.times[-1] - clock.times[first - 1]), "seconds": whole}


def threaded_rate(source: Path, threads: int) -> dict[str, float]:
    """The same in one process, by threads."""
    nlp = arbora.load()
    begun, words = time.monotonic(), 0
    for path in sorted(source.iterdir()):
        for found in nlp.require_segmenter().segment_stream([path.read_text("utf-8")]):
            for piece in found.columns.pieces():
                prepared = nlp.prepare(piece, threads=threads)
                heads, labels = nlp.parser.trees(prepared, threads=threads)
                prepared.with_trees(heads, labels, nlp.parser.names.labels).to_bytes()
                words += piece.words
    seconds = time.monotonic() - begun
    return {"words/s": words / seconds, "seconds": seconds}


def speed_rows(folder: Path) -> dict[str, Any]:
    source = folder / "in"
    source.mkdir()
    whole = text()
    for number in range(FILES):
        (source / f"{number}.txt").write_text(whole, "utf-8")
    rows: dict[str, dict[str, float]] = {
        "1 process": rate(source, folder / "one", pool=Pool()),
        "2 processes": rate(source, folder / "two", pool=Pool(count=2)),
        "1 thread": threaded_rate(source, 1),
        "2 threads": threaded_rate(source, 2),
    }
    try:
        rows["2 Ray actors"] = rate(source, folder / "ray", pool=Pool("ray", 2))
    except arbora.InputError as error:
        print(f"Ray: {error}", file=sys.stderr)
    plain = (folder / "one" / "0.txt.00000.conllu").read_bytes()
    words = sum(line[:1].isdigit() and "-" not in line.split("\t")[0] for line in plain.decode().split("\n"))
    sizes = {"CoNLL-U": len(plain) / words, "CoNLL-U, --gzip": len(gzip.compress(plain, 6)) / words}
    ratios = {"2 processes": rows["2 processes"]["words/s"] / rows["1 process"]["words/s"]}
    if "2 Ray actors" in rows:
        ratios["Ray"] = rows["2 Ray actors"]["words/s"] / rows["2 processes"]["words/s"]
    return {"rows": rows, "ratios": ratios, "bytes per word": sizes}


def books_rows(folder: Path, words_per_second: float) -> dict[str, float]:
    source = folder / "books"
    source.mkdir()
    for number in range(10_000):
        (source / f"{number:05d}.txt").write_bytes(b"x")
    begun = time.monotonic()
    parse([str(source)], folder / "books-out", pool=Pool("instant", 2))
    each = (time.monotonic() - begun) / 10_000
    seconds = MEGABYTES * 1e6 / 5.3 / words_per_second  # bytes per word of English
    return {"seconds per shard": each, "share of bookkeeping, %": 100 * each / seconds}


def scale_rows(folder: Path) -> dict[str, float]:
    source = folder / "many"
    for number in range(200):
        inner = source / f"{number:03d}"
        inner.mkdir(parents=True)
        for other in range(1000):
            (inner / f"{other:03d}.txt").touch()
    (source / "000" / "000.txt").write_bytes(b"x")
    begun = time.monotonic()
    first = parse([str(source)], folder / "many-out", pool=Pool("instant", 2))
    middle = time.monotonic()
    for path in list((folder / "many-out" / "100").iterdir()):
        path.unlink()
    between = time.monotonic()
    again = parse([str(source)], folder / "many-out", pool=Pool("instant", 2))
    end = time.monotonic()
    assert (first.parsed, again.parsed) == (200_000, 1000)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = {"first run": middle - begun, "resumed": end - between}
    return {**seconds, "seconds": max(seconds.values()), "megabytes": megabytes}


def memory_rows(folder: Path) -> dict[str, dict[str, float]]:
    rows = {}
    whole = text()
    for millions in (1, 20):
        source = folder / f"memory{millions}"
        source.mkdir()
        count = round(millions * 1e6 / len(whole.split()))
        with (source / "all.txt").open("w", encoding="utf-8") as file:
            for _ in range(max(1, count)):
                file.write(whole + "\n\n")
        peaks: dict[str, float] = {"hands out": 0.0, "worker": 0.0}
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(peaks, ended))
        watcher.start()
        report = parse([str(source)], folder / f"memory-out{millions}", pool=Pool(count=2))
        ended.set()
        watcher.join()
        rows[f"{report.words:,} words"] = {**peaks, "words/s": report.words_per_second}
    return rows


def _watch(peaks: dict[str, float], ended: threading.Event) -> None:
    own = os.getpid()
    while not ended.wait(0.2):
        children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        for name, pids in (("hands out", [str(own)]), ("worker", children)):
            peaks[name] = max([peaks[name], *map(_resident, pids)])


def _resident(pid: str) -> float:
    """Megabytes."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(rows.values())))
    table = Table(title, *names)
    for name, row in rows.items():
        table.add_row(
            name, *(f"{row[each]:,.4g}" if row[each] < 100 else f"{row[each]:,.0f}" for each in names)
        )
    Console().print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = options.only or PARTS
    found: dict[str, Any] = {}
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "scale" in wanted:  # runs first: it reports the largest resident set of this process
            found["scale"] = scale_rows(folder)
        if "speed" in wanted or "books" in wanted:
            found["speed"] = speed_rows(folder)
        if "books" in wanted:
            found["books"] = books_rows(folder, found["speed"]["rows"]["1 process"]["words/s"])
        if "memory" in wanted:
            found["memory"] = memory_rows(folder)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for part, rows in found.items():
            if part == "memory":
                show("memory, MB", rows)
            elif part == "speed":
                show("speed", rows["rows"])
                show("ratio", {"to 1 process; to processes": rows["ratios"]})
                show("bytes per word", {"output": rows["bytes per word"]})
            else:
                show(part, {part: rows})
    for figures in (found.get("speed", {}).get("ratios"), found.get("books"), found.get("scale")):
        values |= figures or {}
    if rows := [*found.get("memory", {}).values()]:
        values["growth"] = max(rows[1][name] / rows[0][name] for name in ("hands out", "worker"))
    missed = [name for name, bar in BARS.items() if name in values and not bar.holds(values[name])]
    for name in missed:
        print(f"missed: {name}: {values[name]:.3g}, expected {BARS[name]}", file=sys.stderr)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
