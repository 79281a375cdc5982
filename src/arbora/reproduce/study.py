"""What a study is, how it is told what to do, and how it remembers what it has done.

A study computes cells: one training, one test. Each is written down in `results.json` as soon as it is done,
with all that it depends on (`inputs`). A study that is begun again in the same folder computes only what is
not there yet or depends on something else now; so an interrupted one goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from arbora import __version__
from arbora.errors import DataError, InputError, unknown
from arbora.storage.atomic import replacing

RESULTS, PAGE = "results.json", "README.md"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to do, and where."""

    output: Path
    """A folder, made where there is none."""
    data: Path | None = None
    """A folder of treebanks, <treebank>/<file>."""
    languages: tuple[str, ...] = ()
    """Of those that the study has; none: all but invented ones."""
    learners: tuple[str, ...] = ()
    """Of those that the study has; none: all."""
    seed: int = 0
    threads: int = 1
    quick: bool = False
    """A smoke test, seconds long, of little data and few epochs: its numbers say nothing."""


@dataclass(frozen=True, slots=True)
class Table:
    """A result for people: the first column names the rows, the others are numbers or short texts."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def to_markdown(self) -> str:
        """The table with its title above."""

        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

        marks = ["---", *["---:"] * (len(self.headings) - 1)]
        return "\n".join([f"**{self.title}**", "", line(self.headings), line(marks), *map(line, self.rows)])


@dataclass(frozen=True)
class Report:
    """What came out: tables to show, and the files that hold all of it."""

    tables: Sequence[Table]
    files: Sequence[Path]
    notes: Sequence[str] = ()


class Watcher(Protocol):
    """Is told how a study goes."""

    def cell_begins(self, name: str, examples: int) -> None:
        """A cell, which will look at so many examples at most."""

    def asked(self, examples: int) -> None:
        """So many more examples were looked at."""

    def cell_ends(self, name: str, result: str, *, remembered: bool) -> None:
        """A cell is done; `remembered`: it had been computed before."""


class Unwatched:
    """A watcher that keeps quiet."""

    def cell_begins(self, name: str, examples: int) -> None:
        """Nothing."""

    def asked(self, examples: int) -> None:
        """Nothing."""

    def cell_ends(self, name: str, result: str, *, remembered: bool) -> None:
        """Nothing."""


class Study(Protocol):
    """A paper's tables and figures, from treebanks on disk."""

    name: ClassVar[str]
    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""

    @property
    def languages(self) -> Mapping[str, str]:
        """Names to choose from, each with what it stands for."""

    @property
    def learners(self) -> Mapping[str, str]:
        """Likewise."""

    def run(self, options: Options, watcher: Watcher) -> Report:
        """Compute what is not there yet, and write everything to the output folder."""


def chosen(kind: str, given: Sequence[str], known: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """The names that were given, each once, or the usual ones; InputError for one that is not known."""
    for name in given:
        if name not in known:
            raise InputError(unknown(kind, name, list(known)))
    return tuple(dict.fromkeys(given)) or tuple(usual)


@dataclass
class Journal:
    """The cells of a study, in a JSON file that is always whole."""

    path: Path
    study: str
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, study: str) -> Journal:
        """The journal in a folder, which is made where there is none."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / RESULTS
        if not path.exists():
            return cls(path, study)
        try:
            held = json.loads(path.read_bytes())
            of, cells = held["study"], held["cells"]
            if not all(set(cell) >= {"inputs", "result"} for cell in cells.values()):
                raise KeyError("inputs")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"expected the results of a study, got something else ({error!r}); "
                "move it away, or choose another folder",
                source=str(path),
            ) from None
        if of != study:
            raise DataError(
                f"expected results of the study {study}, got those of {of!r}; choose another folder",
                source=str(path),
            )
        return cls(path, study, cells)

    def find(self, name: str, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result of a cell, if it was computed from the same inputs."""
        cell = self.cells.get(name)
        if cell is None or cell["inputs"] != json.loads(json.dumps(inputs)):
            return None
        result: dict[str, Any] = cell["result"]
        return result

    def add(self, name: str, inputs: Mapping[str, Any], result: Mapping[str, Any]) -> None:
        """Keep a result; on disk when this returns."""
        self.cells[name] = json.loads(json.dumps({"inputs": inputs, "result": result}, allow_nan=False))
        self.write({})

    def write(self, summary: Mapping[str, Any]) -> None:
        """The file anew; `summary` stands before the cells."""
        whole = {"study": self.study, "version": __version__, **summary, "cells": self.cells}
        with replacing(self.path) as stream:
            stream.write(json.dumps(whole, ensure_ascii=False, indent=1).encode() + b"\n")


def compute(
    journal: Journal,
    watcher: Watcher,
    name: str,
    inputs: Mapping[str, Any],
    examples: int,
    work: Callable[[], Mapping[str, Any]],
    told: Callable[[Mapping[str, Any]], str],
) -> dict[str, Any]:
    """A cell's result: from the journal, or by `work`, which is then kept; `told` says it in a few words."""
    found = journal.find(name, inputs)
    remembered = found is not None
    if found is None:
        watcher.cell_begins(name, examples)
        journal.add(name, inputs, work())
        found = journal.find(name, inputs)
        assert found is not None
    watcher.cell_ends(name, told(found), remembered=remembered)
    return found


# Words of pages


def command(study: str, options: Options) -> str:
    """What gives the same results again."""
    words = [f"arbora reproduce {study}"]
    for option, names in (("--languages", options.languages), ("--learners", options.learners)):
        if names:
            words.append(f"{option} {','.join(names)}")
    if options.seed:
        words.append(f"--seed {options.seed}")
    if options.quick:
        words.append("--quick")
    return " ".join(words)


def chance(p_value: float) -> str:
    """A p-value as tables show it."""
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"


def number(value: float | None, digits: int) -> str:
    """A number that may not be known."""
    return "" if value is None else f"{value:.{digits}f}"
