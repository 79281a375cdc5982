"""`arbora tune`: the best settings of a grid, on dev or by cross-validation."""

from __future__ import annotations

from typing import Any

import typer

from arbora.cli import options, training
from arbora.cli.console import Table, counted, print_json, say, show, show_line, show_scores, stopped
from arbora.cli.files import not_an_input, writable
from arbora.cli.progress import TerminalProgress
from arbora.settings import to_dict, to_toml
from arbora.storage.files import open_output
from arbora.training.config import TrainConfig
from arbora.training.tune import Tuned, combinations, show_values, tune


@options.setting_options(TrainConfig, f"{training.SHARED} only tags", **training.CHECKS)
def command(
    context: typer.Context,
    files: training.Files,
    grid: list[str] = options.option(
        "--grid NAME=V1,V2,...: Values to try for a parameter of the learner, or for any setting of "
        "--config; several grids are combined."
    ),
    dev: str | None = options.option("--dev DEV: A treebank to evaluate on.", default=None),
    fold_count: int = typer.Option(
        5, "--folds", min=2, help="Without --dev: number of folds for cross-validation."
    ),
    output: str | None = options.option(
        "--output -o FILE: Write the best settings, for train --config.", writable, None
    ),
    config: options.Config = None,
    parameters: training.Parameters = None,
    epochs: training.Epochs = None,
    threads: options.Threads = 1,
    workers: options.Workers = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    quiet: bool = options.flag("--quiet -q: Show no progress."),
    as_json: bool = options.json_option("all trials, best first, and the best settings"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
    **given: Any,
) -> None:
    """Trials are compared on DEV or by cross-validation, and listed best first: by LAS, or by UAS without
    labels. Each is what `arbora train` does with the same settings, so a linear parser is trained and
    evaluated on predicted tags unless you say --tags gold or --only parser. Ctrl-C ends the search and lists
    the complete trials.

    Examples:

    - `arbora tune train.conllu --dev dev.conllu --grid C=0.003,0.01,0.03 -o best.toml`
    - `arbora tune train.conllu --dev dev.conllu --grid order=1,2 --grid C=0.01,0.1 --workers 4`
    - `arbora tune train.conllu --folds 5 --epochs 30 --learner pegasos --grid lam=0.003,0.03`
    """
    chosen = training.choose_treebanks(files, dev, quiet=quiet)
    not_an_input(output, [*chosen.train, *chosen.dev, config, given["vectors"], given["text"]])
    if chosen.has_dev and "fold_count" in options.given_options(context):
        raise typer.BadParameter("--folds has no effect with a dev set; omit --dev, or name TREEBANK/train")
    if output == "-" and as_json:
        raise typer.BadParameter("-o - and --json both write to stdout; the JSON has the best settings, too")
    pool = options.make_pool(workers, engine, address)
    base = training.chosen_config(config, parameters, epochs, given)
    values = {name: _values(name, text) for name, text in options.name_values(grid, "--grid").items()}
    with options.usage_errors():
        points = [config for _, config in combinations(values, base)]  # checked before any file is read
    training.require_in_all(parameters, base, (point.learner_name for point in points))
    partial = chosen.has_dev and all(point.learns_from_parts for point in points)
    columns, dev_columns = chosen.read(format, base, lenient=lenient, partial=partial)
    with options.usage_errors(), TerminalProgress(quiet=quiet) as progress:
        tuned = tune(
            columns,
            dev_columns,
            grid=values,
            config=base,
            folds=fold_count,
            threads=threads,
            observer=progress,
            pool=pool,
        )
    for failure in tuned.failures:
        say(f"warning: {show_values(failure.values)}: no result: {failure.reason}")
    if tuned.trials:
        _report(tuned, output, as_json=as_json)
    if tuned.interrupted:
        raise stopped(f" after {counted(len(tuned.trials), 'complete trial')}")


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
        trials, failures = (list(map(to_dict, found)) for found in (tuned.trials, tuned.failures))
        print_json({"best": to_dict(tuned.best), "trials": trials, "failures": failures})
    elif output != "-":
        first = tuned.trials[0]
        rows = []
        for trial in tuned.trials:
            scores = [_score(mean, trial.spread.get(name)) for name, mean in trial.scores.items()]
            epochs = "/".join(map(str, trial.epochs))
            rows.append([*trial.values.values(), *scores, epochs, f"{trial.seconds:.1f}"])
        show([Table("", [*first.values, *map(str.upper, first.scores), "epoch", "seconds"], rows)])
        best = " ".join(f"-p {name}={value}" for name, value in first.values.items())
        where = f"; train --config {output}" if output is not None else ""
        show_line(f"\nbest: {best} ({show_scores(first.scores)}){where}")


def _score(mean: float, spread: float | None) -> str:
    return f"{mean:.2f}" if spread is None else f"{mean:.2f} ±{spread:.2f}"
