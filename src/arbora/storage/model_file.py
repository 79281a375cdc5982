"""Model files: named arrays and JSON metadata in one file that opens in no time and runs no code.

`write_model` and `read_model` know nothing of parsers: what the arrays and the metadata mean is up to
who saves them. docs/model-file.md describes the format to the byte; `_safetensors` is its container.

A file is written whole or not at all. The same arrays and metadata give the same bytes. Arrays are read by
mapping the file into memory, so reading costs the header alone, and processes that read one file share it.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import stat
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arbora import __version__
from arbora.errors import InputError, ModelError
from arbora.storage._safetensors import (
    AGAIN,
    METADATA,
    PADDING,
    arranged,
    as_stored,
    check_header,
    header_in,
    header_of,
    parsed,
    tensors_in,
)
from arbora.storage.atomic import replacing

FORMAT = 1
DOCUMENT = "arbora"  # the key of our JSON document among the container's metadata
MAX_DEPTH = 100

KINDS = {
    "parser": "a parser; `arbora.load` reads it",
    "graph-parser": "a parser; `arbora.load` reads it",
    "induced-parser": "a parser that was learned without a treebank; `arbora.load` reads it",
    "pipeline": "a parser with what makes words of text; `arbora.load` reads it",
    "classifier": "a classifier; `arbora.learners.OnlineClassifier.load` reads it",
    "checkpoint": "a training that has not ended; `arbora train --resume` goes on with it",
}
"""What files of Arbora are, by the kind that their metadata says, and who reads them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a model file holds; arrays are read-only views of the file."""

    source: str
    format: int
    arbora_version: str
    metadata: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]]
    checksum: str | None = None
    """Of the whole file: that of its header, in which that of its data is; None where it is no file."""

    def entry(self, name: str, kind: type[T]) -> T:
        """`metadata[name]`; ModelError where it is missing or is no `kind` (bool is no int here)."""
        value = self.metadata.get(name)
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            return value
        found = "none" if name not in self.metadata else type(value).__name__
        raise ModelError(
            f"metadata: expected {name!r} of type {kind.__name__}, got {found}; is it a model of this kind?",
            source=self.source,
        )

    def require_kind(self, kind: str, wanted: str) -> None:
        """ModelError unless the metadata says that it is of this kind; `wanted`: what that is, in words."""
        found = self.entry("kind", str)
        if found != kind:
            other = f"{found[:40]!r}; the file is damaged or from another version"
            raise ModelError(f"expected {wanted}, got {KINDS.get(found, other)}", source=self.source)

    def part(self, name: str) -> ModelFile:
        """One part of a file of several: its own metadata, and the tensors whose names begin `{name}/`."""
        parts = self.entry("parts", dict)
        metadata = parts.get(name)
        if not isinstance(metadata, dict):
            raise ModelError(
                f"expected a part {name!r}, got {', '.join(map(repr, parts)) or 'none'}", source=self.source
            )
        return self.within(f"{name}/", metadata)

    def within(self, prefix: str, metadata: Mapping[str, Any]) -> ModelFile:
        """A file of the tensors whose names begin so, without that beginning, and of other metadata."""
        tensors = {
            key.removeprefix(prefix): array for key, array in self.tensors.items() if key.startswith(prefix)
        }
        return replace(self, metadata=metadata, tensors=tensors)

    def tensor(self, name: str, dtype: DTypeLike, shape: Sequence[int | None]) -> NDArray[Any]:
        """`tensors[name]`; ModelError where it is missing or not of this dtype and shape (None: any)."""
        wanted = f"{np.dtype(dtype)}[{', '.join('any' if n is None else str(n) for n in shape)}]"
        array = self.tensors.get(name)
        if array is None:
            raise ModelError(
                f"expected a tensor {name!r}, {wanted}, got none; is it a model of this kind?",
                source=self.source,
            )
        fits = len(shape) == array.ndim and all(
            n in (None, m) for n, m in zip(shape, array.shape, strict=True)
        )
        if array.dtype != np.dtype(dtype) or not fits:
            got = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
            raise ModelError(f"tensor {name!r}: expected {wanted}, got {got}; {AGAIN}", source=self.source)
        return array


def write_model(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Save arrays and metadata as one file, whole or not at all.

    `tensors`: any shapes, little or big endian, of floats (16 to 64 bits) and whole numbers (8 to 64
    bits). `metadata`: what JSON can say; names are strings, numbers are finite. InputError where they are not
    so; ModelError where the file cannot be written, and then what was there before is untouched.
    """
    # Sorted, so that the order in which things were put together leaves no trace in the file.
    stored = arranged({name: as_stored(name, array) for name, array in tensors.items()})
    document = {
        "arbora_version": __version__,
        "data_crc32": _checksum(stored.values()),
        "format": FORMAT,
        "metadata": _json_value(metadata, "metadata"),
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    header = header_of(stored, {DOCUMENT: text})
    try:
        with replacing(Path(path), durable=True) as stream:
            stream.write(header)
            for array in stored.values():
                stream.write(_bytes_of(array))
            stream.flush()
            _check_written(stream, stored)
    except (OSError, ValueError) as error:  # ValueError: no system takes such a name
        size = len(header) + sum(array.nbytes for array in stored.values())
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = f"make room for {size:,} bytes, or save it elsewhere" if full else "save it elsewhere"
        raise ModelError(
            f"the model could not be saved ({getattr(error, 'strerror', None) or error}); {advice}; "
            "what was there before is unchanged",
            source=os.fspath(path),
        ) from error


def read_model(path: str | os.PathLike[str], *, verify: bool = False) -> ModelFile:
    """Open a model file: O(header), the arrays are mapped and read only when used.

    The header is checked in full, checksum included. `verify` also reads all data and compares its checksum,
    which takes less time than using it all: those who do should.
    ModelError where the file is missing, damaged, something else, or from a newer version.

    Do not overwrite a file in place while it is open (`write_model` does not); its arrays would change.
    """
    source = os.fspath(path)
    mapped = _map(path, source)
    header, data = header_in(memoryview(mapped), source)
    entries = parsed(header, "header", source)
    document = _document(entries, source)
    checksum = check_header(header, source)
    places = tensors_in(entries, len(data), source)
    if verify and zlib.crc32(data) != document["data_crc32"]:
        raise ModelError(
            f"data: expected the checksum {document['data_crc32']}, got {zlib.crc32(data)}; {AGAIN}",
            source=source,
        )
    flat = np.frombuffer(data, np.uint8)
    tensors = {
        name: flat[place.begin : place.end].view(place.dtype).reshape(place.shape)
        for name, place in places.items()
        if not name.startswith(PADDING)
    }
    return ModelFile(
        source, document["format"], document["arbora_version"], document["metadata"], tensors, checksum
    )


# ---------------------------------------------------------------- writing


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(arrays: Iterable[NDArray[Any]]) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(_bytes_of(array), checksum)
    return checksum


def _check_written(stream: IO[bytes], stored: Mapping[str, NDArray[Any]]) -> None:
    """The official library reads what lies on the disk, before it takes the place of an older model."""
    if not stream.seekable() or not Path(stream.name).is_file():
        return
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(stream.name, framework="numpy") as opened:
            same = sorted(opened.keys()) == sorted(stored)
    except SafetensorError as error:
        raise OSError(f"what was written cannot be read back: {error}") from error
    if not same:
        raise OSError("what was written cannot be read back: its tensors differ")


def _json_value(value: Any, place: str, depth: int = 0) -> Any:
    """A copy in which mappings are dicts and sequences lists; InputError where JSON would lose something."""
    if depth > MAX_DEPTH:
        raise InputError(f"metadata: expected at most {MAX_DEPTH} levels, got more at {place[:80]}")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InputError(f"{place}: expected names that are strings, got {name!r}")
        return {
            _text(name, place): _json_value(item, f"{place}.{name}", depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_json_value(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
    got = repr(value) if isinstance(value, float) else type(value).__name__
    raise InputError(
        f"{place}: expected text, a finite number, true, false, null, a list or a mapping, got {got}; "
        "convert it first (arrays belong among the tensors)"
    )


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{place}: expected text that is valid Unicode, got {value[:80]!r}") from None
    return str(value)


# ---------------------------------------------------------------- reading


def _map(path: str | os.PathLike[str], source: str) -> mmap.mmap | bytes:
    """The whole file, mapped; an empty one cannot be mapped and is just no bytes."""
    try:
        kind = Path(path).stat()  # before opening, which would wait at a pipe
        if stat.S_ISDIR(kind.st_mode):
            raise ModelError("expected a model file, got a directory; name the file in it", source=source)
        if not stat.S_ISREG(kind.st_mode):
            raise ModelError(
                "expected a plain file, got a device or a pipe; save it to a file first", source=source
            )
        with Path(path).open("rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                return b""
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ModelError("no such file; check the name, or train a model first", source=source) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        what = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"the model cannot be opened ({what}); check the name and its permissions", source=source
        ) from error


def _document(entries: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Our JSON document, with the types that it must have; a newer format is told before all else."""
    given = entries.get(METADATA)
    text = given.get(DOCUMENT) if isinstance(given, dict) else None
    if not isinstance(text, str):
        raise ModelError(
            f"expected a model of Arbora, got a safetensors file without {DOCUMENT!r} in its metadata; "
            "name a model that `arbora train` wrote",
            source=source,
        )
    document = parsed(text, DOCUMENT, source)
    version = document.get("arbora_version")
    number = document.get("format")
    if type(number) is int and number > FORMAT:
        raise ModelError(
            f"written by a newer version of Arbora ({str(version)[:40]}, format {str(number)[:40]}); "
            f"expected format {FORMAT} at most: upgrade Arbora (this is {__version__}), "
            "or train the model again",
            source=source,
        )
    if number != FORMAT or type(number) is not int:
        raise ModelError(f"format: expected {FORMAT}, got {str(number)[:40]}; {AGAIN}", source=source)
    for name, kind in (("arbora_version", str), ("data_crc32", int), ("metadata", dict)):
        if type(document.get(name)) is not kind:
            got = type(document.get(name)).__name__
            raise ModelError(
                f"{DOCUMENT}.{name}: expected {kind.__name__}, got {got}; {AGAIN}", source=source
            )
    return document
