"""What is known about a treebank's files: where they are from, under which licence, and their checksums."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arbora.errors import DataError
from arbora.storage.atomic import replacing

MANIFEST = "arbora-manifest.json"
FORMAT = 1
PIECE = 1 << 20
LONGEST_README = 4 << 20
LONGEST_MANIFEST = 1 << 20
LONGEST_VALUE = 2000
METADATA = "=== Machine-readable metadata"
ENTRY = re.compile(r"(?a:([A-Z][A-Za-z ]{2,40}):[ \t]*(\S.*))")


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom to thank for a treebank, and under which licence it may be used."""

    name: str
    licence: str | None = None
    attribution: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """As a model stores it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was when it was downloaded."""

    name: str
    size: int
    git_sha1: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a download leaves beside its files."""

    name: str
    release: str
    commit: str
    source: str
    licence: str | None
    attribution: str
    includes_text: bool
    """Whether words are there: some licences forbid it, and each is then `_`."""
    files: tuple[StoredFile, ...]

    @property
    def origin(self) -> Origin:
        """Name, licence and attribution."""
        return Origin(f"{self.name} {self.release}", self.licence, self.attribution)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, folder: Path) -> None:
        """Written beside the files."""
        with replacing(folder / MANIFEST, durable=True) as stream:
            stream.write(json.dumps(self.to_json(), ensure_ascii=False, indent=1).encode() + b"\n")

    @classmethod
    def load(cls, folder: Path) -> Manifest | None:
        """What stands in a folder; None where nothing does, DataError where it is damaged."""
        path = folder / MANIFEST
        try:
            with path.open("rb") as stream:
                text = stream.read(LONGEST_MANIFEST + 1)
        except FileNotFoundError:
            return None
        try:
            if len(text) > LONGEST_MANIFEST:
                raise ValueError("it is too long")
            return cls._from_json(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"damaged ({type(error).__name__}: {error}); `arbora data get {folder.name} --replace` "
                "fetches the treebank anew",
                source=str(path),
            ) from None

    @classmethod
    def _from_json(cls, found: Mapping[str, Any]) -> Manifest:
        if found["format"] != FORMAT:
            raise ValueError(f"expected format {FORMAT}, got {found['format']!r}")
        files = tuple(
            StoredFile(_text(f["name"]), int(f["size"]), _text(f["git_sha1"]), _text(f["sha256"]))
            for f in found["files"]
        )
        if any(Path(file.name).name != file.name for file in files):
            raise ValueError("a file's name has a folder in it")
        return cls(
            name=_text(found["name"]),
            release=_text(found["release"]),
            commit=_text(found["commit"]),
            source=_text(found["source"]),
            licence=None if found["licence"] is None else _text(found["licence"]),
            attribution=_text(found["attribution"]),
            includes_text=bool(found["includes_text"]),
            files=files,
        )

    def faults(self, folder: Path) -> Iterator[str]:
        """A line for each file that is missing or differs from what was downloaded."""
        for file in self.files:
            path = folder / file.name
            try:
                size = path.stat().st_size
                if size != file.size:
                    yield f"{file.name}: expected {file.size:,} bytes, got {size:,}"
                elif (found := digest(path).sha256) != file.sha256:
                    yield f"{file.name}: expected SHA-256 {file.sha256[:16]}..., got {found[:16]}..."
            except FileNotFoundError:
                yield f"{file.name}: missing"


@dataclass(frozen=True, slots=True)
class Digest:
    """Checksums of a file: the one that Git has for its content, and a stronger one."""

    git_sha1: str
    sha256: str


def digest(path: Path) -> Digest:
    """Of a whole file, read once."""
    git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    strong = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            git.update(piece)
            strong.update(piece)
    return Digest(git.hexdigest(), strong.hexdigest())


def readme_metadata(path: Path) -> dict[str, str]:
    """The entries that READMEs of treebanks end with, such as `License: CC BY-SA 4.0`; the last of each."""
    with path.open("rb") as stream:
        text = stream.read(LONGEST_README).decode(errors="replace")
    _, _, block = text.rpartition(METADATA)
    found = {}
    for line in block.splitlines():
        if match := ENTRY.fullmatch(line.strip()):
            found[match[1]] = clean(match[2])
    return found


def attribution(name: str, contributors: str | None, source: str | None) -> str:
    """A line that names a treebank, those who made it and where it is from."""
    by = f", by {contributors}" if contributors else ""
    return clean(f"{name}{by}{f'; {source}' if source else ''}")


def clean(text: str) -> str:
    """Text from elsewhere as one line that is safe to show: no control characters, and not too long."""
    kept = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return kept if len(kept) <= LONGEST_VALUE else f"{kept[: LONGEST_VALUE - 3]}..."


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return clean(value)
