"""The manifest of a downloaded treebank: its source, licence, attribution and checksums."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arbora.errors import DataError
from arbora.storage.atomic import replacing

MANIFEST = "arbora-manifest.json"
FORMAT = 1
MAX_README_BYTES = 4 << 20
MAX_MANIFEST_BYTES = 1 << 20
MAX_VALUE = 2000
METADATA = "=== Machine-readable metadata"
ENTRY = re.compile(r"(?a:([A-Z][A-Za-z ]{2,40}):[ \t]*(\S.*))")


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
    includes_text: bool
    """False if the licence forbids distributing the words; each is then `_`."""
    files: tuple[StoredFile, ...]

    @property
    def origin(self) -> Origin:
        return Origin(f"{self.name} {self.release}", self.licence, self.attribution)

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
            lines = text.rpartition(METADATA)[2].splitlines()
            matches = (ENTRY.fullmatch(line.strip()) for line in lines)
            found |= {match[1]: clean(match[2]) for match in matches if match}
    return found


def attribution(name: str, contributors: str | None, source: str | None) -> str:
    """Return one line with the treebank's name, contributors and source."""
    by = f", by {contributors}" if contributors else ""
    return clean(f"{name}{by}{f'; {source}' if source else ''}")


def clean(text: str) -> str:
    """Make foreign text safe to print: one line, no control characters, limited length."""
    kept = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return kept if len(kept) <= MAX_VALUE else f"{kept[: MAX_VALUE - 3]}..."
