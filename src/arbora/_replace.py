"""Files that appear whole or not at all: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def is_special(path: Path) -> bool:
    """Whether it is there and is no plain file: a device or a pipe, where nothing can be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A byte stream whose content becomes that of `path` when the block ends without an error.

    Otherwise what was there stays as it is, and nothing new stays beside it. A link is followed, so that
    the file it points to is replaced and not the link; permissions are kept; a device or a pipe is
    written to as it is. `durable` waits for the disk before renaming, so that even a power cut leaves
    either the old file or the new one.
    """
    path = path.resolve()
    if is_special(path):
        with path.open("wb") as stream:
            yield stream
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)  # the name that the caller knows
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
