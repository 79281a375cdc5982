"""Send mutated HTTP requests to `arbora serve` for a while.

Requests are drawn from the endpoints that /openapi.json lists and from those for UDPipe's clients. They are
changed as HTTP (bytes, lines, headers), as JSON (fields, values) or as forms (fields, boundaries). The server
must respond with a status below 500 or 503, or close the connection; it must not log an error, end, or keep
memory, and at the end it must answer a good request. Each request follows from (seed, number):

    python tests/fuzz/fuzz_server.py --seconds 60 --seed 0
    python tests/fuzz/fuzz_server.py --seed 0 --number 1234
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

from arbora.data.synthetic import generate
from arbora.training import train

CONLLU = "1\ttafo\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tven\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
BODIES = [
    {"text": "tafo ven. gu tafo ven!"},
    {"text": "tafo ven gu", "k": 3, "marginals": True, "keep": [{"word": 1, "head": 2, "deprel": "x"}]},
    {"conllu": CONLLU * 2},
    {"conllu": CONLLU},
]
FORMS = [
    {"data": "tafo ven. gu tafo ven!", "tokenizer": "", "tagger": "", "parser": ""},
    {"data": "tafo ven gu", "tokenizer": "presegmented;ranges", "parser": "", "output": "vertical"},
    {"data": CONLLU * 2, "tagger": "", "parser": "", "model": "small"},
    {"data": "tafo ven\ngu\n", "input": "horizontal", "output": "horizontal"},
]
"""Parameters of /process."""
PROCESS = "/process"
ODD = [
    None,
    True,
    0,
    -1,
    2**31,
    2**64,
    1e308,
    "",
    "\x00",
    "\ud800",
    "a" * 3000,
    "\t\n",
    "_",
    [],
    {},
    [[]],
    CONLLU,
]
ODD_HEADERS = [
    ("Host", ""),
    ("Host", "evil.example"),
    ("Origin", "https://evil.example"),
    ("Content-Length", "99999999999"),
    ("Content-Length", "-1"),
    ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "chunked, identity"),
    ("Content-Type", "text/html"),
    ("Content-Encoding", "gzip"),
    ("Expect", "100-continue"),
    ("Connection", "upgrade"),
    ("Upgrade", "h2c"),
    ("Sec-Fetch-Site", "cross-site"),
    ("X", "a" * 70_000),
]
TOKENS = [
    b"\r\n",
    b"\r",
    b"\n",
    b"\x00",
    b":",
    b" ",
    b"\xff\xfe",
    b"0\r\n\r\n",
    b"%00",
    b"{",
    b'"',
    b"\\u0000",
]
CLIENTS = 4
PATIENCE = 30.0
MOST_MEMORY = 400_000_000


def mutate_json(value: object, draw: random.Random) -> object:
    """The value with a few changes."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        holders = [value]
        for each in holders:
            inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            holders += [item for item in inner if isinstance(item, dict | list)]
        holder = draw.choice(holders)
        if isinstance(holder, dict):
            name = draw.choice([*holder, "k", "keep", "text", "conllu", "zz"])
            if draw.random() < 0.2:
                holder.pop(name, None)
            else:
                holder[name] = copy.deepcopy(draw.choice([*ODD, *BODIES]))
        elif isinstance(holder, list):
            holder.insert(draw.randint(0, len(holder)), copy.deepcopy(draw.choice([*ODD, *BODIES])))
    return value


def mutate_bytes(data: bytes, draw: random.Random) -> bytes:
    """The bytes with a few changes."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        at, how = draw.randrange(len(changed) + 1), draw.randrange(5)
        if how == 0:
            changed[at:at] = draw.choice(TOKENS)
        elif how == 1:
            del changed[at : at + draw.choice([1, 2, 50])]
        elif how == 2:
            changed[at:at] = changed[at : at + draw.choice([1, 20, 200])]
        elif how == 3:
            changed[at : at + 1] = bytes([draw.randrange(256)])
        else:
            del changed[draw.randrange(len(changed) + 1) :]
    return bytes(changed)


def make_form(draw: random.Random) -> tuple[str, bytes]:
    """Content type and body of a form: encoded like a URL, or in parts."""
    fields = dict(draw.choice(FORMS))
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        name = draw.choice([*fields, "input", "output", "model", "tokenizer", "zz", 'a"b'])
        if draw.random() < 0.2:
            fields.pop(name, None)
        else:
            fields[name] = str(draw.choice(ODD))
    if draw.random() < 0.5:
        return "application/x-www-form-urlencoded", urlencode(fields, errors="replace").encode()
    boundary = draw.choice(["b", "b", "b", "--", "", "a" * 71])
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    body = "".join([*parts, f"--{boundary}--\r\n"])
    return f"multipart/form-data; boundary={boundary}", body.encode("utf-8", "surrogatepass")


def make_request(paths: list[tuple[str, str]], seed: int, number: int) -> bytes:
    """One request, as it is sent."""
    draw = random.Random(f"{seed}/{number}")
    method, path = draw.choice(paths)
    body, kind = b"", "application/json"
    if path == PROCESS:
        kind, body = make_form(draw)
        if method == "GET":
            path, body = f"{path}?{body.decode('latin-1').partition(chr(13))[0]}", b""
        elif draw.random() < 0.2:
            body = mutate_bytes(body, draw)
    elif method == "POST":
        text = json.dumps(mutate_json(draw.choice(BODIES), draw), ensure_ascii=draw.random() < 0.5)
        body = text.encode("utf-8", "surrogatepass")
        if draw.random() < 0.2:
            body = mutate_bytes(body, draw)
    if draw.random() < 0.1:
        path += draw.choice(["/", "?q=%00", "/../..", "%2f", "\xe9", "//", "#", ";a=b"])
    headers = [("Host", "localhost"), ("Connection", "close"), ("Content-Type", kind)]
    headers.append(("Content-Length", str(len(body))))
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        headers.insert(draw.randint(0, len(headers)), draw.choice(ODD_HEADERS))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    request = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
    return mutate_bytes(request, draw) if draw.random() < 0.3 else request


def send(port: int, request: bytes) -> tuple[str, bytes]:
    """What came of it: a status, `closed` or `silent`; and the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        received = b""
        try:
            connection.sendall(request)
            while part := connection.recv(65536):
                received += part
        except ConnectionError:
            pass
        except TimeoutError:
            return "silent", received
    received = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", received)
    return (found[1].decode() if found else "closed" if not received else "no HTTP"), received


class Fuzzer:
    """A server, and clients that send requests to it."""

    def __init__(self, folder: Path, seed: int) -> None:
        model = folder / "small.arbora"
        shape = {"tree_bits": 12, "label_bits": 12, "parser": "graph", "order": 1}
        train(list(generate(60, seed=1)), config={**shape, "parameters": {"epochs": 1}}).parser.save(model)
        command = [sys.executable, "-m", "arbora", "serve", "-m", str(model), "--port", "0", "--quiet"]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen([*command, "--silence", "1", "--timeout", "5"], stderr=self.log)
        self.port, self.seed = self._find_port(), seed
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/openapi.json") as response:
            document = json.load(response)
        self.paths = [(method.upper(), path) for path, item in document["paths"].items() for method in item]
        self.paths += [("POST", PROCESS)]
        self.paths += [pair for pair in self.paths if pair[0] == "POST"] * 3
        self.paths += [("GET", "/"), ("GET", "/models"), ("GET", PROCESS)]
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def _find_port(self) -> int:
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            if found := re.search(r":(\d+)/", Path(self.log.name).read_text()):
                return int(found[1])
            time.sleep(0.05)
        raise SystemExit(f"the server did not start: {Path(self.log.name).read_text()}")

    def run(self, numbers: range, end: float) -> None:
        """Send requests until the end."""
        for number in numbers:
            if time.monotonic() > end or self.faults:
                return
            status, response = send(self.port, make_request(self.paths, self.seed, number))
            self.counts[status] += 1
            is_bad = status in ("silent", "no HTTP") or (
                status >= "500" and status[0] == "5" and status != "503"
            )
            if is_bad:
                self.faults.append(f"--number {number}: {status} {response[:200]!r}")

    def end(self) -> None:
        """Check the server, and stop it."""
        status, response = send(self.port, make_good())
        if status != "200":
            self.faults.append(f"a good request at the end: {status} {response[:200]!r}")
        with contextlib.suppress(OSError):
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
            if pages * 4096 > MOST_MEMORY:
                self.faults.append(f"memory: {pages * 4096:,} bytes")
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(30) != 0:
            self.faults.append(f"exit status {self.process.returncode}")
        log = Path(self.log.name).read_text()
        self.log.close()
        if "rror" in log or "Traceback" in log:
            self.faults.append(f"log: {log[-2000:]}")


def make_good() -> bytes:
    body = json.dumps(BODIES[0]).encode()
    head = "POST /api/parse HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, help="stop after so long; default 10 without --count")
    parser.add_argument("--count", type=int, help="stop after so many requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, help="send this request alone, and print it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), options.seed)
        seconds = options.seconds or (10.0 if options.count is None else 1e9)
        end = time.monotonic() + seconds
        if options.number is not None:
            print(make_request(fuzzer.paths, options.seed, options.number))
            fuzzer.run(range(options.number, options.number + 1), end)
        else:
            numbers = [range(first, options.count or 10**12, CLIENTS) for first in range(CLIENTS)]
            clients = [threading.Thread(target=fuzzer.run, args=(each, end)) for each in numbers]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
        fuzzer.end()
    print(f"server: {fuzzer.counts.total():,} requests, {dict(sorted(fuzzer.counts.items()))}")
    for fault in fuzzer.faults:
        print(f"fault with --seed {options.seed}: {fault}")
    sys.exit(1 if fuzzer.faults else 0)


if __name__ == "__main__":
    main()
