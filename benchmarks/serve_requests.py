"""The requests of `serve.py`: good, malformed, hostile and large ones, injections, and slow clients."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

from arbora.data.synthetic import generate

JSON = {"Content-Type": "application/json"}
SCRIPT = "<script>stolen(1)</script>"
MARKUP = [
    SCRIPT,
    '"><img src=x onerror=stolen(1)>',
    "javascript:stolen(1)",
    "</svg>" + SCRIPT,
    "{{7*7}}${7*7}",
]
CONLLU = "1\ttafo\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tven\t_\tVERB\t_\t_\t0\troot\t_\t_\n"


@dataclass(frozen=True)
class Kind:
    """A request, its expected status, and its share of all requests."""

    name: str
    method: str
    path: str
    body: bytes
    status: int
    headers: dict[str, str] = field(default_factory=lambda: dict(JSON))
    raw: bytes | None = None
    """What is sent instead, if it is no request that a library would send; no response is fine, too."""


@dataclass
class Response:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes


def make_groups() -> dict[str, list[Kind]]:
    """All kinds, by group."""
    return {
        "good": _good(),
        "malformed": _malformed(),
        "hostile headers": _headers(),
        "injection": _injections(),
        "large": _large(),
    }


SHARES = {"good": 0.6, "malformed": 0.15, "hostile headers": 0.12, "injection": 0.12, "large": 0.01}


def draw_kind(draw: random.Random, groups: dict[str, list[Kind]]) -> tuple[str, Kind]:
    """A group by its share, and a kind of it."""
    (group,) = draw.choices(list(SHARES), weights=list(SHARES.values()))
    return group, draw.choice(groups[group])


def post(name: str, value: object, status: int = 200, path: str = "/api/parse") -> Kind:
    return Kind(name, "POST", path, json.dumps(value).encode(), status)


def _good() -> list[Kind]:
    sentences = [s for s in generate(200, seed=7) if 5 <= len(s) <= 30]
    kinds = [Kind("page", "GET", "/", b"", 200), Kind("info", "GET", "/api/info", b"", 200)]
    kinds += [Kind("file", "GET", path, b"", 200) for path in ("/arbora.js", "/arbora.css", "/openapi.json")]
    for i in range(40):
        three, whole = sentences[i : i + 3], sentences[i].to_conllu()
        keep = [{"word": 1, "head": len(sentences[i])}]
        kinds += [
            post("text", {"text": " ".join(s.text for s in three)}),
            post("conllu", {"conllu": "".join(s.to_conllu() for s in three)}),
            post("closer", {"conllu": whole, "k": 8, "marginals": True}),
            post("keep", {"conllu": whole, "k": 8, "marginals": True, "keep": keep}),
            post("svg", {"conllu": whole}, path="/api/svg"),
        ]
    kinds.append(post("no tree", {"text": "a b", "keep": [{"word": i, "head": 3 - i} for i in (1, 2)]}, 422))
    return kinds


def _malformed() -> list[Kind]:
    bodies = {b"{" * 1000: 400, b"": 400, b"[]": 422, b'{"text": 5}': 422, b'{"text": "\\ud800"}': 422}
    bodies |= {b'{"text": "\xff"}': 400, b'{"text": "a", "k": 1e99}': 422, b"[" * 100_000: 400}
    bodies |= {b'{"conllu": "1\\ta"}': 422, b'{"text": ""}': 422, b'{"text": "a", "k": NaN}': 400}
    kinds = [Kind("bad JSON", "POST", "/api/parse", body, status) for body, status in bodies.items()]
    lines = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / SMTP/1.0\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
        b"\x00" * 2000 + b"\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ]
    return [*kinds, *(Kind("bad HTTP", "", "", b"", 400, raw=line) for line in lines)]


def _headers() -> list[Kind]:
    body = json.dumps({"text": "tafo ven."}).encode()

    def sent(status: int, **headers: str) -> Kind:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return Kind("headers", "POST", "/api/parse", body, status, {**JSON, **names})

    return [
        sent(403, Host="evil.example"),
        sent(403, Host="localhost.evil.example:80"),
        sent(403, Origin="https://evil.example"),
        sent(403, Origin="null"),
        sent(403, Sec_Fetch_Site="cross-site"),
        sent(415, Content_Type="text/plain"),
        sent(415, Content_Type="application/x-www-form-urlencoded"),
        sent(200, X_Forwarded_Host="evil.example", X_Forwarded_For=SCRIPT, Cookie="a=" + "b" * 4000),
        sent(200, Accept_Encoding="gzip, br, zstd", Range="bytes=0-1", If_None_Match="*", Expect="x"),
        sent(200, Upgrade="websocket", Connection="upgrade"),
        Kind("headers", "TRACE", "/", b"", 405),
        Kind("headers", "PUT", "/api/parse", body, 405),
        Kind(
            "headers",
            "",
            "",
            b"",
            400,
            raw=b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        ),
    ]


def _injections() -> list[Kind]:
    kinds = [
        Kind("path", "GET", f"/{word}", b"", 404)
        for word in ("%3Cscript%3E", "..%2f..%2fetc/passwd", "%0d%0a")
    ]
    kinds.append(Kind("query", "GET", "/?q=%3Cscript%3Estolen(1)%3C/script%3E", b"", 200))
    for markup in MARKUP:
        kinds += [
            post("text", {"text": f"a {markup} b."}),
            post("picture", {"conllu": CONLLU.replace("tafo", markup.replace(" ", "_"))}, path="/api/svg"),
            post("picture", {"conllu": CONLLU.replace("nsubj", markup.replace(" ", "_"))}, path="/api/svg"),
            post("label", {"conllu": CONLLU, "keep": [{"word": 1, "head": 2, "deprel": markup}]}),
            post("field", {markup: 1}, 422),
        ]
    return kinds


def _large() -> list[Kind]:
    costly = ("tafo " * 299 + ". ") * 20
    return [
        post("too large", {"text": "x" * 1_200_000}, 413),
        post("too much work", {"text": costly}, 413),
        post("too long", {"text": "tafo " * 1000}, 413),
        post("too many", {"text": "a. " * 600}, 413),
        post("one long word", {"text": "x" * 300_000}),
        post("many words", {"text": ("tafo ven gu " * 3 + ". ") * 200}),
    ]


class Client:
    """Sends requests, on one connection as long as it lasts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(self, kind: Kind) -> str | None:
        """Send a request; return what is wrong with the response."""
        try:
            found = self._send_raw(kind.raw) if kind.raw is not None else self._send(kind)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return f"{type(error).__name__}: {error}"
        return None if found is None else fault_of(found, kind.status)

    def _send(self, kind: Kind) -> Response:
        self._connection.request(kind.method, kind.path, kind.body or None, kind.headers)
        response = self._connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, headers, response.read())

    def _send_raw(self, raw: bytes) -> Response | None:
        with socket.create_connection(("127.0.0.1", self._port), timeout=60) as connection:
            received = b""
            with suppress(ConnectionError):
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65536):
                    received += part
        if not received:
            return None
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(": ") for line in lines]
        return Response(int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body)

    def close(self) -> None:
        self._connection.close()


def fault_of(response: Response, status: int) -> str | None:
    """The error in a response: its status, its headers, or unescaped markup from the request."""
    if response.status != status:
        return f"expected {status}, got {response.status}: {response.body[:100]!r}"
    kind = response.headers.get("content-type", "")
    if kind.startswith("text/plain"):  # from uvicorn, for input that is not HTTP
        return None
    missing = {"content-security-policy", "x-content-type-options"} - response.headers.keys()
    if missing:
        return f"without {missing}"
    if not kind.startswith("application/json") and SCRIPT.encode() in response.body:
        return "markup of the request is in the response"
    return None


def wait_slowly(port: int, draw: random.Random) -> str | None:
    """Be a client that sends nothing, or parts of a request at long intervals, until the server closes."""
    head = b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 9\r\n\r\n"
    sent = head[: draw.randrange(len(head))] if draw.random() < 0.7 else head + b"{"
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, suppress(ConnectionError):
        try:
            connection.sendall(sent)
            while connection.recv(65536):
                pass
        except TimeoutError:
            return f"still open after {time.monotonic() - begun:.0f} s"
    return None
