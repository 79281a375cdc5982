"""Shared by `train`, `tune` and `induce`: reading treebanks, settings, and their options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from arbora.cli.console import counted, say, say_skipped
from arbora.cli.files import at_most_one_stdin, existing_file, find_treebank, is_same_file, treebank_files
from arbora.cli.options import argument, name_values, option, usage_errors
from arbora.data.columns import Columns
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.errors import InputError
from arbora.pipeline.pipeline import Pipeline
from arbora.settings import load_config
from arbora.storage.ud.folders import Folder, Origin
from arbora.training.annotation import check_treebank, hold_out, is_complete, share_of
from arbora.training.config import TrainConfig, lost_parameters, override, say_lost

Files: TypeAlias = Annotated[
    list[str],
    argument(
        "TRAIN: Treebanks to train on, compressed or not; - is stdin; a name such as UD_Danish-DDT is its "
        "train part."
    ),
]
Parameters: TypeAlias = Annotated[
    list[str] | None,
    option(
        "-p NAME=VALUE: A parameter of the learner (`arbora info learner NAME`), or any setting of --config. "
        "Repeatable."
    ),
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Passes over TRAIN at most. Default: mostly 10; 50 for networks.")
]
Compact: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--compact/--full",
        help="Store weights in one byte each, or exactly. Default: compact if that costs less than 0.05 LAS "
        "on DEV.",
    ),
]
NO_DEV = "none"
SHARE, FEWEST, MOST_HELD = 0.1, 100, 1000
"""Without a dev set, this share of at least so many sentences is held out, at most so many."""
SHARED = (
    "learner loss scorer parser order update trees roots labels vectors text encoder embed_encoder "
    "patience seed"
)
"""Settings of a training that are options of `train` and `tune`."""
CHECKS = {"vectors": existing_file, "text": existing_file}
"""Checks of these options."""


@dataclass(frozen=True)
class Chosen:
    """Files to train on and to evaluate on, and the origins of their treebanks."""

    train: list[str]
    dev: list[str]
    """Empty if there is no dev set."""
    origins: list[Origin]
    """One for each argument."""
    default_name: str | None
    """For the model, if one treebank was given by name: `da_ddt`."""
    held_out: float | None = None
    """The share of the training sentences held out as dev set, if dev is not a file."""
    is_automatic: bool = False
    """Whether part of a large enough treebank is held out, since nothing was said about a dev set."""

    @property
    def has_dev(self) -> bool:
        return bool(self.dev) or self.held_out is not None

    def credit(self, pipeline: Pipeline, licence: str | None, attribution: str | None) -> None:
        """Store where the data of a model comes from; the options take precedence over the treebank."""
        given = {"licence": licence, "attribution": attribution}
        changes = {name: text for name, text in given.items() if text is not None}
        origins = [replace(origin, **changes) for origin in self.origins]
        if any(origin.licence or origin.attribution for origin in origins):
            pipeline.about["data"] = pipeline.parser.about["data"] = [asdict(each) for each in origins]

    def model_name(self, output: str | None) -> str:
        """Return the model to write: as given, or named after the treebank."""
        if output is None and self.default_name is None:
            raise typer.BadParameter(
                "missing option '--output' / '-o', the model to write; only a single treebank given by name "
                "has a default"
            )
        return output or f"{self.default_name}.arbora"

    def read(
        self, form: FormatOrAuto, config: TrainConfig, *, lenient: bool, partial: bool
    ) -> tuple[Columns, Columns | None]:
        """Read the treebanks to train on and to evaluate on; `partial`: see `read_treebanks`."""
        labelled = config.labels != "none"
        train = read_treebanks(self.train, form, lenient=lenient, labelled=labelled, partial=partial)
        if self.held_out is not None:
            with usage_errors():
                return hold_out(train, self.held_out, labelled=labelled)
        dev = read_treebanks(self.dev, form, lenient=lenient, labelled=labelled) if self.dev else None
        if self.is_automatic and len(train) >= FEWEST:
            with suppress(InputError):  # too few sentences are complete
                return hold_out(train, min(SHARE, MOST_HELD / len(train)), labelled=labelled)
        return train, dev


def choose_treebanks(
    files: Sequence[str], dev: str | None, *, quiet: bool = False, automatic: bool = False
) -> Chosen:
    """Return the files of the arguments; a named treebank gives its train part, and without --dev its dev.

    `automatic`: without any dev set, hold out a part of TRAIN, unless `dev` is "none".
    """
    is_open = dev is None
    dev = None if automatic and dev == NO_DEV else dev
    at_most_one_stdin([*files, dev])
    with usage_errors():
        share = share_of(dev)
    dev_files = [] if dev is None or share is not None else treebank_files(dev, "dev")
    train = [file for name in files for file in treebank_files(name, "train")]
    treebanks = [(name, find_treebank(name)) for name in files]
    origins = [_file_origin(name) if found is None else found[0].origin for name, found in treebanks]
    whole = [found[0] for _, found in treebanks if found is not None and found[1] is None]
    for folder in whole if is_open else ():
        dev_files += map(str, folder.parts.get("dev", []))
        if "dev" not in folder.parts and not quiet:
            say(f"note: {folder.name} has no dev part{'' if automatic else '; --dev 10% holds out a part'}")
    for name in dev_files:
        if any(is_same_file(name, each) for each in train):
            say(f"warning: --dev {name} is also TRAIN: scores on training data say little")
    default = whole[0].code if len(whole) == len(files) == 1 else None
    return Chosen(train, dev_files, origins, default, share, automatic and is_open and not dev_files)


def _file_origin(name: str) -> Origin:
    """Return the origin of a downloaded file; of others, only the name is known."""
    if name == "-":
        return Origin("stdin")
    path = Path(name)
    folder = Folder(path.parent)
    is_downloaded = folder.manifest and path.name in {file.name for file in folder.manifest.files}
    return folder.origin if is_downloaded else Origin(path.name)


def read_treebanks(
    names: Sequence[str], form: FormatOrAuto, *, lenient: bool, labelled: bool, partial: bool = False
) -> Columns:
    """Read files as one treebank, in order; DataError names the file and line.

    `lenient` skips malformed sentences, and those with a word that lacks a head (or a label, if `labelled`).
    `partial` allows unknown heads.
    """
    parts = []
    for name in names:
        reader = ColumnReader(name, format=form, lenient=lenient)
        columns = reader.read_all()
        needs_all = lenient and not partial
        complete = is_complete(columns, labelled=labelled) if needs_all else np.ones(len(columns), bool)
        if incomplete := int(np.count_nonzero(~complete)):
            what = "heads or labels" if labelled else "heads"
            say(f"warning: {columns.source}: {what} are missing in {counted(incomplete, 'sentence')}")
            columns = columns.select(np.flatnonzero(complete))
        say_skipped(reader.skipped + incomplete, reader.source)
        parts.append(columns)
    if len(parts) == 1:
        return parts[0]
    for part in parts:  # before they are joined, which loses line numbers
        check_treebank(part, labelled=labelled, partial=partial)
    return Columns.concat(parts, " + ".join(part.source for part in parts))


def chosen_config(
    file: str | None, parameters: list[str] | None, epochs: int | None, options: Mapping[str, Any]
) -> TrainConfig:
    """Return the configuration of --config, changed by -p and by the options that set its fields."""
    given = {name: value for name, value in {**options, "epochs": epochs}.items() if value is not None}
    overrides = name_values(parameters, "-p")
    for name in overrides:
        if name in given:
            raise typer.BadParameter(f"-p {name}: given twice, since --{name} sets it, too")
    with usage_errors():
        config = load_config(file, TrainConfig) if file is not None else TrainConfig()
        learner = given.pop("learner", None) or overrides.get("learner", config.learner)
        if lost := say_lost(config, learner):
            say(f"warning: {lost}")
        config = override(config, {"learner": learner})
        own: dict[str, str] = {name: str(given.pop(name)) for name in ("epochs", "seed") if name in given}
        config = override(replace(config, **given), own, option="--")
        config = override(config, overrides)
        config.make_learner()  # checks the parameters of the file, too
    return config


def require_in_all(texts: list[str] | None, config: TrainConfig, names: Iterable[str]) -> None:
    """Check that every learner of a grid has the parameters that -p sets."""
    given = name_values(texts, "-p")
    for learner in names:
        for name in lost_parameters(config, learner):
            for text in (name, f"parameters.{name}"):
                if text in given:
                    raise typer.BadParameter(
                        f"-p {text}={given[text]}: {learner}, which --grid selects, has no parameter {name}"
                    )
