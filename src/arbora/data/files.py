"""Opening what people name on a command line: paths, `-`, gzip, file objects; all as bytes.

Files are written under a temporary name and renamed at the end, so that no half file is ever seen.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Protocol, TypeAlias, cast

from arbora.errors import DataError, InputError
from arbora.storage.atomic import is_special, naming_errors, replacing

Source: TypeAlias = "str | os.PathLike[str] | IO[bytes] | IO[str]"

GZIP_MAGIC = b"\x1f\x8b"


class ByteReader(Protocol):
    """Anything with `read(size)` that gives bytes, and none at the end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes: at most `size`, empty at the end."""

    def close(self) -> None:
        """Lets go of what was opened here."""


class _Encoded:
    """A text stream read as UTF-8 bytes."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read(size).encode()

    def close(self) -> None:
        """The stream is the caller's: it stays open."""


class _Borrowed:
    """A byte stream of the caller: `close` leaves it open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ahead = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, which `read` will give again."""
        if not self._ahead:
            data: object = self._stream.read(size) or b""
            if not isinstance(data, bytes):
                kind = type(data).__name__
                raise InputError(f"source: expected a file object of bytes or text, got {kind}")
            self._ahead = data
        return self._ahead

    def read(self, size: int) -> bytes:
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(taken) < size:
            taken += self._stream.read(size - len(taken)) or b""
        return taken

    def close(self) -> None:
        """The stream is the caller's: it stays open."""


def name_of(source: Source) -> str:
    """What messages call it: the path, `<stdin>`, or the file object's own name."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def open_input(source: Source) -> ByteReader:
    """Bytes of a path, `-` (stdin) or file object; gzip is recognized by its first bytes."""
    if isinstance(source, str | os.PathLike):
        if os.fspath(source) == "-":
            if sys.stdin is None:
                raise InputError("-: expected something on stdin, got none (it is closed); name a file")
            return _unzipped(_Borrowed(sys.stdin.buffer))
        return _unzipped(Path(source).open("rb"))
    if isinstance(source, io.TextIOBase):
        return _Encoded(cast("IO[str]", source))
    if hasattr(source, "read"):
        return _unzipped(_Borrowed(cast("IO[bytes]", source)))
    raise InputError(f"source: expected a path, `-` or a file object, got {type(source).__name__}")


def _unzipped(stream: io.BufferedReader | _Borrowed) -> ByteReader:
    try:
        first = stream.peek(2)[:2]
    except OSError:
        stream.close()
        raise
    return _Unzipping(stream) if first == GZIP_MAGIC else stream


def read_bytes(stream: ByteReader, size: int, source: str) -> bytes:
    """The next bytes of what `open_input` opened; faults are told with the name of the source."""
    try:
        with naming_errors(source):
            return stream.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"damaged gzip file: {error}", source=source) from error


class _Unzipping(gzip.GzipFile):
    """GzipFile that closes what it reads from."""

    def __init__(self, stream: io.BufferedReader | _Borrowed) -> None:
        super().__init__(fileobj=cast("IO[bytes]", stream), mode="rb")
        self._under = stream

    def close(self) -> None:
        super().close()
        self._under.close()


@contextmanager
def open_output(target: Source) -> Iterator[IO[bytes]]:
    """A byte stream to a path, `-` (stdout) or file object; `.gz` at the end of a path zips.

    A path gets its new content only when the block ends without an error.
    """
    if not isinstance(target, str | os.PathLike):
        if isinstance(target, io.TextIOBase):
            buffer = io.BytesIO()
            yield buffer
            target.write(buffer.getvalue().decode())
        else:
            yield cast("IO[bytes]", target)
    elif os.fspath(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        path = Path(target).resolve()
        zipped = path.suffix == ".gz" and not is_special(path)
        with replacing(target) as raw, _zipping(raw) if zipped else nullcontext(raw) as stream:
            yield stream


@contextmanager
def _zipping(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    # No name and no time inside: the same sentences give the same bytes.
    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as stream:
        yield cast("IO[bytes]", stream)
