"""The container of a model file: the safetensors format, laid out for memory mapping.

    8 bytes      N, little-endian
    N bytes      header, JSON in UTF-8, filled up with spaces: name -> {dtype, shape, data_offsets};
                 "__metadata__" -> {string: string}
    the rest     the tensors' bytes, little-endian, C order, side by side without a hole

Writing: the data begins at a multiple of ALIGNMENT, and so does every tensor of at least that many bytes.
Since the format allows no hole, what is missing to the next multiple is a tensor of its own, whose name
begins with PADDING. The layout depends on names, shapes and dtypes alone.

Reading: the file is taken to be hostile. Nothing is allocated by a size that it states before that size
was held against the file's own, and each fault is a ModelError.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError, ModelError

ALIGNMENT = 64  # a cache line, and the widest vector register
PADDING = "arbora.padding."
METADATA = "__metadata__"
CHECKSUM = "arbora.header_crc32"
MAX_HEADER = 100_000_000  # the official library's limit, too
MAX_AXES = 32

DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "F32": "<f4", "F16": "<f2",
        "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
        "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
    }.items()
}  # fmt: skip
NAMES = {dtype.str: name for name, dtype in DTYPES.items()}
BLANK = "00000000"
_CHECKSUM_TEXT = re.compile(rb'"' + CHECKSUM.replace(".", r"\.").encode() + rb'":"([0-9a-f]{8})"')
AGAIN = "the file is damaged; copy it again, or train the model again"


class Tensor(NamedTuple):
    """Where a tensor lies: bytes `begin` to `end` of the data."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


# ---------------------------------------------------------------- writing


def as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and little-endian, copied only where it is not; InputError where it cannot be."""
    if not isinstance(name, str) or not name or name == METADATA or name.startswith(PADDING):
        raise InputError(
            f"tensors: expected names that are not empty, {METADATA!r} or {PADDING}*, got {name!r}"
        )
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in NAMES:
        known = ", ".join(str(dtype) for dtype in DTYPES.values())
        raise InputError(f"tensor {name!r}: expected one of {known}, got {array.dtype}; convert it first")
    if array.ndim > MAX_AXES:
        raise InputError(f"tensor {name!r}: expected at most {MAX_AXES} axes, got {array.ndim}")
    return np.asarray(array, dtype=dtype, order="C")


def arranged(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The tensors in the order in which they are stored, with the padding between them.

    First those that fill whole lines of ALIGNMENT bytes, then large ones that do not, with padding between
    them, last the small ones, wide items first, each aligned to its own item.
    """

    def rank(name: str) -> tuple[int, int, str]:
        array = tensors[name]
        if array.nbytes % ALIGNMENT == 0:
            return 0, 0, name
        return (1, 0, name) if array.nbytes > ALIGNMENT else (2, -array.itemsize, name)

    ordered: dict[str, NDArray[Any]] = {}
    place = 0
    for name in sorted(tensors, key=rank):
        large = tensors[name].nbytes >= ALIGNMENT
        gap = -place % (ALIGNMENT if large else tensors[name].itemsize)
        if gap:
            ordered[f"{PADDING}{place}"] = np.zeros(gap, np.uint8)
        ordered[name] = tensors[name]
        place += gap + tensors[name].nbytes
    return ordered


def header_of(ordered: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """N and the header for tensors in this order, with a checksum of itself; a multiple of ALIGNMENT long."""
    entries: dict[str, object] = {METADATA: {**metadata, CHECKSUM: BLANK}}
    place = 0
    for name, array in ordered.items():
        end = place + array.nbytes
        entries[name] = {"dtype": NAMES[array.dtype.str], "shape": array.shape, "data_offsets": (place, end)}
        place = end
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    if len(text) > MAX_HEADER:
        raise InputError(
            f"metadata: expected a header of at most {MAX_HEADER} bytes, got {len(text)}; "
            "store long lists as tensors"
        )
    blank, filled = (f'"{CHECKSUM}":"{digits}"'.encode() for digits in (BLANK, f"{zlib.crc32(text):08x}"))
    return len(text).to_bytes(8, "little") + text.replace(blank, filled, 1)


# ---------------------------------------------------------------- reading


def header_in(data: memoryview, source: str) -> tuple[bytes, memoryview]:
    """The header's bytes and the rest; ModelError where the file ends early or is something else."""
    if len(data) < 9 or data[8] != ord("{"):
        raise ModelError(f"expected a model, got {_looks_like(bytes(data[:512]))}", source=source)
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER:
        raise ModelError(
            f"header: expected a length of at most {MAX_HEADER} bytes, got {length}; {AGAIN}", source=source
        )
    if 8 + length > len(data):
        raise ModelError(
            f"header: expected {length} bytes, got {len(data) - 8}: the file is cut off; "
            "copy it again, or train the model again",
            source=source,
        )
    return bytes(data[8 : 8 + length]), data[8 + length :]


def _looks_like(start: bytes) -> str:
    if not start:
        return "an empty file; was it saved to the end? Copy it again, or train the model again"
    if start.startswith(b"\x1f\x8b"):
        return "a gzip file; unzip it first"
    if start.startswith(b"PK\x03\x04"):
        return "a zip archive (as .npz and .pt files are); name a model that `arbora train` wrote"
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle, which is never opened since it can run code; name a model that `arbora train` wrote"
    if all(byte >= 32 or byte in b"\t\n\r" for byte in start):
        return "a text file (a treebank?); name a model that `arbora train` wrote"
    return "a file of another kind; name a model that `arbora train` wrote"


def strict_json(text: str | bytes) -> Any:
    """JSON by the letter: no name twice, no NaN, valid Unicode; ValueError or RecursionError if not."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "strict")
    value = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_constant)
    if re.search(r"\\u[dD][89a-fA-F]", text):  # half a pair of surrogates cannot be written or printed
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {name[:80]!r} stands there twice")
            seen.add(name)
    return names


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def parsed(text: str | bytes, part: str, source: str) -> dict[str, Any]:
    """A JSON object in a file; `part` is what messages call it."""
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ModelError(
            f"{part}: expected JSON, got text that is none ({reason}); {AGAIN}", source=source
        ) from None
    if not isinstance(value, dict):
        raise ModelError(
            f"{part}: expected a JSON object, got a {type(value).__name__}; {AGAIN}", source=source
        )
    return value


def check_header(header: bytes, source: str) -> str:
    """Its checksum; ModelError unless it is byte for byte the one that was written. O(header)."""
    match = _CHECKSUM_TEXT.search(header)
    if match is None:
        raise ModelError(
            f"header: expected {CHECKSUM} with 8 hexadecimal digits, got none; {AGAIN}", source=source
        )
    blank = header[: match.start(1)] + BLANK.encode() + header[match.end(1) :]
    found, stated = f"{zlib.crc32(blank):08x}", match[1].decode()
    if found != stated:
        raise ModelError(f"header: expected the checksum {stated}, got {found}; {AGAIN}", source=source)
    return found


def tensors_in(entries: Mapping[str, Any], size: int, source: str) -> dict[str, Tensor]:
    """Where each tensor lies in `size` bytes of data, padding included; they cover it, and each byte once."""
    found = {name: _tensor(name, entry, size, source) for name, entry in entries.items() if name != METADATA}
    place = 0
    for name, tensor in sorted(found.items(), key=lambda item: item[1][2:]):
        if tensor.begin != place:
            how = "overlaps another" if tensor.begin < place else "leaves a hole"
            raise ModelError(
                f"tensor {name[:80]!r}: expected it to begin at byte {place}, got {tensor.begin}, "
                f"which {how}; {AGAIN}",
                source=source,
            )
        place = tensor.end
    if place != size:
        raise ModelError(f"expected {place} bytes of tensors, got {size}; {AGAIN}", source=source)
    return found


def _tensor(name: str, entry: object, size: int, source: str) -> Tensor:
    def fail(what: str, expected: str, got: object) -> ModelError:
        text = f"tensor {name[:80]!r}: {what}: expected {expected}, got {_shown(got)}; {AGAIN}"
        return ModelError(text, source=source)

    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise fail("entry", "an object with dtype, shape and data_offsets", entry)
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise fail("dtype", f"one of {', '.join(DTYPES)}", entry["dtype"])
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or len(shape) > MAX_AXES:
        raise fail("shape", f"a list of at most {MAX_AXES} whole numbers from 0", shape)
    if math.prod(max(length, 1) for length in shape) >= 2**60:
        raise fail("shape", "one that fits into memory", shape)
    if _are_sizes(offsets) and len(offsets) == 2 and offsets[0] <= offsets[1] and offsets[1] > size:
        raise ModelError(
            f"tensor {name[:80]!r}: data_offsets: expected at least {_shown(offsets[1])} bytes of tensors, "
            f"got {size}: the file is cut off; copy it again, or train the model again",
            source=source,
        )
    if not _are_sizes(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= size:
        raise fail("data_offsets", f"begin and end, ascending, at most {size}", offsets)
    begin, end = offsets
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise fail("data_offsets", f"{math.prod(shape) * dtype.itemsize} bytes for its shape", end - begin)
    if begin % dtype.itemsize:
        raise fail("data_offsets", f"a begin at a multiple of {dtype.itemsize}", begin)
    return Tensor(dtype, tuple(shape), begin, end)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _shown(value: object) -> str:
    try:
        return str(value)[:80]
    except RecursionError:
        return f"a {type(value).__name__} nested too deeply"
