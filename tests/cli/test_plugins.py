"""An installed package adds learners, losses, scorers, searches and features to the command line."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from arbora.data.synthetic import generate
from arbora.data.treebank import write

CODE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arbora.features import TemplateSet
from arbora.interfaces import PartKind
from arbora.learners import Perceptron
from arbora.losses import Hinge
from arbora.search.exact import ExactSearch


@dataclass(frozen=True, kw_only=True)
class Learner(Perceptron):
    '''A learner of another package.'''

    name: ClassVar[str] = "toy-learner"


class Loss(Hinge):
    '''A loss of another package.'''

    name = "toy-loss"


class Search(ExactSearch):
    '''A search of another package.'''

    name = "toy-search"


class Scorer:
    '''Scores of arcs by their tags and direction.'''

    name = "toy-scorer"
    parts = (PartKind.ARC,)

    def __init__(self, tags, values):
        self.tags, self.values = tags, values
        self.size = len(values)

    @classmethod
    def build(cls, columns, names, *, seed=0, **settings):
        tags = list(names.tags)
        return cls(tags, np.zeros(2 * (len(tags) + 2) ** 2, np.float32))

    def places(self, batch):
        for tags in batch.texts("upos"):
            numbers = [0, *(self.tags.index(tag) + 2 if tag in self.tags else 1 for tag in tags)]
            rows = np.array(numbers)
            node = np.arange(len(rows))
            yield (rows[:, None] * (len(self.tags) + 2) + rows) * 2 + (node[:, None] < node)

    def score(self, batch):
        return [{PartKind.ARC: self.values[places].astype(float)} for places in self.places(batch)]

    def pullback(self, batch, gradient):
        total = np.zeros(self.size)
        for places, given in zip(self.places(batch), gradient):
            np.add.at(total, places, given[PartKind.ARC])
        return total

    def weights(self):
        return self.values

    def with_weights(self, values):
        return Scorer(self.tags, np.array(values))

    def to_parts(self):
        return {"values": self.values}, {"tags": self.tags}

    @classmethod
    def from_parts(cls, tensors, settings, names):
        return cls(settings["tags"], np.array(tensors["values"]))


FEATURES = TemplateSet(
    name="toy-features", summary="tags alone", arcs="h.tag d.tag", labels="h.tag d.tag"
)
"""
POINTS = """
[arbora.learners]
toy-learner = toy_plugin:Learner
[arbora.losses]
toy-loss = toy_plugin:Loss
[arbora.search]
toy-search = toy_plugin:Search
[arbora.scorers]
toy-scorer = toy_plugin:Scorer
[arbora.features]
toy-features = toy_plugin:FEATURES
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with treebanks and, in `site`, an installed package."""
    root = tmp_path_factory.mktemp("plugins")
    installed = root / "site" / "toy_plugin-1.0.dist-info"
    installed.mkdir(parents=True)
    (root / "site" / "toy_plugin.py").write_text(CODE)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(POINTS)
    write(generate(40, seed=1, longest=10), root / "train.conllu")
    write(generate(10, seed=2, longest=10), root / "dev.conllu")
    return root


# Runs several commands in one process, and prints the exit status, stdout and stderr of each.
RUNNER = """
import contextlib, io, json, sys

from arbora.cli.main import run

results = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["arbora", *arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as exited:
            status = exited.code or 0
    results.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str


def run_commands(folder, commands, *, installed):
    """The result of each command, by its name."""
    paths = [str(folder / "site")] if installed else []
    paths += [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    arguments = json.dumps([[str(word) for word in command] for command in commands.values()])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    results = (Result(*each) for each in json.loads(done.stdout))
    return dict(zip(commands, results, strict=True))


KINDS = ["learners", "losses", "parsers", "scorers", "features"]
PARTS = {
    "learner": ("--learner", "toy-learner", "--order", 1),
    "features": ("-p", "features=toy-features", "--order", 1),
    "search": ("--parser", "toy-search", "--scorer", "toy-scorer", "-p", "rate=0.1"),
    "scorer": ("--scorer", "toy-scorer", "--loss", "toy-loss", "-p", "rate=0.1"),
}


@pytest.fixture(scope="module")
def with_plugin(folder):
    """Lists, and for every part: a training, its trees and their scores."""
    lists = {("list", kind): ("list", kind) for kind in KINDS}
    options = ("--only", "parser", "--epochs", 3, "-q")
    training, parsing = {}, {}
    for part, chosen in PARTS.items():
        model, trees = f"{part}.arbora", f"{part}.conllu"
        files = ("train.conllu", "--dev", "dev.conllu", "-o", model)
        training["train", part] = ("train", *files, *options, *chosen)
        parsing["parse", part] = ("parse", "dev.conllu", "-m", model, "-o", trees)
        parsing["eval", part] = ("eval", "dev.conllu", trees, "--json")
    results = {}
    for commands in (
        lists,
        training,
        parsing,
    ):  # apart, since models must find plugins that nothing loaded before
        results |= run_commands(folder, commands, installed=True)
    return results


@pytest.fixture(scope="module")
def without_plugin(folder, with_plugin):
    """A list, and parsing with every model, where the package is not installed."""
    commands = {("list", "losses"): ("list", "losses")}
    for part in PARTS:
        commands["parse", part] = ("parse", "dev.conllu", "-m", f"{part}.arbora", "-o", "again.conllu")
    return run_commands(folder, commands, installed=False)


def test_lists_show_plugins(with_plugin, without_plugin):
    names = ["toy-learner", "toy-loss", "toy-search", "toy-scorer", "toy-features"]
    for kind, name in zip(KINDS, names, strict=True):
        assert name in with_plugin["list", kind].stdout
    assert without_plugin["list", "losses"].status == 0
    assert "toy-loss" not in without_plugin["list", "losses"].stdout


@pytest.mark.parametrize("part", PARTS)
def test_plugins_train_and_parse(with_plugin, without_plugin, part):
    for verb in ("train", "parse", "eval"):
        assert with_plugin[verb, part].status == 0, with_plugin[verb, part].stderr
    assert json.loads(with_plugin["eval", part].stdout)["uas"] > 40
    again = without_plugin["parse", part]
    if part == "learner":  # a model does not need the learner that trained it
        assert again.status == 0, again.stderr
        return
    assert again.status == 1
    assert f"toy-{part}" in again.stderr
    assert "damaged" not in again.stderr
