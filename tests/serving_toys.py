"""A small model behind the server, and the server called without a network."""

import asyncio
import json
from functools import lru_cache
from typing import NamedTuple

from graph_toys import config, treebank

from arbora.training import train
from arbora.web.limits import Limits
from arbora.web.server import make_application
from arbora.web.serving import Engine

JSON = {"content-type": "application/json"}


@lru_cache
def parser(**shape):
    """Trained on a synthetic treebank; takes a fraction of a second."""
    return train(treebank(60, seed=1), config=config(epochs=3, **shape)).parser


@lru_cache
def engine(**shape):
    return Engine(parser(**shape), "toy")


class Reply(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


class Client:
    """Calls an application as a server would."""

    def __init__(self, limits=None, model=None, **options):
        self.application = make_application(model or engine(), limits or Limits(), **options)

    def __call__(self, method, path, body=b"", headers=None, chunks=None):
        return asyncio.run(self.call(method, path, body, headers, chunks))

    def post(self, path, value):
        return self("POST", path, json.dumps(value).encode(), JSON)

    async def call(self, method, path, body=b"", headers=None, chunks=None):
        given = {"host": "127.0.0.1:8080", **(headers or {})}
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 5),
        }
        parts = list(chunks if chunks is not None else [body])
        sent = []

        async def receive():
            if not parts:
                await asyncio.sleep(60)
            part = parts.pop(0)
            if isinstance(part, float):
                await asyncio.sleep(part)
                part = b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        await self.application(scope, receive, send)
        start, end = sent
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        return Reply(start["status"], names, end["body"])
