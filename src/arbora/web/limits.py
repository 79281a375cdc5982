"""Limits of the server. Importing them needs no extra, so that the command line can show the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from arbora.settings import Settings, parameter

_limit = partial(parameter, least=1, below=1e9)


@dataclass(frozen=True, kw_only=True)
class Limits(Settings):
    """How much work a server accepts."""

    body: int = _limit(1_000_000, "bytes per request")
    sentences: int = _limit(500, "sentences per request")
    words: int = _limit(300, "words per sentence")
    work: int = _limit(100_000_000, "the sum of the cubed lengths of a request's sentences", below=1e15)
    ranked_words: int = _limit(100, "words per sentence for k > 1 or marginals, which take n times as long")
    ranked_sentences: int = _limit(5, "sentences per request for k > 1 or marginals")
    trees: int = _limit(20, "the largest k")
    running: int = _limit(2, "large requests computed at the same time; small ones have one more thread")
    waiting: int = _limit(32, "requests in the queue; further ones get status 503", least=0)
    seconds: float = _limit(20.0, "time from the start of a request to its response")
    silence: float = _limit(10.0, "seconds in which a client must begin a request and send its headers")
    connections: int = _limit(500, "open connections; beyond, those that wait longest for clients are closed")
