"""Load and attacks on the page's server over loopback: failures, response times, memory growth, shutdown.

    python benchmarks/serve.py                            # 6,000 requests on 8 connections
    python benchmarks/serve.py --requests 100000          # twenty minutes
    python benchmarks/serve.py --json > figures.json
    python benchmarks/serve.py --check                    # exit status 1 if a limit is missed

The server is `arbora serve` in its own process, with a small parser trained on a synthetic treebank.
`serve_requests.py` has the requests: all that the page sends, malformed and hostile ones, and slow clients
beside them. Any other response than the expected one is a failure. Memory is the server's resident set after
a first tenth of the requests, and after all.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from serve_requests import Client, Kind, draw_kind, make_groups, wait_slowly

from arbora.data.synthetic import generate
from arbora.training import train

MOST_GROWTH = 8_000_000  # bytes, for allocators' caches; a leak would grow with requests
SLOW_CLIENTS = 20
SILENCE, TIMEOUT = 2, 10


@dataclass
class Figures:
    """The clients' observations."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, group: str, name: str, spent: float, failure: str | None) -> None:
        with self.lock:
            self.seconds.setdefault(group, []).append(spent)
            if failure is not None:
                self.failures.append(f"{group}, {name}: {failure}")


class Server:
    """`arbora serve` in its own process."""

    def __init__(self, model: Path) -> None:
        command = [sys.executable, "-m", "arbora", "serve", "-m", str(model), "--port", "0", "--quiet"]
        command += ["--silence", str(SILENCE), "--timeout", str(TIMEOUT)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r":(\d+)/", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}")
        self.port = int(found[1])

    def memory(self) -> int:
        """Its resident set, in bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> tuple[int, float, str]:
        """Its exit status after SIGTERM, the time to exit, and its log."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            _, log = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return -1, time.monotonic() - begun, ""
        return self.process.returncode, time.monotonic() - begun, log


def send_all(port: int, waiting: queue.SimpleQueue[tuple[str, Kind] | None], figures: Figures) -> None:
    """One client: sends requests until there are no more."""
    client = Client(port)
    while (drawn := waiting.get()) is not None:
        group, kind = drawn
        begun = time.perf_counter()
        failure = client.send(kind)
        figures.add(group, kind.name, time.perf_counter() - begun, failure)
    client.close()


def send_slowly(port: int, ended: threading.Event, figures: Figures, seed: int) -> None:
    """One slow client after the other."""
    draw = random.Random(seed)
    while not ended.is_set():
        begun = time.perf_counter()
        failure = wait_slowly(port, draw)
        figures.add("slow", "slow", time.perf_counter() - begun, failure)


def load(port: int, count: int, connections: int, figures: Figures, seed: int) -> None:
    """Send random requests, while slow clients are connected."""
    draw, groups = random.Random(seed), make_groups()
    waiting: queue.SimpleQueue[tuple[str, Kind] | None] = queue.SimpleQueue()
    for _ in range(count):
        waiting.put(draw_kind(draw, groups))
    ended = threading.Event()
    clients = [threading.Thread(target=send_all, args=(port, waiting, figures)) for _ in range(connections)]
    slow = [
        threading.Thread(target=send_slowly, args=(port, ended, figures, seed * 1000 + i))
        for i in range(SLOW_CLIENTS)
    ]
    for _ in clients:
        waiting.put(None)
    for each in [*clients, *slow]:
        each.start()
    for client in clients:
        client.join()
    ended.set()
    for each in slow:
        each.join()


def measure(requests: int, connections: int) -> dict[str, object]:
    """All figures."""
    warm, figures = Figures(), Figures()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "small.arbora"
        settings = {"tree_bits": 16, "label_bits": 16, "only": "parser", "parser": "graph"}
        train(list(generate(150, seed=1)), config={**settings, "parameters": {"epochs": 2}}).parser.save(
            model
        )
        server = Server(model)
        load(server.port, requests // 10, connections, warm, seed=1)
        before = server.memory()
        begun = time.monotonic()
        load(server.port, requests - requests // 10, connections, figures, seed=2)
        spent = time.monotonic() - begun
        growth = server.memory() - before
        status, ending, log = server.end()
    times = [seconds for name, group in figures.seconds.items() for seconds in group if name != "slow"]
    failures = warm.failures + figures.failures
    counts = Counter({name: len(group) for name, group in figures.seconds.items()})
    counts.update({name: len(group) for name, group in warm.seconds.items()})
    return {
        "requests": counts.total(),
        "counts": dict(counts),
        "connections": connections,
        "failures": len(failures),
        "first_failures": failures[:5],
        "logged_errors": sum("rror" in line for line in log.splitlines()),
        "first_logged": [line for line in log.splitlines() if "rror" in line][:5],
        "requests_per_second": len(times) / spent,
        "p50_ms": 1000 * quantiles(times, n=100)[49],
        "p99_ms": 1000 * quantiles(times, n=100)[98],
        "p50_ms_by_group": {
            name: 1000 * quantiles(s * 2, n=2)[0] for name, s in sorted(figures.seconds.items())
        },
        "memory_bytes": before + growth,
        "growth_bytes": growth,
        "exit_status": status,
        "shutdown_seconds": ending,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = measure(max(20, options.requests), max(1, options.connections))
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            shown = f"{value:,.1f}" if isinstance(value, float) else value
            if isinstance(value, dict):
                shown = ", ".join(f"{kind} {number:.1f}" for kind, number in value.items())
            print(f"{name.replace('_', ' '):>22}  {shown}")
    missed = found["failures"] or found["logged_errors"] or found["exit_status"]
    missed = missed or int(str(found["growth_bytes"])) > MOST_GROWTH
    sys.exit(1 if options.check and missed else 0)


if __name__ == "__main__":
    main()
