"""Pruners on UD_English-EWT: heads per word against the best possible UAS, for every rule.

    python benchmarks/filter.py             # trains each model anew, some CPU minutes
    python benchmarks/filter.py --quick     # 1,000 sentences, one epoch: a first look
    python benchmarks/filter.py --check     # exit status 1 if the limit is missed

Trains on the training set and evaluates on dev, on one thread, with gold tags. `best UAS left` is that of a
parser that makes no other mistake. The limit: some rule drops 80% of all arcs at 99.5. Prints Markdown. The
last table shows the cost by sentence length.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora._core import Encoded
from arbora.data.columns import Columns, columns_of
from arbora.data.encode import Names
from arbora.data.sentence import Sentence
from arbora.data.treebank import gather
from arbora.interfaces import Learner, Problem
from arbora.problems import FilterProblem, GraphProblem
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer
from arbora.training.annotation import check_treebank, training_heads
from arbora.training.linear import FILTER_LEARNER, PRUNER_LEARNER, PRUNER_PROBABILITIES

DATA = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TREEBANK = "UD_English-EWT"
TARGETS = (99.5, 99.7)
PRUNED_BAR = 80.0
LENGTHS = (10, 30, 100, 300, 1000, 2000)
ROUNDS = 3

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Row:
    """One rule with one threshold."""

    name: str
    threshold: str
    heads: float
    """Per word."""
    pruned: float
    """Of all arcs, in percent."""
    oracle: float
    """The best UAS left."""
    micros: float
    """CPU time per word."""


@dataclass(frozen=True)
class Line:
    """A model and the thresholds that are tried with it."""

    name: str
    settings: PrunerSettings
    learner: Learner
    thresholds: Sequence[float]

    @property
    def field(self) -> str:
        fields = {"margin": "within", "max-marginal": "alpha", "tree-odds": "log_odds"}
        return fields[self.settings.rule]

    def problem(self, sentences: Encoded) -> Problem:
        scorer = pruner_scorer(self.settings)
        if self.settings.rule != "max-marginal":
            return GraphProblem(scorer, sentences)
        return FilterProblem(scorer, sentences, alpha=self.settings.alpha, among=self.settings.among)


def lines(*, quick: bool) -> list[Line]:
    margin = PrunerSettings(keep=30)
    filtered = PrunerSettings(rule="max-marginal")
    odds = PrunerSettings(rule="tree-odds")
    large = replace(odds, features="graph-v1", bits=20)
    wide, log_odds = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0), (4.0, 5.0, 5.5, 6.0, 6.5, 7.0, 8.0, 9.0, 10.0)
    alphas = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    made = [
        Line("margin, passive-aggressive", margin, PRUNER_LEARNER, wide),
        Line("margin, log-linear", margin, PRUNER_PROBABILITIES, log_odds),
        Line("max-marginal, filter loss", filtered, FILTER_LEARNER, alphas),
        Line("tree-odds, log-linear", odds, PRUNER_PROBABILITIES, log_odds),
        Line("tree-odds, log-linear, graph-v1", large, PRUNER_PROBABILITIES, log_odds),
    ]
    return [replace(line, learner=replace(line.learner, epochs=1)) if quick else line for line in made]  # type: ignore[type-var]


class Dev:
    """The treebank for evaluation."""

    def __init__(self, columns: Columns, names: Names) -> None:
        self.sentences = names.encode(columns)
        self.words = columns.words
        lengths = np.diff(columns.offsets)
        self.arcs = int(np.sum(lengths * lengths))

    def judge(self, line: Line, threshold: float, weights: Floats) -> Row:
        changed: dict[str, Any] = {line.field: threshold}
        pruner = Pruner(replace(line.settings, **changed), weights)
        times = []
        for _ in range(ROUNDS):
            begin = time.process_time()
            kept = pruner.prune(self.sentences)
            times.append(time.process_time() - begin)
        arcs = kept.arcs
        lost = kept.restore_gold(self.sentences)
        return Row(
            line.name,
            f"{line.field} {threshold:g}",
            arcs / self.words,
            100 * (1 - arcs / self.arcs),
            100 * (1 - lost / self.words),
            1e6 * min(times) / self.words,
        )


def at_target(rows: Sequence[Row], target: float) -> tuple[float, float] | None:
    """Heads per word and arcs dropped at the target, interpolated between the rows on both sides."""
    for loose, tight in pairwise(rows):
        if loose.oracle >= target >= tight.oracle:
            share = (loose.oracle - target) / max(loose.oracle - tight.oracle, 1e-9)
            return (
                loose.heads + share * (tight.heads - loose.heads),
                loose.pruned + share * (tight.pruned - loose.pruned),
            )
    return None


def long_sentences(columns: Columns, words: int) -> Columns:
    """One sentence of a given length: dev's words in a row."""
    rows = [
        row
        for s in columns.sentences()
        for row in zip(s.forms, s.upos, s.lemmas, s.xpos, s.feats, strict=True)
    ]
    forms, upos, lemmas, xpos, feats = zip(*rows[:words], strict=True)
    return columns_of([Sentence.from_lists(forms, upos, lemmas=lemmas, xpos=xpos, feats=feats)])


def costs(columns: Columns, names: Names, models: dict[str, Pruner]) -> Iterator[str]:
    yield "| words | " + " | ".join(models) + " |"
    yield "|---:|" + "---:|" * len(models)
    for words in LENGTHS:
        encoded = names.encode(long_sentences(columns, words))
        cells = []
        for pruner in models.values():
            repeats = max(1, 1000 // words)
            begin = time.process_time()
            for _ in range(repeats):
                pruner.prune(encoded)
            cells.append(f"{1e6 * (time.process_time() - begin) / repeats / words:.1f}")
        yield f"| {words:,} | " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description="What pruners leave, and what they cost.")
    parser.add_argument("--quick", action="store_true", help="few sentences, one epoch")
    parser.add_argument("--check", action="store_true", help="exit status 1 if the limit is missed")
    options = parser.parse_args()
    found = [sorted(DATA.glob(f"{TREEBANK}/*-ud-{part}.conllu")) for part in ("train", "dev")]
    if not all(found):
        print(f"filter: no {TREEBANK} in {DATA}; set ARBORA_DATA", file=sys.stderr)
        return 0
    train, judged = (gather(paths[0], check_treebank) for paths in found)
    if options.quick:
        train = columns_of(list(train.sentences())[:1000])
    names = Names.of(train)
    sentences = names.encode(train)
    sentences.set_heads(training_heads(train, "projective", "single", "flatten"))
    dev = Dev(judged, names)
    rows: dict[str, list[Row]] = {}
    models: dict[str, Pruner] = {}
    print("| rule, learner | threshold | heads per word | arcs dropped, % | best UAS left | µs per word |")
    print("|---|---|---:|---:|---:|---:|")
    for line in lines(quick=options.quick):
        begin = time.process_time()
        weights = line.learner.fit(line.problem(sentences)).averaged
        seconds = time.process_time() - begin
        rows[line.name] = sorted(
            (dev.judge(line, threshold, weights) for threshold in line.thresholds), key=lambda row: -row.heads
        )
        models[line.name] = Pruner(line.settings, weights)
        for r in rows[line.name]:
            cells = f"{r.heads:.2f} | {r.pruned:.1f} | {r.oracle:.2f} | {r.micros:.1f}"
            print(f"| {r.name} | {r.threshold} | {cells} |")
        print(f"{line.name}: trained in {seconds:.0f} CPU seconds", file=sys.stderr, flush=True)
    print("\n| rule, learner | " + " | ".join(f"heads at {t} | dropped, %" for t in TARGETS) + " |")
    print("|---|" + "---:|---:|" * len(TARGETS))
    best = 0.0
    for name, own in rows.items():
        reached = [at_target(own, target) for target in TARGETS]
        best = max(best, reached[0][1] if reached[0] else 0.0)
        print(
            f"| {name} | "
            + " | ".join(f"{r[0]:.2f} | {r[1]:.1f}" if r else "none | none" for r in reached)
            + " |"
        )
    print("\nCPU microseconds per word, at the thresholds that are the defaults:\n")
    print("\n".join(costs(judged, names, models)))
    is_met = best >= PRUNED_BAR
    print(
        f"\n{'ok' if is_met else 'MISSED'}: {best:.1f}% of arcs dropped at {TARGETS[0]} (min: {PRUNED_BAR:g})"
    )
    return 0 if is_met or not options.check or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
