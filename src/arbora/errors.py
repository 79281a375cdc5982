"""Every error that Arbora raises on purpose.

Messages say what is wrong, where, what was expected, what was found, and what to do next.
"""

from __future__ import annotations


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
