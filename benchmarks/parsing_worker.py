"""Worker processes of benchmarks/training.py and benchmarks/parsing.py.

    train SYSTEM FOLDER whole|quick     write FOLDER/model and FOLDER/record.json
    load SYSTEM MODEL                   {"import": seconds, "load": seconds}
    parse SYSTEM MODEL THREADS          then, for each line INPUT<tab>OUTPUT, {"cpu", "wall", "peak_mb"}
    growth MODEL DEV SIZE...            {"sentences": [[n, milliseconds each]...], "longest", "peak_mb"}

Separate processes, so that memory is measured per system, loading is cold, and systems take turns with models
loaded.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from parsing_peers import system_of
from parsing_systems import Files, Loadable, peak_megabytes, write_record

GROWTH_WORDS = 6000  # about the same number of words at each length


def train(name: str, folder: str, extent: str) -> None:
    write_record(system_of(name), Files.find(), Path(folder), quick=extent == "quick")


def loadable(name: str) -> Loadable:
    """The system of that name, or an already trained network."""
    kind, _, detail = name.partition("-")
    if kind != "network":
        return system_of(name)
    from parsing_networks import Network  # imports all of Arbora

    return Network(detail)


def load(answers: IO[str], name: str, model: str) -> None:
    system = loadable(name)
    start = time.perf_counter()
    importlib.import_module(system.module)
    imported = time.perf_counter()
    system.load(Path(model))
    answer(answers, {"import": imported - start, "load": time.perf_counter() - imported})


def parse(answers: IO[str], name: str, model: str, threads: str) -> None:
    convert = loadable(name).load(Path(model), int(threads))
    answer(answers, {"peak_mb": peak_megabytes()})
    for line in sys.stdin:
        source, target = line.rstrip("\n").split("\t")
        cpu, wall = time.process_time(), time.perf_counter()
        convert(Path(source), Path(target))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        answer(answers, {"cpu": cpu, "wall": wall, "peak_mb": peak_megabytes()})


def growth(answers: IO[str], model: str, dev: str, *sizes: str) -> None:
    """Sentences of each length, joined from those of dev; text to text."""
    from arbora.data.treebank import read_columns
    from arbora.errors import ArboraError
    from arbora.parsing.parser import Parser

    parser = Parser.load(model)
    rows = [
        line.split("\t") for line in Path(dev).read_text(encoding="utf-8").splitlines() if line[:1].isdigit()
    ]
    words = [row for row in rows if row[0].isdecimal()]
    times, longest = [], 0
    for n in map(int, sizes):
        count = max(1, min(GROWTH_WORDS, len(words)) // n)
        text = "".join(joined(words[i * n : (i + 1) * n]) for i in range(count)).encode()
        seconds = []
        for _ in range(3 if n <= 500 else 1):
            target = io.BytesIO()
            start = time.process_time()
            try:
                parser.parse_file(io.BytesIO(text), target, format="conllu")
            except (ArboraError, MemoryError) as error:  # report a rejected length
                print(f"{n} words: {error}", file=sys.stderr)
                break
            seconds.append(time.process_time() - start)
        if not seconds:
            break
        times.append((n, 1000 * min(seconds) / count))
        # The reader rejects cycles, so check only that each word has a head.
        parsed = read_columns(io.BytesIO(target.getvalue()), format="conllu")
        if parsed.words == n * count and bool((parsed.heads >= 0).all()):
            longest = max(longest, n)
    answer(answers, {"sentences": times, "longest": longest, "peak_mb": peak_megabytes()})


def joined(words: list[list[str]]) -> str:
    """One sentence of these words, without their trees."""
    lines = ["\t".join([str(i), *row[1:6], "_", "_", "_", "_"]) for i, row in enumerate(words, start=1)]
    return "\n".join(lines) + "\n\n"


def answer(answers: IO[str], figures: dict[str, Any]) -> None:
    print(json.dumps(figures), file=answers, flush=True)


def main() -> None:
    task, *arguments = sys.argv[1:]
    if task == "train":
        train(*arguments)
        return
    # Libraries print to stderr, so that answers stay clean.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tasks: dict[str, Callable[..., None]] = {"load": load, "parse": parse, "growth": growth}
    tasks[task](answers, *arguments)


if __name__ == "__main__":
    main()
