"""Kill `arbora annotate` at random moments while edits arrive: no acknowledged decision may be lost.

After each kill the project is opened again. Every head that a response acknowledged must be there, and at
most the one edit besides whose response did not arrive. At the end all edits are undone, which must leave no
decision. A failure prints the seed that reproduces it:

    python tests/fuzz/kill_annotators.py --kills 50
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from arbora.annotation.project import Project
from arbora.annotation.texts import read_draft
from arbora.cli.main import run
from arbora.data import treebank
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.data.synthetic import generate

ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/")
LONGEST = 60.0
"""Seconds in which a server must start, and a request must be answered."""


class Server:
    """`arbora annotate` in a child of this process, which starts faster than a new process."""

    def __init__(self, file: Path, log: Path, every: int) -> None:
        log.write_bytes(b"")
        self.child = os.fork()
        if not self.child:
            self._run(file, log, every)
        end = time.monotonic() + LONGEST
        while not (found := ADDRESS.search(log.read_bytes())):
            if time.monotonic() > end or os.waitpid(self.child, os.WNOHANG)[0]:
                raise SystemExit(f"the server did not start: {log.read_text()}")
            time.sleep(0.01)
        self.port = int(found[1])

    @staticmethod
    def _run(file: Path, log: Path, every: int) -> None:
        try:
            with log.open("wb") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
                sys.argv = ["arbora", "annotate", str(file), "--port", "0", "--every", str(every)]
                run()
        finally:
            os._exit(70)

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


class Annotator(threading.Thread):
    """Decides heads at random until the server dies, and remembers what was acknowledged."""

    def __init__(self, port: int, draw: random.Random, sentences: int) -> None:
        super().__init__(daemon=True)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
        self._draw, self._sentences = draw, sentences
        self.acknowledged: list[tuple[int, dict[int, int]]] = []
        """Numbers of sentences, and the heads that humans have decided in them."""
        self.pending = 0
        """1 while an edit is not answered."""

    def run(self) -> None:
        try:
            while True:
                self._edit()
        except (OSError, http.client.HTTPException):
            return

    def _post(self, path: str, value: Any) -> Any:
        headers = {"content-type": "application/json"}
        self._connection.request("POST", path, json.dumps(value), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def _edit(self) -> None:
        number = self._draw.randint(1, self._sentences)
        _, view = self._post("/api/sentence", {"number": number})
        n = len(view["words"])
        word, head = self._draw.randint(1, n), self._draw.randint(0, n)
        change = {"do": "head", "word": word, "head": head, "deprel": "x", "release": True}
        self.pending = 1
        status, reply = self._post(
            "/api/edit", {"number": number, "version": view["version"], "edit": change}
        )
        self.pending = 0
        if status == 200:
            words = reply["sentences"][0]["words"]
            heads = {each["id"]: each["head"] for each in words if each["by"]["head"] == "human"}
            self.acknowledged.append((number, heads))


def without_tree(sentence: Sentence) -> Sentence:
    n = len(sentence)
    return replace(sentence, heads=(NO_HEAD,) * n, deprels=("_",) * n)


def check(file: Path, folder: Path, known: dict[int, dict[int, int]]) -> int:
    """Compare a project with what was acknowledged; return how many sentences differ, and learn from them."""
    project = Project(file, folder)
    differing = 0
    for number, text in enumerate(project.store.texts, start=1):
        heads = read_draft(text).decided_heads()
        found = {word: head for word, head in enumerate(heads, start=1) if head >= 0}
        if found != known.get(number, {}):
            differing += 1
            known[number] = found
    project.close()
    return differing


def kill(count: int, seed: int, sentences: int, every: int) -> list[str]:
    """Kill servers, and return faults."""
    draw, faults = random.Random(seed), []
    decided = 0
    with tempfile.TemporaryDirectory() as name:
        file, log = Path(name) / "t.conllu", Path(name) / "log"
        folder = file.with_suffix(".annotation")
        treebank.write([without_tree(sentence) for sentence in generate(sentences, seed=seed)], file)
        known: dict[int, dict[int, int]] = {}
        for number in range(1, count + 1):
            server = Server(file, log, every)
            annotator = Annotator(server.port, draw, sentences)
            annotator.start()
            time.sleep(draw.uniform(0, 1.5))
            server.kill()
            annotator.join(LONGEST)
            decided += len(annotator.acknowledged)
            known |= dict(annotator.acknowledged)
            if (differing := check(file, folder, known)) > annotator.pending:
                faults.append(f"kill {number}: {differing} sentences differ from what was acknowledged")
        project = Project(file, folder)
        while project.store.undoable:
            project.undo()
        left = [read_draft(text).decided for text in project.store.texts]
        project.close()
        if any(left):
            faults.append("undoing everything leaves decisions")
    print(f"{count} kills, {decided} decisions acknowledged")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--every", type=int, default=25, help="decisions between trainings")
    options = parser.parse_args()
    faults = kill(options.kills, options.seed, options.sentences, options.every)
    for fault in faults:
        print(f"fault with --seed {options.seed}: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
