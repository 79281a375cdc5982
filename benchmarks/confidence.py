"""Quality of probabilities on UD_English-EWT: log-linear training, calibration, minimum risk, combination.

    python benchmarks/confidence.py                 # trains six parsers unless cached, 9 CPU minutes
    python benchmarks/confidence.py --anew          # trains them even if cached
    python benchmarks/confidence.py --quick         # 2 epochs each, for a first look: no limits
    python benchmarks/confidence.py --json > figures.json
    python benchmarks/confidence.py --check         # exit status 1 if a limit is missed

All on dev: gold tags, all tokens, whole labels. The best epoch of each parser was chosen on the same dev set.
Calibration is measured twice: with the temperatures in the model, which were fitted on that dev set, too, and
with temperatures that were fitted on one half of its sentences and measured on the other.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import parsing_rows as rows
from parsing_rows import Bar, Line
from parsing_systems import Arbora, Files, MissingError, Trained, obtain, say
from rich.console import Console

from arbora.data.columns import Columns, columns_of
from arbora.data.treebank import read_columns
from arbora.evaluation.calibration import measure
from arbora.interfaces import Query
from arbora.parsing.calibration import fit_temperatures
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.problems import GraphProblem
from arbora.search.request import Decode
from arbora.types import weights_of

MARGIN, PROBABLE = "", "adagrad"  # "": the default learner
# Pruners keep many heads here: with few heads left, the parsers disagree less.
THREE = (Arbora(2, "", "margin"), Arbora(2, PROBABLE, "margin"), Arbora(2, "mira", "margin"))
"""Trained differently: to be averaged."""
FEW = (Arbora(2), Arbora(2, PROBABLE), Arbora(2, "mira"))
"""The same with the default pruner, which leaves few."""
SYSTEMS = (Arbora(1), Arbora(1, "mira"), Arbora(1, PROBABLE), *FEW, *THREE)

NOT_FAR = Bar(">=", -0.3)
NOT_WORSE = Bar(">=", 0.0)
GAIN = Bar(">=", 0.3)
ECE = Bar("<=", 0.01)
PASSES = Bar("<=", 3.0)


class Measurements:
    """The dev set, and parsers on it."""

    def __init__(self, files: Files, trained: dict[Arbora, Trained]) -> None:
        self.files = files
        self.columns = read_columns(files.dev)
        self.parsers = {system: Parser.load(model.model) for system, model in trained.items()}
        self.scores = cache(self._scores)

    def _scores(self, system: Arbora, decode: Decode = "argmax") -> dict[str, float]:
        parser = self.parsers[system]
        heads, labels = parser.trees(self.columns, decode=decode)
        return self.accuracy(heads, labels, parser.names.labels)

    def accuracy(self, heads: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> dict[str, float]:
        places = {name: place for place, name in enumerate(names)}
        gold = np.array([places.get(name, -2) for name in self.columns.strings("deprel")])
        right = heads == self.columns.heads
        named = right & (labels == gold[self.columns.ids("deprel")])
        return {"uas": 100 * float(np.mean(right)), "las": 100 * float(np.mean(named))}

    def log_linear(self) -> list[Line]:
        """The log-linear parser against margin-based ones, first order."""
        margin = {s: self.scores(s)["las"] for s in SYSTEMS if s.order == 1 and s.learner != PROBABLE}
        best = max(margin.values())
        ours = self.scores(Arbora(1, PROBABLE))["las"]
        lines = [line("LAS on dev", s.name, las, "%") for s, las in margin.items()]
        lines.append(line("LAS on dev", Arbora(1, PROBABLE).name, ours, "%"))
        lines.append(line("log-linear less the best margin", "first order", ours - best, "LAS", NOT_FAR))
        return lines

    def calibration(self) -> list[Line]:
        """ECE of heads, with the model's temperatures and with those of the other half of dev."""
        lines = []
        for system in self.parsers:
            found = self.parsers[system].confidence(self.columns)
            lines.append(
                line(
                    "ECE of heads",
                    system.name,
                    _ece(found.head_probabilities, found.heads == self.columns.heads),
                    "model's temperatures",
                    digits=4,
                )
            )
        for system in self.parsers:
            unit = "temperatures of the other half"
            ece = held_out_ece(self.parsers[system], self.columns)
            lines.append(line("ECE of heads", system.name, ece, unit, ECE, 4))
        return lines

    def minimum_risk(self) -> list[Line]:
        """The gain of minimum-risk decoding."""
        return [
            line(
                "minimum risk less argmax",
                system.name,
                self.scores(system, "minimum-risk")["uas"] - self.scores(system)["uas"],
                "UAS",
                NOT_WORSE if system.learner == PROBABLE else None,
            )
            for system in self.parsers
        ]

    def combination(self) -> list[Line]:
        """The gain of the average of three parsers over the best of them."""
        return [*self._combined(FEW, "few heads left", None), *self._combined(THREE, "many heads left", GAIN)]

    def _combined(self, systems: tuple[Arbora, ...], name: str, bar: Bar | None) -> list[Line]:
        averaged = ensemble([self.parsers[system] for system in systems])
        together = self.accuracy(*averaged.trees(self.columns), averaged.names.labels)
        alone = {system: self.scores(system)["las"] for system in systems}
        lines = [line("LAS on dev", system.name, las, "%") for system, las in alone.items()]
        lines.append(line("LAS on dev", f"the three averaged, {name}", together["las"], "%"))
        gain = together["las"] - max(alone.values())
        lines.append(line("average of three less the best", name, gain, "LAS", bar))
        return lines

    def passes(self) -> list[Line]:
        """The cost of a gradient over train, against parsing train; CPU time, best of three."""
        return [
            line(
                "gradient pass / parsing pass",
                f"order {order}",
                _pass_ratio(self.parsers[Arbora(order, PROBABLE)], self.files),
                "over train",
                PASSES,
            )
            for order in (1, 2)
        ]


def _pass_ratio(parser: Parser, files: Files) -> float:
    search: Any = parser.search
    columns = read_columns(files.train)
    train = parser.names.encode(columns)
    arcs = search.pruner.prune(train)
    arcs.restore_gold(train)
    problem = GraphProblem(parser.scorer, train, arcs=arcs)
    everyone, weights = np.arange(len(train), dtype=np.int64), weights_of(parser.scorer.tree)
    gradient = _cpu(lambda: problem.gradient(everyone, weights, Query.MARGINALS))
    batch = parser.encode(columns)
    assert batch.encoded is not None  # sentences are encoded once, before the clock starts
    return gradient / _cpu(lambda: parser.trees(batch))


def _cpu(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def held_out_ece(parser: Parser, columns: Columns) -> float:
    """ECE of heads on each half of the sentences, with temperatures fitted on the other half."""
    sentences = list(columns.sentences())
    sure, right = [], []
    for half in (0, 1):
        fitting, held_out = (columns_of(sentences[part::2]) for part in (1 - half, half))
        found = parser.confidence(held_out, temperatures=fit_temperatures(parser, fitting))
        sure.append(found.head_probabilities)
        right.append(found.heads == held_out.heads)
    return _ece(np.concatenate(sure), np.concatenate(right))


def _ece(sure: np.ndarray, right: np.ndarray) -> float:
    return measure(sure, right).ece


def line(row: str, parser: str, figure: float, unit: str, bar: Bar | None = None, digits: int = 2) -> Line:
    return Line(row, parser, figure, unit, bar, {}, digits)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anew", action="store_true", help="train even what is in the cache")
    parser.add_argument("--quick", action="store_true", help="short trainings, for a first look")
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a limit is missed")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    console = Console(stderr=arguments.json, width=max(132, Console().width))
    try:
        files = Files.find()
        trained = {
            system: obtain(system, files, quick=arguments.quick, anew=arguments.anew) for system in SYSTEMS
        }
    except MissingError as missing:
        say(f"skipped: {missing}")
        return 0
    measurements = Measurements(files, trained)
    lines = [
        *measurements.log_linear(),
        *measurements.calibration(),
        *measurements.minimum_risk(),
        *measurements.combination(),
        *measurements.passes(),
    ]
    for each in lines:
        each.remark = next(iter(trained.values())).shortened
    rows.show("probabilities on UD_English-EWT", lines, {}, console)
    cleared = rows.summary(lines, console)
    if arguments.json:
        print(json.dumps({"lines": [each.to_json() for each in lines]}, indent=1))
    return 1 if arguments.check and not cleared else 0


if __name__ == "__main__":
    sys.exit(main())
