"""Load on the page's server over loopback: failures, time per request, growth of memory, and how it ends.

    python benchmarks/serve.py                            # 6,000 requests on 8 connections
    python benchmarks/serve.py --requests 50000 --connections 16
    python benchmarks/serve.py --json > figures.json
    python benchmarks/serve.py --check                    # exit status 1 when a bar is missed

The server is `arbora serve` in a process of its own, with a small parser trained on an invented treebank.
Requests are of all kinds that the page sends, and some that are refused: an answer that is not the expected
one is a failure. Memory is the server's resident set after a first tenth of the requests, and after all.
"""

from __future__ import annotations

import argparse
import http.client
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
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from arbora.data.synthetic import generate
from arbora.training import train

MOST_GROWTH = 8_000_000  # bytes: caches of allocators, not a leak that grows with requests
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Kind:
    """A request, and the status that it must have."""

    name: str
    method: str
    path: str
    body: bytes
    status: int


@dataclass
class Figures:
    """What the clients saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: Kind, spent: float, failure: str | None) -> None:
        with self.lock:
            self.seconds.setdefault(kind.name, []).append(spent)
            if failure is not None:
                self.failures.append(f"{kind.name}: {failure}")


def make_kinds() -> list[Kind]:
    """What the page sends, and what nobody should."""
    sentences = [s for s in generate(200, seed=7) if 5 <= len(s) <= 30]
    kinds = [Kind("page", "GET", "/", b"", 200), Kind("info", "GET", "/api/info", b"", 200)]

    def post(name: str, value: object, status: int = 200, path: str = "/api/parse") -> None:
        kinds.append(Kind(name, "POST", path, json.dumps(value).encode(), status))

    for i in range(40):
        three = sentences[i : i + 3]
        whole = sentences[i].to_conllu()
        post("text", {"text": " ".join(s.text for s in three)})
        post("conllu", {"conllu": "".join(s.to_conllu() for s in three)})
        post("closer", {"conllu": whole, "k": 8, "marginals": True})
        keep = [{"word": 1, "head": len(sentences[i])}]
        post("keep", {"conllu": whole, "k": 8, "marginals": True, "keep": keep})
        post("svg", {"conllu": whole}, path="/api/svg")
    post("no tree", {"text": "a b", "keep": [{"word": 1, "head": 2}, {"word": 2, "head": 1}]}, 422)
    post("too large", {"text": "x" * 1_200_000}, 413)
    kinds.append(Kind("bad JSON", "POST", "/api/parse", b"{" * 1000, 400))
    return kinds


class Server:
    """`arbora serve` in a process of its own."""

    def __init__(self, model: Path) -> None:
        command = [sys.executable, "-m", "arbora", "serve", "-m", str(model), "--port", "0", "--quiet"]
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

    def end(self) -> tuple[int, float]:
        """Its exit status after SIGTERM, and how long that took."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30), time.monotonic() - begun
        except subprocess.TimeoutExpired:
            self.process.kill()
            return -1, time.monotonic() - begun


def send_all(port: int, waiting: queue.SimpleQueue[Kind | None], figures: Figures) -> None:
    """One client: takes requests until there are no more, on one connection as long as it lasts."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while (kind := waiting.get()) is not None:
        begun = time.perf_counter()
        failure = None
        try:
            connection.request(kind.method, kind.path, kind.body or None, JSON if kind.body else {})
            response = connection.getresponse()
            response.read()
            if response.status != kind.status:
                failure = f"expected {kind.status}, got {response.status}"
        except (OSError, http.client.HTTPException) as error:
            failure = f"{type(error).__name__}: {error}"
            connection.close()
        figures.add(kind, time.perf_counter() - begun, failure)
    connection.close()


def load(port: int, kinds: list[Kind], count: int, connections: int, figures: Figures, seed: int) -> None:
    """So many requests, drawn at random; the large ones are one in two hundred."""
    draw = random.Random(seed)
    usual = [kind for kind in kinds if len(kind.body) < 100_000]
    waiting: queue.SimpleQueue[Kind | None] = queue.SimpleQueue()
    for _ in range(count):
        waiting.put(draw.choice(kinds if draw.random() < 0.3 else usual))
    clients = [threading.Thread(target=send_all, args=(port, waiting, figures)) for _ in range(connections)]
    for client in clients:
        waiting.put(None)
        client.start()
    for client in clients:
        client.join()


def measure(requests: int, connections: int) -> dict[str, object]:
    """All figures."""
    kinds, warm, figures = make_kinds(), Figures(), Figures()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "small.arbora"
        settings = {"tree_bits": 16, "label_bits": 16, "parameters": {"epochs": 2}}
        train(list(generate(150, seed=1)), config=settings).parser.save(model)
        server = Server(model)
        load(server.port, kinds, requests // 10, connections, warm, seed=1)
        before = server.memory()
        begun = time.monotonic()
        load(server.port, kinds, requests - requests // 10, connections, figures, seed=2)
        spent = time.monotonic() - begun
        growth = server.memory() - before
        status, ending = server.end()
    times = [seconds for group in figures.seconds.values() for seconds in group]
    failures = warm.failures + figures.failures
    return {
        "requests": requests,
        "connections": connections,
        "failures": len(failures),
        "first_failures": failures[:5],
        "requests_per_second": len(times) / spent,
        "p50_ms": 1000 * quantiles(times, n=100)[49],
        "p99_ms": 1000 * quantiles(times, n=100)[98],
        "by_kind_p50_ms": {
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
    missed = found["failures"] or found["exit_status"] or int(str(found["growth_bytes"])) > MOST_GROWTH
    sys.exit(1 if options.check and missed else 0)


if __name__ == "__main__":
    main()
