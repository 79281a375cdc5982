"""The rows of benchmarks/parsing.py for trained neural models, from given words and from raw text.

Training such models takes long, so they are given as files (`--network small.arbora`) and measured in the
same run as the other parsers and peers: one core, one thread, tags and lemmas included, text to text.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from confidence import held_out_ece
from parsing_rows import Bar, Line
from parsing_systems import Convert, accuracy, megabytes, say, worker_environment

import arbora
from arbora.data.treebank import ColumnReader, read_columns

SIZES = {128: "small", 200: "medium", 400: "large"}  # by units of the LSTM
FROM_WORDS = {"small": Bar(">=", 40_000), "medium": Bar(">=", 20_000), "large": Bar(">=", 4000)}
FROM_TEXT = {"small": Bar(">=", 30_000)}
MEMORY = Bar("<=", 250)
FIRST_TREE = Bar("<=", 0.5)
FILE = {"small": Bar("<=", 15)}
ECE = Bar("<=", 0.01)
STARTS = 5


@dataclass(frozen=True)
class Network:
    """A trained model; `kind` of input: words (a treebank, whose tags are replaced) or text."""

    kind: str
    module: ClassVar[str] = "arbora"

    @property
    def name(self) -> str:
        return f"network-{self.kind}"

    def load(self, model: Path, threads: int = 1) -> Convert:
        from arbora.cli.inputs import TextReader

        pipeline = arbora.load(model)

        def convert(source: Path, target: Path) -> None:
            retag = self.kind == "words"
            read: Iterable[Any] = ColumnReader(source)
            if not retag:
                read = TextReader(str(source), pipeline.require_segmenter(), False, False)
            with target.open("wb") as stream:
                for piece in read:
                    columns = pipeline.prepare(piece, retag=retag, threads=threads)
                    heads, labels = pipeline.parser.trees(columns, threads=threads)
                    parsed = columns.with_trees(heads, labels, pipeline.parser.names.labels)
                    stream.write(parsed.to_bytes())

        return convert


def network_lines(
    models: list[Path], dev: Path, folder: Path, worker: Callable[..., Any], *, rounds: int, repeats: int
) -> list[Line]:
    """Speed, accuracy, memory, start and size of each model; `worker` makes a process for a system."""
    words, text = folder / "words.conllu", folder / "text.txt"
    words.write_bytes(dev.read_bytes() * repeats)
    sentences = [line[9:] for line in dev.read_text("utf-8").splitlines() if line.startswith("# text = ")]
    text.write_text("\n\n".join(sentences * repeats) + "\n\n", "utf-8")
    tokens = repeats * sum(line[:1].isdigit() and "-" not in line.split("\t", 1)[0] for line in dev.open())
    lines: list[Line] = []
    with ExitStack() as stack:
        made = {
            (model, kind): stack.enter_context(worker(Network(kind), model))
            for model in models
            for kind in ("words", "text")
        }
        for i in range(rounds):
            say(f"networks, round {i + 1} ...")
            for (_, kind), process in made.items():
                process.round(text if kind == "text" else words, folder / "out")
        for model in models:
            pipeline = arbora.load(model)
            size = size_of(pipeline)
            gold = read_columns(dev)
            tagged = gold if pipeline.annotator is None else pipeline.prepare(gold, retag=True)
            ece = held_out_ece(pipeline.parser, tagged)
            parser = f"{model.stem} ({size})"
            made[model, "words"].parse(dev, folder / "parsed.conllu")
            scores = accuracy(dev, folder / "parsed.conllu")
            speeds = {kind: tokens / made[model, kind].cpu() for kind in ("words", "text")}
            peak = max(made[model, kind].peak() for kind in ("words", "text"))
            lines += [
                Line("network: LAS on dev, own tags", parser, scores["las"], "%", None, {}, 2),
                Line("network: ECE of heads, other half", parser, ece, "", ECE, {}, 4),
                Line("network: from words", parser, speeds["words"], "tokens/s", FROM_WORDS.get(size), {}, 0),
                Line("network: from text", parser, speeds["text"], "tokens/s", FROM_TEXT.get(size), {}, 0),
                Line("network: peak memory", parser, peak, "MB", MEMORY, {}, 0),
                Line("network: start to first tree", parser, first_tree(model), "s", FIRST_TREE, {}, 2),
                Line("network: file", parser, megabytes(model), "MB", FILE.get(size), {}, 1),
            ]
    return sorted(lines, key=lambda line: line.row)


def size_of(pipeline: Any) -> str:
    """The name of a network's size."""
    tensors = pipeline.parser.search.scorer.tensors
    return SIZES.get(tensors["lstm0.forward.recurrent"].shape[1], "other")


def first_tree(model: Path) -> float:
    """Seconds from a fresh process to its first tree, the best of several."""
    program = f"import arbora; arbora.load({str(model)!r})('A first tree.')"
    best = float("inf")
    environment = {**worker_environment(), "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(STARTS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
        best = min(best, time.perf_counter() - start)
    return best
