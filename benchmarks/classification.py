"""Cost of classifiers: five passes over 50,000 examples of 300 features, 90 classes, every update rule.

    python benchmarks/classification.py             # some CPU minutes
    python benchmarks/classification.py --quick     # 5,000 examples: a first look
    python benchmarks/classification.py --check     # exit status 1 if the limit is missed
    python benchmarks/classification.py --accuracy  # accuracy, cross-validated on real tasks; minutes

The examples are synthetic: some features indicate the class, most do not, and one class in twenty is wrong.
The limit: no learner takes more than two CPU minutes for all five passes, on one thread. Learners of several
classes compare all of them. Prints Markdown.

`--accuracy` needs the training data of UD_English-EWT and UD_Hungarian-Szeged, in $ARBORA_DATA or
../shared/data; see `classification_tasks`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from classification_tasks import SENTENCES, accuracy, tasks
from numpy.typing import NDArray

from arbora.classification import OnlineClassifier, SparseRows

DATA = Path(os.environ.get("ARBORA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

EXAMPLES, QUICK_EXAMPLES, TEST_EXAMPLES = 50_000, 5_000, 2_000
FEATURES, CLASSES, COLUMNS = 300, 90, 1 << 18
HINTS, HINTS_OF_A_CLASS, COMMON_COLUMNS = 25, 40, 1 << 12
WRONG = 0.05
PASSES = 5
BAR = 120.0
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "perceptron": ("perceptron", {}),
    "AU": ("au", {}),
    "OPA": ("passive_aggressive", {"C": 0.1}),
    "MIRA": ("mira", {"C": 0.1}),
    "C-SPV, Gauss": ("spv", {"gamma": 300.0, "k": CLASSES}),
    "L-SPV, Gauss": ("spv", {"gamma": 300.0, "scale": "loss", "k": CLASSES}),
    "MEC, Gauss": ("mec", {"gamma": 300.0, "k": CLASSES}),
    "C-SPV, Laplace": ("spv", {"gamma": 30.0, "prior": "laplace", "k": CLASSES}),
    "L-SPV, Laplace": ("spv", {"gamma": 30.0, "prior": "laplace", "scale": "loss", "k": CLASSES}),
    "MEC, Laplace": ("mec", {"gamma": 1.0, "prior": "laplace", "k": CLASSES}),
}

CHOICES: list[tuple[str, dict[str, Any]]] = [
    ("perceptron", {}),
    ("au", {}),
    *((name, {"C": c}) for name in ("passive_aggressive", "mira") for c in (1.0, 0.1, 0.01)),
    *(
        (name, {"prior": prior, "gamma": gamma})
        for name in ("spv", "mec")
        for prior in ("gauss", "laplace")
        for gamma in (1e-4, 1e-2, 1.0, 100.0)
    ),
    *((name, {"k": k}) for name in ("spv", "mec") for k in (4, 100)),
]
"""For `--accuracy`: learners at their defaults, then others; k = 100: all classes."""


def synthetic(count: int, seed: int) -> tuple[SparseRows, NDArray[np.int64]]:
    """Rows and their classes; every seed uses the same informative features."""
    hints = np.random.default_rng(0).integers(0, COLUMNS, (CLASSES, HINTS_OF_A_CLASS))
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, CLASSES, count)
    columns = rng.integers(0, COMMON_COLUMNS, (count, FEATURES))
    columns[:, :HINTS] = hints[classes[:, None], rng.integers(0, HINTS_OF_A_CLASS, (count, HINTS))]
    wrong = rng.random(count) < WRONG
    classes[wrong] = rng.integers(0, CLASSES, np.count_nonzero(wrong))
    offsets = np.arange(count + 1, dtype=np.int64) * FEATURES
    rows = SparseRows(offsets, columns.reshape(-1), np.ones(columns.size, np.float32), COLUMNS)
    return rows, classes


def measured(examples: int) -> Iterator[tuple[str, float, float]]:
    """Each rule's name, CPU seconds and test error."""
    rows, classes = synthetic(examples, seed=1)
    test_rows, test_classes = synthetic(TEST_EXAMPLES, seed=2)
    for rule, (learner, parameters) in RULES.items():
        begin = time.process_time()
        classifier = OnlineClassifier(learner, parameters=parameters, epochs=PASSES).fit(rows, classes)
        seconds = time.process_time() - begin
        yield rule, seconds, 1.0 - classifier.score(test_rows, test_classes)


def print_accuracies() -> int:
    """Print the table of `--accuracy`; 1 if there is no data."""
    missing = [name for name in SENTENCES if not (DATA / name).exists()]
    if missing:
        print(f"classification: no {missing[0]} in {DATA}; set ARBORA_DATA", file=sys.stderr)
        return 1
    made = tasks(DATA)
    print(f"| learner | {' | '.join(made)} |\n|---|{'---|' * len(made)}")
    for learner, parameters in CHOICES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table shows that nothing was learned
            cells = [f"{100 * accuracy(task, learner, parameters):.1f}" for task in made.values()]
        settings = ", ".join(f"{name} {value}" for name, value in parameters.items())
        print(f"| `{learner}` {settings} | {' | '.join(cells)} |", flush=True)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Print the table; with --check, return 1 if the limit is missed."""
    parser = argparse.ArgumentParser(description="CPU time of classifiers.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_EXAMPLES:,} examples")
    parser.add_argument("--check", action="store_true", help="exit status 1 if the limit is missed")
    parser.add_argument("--accuracy", action="store_true", help="cross-validated, on real tasks")
    options = parser.parse_args(arguments)
    if options.accuracy:
        return print_accuracies()
    examples = QUICK_EXAMPLES if options.quick else EXAMPLES
    print(f"{examples:,} examples, {FEATURES} features each, {CLASSES} classes, {PASSES} passes\n")
    print("| rule | CPU seconds | µs per step | test error |\n|---|---|---|---|", flush=True)
    slowest = 0.0
    for rule, seconds, error in measured(examples):
        slowest = max(slowest, seconds)
        step = 1e6 * seconds / (PASSES * examples)
        print(f"| {rule} | {seconds:.1f} | {step:.0f} | {100 * error:.1f}% |", flush=True)
    return int(options.check and slowest > BAR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
