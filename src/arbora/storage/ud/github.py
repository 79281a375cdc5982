"""The treebanks of Universal Dependencies as GitHub has them: a repository each, a tag for each release.

A mirror is a web server (a folder of plain files will do) that answers the same questions under one address:

    BASE/api/orgs/UniversalDependencies/repos             a list of {"name", "size"} (KiB, history included)
    BASE/api/repos/UniversalDependencies/NAME/tags        a list of {"name": "r2.14", "commit": {"sha"}}
    BASE/api/repos/UniversalDependencies/NAME/git/trees/COMMIT    {"tree": [{"path", "type", "sha", "size"}]}
    BASE/raw/UniversalDependencies/NAME/COMMIT/FILE       the file
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
from arbora.storage.ud.names import RELEASE, TreebankName, is_treebank, release_order

VARIABLE = "ARBORA_UD_URL"
ORGANISATION = "UniversalDependencies"
API = "https://api.github.com"
RAW = "https://raw.githubusercontent.com"
HOME = f"https://github.com/{ORGANISATION}"
MOST_PAGES = 50
SHA1 = re.compile(r"(?a:[0-9a-f]{40})")
LARGEST_FILE = 2 << 30


@dataclass(frozen=True, slots=True)
class Repository:
    """A treebank that can be had."""

    name: str
    size: int
    """Bytes of its repository, history included."""


@dataclass(frozen=True, slots=True)
class Release:
    """A state of a treebank."""

    repository: str
    release: str
    commit: str


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a release; `git_sha1` is what Git calls its content."""

    name: str
    size: int
    git_sha1: str


class Catalogue:
    """Asks GitHub, or a mirror: `url`, else what ARBORA_UD_URL says."""

    def __init__(self, client: Client, url: str | None = None) -> None:
        base = (url or os.environ.get(VARIABLE) or "").rstrip("/")
        if base:
            require_safe(base)
        self.client = client
        self._api = f"{base}/api" if base else API
        self._raw = f"{base}/raw" if base else RAW

    def repositories(self) -> list[Repository]:
        """All treebanks, by name."""
        url = f"{self._api}/orgs/{ORGANISATION}/repos?per_page=100"
        found = {}
        for entry in self.client.pages(url, MOST_PAGES):
            name = _field(entry, "name", str, url)
            if is_treebank(name):
                found[name] = Repository(name, 1024 * max(0, _field(entry, "size", int, url)))
        return [found[name] for name in sorted(found)]

    def release(self, name: TreebankName) -> Release:
        """The release that is asked for, or the newest; DownloadError where there is no such thing."""
        url = f"{self._repository(name.repository)}/tags?per_page=100"
        try:
            tags = list(self.client.pages(url, MOST_PAGES))
        except NotFoundError as error:
            raise NotFoundError(self._no_such(name.repository, str(error))) from None
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
        """What is in the topmost folder of a release."""
        url = f"{self._repository(release.repository)}/git/trees/{release.commit}"
        answer, _ = self.client.json(url)
        found = []
        for entry in _field(answer, "tree", list, url):
            name = _field(entry, "path", str, url)
            if name in ("", ".", "..") or any(c in name for c in "/\\:") or not name.isprintable():
                raise DownloadError(
                    f"{url}: expected plain names of files, got {name!r}; nothing was fetched"
                )
            if _field(entry, "type", str, url) != "blob" or entry.get("mode") == "120000":
                continue
            size = _field(entry, "size", int, url)
            if not 0 <= size <= LARGEST_FILE:
                raise DownloadError(f"{url}: {name}: expected at most {LARGEST_FILE:,} bytes, got {size:,}")
            found.append(RemoteFile(name, size, _sha1(entry, url)))
        if len({file.name.casefold() for file in found}) < len(found):
            raise DownloadError(f"{url}: the same name stands there twice; nothing was fetched")
        return found

    def address(self, release: Release, file: RemoteFile) -> str:
        """Where a file's content is."""
        return "/".join([self._raw, ORGANISATION, release.repository, release.commit, quote(file.name)])

    def _repository(self, name: str) -> str:
        return f"{self._api}/repos/{ORGANISATION}/{name}"

    def _no_such(self, name: str, error: str) -> str:
        """The message for a treebank that is not there, with those that are called nearly so."""
        try:
            known = [repository.name for repository in self.repositories()]
        except DownloadError:
            return f"no treebank {name} ({error})"
        near = nearest(name, known)
        guess = f"did you mean {' or '.join(near)}?" if near else "`arbora data list` names all"
        return f"no treebank {name}; {guess}"


def nearest(name: str, known: list[str]) -> list[str]:
    """Up to three names that are nearly the same, whatever the case of their letters."""
    lowered = {each.lower(): each for each in known}
    return [lowered[each] for each in difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.75)]


def _field(entry: object, name: str, kind: type[Any], url: str) -> Any:
    value = entry.get(name) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        got = type(value if isinstance(entry, Mapping) else entry).__name__
        raise DownloadError(f"{url}: {name}: expected {kind.__name__}, got {got}; is this the address?")
    return value


def _sha1(entry: Mapping[str, Any], url: str) -> str:
    found = _field(entry, "sha", str, url)
    if not SHA1.fullmatch(found):
        raise DownloadError(f"{url}: sha: expected 40 hexadecimal digits, got {found[:50]!r}")
    return str(found)
