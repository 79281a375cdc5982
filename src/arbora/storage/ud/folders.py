"""Treebanks on disk: a data folder with one folder per treebank."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from arbora.errors import DataError, InputError
from arbora.storage.ud.manifest import Manifest, Origin, attribution, readme_metadata
from arbora.storage.ud.names import FOLDER, PARTS, TREEBANK, Part, code_of, part_of

VARIABLE = "ARBORA_DATA"


def data_folder() -> Path:
    """The folder of treebanks: ARBORA_DATA, or a folder in the user's cache."""
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    return _cache(sys.platform, os.environ) / "arbora" / "treebanks"


def _cache(platform: str, environment: Mapping[str, str]) -> Path:
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = Path(environment.get("XDG_CACHE_HOME") or "")
    return given if given.is_absolute() else Path.home() / ".cache"


@dataclass(frozen=True)
class Folder:
    """A treebank: a folder with files such as `da_ddt-ud-train.conllu` (or `.conll`)."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @cached_property
    def parts(self) -> dict[Part, list[Path]]:
        """The files of each part, sorted by name."""
        files = sorted(path for path in self.path.iterdir() if path.is_file())
        found = {part: [path for path in files if part_of(path.name) == part] for part in PARTS}
        return {part: paths for part, paths in found.items() if paths}

    def files(self, part: Part) -> list[Path]:
        """The files of a part; DataError if there are none."""
        if part not in self.parts:
            there = ", ".join(self.parts) or "no parts"
            what = f"expected a part {part} (a file such as xx-ud-{part}.conllu), got {there}"
            raise DataError(what, source=self.name)
        return self.parts[part]

    @cached_property
    def code(self) -> str:
        """The prefix of its files, such as `da_ddt`."""
        first = next(iter(self.parts.values()))[0]
        return code_of(first.name) or self.name

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest of its download; None if it was not downloaded."""
        return Manifest.load(self.path)

    @cached_property
    def origin(self) -> Origin:
        """Name, licence and attribution, from the download or from a README."""
        if self.manifest is not None:
            return self.manifest.origin
        found = readme_metadata(self.path)
        licence = found.get("License") or found.get("Licence")
        return Origin(self.name, licence, attribution(self.name, found.get("Contributors"), None))

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(path.stat().st_size for paths in self.parts.values() for path in paths)


def installed(data: Path | None = None) -> list[Folder]:
    """All treebanks in the data folder, sorted by name."""
    data = data or data_folder()
    paths = sorted(data.iterdir()) if data.is_dir() else []
    folders = [Folder(path) for path in paths if FOLDER.fullmatch(path.name) and path.is_dir()]
    return [folder for folder in folders if folder.parts]


def find(name: str, data: Path | None = None) -> Folder:
    """A treebank by path, or by its name in the data folder; InputError if there is none."""
    found = find_if_there(name, data)
    if found is None:
        raise InputError(f"{name}: {advice(name, data) or 'no such treebank'}")
    return found


def find_if_there(name: str, data: Path | None = None) -> Folder | None:
    """A treebank by path, or by its name in the data folder."""
    candidates = [Path(name)]
    if FOLDER.fullmatch(name):
        candidates.append((data or data_folder()) / name)
    for path in candidates:
        if path.is_dir() and (folder := Folder(path)).parts:
            return folder
    return None


def find_part(name: str, data: Path | None = None) -> tuple[Folder, Part | None] | None:
    """Find `UD_Danish-DDT` or `UD_Danish-DDT/test`: the treebank on disk, and the part if one is named."""
    if folder := find_if_there(name, data):
        return folder, None
    treebank, _, last = name.rpartition("/")
    for part in PARTS:
        if last == part and (folder := find_if_there(treebank, data)):
            return folder, part
    return None


def advice(name: str, data: Path | None = None) -> str | None:
    """What to do about an unknown treebank; None if the name does not look like a treebank."""
    treebank, _, rest = name.partition("/")
    data = data or data_folder()
    near = difflib.get_close_matches(treebank, [each.name for each in installed(data)], n=1, cutoff=0.8)
    if near:
        return f"no such treebank in {data}; did you mean {'/'.join(filter(None, (near[0], rest)))}?"
    if TREEBANK.match(treebank):
        return f"no such treebank in {data}; `arbora data get {treebank}` downloads it"
    return None
