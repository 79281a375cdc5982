"""Byte streams for names on a command line: paths, `-`, gzip, file objects.

Files are written under a temporary name in the same folder and renamed at the end, so that no half-written
file is ever seen.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from arbora.errors import DataError, InputError, import_package

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source: TypeAlias = "str | os.PathLike[str] | IO[bytes] | IO[str]"

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PIECE = 1 << 20  # bytes that are read at once


class _Borrowed(io.RawIOBase):
    """A stream of the caller, which `close` leaves open; text is read as UTF-8."""

    def __init__(self, stream: IO[bytes] | IO[str]) -> None:
        self._stream = stream
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        if not self._pending:
            read = getattr(
                self._stream, "read1", self._stream.read
            )  # the available bytes, without waiting for more
            data: object = read(len(view)) or b""
            if isinstance(self._stream, io.TextIOBase) and isinstance(data, str):
                data = data.encode()
            if not isinstance(data, bytes):
                got = type(data).__name__
                raise InputError(f"source: expected a file object of bytes or text, got {got}")
            self._pending = data
        taken, self._pending = self._pending[: len(view)], self._pending[len(view) :]
        view[: len(taken)] = taken
        return len(taken)


def name_of(source: Source) -> str:
    """Return the name for messages: the path, `<stdin>`, or the file object's own name."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def open_file(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file, a pipe or a terminal; DataError for devices such as /dev/zero, which never end."""
    stream = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
    status = os.fstat(stream.fileno())
    is_empty = status.st_rdev == Path(os.devnull).stat().st_rdev
    if stat.S_ISCHR(status.st_mode) and not is_empty and not stream.isatty():
        stream.close()
        raise DataError("expected a file or a pipe, got a device; name a file", source=os.fspath(path))
    return stream


def open_input(source: Source) -> io.BufferedIOBase:
    """Open a path, `-` (stdin) or file object; gzip and zstd are recognized by their first bytes."""
    if not isinstance(source, str | os.PathLike):
        if not hasattr(source, "read"):
            raise InputError(f"source: expected a path, `-` or a file object, got {type(source).__name__}")
        return _unzipped(io.BufferedReader(_Borrowed(source)))
    if os.fspath(source) != "-":
        return _unzipped(open_file(source))
    if sys.stdin is None:
        raise InputError("-: stdin is closed; name a file instead")
    return _unzipped(io.BufferedReader(_Borrowed(sys.stdin.buffer)))


def _unzipped(stream: io.BufferedReader) -> io.BufferedIOBase:
    try:
        start = stream.peek(4)[:4]
        if start == ZSTD_MAGIC:
            return io.BufferedReader(_Unzstd(stream), PIECE)
    except BaseException:
        stream.close()
        raise
    if not start.startswith(GZIP_MAGIC):
        return stream
    unzipped = gzip.GzipFile(fileobj=stream, mode="rb")
    unzipped.myfileobj = stream  # type: ignore[assignment]  # closed with it
    return unzipped


class ZstdFault(Exception):  # noqa: N818 (becomes a DataError)
    """A zstd stream is damaged."""


class _Unzstd(io.RawIOBase):
    """The content of a zstd stream of one or more frames; ZstdFault if one is damaged or cut."""

    def __init__(self, stream: io.BufferedReader) -> None:
        package = import_package("zstandard", "pip install 'arbora-nlp[zstd]'")
        self._stream, self._error = stream, package.ZstdError
        self._start = package.ZstdDecompressor().decompressobj
        self._frame = self._start()
        self._is_open = False  # whether the frame has begun
        self._waiting = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while not self._waiting:
            if self._frame.eof:
                data, self._frame, self._is_open = self._frame.unused_data, self._start(), False
            else:
                data = b""
            data = data or self._stream.read(1 << 17)
            if not data:
                if self._is_open:
                    raise ZstdFault("it ends in the middle")
                return 0
            self._is_open = True
            try:
                self._waiting = self._frame.decompress(data)
            except self._error as error:
                raise ZstdFault(str(error)) from error
        taken, self._waiting = self._waiting[: len(view)], self._waiting[len(view) :]
        view[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._stream.close()
        super().close()


def read_bytes(stream: io.BufferedIOBase, size: int, source: str, *, waits: bool = True) -> bytes:
    """Read from what `open_input` opened; errors name the source.

    Unless it `waits` for all of `size`, less may be returned, but something before the end.
    """
    try:
        with naming_errors(source):
            return stream.read(size) if waits else stream.read1(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"damaged gzip file: {error}", source=source) from error
    except ZstdFault as error:
        raise DataError(f"damaged zstd file: {error}", source=source) from error


def read_text(source: Source) -> Iterator[str]:
    """The text of what `open_input` opens, in pieces, as it comes; DataError if it is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    name, read = name_of(source), 0
    with closing(open_input(source)) as stream:
        while True:
            data = read_bytes(stream, PIECE, name, waits=False)
            try:
                yield decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                pending = len(error.object) - len(data)
                raise DataError(
                    f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at byte "
                    f"{read - pending + error.start}; convert the text first, for example with iconv",
                    source=name,
                ) from None
            if not data:
                return
            read += len(data)


def file_checksum(path: str | os.PathLike[str]) -> int:
    """CRC-32 of a file's bytes, in pieces."""
    checksum = 0
    with naming_errors(os.fspath(path)), open_file(path) as stream:
        while piece := stream.read(PIECE):
            checksum = zlib.crc32(piece, checksum)
    return checksum


@contextmanager
def open_output(target: Source) -> Iterator[IO[bytes]]:
    """Open a path, `-` (stdout) or file object for writing bytes; a path that ends in `.gz` is compressed.

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
        with replacing(target) as raw:
            if path.suffix == ".gz" and not is_special(path):
                # No name and no time inside: the same sentences give the same bytes.
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as stream:
                    yield cast("IO[bytes]", stream)
            else:
                yield raw


def is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, which cannot be replaced."""
    return path.exists() and not path.is_file()


@contextmanager
def naming_errors(name: str, temporary: str | None = None) -> Iterator[None]:
    """Name the file in system errors of the block that name none, or that name `temporary`."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, temporary):
            error.filename = name
        raise


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
        with naming_errors(name), path.open("wb") as stream:
            yield stream
        return
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with naming_errors(name, str(temporary)):
        try:
            with temporary.open("wb") as stream:
                yield stream
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            if path.exists():
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            temporary.replace(path)
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
