"""Every error that Arbora raises on purpose.

Messages say what is wrong, where, what was expected, what was found, and what to do next.
"""

from __future__ import annotations

import difflib


class ArboraError(Exception):
    """Base of all errors below: catch this one to catch them all."""


class InputError(ArboraError, ValueError):
    """An argument has the wrong shape, type or value."""


class NoTreeError(ArboraError, ValueError):
    """The constraints (forbidden arcs, required arcs, roots) leave no tree."""


class DataError(ArboraError, ValueError):
    """A treebank is malformed; `str()` starts with `file:line:`."""

    def __init__(self, what: str, *, source: str = "<text>", line: int | None = None) -> None:
        self.source = source
        self.line = line
        self.what = what
        place = source if line is None else f"{source}:{line}"
        super().__init__(f"{place}: {what}")


class ModelError(ArboraError, ValueError):
    """A model cannot be read or saved; `str()` starts with the file's name."""

    def __init__(self, what: str, *, source: str = "<model>") -> None:
        self.source = source
        self.what = what
        super().__init__(f"{source}: {what}")


class DownloadError(ArboraError):
    """A download failed; `url` and the HTTP `status` are None if unknown.

    The message may quote the server, so control characters are replaced.
    """

    def __init__(self, what: str, *, url: str | None = None, status: int | None = None) -> None:
        self.what = what
        self.url = url
        self.status = status
        message = what if url is None else f"{url}: {what}"
        super().__init__("".join(c if c.isprintable() else "?" for c in message))


def unknown(kind: str, name: object, known: list[str]) -> str:
    """The message for a name that is not known: the nearest one, and all there are."""
    near = difflib.get_close_matches(str(name), known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {kind} {name!r}; {guess}known: {', '.join(known)}"


def require_threads(threads: object) -> None:
    """InputError unless it is a number of threads."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InputError(f"threads must be a whole number of at least 1, got {threads!r}")
