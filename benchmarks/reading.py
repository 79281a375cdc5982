"""Words per second in and out of treebanks, on one core: python benchmarks/reading.py [FILE...]

Without files: one training file of each treebank in $ARBORA_DATA or ../shared/data, or a synthetic
treebank if there is none. Best of three runs; `conllu` is the package of that name, timed on the
first part of the file.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arbora.data import treebank
from arbora.data.statistics import statistics
from arbora.data.synthetic import generate

RUNS = 3
PEER_BYTES = 500_000
BAR = 1_000_000


def found_files() -> list[Path]:
    root = Path(__file__).resolve().parent.parent
    data = Path(os.environ.get("ARBORA_DATA", root.parent / "shared" / "data"))
    return sorted(data.glob("*/*train*.conll*"))


def synthetic() -> bytes:
    text = "".join(sentence.to_conllu() for sentence in generate(5_000, seed=1)).encode()
    return text * 4


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def peer_speed(data: bytes) -> float | None:
    try:
        import conllu
    except ImportError:
        return None
    text = data[:PEER_BYTES].rpartition(b"\n\n")[0].decode() + "\n\n"
    words = treebank.read_columns(io.BytesIO(text.encode())).words
    start = time.process_time()
    conllu.parse(text)
    return words / (time.process_time() - start)


def measure(name: str, data: bytes) -> float:
    form = treebank.detect_format(name, data[:100_000])
    columns = treebank.read_columns(io.BytesIO(data), format=form)
    sentences = list(treebank.read(io.BytesIO(data), format=form))
    words = columns.words

    def speed(work: Callable[[], object]) -> float:
        return words / seconds(work)

    arrays = speed(lambda: treebank.read_columns(io.BytesIO(data), format=form))
    objects = speed(lambda: sum(1 for _ in treebank.read(io.BytesIO(data), format=form)))
    back = speed(columns.to_bytes)
    rendered = speed(lambda: treebank.write(sentences, io.BytesIO()))
    counted = speed(lambda: statistics([columns]))
    peer = peer_speed(data)
    ratio = f"{arrays / peer:8.0f}x" if peer else f"{'-':>9}"
    figures = (arrays, objects, back, rendered, counted, *((peer,) if peer else ()))
    line = "".join(f"{figure / 1e6:10.3f}" for figure in figures)
    print(f"{name:<32}{words:>9}{line}{ratio}", flush=True)
    return arrays


def main() -> int:
    paths = [Path(name) for name in sys.argv[1:]] or found_files()
    titles = ("arrays", "objects", "bytes", "text", "stats", "conllu")
    print("million words per second, one core")
    print(f"{'file':<32}{'words':>9}" + "".join(f"{title:>10}" for title in titles) + "    ratio")
    if paths:
        speeds = [measure(path.name, path.read_bytes()) for path in paths]
    else:
        speeds = [measure("synthetic.conllu", synthetic())]
    slowest = min(speeds)
    print(f"slowest read into arrays: {slowest / 1e6:.2f} million words/s (limit: {BAR / 1e6:.0f})")
    return 0 if slowest >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
