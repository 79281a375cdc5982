"""Writes what a study found: tables as Markdown and JSON, a figure, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from arbora.storage.files import replacing
from arbora.web.plots import Panel, save_plot
from arbora_studies.runner import Options, Runner

PAGE, FIGURE = "README.md", "figure2"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: the text to show, and the value that is not rounded."""

    text: str
    value: Any


TableRow: TypeAlias = dict[str, Cell | str]
"""Cells by heading."""


def number(value: float | None, form: str = ".2f") -> Cell:
    """Format a number; None is an empty cell."""
    if value is None:
        return Cell("", None)
    return Cell(format(value, form), value if isfinite(value) else None)


def chance(p_value: float) -> Cell:
    """Format a p-value."""
    return number(p_value, ".3f") if p_value >= 0.001 else Cell("<0.001", p_value)


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first column names the rows."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Any]] = ()
    """The rows by heading, not rounded."""

    @classmethod
    def of(cls, title: str, rows: Iterable[TableRow]) -> Table:
        """Make a table of rows by heading; cells that a row does not have are empty."""
        cells = [{key: Cell(c, c) if isinstance(c, str) else c for key, c in row.items()} for row in rows]
        headings = list(dict.fromkeys(heading for row in cells for heading in row))
        texts = [[row[heading].text if heading in row else "" for heading in headings] for row in cells]
        return cls(title, headings, texts, [{key: cell.value for key, cell in row.items()} for row in cells])

    def to_markdown(self) -> str:
        """Return the table with its title above it."""

        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

        marks = ["---", *["---:"] * (len(self.headings) - 1)]
        return "\n".join([f"**{self.title}**", "", line(self.headings), line(marks), *map(line, self.rows)])


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a study found."""

    tables: Sequence[Table]
    about: str
    """A line below the page's title: what was reproduced, and with which parser."""
    notes: Sequence[str]
    """What a reader needs to know to read the tables."""
    panels: Sequence[Panel] = field(default=())
    """Of the figure, if there is one."""
    caption: str = ""


@dataclass(frozen=True)
class Report:
    """What was written, and what to show."""

    tables: Sequence[Table]
    files: Sequence[Path]
    notes: Sequence[str]


def write_report(title: str, found: Findings, runner: Runner) -> Report:
    """Write everything to the output folder."""
    options = runner.options
    folder = options.output
    tables = [table for table in found.tables if table.rows]
    notes = [*found.notes]
    if options.quick:
        notes.append("A quick run, to see that everything works: these numbers say nothing.")
    figures = [folder / f"{FIGURE}.svg", folder / f"{FIGURE}.png"] if found.panels else []
    if figures:
        save_plot(found.panels, *figures)
    shown = [{"title": table.title, "rows": table.values} for table in tables]
    runner.write({"quick": options.quick, "seed": options.seed, "tables": shown})
    parts = [
        f"# {title}",
        f"Written by `{command_of(runner.study, options)}`: {found.about}",
        *(table.to_markdown() for table in tables),
        "\n".join(f"- {note}" for note in notes),
        *([f"![{found.caption}]({FIGURE}.svg)", found.caption] if figures else []),
    ]
    page = folder / PAGE
    with replacing(page) as stream:
        stream.write("\n\n".join([*parts, ""]).rstrip("\n").encode() + b"\n")
    return Report(tables, [page, runner.path, *figures], notes)


def command_of(study: str, options: Options) -> str:
    """Return the command that gives the same results again."""
    words = [f"arbora reproduce {study}"]
    for option, names in (("--languages", options.languages), ("--learners", options.learners)):
        if names:
            words.append(f"{option} {','.join(names)}")
    if options.seed:
        words.append(f"--seed {options.seed}")
    return " ".join([*words, *(["--quick"] if options.quick else [])])
