"""`arbora reproduce`: a paper's tables and figures, from treebanks on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arbora.cli.files import session
from arbora.cli.progress import TerminalProgress, choose_mode
from arbora.cli.tables import Table, show
from arbora.errors import InputError


class StudyProgress(TerminalProgress):
    """A bar for the cell that is computed, and a line for each that is done."""

    def cell_begins(self, name: str, examples: int) -> None:
        """Begin a cell."""
        self.begin(name, examples)

    def asked(self, examples: int) -> None:
        """Count examples."""
        self.advance(examples)

    def cell_ends(self, name: str, result: str, *, remembered: bool) -> None:
        """Print the cell's result."""
        if remembered:
            self.begin(name)
        self.end(f"{result}, done before" if remembered else result)


def _study(name: str) -> str:
    from arbora.reproduce import studies  # see list.py

    try:
        studies.factory(name)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    return name


def _folder(path: Path | None) -> Path | None:
    if path is not None and path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{path}: expected a folder, got a file")
    return path


def _names(given: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def reproduce(
    study: Annotated[
        str, typer.Argument(metavar="STUDY", callback=_study, help="A name from `arbora list studies`.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="ARBORA_DATA",
            callback=_folder,
            help="Folder of treebanks, each in a folder of its own.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "--out",
            "-o",
            callback=_folder,
            help="Folder for the page, the figures and results.json, from which an interrupted study "
            "goes on. Default: reproduce/STUDY.",
            show_default=False,
        ),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these, with commas; `arbora info study STUDY` names all.", show_default=False
        ),
    ] = None,
    learners: Annotated[
        list[str] | None, typer.Option(help="Only these, with commas; likewise.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="How many to compute with; changes no result.")] = 1,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A few invented sentences and epochs: shows that it works, its numbers say nothing.",
        ),
    ] = False,
) -> None:
    """Reproduce a paper: its tables and figures, with its own numbers beside ours.

    Finished trainings are kept in OUTPUT/results.json; the same command goes on after an interruption.
    Progress goes to stderr, tables to stdout.

    Examples: arbora reproduce pegasos --data treebanks; arbora reproduce pegasos --quick -o /tmp/pegasos
    """
    from arbora.reproduce import Options, studies

    with session(), StudyProgress(choose_mode(quiet=False)) as watcher:
        options = Options(
            output=output or Path("reproduce") / study,
            data=data,
            languages=_names(languages),
            learners=_names(learners),
            seed=seed,
            threads=threads,
            quick=quick,
        )
        try:
            report = studies.create(study).run(options, watcher)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        show([Table(table.title, table.headings, table.rows) for table in report.tables])
        print()
        for note in report.notes:
            print(note)
        print("written: " + ", ".join(str(path) for path in report.files))
