"""Accuracy and speed of segmenters: python benchmarks/segmenting.py [TREEBANK...]

Trains a segmenter on each treebank's train file, with dev, stores and reloads it, and segments dev's raw
text. F1 by the official scorer of Universal Dependencies (PyPI's udtools), tokens per second of one core,
size of the model and CPU seconds of the training. Without names: those below, from $ARBORA_DATA or
../shared/data.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path

from udtools import udeval

from arbora.data.columns import Columns
from arbora.data.raw_text import raw_text
from arbora.data.treebank import read_columns
from arbora.pipeline.segmenter import Segmenter
from arbora.pipeline.train_segmenter import train_segmenter
from arbora.storage.model_file import ModelFile

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("ARBORA_DATA", ROOT.parent / "shared" / "data"))
TREEBANKS = [
    "UD_English-EWT",
    "UD_Portuguese-Bosque",
    "UD_Greek-GDT",
    "UD_Turkish-IMST",
    "UD_Hungarian-Szeged",
    "UD_Japanese-GSD_r1.4",
    "UD_Swedish-Talbanken_2015-01-05",
    "UD_Basque-BDT_r1.4",
    "UD_Dutch-LassySmall_r1.4",
]
REPEAT = 20


def with_trees(columns: Columns) -> str:
    """CoNLL-U in which the first word heads all others: the scorer needs trees."""
    lines = []
    for line in columns.to_bytes().decode().split("\n"):
        fields = line.split("\t")
        if len(fields) == 10 and fields[0].isdigit():
            fields[6:8] = ["0", "root"] if fields[0] == "1" else ["1", "dep"]
            fields[8] = "_"
        if "." not in fields[0] or line.startswith("#"):
            lines.append("\t".join(fields))
    return "\n".join(lines)


def official(gold: Columns, found: Columns) -> dict[str, float]:
    kind = {"multiple_roots_okay": True}
    loaded = [udeval.load_conllu(io.StringIO(with_trees(each)), "dev", kind) for each in (gold, found)]
    scores = udeval.evaluate(*loaded)
    return {name: 100 * scores[name].f1 for name in ("Tokens", "Words", "Sentences")}


def files(name: str) -> tuple[Path, Path]:
    folder = DATA / name
    found = [sorted(folder.glob(f"*{part}.conll*")) for part in ("train", "dev")]
    if not all(found):
        sys.exit(f"{folder}: expected a train and a dev file")
    return found[0][0], found[1][0]


def measure(name: str) -> None:
    train, dev = (read_columns(path) for path in files(name))
    start = time.process_time()
    trained = train_segmenter(train, dev=dev)
    seconds = time.process_time() - start
    tensors, metadata = trained.to_parts()
    size = sum(tensor.nbytes for tensor in tensors.values()) + len(json.dumps(metadata))
    segmenter = Segmenter.from_file(ModelFile("<trained>", 1, "", metadata, tensors))
    raw = raw_text(dev)
    scores = official(dev, segmenter.segment(raw.text).columns)
    long = "\n\n".join([raw.text] * REPEAT)
    start = time.process_time()
    segmenter.segment(long)
    speed = REPEAT * len(raw.starts) / (time.process_time() - start)
    figures = "".join(f"{scores[key]:9.2f}" for key in ("Tokens", "Words", "Sentences"))
    print(f"{name:34}{figures}{speed:12,.0f}{size / 1e6:9.2f}{seconds:9.1f}", flush=True)


def main() -> None:
    print(f"{'treebank':34}{'tokens':>9}{'words':>9}{'sents':>9}{'tokens/s':>12}{'MB':>9}{'train s':>9}")
    for name in sys.argv[1:] or TREEBANKS:
        measure(name)


if __name__ == "__main__":
    main()
