"""Examples as sparse rows, from arrays, SciPy's sparse matrices or named features."""

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
    """Sparse rows of numbers: row i has the entries from `offsets[i]` to `offsets[i + 1]`."""

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
        """Select rows by a slice, indices, a mask or one index; IndexError if a row does not exist.

        `rows[key, :]` and `rows[key, ...]` are the same; columns cannot be selected.
        """
        if isinstance(key, tuple):
            chosen, *rest = key or (None,)
            if len(rest) > 1 or not all(each is Ellipsis or each == slice(None) for each in rest):
                raise InputError(f"rows: expected a choice of rows, got {key!r}; columns cannot be selected")
            return self[chosen]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            key = [key]
        return self.take(key)

    def take(self, rows: Any) -> SparseRows:
        """Select rows by indices, a mask or a slice."""
        chosen = np.arange(len(self))[rows]
        if chosen.ndim != 1:
            raise InputError(f"rows: expected a slice, a list of indices or a mask, got {rows!r}")
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return SparseRows(offsets, self.columns[places], self.values[places], self.width)

    def tocsr(self) -> Any:
        """The rows as a SciPy sparse array; needs SciPy."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.offsets), shape=self.shape)

    def __array__(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        """Raise TypeError: a dense array could take all memory."""
        raise TypeError(
            f"SparseRows of shape {self.shape} do not become a dense array; use `rows.tocsr()`, a SciPy "
            "sparse array, for functions that do not know SparseRows"
        )

    def examples(self, bias: float) -> _core.MulticlassExamples:
        """The rows for native code; a bias other than 0 adds a column with this value in every row."""
        return _core.MulticlassExamples(self.offsets, self.columns, self.values, self.width, bias)


def sparse_rows(X: Any) -> SparseRows:
    """Rows of a two-dimensional array, of a SciPy sparse matrix, or SparseRows as they are.

    InputError unless they have two dimensions, at least one row and column, and finite numbers.
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
    return rows_of(offsets, columns, values, int(width))


def require_some(count: int, width: int) -> None:
    """InputError if there are no rows, or no columns."""
    if not count or not width:
        what, next_step = ("sample", "examples") if not count else ("feature", "features of each example")
        raise InputError(
            f"X: found array with 0 {what}(s) (shape=({count}, {width})) while a minimum of 1 is required. "
            f"Give some {next_step}"
        )


def numbers(given: Any) -> Doubles:
    """An array of numbers; InputError if they are something else."""
    array = np.asarray(given)
    if array.dtype.kind == "c":
        raise InputError("X: Complex data not supported, expected real numbers")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        message = f"X: expected numbers: argument must be a string or a real number ({error})"
        # Objects have the wrong type, text that is not a number has the wrong value.
        raise (TypeError if isinstance(error, TypeError) else InputError)(message) from error


def rows_of(offsets: Any, columns: Any, values: Doubles, width: int) -> SparseRows:
    """Rows with values as float32; InputError unless they are finite, also in float32."""
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise InputError("X: expected finite numbers that a float32 can hold, got NaN, inf or larger ones")
    offsets, columns = (np.ascontiguousarray(each, dtype=np.int64) for each in (offsets, columns))
    return SparseRows(offsets, columns, np.ascontiguousarray(values, dtype=np.float32), width)


def hashed_rows(
    examples: Iterable[Mapping[str, float] | Iterable[str]], *, bits: int = HASH_BITS
) -> SparseRows:
    """Rows of named features; each name is hashed to one of 2^bits columns.

    An example maps names to values, or is a list of names with the value 1.
    """
    if not 1 <= bits <= 30:
        raise InputError(f"bits: expected 1 to 30, got {bits!r}")
    offsets, columns, values = [0], [], []
    places: dict[str, int] = {}
    for example in examples:
        if isinstance(example, str):
            raise InputError(f"examples: expected names of features per example, got one text, {example!r}")
        named = example if isinstance(example, Mapping) else dict.fromkeys(example, 1.0)
        for name, value in named.items():
            if name not in places:
                places[name] = hashed(name, bits)
            columns.append(places[name])
            values.append(value)
        offsets.append(len(columns))
    return rows_of(offsets, columns, numbers(values), 1 << bits)


def hashed(name: str, bits: int) -> int:
    """The column of a feature; the same on every machine and in every version."""
    if not isinstance(name, str):
        raise InputError(f"examples: expected text as the name of a feature, got {name!r}")
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - bits)


def quadratic_expansion(X: Any, *, bits: int = HASH_BITS) -> SparseRows:
    """All features of each row, and the products of all pairs, in 2^bits columns.

    On these a linear classifier equals one with a quadratic kernel if features are 0 or 1, without the
    kernel's sum over examples. Columns are hashed, so a few pairs share one. `X`: as for `sparse_rows`.
    """
    rows = sparse_rows(X)
    made = _core.quadratic_expansion(rows.offsets, rows.columns, rows.values, bits)
    return SparseRows(*made, 1 << bits)
