"""Computes the cells of a study and remembers them.

A cell is one training, or one test. Its result is written to `results.json` as soon as it is computed, with
everything that it depends on (`inputs`). A study that is started again in the same folder computes only the
cells that are missing or whose inputs have changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from arbora import __version__
from arbora.errors import DataError
from arbora.progress import Observer, Silent
from arbora.storage.files import replacing

RESULTS = "results.json"

Result: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `arbora reproduce`."""

    output: Path
    """A folder, created if it does not exist."""
    data: Path | None = None
    """A folder of treebanks, <treebank>/<file>."""
    languages: tuple[str, ...] = ()
    """Some of the study's languages. Empty: all with a treebank."""
    learners: tuple[str, ...] = ()
    """Some of the study's learners. Empty: the study's default."""
    seed: int = 0
    threads: int = 1
    quick: bool = False
    """A smoke test of a few seconds. Its numbers mean nothing."""


class Steps(Silent):
    """Passes on the steps of work within a cell: of all tasks, or of the one that takes most of the time."""

    def __init__(self, observer: Observer, only: str | None = None) -> None:
        self._observer = observer
        self._only = only
        self._counts = True

    def begin(self, task: str, total: int | None = None, **more: Any) -> None:
        self._counts = self._only in (None, task)

    def advance(self, steps: int = 1) -> None:
        if self._counts:
            self._observer.advance(steps)


class Runner:
    """Computes cells, or finds them in a JSON file that is always complete."""

    def __init__(self, study: str, options: Options, observer: Observer) -> None:
        """Open or create the results in `options.output`."""
        self.study = study
        self.options = options
        self.observer = observer
        self.path = options.output / RESULTS
        options.output.mkdir(parents=True, exist_ok=True)
        self.cells: dict[str, dict[str, Any]] = self._read() if self.path.exists() else {}

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            stored = json.loads(self.path.read_bytes())
            study, cells = stored["study"], stored["cells"]
            if not all(set(cell) >= {"inputs", "result"} for cell in cells.values()):
                raise KeyError("inputs")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"expected the results of a study ({error!r}); move this file, or choose another folder",
                source=str(self.path),
            ) from None
        if study != self.study:
            raise DataError(
                f"expected results of the study {self.study}, got {study!r}; choose another folder",
                source=str(self.path),
            )
        return dict(cells)

    def cell(
        self,
        name: str,
        inputs: Mapping[str, Any],
        compute: Callable[[], Mapping[str, Any]],
        *,
        examples: int,
        summary: Callable[[Result], str],
    ) -> Result:
        """Return a stored result with the same inputs, or compute and store it."""
        cell = self.cells.get(name)
        is_stored = cell is not None and cell["inputs"] == json.loads(json.dumps(inputs))
        self.observer.begin(name, None if is_stored else examples)
        if cell is None or not is_stored:
            new = {"inputs": inputs, "result": compute()}
            cell = self.cells[name] = json.loads(json.dumps(new, allow_nan=False))
            self.write({})
        result: Result = cell["result"]
        self.observer.end(summary(result) + (", done before" if is_stored else ""))
        return result

    def write(self, summary: Mapping[str, Any]) -> None:
        """Write the file again, with `summary` before the cells."""
        whole = {"study": self.study, "version": __version__, **summary, "cells": self.cells}
        with replacing(self.path) as stream:
            stream.write(json.dumps(whole, ensure_ascii=False, indent=1).encode() + b"\n")
