"""A web server on 127.0.0.1 that answers as GitHub does about Universal Dependencies, or misbehaves."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 2
README = """# Summary

A synthetic treebank.

=== Machine-readable metadata (DO NOT REMOVE!) ================================
Data available since: UD v2.{minor}
License: CC BY-SA 4.0
Includes text: yes
Genre: fiction
Contributors: Nobody, Norma; Someone, Søren
Contributing: elsewhere
Contact: nobody@example.org
===============================================================================
"""


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def commit_of(name: str, release: str) -> str:
    return hashlib.sha1(f"{name} {release}".encode()).hexdigest()


@dataclass
class FakeGitHub:
    """Repositories by name, each with releases, each with files; and what shall go wrong."""

    repositories: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    faults: list[Callable[[Request], bool]] = field(default_factory=list)
    """Asked in order about each request; one that answers it gives True."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """All that was asked: path, headers."""
    url: str = ""
    listing: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda entries: entries
    """Changes what is said about files."""

    def add(self, name: str, release: str, files: dict[str, bytes]) -> None:
        minor = release.rpartition(".")[2]
        whole = {"README.md": README.format(minor=minor).encode(), "LICENSE.txt": b"Share alike.\n", **files}
        whole |= {"stats.xml": b"<treebank/>", ".gitignore": b"*~\n"}
        self.repositories.setdefault(name, {})[release] = whole

    def asked(self, ending: str) -> list[dict[str, str]]:
        """The headers of all requests for paths that end so."""
        return [headers for path, headers in self.requests if path.endswith(ending)]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: some tests hang up, and what stderr holds then belongs to another test."""


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    github: FakeGitHub

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self.github.requests.append((urlsplit(self.path).path, dict(self.headers)))
        if any(fault(self) for fault in self.github.faults):
            return
        path = urlsplit(self.path).path
        known = self.github.repositories
        if path == "/api/orgs/UniversalDependencies/repos":
            self._list_repositories(sorted(known))
        elif (match := re.fullmatch(r"/api/repos/UniversalDependencies/([^/]+)/tags", path)) and match[
            1
        ] in known:
            found = [{"name": r, "commit": {"sha": commit_of(match[1], r)}} for r in known[match[1]]]
            self.answer_json(found)
        elif match := re.fullmatch(r"/api/repos/UniversalDependencies/([^/]+)/git/trees/(\w+)", path):
            self._list_files(self._files(match[1], match[2]))
        elif match := re.fullmatch(r"/raw/UniversalDependencies/([^/]+)/(\w+)/([^/]+)", path):
            files = self._files(match[1], match[2]) or {}
            self._send_file(files.get(match[3]))
        else:
            self.answer_json({"message": "Not Found"}, 404)

    def _files(self, name: str, commit: str) -> dict[str, bytes] | None:
        releases = self.github.repositories.get(name, {})
        return next((files for r, files in releases.items() if commit_of(name, r) == commit), None)

    def _list_repositories(self, names: list[str]) -> None:
        page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        found = [{"name": name, "size": 2048, "private": False} for name in names]
        shown = found[PAGE * (page - 1) : PAGE * page]
        more = PAGE * page < len(found)
        here = f"{self.github.url}/api/orgs/UniversalDependencies/repos"
        link = f'<{here}?per_page=100&page={page + 1}>; rel="next"'
        self.answer_json(shown, headers={"Link": link} if more else {})

    def _list_files(self, files: dict[str, bytes] | None) -> None:
        if files is None:
            self.answer_json({"message": "Not Found"}, 404)
            return
        entries = [
            {"path": name, "mode": "100644", "type": "blob", "sha": git_sha1(content), "size": len(content)}
            for name, content in files.items()
        ]
        entries.append({"path": "not-to-release", "mode": "040000", "type": "tree", "sha": "0" * 40})
        self.answer_json({"sha": "0" * 40, "tree": self.github.listing(entries), "truncated": False})

    def _send_file(self, content: bytes | None) -> None:
        if content is None:
            self.answer(b"404: Not Found", 404)
        else:
            self.send_content(content)

    def send_content(self, content: bytes) -> None:
        """Like a server that supports ranges."""
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if wanted is None:
            self.answer(content, headers={"Accept-Ranges": "bytes"})
        elif int(wanted[1]) >= len(content):
            self.answer(b"", 416, {"Content-Range": f"bytes */{len(content)}"})
        else:
            start = int(wanted[1])
            where = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(content[start:], 206, {"Content-Range": where})

    def answer_json(self, found: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.answer(json.dumps(found).encode(), status, headers)

    def answer(
        self,
        content: bytes,
        status: int = 200,
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """With `length`, that many bytes are announced, and the connection ends after those there are."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        if length is not None:
            self.close_connection = True


@contextmanager
def serving(github: FakeGitHub) -> Iterator[FakeGitHub]:
    handler = type("Bound", (Request,), {"github": github})
    server = Server(("127.0.0.1", 0), handler)
    github.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
