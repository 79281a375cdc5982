"""Download a treebank: every file verified, all files or none, and resumed after an interruption.

Files are collected in a hidden folder beside the treebank's own, `.UD_Danish-DDT.partial`, and verified by
Git's checksum. When all are there, the folder is renamed. An interrupted download leaves the hidden folder,
and the next one resumes from it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arbora.errors import DataError, DownloadError, InputError
from arbora.storage.atomic import naming_errors
from arbora.storage.ud.folders import Folder
from arbora.storage.ud.github import HOME, Catalogue, Release, RemoteFile
from arbora.storage.ud.http import Client, RetryableError
from arbora.storage.ud.manifest import MANIFEST, Manifest, StoredFile, attribution, digest, readme_metadata
from arbora.storage.ud.names import RELEASED_FILE, TreebankName

if TYPE_CHECKING:
    import httpx

MAX_DOCUMENT_BYTES = 4 << 20
DOCUMENTS = re.compile(r"(?ai:(?:README|LICENSE|LICENCE)(?:\.md|\.txt)?)")
CONTENT_RANGE = re.compile(r"(?a:bytes (\d{1,15})-\d{1,15}/(?:\d{1,15}|\*))")
RESERVE_BYTES = 16 << 20
"""Free disk space to leave."""


class DownloadObserver(Protocol):
    """Receives the files to fetch, the bytes on disk of each, and messages for the user."""

    def begins(self, release: Release, files: Sequence[RemoteFile]) -> None: ...
    def moved(self, file: RemoteFile, size: int) -> None: ...
    def note(self, text: str) -> None: ...


def download(
    name: TreebankName, data: Path, catalogue: Catalogue, observer: DownloadObserver, *, replace: bool = False
) -> Folder:
    """Download a treebank into its folder in `data`; `replace` overwrites an earlier download.

    InputError if the folder exists already, DownloadError if the network or the server fails.
    """
    target = data / name.folder
    if target.exists():
        _require_replaceable(target, replace=replace)
    release = catalogue.release(name)
    present = catalogue.files(release)
    parts = [file for file in present if RELEASED_FILE.fullmatch(file.name)]
    if not parts:
        raise DownloadError(f"{release.repository} {release.release} has no treebank files (*.conllu)")
    files = [file for file in present if DOCUMENTS.fullmatch(file.name) and file.size <= MAX_DOCUMENT_BYTES]
    files += parts
    staging = data / f".{name.folder}.partial"
    with naming_errors(str(data)):
        staging.mkdir(parents=True, exist_ok=True)
    useful = {name for file in files for name in (file.name, _part(file))}
    for path in staging.iterdir():
        if path.name not in useful:  # from another release
            path.unlink()
    _require_space(staging, files)
    observer.begins(release, files)
    stored = [
        _Fetch(catalogue.client, catalogue.address(release, file), file, staging, observer).run()
        for file in files
    ]
    _make_manifest(name, release, stored, staging).save(staging)
    _move(staging, target)
    return Folder(target)


def _require_replaceable(target: Path, *, replace: bool) -> None:
    if not replace:
        raise InputError(f"{target} exists already; use --replace to download it again")
    names = {path.name for path in target.iterdir()} if target.is_dir() else {"a file"}
    try:
        manifest = Manifest.load(target) if target.is_dir() else None
        ours = {MANIFEST, *(file.name for file in manifest.files)} if manifest else set()
    except DataError:  # a damaged manifest: go by the names
        ours = {name for name in names if RELEASED_FILE.fullmatch(name) or DOCUMENTS.fullmatch(name)}
        ours.add(MANIFEST)
    if foreign := ", ".join(sorted(names - ours)[:3]):
        raise InputError(f"{target}: cannot replace {foreign}, not from a download; move it elsewhere first")


def _require_space(staging: Path, files: Sequence[RemoteFile]) -> None:
    needed = sum(file.size for file in files) - sum(path.stat().st_size for path in staging.iterdir())
    free = shutil.disk_usage(staging).free
    if needed + RESERVE_BYTES > free:
        what = f"{needed:,} bytes needed, {free:,} free; free some space or use --data"
        raise DownloadError(f"{staging.parent}: {what}")


def _make_manifest(name: TreebankName, release: Release, stored: list[StoredFile], folder: Path) -> Manifest:
    metadata = readme_metadata(folder)
    source = f"{HOME}/{release.repository}"
    title = f"{release.repository} {release.release}"
    return Manifest(
        name=name.repository,
        release=release.release,
        commit=release.commit,
        source=source,
        licence=metadata.get("License"),
        attribution=attribution(title, metadata.get("Contributors"), source),
        includes_text=metadata.get("Includes text", "yes") != "no",
        files=tuple(stored),
    )


def _move(staging: Path, target: Path) -> None:
    """Rename the folder; if that fails, the previous one stays."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    try:
        staging.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _part(file: RemoteFile) -> str:
    return f"{file.name}.{file.git_sha1}.part"


class _WrongContentError(DownloadError):
    pass


@dataclass
class _Fetch:
    """Fetches one file into `.part`. The checksum notices when resumed parts do not fit together."""

    client: Client
    url: str
    file: RemoteFile
    staging: Path
    observer: DownloadObserver

    def __post_init__(self) -> None:
        self.part, self.done = self.staging / _part(self.file), self.staging / self.file.name
        self.is_resumed = self._size() > 0

    def run(self) -> StoredFile:
        if not self.done.exists() or digest(self.done)[0] != self.file.git_sha1:
            try:
                self._fetch()
            except _WrongContentError:
                if not self.is_resumed:
                    raise
                self.observer.note(f"{self.file.name}: the resumed parts do not fit; starting over")
                self._fetch()
        self.observer.moved(self.file, self.file.size)
        return StoredFile(self.file.name, self.file.size, *digest(self.done))

    def _fetch(self) -> None:
        with naming_errors(str(self.part)):
            self.client.retry(self._resume, self._size)
            found, _ = digest(self.part)
            if found != self.file.git_sha1:
                self.part.unlink()
                what = f"wrong checksum: expected Git SHA-1 {self.file.git_sha1}, got {found}; try again"
                raise _WrongContentError(what, url=self.url)
            with self.part.open("ab") as stream:
                os.fsync(stream.fileno())
            self.part.replace(self.done)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _resume(self) -> None:
        size = self._size()
        if size > self.file.size:
            self.part.unlink()
            size = 0
        if size == self.file.size:
            self.part.touch()
            return
        headers = {"Range": f"bytes={size}-"} if size else {}
        with self.client.open(self.url, headers) as response:
            size = self._start(response, size)
            with self.part.open("ab" if size else "wb", buffering=0) as stream:
                for piece in response.iter_raw():  # as received: an interruption loses nothing
                    size += len(piece)
                    if size > self.file.size:
                        self.part.unlink()
                        raise DownloadError(f"more than {self.file.size:,} bytes; discarded", url=self.url)
                    while piece:
                        piece = piece[os.write(stream.fileno(), piece) :]
                    self.observer.moved(self.file, size)
        if size < self.file.size:
            raise RetryableError(f"connection lost after {size:,} of {self.file.size:,} bytes", url=self.url)

    def _start(self, response: httpx.Response, size: int) -> int:
        """Return the position of a response's first byte."""
        if response.status_code == 200:
            return 0
        given = response.headers.get("Content-Range", "")
        match = CONTENT_RANGE.match(given)
        if response.status_code != 206 or match is None or int(match[1]) != size:
            self.part.unlink(missing_ok=True)
            raise RetryableError(f"expected bytes from {size:,} on, got {given!r}", url=self.url)
        self.is_resumed = True
        return size
