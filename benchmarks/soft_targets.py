"""Hard and soft targets for linear students: the teacher's trees, or trees drawn from its probabilities.

    python benchmarks/soft_targets.py raw.txt.gz --words 600000

The bundled model parses the raw text. A student is trained on gold trees and either the teacher's trees, or
trees sampled with the teacher's probabilities of heads. The expected loss of sampled trees is the
cross-entropy of the student's distribution and the teacher's, so they are soft targets for learners of trees.
UAS on UD_English-EWT dev, with tags that the teacher predicts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import arbora
from arbora import inference
from arbora.data.columns import Columns
from arbora.data.soft import SoftTrees
from arbora.data.treebank import read_columns
from arbora.storage.model_file import read_model
from arbora.training.silver import SOFT, SilverSettings, make_silver
from arbora.types import Ints

DATA = Path(os.environ.get("ARBORA_DATA", "../shared/data"))
SHARE = 3
FLOOR = 1e-3  # for the arcs of the teacher's tree, so that there is always a tree
STUDENTS: dict[str, dict[str, Any]] = {
    "first order, crf": {"order": 1, "learner": "adagrad", "parameters": {"epochs": 4}},
    "second order, hinge": {"order": 2, "parameters": {"epochs": 4}},
}


def drawn(columns: Columns, soft: SoftTrees, seed: int) -> Columns:
    """The same sentences with heads drawn from the probabilities of trees."""
    heads = np.array(columns.heads)
    for start, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True):
        n = end - start
        shares = np.zeros((n + 1, n + 1))
        words = np.arange(n) + 1
        np.add.at(
            shares,
            (soft.heads.values[start:end].astype(int), words[:, None]),
            soft.heads.shares[start:end].astype(float),
        )
        own = heads[start:end]
        shares[own, words] = np.maximum(shares[own, words], FLOOR)
        with np.errstate(divide="ignore"):
            scores = np.log(shares)
        (tree,) = inference.sample(scores, 1, trees="projective", roots="single", seed=seed + start)
        heads[start:end] = tree.heads[1:]
    labels: Ints = columns.ids("deprel")
    return columns.with_trees(heads, labels, columns.strings("deprel"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("text")
    parser.add_argument("--words", type=int, default=600_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    teacher = arbora.load()
    gold, dev = (
        teacher.prepare(read_columns(DATA / f"UD_English-EWT/en_ewt-ud-{part}.conllu"), retag=True)
        for part in ("train", "dev")
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = SilverSettings(words=options.words)
        files = make_silver(teacher, options.text, folder, settings, threads=options.threads)
        pieces = [read_columns(file) for file in files]
        stored = [read_model(file.with_suffix(SOFT)) for file in files]
        names = teacher.parser.names.labels
        soft = [
            SoftTrees.from_tensors(file.tensors, np.diff(piece.offsets), names)
            for file, piece in zip(stored, pieces, strict=True)
        ]
        targets = {"hard": pieces, "drawn": [drawn(*pair, 1) for pair in zip(pieces, soft, strict=True)]}
    table = Table("student", *targets)
    copies = max(1, round(options.words / (SHARE * gold.words)))
    for name, config in STUDENTS.items():
        row = []
        for silver in targets.values():
            whole = Columns.concat([*[gold] * copies, *silver])
            shared = {"parser": "graph", "only": "parser", "tags": "gold", "trees": "projective"}
            trained = arbora.train(whole, dev, config={**shared, **config}, threads=options.threads)
            row.append(f"{trained.scores['uas']:.2f} / {trained.scores['las']:.2f}")
            print(name, row, file=sys.stderr)
        table.add_row(name, *row)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
