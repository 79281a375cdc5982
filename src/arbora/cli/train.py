"""`arbora train`: a treebank in, a model out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from arbora.cli import options, training
from arbora.cli.console import (
    Table,
    counted,
    print_json,
    say,
    show,
    show_line,
    show_loss,
    show_scores,
    show_seconds,
    stopped,
)
from arbora.cli.files import existing_model, not_an_input
from arbora.cli.progress import TerminalProgress
from arbora.data.columns import Columns
from arbora.progress import Scores
from arbora.storage.files import is_special
from arbora.storage.locks import locked
from arbora.training.config import TrainConfig
from arbora.training.pipeline import Trained, train
from arbora.web.plots import draw_curve

CHECKPOINT = ".checkpoint"
CHEAP = 0.05  # LAS on dev that a compact model may cost where nothing was chosen


@options.setting_options(
    TrainConfig, f"{training.SHARED} stack only tags", stack=existing_model, **training.CHECKS
)
def command(
    files: training.Files,
    output: options.ModelOutput = None,
    dev: str | None = options.option(
        "--dev DEV: A treebank to evaluate each epoch on; the best epoch is kept, and probabilities are "
        "calibrated. 10%: that part of TRAIN, which is held out; none: nothing, so the last epoch is kept. "
        "Default: the dev part of a treebank given by name, else 10% of 100 sentences or more, at most 1000.",
        default=None,
    ),
    start: str | None = options.option(
        "--from MODEL: A neural model whose weights training starts from, to adapt it to TRAIN. Words, "
        "labels and tags that it lacks are added; its segmenter is kept.",
        default=None,
        check=existing_model,
    ),
    config: options.Config = None,
    parameters: training.Parameters = None,
    epochs: training.Epochs = None,
    threads: options.Threads = 1,
    workers: options.Workers = 1,
    engine: options.Engine = "local",
    address: options.Address = None,
    together: bool = options.flag(
        "--together: Let the workers train the parser together, too. Online learners then give another model."
    ),
    members: int = typer.Option(
        1, min=1, max=100, help="Train so many parsers with different seeds; the model is their ensemble."
    ),
    compact: training.Compact = None,
    licence: options.Licence = None,
    attribution: options.Attribution = None,
    resume: bool = options.flag(f"--resume: Resume an interrupted training from MODEL{CHECKPOINT}."),
    plot: str | None = options.plot_option("the learning curve"),
    quiet: options.Quiet = False,
    as_json: bool = options.json_option("scores, epochs and the whole configuration"),
    lenient: options.Lenient = False,
    format: options.Format = "auto",  # noqa: A002
    **given: Any,
) -> None:
    """Each part of the model is trained if the treebank has what it learns from. A neural parser predicts
    tags and lemmas itself. A linear one is trained on predicted tags: each fold of TRAIN is tagged by a model
    trained on the others. After each epoch the parser is evaluated on DEV, and a checkpoint is written beside
    the model. Training stops when DEV has not improved for a while; the best epoch is kept. Ctrl-C does the
    same at once; --resume then continues, and gives the same model byte for byte as an uninterrupted
    training.

    With --members, several parsers are trained and joined: trees are better, and parsing is slower. With
    --workers, folds and members are trained at the same time. With --together, too, the parser learns on all
    workers: networks, and batch learners such as log_linear, give the model of one process; the weights of
    online learners are mixed after each epoch, which gives another model and takes about twice the epochs.
    That pays for networks, and if an epoch takes minutes.

    Examples:

    - `arbora train UD_Danish-DDT`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora`
    - `arbora train train.conllu --dev 10% -o da.arbora`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --learner mira -p C=0.1 --order 1`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --parser cube`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --parser transition -p transition.beam=64`
    - `arbora train train.conllu --dev dev.conllu -o both.arbora --stack da.arbora --parser cube`
    - `arbora train train.conllu --dev dev.conllu -o three.arbora --members 3 --workers 3`
    - `arbora train letters.conllu --dev 10% -o letters.arbora --from da.arbora`
    - `arbora train train.conllu -o da.arbora --config best.toml --compact`
    - `arbora train train.conllu --dev dev.conllu -o da.arbora --parser cube --workers 4 --together`
    - `arbora train train.conllu -o da.arbora --workers 16 --engine ray --address auto --together`
    """
    pool = options.make_pool(workers, engine, address)
    if together and pool.count == 1:
        raise typer.BadParameter("--together is for several workers; add --workers N")
    if members > 1 and (together or resume):
        what = "--together" if together else "--resume"
        raise typer.BadParameter(f"{what} trains one parser; omit it, or --members")
    chosen = training.choose_treebanks(files, dev, quiet=quiet, automatic=True)
    model = chosen.model_name(output)
    inputs = [*chosen.train, *chosen.dev, config, given["stack"], start]
    inputs += [given["vectors"], given["text"]]
    not_an_input(model, inputs)
    not_an_input(plot, [*inputs, model])
    chosen_config = training.chosen_config(config, parameters, epochs, {**given, "start": start})
    with options.usage_errors():
        may_be_partial = chosen_config.learns_from_parts
    columns, dev_columns = chosen.read(format, chosen_config, lenient=lenient, partial=may_be_partial)
    on: dict[str, Any] = {"threads": threads, "pool": pool, "together": together}
    learn = partial(train, columns, dev_columns, config=chosen_config, members=members, **on)
    own = TrainingOutput(model, compact, licence, attribution, resume, plot, quiet, as_json)
    output_to = replace(own, has_checkpoint=members == 1)
    output_to.run(learn, chosen, dev_columns, threads)


@dataclass(frozen=True)
class TrainingOutput:
    """The outputs of a training."""

    model: str
    compact: bool | None
    licence: str | None
    attribution: str | None
    resume: bool
    plot: str | None
    quiet: bool
    as_json: bool
    again: str = "--resume"
    """The command that continues an interrupted training."""
    has_checkpoint: bool = True
    kept: str = ""
    """What a training without a model leaves, for a message."""

    def run(
        self, learn: Callable[..., Trained], chosen: training.Chosen, dev: Columns | None, threads: int
    ) -> None:
        """Call `learn` with an observer and a checkpoint, then write the model and print how it went."""
        with locked(self.model):
            self._run(learn, chosen, dev, threads)

    def _run(
        self, learn: Callable[..., Trained], chosen: training.Chosen, dev: Columns | None, threads: int
    ) -> None:
        checkpoint = None
        if self.has_checkpoint:
            checkpoint = _checkpoint(self.model, resume=self.resume, quiet=self.quiet)
        begun = time.monotonic()
        progress = TerminalProgress(quiet=self.quiet)
        try:
            with options.usage_errors(), progress:
                trained = learn(observer=progress, checkpoint=checkpoint, resume=self.resume)
        except KeyboardInterrupt:
            is_kept = checkpoint is not None and checkpoint.exists()
            then = f"; {self.again} continues after the last finished epoch" if is_kept else self.kept
            raise stopped(f" before there was a model{then}") from None
        rounding = None if self.compact is False else Rounding.measure(trained, dev, threads)
        is_compact = rounding is not None and (bool(self.compact) or rounding.is_cheap)
        if rounding is not None and is_compact:
            rounding.store(trained)
        chosen.credit(trained.pipeline, self.licence, self.attribution)
        trained.save(self.model, quantized=is_compact)
        if checkpoint is not None and not trained.interrupted:
            checkpoint.unlink(missing_ok=True)
        if self.plot is not None:
            draw_curve(trained.reports, self.plot)
        # Epochs before a checkpoint have no time.
        times = progress.seconds
        epochs = [{**each, "seconds": times.get((each["stage"], each["epoch"]))} for each in trained.reports]
        held_out = len(dev) if dev is not None and chosen.is_automatic else 0
        self._print(trained, rounding if is_compact else None, epochs, time.monotonic() - begun, held_out)
        if trained.interrupted:
            raise stopped(f"; {self.model} holds the best so far, {self.again} continues to the end")

    def _print(
        self,
        trained: Trained,
        rounding: Rounding | None,
        epochs: list[dict[str, Any]],
        seconds: float,
        held_out: int,
    ) -> None:
        about = trained.parser.about
        result = {
            "model": self.model,
            "bytes": Path(self.model).stat().st_size,
            "dev": rounding.after if rounding else trained.scores,
            "parts": {"names": list(trained.pipeline.parts), "dev": trained.pipeline.about["dev"]},
            "best_epoch": trained.best_epoch,
            "workers": about.get("workers", 1),
            "interrupted": trained.interrupted,
            "seconds": seconds,
            "compact": None if rounding is None else rounding.scores,
            "data": about.get("data", []),
            "config": about["config"],
            "epochs": epochs,
        }
        if self.as_json:
            print_json(result)
        elif not self.quiet:
            show([_table(epochs)])
            lines = _lines(result, trained)
            if held_out:
                lines.append(
                    f"dev: {counted(held_out, 'sentence')} of TRAIN, held out; --dev none learns from all"
                )
            show_line("\n" + "\n".join(lines))


def _checkpoint(model: str, *, resume: bool, quiet: bool) -> Path | None:
    """Return the path of the checkpoint, with a note if one exists or is missing."""
    if is_special(Path(model)):
        if resume:
            raise typer.BadParameter(f"--resume: {model} is a device, which has no checkpoint")
        return None
    path = Path(model + CHECKPOINT)
    if resume and not path.exists():
        say(f"note: no {path}: training starts from the beginning")
    if not resume and path.exists() and not quiet:
        say(f"note: {path} of an earlier training will be replaced; --resume would continue it")
    return path


@dataclass(frozen=True)
class Rounding:
    """The cost of a compact model: scores on dev before and after; empty without dev."""

    before: Scores
    after: Scores
    parts: Scores
    """Scores of tagger and lemmatizer after."""

    @classmethod
    def measure(cls, trained: Trained, dev: Columns | None, threads: int) -> Rounding:
        """Evaluate the model with rounded weights."""
        if dev is None:
            return cls({}, {}, {})
        rounded = trained.pipeline.rounded()
        after = trained.scores_of(rounded, dev, threads)
        return cls(dict(trained.scores), after, trained.scores_before(rounded, dev, threads))

    @property
    def is_cheap(self) -> bool:
        """Whether the cost is known and less than `CHEAP`."""
        name = "las" if "las" in self.after else "uas"
        return name in self.after and self.before[name] - self.after[name] < CHEAP

    @property
    def scores(self) -> dict[str, Scores]:
        """Scores before and after, by name; empty without dev."""
        return {"before": self.before, "after": self.after} if self.after else {}

    def store(self, trained: Trained) -> None:
        """Put the scores into the model."""
        about = trained.parser.about
        about["compact"] = {"before": self.before} if self.after else {}
        if self.after:
            about["dev"] = self.after
            trained.pipeline.about["dev"] |= {**self.parts, **self.after}


def _table(epochs: list[dict[str, Any]]) -> Table:
    """A row per epoch; the best one of each stage has a star."""
    measures = list(dict.fromkeys(name for epoch in epochs for name in epoch["measures"]))
    kept = {epoch["stage"]: epoch["epoch"] for epoch in epochs if epoch["best"]}
    rows = []
    for epoch in epochs:
        stage, number, found = epoch["stage"], epoch["epoch"], epoch["measures"]
        measured = [f"{found[name]:.4g}" if name in found else "" for name in measures]
        seconds = None if epoch["seconds"] is None else f"{epoch['seconds']:.1f}"
        row = [stage, number, show_loss(epoch["loss"]), f"{epoch['updates']:,}", *measured, seconds]
        rows.append([*row, show_scores(epoch["dev"]), "*" if kept[stage] == number else ""])
    return Table("", ["stage", "epoch", "loss", "updates", *measures, "seconds", "dev", ""], rows)


def _lines(result: dict[str, Any], trained: Trained) -> list[str]:
    """The model, its scores, and its main settings."""
    parser, scores, config, compact = trained.parser, result["dev"], result["config"], result["compact"]
    on_dev = f"{show_scores(scores)} on dev" if scores else "not evaluated without --dev"
    if scores and trained.retagged:
        on_dev += " with predicted tags"
    if "las" in scores and any(":" in label for label in parser.names.labels):
        on_dev += " (LAS with subtypes, as in `arbora eval --subtypes`)"
    is_lifted = config["projectivize"] == "pseudo-projective"
    trees = f"pseudo-projective ({config['encoding']})" if is_lifted else config["trees"]
    search = f"order {config['order']}"
    if config["parser"] == "transition":
        search = f"{config['transition']['system']} transitions, beam {config['transition']['beam']}"
    lines = [f"{result['model']}: {result['bytes']:,} bytes, after {show_seconds(result['seconds'])}"]
    if before := {name: value for name, value in result["parts"]["dev"].items() if name not in scores}:
        lines.append(f"before parsing: {show_scores(before)} on dev")
    lines.append(f"epoch {result['best_epoch']} of the tree stage: {on_dev}")
    roots, labels, learner = config["roots"], config["labels"], config["learner"]
    lines.append(f"{trees} trees, {roots} root, {search}, labels {labels}, {learner}")
    if guide := parser.about.get("guide"):
        shown = "; ".join(f"{show_scores(found)} on {part}" for part, found in guide.items())
        lines.append(f"with the trees of a guide: {shown}")
    if compact:
        old, new = compact["before"], compact["after"]
        change = ", ".join(f"{name.upper()} {new[name] - old[name]:+.2f}" for name in new)
        lines.append(f"compact: before {show_scores(old)}, after {show_scores(new)} ({change})")
    elif compact is not None:
        lines.append("compact: the cost is unknown without --dev")
    if not parser.is_calibrated and not scores:
        lines.append(
            "probabilities: not calibrated, so they only rank arcs; with --dev they estimate how often an "
            "arc is correct"
        )
    if trained.pipeline.about.get("spaces") == "guessed":
        lines.append("raw text: split by likely spaces, since TRAIN has neither `# text` nor SpaceAfter=No")
    elif trained.pipeline.segmenter is None and config["only"] != "parser":
        lines.append("raw text: refused, since the model has no segmenter")
    return lines + [
        f"data: {each['name']} ({each['licence'] or 'licence unknown'})" for each in result["data"]
    ]
