"""Universal Dependencies on GitHub: one repository per treebank, one tag per release.

docs/data.md describes what a mirror has to serve.

The client is httpx, plus rules about addresses, retries and sizes. Only https is allowed, and plain http on
this computer; redirects follow the same rule, so no response leads to a file on disk or to an unencrypted
connection. Errors that may pass (a lost connection, an overloaded server) are retried after growing pauses.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from arbora import __version__
from arbora.errors import DownloadError, unknown
from arbora.storage.ud.folders import RELEASE, TREEBANK, TreebankName

try:
    import httpx
except ImportError:
    raise DownloadError("downloads need httpx; install it with `pip install 'arbora-nlp[data]'`") from None

T = TypeVar("T")

VARIABLE = "ARBORA_UD_URL"
ORGANISATION = "UniversalDependencies"
API = "https://api.github.com"
RAW = "https://raw.githubusercontent.com"
HOME = f"https://github.com/{ORGANISATION}"
MAX_PAGES = 50
SHA1 = re.compile(r"(?a:[0-9a-f]{40})")
MAX_FILE_BYTES = 2 << 30
TIMEOUT_SECONDS = 30.0
PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0)  # before each retry; progress resets them
MAX_PAUSE_SECONDS = 30.0  # the longest pause that a server may request
MAX_JSON_BYTES = 32 << 20
MAX_REDIRECTS = 5
LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
        known = sorted(commits, key=lambda release: [int(n) for n in release[1:].split(".")], reverse=True)
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


# ---------------------------------------------------------------- the client


class NotFoundError(DownloadError):
    """The server does not have the requested file (404)."""


class RetryableError(DownloadError):
    """An error that may pass; `pause` is the time in seconds that the server wants us to wait."""

    def __init__(self, what: str, *, url: str, status: int | None = None, pause: float = 0.0) -> None:
        self.pause = pause
        super().__init__(what, url=url, status=status)


def require_safe(url: str, *, before: str | None = None) -> None:
    """DownloadError unless the address is https, or http on this computer; https never redirects to http."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # both raise ValueError if malformed
    except ValueError:
        raise DownloadError(f"invalid address {url!r}", url=before) from None
    is_downgrade = before is not None and urlsplit(before).scheme == "https"
    is_local = parts.scheme == "http" and host in LOOPBACK and not is_downgrade
    if not host or not (parts.scheme == "https" or is_local):
        what = "address" if before is None else "redirect to"
        raise DownloadError(f"{what} {url!r} rejected: expected https://", url=before)


@dataclass(frozen=True, kw_only=True)
class Client:
    """Sends requests; `note` receives a line of text before each retry."""

    timeout: float = TIMEOUT_SECONDS
    note: Callable[[str], None] = lambda text: None
    pause: Callable[[float], None] = time.sleep

    def json(self, url: str) -> tuple[Any, str | None]:
        """Fetch JSON, and the address of the next page if there is one."""

        def fetch() -> tuple[bytearray, str | None]:
            text = bytearray()
            with self.open(url, {"Accept": "application/vnd.github+json"}) as response:
                for piece in response.iter_raw():
                    text += piece
                    if len(text) > MAX_JSON_BYTES:
                        raise DownloadError(f"response longer than {MAX_JSON_BYTES:,} bytes", url=url)
                following = response.links.get("next", {}).get("url")
                return text, following and str(response.url.join(following))

        text, following = self.retry(fetch)
        try:
            return json.loads(text), following
        except (ValueError, RecursionError):
            start = repr(text[:40].decode(errors="replace"))
            raise DownloadError(f"expected JSON, got {start}; check the address", url=url) from None

    def pages(self, url: str, most: int) -> Iterator[Any]:
        """The entries of a list that may span several pages."""
        following: str | None = url
        for _ in range(most):
            if following is None:
                return
            entries, following = self.json(following)
            if not isinstance(entries, list):
                raise DownloadError(f"expected a list, got {type(entries).__name__}", url=url)
            yield from entries

    def retry(self, action: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """Call `action` until it succeeds, fails for good, or fails too often without progress."""
        tries, before = 0, progress()
        while True:
            try:
                return action()
            except RetryableError as error:
                now = progress()
                tries = 0 if now > before else tries
                before = max(before, now)  # fetching discarded bytes again is no progress
                if tries == len(PAUSES_SECONDS):
                    what = f"{error.what}; failed {tries + 1} times, try again later"
                    raise DownloadError(what, url=error.url, status=error.status) from None
                seconds = max(PAUSES_SECONDS[tries], error.pause)
                tries += 1
                self.note(f"{error}; next try in {seconds:g} s")
                self.pause(seconds)

    @contextlib.contextmanager
    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Send a GET request; errors of httpx within the `with` block become DownloadError."""
        require_safe(url)
        try:
            with _make_client(self.timeout) as client, client.stream("GET", url, headers=headers) as response:
                if response.status_code not in (200, 206, 416):  # 416: no such range
                    raise _status_error(response, url)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _translated(error, url) from None


_certificates = functools.cache(ssl.create_default_context)
"""The certificates that this computer trusts; loading them is slow."""


def _make_client(timeout: float) -> httpx.Client:
    try:
        return httpx.Client(
            verify=_certificates(),
            timeout=timeout,
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            headers={"User-Agent": f"arbora/{__version__}", "Accept-Encoding": "identity"},
            mounts={f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK},  # no proxy
            event_hooks={"response": [_check_redirect]},
        )
    except (ImportError, ValueError) as error:  # SOCKS without its package, or an unknown scheme
        raise DownloadError(f"cannot use the proxy of the environment: {error}") from None


def _check_redirect(response: httpx.Response) -> None:
    if response.has_redirect_location:
        require_safe(str(response.url.join(response.headers["Location"])), before=str(response.url))


def _translated(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> DownloadError:
    if isinstance(error, httpx.InvalidURL):
        return DownloadError(f"invalid address ({error})", url=url)
    if isinstance(error, httpx.TooManyRedirects):
        return DownloadError(f"more than {MAX_REDIRECTS} redirects", url=url)
    if isinstance(error, httpx.TimeoutException):
        return RetryableError("no response in time", url=url)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return DownloadError(f"invalid certificate ({cause.verify_message})", url=url)
        if isinstance(cause, socket.gaierror):
            what = f"unknown host ({cause.strerror}); check the network connection"
            return DownloadError(what, url=url)
        cause = cause.__cause__ or cause.__context__
    return RetryableError(f"connection failed ({error})", url=url)


def _status_error(response: httpx.Response, url: str) -> DownloadError:
    status, headers = response.status_code, response.headers
    if status == 404:
        return NotFoundError("not found (404)", url=url, status=status)
    if status in (403, 429) and headers.get("X-RateLimit-Remaining") == "0":
        reset = _seconds(headers.get("X-RateLimit-Reset"))
        when = time.strftime("%H:%M:%S", time.localtime(reset)) if 0 < reset < 1 << 40 else "an hour"
        return DownloadError(f"rate limit exceeded; try again after {when}", url=url, status=status)
    what = f"status {status} {response.reason_phrase}"
    if status < 500 and status not in (408, 429):
        return DownloadError(what, url=url, status=status)
    pause = _seconds(headers.get("Retry-After"))
    if pause > MAX_PAUSE_SECONDS:
        return DownloadError(f"{what}; try again in {pause:.0f} s", url=url, status=status)
    return RetryableError(what, url=url, status=status, pause=pause)


def _seconds(header: str | None) -> float:
    return float(header) if header and re.fullmatch(r"(?a:\d{1,15})", header) else 0.0
