"""Send SIGINT and SIGTERM to commands at work: they end soon, and leave no temporary file and no process.

The exit status must be 130 or 143, without a traceback. Times are from the signal to the end. Trainings may
take longer, since they calibrate and write their best model. A failure prints the seed and the command that
reproduce it:

    python tests/fuzz/stop_commands.py --stops 4
    python tests/fuzz/stop_commands.py --commands parse-long train-graph --limit 2
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path

from kill_annotators import without_tree
from kill_corpora import descendants, kill_child, still_running, wait

from arbora.cli.main import run
from arbora.data.synthetic import generate
from arbora.data.treebank import write
from arbora.training import train

LONGEST = 120.0
"""Seconds after which a stopped command counts as hanging."""
MOMENTS = 4.0
"""Seconds after the start in which signals are sent."""
SMALL = (
    "-p",
    "tree_bits=12",
    "-p",
    "label_bits=12",
    "-p",
    "only=parser",
    "--epochs",
    "100000",
    "-p",
    "patience=0",
)
TRAIN = ("train", "train.conllu", "--dev", "dev.conllu", "-o", "out/new.arbora")
COMMANDS: dict[str, tuple[str, ...]] = {
    "parse-text": ("parse", "text.txt", "-o", "out/x.conllu"),
    "parse-many": ("parse", "many.conllu", "-m", "graph.arbora", "-o", "out/x.conllu"),
    "parse-threads": ("parse", "many.conllu", "-m", "graph.arbora", "-o", "out/x.conllu", "--threads", "2"),
    "parse-long": ("parse", "long.conllu", "-m", "graph.arbora", "-o", "out/x.conllu"),
    "parse-long-probabilities": ("parse", "long.conllu", "--probabilities", "-o", "out/x.conllu"),
    "parse-long-kbest": (
        "parse",
        "listed.conllu",
        "-m",
        "graph.arbora",
        "--kbest",
        "5",
        "-o",
        "out/x.conllu",
    ),
    "parse-doubt": ("parse", "many.conllu", "--sort", "doubt", "-o", "out/x.conllu"),
    "parse-parquet": ("parse", "many.conllu", "-o", "out/x.parquet"),
    "parse-corpus": ("parse", "text.txt", "many.conllu", "-o", "out/all", "--workers", "2"),
    "train": ("train", "train.conllu", "--dev", "dev.conllu", "-o", "out/new.arbora", "--parser", "graph"),
    "train-graph": (*TRAIN, "--parser", "graph", *SMALL),
    "train-log-linear": (*TRAIN, "--parser", "graph", "--order", "1", "--learner", "log_linear", *SMALL),
    "train-cube": (*TRAIN, "--parser", "cube", *SMALL),
    "train-transition": (*TRAIN, "--parser", "transition", *SMALL),
    "train-together": (*TRAIN, "--parser", "graph", "--workers", "2", "--together", *SMALL),
    "train-folds": ("train", "train.conllu", "-o", "out/new.arbora", "--parser", "graph", "--workers", "2"),
    "train-neural": (*TRAIN, "--parser", "neural", "--epochs", "1000"),
    "tune": ("tune", "train.conllu", "--order", "1", "--grid", "C=0.1,0.2,0.3,0.4,0.5,0.6", "--workers", "2"),
    "induce": ("induce", "train.conllu", "-o", "out/new.arbora", "-p", "rounds=100000"),
    "distil": (
        "distil",
        "graph.arbora",
        "text.txt",
        "--silver",
        "out/silver",
        "-o",
        "out/new.arbora",
        "--gold",
        "train.conllu",
        "--parser",
        "graph",
    ),
    "calibrate": ("calibrate", "graph.arbora", "many.conllu", "-o", "out/new.arbora"),
    "ensemble": ("ensemble", "graph.arbora", "cube.arbora", "--dev", "many.conllu", "-o", "out/new.arbora"),
    "eval": ("eval", "many.conllu", "many.conllu"),
    "convert": ("convert", "many.conllu", "-o", "out/x.conllx"),
    "convert-parquet": ("convert", "many.conllu", "-o", "out/x.parquet"),
    "stats": ("stats", "many.conllu", "many.conllu", "many.conllu"),
    "check": ("check", "many.conllu"),
    "select": ("select", "many.conllu", "-m", "graph.arbora", "--ignore-heads", "-o", "out/x.conllu"),
    "split": ("split", "many.conllu", "80/20", "-o", "out/x"),
    "serve": ("serve", "--port", "0"),
    "annotate": ("annotate", "draft.conllu", "--port", "0"),
}
WRITES = ("train", "induce", "distil")
"""Verbs that write a model after a signal."""
WRITING = 5.0
"""Seconds in which they must end."""
ENDING = 2.0
"""Seconds in which processes must end after the command."""
NEEDS = {"train-neural": "torch", "parse-parquet": "pyarrow", "convert-parquet": "pyarrow"}


def make_inputs(folder: Path) -> None:
    """Inputs that keep commands busy for some seconds."""
    some = list(generate(300, seed=3))
    write(some, folder / "train.conllu")
    write(list(generate(100, seed=2)), folder / "dev.conllu")
    many = (folder / "train.conllu").read_bytes() * 400
    (folder / "many.conllu").write_bytes(many)
    rows = [line.split("\t") for s in some for line in s.to_conllu().splitlines() if line[:1].isdigit()]
    numbered = enumerate(islice(cycle(rows), 3000), start=1)
    words = ["\t".join([str(number), *row[1:6], "_", "_", "_", "_"]) for number, row in numbered]
    (folder / "long.conllu").write_text(("\n".join(words) + "\n\n") * 50)
    (folder / "listed.conllu").write_text(("\n".join(words[:1000]) + "\n\n") * 150)  # lists have a limit
    (folder / "text.txt").write_text(" ".join(sentence.text for sentence in some) * 400)
    write([without_tree(sentence) for sentence in some], folder / "draft.conllu")
    small = {"order": 2, "tree_bits": 12, "label_bits": 12, "folds": 2, "parameters": {"epochs": 2}}
    train(some, some[:50], config=small).save(folder / "graph.arbora")
    cube = {"parser": "cube", "tree_bits": 12, "label_bits": 12, "folds": 2, "parameters": {"epochs": 2}}
    train(some, some[:50], config=cube).save(folder / "cube.arbora")


def start(arguments: tuple[str, ...], folder: Path) -> int:
    """The process id of a command in a child of this process, which starts faster than a new program."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
        with (folder / "log").open("w") as log, Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(log.fileno(), 2)
            # Where this runs in the background of a shell, Ctrl-C would be ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.argv = ["arbora", *arguments]
            run()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os._exit(status)


def stop(name: str, folder: Path, draw: random.Random) -> tuple[float, str] | None:
    """Send a signal to a command: seconds to its end, and the fault if any; None if it ended before."""
    for inner in ("out", "tmp"):
        shutil.rmtree(folder / inner, ignore_errors=True)
        (folder / inner).mkdir()
    child = start(COMMANDS[name], folder)
    status = wait(child, draw.uniform(0.0, MOMENTS))
    log = folder / "log"
    if status is not None:
        return None if status == 0 else (0.0, f"ended with {status}: {log.read_text()[-300:]}")
    below = descendants(child)
    number = draw.choice([signal.SIGINT, signal.SIGTERM])
    os.kill(child, number)
    begun = time.monotonic()
    status = wait(child, LONGEST)
    seconds = time.monotonic() - begun
    if status is None:
        kill_child(child)
    said = log.read_text()
    wanted = (0, 128 + number) if name in ("serve", "annotate") else (128 + number,)
    left = [path.name for path in folder.rglob("*") if path.name.endswith((".tmp", ".lock"))]
    left += [path.name for path in (folder / "tmp").iterdir()]
    end = time.monotonic() + ENDING
    while (running := still_running(below)) and time.monotonic() < end:
        time.sleep(0.02)
    faults = [
        f"ended with {status} after {number.name}" if status not in wanted else "",
        f"left {left}" if left else "",
        f"left processes {running}" if running else "",
        "a traceback" if "Traceback" in said else "",
    ]
    what = ", ".join(filter(None, faults))
    return seconds, f"{what}: {said[-500:]}" if what else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stops", type=int, default=4, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds")
    parser.add_argument("--commands", nargs="+", choices=list(COMMANDS), default=list(COMMANDS))
    options = parser.parse_args()
    draw, faults, stops = random.Random(options.seed), [], 0
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        make_inputs(folder)
        for name in options.commands:
            if name in NEEDS and not find_spec(NEEDS[name]):
                continue
            found = [stop(name, folder, draw) for _ in range(options.stops)]
            times = [each[0] for each in found if each is not None]
            faults += [f"{name}: {each[1]}" for each in found if each is not None and each[1]]
            longest = max(times, default=0.0)
            limit = WRITING if COMMANDS[name][0] in WRITES else options.limit
            if longest > limit:
                faults.append(f"{name}: {longest:.2f} s, expected at most {limit:g}")
            stops += len(times)
            print(f"{name:<26} {len(times)} stops, at most {longest:.2f} s", flush=True)
    print(f"{stops} stops, {len(faults)} faults")
    for fault in faults:
        print(f"fault with --seed {options.seed}: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
