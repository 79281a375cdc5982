"""Kill trainings at random moments, resume them, and compare the models with those of undisturbed trainings.

After each kill the model must be absent or right, and the checkpoint absent or readable with right checksums.
The resumed model must equal the undisturbed one byte for byte, and nothing else may be left in the folder.
A failure prints the seed and the kind that reproduce it:

    python tests/fuzz/kill_trainings.py --kills 200
    python tests/fuzz/kill_trainings.py --kills 5 --seed 3 --kinds cube transition
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from arbora.cli.main import run
from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.errors import ArboraError
from arbora.storage.model_file import read_model

SMALL = ("-p", "tree_bits=12", "-p", "label_bits=12", "-p", "only=parser")
KINDS = {
    "order1": ("--parser", "graph", "--order", "1", *SMALL),
    "order2": ("--parser", "graph", "--order", "2", *SMALL),
    "mira": ("--parser", "graph", "--order", "1", "--learner", "mira", *SMALL),
    "adagrad": ("--parser", "graph", "--order", "1", "--learner", "adagrad", *SMALL),
    "log_linear": ("--parser", "graph", "--order", "1", "--learner", "log_linear", *SMALL),
    "cube": ("--parser", "cube", *SMALL),
    "transition": ("--parser", "transition", *SMALL),
    "compact": ("--parser", "graph", "--order", "1", "--compact", *SMALL),
    "pipeline": ("--parser", "graph", "--order", "1", "-p", "tree_bits=12", "-p", "label_bits=12"),
}
LONGEST = 120.0
"""Seconds after which an undisturbed training counts as hanging."""


@dataclass
class Kills:
    """What happened."""

    kills: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    by_stage: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Trainings:
    """`arbora train` of one kind in children of this process, which start faster than new processes."""

    def __init__(self, kind: str, folder: Path, sentences: int) -> None:
        self.kind, self.folder = kind, folder / kind
        self.folder.mkdir(parents=True)
        self.model = self.folder / "m.arbora"
        self.checkpoint = self.folder / "m.arbora.checkpoint"
        self.log = folder / f"{kind}.log"
        train, dev = folder / "train.conllu", folder / "dev.conllu"
        if not train.exists():
            treebank.write(generate(sentences, seed=1), train)
            treebank.write(generate(sentences // 4, seed=2), dev)
        self.arguments = [str(train), "--dev", str(dev), "-o", str(self.model), "--epochs", "3", *KINDS[kind]]
        begun = time.monotonic()
        status = self.wait(self.start(), LONGEST)
        if status != 0:
            raise SystemExit(f"{kind}: the undisturbed training ended with {status}: {self.log.read_text()}")
        self.seconds = time.monotonic() - begun
        self.expected = self.model.read_bytes()
        self.clean()

    def start(self) -> int:
        """The process id of a training that goes on where the last one was killed."""
        more = ["--resume"] if self.checkpoint.exists() else []
        child = os.fork()
        if child:
            return child
        status = 70
        try:
            with self.log.open("w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
                sys.argv = ["arbora", "train", *self.arguments, *more]
                run()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)

    def wait(self, child: int, seconds: float) -> int | None:
        """The exit status; None if it still runs after these seconds."""
        end = time.monotonic() + seconds
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= end:
                return None
            time.sleep(0.002)

    def clean(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()

    def disturb(self, draw: random.Random, kills: Kills) -> None:
        """Kill one training up to three times, let it end, and look at what it has left."""
        self.clean()
        for _ in range(draw.choice([1, 1, 2, 3])):
            child = self.start()
            ended = self.wait(child, draw.uniform(0, self.seconds))
            if ended is not None:
                break
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills.kills += 1
            kills.by_kind[self.kind] += 1
            self._check(kills)
        if not self.model.exists() or self.checkpoint.exists():
            child = self.start()
            if (status := self.wait(child, LONGEST)) != 0:
                if status is None:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                kills.faults.append(
                    f"{self.kind}: resuming ended with {status}: {self.log.read_text()[-300:]}"
                )
                return
        if self.model.read_bytes() != self.expected:
            kills.faults.append(f"{self.kind}: other bytes than undisturbed")
        # What a kill leaves under temporary names stays; a program cannot tell whose it is.
        left = [each.name for each in self.folder.iterdir() if each.suffix not in (".tmp", self.model.suffix)]
        if left:
            kills.faults.append(f"{self.kind}: left over: {left}")

    def _check(self, kills: Kills) -> None:
        stage = "none"
        for path in (self.model, self.checkpoint):
            if path.exists():
                try:
                    file = read_model(path, verify=True)
                except ArboraError as error:
                    kills.faults.append(f"{self.kind}: {path.name}: {error}")
                else:
                    stage = str(file.metadata.get("stage", "model"))
        kills.by_stage[stage] += 1


def kill(count: int, seed: int, kinds: list[str], sentences: int) -> Kills:
    """Disturb trainings of these kinds in turn until there were so many kills."""
    draw, kills = random.Random(seed), Kills()
    with tempfile.TemporaryDirectory() as folder:
        trainings = [Trainings(kind, Path(folder), sentences) for kind in kinds]
        while kills.kills < count and not kills.faults:
            for each in trainings:
                each.disturb(draw, kills)
    return kills


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, default=80)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    found = kill(options.kills, options.seed, options.kinds, options.sentences)
    print(f"{found.kills} kills; by kind: {dict(found.by_kind)}; what was kept: {dict(found.by_stage)}")
    for fault in found.faults:
        print(f"fault with --seed {options.seed}: {fault}")
    sys.exit(1 if found.faults else 0)


if __name__ == "__main__":
    main()
