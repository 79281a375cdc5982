"""Throw random and malformed calls at arbora.inference for a while.

Every call must return an answer that satisfies a few cheap promises, or raise an ArboraError.
Anything else fails: another exception, a warning, a written input, an answer that is no tree, a
call that takes more than 20 seconds, a crash. Each case follows from (seed, case number), so the
line that is printed before a failure reproduces it:

    python tests/fuzz/fuzz_inference.py --seconds 60 --seed 0
    python tests/fuzz/fuzz_inference.py --seed 0 --case 1234
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracle.enumerate_trees import is_tree

from arbora import inference
from arbora.errors import ArboraError, OutOfMemoryError
from arbora.inference.distribution import TreeDistribution

SECONDS_PER_CASE = 20
DTYPES = ["f8", "f8", "f8", "f8", "f4", "f2", "i8", "i4", "u1", "u8", ">f8", "longdouble", "?"]
BAD_DTYPES = ["c16", "U3", "O", "M8[s]", "V8", "S2"]
VALUES = [0.0, -0.0, 1.0, -1.0, 1e-300, 1e6, -1e6, 1e32, -1e32, 1e300, -1e300, -np.inf]
BAD_VALUES = [np.nan, np.inf, 1.7e308]
QUERIES = [
    "argmax",
    "kbest",
    "log_partition",
    "marginals",
    "marginals_along",
    "entropy",
    "sample",
    "minimum_risk",
    "log_prob",
    "expected_wrong_heads",
    "kl_divergence",
    "distribution",
]


def draw_scores(rng: np.random.Generator, n: int, labels: int | None, dtype: str) -> np.ndarray:
    shape = (n + 1, n + 1) if labels is None else (n + 1, n + 1, labels)
    scores = rng.normal(size=shape) * rng.choice([0.0, 1e-6, 1.0, 100.0, 1e6])
    for _ in range(rng.integers(0, 4)):
        scores[rng.random(shape) < rng.choice([0.02, 0.3, 0.7])] = rng.choice(VALUES)
    with np.errstate(all="ignore"):
        return scores.astype(dtype)


def spoil(rng: np.random.Generator, scores: np.ndarray) -> object:
    """Make the array malformed in one of many ways."""
    ways = [
        lambda: scores[:-1],
        lambda: scores[..., None],
        lambda: scores.ravel(),
        lambda: scores[:0, :0],
        lambda: np.zeros((*scores.shape[:2], 0)),
        lambda: scores.tolist(),
        lambda: None,
        lambda: "scores",
        lambda: 3.0,
        lambda: {"scores": scores},
        lambda: scores.astype(rng.choice(BAD_DTYPES[:3])),
        lambda: np.zeros(scores.shape, dtype=rng.choice(BAD_DTYPES)),
        lambda: np.where(rng.random(scores.shape) < 0.3, rng.choice(BAD_VALUES), scores),
        lambda: [scores, None],
        lambda: [[scores]],
        lambda: iter([scores]),
    ]
    return ways[rng.integers(len(ways))]()


def lay_out(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """The same numbers, differently placed in memory."""
    way = rng.integers(6)
    if way == 1:
        return np.asfortranarray(array)
    if way == 2:
        return np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3]
    if way == 3:
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if way == 4:
        array = array.copy()
        array.setflags(write=False)
    if way == 5 and array.dtype == np.float64:
        raw = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(np.float64)
        raw = raw.reshape(array.shape)
        raw[...] = array
        return raw
    return array


def draw_heads(rng: np.random.Generator, n: int) -> object:
    order = rng.permutation(np.arange(1, n + 1))
    heads = np.full(n + 1, -1)
    for place, dep in enumerate(order):
        heads[dep] = 0 if place == 0 else order[rng.integers(0, place)]
    choices = [heads, heads, heads, heads.tolist(), heads.astype(float), heads[:-1], heads + 1]
    choices += [rng.integers(-2, n + 3, size=n + 1), None, "heads", heads[None], heads * 10**12]
    return choices[rng.integers(len(choices))]


def draw_required(rng: np.random.Generator, n: int) -> object:
    if rng.random() < 0.7:
        return None
    pairs = [tuple(int(v) for v in rng.integers(0, n + 1, size=2)) for _ in range(3)]
    heads = np.where(rng.random(n + 1) < 0.7, -1, rng.integers(0, n + 1, size=n + 1))
    choices = [pairs, pairs[:1], [], set(pairs), heads, heads, heads.tolist(), heads[1:]]
    choices += [[(0, n + 5)], [(-3, 1)], [(1,)], "pairs", 3, heads * 0.5, np.zeros((2, 2)), [None]]
    return choices[rng.integers(len(choices))]


def draw_parts(rng: np.random.Generator, n: int) -> dict[str, object]:
    if rng.random() < 0.6 or n > 12:
        return {}
    parts: dict[str, object] = {}
    for name, axes in (("siblings", 3), ("grandparents", 3), ("grandsiblings", 4)):
        if rng.random() < 0.5:
            array = rng.normal(size=(n + 1,) * axes) * rng.choice([0.0, 1.0, 1e6])
            array[rng.random(array.shape) < 0.05] = rng.choice(VALUES)
            parts[name] = lay_out(rng, array)
        if rng.random() < 0.05:
            wrong = [
                np.zeros((n + 2,) * axes),
                "parts",
                np.zeros(3),
                np.full((n + 1,) * axes, np.nan),
            ]
            parts[name] = wrong[rng.integers(len(wrong))]
    return parts


def draw_options(rng: np.random.Generator, n: int) -> dict[str, object]:
    options: dict[str, object] = {
        "trees": rng.choice(["projective", "nonprojective"]).item(),
        "roots": rng.choice(["single", "multi"]).item(),
        "required": draw_required(rng, n),
        **draw_parts(rng, n),
    }
    if rng.random() < 0.3:
        options["threads"] = [1, 2, 3, 0, -1, 2.0, None, 10**9, "2"][rng.integers(9)]
    if rng.random() < 0.04:
        options["trees"] = [None, "", "planar", 3, ["projective"]][rng.integers(5)]
    if rng.random() < 0.04:
        options["roots"] = [None, "", "any", True, b"single"][rng.integers(5)]
    return options


def draw_call(rng: np.random.Generator) -> tuple[str, list[object], dict[str, object]]:
    """One call: query name, positional arguments, options."""
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 13, 30], p=[0.1, 0.1, 0.15, 0.15, 0.2, 0.15, 0.1, 0.05]))
    labels = None if rng.random() < 0.7 else int(rng.integers(1, 4))
    query = str(rng.choice(QUERIES))
    scores: object = lay_out(rng, draw_scores(rng, n, labels, str(rng.choice(DTYPES))))
    if rng.random() < 0.15:
        scores = spoil(rng, scores)
    options = draw_options(rng, n)
    batch = rng.random() < 0.2
    if batch:
        sizes = rng.integers(0, 6, size=rng.integers(0, 4))
        scores = [scores, *(draw_scores(rng, int(m), labels, "f8") for m in sizes)]
        scores = tuple(scores) if rng.random() < 0.3 else scores
        options = {"trees": options["trees"], "roots": options["roots"]}
        options["threads"] = int(rng.integers(1, 4))
    arguments: list[object] = [scores]
    if query in ("kbest", "sample"):
        arguments.append([1, 2, 7, 50, 1000, 0, -1, 1001, 2.5, None, "3"][rng.choice(11, p=K_ODDS)])
    if query == "sample":
        options["seed"] = [0, 1, 2**63, -1, 2**64, 1.5, None][rng.choice(7, p=SEED_ODDS)]
        options["replacement"] = bool(rng.integers(2))
    if query in ("log_prob", "expected_wrong_heads"):
        arguments.append([draw_heads(rng, n)] if batch else draw_heads(rng, n))
    if query == "log_prob" and rng.random() < 0.4:
        options["labels"] = rng.integers(-1, 3, size=n + 1)
    if query in ("kl_divergence", "marginals_along"):
        arguments.append(draw_scores(rng, n, labels, "f8") if rng.random() < 0.9 else "q")
    return query, arguments, options


K_ODDS = np.array([4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1]) / 23
SEED_ODDS = np.array([8, 4, 1, 1, 1, 1, 1]) / 17


def perform(query: str, arguments: list[object], options: dict[str, object]) -> object:
    if query != "distribution":
        return getattr(inference, query)(*arguments, **options)
    options = {name: value for name, value in options.items() if name != "threads"}
    distribution = TreeDistribution(*arguments, **options)
    return [distribution.best, distribution.log_partition]


def check_answer(query: str, answer: object, options: dict[str, object]) -> None:
    """Cheap promises: trees are trees, numbers are numbers, probabilities add up."""
    if isinstance(answer, list):
        for item in answer:
            check_answer(query, item, options)
    elif hasattr(answer, "heads"):
        if not is_tree(answer.heads, options["trees"], options["roots"]):
            raise AssertionError(f"not a {options['trees']} {options['roots']} tree: {answer}")
        if np.isnan(answer.score):
            raise AssertionError(f"score is NaN: {answer}")
    elif hasattr(answer, "arcs"):
        check_answer(query, answer.arcs, options)
    elif query == "marginals":
        arcs = answer.sum(axis=2) if answer.ndim == 3 else answer
        if np.any(answer < 0) or np.any(answer > 1):
            raise AssertionError("marginals leave [0, 1]")
        if not np.allclose(arcs[:, 1:].sum(axis=0), 1.0, rtol=0, atol=1e-9):
            raise AssertionError("marginals do not sum to 1")
    else:
        check_numbers(query, np.asarray(answer))


def check_numbers(query: str, numbers: np.ndarray) -> None:
    if np.any(np.isnan(numbers)):
        raise AssertionError(f"{query} is NaN")
    if query == "log_prob" and np.any(numbers > 0):
        raise AssertionError(f"log_prob is positive: {numbers}")
    if query in ("entropy", "kl_divergence", "expected_wrong_heads") and np.any(numbers < 0):
        raise AssertionError(f"{query} is negative: {numbers}")


def fingerprint(value: object) -> object:
    """Contents of every array among the arguments, to see whether a call wrote into one."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    if isinstance(value, (list, tuple)):
        return [fingerprint(item) for item in value]
    if isinstance(value, dict):
        return {name: fingerprint(item) for name, item in value.items()}
    return None


def run_case(seed: int, case: int, *, verbose: bool = False) -> str:
    """Run one case; returns how it ended, raises when a promise is broken."""
    rng = np.random.default_rng([seed, case])
    query, arguments, options = draw_call(rng)
    if verbose:
        print(f"{query}(*{arguments!r}, **{options!r})")
    before = fingerprint([arguments, options])
    signal.alarm(SECONDS_PER_CASE)
    faulthandler.dump_traceback_later(2 * SECONDS_PER_CASE, exit=True)  # when stuck in C++
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            answer = perform(query, arguments, options)
    except OutOfMemoryError:
        raise
    except ArboraError as error:
        if len(str(error)) < 15:
            raise AssertionError(f"message says too little: {error}") from error
        return f"{query}: {type(error).__name__}"
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        if fingerprint([arguments, options]) != before:
            raise AssertionError("an input was written to")
    check_answer(query, answer, options)
    return f"{query}: answered"


def out_of_time(*_: object) -> None:
    raise TimeoutError(f"a call took more than {SECONDS_PER_CASE} s")


def work(seed: int, seconds: float, current: Synchronized[int]) -> None:
    """Run case after case; `current` always holds the one under way, for the parent to report."""
    faulthandler.enable()
    signal.signal(signal.SIGALRM, out_of_time)
    ends: Counter[str] = Counter()
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        ends[run_case(seed, current.value)] += 1
        current.value += 1
    for end, count in sorted(ends.items()):
        print(f"{count:8d}  {end}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this one case and print it")
    args = parser.parse_args()
    if args.case is not None:
        signal.signal(signal.SIGALRM, out_of_time)
        print(run_case(args.seed, args.case, verbose=True))
        return 0
    # A child process, so that a crash of the native code is a finding and not the end.
    current = multiprocessing.Value("q", 0)
    child = multiprocessing.Process(target=work, args=(args.seed, args.seconds, current))
    child.start()
    child.join()
    if child.exitcode != 0:
        print(f"FAILED (exit status {child.exitcode}); to reproduce:")
        print(f"  python {sys.argv[0]} --seed {args.seed} --case {current.value}")
        return 1
    print(f"{current.value} cases in {args.seconds:g} s, none broke a promise (seed {args.seed})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
