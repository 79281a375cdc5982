"""Shards: the parts of a corpus that are parsed one by one.

A shard is a file, or a range of a large one. Ranges begin and end where a text may be cut: after a blank
line, or a line of JSON. Both ends are found from their nominal places when the shard is read: planning reads
nothing but sizes, and any two workers find the same ends.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from arbora.distributed.inputs import Input, Kind
from arbora.errors import DataError, import_package
from arbora.storage.files import PIECE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WINDOW = 1 << 16
"""Bytes in which a blank line is looked for before any line end will do."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file, or a range of it: bytes, or row groups of a table."""

    name: str
    """Of its output, without the ending; the same in every run."""
    path: str
    kind: Kind
    start: int = 0
    end: int | None = None
    """Nominal ends in bytes, or the first row group and the one after the last; None: the end of the file."""

    @property
    def document(self) -> str:
        """The id of the document that a text is: the file's name; empty if it goes on from another shard."""
        return "" if self.start else self.name.removesuffix(FIRST)


FIRST = ".00000"


def plan_shards(inputs: Iterable[Input], size: int) -> Iterator[Shard]:
    """Shards of about `size` bytes, in the order of inputs; a compressed file is one shard. O(shards)."""
    for each in inputs:
        if each.is_compressed or each.size <= size:
            yield Shard(each.name, each.path, each.kind)
            continue
        starts = list(range(0, each.size, size))
        if each.kind == "parquet":
            starts = _group_starts(each.path, size)
        ends = [*starts[1:], None]
        numbered = [
            f"{each.name}.{number:05d}" if len(starts) > 1 else each.name for number in range(len(starts))
        ]
        for name, start, end in zip(numbered, starts, ends, strict=True):
            yield Shard(name, each.path, each.kind, start, end)


def is_shard_of(shard: str, name: str) -> bool:
    """Whether a shard of this name belongs to the input of that name."""
    return shard == name or (shard.startswith(f"{name}.") and shard[len(name) + 1 :].isdecimal())


def count_shards(inputs: Iterable[Input], size: int) -> int:
    """How many shards there are. O(inputs), without a list of them."""
    return sum(1 for _ in plan_shards(inputs, size))


def open_table(path: str) -> Any:
    """Open a Parquet file; DataError if it is none."""
    parquet = import_package("pyarrow.parquet", "pip install 'arbora-nlp[table]'")
    pa = import_package("pyarrow", "pip install 'arbora-nlp[table]'")
    try:
        return parquet.ParquetFile(path)
    except pa.ArrowException as error:
        raise DataError(f"expected a Parquet table, got another file: {error}", source=path) from error


def _group_starts(path: str, size: int) -> list[int]:
    """The first row groups of shards of about `size` compressed bytes."""
    starts, bytes_before = [0], 0
    with open_table(path) as file:
        for group in range(file.metadata.num_row_groups):
            if bytes_before >= size:
                starts.append(group)
                bytes_before = 0
            columns = file.metadata.row_group(group)
            bytes_before += sum(columns.column(i).total_compressed_size for i in range(columns.num_columns))
    return starts


def open_range(shard: Shard, *, lines: bool = False) -> IO[bytes]:
    """The bytes of a shard as a stream, whose `name` says which file it is, and from where on.

    `lines`: a text may be cut at any line end, not only at blank lines.
    """
    file = Path(shard.path).open("rb")  # noqa: SIM115 (the stream closes it)
    try:
        start = find_cut(file, shard.start, shard.kind, lines=lines)
        end = None if shard.end is None else find_cut(file, shard.end, shard.kind, lines=lines)
        file.seek(start)
    except BaseException:
        file.close()
        raise
    name = f"{shard.path} from byte {start}" if start else shard.path
    return cast("IO[bytes]", _Range(file, name, None if end is None else max(0, end - start)))


class _Range(io.RawIOBase):
    """The next bytes of a file, as many as are left."""

    def __init__(self, file: IO[bytes], name: str, left: int | None) -> None:
        self._file, self.name, self._left = file, name, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._file.read(len(view) if self._left is None else min(len(view), self._left))
        view[: len(data)] = data
        if self._left is not None:
            self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def find_cut(file: io.BufferedReader, at: int, kind: Kind, *, lines: bool = False) -> int:
    """The first place after `at` where a file may be cut, or its end; 0 for 0.

    Treebanks are cut after a blank line, rows after a line. So are texts; if there is no such place in
    `WINDOW` bytes, after any line end; without one in twice as many, after a space, then anywhere between
    characters.
    """
    if at == 0:
        return 0
    file.seek(at - 1)
    after = _after_line if kind == "json" or lines else _after_blank_line
    data, start = file.read(2 * WINDOW), at - 1
    if kind == "text":
        ways = (after(data[:WINDOW]), _after_line(data), data.find(b" ") + 1 or -1)
        inside = (i for i, byte in enumerate(data) if i > 0 and byte & 0xC0 != 0x80)
        return start + next((place for place in ways if place > 0), next(inside, len(data)))
    while (place := after(data)) < 0:
        more = file.read(PIECE)
        if not more:
            return start + len(data)
        start, data = start + max(0, len(data) - 3), data[-3:] + more
    return start + place


def _after_line(data: bytes) -> int:
    """The place after the first line end; -1 if there is none."""
    return data.find(b"\n") + 1 or -1


def _after_blank_line(data: bytes) -> int:
    """The place after the first blank line; -1 if there is none."""
    places = [data.find(mark) + len(mark) for mark in (b"\n\n", b"\n\r\n") if mark in data]
    return min(places, default=-1)
