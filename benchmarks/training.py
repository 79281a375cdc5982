"""Cost of training a parser on UD_English-EWT, with peers: CPU time, memory, size of the model, accuracy.

    python benchmarks/training.py                   # ours anew, both orders; peers once, then from the cache
    python benchmarks/training.py --only 1          # first order alone; 2: second
    python benchmarks/training.py --quick           # 2 epochs, short trainings of peers: no limit on accuracy
    python benchmarks/training.py --json > figures.json
    python benchmarks/training.py --check           # exit status 1 if a limit is missed

Each training has its own process and one thread. CPU time is counted up to the end of the epoch with the best
dev score, including all earlier stages and all evaluation. The models go to the cache of
benchmarks/parsing.py. Training UDPipe takes two hours: unless parsing_peers.py has done that, the table shows
a shortened training and says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import parsing_rows as rows
from parsing_peers import SHORT, UDPipe, UDPipeText, is_installed, obtain_peer, peers, positive
from parsing_rows import Line
from parsing_systems import Arbora, Files, MissingError, System, Trained, accuracy, cached, obtain, say
from rich.console import Console

WORDS_OF_LONG_TRAINING = "python benchmarks/parsing_peers.py --only udpipe"


def argument_parser(description: str, only: tuple[str, ...]) -> argparse.ArgumentParser:
    """The options shared by both benchmarks of parsers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="short trainings and fewer rounds, for a first look"
    )
    parser.add_argument("--only", choices=only, help="that part alone")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument("--iterations", type=positive, help="of UDPipe's training, some 13 CPU minutes each")
    parser.add_argument("--json", action="store_true", help="figures as JSON on stdout")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a limit is missed")
    return parser


def trained_peers(
    files: Files, *, quick: bool, iterations: int | None
) -> tuple[dict[str, tuple[System, Trained]], list[str]]:
    """Available peers by name, and notes on missing or partly trained ones."""
    found: dict[str, tuple[System, Trained]] = {}
    notes = []
    for name, asked in peers(iterations).items():
        # Train it for two hours only on request.
        short = quick or (name == "udpipe" and iterations is None)
        system = asked
        try:
            if not is_installed(system):
                raise MissingError("not installed")
            stand_ins = longer_trained(files) if name == "udpipe" and iterations is None else []
            system = stand_ins[0] if stand_ins else asked
            trained = cached(system, files, quick=False) or obtain_peer(system, files, quick=short)
        except MissingError as missing:
            notes.append(f"{name}: {missing}; recorded figures stand in")
            continue
        found[name] = (system, trained)
        if trained.shortened:
            how = f"; {WORDS_OF_LONG_TRAINING} trains it whole" if name == "udpipe" else ""
            notes.append(
                f"* {name}: shortened training ({trained.shortened}), same network, worse trees{how}"
            )
    return found, notes


def longer_trained(files: Files) -> list[System]:
    """UDPipes in the cache with more than quick training: full, then partial, then from raw text.

    The parser of one that reads raw text was trained on the tags of its own tagger, not on the treebank's.
    """
    known: list[System] = [UDPipe(), UDPipe(SHORT), UDPipeText(), UDPipeText(SHORT)]
    return [system for system in known if cached(system, files, quick=False) is not None]


def shortenings(found: dict[str, tuple[System, Trained]]) -> dict[str, str]:
    return {name: trained.shortened for name, (_, trained) in found.items()}


def dev_accuracy(system: System, model: Path, dev: Path) -> dict[str, float]:
    """UAS and LAS of a model's output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.conllu"
        system.load(model)(dev, out)
        return accuracy(dev, out)


def lines_of(order: int, trained: Trained, dev: Path) -> list[Line]:
    """All rows of one of our parsers."""
    record, name = trained.record, rows.PARSERS[order]
    short = trained.shortened
    system = Arbora(order)
    scores = dev_accuracy(system, trained.model, dev)
    small = dev_accuracy(system, trained.compact, dev)

    def line(row: str, figure: float, unit: str, bar: rows.Bar | None, digits: int = 1, **more: Any) -> Line:
        return Line(row, name, figure, unit, bar, {}, digits, **more)

    return [
        line(
            "training to the best dev score",
            record["cpu_to_best"] / 60,
            "CPU minutes",
            rows.TRAINING_MINUTES[order],
            2,
            remark=short,
        ),
        line("training, all epochs", record["cpu"] / 60, "CPU minutes", None, 2),
        line("peak memory of training", record["peak_mb"], "MB", rows.TRAINING_MB, 0, remark=short),
        line("model", record["model_mb"], "MB", None),
        line("compact model", record["compact_mb"], "MB", None),
        line("UAS on dev", scores["uas"], "%", rows.UAS[order], 2, remark=short),
        line("LAS on dev", scores["las"], "%", rows.LAS[order], 2, remark=short),
        line("UAS, compact", small["uas"], "%", None, 2),
        line("LAS, compact", small["las"], "%", None, 2),
    ]


def gain(lines: list[Line]) -> list[Line]:
    """The gain of the highest order over the previous one, if both were fully trained."""
    las = {line.parser: line for line in lines if line.row == "LAS on dev"}
    second, third = (las.get(rows.PARSERS[order]) for order in (2, 3))
    if second is None or third is None:
        return []
    more, short = third.figure - second.figure, third.remark or second.remark
    return [Line("LAS above second order", third.parser, more, "%", rows.LAS_GAIN, {}, 2, remark=short)]


PEER_ROWS = {
    "training, all epochs": lambda record, scores: record["cpu"] / 60,
    "peak memory of training": lambda record, scores: record["peak_mb"],
    "model": lambda record, scores: record["model_mb"],
    "UAS on dev": lambda record, scores: scores["uas"],
    "LAS on dev": lambda record, scores: scores["las"],
}


def add_peers(lines: list[Line], found: dict[str, tuple[System, Trained]], dev: Path) -> None:
    for name, (system, trained) in found.items():
        scores = dev_accuracy(system, trained.model, dev)
        for line in lines:
            if line.row in PEER_ROWS:
                line.peers[name] = PEER_ROWS[line.row](trained.record, scores)


def main() -> int:
    arguments = argument_parser(__doc__.splitlines()[0], tuple(map(str, rows.PARSERS))).parse_args()
    console = Console(stderr=arguments.json, width=max(132, Console().width))
    try:
        files = Files.find()
    except MissingError as missing:
        say(f"skipped: {missing}")
        return 0
    found: dict[str, tuple[System, Trained]] = {}
    notes: list[str] = []
    if not arguments.no_peers:
        found, notes = trained_peers(files, quick=arguments.quick, iterations=arguments.iterations)
    per_order = []
    for order in rows.PARSERS:
        if arguments.only in (None, str(order)):
            trained = obtain(Arbora(order), files, quick=arguments.quick, anew=True)
            notes += [f"{rows.PARSERS[order]}: {note}" for note in trained.record["notes"]]
            per_order.append(lines_of(order, trained, files.dev))
    lines = [line for same_row in zip(*per_order, strict=True) for line in same_row]
    lines += gain(lines)
    add_peers(lines, found, files.dev)
    rows.show("training on UD_English-EWT, one thread", lines, shortenings(found), console)
    rows.show_recorded(console)
    for note in notes:
        console.print(note, highlight=False)
    cleared = rows.summary(lines, console)
    if arguments.json:
        print(json.dumps({"lines": [line.to_json() for line in lines], "notes": notes}, indent=1))
    return 1 if arguments.check and not cleared else 0


if __name__ == "__main__":
    sys.exit(main())
