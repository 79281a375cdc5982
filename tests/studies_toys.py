"""Small runs of studies for their tests."""

import json
from typing import NamedTuple

from arbora_studies.catalog import studies
from arbora_studies.runner import Options

SOME = {"crfae": ("left", "random", "dmv", "convex-universal", "crfae-universal", "crfae-likelihood")}
"""The learners of studies with many of them."""


class Notes:
    """An observer that keeps the names of cells, and can interrupt the study at one of them."""

    def __init__(self, stop_at=None):
        self.computed, self.stored, self.stop_at = [], [], stop_at

    def begin(self, task, total=None):
        (self.stored if total is None else self.computed).append(task)
        if total is not None and len(self.computed) == self.stop_at:
            raise KeyboardInterrupt

    def advance(self, steps=1):
        assert steps > 0

    def end(self, result=""):
        assert result


class Finished(NamedTuple):
    folder: object
    report: object
    notes: Notes

    @property
    def stored(self):
        return json.loads((self.folder / "results.json").read_bytes())

    @property
    def tables(self):
        return {table["title"]: table["rows"] for table in self.stored["tables"]}


def run(name, folder, notes=None, **more):
    notes = notes or Notes()
    options = Options(output=folder, quick=True, **{"learners": SOME.get(name, ()), **more})
    report = studies.create(name).run(options, notes)
    return Finished(folder, report, notes)


def without_times(tables):
    """The rows of tables without columns of processor time."""
    timed = ("CPU s", "tokens/s")
    return [
        [
            [cell for heading, cell in zip(table.headings, row, strict=True) if not heading.endswith(timed)]
            for row in table.rows
        ]
        for table in tables
        if not table.title.startswith(timed)
    ]
