"""Accuracy of each kind of parser on every available treebank: one table.

    python benchmarks/treebanks.py                                    # all of $ARBORA_DATA; takes hours
    python benchmarks/treebanks.py --treebanks UD_Greek-GDT UD_Turkish-IMST --parsers graph cube
    python benchmarks/treebanks.py --treebanks UD_English-EWT --parsers graph neural --vectors FILE
    python benchmarks/treebanks.py --untrained skip --json            # only existing models

Models are trained on the train part with the defaults of `arbora train`, and kept in --models, so that a
second run only evaluates. They parse the words of dev (test if there is no dev), with the tags that
they predict: all words, whole labels. The best epochs are chosen on the same dev part. An ensemble joins
`cube` and `neural`, which counts twice and gives the tags.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from parsing_systems import cache
from rich.console import Console
from rich.table import Table

from arbora.data.columns import Columns
from arbora.data.treebank import read_columns
from arbora.evaluation.attachment import evaluate
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.words import agreement
from arbora.training import TrainConfig, train

DATA = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PARSERS = ("graph", "cube", "neural", "ensemble")
PARTS = {"cube": 1.0, "neural": 2.0}  # of an ensemble, with their weights
WITHIN = 0.2  # points of LAS below the best that count as equal


class Treebank(NamedTuple):
    """Its files; `held_out` is dev, or test if there is no dev."""

    name: str
    train: Path
    dev: Path | None
    held_out: Path

    @classmethod
    def find(cls, folder: Path) -> Treebank | None:
        found = {part: sorted(folder.glob(f"*{part}.conll*")) for part in ("train", "dev", "test")}
        train, dev, test = (next(iter(files), None) for files in found.values())
        held_out = dev or test
        return None if train is None or held_out is None else cls(folder.name, train, dev, held_out)


def model_of(treebank: Treebank, parser: str, options: argparse.Namespace) -> Pipeline | None:
    """The trained model; None if it is not there and must not be trained."""
    vectors: str | None = options.vectors
    path = Path(options.models) / f"{treebank.name}-{parser}{'-vectors' if vectors else ''}.arbora"
    if not path.exists():
        if options.untrained == "skip":
            return None
        print(f"training {path.name} ...", file=sys.stderr, flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        config = TrainConfig(parser=parser, vectors=vectors)
        trained = train(treebank.train, treebank.dev, config=config, threads=options.threads)
        if trained.interrupted:
            sys.exit("interrupted")
        trained.pipeline.save(path)
    return Pipeline.load(path)


def scores_of(parser: Parser, tagged: Columns, gold: Columns, threads: int) -> dict[str, float]:
    """UAS and LAS of a parser's trees, and UPOS of the words that it was given, in percent."""
    heads, labels = parser.trees(tagged, threads=threads)
    parsed = tagged.with_trees(heads, labels, parser.names.labels)
    found = evaluate(gold.sentences(), parsed.sentences(), subtypes=True).all
    return {"las": found.las, "uas": found.uas, "upos": agreement(tagged, gold, "upos")}


def row_of(treebank: Treebank, options: argparse.Namespace) -> dict[str, Any]:
    """The scores of all parsers on one treebank."""
    gold = read_columns(treebank.held_out)
    needed = dict.fromkeys((*options.parsers, *(PARTS if "ensemble" in options.parsers else ())))
    models = {name: model_of(treebank, name, options) for name in needed if name != "ensemble"}
    scores = {}
    for name in options.parsers:
        parts = [models[part] for part in (PARTS if name == "ensemble" else (name,))]
        there = [part for part in parts if part is not None]
        if len(there) < len(parts):
            continue
        parser = there[0].parser
        if len(there) > 1:
            parser = ensemble([each.parser for each in there], list(PARTS.values()))
        tagged = there[-1].prepare(gold, retag=True, threads=options.threads)
        scores[name] = scores_of(parser, tagged, gold, options.threads)
        print(f"{treebank.name} {name}: LAS {scores[name]['las']:.2f}", file=sys.stderr, flush=True)
    words = read_columns(treebank.train).words
    return {"treebank": treebank.name, "words": words, "part": treebank.held_out.name, "scores": scores}


def show(rows: Sequence[dict[str, Any]], parsers: Sequence[str]) -> None:
    """LAS and UAS; bold: within `WITHIN` points of the best LAS."""
    table = Table("treebank", "words")
    for name in parsers:
        table.add_column(f"{name}\nLAS / UAS", justify="right")
    for row in rows:
        best = max((scores["las"] for scores in row["scores"].values()), default=0.0)
        cells = []
        for name in parsers:
            scores = row["scores"].get(name)
            text = "–" if scores is None else f"{scores['las']:.2f} / {scores['uas']:.2f}"
            cells.append(f"[bold]{text}[/]" if scores and scores["las"] >= best - WITHIN else text)
        table.add_row(row["treebank"], f"{row['words']:,}", *cells)
    Console(width=120).print(table)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--treebanks", nargs="+", metavar="NAME", help="default: all of $ARBORA_DATA")
    parser.add_argument("--parsers", nargs="+", default=PARSERS, metavar="NAME", help="as of `arbora train`")
    parser.add_argument("--vectors", metavar="FILE", help="as of `arbora train`")
    parser.add_argument("--models", default=cache() / "treebanks", help="where models are kept")
    parser.add_argument("--untrained", choices=("train", "skip"), default="train", help="what is not there")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    options = parser.parse_args()
    names = options.treebanks or sorted(path.name for path in DATA.glob("*") if path.is_dir())
    treebanks = [found for name in names if (found := Treebank.find(DATA / name))]
    if not treebanks:
        sys.exit(f"no treebanks in {DATA}; set ARBORA_DATA")
    rows = [row_of(treebank, options) for treebank in treebanks]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows, options.parsers)


if __name__ == "__main__":
    main()
