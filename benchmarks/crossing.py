"""Ways to parse non-projective trees, on dev sets: flattened or pseudo-projective trees, hill climbing.

    python benchmarks/crossing.py                   # three treebanks in $ARBORA_DATA, 5 epochs each
    python benchmarks/crossing.py --epochs 10 --only Danish
    python benchmarks/crossing.py --parser cube     # third order by cube pruning
    python benchmarks/crossing.py --json > figures.json

Second-order parsers by default, gold tags, all tokens, whole labels, one thread. If a treebank has no dev
set, every tenth sentence of its training set is held out. The best epoch is chosen on the same sentences. For
non-projective arcs the table has recall and precision of heads.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from arbora._core import measure_trees
from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.training import TrainConfig, Trained, train

ROOT = Path(__file__).resolve().parents[1]
TREEBANKS = {
    "Dutch": ("UD_Dutch-LassySmall_r1.4", "nl_lassysmall-ud-train.conllu", "nl_lassysmall-ud-dev.conllu"),
    "Danish": ("CoNLLX_Danish-DDT", "danish_ddt_train.conll", None),
    "Czech": ("CoNLLX_Czech-FicTree", "cs_fictree-pdt-train.conll", "cs_fictree-pdt-dev.conll"),
}
HELD_OUT = 10
WAYS: dict[str, dict[str, Any]] = {
    "projective, flattened": {"trees": "projective", "projectivize": "flatten"},
    **{
        f"pseudo-projective, {encoding}": {"projectivize": "pseudo-projective", "encoding": encoding}
        for encoding in ("head", "path", "head+path")
    },
    "non-projective, hill climbing": {"trees": "nonprojective"},
}


def read_parts(folder: Path, train_name: str, dev_name: str | None) -> tuple[Columns, Columns]:
    """The training set and the evaluation set."""
    columns = read_columns(folder / train_name)
    if dev_name is not None:
        return columns, read_columns(folder / dev_name)
    places = np.arange(len(columns))
    is_dev = places % HELD_OUT == HELD_OUT - 1
    return columns.select(places[~is_dev]), columns.select(places[is_dev])


def crossing_arcs(heads: np.ndarray, columns: Columns) -> np.ndarray:
    """The words whose arcs are non-projective."""
    return np.array(measure_trees(heads, columns.offsets)[0], dtype=np.bool_)


def judge(trained: Trained, dev: Columns) -> dict[str, float]:
    """Scores of a parser, its speed, and its scores on non-projective arcs."""
    start = time.process_time()
    heads, _ = trained.parser.trees(dev)
    seconds = time.process_time() - start
    right = heads == dev.heads
    there, given = crossing_arcs(dev.heads, dev), crossing_arcs(heads, dev)
    return {
        **trained.scores,
        "crossing_recall": 100 * float(right[there].mean()),
        "crossing_precision": 100 * float(right[given].mean()) if given.any() else 0.0,
        "labels": len(trained.parser.names.labels),
        "words_per_second": dev.words / seconds,
    }


def measure(
    data: Path, only: str | None, parser: Literal["graph", "cube"], epochs: int
) -> Iterator[dict[str, Any]]:
    """One row per treebank and way."""
    for language, (folder, train_name, dev_name) in TREEBANKS.items():
        if only not in (None, language):
            continue
        if not (data / folder / train_name).exists():
            print(f"{language}: no {folder}/{train_name} in {data}; set ARBORA_DATA", file=sys.stderr)
            continue
        treebank, dev = read_parts(data / folder, train_name, dev_name)
        for way, settings in WAYS.items():
            config = TrainConfig(parser=parser, only="parser", parameters={"epochs": epochs}, **settings)
            start = time.process_time()
            trained = train(treebank, dev, config=config)
            row = {"language": language, "way": way, **judge(trained, dev)}
            row["train_seconds"] = time.process_time() - start
            print(f"{language}, {way}: LAS {row['las']:.2f}, UAS {row['uas']:.2f}", file=sys.stderr)
            yield row


def show(rows: list[dict[str, Any]]) -> None:
    """The rows as a table."""
    table = Table("", "", "LAS", "UAS", "crossing found", "of given right", "labels", "words/s")
    for row in rows:
        numbers = [f"{row[name]:.2f}" for name in ("las", "uas", "crossing_recall", "crossing_precision")]
        table.add_row(
            row["language"], row["way"], *numbers, f"{row['labels']}", f"{row['words_per_second']:,.0f}"
        )
    Console(width=120).print(table)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=TREEBANKS, help="that treebank alone")
    parser.add_argument("--parser", choices=("graph", "cube"), default="graph")
    parser.add_argument("--epochs", type=int, default=5, help="of the tree stage")
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    options = parser.parse_args()
    data = Path(os.environ.get("ARBORA_DATA", ROOT.parent / "shared" / "data"))
    rows = list(measure(data, options.only, options.parser, options.epochs))
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows)


if __name__ == "__main__":
    main()
