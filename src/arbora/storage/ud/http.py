"""Asking web servers, who may be slow, absent, wrong or hostile.

Only https is spoken, with certificates checked, and plain http with this very computer. Where a server
sends us on, the same holds, so that no answer leads to a file on disk or to a line that others can read.
What may pass (a lost connection, an overloaded server) is tried again, after longer and longer pauses.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import json
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Protocol, TypeVar

from arbora import __version__
from arbora.errors import DownloadError

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
PAUSES_SECONDS = (0.5, 1.0, 2.0, 4.0)
"""Before each further try; a try that got something begins them anew."""
LONGEST_PAUSE_SECONDS = 30.0
"""That a server may ask for."""
LONGEST_ANSWER = 32 << 20
"""Of JSON, in bytes."""
MOST_REDIRECTS = 5
NEXT = re.compile(r'<([^<>]+)>\s*;\s*rel="next"')


class NotFoundError(DownloadError):
    """The server says that there is no such thing."""


class RangeError(DownloadError):
    """The server does not have the piece that was asked for."""


class _PassingError(DownloadError):
    """Something that may go away by itself."""

    def __init__(self, what: str, pause: float = 0.0) -> None:
        self.pause = pause
        super().__init__(what)


class Response(Protocol):
    """What a server answers."""

    status: int
    headers: HTTPMessage

    def read(self, size: int, /) -> bytes:
        """The next bytes: at most `size`, none at the end."""


class Client:
    """Asks; `note` is told when something is tried again."""

    def __init__(
        self,
        *,
        timeout: float = TIMEOUT_SECONDS,
        note: Callable[[str], None] = lambda text: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._timeout = timeout
        self._note = note
        self._pause = pause

    def json(self, url: str) -> tuple[Any, str | None]:
        """A JSON answer, and the address of its next page where it has one."""

        def ask() -> tuple[Any, str | None]:
            with self.open(url, {"Accept": "application/vnd.github+json"}) as response:
                text = _read_all(response, url)
                following = NEXT.search(response.headers.get("Link") or "")
                return _parsed(text, url), following and urllib.parse.urljoin(url, following[1])

        return self.patiently(ask)

    def pages(self, url: str, most: int) -> Iterator[Any]:
        """The entries of a list that may have several pages."""
        following: str | None = url
        for _ in range(most):
            if following is None:
                return
            found, following = self.json(following)
            if not isinstance(found, list):
                raise DownloadError(
                    f"{url}: expected a list, got {type(found).__name__}; is this the address?"
                )
            yield from found

    def patiently(self, action: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """What the action gives, tried again as long as it fails for reasons that may pass."""
        tries, before = 0, progress()
        while True:
            try:
                return action()
            except _PassingError as error:
                got = progress()
                tries = 0 if got > before else tries
                before = max(before, got)  # what is thrown away and fetched again is no progress
                if tries == len(PAUSES_SECONDS):
                    raise DownloadError(f"{error}; tried {tries + 1} times, try again later") from None
                seconds = max(PAUSES_SECONDS[tries], error.pause)
                tries += 1
                self._note(f"{error}; trying again in {seconds:g} s")
                self._pause(seconds)

    @contextlib.contextmanager
    def open(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[Response]:
        """An answer to read from; within `patiently`, reading may fail and be tried again."""
        require_safe(url)
        request = urllib.request.Request(
            url,
            headers={
                "User-Agent": f"arbora/{__version__}",
                "Accept-Encoding": "identity",
                **(headers or {}),
            },
        )
        with _told(url):
            response = _opener(url).open(request, timeout=self._timeout)
        with response:
            yield _Reader(response, url)


class _Reader:
    """A response whose faults while reading are told as ours."""

    def __init__(self, response: Any, url: str) -> None:
        self.status: int = response.status
        self.headers: HTTPMessage = response.headers
        self._response = response
        self._url = url

    def read(self, size: int) -> bytes:
        with _told(self._url):
            # What has come, not waiting for more: an interruption then loses nothing.
            return bytes(self._response.read1(size))


def lost(url: str, got: int, expected: int) -> Exception:
    """For an answer that ended too early."""
    return _PassingError(f"{url}: the connection was lost after {got:,} of {expected:,} bytes")


def again(what: str) -> Exception:
    """For an answer that is of no use, where another may be."""
    return _PassingError(what)


def require_safe(url: str, *, before: str | None = None) -> None:
    """DownloadError unless it is https, or http with this computer; no step from https back to http."""
    parts = urllib.parse.urlsplit(url)
    is_local = _is_loopback(parts.hostname or "")
    from_secure = before is not None and urllib.parse.urlsplit(before).scheme == "https"
    if parts.hostname and (
        parts.scheme == "https" or (parts.scheme == "http" and is_local and not from_secure)
    ):
        return
    sent = "" if before is None else f"{before}: the server sends us on to "
    raise DownloadError(f"{sent}{url!r}, which is refused: expected an address that begins with https://")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = MOST_REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        require_safe(newurl, before=req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Those that this computer trusts; reading them takes as long as many questions."""
    return ssl.create_default_context()


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Of all that the standard library can open, http and https; this computer is asked without a proxy."""
    opener = urllib.request.OpenerDirector()
    is_local = _is_loopback(urllib.parse.urlsplit(url).hostname or "")
    for handler in (
        urllib.request.ProxyHandler({} if is_local else None),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_certificates()),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Faults of the net as a DownloadError, or as one that may pass."""
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, url) from None
    except urllib.error.URLError as error:
        reason = error.reason
        raise _unreachable(reason if isinstance(reason, OSError) else OSError(str(reason)), url) from None
    except (OSError, HTTPException) as error:
        raise _unreachable(error, url) from None
    except ValueError as error:  # an address or a header that is none
        raise DownloadError(f"{url}: the answer makes no sense: {error}") from None


def _refusal(error: urllib.error.HTTPError, url: str) -> Exception:
    """For an answer that is not what was asked for."""
    status = error.code
    if status in (301, 302, 303, 307, 308):
        where = error.headers.get("Location")
        return DownloadError(
            f"{url}: the server sends us on to {where!r}, which is refused: expected https, and at most "
            f"{MOST_REDIRECTS} times"
        )
    if status == 404:
        return NotFoundError(f"{url}: not found (404)")
    if status == 416:
        return RangeError(f"{url}: there is no such range (416)")
    after = _seconds(error.headers.get("Retry-After"))
    if status in (403, 429) and error.headers.get("X-RateLimit-Remaining") == "0":
        return DownloadError(
            f"{url}: the server answers no more questions for now (rate limit, {status}); try again "
            f"{_reset_time(error.headers.get('X-RateLimit-Reset'))}"
        )
    if status >= 500 or status in (408, 429):
        if after > LONGEST_PAUSE_SECONDS:
            return DownloadError(
                f"{url}: the server asks us to wait {after:.0f} s ({status}); try again then"
            )
        return _PassingError(f"{url}: the server failed ({status} {error.reason})", after)
    if status in (401, 403):
        return DownloadError(
            f"{url}: the server does not allow it ({status} {error.reason}); try again later"
        )
    return DownloadError(f"{url}: the server answered {status} {error.reason}")


def _reset_time(header: str | None) -> str:
    seconds = _seconds(header)
    return time.strftime("after %H:%M:%S", time.localtime(seconds)) if 0 < seconds < 1 << 40 else "in an hour"


def _seconds(header: str | None) -> float:
    return float(header) if header and re.fullmatch(r"(?a:\d{1,15})", header) else 0.0


def _unreachable(error: OSError | HTTPException, url: str) -> Exception:
    """For no answer, or half of one."""
    host = urllib.parse.urlsplit(url).hostname
    if isinstance(error, ssl.SSLCertVerificationError):
        return DownloadError(
            f"{url}: the server's certificate is not valid ({error.verify_message}); nothing was fetched"
        )
    if isinstance(error, socket.gaierror):
        return DownloadError(
            f"{url}: cannot find {host} ({error.strerror}); is there a connection to the net?"
        )
    if isinstance(error, TimeoutError):
        return _PassingError(f"{url}: no answer in time")
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return _PassingError(f"{url}: no connection to {host} ({why})")


def _read_all(response: Response, url: str) -> bytes:
    pieces = []
    got = 0
    while piece := response.read(1 << 16):
        got += len(piece)
        if got > LONGEST_ANSWER:
            raise DownloadError(
                f"{url}: the answer is longer than {LONGEST_ANSWER:,} bytes; is this the address?"
            )
        pieces.append(piece)
    expected = response.headers.get("Content-Length")
    if expected and got < _seconds(expected):
        raise lost(url, got, int(expected))
    return b"".join(pieces)


def _parsed(text: bytes, url: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DownloadError(f"{url}: expected JSON, got {clean_start(text)}; is this the address?") from None


def clean_start(text: bytes) -> str:
    """The beginning of an answer, as a message can show it."""
    return repr(text[:40].decode(errors="replace"))
