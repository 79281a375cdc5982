"""`arbora train`: a treebank in, a model out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from arbora.cli.files import (
    FormatOption,
    complain,
    not_an_input,
    say,
    session,
    writable,
)
from arbora.cli.named import TRAIN_HELP, choose_treebanks, require_output
from arbora.cli.pictures import plot_name
from arbora.cli.progress import TerminalProgress, choose_mode
from arbora.cli.settings import (
    AttributionOption,
    ConfigOption,
    EpochsOption,
    LabelsOption,
    LearnerOption,
    LenientOption,
    LicenceOption,
    OrderOption,
    ParametersOption,
    ParserOption,
    PatienceOption,
    QuietOption,
    RootsOrAuto,
    SeedOption,
    StackOption,
    ThreadsOption,
    TreesOption,
    UpdateOption,
    chosen_config,
    told_as_usage,
)
from arbora.cli.tables import Table, show
from arbora.cli.texts import show_loss, show_scores, show_seconds
from arbora.cli.treebanks import read_treebanks
from arbora.data.columns import Columns
from arbora.progress import Scores
from arbora.storage.atomic import is_special
from arbora.training.config import learns_from_parts
from arbora.training.pipeline import Trained, train
from arbora.web.plots import SUFFIXES, draw_curve

CHECKPOINT = ".checkpoint"
STOPPED = 130


class OnlyChoice(StrEnum):
    """What a model is to have."""

    ALL = "all"
    PARSER = "parser"


class TagsChoice(StrEnum):
    """Which tags a parser is trained on."""

    JACKKNIFE = "jackknife"
    GOLD = "gold"


def model_name(name: str | None) -> str | None:
    """`name` if it can be a model's; the command line is at fault otherwise."""
    if name is None:
        return None
    if name == "-":
        raise typer.BadParameter("a model is not written to stdout; name a file")
    return writable(name)


def train_files(
    files: Annotated[
        list[str],
        typer.Argument(metavar="TRAIN", help=TRAIN_HELP),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            callback=model_name,
            help="The model to write. Default: da_ddt.arbora for UD_Danish-DDT; for files there is none.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="DEV",
            help="A treebank to judge each epoch by; the best is kept. Without it, the last is. "
            "Default: the dev part of a treebank that is given by name.",
            show_default=False,
        ),
    ] = None,
    config: ConfigOption = None,
    learner: LearnerOption = None,
    parameters: ParametersOption = None,
    parser: ParserOption = None,
    order: OrderOption = None,
    update: UpdateOption = None,
    stack: StackOption = None,
    trees: TreesOption = None,
    roots: RootsOrAuto = None,
    labels: LabelsOption = None,
    only: Annotated[
        OnlyChoice | None,
        typer.Option(
            help="The parser alone, for input that is tagged already; all, the default: "
            "what leads to it, too."
        ),
    ] = None,
    tags: Annotated[
        TagsChoice | None,
        typer.Option(
            help="What the parser learns from where a tagger is trained, too: tags as the tagger will give "
            "them (jackknife, the default), or those of TRAIN (gold)."
        ),
    ] = None,
    epochs: EpochsOption = None,
    patience: PatienceOption = None,
    seed: SeedOption = None,
    threads: ThreadsOption = 1,
    compact: Annotated[
        bool,
        typer.Option("--compact", help="Store weights in a byte each, and say what that costs on DEV."),
    ] = False,
    licence: LicenceOption = None,
    attribution: AttributionOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help=f"Go on from MODEL{CHECKPOINT}, which an interrupted training left."),
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", callback=plot_name, help=f"Draw the learning curve: {' or '.join(SUFFIXES)}."
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON on stdout: scores, epochs and the whole configuration.")
    ] = False,
    lenient: LenientOption = False,
    format: Annotated[  # noqa: A002
        FormatOption, typer.Option(help="What the treebanks are; auto looks at name and first lines.")
    ] = FormatOption.AUTO,
) -> None:
    """Train a model on a treebank: segmenter, tagger, lemmatizer and parser, as far as it can teach them.

    The parser learns from tags like those that it will meet: each part of TRAIN is tagged by what the
    others teach. After each epoch the parser is judged on DEV, and a checkpoint is written beside the
    model. Training stops when DEV has not improved for a while; the best epoch is kept. Ctrl-C does the
    same at once, and --resume then goes on, to the same bytes as if nothing had happened.

    Examples:

    - `arbora train UD_Danish-DDT`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --learner mira -p C=0.1 --order 1`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --parser cube`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --parser transition -p transition.beam=64`
    - `arbora train train.conllu --dev dev.conllu -o both.arbora --stack da.arbora --parser cube`
    - `arbora train train.conllu -o da.arbora --config best.toml --compact`
    """
    chosen = choose_treebanks(files, dev, quiet=quiet)
    output = require_output(output, chosen)
    inputs = [*chosen.train, *chosen.dev, config, stack]
    not_an_input(output, inputs)
    not_an_input(plot, [*inputs, output])
    settings = chosen_config(
        config,
        learner=learner,
        parameters=parameters or [],
        epochs=epochs,
        parser=parser,
        order=order,
        update=update,
        stack=stack,
        trees=trees,
        roots=roots,
        labels=labels,
        only=only,
        tags=tags,
        patience=patience,
        seed=seed,
    )
    with session(lenient=lenient):
        labelled = settings.labels != "none"
        with told_as_usage():
            partial = learns_from_parts(settings)
        columns = read_treebanks(
            chosen.train, format.value, lenient=lenient, labelled=labelled, partial=partial
        )
        judged = (
            read_treebanks(chosen.dev, format.value, lenient=lenient, labelled=labelled)
            if chosen.dev
            else None
        )
        checkpoint = _checkpoint(output, resume=resume, quiet=quiet)
        begun = time.monotonic()
        progress = TerminalProgress(choose_mode(quiet=quiet))
        try:
            with told_as_usage(), progress:
                trained = train(
                    columns,
                    judged,
                    config=settings,
                    threads=threads,
                    observer=progress,
                    checkpoint=checkpoint,
                    resume=resume,
                )
        except KeyboardInterrupt:
            _say_nothing_learned(checkpoint)
            raise typer.Exit(STOPPED) from None
        loss = _compact(trained, judged, threads) if compact else None
        if data := chosen.data(licence, attribution):
            trained.parser.about["data"] = data
            trained.pipeline.about["data"] = data
        trained.save(output, quantized=compact)
        if checkpoint is not None and not trained.interrupted:
            checkpoint.unlink(missing_ok=True)
        if plot is not None:
            draw_curve(trained.reports, plot)
        report = Report(output, trained, progress, time.monotonic() - begun, loss)
        if as_json:
            print(json.dumps(report.to_json(), ensure_ascii=False, indent=1))
        elif not quiet:
            show([report.table()])
            print("\n" + "\n".join(report.lines()))
    if trained.interrupted:
        complain(f"stopped by Ctrl-C; {output} holds the best so far, --resume goes on to the end")
        raise typer.Exit(STOPPED)


def _checkpoint(output: str, *, resume: bool, quiet: bool) -> Path | None:
    """Where the checkpoint goes, with a word about one that is there, or is not."""
    if is_special(Path(output)):  # nothing is to be put beside a device
        if resume:
            raise typer.BadParameter(f"--resume: {output} is a device, which has no checkpoint")
        return None
    path = Path(output + CHECKPOINT)
    if resume and not path.exists():
        say(f"note: no {path}: training begins from the start")
    if not resume and path.exists() and not quiet:
        say(f"note: {path} of an earlier training will be replaced; --resume would go on from it")
    return path


def _say_nothing_learned(checkpoint: Path | None) -> None:
    kept = checkpoint is not None and checkpoint.exists()
    then = "; --resume goes on after the last finished epoch" if kept else ""
    complain(f"stopped by Ctrl-C before the first epoch of the tree stage, so there is no model{then}")


def _compact(trained: Trained, dev: Columns | None, threads: int) -> dict[str, Scores]:
    """What storing weights in a byte costs on dev; the model's own scores are then those after it."""
    parser = trained.parser
    if dev is None:
        parser.about["compact"] = {}
        return {}
    rounded = trained.pipeline.rounded()
    after = trained.scores_of(rounded, dev, threads)
    parser.about["compact"] = {"before": trained.scores}
    parser.about["dev"] = after
    trained.pipeline.about["dev"] |= {**trained.scores_before(rounded, dev, threads), **after}
    return {"before": dict(trained.scores), "after": after}


@dataclass(frozen=True)
class Report:
    """What there is to say when a model is written."""

    model: str
    trained: Trained
    progress: TerminalProgress
    seconds: float
    compact: dict[str, Scores] | None
    """Scores before and after; none where there is no dev, None where weights are stored as they are."""

    def to_json(self) -> dict[str, Any]:
        """One object."""
        trained = self.trained
        epochs = [{**report, "seconds": self._seconds(report)} for report in trained.reports]
        return {
            "model": self.model,
            "bytes": self._bytes(),
            "dev": self._scores(),
            "parts": {"names": list(trained.pipeline.parts), "dev": trained.pipeline.about["dev"]},
            "best_epoch": trained.best_epoch,
            "interrupted": trained.interrupted,
            "seconds": self.seconds,
            "compact": self.compact,
            "data": trained.parser.about.get("data", []),
            "config": trained.parser.about["config"],
            "epochs": epochs,
        }

    def table(self) -> Table:
        """A row per epoch; the kept one of each stage has a star."""
        measures = _keys(report["measures"] for report in self.trained.reports)
        kept = {report["stage"]: report["epoch"] for report in self.trained.reports if report["best"]}
        rows = []
        for report in self.trained.reports:
            seconds = self._seconds(report)
            rows.append(
                [
                    report["stage"],
                    str(report["epoch"]),
                    show_loss(report["loss"]),
                    f"{report['updates']:,}",
                    *(_number(report["measures"].get(name), ".4g") for name in measures),
                    _number(seconds, ".1f"),
                    show_scores(report["dev"]),
                    "*" if kept[report["stage"]] == report["epoch"] else "",
                ]
            )
        headings = ["stage", "epoch", "loss", "updates", *measures, "seconds", "dev", ""]
        return Table("", headings, rows)

    def lines(self) -> list[str]:
        """The model, its scores, and what they rest on."""
        config = self.trained.parser.about["config"]
        scores = self._scores()
        on_dev = f"{show_scores(scores)} on dev" if scores else "not judged, since there is no --dev"
        if scores and self.trained.retagged:
            on_dev += " with tags of its own"
        if "las" in scores and any(":" in label for label in self.trained.parser.names.labels):
            on_dev += " (LAS with subtypes, as of `arbora eval --subtypes`)"
        is_lifted = config["projectivize"] == "pseudo-projective"
        trees = f"pseudo-projective ({config['encoding']})" if is_lifted else config["trees"]
        lines = [
            f"{self.model}: {self._bytes():,} bytes, after {show_seconds(self.seconds)}",
            f"epoch {self.trained.best_epoch} of the tree stage: {on_dev}",
            f"{trees} trees, {config['roots']} root, {_how(config)}, labels {config['labels']}, "
            f"{config['learner']}",
        ]
        of_parts = self.trained.pipeline.about["dev"]
        if before := {name: value for name, value in of_parts.items() if name not in scores}:
            lines.insert(1, f"before it: {show_scores(before)} on dev")
        if guide := self.trained.parser.about.get("guide"):
            shown = "; ".join(f"{show_scores(found)} on {part}" for part, found in guide.items())
            lines.append(f"with the trees of a guide: {shown}")
        if self.compact:
            lines.append(
                f"compact: before {show_scores(self.compact['before'])}, "
                f"after {show_scores(self.compact['after'])} ({_differences(self.compact)})"
            )
        elif self.compact is not None:
            lines.append("compact: there is no --dev to tell what it costs")
        if not self.trained.parser.is_calibrated and not scores:
            lines.append(
                "probabilities: not calibrated; with --dev they say how often an arc is right, "
                "not only which is surer"
            )
        data = self.trained.parser.about.get("data", [])
        return [
            *lines,
            *(f"data: {each['name']} ({each['licence'] or 'licence not known'})" for each in data),
        ]

    def _scores(self) -> Scores:
        return self.compact["after"] if self.compact else self.trained.scores

    def _seconds(self, report: dict[str, Any]) -> float | None:
        """None for epochs before a checkpoint: their time is not kept."""
        return self.progress.seconds.get((report["stage"], report["epoch"]))

    def _bytes(self) -> int:
        return Path(self.model).stat().st_size


def _how(config: dict[str, Any]) -> str:
    """What tells parsers apart."""
    if config["parser"] == "transition":
        return f"{config['transition']['system']} transitions, beam {config['transition']['beam']}"
    return f"order {config['order']}"


def _differences(scores: dict[str, Scores]) -> str:
    before, after = scores["before"], scores["after"]
    return ", ".join(f"{name.upper()} {after[name] - before[name]:+.2f}" for name in after)


def _keys(tables: Any) -> Sequence[str]:
    """The names in several tables, in order of appearance."""
    return list(dict.fromkeys(name for table in tables for name in table))


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
