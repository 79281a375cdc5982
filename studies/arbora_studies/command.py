"""`arbora reproduce`: a paper's tables and figures, from treebanks on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arbora.cli.console import Table, show
from arbora.errors import InputError


def _study(name: str) -> str:
    from arbora_studies.catalog import studies  # loads everything that trains parsers

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
            metavar="FOLDER",
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
            metavar="FOLDER",
            callback=_folder,
            help="Folder for the page, the figures and results.json, from which an interrupted study "
            "resumes. Default: reproduce/STUDY.",
            show_default=False,
        ),
    ] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Some languages, separated by commas; `arbora info study STUDY` lists them.",
            show_default=False,
        ),
    ] = None,
    learners: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Some learners, separated by commas; `arbora info study STUDY` lists them.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Number of threads. Does not change results.")] = 1,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A smoke test on a few synthetic sentences. Its numbers mean nothing."),
    ] = False,
) -> None:
    """Reproduce a paper: its tables and figures, with the paper's numbers beside ours.

    Finished trainings are kept in OUTPUT/results.json; the same command resumes an interrupted study.
    Progress goes to stderr, tables to stdout.

    Examples: arbora reproduce pegasos --data treebanks; arbora reproduce pegasos --quick -o /tmp/pegasos
    """
    from arbora.cli.progress import TerminalProgress
    from arbora_studies.catalog import studies
    from arbora_studies.runner import Options

    with TerminalProgress() as observer:
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
            report = studies.create(study).run(options, observer)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        show([Table(table.title, table.headings, table.rows) for table in report.tables])
        print()
        for note in report.notes:
            print(note)
        print("written: " + ", ".join(str(path) for path in report.files))
