"""The container of a model file: the safetensors format, laid out for memory mapping.

docs/model-file.md describes it to the byte. The data and every tensor of at least ALIGNMENT bytes begin at a
multiple of ALIGNMENT. The format allows no gaps, so the padding is a tensor of its own, with a name that
begins with PADDING. The layout depends on names, shapes and dtypes only.

A file that is read is taken to be hostile. A size in the file is compared with the file's own before anything
of that size is allocated, and each fault is a FaultError.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arbora.errors import InputError

ALIGNMENT = 64  # a cache line, and the widest vector register
PADDING = "arbora.padding."
METADATA = "__metadata__"
CHECKSUM = "arbora.header_crc32"
MAX_HEADER = 100_000_000  # as in the official library
MAX_AXES = 32
MAX_TENSORS, MAX_OBJECTS = 100_000, 300_000

CODES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
DTYPES = {f"{code[0].upper()}{8 * int(code[1])}": np.dtype(f"<{code}") for code in CODES}
NAMES = {dtype.str: name for name, dtype in DTYPES.items()}
BLANK = "00000000"
_CHECKSUM_TEXT = re.compile(rb'"' + CHECKSUM.replace(".", r"\.").encode() + rb'":"([0-9a-f]{8})"')
DAMAGED = "the file is damaged; copy it again, or train the model again"
CUT_OFF = "the file is cut off; copy it again, or train the model again"
OTHER_FILE = "name a model that `arbora train` wrote"


OTHER_KINDS = (
    (rb"\Z", "an empty file", CUT_OFF),
    (rb"\x1f\x8b", "a gzip file", "unzip it first"),
    (rb"PK\x03\x04", "a zip archive (such as .npz and .pt files)", OTHER_FILE),
    (rb"\x80[\x02-\x05]", "a pickle, which is never opened since it can run code", OTHER_FILE),
    (rb"[\t\n\r\x20-\xff]*\Z", "a text file (a treebank?)", OTHER_FILE),
    (rb"", "a file of another kind", OTHER_FILE),
)


class FaultError(Exception):
    """The fault of a model file, with advice; becomes a ModelError with the file's name."""

    def __init__(self, what: str, advice: str = DAMAGED) -> None:
        super().__init__(f"{what}; {advice}")


class Tensor(NamedTuple):
    """A tensor at bytes `begin` to `end` of the data."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


# ---------------------------------------------------------------- writing


def as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in C order and little-endian, copied if needed; InputError if it cannot be stored."""
    if not isinstance(name, str) or not name or name == METADATA or name.startswith(PADDING):
        expected = f"names that are not empty, {METADATA!r} or {PADDING}*"
        raise InputError(f"tensors: expected {expected}, got {name!r}")
    array = np.asarray(array)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in NAMES:
        known = ", ".join(str(dtype) for dtype in DTYPES.values())
        raise InputError(f"tensor {name!r}: expected one of {known}, got {array.dtype}; convert it first")
    if array.ndim > MAX_AXES:
        raise InputError(f"tensor {name!r}: expected at most {MAX_AXES} axes, got {array.ndim}")
    return np.asarray(array, dtype=dtype, order="C")


def arranged(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the tensors in the order of the file, with padding.

    First those of whole lines of ALIGNMENT bytes, then the other large ones, padded, last the small ones,
    wide items first, each aligned to its item size.
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
    """Return N and the header, with its own checksum; the length is a multiple of ALIGNMENT."""
    entries: dict[str, object] = {METADATA: {**metadata, CHECKSUM: BLANK}}
    place = 0
    for name, array in ordered.items():
        end = place + array.nbytes
        entries[name] = {"dtype": NAMES[array.dtype.str], "shape": array.shape, "data_offsets": (place, end)}
        place = end
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    if len(text) > MAX_HEADER:
        expected = f"a header of at most {MAX_HEADER} bytes"
        raise InputError(f"metadata: expected {expected}, got {len(text)}; store long lists as tensors")
    blank, filled = (f'"{CHECKSUM}":"{digits}"'.encode() for digits in (BLANK, f"{zlib.crc32(text):08x}"))
    return len(text).to_bytes(8, "little") + text.replace(blank, filled, 1)


# ---------------------------------------------------------------- reading


def split_header(data: memoryview) -> tuple[bytes, memoryview]:
    """Return the header and the rest; FaultError if the file ends early or is of another kind."""
    if len(data) < 9 or data[8] != ord("{"):
        start = bytes(data[:512])
        kind, advice = next(other for pattern, *other in OTHER_KINDS if re.match(pattern, start))
        raise FaultError(f"expected a model, got {kind}", advice)
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER:
        raise FaultError(f"header: expected a length of at most {MAX_HEADER} bytes, got {length}")
    if 8 + length > len(data):
        raise FaultError(f"header: expected {length} bytes, got {len(data) - 8}", CUT_OFF)
    header = bytes(data[8 : 8 + length])
    if (objects := header.count(b"{")) > MAX_OBJECTS:  # which take minutes to read
        raise FaultError(f"header: expected at most {MAX_OBJECTS:,} objects, got {objects:,}")
    return header, data[8 + length :]


def parse_object(text: str | bytes, part: str) -> dict[str, Any]:
    """Parse a JSON object strictly: no name twice, no NaN, valid Unicode; messages call it `part`."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = json.loads(text, object_pairs_hook=_unique_names, parse_constant=_reject_constant)
        if re.search(r"\\u[dD][89a-fA-F]", text):  # half a surrogate pair cannot be written or printed
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FaultError(f"{part}: expected JSON, got text that is not ({reason})") from None
    if not isinstance(value, dict):
        raise FaultError(f"{part}: expected a JSON object, got a {type(value).__name__}")
    return value


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        [(name, count)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {name[:80]!r} occurs {count} times")
    return names


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def check_header(header: bytes) -> str:
    """Return the header's checksum; FaultError unless the header is the one that was written. O(header)."""
    match = _CHECKSUM_TEXT.search(header)
    if match is None:
        raise FaultError(f"header: expected {CHECKSUM} with 8 hexadecimal digits, got none")
    blank = header[: match.start(1)] + BLANK.encode() + header[match.end(1) :]
    actual, stated = f"{zlib.crc32(blank):08x}", match[1].decode()
    if actual != stated:
        raise FaultError(f"header: expected the checksum {stated}, got {actual}")
    return actual


def locate_tensors(entries: Mapping[str, Any], size: int) -> dict[str, Tensor]:
    """Return the place of each tensor, padding included; they cover all `size` bytes exactly once."""
    if len(entries) > MAX_TENSORS:
        raise FaultError(f"header: expected at most {MAX_TENSORS:,} tensors, got {len(entries):,}")
    tensors = {name: _tensor(name, entry, size) for name, entry in entries.items() if name != METADATA}
    place = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1][2:]):
        if tensor.begin != place:
            how = "overlaps another" if tensor.begin < place else "leaves a gap"
            expected = f"expected it to begin at byte {place}, got {tensor.begin}, which {how}"
            raise FaultError(f"tensor {name[:80]!r}: {expected}")
        place = tensor.end
    if place != size:
        raise FaultError(f"expected {place} bytes of tensors, got {size}")
    return tensors


def _tensor(name: str, entry: object, size: int) -> Tensor:
    def fail(what: str, expected: str, got: object, advice: str = DAMAGED) -> FaultError:
        return FaultError(
            f"tensor {name[:80]!r}: {what}: expected {expected}, got {reprlib.repr(got)}", advice
        )

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
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise fail("data_offsets", f"begin and end, ascending, at most {size}", offsets)
    begin, end = offsets
    if end > size:
        raise fail("data_offsets", f"at least {end} bytes of tensors", size, CUT_OFF)
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise fail("data_offsets", f"{math.prod(shape) * dtype.itemsize} bytes for its shape", end - begin)
    if begin % dtype.itemsize:
        raise fail("data_offsets", f"a begin at a multiple of {dtype.itemsize}", begin)
    return Tensor(dtype, tuple(shape), begin, end)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
