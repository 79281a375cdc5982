"""The errors that Arbora raises.

Messages say what is wrong, where, what was expected, what was given, and what to do next.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from importlib import import_module
from numbers import Integral
from typing import Any, TypeGuard

# A message starts with its source and field: `k must be ...`, `run.toml: order: expected ...`. The core's
# errors are text only, so the field is read from there.
_FIELD = re.compile(
    r"(?:(?:-\S+ )?[^\s:]+: )?(?:unknown (?P<kind>[\w ]+)(?= ')|(?P<name>[A-Za-z][\w.-]*(?:\[[\d, ]+\])?"
    r"|(?:sentence|word) \d+(?:, word \d+)?|(?:tensor|metadata) '[^']*')"
    r"(?=: | must | is not available | of the batch: ))"
)


class ArboraError(Exception):
    """Base class of all errors below."""

    def _set_field(self, what: str, field: str | None = None) -> None:
        start = _FIELD.match(what)
        self.field = field or (start["kind"] or start["name"] if start else None)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[ArboraError], args: tuple[object, ...], fields: dict[str, object]) -> ArboraError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class _FieldError(ArboraError, ValueError):
    def __init__(self, what: str = "", *, field: str | None = None, where: str | None = None) -> None:
        self._set_field(what, field)
        super().__init__(": ".join(part for part in (where, field, what) if part))


class InputError(_FieldError):
    """An argument or setting has the wrong shape, type or value.

    `field` names it, or the sentence and word; None if no single one is wrong. `str()` starts with `where`
    the value came from, such as a file, and the field.
    """


class UnknownNameError(InputError):
    """No learner, setting or other `field` has this `name`; `suggestion` is the nearest known one."""

    def __init__(self, kind: str, name: object, known: list[str], *, where: str | None = None) -> None:
        super().__init__(unknown(kind, name, known), where=where)
        self.name = name
        self.suggestion = nearest(name, known)


class NoTreeError(_FieldError):
    """The constraints (forbidden arcs, required arcs, roots) allow no tree; `field` names the sentence."""


class OutOfMemoryError(ArboraError, MemoryError):
    """The system has no memory left for a computation."""


class StoppedError(ArboraError):
    """A computation was stopped because the process ends; see `arbora._core.stop_native`."""


class _FileError(ArboraError, ValueError):
    def __init__(self, what: str, *, source: str = "<text>", line: int | None = None) -> None:
        self.source, self.line, self.what = source, line, what
        self._set_field(what)
        super().__init__(f"{source}: {what}" if line is None else f"{source}:{line}: {what}")


class DataError(_FileError):
    """A treebank is malformed; `str()` starts with `file:line:`.

    `field` names the sentence and word if the message starts with them.
    """


class ModelError(_FileError):
    """A model cannot be read or saved; `str()` starts with the file's name.

    `field` names the part of the file that is damaged, such as `tensor 'weights'`.
    """


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


def nearest(name: object, known: list[str]) -> str | None:
    """The most similar known name; None if no name is similar."""
    return next(iter(difflib.get_close_matches(str(name), known, n=1)), None)


MANY = 20
"""Names that are too many for a message that has a better answer."""


def unknown(kind: str, name: object, known: list[str]) -> str:
    """The message for an unknown name: the nearest one, and all known ones unless these are many."""
    near = nearest(name, known)
    guess = f"did you mean {near!r}?" if near else ""
    names = f"known: {', '.join(known)}"
    if len(known) > MANY and (near or kind == "setting"):
        names = "" if near else "`arbora list settings` shows all"
    return f"unknown {kind} {name!r}; {' '.join(part for part in (guess, names) if part)}"


def require_known(kind: str, name: object, known: Collection[str]) -> None:
    """UnknownNameError unless the name is known."""
    if name not in known:
        raise UnknownNameError(kind, name, list(known))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number, of Python or numpy."""
    return isinstance(value, Integral) and not isinstance(value, bool)


MOST = 2**31 - 1
"""The largest whole number that is not a seed: counts of the core are of this size."""
MOST_SEED = 2**63 - 1
MOST_THREADS = 10_000
"""Also of workers. The core starts no more threads than are useful."""


def require_whole(name: str, value: object, least: int, most: int = MOST) -> None:
    """InputError unless it is a whole number of this range."""
    if not is_whole(value) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number in {least}..{most}, got {value!r}")


def as_utf8(name: str, text: str) -> bytes:
    """Encode text; InputError if it has half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name}: expected text that UTF-8 can encode, got {error}") from None


def import_package(name: str, install: str) -> Any:
    """Import an optional package; InputError with the command that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"{name} is not installed: {install}") from error


def require_threads(threads: object) -> None:
    """InputError unless it is a valid number of threads."""
    require_whole("threads", threads, 1, MOST_THREADS)
