"""Universal Dependencies on GitHub: one repository per treebank, one tag per release.

docs/data.md describes what a mirror has to serve.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from arbora.errors import DownloadError, unknown
from arbora.storage.ud.http import Client, NotFoundError, require_safe
from arbora.storage.ud.names import RELEASE, TREEBANK, TreebankName, release_order

VARIABLE = "ARBORA_UD_URL"
ORGANISATION = "UniversalDependencies"
API = "https://api.github.com"
RAW = "https://raw.githubusercontent.com"
HOME = f"https://github.com/{ORGANISATION}"
MAX_PAGES = 50
SHA1 = re.compile(r"(?a:[0-9a-f]{40})")
MAX_FILE_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a treebank."""

    repository: str
    release: str
    commit: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a release; `git_sha1` is Git's checksum."""

    name: str
    size: int
    git_sha1: str


class Catalogue:
    """The treebanks on GitHub, or on a mirror: `url`, else the environment variable ARBORA_UD_URL."""

    def __init__(self, client: Client, url: str | None = None) -> None:
        base = (url or os.environ.get(VARIABLE) or "").rstrip("/")
        if base:
            require_safe(base)
        self.client = client
        self._api = f"{base}/api" if base else API
        self._raw = f"{base}/raw" if base else RAW

    def repositories(self) -> dict[str, int]:
        """The names of all treebanks, and the bytes of their repositories with history."""
        url = f"{self._api}/orgs/{ORGANISATION}/repos?per_page=100"
        sizes = {}
        for entry in self.client.pages(url, MAX_PAGES):
            name = _field(entry, "name", str, url)
            if TREEBANK.fullmatch(name):  # others are documentation or tools
                sizes[name] = 1024 * max(0, _field(entry, "size", int, url))
        return dict(sorted(sizes.items()))

    def release(self, name: TreebankName) -> Release:
        """The named release, or the newest one."""
        url = f"{self._repository(name.repository)}/tags?per_page=100"
        try:
            tags = list(self.client.pages(url, MAX_PAGES))
        except NotFoundError as error:
            raise NotFoundError(self._suggestion(name.repository), status=error.status) from None
        commits = {}
        for tag in tags:
            release = _field(tag, "name", str, url)
            if RELEASE.fullmatch(release):
                commits[release] = _sha1(_field(tag, "commit", dict, url), url)
        if not commits:
            raise DownloadError(f"{name.repository} has no release yet ({HOME}/{name.repository})")
        known = sorted(commits, key=release_order, reverse=True)
        chosen = name.release or known[0]
        if chosen not in commits:
            raise DownloadError(f"{name.repository}: {unknown('release', chosen, known)}")
        return Release(name.repository, chosen, commits[chosen])

    def files(self, release: Release) -> list[RemoteFile]:
        """The files in the top folder of a release."""
        url = f"{self._repository(release.repository)}/git/trees/{release.commit}"
        answer, _ = self.client.json(url)
        files = []
        for entry in _field(answer, "tree", list, url):
            name = _field(entry, "path", str, url)
            if name in ("", ".", "..") or any(c in name for c in "/\\:") or not name.isprintable():
                raise DownloadError(f"unsafe file name {name!r}", url=url)
            if _field(entry, "type", str, url) != "blob" or entry.get("mode") == "120000":
                continue
            size = _field(entry, "size", int, url)
            if not 0 <= size <= MAX_FILE_BYTES:
                what = f"{name}: expected at most {MAX_FILE_BYTES:,} bytes, got {size:,}"
                raise DownloadError(what, url=url)
            files.append(RemoteFile(name, size, _sha1(entry, url)))
        if len({file.name.casefold() for file in files}) < len(files):
            raise DownloadError("two files have the same name", url=url)
        return files

    def address(self, release: Release, file: RemoteFile) -> str:
        """The address of a file's content."""
        return "/".join([self._raw, ORGANISATION, release.repository, release.commit, quote(file.name)])

    def _repository(self, name: str) -> str:
        return f"{self._api}/repos/{ORGANISATION}/{name}"

    def _suggestion(self, name: str) -> str:
        try:
            near = " or ".join(nearest(name, list(self.repositories())))
        except DownloadError:
            return f"no treebank {name}"
        return f"no treebank {name}; " + (f"did you mean {near}?" if near else "see `arbora data list`")


def nearest(name: str, known: list[str]) -> list[str]:
    """Up to three similar names, ignoring case."""
    lowered = {each.lower(): each for each in known}
    return [lowered[each] for each in difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.75)]


def _field(entry: object, name: str, kind: type[Any], url: str) -> Any:
    value = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        got = type(value if isinstance(entry, Mapping) else entry).__name__
        raise DownloadError(f"{name}: expected {kind.__name__}, got {got}; check the address", url=url)
    return value


def _sha1(entry: Mapping[str, Any], url: str) -> str:
    sha = _field(entry, "sha", str, url)
    if not SHA1.fullmatch(sha):
        raise DownloadError(f"sha: expected 40 hexadecimal digits, got {sha[:50]!r}", url=url)
    return str(sha)
