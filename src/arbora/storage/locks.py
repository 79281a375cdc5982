"""Locks, so that two programs do not write one file without knowing of each other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from arbora.errors import InputError
from arbora.storage.files import is_special, naming_errors

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


STALE = 3600.0
"""Seconds without a change after which a temporary file belongs to no process."""
WRITTEN = "another process is writing this file; wait until it ends, or choose another name"


@contextmanager
def locked(target: str | os.PathLike[str], reason: str = WRITTEN) -> Iterator[None]:
    """Keep other processes from `locked` with the same target within the block; InputError if one has it.

    `reason` says why, and what to do. The lock is a file `.NAME.lock` next to the target. The system releases
    it when a process ends, however that happens. On file systems without locks, and for devices, nothing is
    locked. Also removes temporary files of the target that are more than an hour old.
    """
    path = Path(target).resolve()
    if fcntl is None or is_special(path):
        yield
        return
    place = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(os.fspath(target), place, reason)
    try:
        _remove_stale(path)
        yield
    finally:
        with suppress(OSError):
            place.unlink()
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    """Remove what `replacing` left where a process was killed."""
    for each in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 8}.tmp"):
        with suppress(OSError):
            if time.time() - each.stat().st_mtime > STALE:
                each.unlink()


def _acquire(name: str, place: Path, reason: str) -> int:
    while True:
        with naming_errors(name, os.fspath(place)):
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"{name}: {reason}") from None
        except OSError:  # a file system without locks
            return descriptor
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), place.stat()):
                return descriptor
        os.close(descriptor)  # the process before us has removed it
