"""Treebanks that are read whole, for training: which files they are, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import typer

from arbora.cli.console import counted, say, say_skipped
from arbora.cli.files import at_most_one_stdin, find_treebank, is_same_file, treebank_files
from arbora.data.columns import Columns
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.pipeline.pipeline import Pipeline
from arbora.storage.ud.folders import Folder, Origin
from arbora.training.annotation import check_treebank, is_complete


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
        self, form: FormatOrAuto, *, lenient: bool, labelled: bool, partial: bool
    ) -> tuple[Columns, Columns | None]:
        """Read the treebanks to train on and to evaluate on; `partial`: see `read_treebanks`."""
        train = read_treebanks(self.train, form, lenient=lenient, labelled=labelled, partial=partial)
        dev = read_treebanks(self.dev, form, lenient=lenient, labelled=labelled) if self.dev else None
        return train, dev


def choose_treebanks(files: Sequence[str], dev: str | None, *, quiet: bool = False) -> Chosen:
    """Return the files of the arguments; a named treebank gives its train part, and without --dev its dev."""
    at_most_one_stdin([*files, dev])
    train: list[str] = []
    dev_files = [] if dev is None else treebank_files(dev, "dev")
    origins = []
    whole: list[Folder] = []
    for name in files:
        found = find_treebank(name)
        train += treebank_files(name, "train")
        origins.append(_file_origin(name) if found is None else found[0].origin)
        if found is not None and found[1] is None:
            whole.append(found[0])
    for folder in whole if dev is None else ():
        dev_files += map(str, folder.parts.get("dev", []))
        if "dev" not in folder.parts and not quiet:
            say(f"note: {folder.name} has no dev part; --dev names another treebank to evaluate on")
    for name in dev_files:
        if any(is_same_file(name, each) for each in train):
            say(f"warning: --dev {name} is also TRAIN: scores on training data say little")
    default = whole[0].code if len(whole) == len(files) == 1 else None
    return Chosen(train, dev_files, origins, default)


def _file_origin(name: str) -> Origin:
    """Return the origin of a downloaded file; of others, only the name is known."""
    if name == "-":
        return Origin("stdin")
    path = Path(name)
    folder = Folder(path.parent)
    is_downloaded = folder.manifest and path.name in {file.name for file in folder.manifest.files}
    return folder.origin if is_downloaded else Origin(path.name)


def read_treebanks(
    names: Sequence[str],
    form: FormatOrAuto,
    *,
    lenient: bool,
    labelled: bool,
    partial: bool = False,
    checked: bool = True,
) -> Columns:
    """Read files as one treebank, in order; DataError names the file and line.

    `lenient` skips malformed sentences, and those with a word that lacks a head (or a label, if `labelled`).
    `partial` allows unknown heads. `checked`: DataError if trees lack what training needs.
    """
    parts = []
    for name in names:
        reader = ColumnReader(name, format=form, lenient=lenient)
        columns = reader.read_all()
        incomplete = 0
        if lenient and not partial:
            complete = is_complete(columns, labelled=labelled)
            incomplete = int(np.count_nonzero(~complete))
        if incomplete:
            what = "heads or labels" if labelled else "heads"
            say(f"warning: {columns.source}: {what} are missing in {counted(incomplete, 'sentence')}")
            columns = columns.select(np.flatnonzero(complete))
        say_skipped(reader.skipped + incomplete, reader.source)
        parts.append(columns)
    if len(parts) == 1:
        return parts[0]
    for part in parts if checked else ():  # before they are joined, which loses line numbers
        check_treebank(part, labelled=labelled, partial=partial)
    return Columns.concat(parts, " + ".join(part.source for part in parts))
