"""The systems of benchmarks/training.py and benchmarks/parsing.py, and the cache of trained models.

A system is trained on a treebank, loaded, and then turns one CoNLL-U file into another. Ours are here, the
peers in parsing_peers.py. Models stay in $XDG_CACHE_HOME/arbora-bench (else ~/.cache/arbora-bench), one
folder each, with record.json (cost of training) and train.log beside the model; the folder's name depends
on the treebank, the settings and the version, so that no stale model is measured.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from arbora.progress import Observer

HERE = Path(__file__).resolve().parent
TREEBANK = "UD_English-EWT"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Convert = Callable[[Path, Path], None]
"""Reads tagged sentences from one file, writes them with trees to another."""


class MissingError(Exception):
    """Something that a row needs is missing; the message says what and how to get it."""


@dataclass(frozen=True)
class Files:
    """One treebank: its training and evaluation sets."""

    train: Path
    dev: Path

    @classmethod
    def find(cls) -> Files:
        data = Path(os.environ.get("ARBORA_DATA", HERE.parent.parent / "shared" / "data"))
        found = [sorted((data / TREEBANK).glob(f"*-{part}.conllu")) for part in ("train", "dev")]
        if not all(found):
            raise MissingError(f"{TREEBANK} is not in {data}; set ARBORA_DATA to the folder that has it")
        return cls(found[0][0], found[1][0])

    def fingerprint(self) -> int:
        return zlib.crc32(self.dev.read_bytes(), zlib.crc32(self.train.read_bytes()))


class Loadable(Protocol):
    """A system that loads a model and parses."""

    @property
    def name(self) -> str:
        """Its name in tables and in the cache."""

    @property
    def module(self) -> str:
        """What must be importable."""

    def load(self, model: Path, threads: int = 1) -> Convert:
        """A trained model, ready to parse."""


class System(Loadable, Protocol):
    """A system that is also trained."""

    @property
    def minutes(self) -> float:
        """The CPU minutes that training takes, about."""

    def shortened(self, *, quick: bool) -> str:
        """How training is shorter than the system's default; empty if it is not."""

    def version(self) -> str:
        """What a trained model depends on besides the treebank and `shortened`."""

    def train(self, files: Files, folder: Path, *, quick: bool) -> dict[str, Any]:
        """Train and write folder/model; returns additional figures for the record."""


class Clock(Observer):
    """An observer of training that records the CPU time of each epoch."""

    def __init__(self) -> None:
        self.start = time.process_time()
        self.epochs: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def begin(
        self,
        task: str,
        total: int | None = None,
        *,
        epochs: int | None = None,
        done: int = 0,
        unit: str = "sentence",
    ) -> None:
        print(f"{task}: {total} {unit}s, at most {epochs} epochs", flush=True)

    def report(self, report: Any) -> None:
        seconds = time.process_time() - self.start
        best = {"stage": report.stage, "epoch": report.epoch.number, "best": report.best}
        self.epochs.append({**best, "cpu": seconds, "dev": dict(report.scores)})
        print(self.epochs[-1], flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(text, flush=True)

    def child(self, name: str) -> Clock:
        return self


@dataclass(frozen=True)
class Arbora:
    """An Arbora parser with default settings, except for order, learner and pruner if given."""

    order: int
    learner: str = ""
    rule: Literal["", "margin"] = ""
    """Of the pruner: margin leaves more heads."""
    module: ClassVar[str] = "arbora.parsing.parser"
    QUICK_EPOCHS: ClassVar[int] = 2

    @property
    def name(self) -> str:
        return "-".join(filter(None, ["arbora", str(self.order), self.learner, self.rule]))

    @classmethod
    def named(cls, name: str) -> Arbora:
        """The inverse of `name`."""
        _, order, *more = name.split("-")
        learner = [part for part in more if part != "margin"]
        return cls(int(order), "".join(learner), "margin" if "margin" in more else "")

    @property
    def minutes(self) -> float:
        return {1: 1, 2: 2, 3: 6}[self.order]

    def shortened(self, *, quick: bool) -> str:
        return f"{self.QUICK_EPOCHS} epochs" if quick else ""

    def version(self) -> str:
        """All code that takes part in training: if it changes, models are trained again."""
        import arbora

        root = Path(arbora.__file__).parent
        skipped = {"cli", "view", "induction"}
        code = 0
        for path in sorted([*root.rglob("*.py"), *Path(native_file()).parent.glob("_core*.so")]):
            if not skipped & set(path.parts):
                code = zlib.crc32(path.read_bytes(), code)
        return f"{code:08x}"

    def train(self, files: Files, folder: Path, *, quick: bool) -> dict[str, Any]:
        from arbora.search.pruner import PrunerSettings
        from arbora.training import TrainConfig, train

        parameters: dict[str, int | float | str] = {"epochs": self.QUICK_EPOCHS} if quick else {}
        orders: dict[int, Literal[1, 2, 3]] = {1: 1, 2: 2, 3: 3}
        parser = "cube" if self.order == 3 else "graph"
        config = TrainConfig(parser=parser, only="parser", order=orders[self.order], parameters=parameters)
        if self.learner:
            config = replace(config, learner=self.learner)
        if self.rule:
            config = replace(config, pruner_settings=PrunerSettings(rule=self.rule))
        clock = Clock()
        trained = train(files.train, files.dev, config=config, observer=clock)
        if trained.interrupted:
            raise KeyboardInterrupt
        cpu, peak = time.process_time() - clock.start, peak_megabytes()
        trained.parser.save(folder / "model")
        trained.parser.save(folder / "compact", quantized=True)
        best = [epoch for epoch in clock.epochs if epoch["stage"] == "tree" and epoch["best"]][-1]
        return {
            "cpu": cpu,
            "cpu_to_best": best["cpu"],
            "best_epoch": best["epoch"],
            "peak_mb": peak,
            "compact_mb": megabytes(folder / "compact"),
            "epochs": clock.epochs,
            "notes": clock.notes,
        }

    def load(self, model: Path, threads: int = 1) -> Convert:
        from arbora.parsing.parser import Parser

        parser = Parser.load(model)

        def convert(source: Path, target: Path) -> None:
            parser.parse_file(source, target, format="conllu", threads=threads)

        return convert


def native_file() -> str:
    from arbora import _core

    assert _core.__file__ is not None
    return _core.__file__


# --- Trained models, from the cache or anew -------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A model in the cache."""

    folder: Path
    record: dict[str, Any]

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def compact(self) -> Path:
        return self.folder / "compact"

    @property
    def shortened(self) -> str:
        return str(self.record["shortened"])


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "arbora-bench"


def folder_of(system: System, files: Files, *, quick: bool) -> Path:
    key = f"{files.fingerprint():08x} {system.version()} {system.shortened(quick=quick)}"
    return cache() / f"{system.name}{'-quick' if quick else ''}-{zlib.crc32(key.encode()):08x}"


def cached(system: System, files: Files, *, quick: bool) -> Trained | None:
    """A fully trained model, or, if that is enough, a quick one."""
    for short in (False, True)[: 2 if quick else 1]:
        folder = folder_of(system, files, quick=short)
        if (folder / "record.json").exists():
            return Trained(folder, json.loads((folder / "record.json").read_text()))
    return None


def obtain(system: System, files: Files, *, quick: bool, anew: bool = False) -> Trained:
    """The model of a system: from the cache unless `anew`, or trained now in its own process."""
    found = None if anew else cached(system, files, quick=quick)
    if found is not None:
        return found
    folder = folder_of(system, files, quick=quick)
    folder.parent.mkdir(parents=True, exist_ok=True)
    how = "quick" if quick else f"about {system.minutes:.0f} CPU minutes"
    say(f"training {system.name} ({how}) ...")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{system.name}-new-") as new:
        log = Path(new) / "train.log"
        with log.open("w") as stream:
            command = worker_command("train", system.name, new, "quick" if quick else "whole")
            done = subprocess.run(
                command, stdout=stream, stderr=stream, env=worker_environment(), check=False
            )
        if done.returncode:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise MissingError(f"training ended with status {done.returncode}: {''.join(last)}"[:200])
        shutil.rmtree(folder, ignore_errors=True)
        Path(new).rename(folder)
        Path(new).mkdir()  # for the context manager to remove
    return Trained(folder, json.loads((folder / "record.json").read_text()))


def write_record(system: System, files: Files, folder: Path, *, quick: bool) -> None:
    """Train in this process and write folder/record.json; `obtain` calls this in a separate process."""
    start, wall = time.process_time(), time.perf_counter()
    figures = system.train(files, folder, quick=quick)
    record = {
        "system": system.name,
        "shortened": system.shortened(quick=quick),
        "cpu": time.process_time() - start,
        "wall": time.perf_counter() - wall,
        "peak_mb": peak_megabytes(),
        "model_mb": megabytes(folder / "model"),
        **figures,
    }
    (folder / "record.json").write_text(json.dumps(record, indent=1))


def worker_command(*arguments: object) -> list[str]:
    return [sys.executable, str(HERE / "parsing_worker.py"), *map(str, arguments)]


def worker_environment() -> dict[str, str]:
    return {**os.environ, **ONE_THREAD}


# --- Measures -------------------------------------------------------------------------------


def peak_megabytes() -> float:
    """The peak memory of this process.

    Linux: VmHWM, for the figure of getrusage begins at the size of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def megabytes(path: Path) -> float:
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(p.stat().st_size for p in files) / 1e6


def accuracy(gold: Path, predicted: Path) -> dict[str, float]:
    """UAS and LAS of all tokens, whole labels."""
    import arbora

    scores = arbora.evaluate(arbora.read(gold), arbora.read(predicted), subtypes=True).all
    return {"uas": scores.uas, "las": scores.las}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
