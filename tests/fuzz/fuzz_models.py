"""Mutate model files of every kind, then describe, load and use each of them.

A raw mutation flips, cuts, inserts or moves bytes; checksums must find it. A sealed one changes metadata and
tensors and makes the checksums right again, as an attacker would. Each file must be rejected with an
ArboraError, or work: give trees and probabilities. A child process does the work. The parent counts it as a
fault if the child crashes, uses more than SECONDS for a file, raises another exception, or asks for more than
GIGABYTES. Each mutation follows from (seed, number):

    python tests/fuzz/fuzz_models.py --seconds 60 --seed 0
    python tests/fuzz/fuzz_models.py --count 20000
    python tests/fuzz/fuzz_models.py --number 1234

With an extension that is built with sanitizers, `make fuzz-models-sanitized` finds silent errors of memory.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import math
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arbora
from arbora.classification.classifier import OnlineClassifier
from arbora.cli.main import app
from arbora.data.columns import columns_of
from arbora.data.encode import Names
from arbora.data.synthetic import generate
from arbora.errors import ArboraError, OutOfMemoryError, StoppedError
from arbora.induction.induce import induce
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.progress import Silent
from arbora.search.neural import NeuralSearch
from arbora.storage import _safetensors as container
from arbora.storage.model_file import DOCUMENT, FORMAT, read_model
from arbora.training import train

TESTS = Path(__file__).resolve().parents[1]
SECONDS = 10.0
GIGABYTES = 2.0
BATCH = 500  # files of one child
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
TEXT = "la malmalkur ven tus. Don't go, 3.5 \u00e9\u00e8!\n\nx y\tz"
WORDS = [["la", "malmalkur", "ven", "tus", "."], ["gu"], ["x"] * 17]
TREEBANK = list(generate(40, seed=1, nonprojective=0.2))
SENTENCES = TREEBANK[:3]
SMALL: dict[str, Any] = {"only": "parser", "tree_bits": 10, "label_bits": 10, "parameters": {"epochs": 1}}
FIRST_ORDER = {**SMALL, "order": 1, "pruner": False}

ODD: list[Any] = [
    *(None, True, False, "", "x", "\t", "\n", "\x00", "_", "root", "\u202e", "a" * 5000, [], {}),
    *(-1, 0, 1, 2, 3, 7, 63, 64, 255, 1000, 65535, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63, 2**64, 10**30),
    *(0.0, -0.0, 0.5, -1.5, 1e-320, 1e-9, 1e9, 1e308, -1e308),
    *("none", "joint", "staged", "projective", "nonprojective", "single", "multi", "auto", "margin"),
    *("arc-odds", "tree-odds", "max-marginal", "arc-eager", "swap", "arc-standard", "graph", "cube", "exact"),
    *("neural", "transition", "ensemble", "induced", "linear", "graph-v1", "cube-v1", "zhang-nivre-v1"),
    *([[]], [None], [1, 2], ["a", "a"], [""], {"": ""}, {"a": 1}, [[[["x"]]]]),
]
FLOATS = [np.nan, np.inf, 3e38, 1e20, -1e20, 1e16, -1e16, 100.0, -100.0, 1.0, 1e-45, 0.0, -0.0]
DTYPES = [np.float64, np.float16, np.float32, np.int8, np.int32, np.int64, np.uint8, np.uint16]


class UnsoundError(Exception):
    """An accepted model gave something that is no tree or no probability."""


# ---------------------------------------------------------------- the models


def make_models(folder: Path) -> list[Path]:
    """Small models of every kind, besides those of version 0.1."""
    sys.path.insert(0, str(TESTS))
    from neural_toys import neural_scorer
    from pipeline_toys import trained

    def parser(name: str, **options: Any) -> Parser:
        made = train(TREEBANK, TREEBANK[:10], config={**SMALL, **options}).parser
        made.save(folder / name)
        return made

    graph = parser("graph")
    graph.save(folder / "compact", quantized=True)
    parser("first-order", order=1, trees="nonprojective", roots="multi")
    parser("tree-odds", trees="projective", pruner_settings={"rule": "tree-odds", "bits": 10})
    parser("lifted", projectivize="pseudo-projective")
    parser("greedy", parser="transition")
    parser("beam", parser="transition", transition={"system": "swap", "beam": 4})
    parser("cube", parser="cube", trees="nonprojective")
    parser("stacked", parser="cube", stack=str(folder / "graph"))
    trained().pipeline.save(folder / "pipeline")
    trained().pipeline.save(folder / "pipeline-compact", quantized=True)
    columns = columns_of(TREEBANK)
    for name, siblings in (("neural", 0), ("siblings", 4)):
        scorer = neural_scorer(columns, predicted=("upos",), siblings=siblings)
        names = Names.of(columns)
        search = NeuralSearch(scorer, trees="projective", roots="single")
        Parser(names=names, search=search).save(folder / name)
        Parser(names=names, search=search).save(folder / f"{name}-compact", quantized=True)
    for name in ("dmv", "right-branching"):
        induce(TREEBANK, config={"model": name}).save(folder / name)
    rows, classes = np.random.default_rng(1).normal(size=(60, 5)), [f"c{i % 3}" for i in range(60)]
    OnlineClassifier(epochs=1).fit(rows, classes).save(folder / "classifier")
    OnlineClassifier(epochs=1).partial_fit(rows, classes, sorted(set(classes))).save(
        folder / "classifier-open", resumable=True
    )
    with contextlib.suppress(KeyboardInterrupt):
        train(TREEBANK, TREEBANK[:10], config=FIRST_ORDER, checkpoint=folder / "checkpoint", observer=Stop())
    fixtures = sorted((TESTS / "fixtures" / "0.1").glob("*.arbora"))
    return [*sorted(path for path in folder.iterdir() if path.is_file()), *fixtures]


class Stop(Silent):
    """Ends a training after its first epoch."""

    def report(self, report: object) -> None:
        raise KeyboardInterrupt


# ---------------------------------------------------------------- mutations


def seal(tensors: dict[str, Any], metadata: dict[str, Any]) -> bytes:
    """The bytes of a file whose checksums are right."""
    stored = container.arranged({name: container.as_stored(name, each) for name, each in tensors.items()})
    contents = [np.ascontiguousarray(each).tobytes() for each in stored.values()]
    document = {"arbora_version": "9", "data_crc32": 0, "format": FORMAT, "metadata": metadata}
    for content in contents:
        document["data_crc32"] = zlib.crc32(content, document["data_crc32"])
    return container.header_of(stored, {DOCUMENT: json.dumps(document)}) + b"".join(contents)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values in nested lists and objects."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def change_metadata(metadata: dict[str, Any], draw: random.Random) -> None:
    """Change one value; all depths are equally likely, since long lists have most values."""
    found = list(places(metadata))
    depth = draw.choice(sorted({len(path) for path in found}))
    *steps, key = draw.choice([path for path in found if len(path) == depth])
    within: Any = metadata
    for step in steps:
        within = within[step]
    value, kind = within[key], draw.randrange(8)
    if kind == 0:
        del within[key]
    elif kind == 1 and isinstance(value, int | float):
        within[key] = value + draw.choice([-1, 1, 2, 0.5, 1000, -1000])
    elif kind == 2 and isinstance(within, list):
        within.insert(draw.randrange(len(within) + 1), copy.deepcopy(draw.choice(within)))
    elif kind == 3 and isinstance(within, list):
        other = draw.randrange(len(within))
        within[key], within[other] = within[other], within[key]
    elif kind == 4 and isinstance(within, dict):
        name = draw.choice(["zz", "guide", "cube", "transition", "pruner", "lifts", "parts", "columns"])
        within[name] = copy.deepcopy(draw.choice([*ODD, value]))
    else:
        within[key] = copy.deepcopy(draw.choice(ODD))


def change_tensor(tensors: dict[str, Any], draw: random.Random) -> None:
    """Change the values, the shape or the type of one tensor, or leave it out."""
    name = draw.choice(sorted(tensors))
    array = np.array(tensors[name])
    flat, kind = array.reshape(-1), draw.randrange(10)
    rng = np.random.default_rng(draw.getrandbits(32))
    limits = None if array.dtype.kind == "f" else np.iinfo(array.dtype)
    odd = FLOATS if limits is None else [limits.min, limits.max, limits.max - 1, 0, 1, limits.max // 2]
    with np.errstate(all="ignore"):
        if kind <= 2 and flat.size:
            count = min(flat.size, draw.choice([1, 1, 3, 50]))
            flat[rng.choice(flat.size, count)] = np.array(
                [draw.choice(odd) for _ in range(count)], array.dtype
            )
        elif kind == 3:
            array = np.full(array.shape, draw.choice(odd), array.dtype)
        elif kind == 4 and flat.size:
            raw = rng.integers(0, 256, flat.nbytes, dtype=np.uint8)
            array = raw.view(array.dtype).reshape(array.shape)
        elif kind == 5:
            array = flat[: draw.choice([0, 1, flat.size // 2, max(0, flat.size - 1)])]
        elif kind == 6:
            array = np.concatenate([flat, flat[: draw.choice([1, 2, 64])]])
        elif kind == 7:
            array = array.astype(draw.choice(DTYPES))
        elif kind == 8:
            shapes = [(1, -1), (-1, 1), (-1,), (*array.shape, 1)]
            array = array.reshape(draw.choice(shapes))
        else:
            del tensors[name]
            return
    tensors[name] = array


def mutated(path: Path, draw: random.Random) -> bytes:
    """The bytes of a damaged file."""
    return mutated_bytes(path.read_bytes(), draw) if draw.random() < 0.25 else resealed(path, draw)


def resealed(path: Path, draw: random.Random) -> bytes:
    file = read_model(path)
    tensors, metadata = dict(file.tensors), json.loads(json.dumps(dict(file.metadata)))
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        with contextlib.suppress(IndexError, KeyError):  # nothing is left to change
            if draw.random() < 0.55:
                change_metadata(metadata, draw)
            else:
                change_tensor(tensors, draw)
    return seal(tensors, metadata)


def mutated_bytes(whole: bytes, draw: random.Random) -> bytes:
    data, header = bytearray(whole), 8 + int.from_bytes(whole[:8], "little")
    for _ in range(draw.choice([1, 1, 1, 2, 5, 40])):
        if not data:
            break
        at = draw.randrange(min(header, len(data)) if draw.random() < 0.5 else len(data))
        kind, size = draw.randrange(6), draw.choice([1, 2, 8, 64, 512])
        if kind <= 1:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 2:
            data[at] = draw.choice([0, 255, *b'",0[]{}:', draw.randrange(256)])
        elif kind == 3:
            data[at:at] = draw.randbytes(size)
        elif kind == 4:
            del data[at : at + size if draw.random() < 0.8 else None]
        else:
            start = draw.randrange(len(data))
            data[at : at + size] = data[start : start + size]
    return bytes(data)


# ---------------------------------------------------------------- use


def check_trees(found: Any) -> None:
    for sentence in found:
        heads = list(getattr(sentence, "sentence", sentence).heads)
        if not all(0 <= head <= len(heads) for head in heads):
            raise UnsoundError(f"heads out of range: {heads}")
        for dep in range(1, len(heads) + 1):
            at = dep
            for _ in heads:
                at = heads[at - 1] if at else 0
            if at:
                raise UnsoundError(f"a cycle: {heads}")


def check_probabilities(values: Any) -> None:
    array = np.asarray([np.nan if value is None else value for value in np.ravel(values)], np.float64)
    known = array[~np.isnan(array)]
    if not np.all((known >= -1e-9) & (known <= 1 + 1e-6)):
        raise UnsoundError(f"probabilities: {known.min()} to {known.max()}")


def parse(model: Pipeline) -> None:
    check_trees(model.parse(SENTENCES))


def parse_words(model: Pipeline) -> None:
    check_trees(model.parse(WORDS))


def parse_text(model: Pipeline) -> None:
    check_trees(model(TEXT))


def keep_heads(model: Pipeline) -> None:
    check_trees(model.parse(SENTENCES, keep_heads=True))


def probabilities(model: Pipeline, **options: Any) -> None:
    found = model.parse(SENTENCES, probabilities=True, **options)
    check_trees(found)
    for parsed in found:
        check_probabilities([parsed.probability, *parsed.head_probabilities, *parsed.label_probabilities])


def minimum_risk(model: Pipeline) -> None:
    probabilities(model, decode="minimum-risk")


def kbest(model: Pipeline) -> None:
    found = model.kbest(SENTENCES[0], 5)
    check_trees(found)
    check_probabilities([parsed.probability for parsed in found])


def tables(model: Pipeline) -> None:
    found = model.parser.confidence(columns_of(SENTENCES), arc_table=True, label_table=True)
    check_probabilities(found.arc_table)
    check_probabilities(found.label_table)


def distribution(model: Pipeline) -> None:
    trees = model.parser.distribution(SENTENCES[0])
    check_probabilities(trees.arc_marginals)
    trees.sample(2, seed=1)


def save_again(model: Pipeline) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "again", quantized=True)
        check_trees(arbora.load(Path(folder) / "again").parse(SENTENCES[:1]))


USES: list[Callable[[Pipeline], None]] = [
    *(parse_words, parse_text, keep_heads, probabilities, minimum_risk, kbest, tables, distribution),
    save_again,
]


def use_classifier(path: Path) -> None:
    made = OnlineClassifier.load(path)
    rows = np.random.default_rng(1).normal(size=(4, min(made.n_features_in_, 100_000)))
    made.predict(rows)
    made.partial_fit(rows, np.repeat(made.classes_[:1], 4))


def use(path: Path, draw: random.Random) -> None:
    """Describe, load and use a file as its kind says; raises the error that rejects it."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ArboraError):
        app(["info", str(path), "--all"], prog_name="arbora", standalone_mode=False)
    kind = read_model(path).metadata.get("kind")
    if kind == "classifier":
        return use_classifier(path)
    if kind == "checkpoint":
        train(TREEBANK, TREEBANK[:10], config=FIRST_ORDER, checkpoint=path, resume=True)
        return None
    model = arbora.load(path)
    rejection = None
    for each in (parse, *draw.sample(USES, 3)):
        try:
            each(model)
        except (OutOfMemoryError, StoppedError):
            raise
        except ArboraError as error:
            rejection = error
    if rejection is not None:
        raise rejection
    return None


# ---------------------------------------------------------------- processes


def outcome(models: list[Path], seed: int, number: int, folder: Path) -> str:
    """`rejected`, `works`, or what is wrong with one mutated file."""
    draw = random.Random(f"{seed}/{number}")
    path = folder / "mutated.arbora"
    try:
        path.write_bytes(mutated(models[number % len(models)], draw))
    except ArboraError:  # not even the writer takes it
        return "rejected"
    try:
        use(path, draw)
    except OutOfMemoryError:
        return "too little memory"
    except ArboraError:
        return "rejected"
    except UnsoundError as error:
        return f"unsound: {error}"
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "src/arbora" in each.filename]
        place = f"{frames[-1].filename.split('src/')[-1]}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} at {place}: {error}"
    return "works"


def work(pipe: int, models: list[Path], seed: int, numbers: range) -> None:
    """In a child: try files, and write a line before and after each."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + int(GIGABYTES * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with os.fdopen(pipe, "w", buffering=1) as lines, tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            lines.write(f"begin {number}\n")
            result = outcome(models, seed, number, Path(folder))
            lines.write(f"end {number} {' '.join(result.split())[:300]}\n")


class Guard:
    """Runs children, and counts what becomes of the files."""

    def __init__(self, models: list[Path], seed: int) -> None:
        self.models, self.seed = models, seed
        self.counts: Counter[str] = Counter()
        self.faults: dict[str, list[int]] = defaultdict(list)
        self.slowest = 0.0

    def run(self, numbers: range, end: float) -> int:
        """Try these files; return the first number that was not tried."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                work(writing, self.models, self.seed, numbers)
            except BaseException:
                traceback.print_exc()
                os._exit(99)
            os._exit(0)
        os.close(writing)
        number, text, begun, is_done = numbers.start, "", time.monotonic(), True
        while True:
            ready, _, _ = select.select([reading], [], [], SECONDS * (5 if SANITIZED else 1))
            part = os.read(reading, 1 << 16).decode(errors="replace") if ready else ""
            *lines, text = (text + part).split("\n")
            for line in lines:
                event, place, *rest = line.split(" ", 2)
                number, is_done = int(place) + (event == "end"), event == "end"
                if event == "begin":
                    begun = time.monotonic()
                else:
                    self.slowest = max(self.slowest, time.monotonic() - begun)
                    self._count(rest[0], int(place))
            if not part or time.monotonic() > end:
                break
        if not ready or time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        os.close(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if not is_done and time.monotonic() <= end:
            self._count("hang" if not ready else f"crash: the process ended with {status}", number)
            number += 1
        return number

    def _count(self, result: str, number: int) -> None:
        known = result in ("rejected", "works")
        self.counts[result if known else "faults"] += 1
        if not known:
            self.faults[result].append(number)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--count", type=int, help="stop after so many files; default 1000 without --seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first file")
    parser.add_argument("--number", type=int, help="this file alone, in this process")
    options = parser.parse_args()
    count = options.count or (1000 if options.seconds == math.inf else 10**12)
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(Path(folder))
        if options.number is not None:
            draw = random.Random(f"{options.seed}/{options.number}")
            path = Path("mutated.arbora")
            path.write_bytes(mutated(models[options.number % len(models)], draw))
            print(f"{path}, from {models[options.number % len(models)].name}")
            try:
                use(path, draw)
            except ArboraError as error:
                print(f"rejected: {error}")
            return
        guard, number = Guard(models, options.seed), options.start
        last, end = options.start + count, time.monotonic() + options.seconds
        while number < last and time.monotonic() < end:
            number = guard.run(range(number, min(last, number + BATCH)), end)
    tried = f"{sum(guard.counts.values()):,} files of {len(models)} models"
    print(f"models: {tried}, {dict(guard.counts)}, slowest {guard.slowest:.1f} s", flush=True)
    for fault, numbers in sorted(guard.faults.items(), key=lambda item: -len(item[1])):
        print(f"fault with --seed {options.seed} --number {numbers[0]} ({len(numbers)} times): {fault}")
    sys.exit(1 if guard.faults else 0)


if __name__ == "__main__":
    main()
