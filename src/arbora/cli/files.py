"""Names of files on the command line: paths, `-` for stdin and stdout, and treebanks on disk.

`UD_Danish-DDT` is a folder in the folder of treebanks (see `arbora.storage.ud.folders`), or the path of such
a folder; `UD_Danish-DDT/test` is a part of it. A file of that name takes precedence.

The checks return the name, or raise `typer.BadParameter`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from arbora.storage.files import is_special
from arbora.storage.models import is_named, no_model
from arbora.storage.ud.folders import Folder, Part, advice, find_part


def optional(check: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """Return the check for an option that may be left out."""
    return lambda name: None if name is None else check(name)


def existing(name: str) -> str:
    """Check that a name is `-` or a readable file; a part of a treebank becomes its file."""
    if name == "-":
        return name
    if not Path(name).is_file():
        name = _part_file(name) or name
    path = Path(name)
    if not path.exists():
        hint = advice(name)
        raise typer.BadParameter(f"{name}: no such file{f', and {hint}' if hint else ''}")
    if path.is_dir():
        raise typer.BadParameter(f"{name}: expected a file, got a directory")
    if not os.access(path, os.R_OK):
        raise typer.BadParameter(f"{name}: no permission to read it")
    return name


def existing_file(name: str) -> str:
    """Check that a name is a readable file, which may be read more than once."""
    if name == "-":
        raise typer.BadParameter("-: expected a file, got stdin, which can be read only once")
    return existing(name)


def existing_model(name: str) -> str:
    """Check that a name is a readable file, or a model that has this name."""
    if is_named(name):
        return name
    if name != "-" and not Path(name).exists():
        raise typer.BadParameter(f"{name}: {no_model()}")
    return existing(name)


def writable(name: str) -> str:
    """Check that a name is `-` or can be a file."""
    path = Path(name)
    if name == "-":
        return name
    if path.is_dir():
        raise typer.BadParameter(f"{name}: expected a file, got a directory")
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"{name}: no such directory: {path.parent}")
    return name


def writable_or_folder(name: str) -> str:
    """Check that a name is `-`, or can be a file or a folder; one that ends in `/` is a folder."""
    return name if name.endswith("/") or Path(name).is_dir() else writable(name)


def at_most_one_stdin(names: Sequence[str | None]) -> None:
    """Check that at most one of the files is `-`: stdin can be read only once."""
    if names.count("-") > 1:
        raise typer.BadParameter("only one of the files can be read from stdin (-)")


def not_an_input(output: str | None, inputs: Sequence[str | None]) -> None:
    """Check that the output would not overwrite an input."""
    if output is None or output == "-" or is_special(Path(output)):
        return
    for name in inputs:
        if name is not None and is_same_file(output, name):
            raise typer.BadParameter(f"{output}: the output is also an input ({name}); choose another name")


def is_same_file(one: str, other: str) -> bool:
    """Whether two names are the same file; `-` is none."""
    if "-" in (one, other):
        return False
    if Path(one).exists() and Path(other).exists():
        return Path(one).samefile(other)
    return Path(one).resolve() == Path(other).resolve()


def find_treebank(name: str) -> tuple[Folder, Part | None] | None:
    """Return the treebank and the part of a name; None if it is a file, stdin or unknown."""
    return None if name == "-" or Path(name).is_file() else find_part(name)


def treebank_files(name: str, otherwise: Part | None = None) -> list[str]:
    """Return the files of a name; of a treebank without a part, those of `otherwise`, or of all parts."""
    found = find_treebank(name)
    if found is None:
        return [existing(name)]
    folder, part = found
    part = part or otherwise
    paths = folder.files(part) if part else [path for paths in folder.parts.values() for path in paths]
    return [existing(str(path)) for path in paths]


def _part_file(name: str) -> str | None:
    """Return the only file of a part of a treebank; None if there is no such treebank."""
    found = find_treebank(name)
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
