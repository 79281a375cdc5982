"""Atomic writes: under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which cannot be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Add the file's name to system errors in the block; only those of `open` have it already."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


class _NamedFile(io.FileIO):
    """A file to write whose errors, such as a full disk, have the caller's name for it."""

    def __init__(self, path: Path, name: str) -> None:
        self._known_as = name
        super().__init__(str(path), "wb")

    def write(self, data: ReadableBuffer) -> int:
        with naming_errors(self._known_as):
            return super().write(data)


def _open(path: Path, name: str) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedWriter(_NamedFile(path, name)))


@contextmanager
def replacing(target: str | os.PathLike[str], *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Open a byte stream that replaces `target` when the block ends without an error.

    After an error, an existing file is unchanged and no temporary file is left. Links are followed,
    permissions are kept, and a device or a pipe is written to directly. `durable` waits for the disk before
    renaming, so that even a power cut leaves either the old file or the new one.
    """
    name = os.fspath(target)
    path = Path(target).resolve()
    if is_special(path):
        with _open(path, name) as stream:
            yield stream
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _open(temporary, name) as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = name
        raise
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        descriptor = os.open(path.parent, os.O_RDONLY)  # the new name is to be on the disk, too
        try:
            os.fsync(descriptor)
        except OSError:  # some network file systems cannot do this for folders; the file itself is safe
            pass
        finally:
            os.close(descriptor)
