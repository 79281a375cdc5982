"""A model on treebanks that it was not trained on: accuracy and calibration.

    python benchmarks/domains.py UD_English-GUM/en_gum-ud-dev.conllu UD_English-PUD/en_pud-ud-test.conllu
    python benchmarks/domains.py --model my.arbora other.conllu --json

The model tags and parses the words of each file. LAS and UAS are of all words, LAS without subtypes. The
calibration error is that of P(head): the mean of |share of right heads - P| over ten classes of P.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import arbora
from arbora.data.treebank import read_columns
from arbora.evaluation.attachment import evaluate
from arbora.evaluation.calibration import measure
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.words import agreement


def row_of(model: Pipeline, path: Path, threads: int) -> dict[str, Any]:
    """The scores of a model on one file."""
    gold = read_columns(path)
    tagged = model.prepare(gold, retag=True, threads=threads)
    found = model.parser.confidence(tagged, threads=threads)
    parsed = tagged.with_trees(found.heads, found.labels, model.parser.names.labels)
    scores = evaluate(gold.sentences(), parsed.sentences())
    calibration = measure(found.head_probabilities, found.heads == gold.heads)
    return {
        "treebank": path.name,
        "words": gold.words,
        "upos": agreement(tagged, gold, "upos"),
        "uas": scores.uas,
        "las": scores.las,
        "calibration": calibration.ece,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("treebanks", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--model", default="english", help="default: the bundled one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model = arbora.load(options.model)
    rows = [row_of(model, path, options.threads) for path in options.treebanks]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    table = Table("treebank", "words", "UPOS", "UAS", "LAS", "calibration error")
    for row in rows:
        numbers = (f"{row[name]:.2f}" for name in ("upos", "uas", "las"))
        table.add_row(row["treebank"], f"{row['words']:,}", *numbers, f"{row['calibration']:.4f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
