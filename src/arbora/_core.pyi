"""Native core of Arbora."""

from typing import Annotated

import numpy
import numpy.typing
from numpy.typing import NDArray


class ConllColumns:
    """Sentences as flat arrays; see arbora.data.columns."""

    def ids(self, column: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    def strings(self, column: int) -> list[str]: ...

    @property
    def heads(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def sentence_offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_offsets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def sentence_lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def blank_lines(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def carriage_returns(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_kinds(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]: ...

    @property
    def extra_positions(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def byte_order_mark(self) -> bool: ...

    @property
    def final_newline(self) -> bool: ...

    @property
    def leading_blank_lines(self) -> int: ...

    def extra_texts(self) -> list[str]: ...

    def to_bytes(self) -> bytes: ...

class ConllReader:
    """Reads CoNLL-U or CoNLL-X in pieces; see arbora.data.treebank."""

    def __init__(self, *, conllx: bool, single_root: bool, lenient: bool) -> None: ...

    def parse(self, text: bytes, last: bool) -> int: ...

    def take(self) -> ConllColumns: ...

    def take_problems(self) -> list[tuple[int, str, str, str]]: ...

    @property
    def failed(self) -> bool: ...

    @property
    def skipped(self) -> int: ...

def measure_trees(heads: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64]) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]:
    """
    Per word: is its arc non-projective; per sentence: depth and number of roots (-1: no tree).
    """
