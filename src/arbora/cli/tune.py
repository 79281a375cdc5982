"""`arbora tune`: the best settings of a grid, on dev or by cross-validation."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from arbora.cli.files import (
    FormatOption,
    complain,
    counted,
    not_an_input,
    session,
    writable,
)
from arbora.cli.named import TRAIN_HELP, choose_treebanks
from arbora.cli.progress import TerminalProgress, choose_mode
from arbora.cli.settings import (
    ConfigOption,
    EpochsOption,
    LabelsOption,
    LearnerOption,
    OrderOption,
    ParametersOption,
    ParserOption,
    PatienceOption,
    RootsOrAuto,
    SeedOption,
    ThreadsOption,
    TreesOption,
    UpdateOption,
    chosen_config,
    pairs,
    require_in_all,
    told_as_usage,
)
from arbora.cli.tables import Table, show
from arbora.cli.texts import show_scores
from arbora.cli.treebanks import read_treebanks
from arbora.data.files import open_output
from arbora.settings import to_dict, to_toml
from arbora.training.tune import Tuned, all_learn_from_parts, combinations, tune

FOLDS = 5
STOPPED = 130


def _output(name: str | None) -> str | None:
    return None if name is None else writable(name)


def tune_files(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(metavar="TRAIN", help=TRAIN_HELP),
    ],
    grid: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=V1,V2,...",
            help="Values to try of a parameter of the learner, or of any setting of --config; "
            "several grids are combined.",
        ),
    ],
    dev: Annotated[
        str | None,
        typer.Option(metavar="DEV", help="A treebank to judge by."),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(min=2, help="Without --dev: deal TRAIN into so many parts, each judged by the others."),
    ] = FOLDS,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", callback=_output, help="The best settings, for train --config."
        ),
    ] = None,
    config: ConfigOption = None,
    learner: LearnerOption = None,
    parameters: ParametersOption = None,
    parser: ParserOption = None,
    order: OrderOption = None,
    update: UpdateOption = None,
    trees: TreesOption = None,
    roots: RootsOrAuto = None,
    labels: LabelsOption = None,
    epochs: EpochsOption = None,
    patience: PatienceOption = None,
    seed: SeedOption = None,
    threads: ThreadsOption = 1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress: nothing but the table, warnings and errors.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: all trials, best first, and the best settings.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Skip bad sentences with a warning and a count.")
    ] = False,
    format: Annotated[  # noqa: A002
        FormatOption, typer.Option(help="What the treebanks are; auto looks at name and first lines.")
    ] = FormatOption.AUTO,
) -> None:
    """Try settings: train with every combination, compare on DEV or by cross-validation.

    Trials are listed best first, by LAS, or by UAS where labels are not learned. Ctrl-C ends the search and
    lists the trials that are complete.

    Examples:

    - `arbora tune train.conllu --dev dev.conllu --grid C=0.003,0.01,0.03 -o best.toml`
    - `arbora tune train.conllu --folds 5 --epochs 30 --learner pegasos --grid lam=0.003,0.03`
    """
    chosen = choose_treebanks(files, dev, quiet=quiet)
    inputs = [*chosen.train, *chosen.dev, config]
    not_an_input(output, inputs)
    source = context.get_parameter_source("folds")
    if chosen.dev and source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("--folds is for when there is no --dev, and NAME/train names no dev part")
    if output == "-" and as_json:
        raise typer.BadParameter("-o - and --json both want stdout; the JSON has the best settings, too")
    base = chosen_config(
        config,
        learner=learner,
        parameters=parameters or [],
        epochs=epochs,
        parser=parser,
        order=order,
        update=update,
        trees=trees,
        roots=roots,
        labels=labels,
        patience=patience,
        seed=seed,
    )
    values = {name: _values(name, text) for name, text in pairs(grid, "--grid").items()}
    with told_as_usage():
        points = list(combinations(values, base))  # before any file is read
    require_in_all(parameters or [], base, (point.learner_name for _, point in points))
    with session(lenient=lenient):
        labelled = base.labels != "none"
        partial = bool(chosen.dev) and all_learn_from_parts(point for _, point in points)
        columns = read_treebanks(
            chosen.train, format.value, lenient=lenient, labelled=labelled, partial=partial
        )
        judged = (
            read_treebanks(chosen.dev, format.value, lenient=lenient, labelled=labelled)
            if chosen.dev
            else None
        )
        with told_as_usage(), TerminalProgress(choose_mode(quiet=quiet)) as progress:
            tuned = tune(
                columns, judged, grid=values, config=base, folds=folds, threads=threads, observer=progress
            )
        if tuned.trials:
            _report(tuned, output, as_json=as_json)
    if tuned.interrupted:
        complain(f"stopped by Ctrl-C after {counted(len(tuned.trials), 'complete trial')}")
        raise typer.Exit(STOPPED)


def _values(name: str, text: str) -> list[str]:
    values = [value.strip() for value in text.split(",") if value.strip()]
    if len(set(values)) != len(values):
        raise typer.BadParameter(f"--grid {name}: expected values that differ, got {text}")
    return values


def _report(tuned: Tuned, output: str | None, *, as_json: bool) -> None:
    if output is not None:
        with open_output(output) as stream:
            stream.write(to_toml(tuned.best).encode())
    if as_json:
        answer = {"best": to_dict(tuned.best), "trials": [trial.to_json() for trial in tuned.trials]}
        print(json.dumps(answer, ensure_ascii=False, indent=1))
        return
    first = tuned.trials[0]
    headings = [*first.values, *map(str.upper, first.scores), "epoch", "seconds"]
    rows = [
        [
            *trial.values.values(),
            *(_score(trial.scores[name], trial.spread.get(name)) for name in trial.scores),
            "/".join(map(str, trial.epochs)),
            f"{trial.seconds:.1f}",
        ]
        for trial in tuned.trials
    ]
    if output != "-":
        show([Table("", headings, rows)])
        best = " ".join(f"-p {name}={value}" for name, value in first.values.items())
        where = f"; train --config {output}" if output is not None else ""
        print(f"\nbest: {best} ({show_scores(first.scores)}){where}")


def _score(mean: float, spread: float | None) -> str:
    return f"{mean:.2f}" if spread is None else f"{mean:.2f} ±{spread:.2f}"
