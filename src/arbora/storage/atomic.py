"""Files that appear whole or not at all: written under a temporary name in the same folder, then renamed."""

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
    """Whether it is there and is no plain file: a device or a pipe, where nothing can be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def naming_errors(name: str) -> Iterator[None]:
    """Within the block, errors of the system say which file: by themselves they do so on opening only."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


class _NamedFile(io.FileIO):
    """A file to write; on a full disk, say, the error has the caller's name for it."""

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
    """A byte stream whose content becomes that of `target` when the block ends without an error.

    Otherwise what was there stays as it is, and nothing new stays beside it. A link is followed, so that
    the file it points to is replaced and not the link; permissions are kept; a device or a pipe is
    written to as it is. `durable` waits for the disk before renaming, so that even a power cut leaves
    either the old file or the new one.
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
            error.filename = name  # which the caller knows
        raise
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        _wait_for_folder(path.parent)


def _wait_for_folder(folder: Path) -> None:
    """The new name is on the disk, too, where the system can say so."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems do not know this for folders; the file itself is safe
        pass
    finally:
        os.close(descriptor)
