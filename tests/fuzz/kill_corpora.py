"""Kill `arbora parse IN... -o FOLDER` at random moments, and compare its outputs with those of one process.

    worker       a local worker; the run replaces it and goes on
    actor        an actor of a Ray cluster; likewise
    driver       the process that assigns shards to local workers
    ray-driver   the process that assigns shards to actors

After each kill, every output that exists must be complete, and the next run must parse the missing shards and
no others. At the end outputs must be those of one process, byte for byte, with the same counts. Neither
temporary files nor workers may be left. Ray is left out if it is not installed. A failure prints the seed
and the kind that reproduce it:

    python tests/fuzz/kill_corpora.py --kills 20
    python tests/fuzz/kill_corpora.py --kills 5 --seed 3 --kinds actor
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arbora.cli.main import run
from arbora.data.synthetic import generate
from arbora.data.treebank import write
from arbora.distributed import CorpusOptions, Pool, parse
from arbora.training import train

KINDS = {"worker": "local", "actor": "ray", "driver": "local", "ray-driver": "ray"}
SHARD = 5_000
LONGEST = 300.0
"""Seconds after which a run counts as hanging."""
ENDING = 15.0
"""Seconds in which workers must end after the process that started them."""
CLUSTER, MOST_LATE = "Ray does not start on this machine", 5
"""The error if a busy machine needs too long to start Ray, and how often it is accepted."""
ACTOR = b"ray::_Actor"
"""In the titles of actors' processes."""
BOOKS = ("_manifest.json", "_report.json", "_failed.jsonl", "_journal")


@dataclass(frozen=True)
class Corpus:
    """Inputs, a model, and the outputs of one process."""

    source: Path
    model: Path
    outputs: dict[str, bytes]
    counts: dict[str, Any]


def counts_of(report: dict[str, Any]) -> dict[str, Any]:
    names = ("shards", "done", "failed", "bad_rows", "sentences", "words", "is_finished")
    return {name: report[name] for name in names}


def outputs_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith(BOOKS)}


def make_corpus(folder: Path, sentences: int) -> Corpus:
    """Texts, compressed texts, JSON lines and a treebank."""
    treebank = list(generate(sentences, seed=1))
    texts = [" ".join(s.text for s in treebank[i : i + 3]) for i in range(0, sentences, 3)]
    source, model = folder / "in", folder / "m.arbora"
    (source / "inner").mkdir(parents=True)
    (source / "a.txt").write_text("\n\n".join(texts))
    (source / "inner" / "b.txt.gz").write_bytes(gzip.compress("\n\n".join(texts[::7]).encode()))
    rows = [{"id": f"doc{number}", "text": text} for number, text in enumerate(texts)]
    (source / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write(treebank, source / "d.conllu")
    config = {"order": 1, "tree_bits": 12, "label_bits": 12, "folds": 2, "parameters": {"epochs": 2}}
    train(treebank[:60], config=config).save(model)
    report = parse(
        [str(source)], folder / "expected", model, pool=Pool(), options=CorpusOptions(shard_size=SHARD)
    )
    return Corpus(source, model, outputs_of(folder / "expected"), counts_of(report.to_json()))


def start(corpus: Corpus, target: Path, engine: str, log: Path) -> int:
    """The process id of a run in a child of this process, which starts faster than a new program."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        with log.open("w") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            options = [
                "-m",
                str(corpus.model),
                "--engine",
                engine,
                "--workers",
                "2",
                "--shard-size",
                str(SHARD),
            ]
            sys.argv = ["arbora", "parse", str(corpus.source), "-o", str(target), *options]
            run()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os._exit(status)


def wait(child: int, seconds: float) -> int | None:
    """The exit status of a child; None if it still runs after these seconds."""
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            return None
        time.sleep(0.002)


def kill_child(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def descendants(pid: int) -> dict[int, int]:
    """The processes below a process that run, and when they began."""
    children: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if (found := _status(int(path.name))) is not None:
            parent, begun = found
            children.setdefault(parent, []).append((int(path.name), begun))
    below: dict[int, int] = {}
    waiting = children.get(pid, [])
    while waiting:
        child, begun = waiting.pop()
        below[child] = begun
        waiting += children.get(child, [])
    return below


def still_running(processes: dict[int, int]) -> list[int]:
    """Those of some descendants that have not ended."""
    return [pid for pid, begun in processes.items() if (_status(pid) or (0, 0))[1] == begun]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
    except OSError:
        return b""


def _status(pid: int) -> tuple[int, int] | None:
    """The parent of a process and when it began; None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else (int(fields[1]), int(fields[19]))


class Killer:
    """Runs, kills and compares."""

    def __init__(self, corpus: Corpus, folder: Path, draw: random.Random) -> None:
        self.corpus, self.folder, self.draw = corpus, folder, draw
        self.kills: Counter[str] = Counter()
        self.reruns: Counter[str] = Counter()
        self.faults: list[str] = []
        self.number = self.late = 0

    def fault(self, kind: str, what: str, log: Path) -> None:
        self.faults.append(f"{kind}: {what}: {log.read_text()[-500:]}")

    def disturb(self, kind: str) -> None:
        """Kill one process of one run, let or make it end, and check what it has written."""
        self.number += 1
        target, log = self.folder / f"out{self.number}", self.folder / f"log{self.number}"
        child = start(self.corpus, target, KINDS[kind], log)
        status = (
            self._kill_driver(kind, child, target) if "driver" in kind else self._kill_worker(kind, child)
        )
        if status == 1 and CLUSTER in log.read_text():
            self.late += 1
            if self.late > MOST_LATE:
                self.fault(kind, "Ray does not start", log)
            return
        if "driver" not in kind and status != 0:
            self.fault(kind, f"the run ended with {status}", log)
            return
        found = outputs_of(target)
        whole = {name: data for name, data in found.items() if not name.rpartition("/")[2].startswith(".")}
        wrong = [name for name, data in whole.items() if self.corpus.outputs.get(name) != data]
        if wrong:
            self.fault(kind, f"incomplete outputs: {wrong}", log)
        if "driver" in kind:
            self._rerun(kind, target, log, len(self.corpus.outputs) - len(whole))
        self._compare(kind, target, log)

    def _moment(self, child: int, begun: Any) -> int | None:
        """Wait for a random moment after the beginning; the exit status if the run has ended before."""
        end = time.monotonic() + LONGEST
        while not begun() and time.monotonic() < end:
            if (status := wait(child, 0.01)) is not None:
                return status
        return wait(child, self.draw.uniform(0.0, 1.5))

    def _kill_worker(self, kind: str, child: int) -> int | None:
        name = ACTOR if kind == "actor" else b"arbora.distributed.worker"

        def workers() -> list[int]:
            return [pid for pid in descendants(child) if name in _command(pid)]

        ended = self._moment(child, workers)
        if ended is not None:
            return ended
        if found := workers():
            with suppress(ProcessLookupError):
                os.kill(self.draw.choice(found), signal.SIGKILL)
                self.kills[kind] += 1
        status = wait(child, LONGEST)
        if status is None:
            kill_child(child)
        return status

    def _kill_driver(self, kind: str, child: int, target: Path) -> int | None:
        begun = self.draw.choice([target.exists, lambda: any(target.glob("[!.]*.conllu"))])
        ended = self._moment(child, begun)
        if ended is not None:
            return ended
        os.kill(child, signal.SIGSTOP)  # it starts no process from now on
        below = descendants(child)
        if KINDS[kind] == "ray":  # Ray's own processes are not ours to judge
            below = {pid: begun for pid, begun in below.items() if ACTOR in _command(pid)}
        kill_child(child)
        self.kills[kind] += 1
        end = time.monotonic() + ENDING
        while (left := still_running(below)) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            self.faults.append(f"{kind}: processes are left: {[*map(_command, left)]}")
        return None

    def _rerun(self, kind: str, target: Path, log: Path, missing: int) -> None:
        status = wait(start(self.corpus, target, "local", log), LONGEST)
        self.reruns[kind] += 1
        if status != 0:
            self.fault(kind, f"the next run ended with {status}", log)
        elif (parsed := json.loads((target / "_report.json").read_text())["parsed"]) != missing:
            self.fault(kind, f"the next run parsed {parsed} shards, of which {missing} were missing", log)

    def _compare(self, kind: str, target: Path, log: Path) -> None:
        if (found := outputs_of(target)) != self.corpus.outputs:
            names = sorted(found.keys() ^ self.corpus.outputs.keys()) or "other bytes"
            self.fault(kind, f"not the outputs of one process: {names}", log)
        report = counts_of(json.loads((target / "_report.json").read_text()))
        if report != self.corpus.counts or (target / "_failed.jsonl").exists():
            self.fault(kind, f"counts {report}, expected {self.corpus.counts}", log)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    kinds = [kind for kind in options.kinds if KINDS[kind] == "local" or find_spec("ray")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = make_corpus(folder, options.sentences)
        killer = Killer(corpus, folder, random.Random(options.seed))
        for kind in kinds:
            while killer.kills[kind] < options.kills and not killer.faults:
                killer.disturb(kind)
    for kind in kinds:
        print(f"{kind}: {killer.kills[kind]} kills, {killer.reruns[kind]} reruns")
    print(f"{killer.number} runs of {len(corpus.outputs)} shards, {len(killer.faults)} faults")
    for fault in killer.faults:
        print(f"fault with --seed {options.seed}: {fault}")
    sys.exit(1 if killer.faults else 0)


if __name__ == "__main__":
    main()
