"""Examples as sparse rows, from whatever they are given as: arrays, SciPy's matrices, named features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora import _core
from arbora.errors import InputError
from arbora.types import Doubles, Floats, Longs

HASH_BITS = 18


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of numbers of which most are 0: row i is entries `offsets[i]` to `offsets[i + 1]`."""

    offsets: Longs
    columns: Longs
    values: Floats
    width: int  # The number of columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.width

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> SparseRows:
        """Some of the rows: by a slice, by numbers or by a mask; by one number, a single row.

        `rows[key, :]` and `rows[key, ...]` are the same; columns cannot be chosen. IndexError where there is
        no such row.
        """
        if isinstance(key, tuple):
            chosen, *rest = key or (None,)
            if len(rest) > 1 or not all(each is Ellipsis or each == slice(None) for each in rest):
                raise InputError(f"rows: expected a choice of rows, got {key!r}; columns cannot be chosen")
            return self[chosen]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            key = [key]
        return self.take(key)

    def take(self, rows: Any) -> SparseRows:
        """Some of the rows, by number, by a mask or by a slice."""
        chosen = np.arange(len(self))[rows]
        if chosen.ndim != 1:
            raise InputError(
                f"rows: expected a slice, a list of numbers or a mask to choose rows by, got {rows!r}"
            )
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return SparseRows(offsets, self.columns[places], self.values[places], self.width)

    def tocsr(self) -> Any:
        """The same as one of SciPy's sparse arrays, for tools that know only these; needs SciPy."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.offsets), shape=self.shape)

    def __array__(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        """There is none: TypeError, before a table of mostly zeros takes all memory."""
        raise TypeError(
            f"SparseRows of shape {self.shape} were asked for as an array of numbers, zeros and all; "
            "give `rows.tocsr()`, one of SciPy's sparse arrays, where SparseRows are not known"
        )

    def examples(self, bias: float) -> _core.MulticlassExamples:
        """For native code; with a bias other than 0, a column more that has this value in every row."""
        return _core.MulticlassExamples(self.offsets, self.columns, self.values, self.width, bias)


def sparse_rows(X: Any) -> SparseRows:
    """Rows of a two-dimensional array, of one of SciPy's sparse matrices, or SparseRows as they are.

    InputError where they have not two dimensions, no columns, or numbers that are not finite.
    """
    if isinstance(X, SparseRows):
        require_some(*X.shape)
        return X
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        offsets, columns, values = matrix.indptr, matrix.indices, numbers(matrix.data)
        count, width = matrix.shape
    else:
        array = numbers(X)
        if array.shape == (0,):
            require_some(0, 0)
        if array.ndim != 2:
            raise InputError(
                f"X: expected 2 dimensions, rows and columns, got {array.ndim}. Reshape your data: "
                "X.reshape(1, -1) is one row, X.reshape(-1, 1) one column"
            )
        count, width = array.shape
        rows, columns = np.nonzero(array)
        values = array[rows, columns]
        offsets = np.searchsorted(rows, np.arange(count + 1))
    require_some(count, width)
    return SparseRows(
        np.ascontiguousarray(offsets, dtype=np.int64),
        np.ascontiguousarray(columns, dtype=np.int64),
        as_float32(values),
        int(width),
    )


def require_some(count: int, width: int) -> None:
    """InputError where there are no rows, or no columns."""
    if not count or not width:
        what, next_step = ("sample", "examples") if not count else ("feature", "features of each example")
        raise InputError(
            f"X: found array with 0 {what}(s) (shape=({count}, {width})) while a minimum of 1 is required. "
            f"Give some {next_step}"
        )


def numbers(given: Any) -> Doubles:
    """An array of numbers; InputError where they are something else."""
    array = np.asarray(given)
    if array.dtype.kind == "c":
        raise InputError("X: Complex data not supported, expected real numbers")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        message = f"X: expected numbers: argument must be a string or a real number ({error})"
        # A list of something else than numbers has the wrong type; text that is no number, the wrong value.
        raise (TypeError if isinstance(error, TypeError) else InputError)(message) from error


def as_float32(values: Doubles) -> Floats:
    """As they are stored; InputError where they are not finite, or would not be."""
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise InputError("X: expected finite numbers that a float32 can hold, got NaN, inf or larger ones")
    return np.ascontiguousarray(values, dtype=np.float32)


def hashed_rows(
    examples: Iterable[Mapping[str, float] | Iterable[str]], *, bits: int = HASH_BITS
) -> SparseRows:
    """Rows of named features, each name hashed to one of 2^bits columns.

    An example maps names to values, or is a list of names, which all have the value 1.
    """
    if not 1 <= bits <= 30:
        raise InputError(f"bits: expected 1 to 30, got {bits!r}")
    offsets, columns, values = [0], [], []
    places: dict[str, int] = {}
    for example in examples:
        named = example if isinstance(example, Mapping) else dict.fromkeys(names_in(example), 1.0)
        for name, value in named.items():
            if name not in places:
                places[name] = hashed(name, bits)
            columns.append(places[name])
            values.append(value)
        offsets.append(len(columns))
    return SparseRows(
        np.array(offsets, dtype=np.int64),
        np.array(columns, dtype=np.int64),
        as_float32(numbers(values)),
        1 << bits,
    )


def names_in(example: Iterable[str]) -> Iterable[str]:
    """The names of an example that is a list of them; InputError where it is one text."""
    if isinstance(example, str):
        raise InputError(
            f"examples: expected names of features for each example, got a single text, {example!r}"
        )
    return example


def hashed(name: str, bits: int) -> int:
    """The column of a feature: the same on every machine and in every version."""
    if not isinstance(name, str):
        raise InputError(f"examples: expected names of features that are text, got {name!r}")
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - bits)


def quadratic_expansion(X: Any, *, bits: int = HASH_BITS) -> SparseRows:
    """Every feature of a row, and every pair of two with the product of their values, in 2^bits columns.

    A linear classifier on these sees what a quadratic kernel sees of features that are 0 or 1, without the
    kernel's sum over examples. Columns are hashed, so that a few pairs share one. `X`: as for `sparse_rows`.
    """
    rows = sparse_rows(X)
    made = _core.quadratic_expansion(rows.offsets, rows.columns, rows.values, bits)
    return SparseRows(*made, 1 << bits)
