"""Model files: named arrays and JSON metadata in one file that opens at once and runs no code.

`write_model` and `read_model` do not depend on parsers: the caller defines the meaning of arrays and
metadata. docs/model-file.md describes the format to the byte; `_safetensors` is its container.

A file is written whole or not at all. The same arrays and metadata give the same bytes. Arrays are
memory-mapped, so reading costs the header alone, and processes that read the same file share its memory.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import stat
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arbora import __version__
from arbora.errors import InputError, ModelError, as_utf8
from arbora.storage import _safetensors as container
from arbora.storage._safetensors import DAMAGED, METADATA, OTHER_FILE, PADDING, FaultError
from arbora.storage.files import replacing

FORMAT = 1
DOCUMENT = "arbora"  # the key of our JSON document among the container's metadata
MAX_DEPTH = 100
LARGEST_WEIGHT = 1e20
"""Weights beyond this are damage. Sums of many float32 weights up to this are still finite."""

KINDS = {
    "parser": "a parser; `arbora.load` reads it",
    "graph-parser": "a parser; `arbora.load` reads it",
    "induced-parser": "a parser induced without a treebank; `arbora.load` reads it",
    "pipeline": "a pipeline from text to trees; `arbora.load` reads it",
    "classifier": "a classifier; `arbora.learners.OnlineClassifier.load` reads it",
    "checkpoint": "an unfinished training; `arbora train --resume` continues it",
}
"""The kinds of files, as their metadata names them, and who reads them."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The content of a model file; arrays are read-only views of the file."""

    source: str
    format: int
    arbora_version: str
    metadata: Mapping[str, Any]
    tensors: Mapping[str, NDArray[Any]]
    checksum: str | None = None  # of the header, which contains that of the data; None if this is not a file
    content: NDArray[np.uint8] | None = None  # all bytes of the file, if this is one

    def error(self, what: str) -> ModelError:
        """Return an error about this file."""
        return ModelError(what, source=self.source)

    def entry(self, name: str, kind: type[T]) -> T:
        """Return `metadata[name]`; ModelError unless it is a `kind` (bool is no int here)."""
        value = self.metadata.get(name)
        if isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
            return value
        got = "none" if name not in self.metadata else type(value).__name__
        expected = f"{name!r} of type {kind.__name__}"
        raise self.error(f"metadata: expected {expected}, got {got}; is it a model of this kind?")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return `metadata[name]`; ModelError unless it lists distinct texts that treebanks can hold."""
        texts: list[Any] = self.entry(name, list)
        seen: set[str] = set()
        for text in texts:
            if not is_field(text) or text in seen:
                got = f"{str(text)[:80]!r}" + (" twice" if is_field(text) else "")
                raise self.error(f"{name}: expected distinct texts without tabs and line breaks, got {got}")
            seen.add(text)
        return tuple(texts)

    def require_kind(self, kind: str, wanted: str) -> None:
        """ModelError unless the metadata has this kind; `wanted` describes it."""
        got = self.entry("kind", str)
        if got != kind:
            other = f"{got[:40]!r}; the file is damaged or from another version"
            raise self.error(f"expected {wanted}, got {KINDS.get(got, other)}")

    def part(self, name: str) -> ModelFile:
        """Return one part of a file of several: its metadata, and the tensors named `{name}/...`."""
        parts = self.entry("parts", dict)
        metadata = parts.get(name)
        if not isinstance(metadata, dict):
            raise self.error(f"expected a part {name!r}, got {', '.join(map(repr, parts)) or 'none'}")
        return self.within(f"{name}/", metadata)

    def within(self, prefix: str, metadata: Mapping[str, Any]) -> ModelFile:
        """Return other metadata and the tensors whose names have this prefix, which is removed."""
        own = [name for name in self.tensors if name.startswith(prefix)]
        tensors = {name.removeprefix(prefix): self.tensors[name] for name in own}
        return replace(self, metadata=metadata, tensors=tensors)

    def tensor(self, name: str, dtype: DTypeLike, shape: Sequence[int | None]) -> NDArray[Any]:
        """Return `tensors[name]`; ModelError unless it has this dtype and shape (None: any)."""
        wanted = f"{np.dtype(dtype)}[{', '.join('any' if n is None else str(n) for n in shape)}]"
        array = self.tensors.get(name)
        if array is None:
            expected = f"a tensor {name!r}, {wanted}"
            raise self.error(f"expected {expected}, got none; is it a model of this kind?")
        fits = len(shape) == array.ndim and all(map(lambda n, m: n in (None, m), shape, array.shape))
        if array.dtype != np.dtype(dtype) or not fits:
            got = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
            raise self.error(f"tensor {name!r}: expected {wanted}, got {got}; {DAMAGED}")
        return array


def is_field(value: object) -> bool:
    """Return whether a column of a treebank can hold it."""
    return isinstance(value, str) and value != "" and not set("\t\n\r") & set(value)


def write_model(
    path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> None:
    """Save arrays and metadata as one file, whole or not at all.

    `tensors`: any shapes, little or big endian, of floats (16 to 64 bits) and integers (8 to 64 bits).
    `metadata`: JSON values; names are strings, numbers are finite. InputError for anything else. ModelError
    if the file cannot be written; an existing one is then unchanged.
    """
    # Sorted, so that insertion order leaves no trace in the file.
    stored = container.arranged({name: container.as_stored(name, array) for name, array in tensors.items()})
    contents = [array.reshape(-1).view(np.uint8).data for array in stored.values()]
    checksum = 0
    for content in contents:
        checksum = zlib.crc32(content, checksum)
    document = {
        "arbora_version": __version__,
        "data_crc32": checksum,
        "format": FORMAT,
        "metadata": _json_value(metadata, "metadata"),
    }
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    header = container.header_of(stored, {DOCUMENT: text})
    try:
        with replacing(Path(path), durable=True) as stream:
            stream.write(header)
            for content in contents:
                stream.write(content)
            stream.flush()
            _check_written(stream, stored)
    except (OSError, ValueError) as error:  # ValueError: a name that no system allows
        size = len(header) + sum(map(len, contents))
        is_full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = f"make room for {size:,} bytes, or save it elsewhere" if is_full else "save it elsewhere"
        why = getattr(error, "strerror", None) or error
        what = f"the model could not be saved ({why}); {advice}; an existing file is unchanged"
        raise ModelError(what, source=os.fspath(path)) from error


def read_model(path: str | os.PathLike[str], *, verify: bool = False) -> ModelFile:
    """Open a model file in O(header): arrays are mapped, and read only when used.

    The header is checked in full, checksum included. `verify` also reads the data, compares its checksum, and
    rejects weights that are not finite or beyond LARGEST_WEIGHT. ModelError if the file is missing, damaged,
    of another kind, or from a newer version.

    Do not overwrite an open file in place (`write_model` does not): its arrays would change.
    """
    source = os.fspath(path)
    try:
        return _parse(_map(path), source, verify=verify)
    except FaultError as error:
        raise ModelError(str(error), source=source) from error.__cause__


def _parse(content: bytes | mmap.mmap | memoryview, source: str, *, verify: bool = False) -> ModelFile:
    """The model in the bytes of a file; FaultError if they are damaged."""
    header, data = container.split_header(memoryview(content))
    entries = container.parse_object(header, "header")
    document = _document(entries)
    checksum = container.check_header(header)
    places = container.locate_tensors(entries, len(data))
    stated = document["data_crc32"]
    if verify and (actual := zlib.crc32(data)) != stated:
        raise FaultError(f"data: expected the checksum {stated}, got {actual}")
    flat = np.frombuffer(data, np.uint8)
    tensors = {
        name: flat[place.begin : place.end].view(place.dtype).reshape(place.shape)
        for name, place in places.items()
        if not name.startswith(PADDING)
    }
    version, metadata = document["arbora_version"], document["metadata"]
    if verify:
        _check_weights(tensors)
    whole = np.frombuffer(content, np.uint8)
    return ModelFile(source, document["format"], version, metadata, tensors, checksum, whole)


# ---------------------------------------------------------------- writing


def _check_written(stream: IO[bytes], stored: Mapping[str, NDArray[Any]]) -> None:
    """Let the official library read the file back before it replaces an older model."""
    if not stream.seekable() or not Path(stream.name).is_file():
        return
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(stream.name), framework="numpy") as opened:
            is_same = sorted(opened.keys()) == sorted(stored)
    except SafetensorError as error:
        raise OSError(f"the written file cannot be read back: {error}") from error
    if not is_same:
        raise OSError("the written file cannot be read back: its tensors differ")


def _json_value(value: Any, place: str, depth: int = 0) -> Any:
    """Return a copy of dicts and lists; InputError if JSON would lose something."""
    if depth > MAX_DEPTH:
        raise InputError(f"metadata: expected at most {MAX_DEPTH} levels, got more at {place[:80]}")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        as_utf8(place, value)
        return str(value)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InputError(f"{place}: expected names that are strings, got {name!r}")
        items = value.items()
        as_utf8(place, "".join(value))
        return {str(name): _json_value(item, f"{place}.{name}", depth + 1) for name, item in items}
    if isinstance(value, list | tuple):
        return [_json_value(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
    expected = "text, a finite number, true, false, null, a list or a mapping"
    got = repr(value) if isinstance(value, float) else type(value).__name__
    advice = "convert it first (arrays belong among the tensors)"
    raise InputError(f"{place}: expected {expected}, got {got}; {advice}")


# ---------------------------------------------------------------- reading


def _map(path: str | os.PathLike[str]) -> mmap.mmap | bytes:
    """Map the whole file; an empty one, which cannot be mapped, gives no bytes."""
    try:
        mode = Path(path).stat().st_mode  # before opening, which would wait at a pipe
        if stat.S_ISDIR(mode):
            raise FaultError("expected a model file, got a directory", "name the file in it")
        if not stat.S_ISREG(mode):
            raise FaultError("expected a plain file, got a device or a pipe", "save it to a file first")
        with Path(path).open("rb") as stream:
            if not os.fstat(stream.fileno()).st_size:
                return b""
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise FaultError("no such file", "check the name, or train a model first") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FaultError(f"cannot open the model ({why})", "check the name and its permissions") from error


def _document(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return our JSON document with checked types; a newer format is reported first."""
    metadata = entries.get(METADATA)
    text = metadata.get(DOCUMENT) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        got = f"a safetensors file without {DOCUMENT!r} in its metadata"
        raise FaultError(f"expected a model of Arbora, got {got}", OTHER_FILE)
    document = container.parse_object(text, DOCUMENT)
    number = document.get("format")
    if type(number) is int and number > FORMAT:
        version = f"{str(document.get('arbora_version'))[:40]}, format {str(number)[:40]}"
        what = f"written by a newer version of Arbora ({version}); expected format {FORMAT} at most"
        raise FaultError(what, f"upgrade Arbora (this is {__version__}), or train the model again")
    if number != FORMAT or type(number) is not int:
        raise FaultError(f"format: expected {FORMAT}, got {str(number)[:40]}")
    for name, kind in (("arbora_version", str), ("data_crc32", int), ("metadata", dict)):
        if type(document.get(name)) is not kind:
            got = type(document.get(name)).__name__
            raise FaultError(f"{DOCUMENT}.{name}: expected {kind.__name__}, got {got}")
    return document


def _check_weights(tensors: Mapping[str, NDArray[Any]]) -> None:
    for name, array in tensors.items():
        if array.dtype.kind == "f" and array.size:
            low, high = float(array.min()), float(array.max())  # NaN if there is one
            if not (low >= -LARGEST_WEIGHT and high <= LARGEST_WEIGHT):
                expected = f"numbers from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
                raise FaultError(f"tensor {name[:80]!r}: expected {expected}, got {low:g} to {high:g}")


# ---------------------------------------------------------------- models in other processes


Place = tuple[type["Reloaded"], str, str]
"""The class of a model, the absolute path of its file, and the file's checksum."""
_loaded: WeakValueDictionary[Place, Reloaded] = WeakValueDictionary()


class Reloaded(ABC):
    """Base of models that can be saved; never changed, so that copies may be shared.

    Pickles, by which models reach other processes and machines, hold the bytes of the model file. A process
    makes one model of them, which is in use until the last copy of it is gone; if the same file is there, its
    memory is shared with other processes. A model that is in no file is pickled as the tensors and metadata
    that it would have in one. Pickled results hold a `Reference` instead.
    """

    _place: Place | None = None
    _content: NDArray[np.uint8] | None = None

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and metadata for a model file."""

    @classmethod
    @abstractmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model from a file that is read."""

    @classmethod
    def from_whole(cls, file: ModelFile) -> Self:
        """Make the model from a file that may have other parts, too."""
        return cls.from_file(file)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, and check its data against its checksum."""
        return cls.from_whole(read_model(path, verify=True))

    def remember(self, file: ModelFile) -> Self:
        """Note that this model is in a file; return the model."""
        if file.checksum is not None:
            place = (type(self), str(Path(file.source).absolute()), file.checksum)
            object.__setattr__(self, "_place", place)
            object.__setattr__(self, "_content", file.content)
            _loaded[place] = self
        return self

    @property
    def checksum(self) -> str:
        """A checksum of the model: that of its file, if it was loaded from one."""
        if self._place is not None:
            return self._place[2]
        tensors, metadata = self.to_parts()
        found = zlib.crc32(json.dumps(metadata, sort_keys=True).encode())
        for name in sorted(tensors):
            found = zlib.crc32(np.ascontiguousarray(tensors[name]).tobytes(), found)
        return f"{found:08x}"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._place is None:
            return _rebuild, (type(self), *self.to_parts())
        return _reload, (self._place, self._content)

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Represents a model in pickled results: its place or, if it is in no file, the model."""

    to: Place | Reloaded

    @classmethod
    def of(cls, model: Reloaded) -> Reference:
        return cls(model if model._place is None else model._place)

    def get(self) -> Reloaded:
        """The model, which this process has or can read; ModelError if it cannot."""
        if isinstance(self.to, Reloaded):
            return self.to
        kind, path, checksum = self.to
        model = _loaded[self.to] if self.to in _loaded else kind.load(path)
        if model._place is None or model._place[2] != checksum:
            raise ModelError("the file has changed since the model was loaded; load it again", source=path)
        return model


def _reload(place: Place, content: NDArray[np.uint8]) -> Reloaded:
    if place in _loaded:
        return _loaded[place]
    kind, path, checksum = place
    file = None
    with suppress(ModelError):
        file = read_model(path)
    if file is None or file.checksum != checksum:
        file = _parse(content.data, path)
    return kind.from_whole(file)


def _rebuild(kind: type[Reloaded], tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Reloaded:
    return kind.from_file(ModelFile("the model", FORMAT, "", metadata, tensors))
