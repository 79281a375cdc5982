"""Treebanks on a command line: files, or names of treebanks on disk and of their parts.

`UD_Danish-DDT` is a folder in the folder of treebanks (see `arbora.storage.ud.folders`), or the path
of such a folder; `UD_Danish-DDT/test` is a part of it. A file of that name goes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from arbora.cli.files import at_most_one_stdin, existing, say, warn_of_same
from arbora.storage.ud.folders import Folder, advice, find_part
from arbora.storage.ud.manifest import Manifest, Origin
from arbora.storage.ud.names import Part

TRAIN_HELP = (
    "Treebanks to learn from, zipped or not; - is stdin; a name such as UD_Danish-DDT is its train part."
)


@dataclass(frozen=True)
class Chosen:
    """Files to learn from and to judge by, and what is known about the treebanks that they are of."""

    train: list[str]
    dev: list[str]
    """Empty where nothing is to judge by."""
    origins: list[Origin]
    """One for each argument."""
    default_name: str | None
    """For a model, where it is that of one treebank: `da_ddt`."""

    def data(self, licence: str | None, attribution: str | None) -> list[dict[str, str | None]]:
        """What a model shall say about them, with what was given by hand; nothing where nothing is known."""
        given = {"licence": licence, "attribution": attribution}
        changes = {name: text for name, text in given.items() if text is not None}
        origins = [replace(origin, **changes) for origin in self.origins]
        is_known = any(origin.licence or origin.attribution for origin in origins)
        return [origin.to_json() for origin in origins] if is_known else []


def choose_treebanks(files: Sequence[str], dev: str | None, *, quiet: bool = False) -> Chosen:
    """Named treebanks give their train part, and without --dev their dev part; files are what they are."""
    at_most_one_stdin([*files, dev])
    train: list[str] = []
    judged: list[str] = [] if dev is None else _files(dev, "dev")
    origins = []
    whole: list[Folder] = []
    for name in files:
        found = _find(name)
        train += _files(name, "train")
        origins.append(_file_origin(name) if found is None else found[0].origin)
        if found is not None and found[1] is None:
            whole.append(found[0])
    for folder in whole if dev is None else ():
        judged += map(str, folder.parts.get("dev", []))
        if "dev" not in folder.parts and not quiet:
            say(f"note: {folder.name} has no dev part; --dev names another treebank to judge by")
    for name in judged:
        warn_of_same(name, train)
    default = whole[0].code if len(whole) == len(files) == 1 else None
    return Chosen(train, judged, origins, default)


def expand(names: Sequence[str]) -> list[str]:
    """The files that are named, and all parts of treebanks that are."""
    at_most_one_stdin(names)
    return [file for name in names for file in _files(name, None)]


def part_file(name: str) -> str | None:
    """The one file of a part of a treebank; None where there is no such treebank."""
    found = _find(name)
    if found is None:
        return None
    folder, part = found
    if part is None:
        parts = " or ".join(f"{name.rstrip('/')}/{each}" for each in folder.parts)
        raise typer.BadParameter(f"{name}: expected a file, got a treebank; name a part: {parts}")
    first, *others = folder.files(part)
    if others:
        raise typer.BadParameter(
            f"{name}: expected one file, got {len(others) + 1} in {folder.path}; name one"
        )
    return str(first)


def _find(name: str) -> tuple[Folder, Part | None] | None:
    return None if name == "-" or Path(name).is_file() else find_part(name)


def _files(name: str, otherwise: Part | None) -> list[str]:
    """The files of a name; of a treebank without a part, those of the part `otherwise`, or all."""
    found = _find(name)
    if found is None:
        return [existing(name)]
    folder, part = found
    part = part or otherwise
    paths = folder.files(part) if part else [path for paths in folder.parts.values() for path in paths]
    return [existing(str(path)) for path in paths]


def _file_origin(name: str) -> Origin:
    """Of a file: that of the download it is of, or nothing but its name."""
    if name == "-":
        return Origin("stdin")
    path = Path(name)
    manifest = Manifest.load(path.parent)
    if manifest is not None and path.name in {file.name for file in manifest.files}:
        return manifest.origin
    return Origin(path.name)


def require_output(output: str | None, chosen: Chosen) -> str:
    """Where the model goes: what was said, or the treebank's own name."""
    if output is not None:
        return output
    if chosen.default_name is None:
        raise typer.BadParameter(
            "missing option '--output' / '-o', the model to write; only one treebank by name needs none"
        )
    return f"{chosen.default_name}.arbora"


__all__ = ["Chosen", "advice", "choose_treebanks", "expand", "part_file", "require_output"]
