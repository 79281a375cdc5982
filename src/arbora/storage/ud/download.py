"""Getting a treebank: every file checked, all of them or none, and going on where it was interrupted.

Files gather in a hidden folder beside the treebank's, `.UD_Danish-DDT.partial`. Each is checked by the
checksum that Git has for its content. When all are there, the folder is renamed, so that a treebank is
whole or absent. An interrupted download leaves the hidden folder; the next one goes on from it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arbora.errors import DataError, DownloadError, InputError
from arbora.storage.atomic import naming_errors
from arbora.storage.ud.folders import Folder
from arbora.storage.ud.github import HOME, Catalogue, Release, RemoteFile
from arbora.storage.ud.http import Client, RangeError, again, lost
from arbora.storage.ud.manifest import MANIFEST, Manifest, StoredFile, attribution, digest, readme_metadata
from arbora.storage.ud.names import TreebankName, is_released

PIECE = 1 << 16
LONGEST_DOCUMENT = 4 << 20
DOCUMENTS = re.compile(r"(?ai:(?:README|LICENSE|LICENCE)(?:\.md|\.txt)?)")
RANGE = re.compile(r"(?a:bytes (\d{1,15})-\d{1,15}/(?:\d{1,15}|\*))")
STRONG_TAG = re.compile(r'(?a:"[!#-~]{1,200}")')
ROOM = 16 << 20
"""Bytes that shall be left on a disk."""


class DownloadObserver(Protocol):
    """Is told how a download goes."""

    def begins(self, release: Release, files: Sequence[RemoteFile]) -> None:
        """It is known what there is to get."""

    def moved(self, file: RemoteFile, size: int) -> None:
        """So many bytes of a file are there."""

    def note(self, text: str) -> None:
        """Something that the user should know."""


def download(
    name: TreebankName, data: Path, catalogue: Catalogue, observer: DownloadObserver, *, replace: bool = False
) -> Folder:
    """Get a treebank into its folder in `data`; with `replace`, in place of what is there.

    InputError where something is there already, DownloadError where the net or the server is at fault.
    """
    target = data / name.folder
    if target.exists():
        _require_replaceable(target, replace=replace)
    release = catalogue.release(name)
    files = _wanted(catalogue.files(release), release)
    staging = data / f".{name.folder}.partial"
    with naming_errors(str(data)):
        staging.mkdir(parents=True, exist_ok=True)
    _sweep(staging, files)
    _require_room(staging, files)
    observer.begins(release, files)
    stored = [_Fetch(catalogue, release, file, staging, observer).run() for file in files]
    _manifest(name, release, stored, staging).save(staging)
    _put(staging, target)
    return Folder(target)


def _wanted(files: Sequence[RemoteFile], release: Release) -> list[RemoteFile]:
    """The treebank, its README and its licence."""
    parts = [file for file in files if is_released(file.name)]
    if not parts:
        raise DownloadError(f"{release.repository} {release.release} has no files of a treebank (*.conllu)")
    documents = [file for file in files if DOCUMENTS.fullmatch(file.name) and file.size <= LONGEST_DOCUMENT]
    return [*documents, *parts]


def _require_replaceable(target: Path, *, replace: bool) -> None:
    """InputError unless all that is in a folder may go."""
    if not replace:
        raise InputError(f"{target} is there already; --replace fetches it anew")
    foreign = (
        sorted(path.name for path in target.iterdir() if not _is_ours(path)) if target.is_dir() else ["it"]
    )
    if foreign:
        raise InputError(
            f"{target} is not replaced: {', '.join(foreign[:3])} did not come with a download; "
            "move it elsewhere first"
        )


def _is_ours(path: Path) -> bool:
    """Whether a file came with a download; where its manifest is damaged, whether it may have."""
    try:
        manifest = Manifest.load(path.parent)
    except DataError:
        return bool(path.name == MANIFEST or is_released(path.name) or DOCUMENTS.fullmatch(path.name))
    return manifest is not None and path.name in {MANIFEST, *(file.name for file in manifest.files)}


def _sweep(staging: Path, files: Sequence[RemoteFile]) -> None:
    """What an interrupted download of another release left is of no use."""
    useful = {name for file in files for name in (file.name, _part(file), _tag(file))}
    for path in staging.iterdir():
        if path.name not in useful:
            path.unlink()


def _require_room(staging: Path, files: Sequence[RemoteFile]) -> None:
    there = sum(path.stat().st_size for path in staging.iterdir())
    needed = sum(file.size for file in files) - there
    free = shutil.disk_usage(staging).free
    if needed + ROOM > free:
        raise DownloadError(
            f"{staging.parent}: the disk has {free:,} bytes free, and {needed:,} are needed; make room, "
            "or name another folder by --data"
        )


def _manifest(name: TreebankName, release: Release, stored: list[StoredFile], folder: Path) -> Manifest:
    found: dict[str, str] = {}
    for file in stored:
        if file.name.upper().startswith("README"):
            found |= readme_metadata(folder / file.name)
    source = f"{HOME}/{release.repository}"
    title = f"{release.repository} {release.release}"
    return Manifest(
        name=name.repository,
        release=release.release,
        commit=release.commit,
        source=source,
        licence=found.get("License"),
        attribution=attribution(title, found.get("Contributors"), source),
        includes_text=found.get("Includes text", "yes") != "no",
        files=tuple(stored),
    )


def _put(staging: Path, target: Path) -> None:
    """The gathered files under their name; where something was there, it comes back if that fails."""
    if not target.exists():
        staging.rename(target)
        return
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    target.rename(old)
    try:
        staging.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _part(file: RemoteFile) -> str:
    return f"{file.name}.{file.git_sha1}.part"


def _tag(file: RemoteFile) -> str:
    return f"{_part(file)}.etag"


@dataclass
class _Fetch:
    """One file: what is there of it stands in `.part`, with the tag that the server had for it beside."""

    catalogue: Catalogue
    release: Release
    file: RemoteFile
    staging: Path
    observer: DownloadObserver

    def __post_init__(self) -> None:
        self.url = self.catalogue.address(self.release, self.file)
        self.part = self.staging / _part(self.file)
        self.tag = self.staging / _tag(self.file)
        self.done = self.staging / self.file.name
        self.is_pieced = self._there() > 0

    @property
    def client(self) -> Client:
        """Who asks."""
        return self.catalogue.client

    def run(self) -> StoredFile:
        """The file, whole and checked."""
        if not self.done.exists() or digest(self.done).git_sha1 != self.file.git_sha1:
            try:
                self._fetch()
            except _WrongContentError:
                if not self.is_pieced:
                    raise
                self.observer.note(f"{self.file.name}: the pieces do not fit together; from the start")
                self._fetch()
        self.observer.moved(self.file, self.file.size)
        found = digest(self.done)
        return StoredFile(self.file.name, self.file.size, found.git_sha1, found.sha256)

    def _fetch(self) -> None:
        self.client.patiently(self._go_on, self._there)
        found = digest(self.part).git_sha1
        if found != self.file.git_sha1:
            self._forget()
            raise _WrongContentError(
                f"{self.url}: wrong checksum: expected {self.file.git_sha1} (Git's SHA-1), got {found}; "
                "the file was damaged on its way or changed at the server, try again"
            )
        with self._writing("r+b") as descriptor:
            os.fsync(descriptor)
        self.part.replace(self.done)
        self.tag.unlink(missing_ok=True)

    def _there(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _forget(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)

    def _go_on(self) -> None:
        """Get what is missing; fails in a way that may pass where the connection does."""
        there = self._there()
        if there > self.file.size:
            self._forget()
            there = 0
        if there == self.file.size:
            with self._writing("ab"):  # also an empty file has to be there
                return
        try:
            with self.client.open(self.url, self._conditions(there)) as response:
                there = self._begin(response.status, response.headers.get("Content-Range"), there)
                self._remember_tag(response.headers.get("ETag"), there)
                with self._writing("r+b" if there else "wb") as descriptor:
                    os.lseek(descriptor, there, os.SEEK_SET)
                    while piece := response.read(PIECE):
                        there += len(piece)
                        self._require_within(there)
                        _write(descriptor, piece)
                        self.observer.moved(self.file, there)
        except RangeError:
            self._forget()
            raise again(f"{self.url}: the server has no such range") from None
        if there < self.file.size:
            raise lost(self.url, there, self.file.size)

    def _conditions(self, there: int) -> dict[str, str]:
        """The rest only, if the file is still the one that was begun."""
        if not there:
            return {}
        tag = self.tag.read_text(encoding="ascii", errors="replace") if self.tag.exists() else ""
        fresh = {"If-Range": tag} if STRONG_TAG.fullmatch(tag) else {}
        # Without a tag the checksum at the end has to tell.
        return {"Range": f"bytes={there}-", **fresh}

    def _begin(self, status: int, given: str | None, there: int) -> int:
        """From which byte the answer is."""
        if status == 200:
            return 0
        match = RANGE.match(given or "")
        if status != 206 or match is None or int(match[1]) != there:
            self._forget()
            raise again(f"{self.url}: expected bytes from {there:,} on, got status {status} and {given!r}")
        self.is_pieced = True
        return there

    def _remember_tag(self, tag: str | None, there: int) -> None:
        if there:
            return
        if tag and STRONG_TAG.fullmatch(tag):
            self.tag.write_text(tag, encoding="ascii")
        else:
            self.tag.unlink(missing_ok=True)

    def _require_within(self, there: int) -> None:
        if there > self.file.size:
            self._forget()
            raise DownloadError(
                f"{self.url}: expected {self.file.size:,} bytes, and the server sends more; nothing of "
                "it is kept"
            )

    @contextmanager
    def _writing(self, mode: str) -> Iterator[int]:
        with naming_errors(str(self.part)), self.part.open(mode, buffering=0) as stream:
            yield stream.fileno()


class _WrongContentError(DownloadError):
    """A file is not what it should be."""


def _write(descriptor: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece) :]
