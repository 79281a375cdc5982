"""One model on several workers: its accuracy beside that of one process, and the cost of an epoch.

    python benchmarks/mixing.py                                 # UD_English-EWT in $ARBORA_DATA
    python benchmarks/mixing.py --only graph --workers 4 --epochs 20
    python benchmarks/mixing.py --sentences 2000 --json > figures.json
    python benchmarks/mixing.py --only graph --epochs 10 --mean # the rule of [mcdonald-2010]
    python benchmarks/mixing.py --only graph --check            # fails below the limit

Gold tags, all words, whole labels; the best epoch is chosen on the same dev set. Seconds are the learner's
per epoch of the last stage, without evaluation: they mean little with more workers than cores. `difference`
is |w - w₁| / |w₁| to the weights w₁ of one process after as many epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.distributed import sharing
from arbora.distributed.engines import Pool
from arbora.distributed.sharing import mixed
from arbora.progress import EpochReport, Silent
from arbora.training import Trained, train

ROOT = Path(__file__).resolve().parents[1]
TREEBANK = ("UD_English-EWT", "en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu")
FIRST_ORDER = {"parser": "graph", "order": 1}
EG = {"objective": "log_linear"}
ROWS: dict[str, tuple[dict[str, Any], int, int]] = {
    # Settings, epochs with one process, epochs with several workers.
    "graph": ({"parser": "graph"}, 10, 20),
    "transition": ({"parser": "transition"}, 10, 20),
    "adagrad": ({**FIRST_ORDER, "learner": "adagrad"}, 10, 20),
    "one_slack": ({**FIRST_ORDER, "learner": "one_slack", "patience": 0}, 10, 10),
    "pegasos": (
        {**FIRST_ORDER, "learner": "pegasos", "parameters": {"k": 2000}, "patience": 0},
        10,
        10,
    ),
    "log_linear": ({**FIRST_ORDER, "learner": "log_linear", "patience": 0}, 2, 2),
    "exponentiated_gradient": (
        {**FIRST_ORDER, "learner": "exponentiated_gradient", "parameters": EG, "patience": 0},
        6,
        6,
    ),
    "neural": ({"parser": "neural", "neural": {"size": "small"}, "tags": "gold"}, 1, 1),
}
BAR = 0.2
"""LAS of one process less that of several workers, at most, for learners whose weights are mixed."""


class Clock(Silent):
    """Keeps the last epoch's measurements, and the seconds of all epochs of the stage of trees."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.measures: dict[str, float] = {}

    def report(self, report: EpochReport) -> None:
        if report.stage == "tree":
            self.seconds.append(report.epoch.seconds)
            self.measures = dict(report.epoch.measures)


def weights_of(trained: Trained) -> Any:
    """All weights of the parser, in one vector."""
    tensors, _ = trained.parser.to_parts()
    arrays = [tensors[name] for name in sorted(tensors)]
    return np.concatenate([each.astype(np.float64).reshape(-1) for each in arrays if each.dtype.kind == "f"])


def measure(
    names: list[str], workers: list[int], epochs: int | None, columns: Columns, dev: Columns
) -> Iterator[dict[str, Any]]:
    """A row for each kind of training and number of workers."""
    for name in names:
        settings, alone, together = ROWS[name]
        first: Any = None
        for count in dict.fromkeys([1, *workers]):
            most = epochs or (alone if count == 1 else together)
            clock = Clock()
            parameters = {**settings.get("parameters", {}), "epochs": most}
            config = {"only": "parser", **settings, "parameters": parameters}
            pool = Pool(count=count)
            trained = train(columns, dev, config=config, pool=pool, together=True, observer=clock)
            w = weights_of(trained)
            first = w if first is None else first
            yield {
                "name": name,
                "workers": count,
                "epochs": most,
                "best_epoch": trained.best_epoch,
                **trained.scores,
                "seconds": sum(clock.seconds) / len(clock.seconds),
                "difference": float(np.linalg.norm(w - first) / np.linalg.norm(first)),
                "objective": clock.measures.get("objective", clock.measures.get("primal")),
            }


def show(rows: list[dict[str, Any]]) -> None:
    """Print the rows as a table."""
    table = Table(title=f"{os.cpu_count()} cores")
    heads = ["name", "workers", "epochs", "best_epoch", "las", "uas", "seconds", "difference", "objective"]
    for head in heads:
        table.add_column(head, justify="left" if head == "name" else "right")
    for row in rows:
        cells = (row.get(head) for head in heads)
        table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell or "") for cell in cells))
    Console().print(table)


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """Names of the mixed rows that are below one process by more than the limit."""
    best = {row["name"]: row["las"] for row in rows if row["workers"] == 1}
    return [
        f"{row['name']}, {row['workers']} workers" for row in rows if row["las"] < best[row["name"]] - BAR
    ]


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], default=[*ROWS])
    parser.add_argument("--workers", type=int, nargs="+", default=[4])
    parser.add_argument("--epochs", type=int, help="of all trainings; default: by row")
    parser.add_argument("--sentences", type=int, help="the first of the treebank; default: all")
    parser.add_argument("--mean", action="store_true", help="mix by the mean of all workers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help=f"fail if LAS falls by more than {BAR}")
    given = parser.parse_args()
    if given.mean:
        sharing.mixed = lambda before, passed, way: mixed(before, passed, "dual")
    folder = Path(os.environ.get("ARBORA_DATA", ROOT.parent / "shared" / "data")) / TREEBANK[0]
    columns, dev = (read_columns(str(folder / name)) for name in TREEBANK[1:])
    if given.sentences is not None:
        columns = columns.select(np.arange(min(given.sentences, len(columns))))
    rows = []
    for row in measure(given.only, given.workers, given.epochs, columns, dev):
        print(f"{row['name']}, {row['workers']} workers: LAS {row.get('las', 0.0):.2f}", file=sys.stderr)
        rows.append(row)
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        show(rows)
    if given.check and (failed := failures(rows)):
        raise SystemExit(f"more than {BAR} LAS below one process: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
