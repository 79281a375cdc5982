"""Weights as stored: exactly, or in one byte each; zeros take an eighth of a byte where there are many.

Exact weights of which a quarter can be saved are their values with a bitmap of their places; others are one
tensor, which is memory-mapped.

Quantized values are split into blocks of BLOCK. A block stores its largest magnitude s, and a value w in it
becomes a sign and the nearest of 128 levels of |w| / s (mu-law companding; ties go to the lower level):

    level(q) = ((1 + MU)^(q / 127) - 1) / MU,    q = 0 .. 127
    |w - restored| <= ln(1 + MU) / 254 * (1 + ln(1 + MU) / 127) * (|w| + s / MU)

that is 1.9% of the weight plus 0.019% of the block's largest. Zero stays zero, and no sign changes. The
levels are stored, too, so that the restored weights are the same on every machine.

If enough weights are zero, only the others are stored, in blocks, with the same bitmap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arbora.errors import InputError, ModelError
from arbora.storage._safetensors import FaultError
from arbora.types import Floats, Longs

if TYPE_CHECKING:
    from arbora.storage.model_file import ModelFile

BLOCK = 256
MU = 100.0
TOP = 127  # the largest code
SHARE = 0.75  # zeros of exact weights are left out where this share of the bytes or less remains
QUANTIZED: dict[str, np.dtype[Any]] = {
    "shape": np.dtype(np.int64),
    "levels": np.dtype(np.float32),
    "codes": np.dtype(np.int8),
    "scales": np.dtype(np.float32),
    "nonzero": np.dtype(np.uint8),  # only if zeros are left out
}
EXACT: dict[str, np.dtype[Any]] = {
    "shape": np.dtype(np.int64),
    "values": np.dtype(np.float32),
    "nonzero": np.dtype(np.uint8),
}


def stored(weights: Floats, name: str = "weights", *, quantized: bool) -> dict[str, NDArray[Any]]:
    """Tensors that hold float32 weights, quantized or exactly; `flat_weights` reads both. O(size)."""
    if quantized:
        return quantize(weights, name)
    flat = np.ascontiguousarray(weights, np.float32).reshape(-1)
    nonzero = flat.view(np.uint32) != 0  # -0.0 has a bit that must be kept
    if 4 * np.count_nonzero(nonzero) + flat.size / 8 > SHARE * flat.nbytes:
        return {name: weights}
    shape = np.array(np.shape(weights), np.int64)
    parts = {"shape": shape, "values": flat[nonzero], "nonzero": np.packbits(nonzero, bitorder="little")}
    return {f"{name}.{part}": tensor for part, tensor in parts.items()}


def quantize(weights: ArrayLike, name: str = "weights") -> dict[str, NDArray[Any]]:
    """Quantize finite weights of any shape to tensors named `{name}.codes` and so on.

    At most 1.02 bytes per weight, 0.125 + 1.02 per weight that is not zero if that is less; O(size).
    """
    array = np.asarray(weights)
    if array.dtype.kind not in "fiu":
        raise InputError(f"weights: expected an array of numbers, got {array.dtype}")
    with np.errstate(over="ignore"):  # reported below
        flat = array.astype(np.float32, copy=False).ravel()
    if not np.isfinite(flat).all():
        got = "NaN, infinity, or too large a number for float32"
        raise InputError(f"weights: expected finite numbers, got {got}")
    levels = np.array([math.expm1(q * math.log1p(MU) / TOP) / MU for q in range(TOP + 1)], np.float32)
    tensors: dict[str, NDArray[Any]] = {"shape": np.array(array.shape, np.int64), "levels": levels}
    nonzero = flat != 0
    count = int(np.count_nonzero(nonzero))
    if count + math.ceil(flat.size / 8) < flat.size:
        tensors["nonzero"] = np.packbits(nonzero, bitorder="little")
        flat = flat[nonzero]
    tensors["codes"], tensors["scales"] = _encode(flat, levels)
    return {f"{name}.{part}": tensor for part, tensor in tensors.items()}


def dequantize(
    tensors: Mapping[str, NDArray[Any]], name: str = "weights", *, source: str = "<model>"
) -> Floats:
    """Restore the weights of `quantize` or `stored` as a new float32 array; O(size).

    Other tensors are ignored. ModelError, with the file's name `source`, if those of this name are
    inconsistent.
    """
    kinds = EXACT if f"{name}.values" in tensors else QUANTIZED
    parts = {part: tensors[f"{name}.{part}"] for part in kinds if f"{name}.{part}" in tensors}
    try:
        _check_types(parts, kinds)
        shape = _checked_shape(parts)
        if kinds is EXACT:
            values = parts["values"]
        else:
            _check_codes(parts)
            values = _decode(parts["codes"], parts["scales"], parts["levels"])
        if "nonzero" not in parts:
            _expect(len(values) == math.prod(shape), "codes", math.prod(shape), len(values))
            return values.reshape(shape)
        weights: Floats = np.zeros(math.prod(shape), np.float32)
        weights[_places(parts["nonzero"], len(weights), len(values))] = values
        return weights.reshape(shape)
    except FaultError as error:
        raise ModelError(f"tensor '{name}.{error}", source=source) from None


def flat_weights(file: ModelFile, name: str, size: int | None = None) -> Floats:
    """The weights of `stored` in a file, in one row; ModelError unless there are `size` of them.

    They are memory-mapped where they are one tensor.
    """
    if f"{name}.shape" not in file.tensors:
        return file.tensor(name, np.float32, [size])
    weights = dequantize(file.tensors, name, source=file.source).reshape(-1)
    if size not in (None, weights.size):
        raise file.error(f"tensor {name!r}: expected {size} weights, got {weights.size}")
    return weights


def _encode(values: Floats, levels: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Codes [size] and scales [blocks]."""
    blocks = np.zeros((math.ceil(values.size / BLOCK), BLOCK), np.float32)
    blocks.reshape(-1)[: values.size] = values
    scales = np.abs(blocks).max(axis=1, initial=0.0)
    # In float64, in which even the smallest float32 has an inverse.
    relative = np.abs(blocks).astype(np.float64)
    relative /= np.where(scales > 0, scales, 1)[:, None].astype(np.float64)
    middles = (levels[:-1].astype(np.float64) + levels[1:].astype(np.float64)) / 2
    codes = np.searchsorted(middles, relative.reshape(-1)[: values.size]).astype(np.int8)
    np.negative(codes, out=codes, where=values < 0)
    return codes, scales


def _decode(codes: NDArray[np.int8], scales: Floats, levels: Floats) -> Floats:
    """Values [size]."""
    # Indexed by a code's bits: 0 .. 127, then -128 (never written) .. -1.
    table = np.concatenate([levels, levels[:1], -levels[:0:-1]])
    values: Floats = table.take(codes.view(np.uint8))
    whole = codes.size // BLOCK * BLOCK
    values[:whole].reshape(-1, BLOCK)[...] *= scales[: whole // BLOCK, None]
    values[whole:] *= scales[whole // BLOCK :]
    return values


def _expect(good: bool, part: str, expected: object, got: object) -> None:
    if not good:
        raise FaultError(f"{part}': expected {expected}, got {got}")


def _check_types(parts: Mapping[str, NDArray[Any]], kinds: Mapping[str, np.dtype[Any]]) -> None:
    for part, dtype in kinds.items():
        tensor = parts.get(part)
        if tensor is None:
            _expect(part == "nonzero" and kinds is QUANTIZED, part, "a tensor", "none")
        else:
            fits = tensor.dtype == dtype and tensor.ndim == 1
            _expect(fits, part, f"{dtype}[any]", f"{tensor.dtype}{list(tensor.shape)}")


def _checked_shape(parts: Mapping[str, NDArray[Any]]) -> tuple[int, ...]:
    """Return the shape of the weights, for which there are enough bytes."""
    shape = tuple(int(length) for length in parts["shape"][:33])
    _expect(len(shape) <= 32 and min(shape, default=0) >= 0, "shape", "at most 32 lengths from 0", shape)
    bound = 8 * len(parts["nonzero"]) if "nonzero" in parts else len(parts["codes"])
    _expect(math.prod(shape) <= bound, "shape", f"one of at most {bound} weights", shape)
    size = math.prod(max(length, 1) for length in shape)
    _expect(size < 2**60, "shape", "one that fits into memory", shape)
    return shape


def _check_codes(parts: Mapping[str, NDArray[Any]]) -> None:
    """Check the lengths and values of quantized weights."""
    blocks = math.ceil(len(parts["codes"]) / BLOCK)
    for part, count in (("scales", blocks), ("levels", TOP + 1)):
        _expect(len(parts[part]) == count, part, f"{count} numbers", len(parts[part]))
        top = 1.0 if part == "levels" else float(np.finfo(np.float32).max)  # so that products are finite
        good = bool((np.abs(parts[part]) <= top).all())  # false for NaN, too
        _expect(good, part, f"numbers up to {top:g}", "others")
    lowest = int(parts["codes"].min(initial=0))
    _expect(lowest >= -TOP, "codes", f"numbers from {-TOP}", lowest)


def _places(bitmap: NDArray[Any], size: int, count: int) -> Longs:
    """Return the indices of the `count` weights that are not zero, ascending."""
    _expect(len(bitmap) == math.ceil(size / 8), "nonzero", f"{math.ceil(size / 8)} bytes", len(bitmap))
    places = np.flatnonzero(np.unpackbits(bitmap, bitorder="little").view(np.bool_))
    _expect(len(places) == count, "nonzero", f"{count} set bits", len(places))
    _expect(not count or places[-1] < size, "nonzero", f"bits below {size}", places[-1:])
    return places
