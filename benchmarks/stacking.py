"""The gain from a guide: two parsers, and the second with the first as its guide, on dev.

    python benchmarks/stacking.py                                   # UD_English-EWT in $ARBORA_DATA
    python benchmarks/stacking.py --guide parser=cube --guided order=2 --epochs 5
    python benchmarks/stacking.py --guide order=2 --guided parser=transition transition.beam=16
    python benchmarks/stacking.py --sentences 2000 --json > figures.json
    python benchmarks/stacking.py --check                           # fails below the limit

Settings of the parts are those of `arbora train -p`. Gold tags, all words, whole labels; the best epoch is
chosen on the same dev set. The gain is the stack's LAS less that of the better part.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.training import TrainConfig, Trained, train
from arbora.training.config import override

ROOT = Path(__file__).resolve().parents[1]
TREEBANK = ("UD_English-EWT", "en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu")
BAR = 0.3
GUIDE = ["parser=transition"]
GUIDED = ["order=2"]


def config_of(pairs: Sequence[str], epochs: int | None) -> TrainConfig:
    """The settings of one part."""
    given = dict(pair.split("=", 1) for pair in pairs)
    if epochs is not None:
        given["epochs"] = str(epochs)
    return override(TrainConfig(only="parser"), given)


def row_of(name: str, trained: Trained, dev: Columns, begun: float) -> dict[str, Any]:
    """Scores on dev, and the cost of training and parsing."""
    seconds = time.process_time() - begun
    begun = time.process_time()
    trained.parser.trees(dev)
    speed = dev.words / (time.process_time() - begun)
    print(f"{name}: LAS {trained.scores['las']:.2f}, UAS {trained.scores['uas']:.2f}", file=sys.stderr)
    about = {"epoch": trained.best_epoch, "guide": trained.parser.about.get("guide")}
    return {"name": name, **trained.scores, "train_seconds": seconds, "words_per_second": speed, **about}


def measure(
    columns: Columns, dev: Columns, guide: TrainConfig, guided: TrainConfig, threads: int
) -> Iterator[dict[str, Any]]:
    """A row for the guide, for the other part, and for both together."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "guide.arbora")
        for name, config in (
            ("guide", guide),
            ("guided, alone", guided),
            ("stack", replace(guided, stack=model)),
        ):
            begun = time.process_time()
            trained = train(columns, dev, config=config, threads=threads)
            if name == "guide":
                trained.parser.save(model)
            yield row_of(name, trained, dev, begun)


def show(rows: list[dict[str, Any]], gain: float) -> None:
    """The rows as a table, and the gain."""
    table = Table("", "LAS", "UAS", "epoch", "CPU seconds to train", "words/s")
    for row in rows:
        numbers = [f"{row['las']:.2f}", f"{row['uas']:.2f}", str(row["epoch"])]
        table.add_row(row["name"], *numbers, f"{row['train_seconds']:.0f}", f"{row['words_per_second']:,.0f}")
    console = Console(width=100)
    console.print(table)
    trees = ", ".join(f"{part} {found['las']:.2f}" for part, found in rows[-1]["guide"].items())
    console.print(f"LAS of the trees that the stack sees: {trees}")
    console.print(f"gain over the better part: {gain:+.2f} LAS (limit: {BAR:+.2f})")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--guide", nargs="+", metavar="NAME=VALUE", default=GUIDE, help=" ".join(GUIDE))
    parser.add_argument("--guided", nargs="+", metavar="NAME=VALUE", default=GUIDED, help=" ".join(GUIDED))
    parser.add_argument("--epochs", type=int, help="of both parts at most; default: the learner's")
    parser.add_argument("--sentences", type=int, help="train on the first so many alone")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    parser.add_argument("--check", action="store_true", help="exit status 1 if the gain is below the limit")
    options = parser.parse_args()
    folder, train_name, dev_name = TREEBANK
    data = Path(os.environ.get("ARBORA_DATA", ROOT.parent / "shared" / "data")) / folder
    if not (data / train_name).exists():
        sys.exit(f"no {data / train_name}; set ARBORA_DATA")
    columns = read_columns(data / train_name)
    if options.sentences is not None:
        columns = columns.select(np.arange(min(options.sentences, len(columns))))
    guide, guided = (config_of(pairs, options.epochs) for pairs in (options.guide, options.guided))
    rows = list(measure(columns, read_columns(data / dev_name), guide, guided, options.threads))
    gain = rows[-1]["las"] - max(row["las"] for row in rows[:-1])
    if options.json:
        print(json.dumps({"rows": rows, "gain": gain, "bar": BAR}, indent=1))
    else:
        show(rows, gain)
    if options.check and gain < BAR:
        sys.exit(1)


if __name__ == "__main__":
    main()
