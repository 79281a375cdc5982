"""The inputs of a corpus: files, folders and patterns, and the kind of each file.

    text       raw text
    treebank   CoNLL-U or CoNLL-X
    rows       JSON lines, or a Parquet table: a text and an id per row

Files may be compressed by gzip or zstd. Each has a name within the corpus, by which its outputs are named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Literal, TypeAlias

from arbora.errors import InputError

Kind: TypeAlias = Literal["text", "treebank", "json", "parquet"]

KINDS: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".conllu": "treebank",
    ".conllx": "treebank",
    ".conll": "treebank",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
}
COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Input:
    """A file of a corpus."""

    path: str
    name: str
    """Within the corpus, with `/` between folders."""
    size: int
    """In bytes."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.path) or "text"

    @property
    def is_compressed(self) -> bool:
        return self.path.lower().endswith(COMPRESSED)


def kind_of(path: str) -> Kind | None:
    """The kind of a file, by its ending; None if unknown."""
    name = path.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return KINDS.get(os.path.splitext(name)[1])  # noqa: PTH122 (many names)


def find_inputs(given: Iterable[str]) -> list[Input]:
    """The files that paths and patterns name, sorted by name.

    Of a folder, those whose endings say that they are texts, treebanks or rows; hidden ones and those whose
    names begin with `_` are left out. InputError if a name does not exist, or two files have the same name.
    O(files).
    """
    found: dict[str, Input] = {}
    for each in given:
        count = len(found)
        for path, name in _expanded(each):
            known = found.get(name)
            if known is not None and os.path.realpath(known.path) != os.path.realpath(path):
                what = f"{known.path} and {path} have the same name, {name}, in the corpus"
                raise InputError(f"{what}; give a folder that holds both, or rename one", field="inputs")
            found[name] = Input(path, name, os.stat(path).st_size)  # noqa: PTH116
        if len(found) == count and not any(True for _ in _expanded(each)):
            what = f"{each}: expected files that end in {', '.join(KINDS)} (also .gz, .zst), got none"
            raise InputError(what, field="inputs")
    return [found[name] for name in sorted(found)]


def _expanded(given: str) -> Iterator[tuple[str, str]]:
    """Paths and names of the files that an argument names."""
    path = Path(given)
    if path.is_dir():
        yield from _files_of(given, "")
    elif path.is_file():
        yield given, path.name
    elif has_magic(given):
        matches = sorted(glob(given, recursive=True))  # noqa: PTH207 (keeps the spelling of the pattern)
        root = _fixed_part(given)
        for match in matches:
            if os.path.isfile(match):  # noqa: PTH113
                yield match, os.path.relpath(match, root).replace(os.sep, "/")
    else:
        what = "expected a file or a folder" if path.exists() else "no such file"
        raise InputError(f"{given}: {what}; check the name", field="inputs")


def _fixed_part(pattern: str) -> str:
    """The folder above the first part of a pattern that has a wildcard."""
    parts = Path(pattern).parts
    fixed = next(i for i, part in enumerate(parts) if has_magic(part))
    return str(Path(*parts[:fixed]))


def _files_of(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _files_of(entry.path, f"{prefix}{entry.name}/")
        elif kind_of(entry.name) is not None:
            yield entry.path, f"{prefix}{entry.name}"
