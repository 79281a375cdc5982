"""Download a treebank: every file verified, all files or none, and resumed after an interruption.

Files are collected in a hidden folder next to the treebank's own, `.UD_Danish-DDT.partial`, and verified by
Git's checksum. When all are there, the folder is renamed. An interrupted download leaves the hidden folder,
and the next one resumes from it.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from arbora.errors import DataError, DownloadError, InputError
from arbora.formatting import counted
from arbora.progress import Observer
from arbora.storage.files import naming_errors
from arbora.storage.ud import folders
from arbora.storage.ud.folders import MANIFEST, Folder, Manifest, StoredFile, TreebankName
from arbora.storage.ud.github import HOME, Catalogue, Release, RemoteFile, RetryableError

MAX_DOCUMENT_BYTES = 4 << 20
TREEBANK_FILE = re.compile(r"(?a:\w+-ud-(?:train|dev|test)(?:-[\w-]+)?\.conllu)")
DOCUMENT = re.compile(r"(?ai:(?:README|LICENSE|LICENCE)(?:\.md|\.txt)?)")
RESERVE_BYTES = 16 << 20  # free disk space to leave


def download(
    name: TreebankName, data: Path, catalogue: Catalogue, observer: Observer, *, replace: bool = False
) -> Folder:
    """Download a treebank into its folder in `data`; `replace` overwrites an earlier download.

    InputError if the folder exists already, DownloadError if the network or the server fails.
    """
    target = data / name.folder
    if target.exists():
        _require_replaceable(target, replace=replace)
    release = catalogue.release(name)
    present = catalogue.files(release)
    parts = [file for file in present if TREEBANK_FILE.fullmatch(file.name)]
    if not parts:
        raise DownloadError(f"{release.repository} {release.release} has no treebank files (*.conllu)")
    files = [file for file in present if DOCUMENT.fullmatch(file.name) and file.size <= MAX_DOCUMENT_BYTES]
    files += parts
    staging = data / f".{name.folder}.partial"
    with naming_errors(str(data)):
        staging.mkdir(parents=True, exist_ok=True)
    fetches = [_Fetch(catalogue, release, file, staging, observer) for file in files]
    useful = {path for fetch in fetches for path in (fetch.part, fetch.done)}
    for path in staging.iterdir():
        if path not in useful:  # from another release
            path.unlink()
    total = sum(file.size for file in files)
    _require_space(staging, total)
    title = f"{release.repository} {release.release}"
    observer.begin(title, total, unit="byte")
    observer.note(f"{title}: {counted(len(files), 'file')}, {total / 1e6:,.1f} MB")
    stored = tuple(fetch.run() for fetch in fetches)
    metadata = folders.readme_metadata(staging)
    source = f"{HOME}/{release.repository}"
    Manifest(
        name=name.repository,
        release=release.release,
        commit=release.commit,
        source=source,
        licence=metadata.get("License"),
        attribution=folders.attribution(title, metadata.get("Contributors"), source),
        includes_text=metadata.get("Includes text", "yes") != "no",
        files=stored,
    ).save(staging)
    _move(staging, target)
    observer.end()
    return Folder(target)


def _require_replaceable(target: Path, *, replace: bool) -> None:
    if not replace:
        raise InputError(f"{target} exists already; use --replace to download it again")
    names = {path.name for path in target.iterdir()} if target.is_dir() else {"a file"}
    try:
        manifest = Manifest.load(target) if target.is_dir() else None
        ours = {MANIFEST, *(file.name for file in manifest.files)} if manifest else set()
    except DataError:  # a damaged manifest: use the names
        ours = {name for name in names if TREEBANK_FILE.fullmatch(name) or DOCUMENT.fullmatch(name)}
        ours.add(MANIFEST)
    if foreign := ", ".join(sorted(names - ours)[:3]):
        raise InputError(f"{target}: cannot replace {foreign}, not from a download; move it elsewhere first")


def _require_space(staging: Path, total: int) -> None:
    needed = total - sum(path.stat().st_size for path in staging.iterdir())
    free = shutil.disk_usage(staging).free
    if needed + RESERVE_BYTES > free:
        what = f"{needed:,} bytes needed, {free:,} free; free some space or use --data"
        raise DownloadError(f"{staging.parent}: {what}")


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


class _Fetch:
    """Fetches one file into `.part`. The checksum notices when resumed parts do not fit together."""

    def __init__(
        self, catalogue: Catalogue, release: Release, file: RemoteFile, staging: Path, observer: Observer
    ) -> None:
        self.client, self.url = catalogue.client, catalogue.address(release, file)
        self.file, self.observer = file, observer
        self.part, self.done = staging / f"{file.name}.{file.git_sha1}.part", staging / file.name
        self.is_resumed = False
        self.shown = 0  # bytes that the observer knows of

    def run(self) -> StoredFile:
        if not self.done.exists() or folders.digest(self.done)[0] != self.file.git_sha1:
            self._fetch()
        self._show(self.file.size)
        self.observer.child(self.file.name).end(f"{self.file.size:,} bytes")
        return StoredFile(self.file.name, self.file.size, *folders.digest(self.done))

    def _fetch(self) -> None:
        with naming_errors(str(self.part)):
            for may_start_over in (True, False):
                self.client.retry(self._resume, self._size)
                found, _ = folders.digest(self.part)
                if found == self.file.git_sha1:
                    break
                self.part.unlink()
                if not (may_start_over and self.is_resumed):
                    what = f"wrong checksum: expected Git SHA-1 {self.file.git_sha1}, got {found}; try again"
                    raise DownloadError(what, url=self.url)
                self.observer.note(f"{self.file.name}: the resumed parts do not fit; starting over")
            with self.part.open("ab") as stream:
                os.fsync(stream.fileno())
            self.part.replace(self.done)

    def _show(self, size: int) -> None:
        self.observer.advance(size - self.shown)
        self.shown = size

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _resume(self) -> None:
        size = self._size()
        if size > self.file.size:
            self.part.unlink()
            size = 0
        self.is_resumed = size > 0
        if size == self.file.size:
            self.part.touch()
            return
        with self.client.open(self.url, {"Range": f"bytes={size}-"} if size else {}) as response:
            given = response.headers.get("Content-Range", "")
            if response.status_code == 200:
                self.is_resumed, size = False, 0
            elif response.status_code != 206 or not given.startswith(f"bytes {size}-"):
                self.part.unlink(missing_ok=True)
                raise RetryableError(f"expected bytes from {size:,} on, got {given!r}", url=self.url)
            with self.part.open("ab" if size else "wb", buffering=0) as stream:
                for piece in response.iter_raw():  # as received: an interruption loses nothing
                    size += len(piece)
                    if size > self.file.size:
                        self.part.unlink()
                        raise DownloadError(f"more than {self.file.size:,} bytes; discarded", url=self.url)
                    while piece:
                        piece = piece[os.write(stream.fileno(), piece) :]
                    self._show(size)
        if size < self.file.size:
            raise RetryableError(f"connection lost after {size:,} of {self.file.size:,} bytes", url=self.url)
