"""From raw text to trees on UD_English-EWT dev: accuracy by the official scorer, speed, start, size.

    python benchmarks/pipeline.py                   # the bundled model
    python benchmarks/pipeline.py --model my.arbora
    python benchmarks/pipeline.py --json > figures.json
    python benchmarks/pipeline.py --check           # exit status 1 if a limit is missed

Raw text is dev's, in the layout of Universal Dependencies. "gold tokens" are dev's words with the model's
tags. Scores are those of PyPI's udtools. Speed is from text to CoNLL-U on one core, by CPU time, the median
of several rounds; the cold start is the best elapsed time of several `arbora parse "..."`. The best epochs of
the bundled model were chosen on this dev set. UDPipe 1 is measured if it was trained from text (`python
benchmarks/parsing_peers.py --only udpipe_text`); otherwise published figures are shown.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path
from statistics import median

import parsing_rows as rows
from parsing_peers import SHORT, UDPipeText, is_installed
from parsing_rows import Bar, Line
from parsing_systems import Files, MissingError, cached, say
from rich.console import Console
from udtools import udeval

METRICS = (
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "Lemmas",
    "UAS",
    "LAS",
    "CLAS",
    "MLAS",
    "BLEX",
)
PUBLISHED = {"LAS": 77.6}
"""UDPipe 1's baseline on this treebank, a near version of it."""
RAW_BARS = {"LAS": Bar(">=", 86.5), "Words": Bar(">=", 98.9), "Sentences": Bar(">=", 89.0)}
TOKEN_BARS = {"UPOS": Bar(">=", 96.5), "LAS": Bar(">=", 89.7)}
SPEED, START = Bar(">=", 25_000), Bar("<=", 0.5)
MODEL, INSTALLED = Bar("<=", 15.0), Bar("<=", 60.0)
ROUNDS, REPEATS, STARTS = 5, 4, 10
SENTENCE = "She reads books that nobody likes."


def official(gold: str, found: str) -> dict[str, float]:
    """F1 of every metric, in percent."""
    loaded = [
        udeval.load_conllu(io.StringIO(text), "dev", {"multiple_roots_okay": True}) for text in (gold, found)
    ]
    scores = udeval.evaluate(*loaded)
    return {name: 100 * scores[name].f1 for name in METRICS}


def without_empty_nodes(text: str) -> str:
    """Remove enhanced dependencies, which the scorer would compare."""
    lines = []
    for row in text.split("\n"):
        fields = row.split("\t")
        if len(fields) == 10:
            fields[8] = "_"
        if len(fields) != 10 or "." not in fields[0]:
            lines.append("\t".join(fields))
    return "\n".join(lines)


class Ours:
    """A model and its results on texts."""

    def __init__(self, path: Path | None) -> None:
        from arbora.pipeline.pipeline import load
        from arbora.storage.models import find_model

        self.path = find_model(path)
        self.nlp = load(path)

    def convert(self, text: str) -> bytes:
        """CoNLL-U of a raw text, piece by piece."""
        parser = self.nlp.parser
        written = []
        for found in self.nlp.require_segmenter().segment_stream([text]):
            columns = self.nlp.prepare(found.columns)
            written.append(columns.with_trees(*parser.trees(columns), parser.names.labels).to_bytes())
        return b"".join(written)

    def of_words(self, dev: Path) -> bytes:
        """Dev's words with tags, lemmas and trees of the model."""
        from arbora.data.treebank import read_columns

        columns = self.nlp.prepare(read_columns(dev), retag=True)
        return columns.with_trees(*self.nlp.parser.trees(columns), self.nlp.parser.names.labels).to_bytes()

    def speed(self, text: str) -> float:
        """Tokens per second of one core."""
        long = "\n\n".join([text] * REPEATS)
        words = sum(line[:1].isdigit() for line in self.convert(long).split(b"\n"))
        seconds = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            self.convert(long)
            seconds.append(time.process_time() - begun)
        return words / median(seconds)


def cold_start(model: Path | None) -> float:
    """Seconds until one sentence is parsed, the best of several."""
    command = [sys.executable, "-m", "arbora", "parse", SENTENCE, "-q"]
    command += [] if model is None else ["-m", str(model)]
    found = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        found.append(time.perf_counter() - begun)
    return min(found)


def installed_megabytes() -> dict[str, float]:
    """The size on disk of each required distribution, without compiled files."""
    sizes = {}
    for name in needed():
        files = distribution(name).files or []
        paths = [Path(str(file.locate())) for file in files if "__pycache__" not in str(file)]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
    root = Path(__file__).resolve().parents[1] / "src" / "arbora"
    if sizes["arbora-nlp"] < 1:  # an editable install lists only a link
        files_of_ours = [path for path in root.rglob("*") if path.suffix not in (".pyc", "")]
        sizes["arbora-nlp"] = sum(path.stat().st_size for path in files_of_ours) / 1e6
    return sizes


def needed() -> list[str]:
    """Arbora and its dependencies without extras, by name."""
    found: list[str] = []
    waiting = ["arbora-nlp"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.append(name)
        for requirement in distribution(name).requires or []:
            condition = requirement.partition(";")[2]
            if "extra" not in condition and "Windows" not in condition:
                waiting.append(re.findall(r"[\w.-]+", requirement)[0].lower())
    return sorted(found)


def lines_of(ours: Ours, files: Files, model: Path | None) -> list[Line]:
    from arbora.data.raw_text import raw_text
    from arbora.data.treebank import read_columns

    gold = without_empty_nodes(files.dev.read_text(encoding="utf-8"))
    text = raw_text(read_columns(files.dev)).text
    raw = official(gold, without_empty_nodes(ours.convert(text).decode()))
    tokens = official(gold, without_empty_nodes(ours.of_words(files.dev).decode()))
    peer = peer_scores(text, gold)
    lines = []
    for name in METRICS:
        peers = {"udpipe": peer[name]} if name in peer else {}
        lines.append(Line(f"{name}, F1", "raw text", raw[name], "%", RAW_BARS.get(name), peers, 2))
        lines.append(Line(f"{name}, F1", "gold tokens", tokens[name], "%", TOKEN_BARS.get(name), {}, 2))
    if "LAS" in peer:
        above = Bar(">=", peer["LAS"])
        lines.append(
            Line("LAS against UDPipe 1", "raw text", raw["LAS"], "%", above, {"udpipe": peer["LAS"]}, 2)
        )
    sizes = installed_megabytes()
    lines += [
        Line("speed, raw text to CoNLL-U", "one core", ours.speed(text), "tokens/s", SPEED, {}, 0),
        Line("cold start", f'arbora parse "{SENTENCE}"', cold_start(model), "s", START, {}, 2),
        Line("size", "model", Path(ours.path).stat().st_size / 1e6, "MB", MODEL, {}),
        Line("size", "installed, all", sum(sizes.values()), "MB", INSTALLED, {}),
        Line("size", "installed, NumPy", sizes["numpy"], "MB", None, {}),
    ]
    return lines


def peer_scores(text: str, gold: str) -> dict[str, float]:
    """UDPipe's figures: measured if it was trained from text, else published."""
    files = Files.find()
    for system in (UDPipeText(), UDPipeText(SHORT)):
        trained = cached(system, files, quick=False) if is_installed(system) else None
        if trained is not None:
            say(f"UDPipe: {system.shortened(quick=False) or 'its default settings'}")
            return official(gold, without_empty_nodes(system.load_text(trained.model)(text)))
    say("UDPipe was not trained from text; its published figure stands instead")
    return PUBLISHED


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        files = Files.find()
    except MissingError as error:
        sys.exit(str(error))
    lines = lines_of(Ours(options.model), files, options.model)
    if options.json:
        print(json.dumps([line.to_json() for line in lines], indent=1))
    else:
        rows.show("raw text to trees, UD_English-EWT dev", lines, {"udpipe": ""}, Console())
    if options.check and any(line.verdict == "MISS" for line in lines):
        sys.exit(1)


if __name__ == "__main__":
    main()
