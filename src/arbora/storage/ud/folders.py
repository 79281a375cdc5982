"""Treebanks on disk: their names, their folders, and the manifests that downloads leave in them.

UD_Danish-DDT            a treebank, and its folder in the data folder
UD_Danish-DDT_r2.14      one release of it, in a folder of its own
UD_Danish-DDT/test       a part: train, dev or test
da_ddt-ud-test.conllu    the file of a part; large parts have several (cs_pdt-ud-train-c.conllu)
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from arbora.errors import DataError, InputError
from arbora.storage.files import replacing

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = get_args(Part)

TREEBANK = re.compile(r"(?a:UD_([A-Z][A-Za-z_]*[A-Za-z])-([A-Za-z0-9]+))")
RELEASE = re.compile(r"(?a:r\d+\.\d+(?:\.\d+)?)")
FOLDER = re.compile(r"(?a:\w[\w.+-]*)")
FILE = re.compile(r"(?:([^\s/]*?)(?:-ud)?[-_])?(train|dev|test)(?:[-_][^\s/]+)?\.conll[ux]?(?:\.gz)?")
"""Matches a code and a part, in files of other treebanks too: `train.conllu`, `danish_ddt_test.conll`."""
METADATA = re.compile(r"(?a:([A-Z][A-Za-z ]{2,40}):[ \t]*(\S.*))")
EXAMPLE = "UD_Danish-DDT"
VARIABLE = "ARBORA_DATA"
MANIFEST = "arbora-manifest.json"
FORMAT = 1
MAX_README_BYTES = 4 << 20
MAX_MANIFEST_BYTES = 1 << 20
MAX_VALUE = 2000


@dataclass(frozen=True, slots=True)
class TreebankName:
    """The name of a treebank of Universal Dependencies; no release means the newest."""

    repository: str
    release: str | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankName:
        """Read `UD_Danish-DDT` or `UD_Danish-DDT_r2.14`; InputError for other names."""
        repository, _, release = text.rpartition("_")
        if not RELEASE.fullmatch(release):
            repository, release = text, ""
        if not TREEBANK.fullmatch(repository):
            examples = f"{EXAMPLE} or {EXAMPLE}_r2.14"
            raise InputError(f"expected a treebank such as {examples}, got {text!r}; see `arbora data list`")
        return cls(repository, release or None)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.repository if self.release is None else f"{self.repository}_{self.release}"


def language_of(name: str) -> str:
    """`Ancient Greek` for `UD_Ancient_Greek-PROIEL`; empty for other names."""
    match = TREEBANK.match(name)
    return "" if match is None else match[1].replace("_", " ")


# ---------------------------------------------------------------- manifests


@dataclass(frozen=True, slots=True)
class Origin:
    """Name, licence and attribution of a treebank."""

    name: str
    licence: str | None = None
    attribution: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file at the time of its download."""

    name: str
    size: int
    git_sha1: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record that a download leaves beside its files."""

    name: str
    release: str
    commit: str
    source: str
    licence: str | None
    attribution: str
    includes_text: bool  # false if the licence forbids distributing the words; each is then `_`
    files: tuple[StoredFile, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, folder: Path) -> None:
        with replacing(folder / MANIFEST, durable=True) as stream:
            stream.write(json.dumps(self.to_json(), ensure_ascii=False, indent=1).encode() + b"\n")

    @classmethod
    def load(cls, folder: Path) -> Manifest | None:
        """Read the manifest of a folder; None if it has none, DataError if it is damaged."""
        path = folder / MANIFEST
        try:
            with path.open("rb") as stream:
                text = stream.read(MAX_MANIFEST_BYTES + 1)
        except FileNotFoundError:
            return None
        try:
            if len(text) > MAX_MANIFEST_BYTES:
                raise ValueError("too long")
            found = json.loads(text)
            if found.pop("format") != FORMAT:
                raise ValueError(f"expected format {FORMAT}")
            files = tuple(StoredFile(**file) for file in found.pop("files"))
            texts = [value for name, value in found.items() if name not in ("includes_text", "licence")]
            texts += [found["licence"] or "", *(x for f in files for x in (f.name, f.git_sha1, f.sha256))]
            if any(clean(text) != text for text in texts):
                raise ValueError("expected text without control characters")
            if any(not isinstance(file.size, int) or Path(file.name).name != file.name for file in files):
                raise ValueError("bad name or size of a file")
            return cls(**found, files=files)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            repair = f"`arbora data get {folder.name} --replace` downloads it again"
            what = f"damaged ({type(error).__name__}: {error}); {repair}"
            raise DataError(what, source=str(path)) from None

    def faults(self, folder: Path) -> Iterator[str]:
        """Yield a line for each file that is missing or has changed since the download."""
        for file in self.files:
            path = folder / file.name
            try:
                size = path.stat().st_size
                if size != file.size:
                    yield f"{file.name}: expected {file.size:,} bytes, got {size:,}"
                elif (found := digest(path)[1]) != file.sha256:
                    yield f"{file.name}: expected SHA-256 {file.sha256[:16]}..., got {found[:16]}..."
            except FileNotFoundError:
                yield f"{file.name}: missing"


def digest(path: Path) -> tuple[str, str]:
    """Return Git's SHA-1 and the SHA-256 of a file."""
    git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        hashlib.file_digest(stream, lambda: git)
        stream.seek(0)
        return git.hexdigest(), hashlib.file_digest(stream, "sha256").hexdigest()


def readme_metadata(folder: Path) -> dict[str, str]:
    """Read the metadata at the end of a treebank's READMEs, such as `License: CC BY-SA 4.0`."""
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.name.upper().startswith("README") and path.is_file():
            with path.open("rb") as stream:
                text = stream.read(MAX_README_BYTES).decode(errors="replace")
            lines = text.rpartition("=== Machine-readable metadata")[2].splitlines()
            matches = (METADATA.fullmatch(line.strip()) for line in lines)
            found |= {match[1]: clean(match[2]) for match in matches if match}
    return found


def attribution(name: str, contributors: str | None, source: str | None = None) -> str:
    """Return one line with the treebank's name, contributors and source."""
    by = f", by {contributors}" if contributors else ""
    return clean(f"{name}{by}{f'; {source}' if source else ''}")


def clean(text: str) -> str:
    """Make foreign text safe to print: one line, no control characters, limited length."""
    kept = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return kept if len(kept) <= MAX_VALUE else f"{kept[: MAX_VALUE - 3]}..."


# ---------------------------------------------------------------- folders


def data_folder() -> Path:
    """The folder of treebanks: ARBORA_DATA, or a folder in the user's cache."""
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    return cache_folder("treebanks")


def cache_folder(name: str) -> Path:
    """Arbora's folder of this name in the user's cache."""
    return _cache(sys.platform, os.environ) / "arbora" / name


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
        files = [path for path in sorted(self.path.iterdir()) if path.is_file()]
        matches = [(path, FILE.fullmatch(path.name)) for path in files]
        found = {part: [path for path, match in matches if match and match[2] == part] for part in PARTS}
        return {part: paths for part, paths in found.items() if paths}

    def files(self, part: Part) -> list[Path]:
        """The files of a part; DataError if there are none."""
        if part not in self.parts:
            there = ", ".join(self.parts) or "no parts"
            what = f"expected a part {part} (a file such as xx-ud-{part}.conllu), got {there}"
            raise DataError(what, source=self.name)
        paths = self.parts[part]
        if len({_code(path) for path in paths}) > 1:
            names = ", ".join(path.name for path in paths)
            raise DataError(f"expected files of one treebank as part {part}, got {names}", source=self.name)
        return paths

    @property
    def code(self) -> str:
        """The prefix of its files, such as `da_ddt`."""
        return _code(next(iter(self.parts.values()))[0]) or self.name

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest of its download; None if it was not downloaded."""
        return Manifest.load(self.path)

    @property
    def origin(self) -> Origin:
        """Name, licence and attribution, from the download or from a README."""
        if stored := self.manifest:
            return Origin(f"{stored.name} {stored.release}", stored.licence, stored.attribution)
        found = readme_metadata(self.path)
        licence = found.get("License") or found.get("Licence")
        return Origin(self.name, licence, attribution(self.name, found.get("Contributors")))

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(path.stat().st_size for paths in self.parts.values() for path in paths)


def _code(path: Path) -> str | None:
    """The prefix of a file's name, such as `da_ddt`."""
    match = FILE.fullmatch(path.name)
    return match and match[1]


def installed(data: Path | None = None) -> list[Folder]:
    """All treebanks in the data folder, sorted by name."""
    data = data or data_folder()
    paths = sorted(data.iterdir()) if data.is_dir() else []
    folders = [Folder(path) for path in paths if FOLDER.fullmatch(path.name) and path.is_dir()]
    return [folder for folder in folders if folder.parts]


def find(name: str, data: Path | None = None) -> Folder:
    """A treebank by path, or by its name in the data folder; InputError if there is none."""
    found = _find(name, data)
    if found is None:
        raise InputError(f"{name}: {advice(name, data) or 'no such treebank'}")
    return found


def _find(name: str, data: Path | None) -> Folder | None:
    candidates = [Path(name)]
    if FOLDER.fullmatch(name):
        candidates.append((data or data_folder()) / name)
    folders = (Folder(path) for path in candidates if path.is_dir())
    return next((folder for folder in folders if folder.parts), None)


def find_part(name: str, data: Path | None = None) -> tuple[Folder, Part | None] | None:
    """Find `UD_Danish-DDT` or `UD_Danish-DDT/test`: the treebank on disk, and the part if one is named."""
    if folder := _find(name, data):
        return folder, None
    treebank, _, last = name.rpartition("/")
    for part in PARTS:
        if last == part and (folder := _find(treebank, data)):
            return folder, part
    return None


def advice(name: str, data: Path | None = None) -> str | None:
    """Advice on an unknown treebank; None if the name does not look like a treebank."""
    treebank, _, rest = name.partition("/")
    data = data or data_folder()
    if rest and "." not in rest and (folder := _find(treebank, data)):
        return f"expected {' or '.join(f'{treebank}/{part}' for part in folder.parts)}"
    near = difflib.get_close_matches(treebank, [each.name for each in installed(data)], n=1, cutoff=0.8)
    if near:
        return f"no such treebank in {data}; did you mean {'/'.join(filter(None, (near[0], rest)))}?"
    if TREEBANK.match(treebank):
        return f"no such treebank in {data}; `arbora data get {treebank}` downloads it"
    return None
