"""Limits of the server. Importing them needs no extra, so that the command line can show the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from arbora.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much work a server accepts."""

    body: int = 1_000_000
    """Bytes per request."""
    sentences: int = 500
    """Sentences per request."""
    words: int = 300
    """Words per sentence."""
    ranked_words: int = 100
    """Words per sentence for k > 1 or marginals, which take n times as long."""
    ranked_sentences: int = 5
    """Sentences per request for k > 1 or marginals."""
    trees: int = 20
    """The largest k."""
    running: int = 2
    """Requests computed at the same time."""
    waiting: int = 32
    """Requests in the queue; further ones get status 503."""
    seconds: float = 20.0
    """Time from the start of a request to its response."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 0 if name == "waiting" else 1
            if not least <= value < 1e9:
                raise InputError(f"{name}: expected a number of at least {least}, got {value!r}")
