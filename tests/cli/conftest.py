"""Run the command line in this process, which is faster than a new one; small treebanks and a model."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from arbora.cli.console import STOPPING
from arbora.cli.main import run
from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.parsing.parser import Parser
from arbora.training import train


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str


@pytest.fixture
def arbora(monkeypatch, capfd):
    """Run `arbora VERB ...`: exit status, stdout and stderr."""

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["arbora", *map(str, arguments)])
        capfd.readouterr()
        handlers = {number: signal.getsignal(number) for number in STOPPING}
        with pytest.raises(SystemExit) as exited:
            run()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        told = capfd.readouterr()
        return Result(int(exited.value.code or 0), told.out, told.err)

    return call


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory) -> tuple[Path, Path]:
    """A synthetic treebank to train on, and one to evaluate on."""
    folder = tmp_path_factory.mktemp("treebanks")
    paths = folder / "train.conllu", folder / "dev.conllu"
    for seed, (path, count) in enumerate(zip(paths, (80, 40), strict=True), start=1):
        treebank.write(generate(count, seed=seed), path)
    return paths


@pytest.fixture(scope="session")
def parser(synthetic) -> Parser:
    """A small parser."""
    settings = {"tree_bits": 12, "label_bits": 12, "order": 1, "parameters": {"epochs": 2}}
    return train(*synthetic, config=settings).parser


@pytest.fixture(scope="session")
def model(parser, tmp_path_factory) -> Path:
    """The file of that parser."""
    path = tmp_path_factory.mktemp("model") / "small.arbora"
    parser.save(path)
    return path
