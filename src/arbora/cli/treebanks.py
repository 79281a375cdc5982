"""Treebanks that training reads whole."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from arbora.cli.files import say_skipped
from arbora.data.columns import Columns, columns_of
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.train import check_treebank


def read_treebanks(
    names: Sequence[str],
    format: FormatOrAuto,  # noqa: A002
    *,
    lenient: bool,
    partial: bool = False,
) -> Columns:
    """One treebank of several files, in their order; DataError names the file and line at fault.

    `partial`: some heads may be unknown.
    """
    parts = [_read(name, format, lenient=lenient) for name in names]
    if len(parts) == 1:
        return parts[0]
    for part in parts:  # while lines still have their numbers
        check_treebank(part, partial=partial)
    sentences = chain.from_iterable(part.sentences() for part in parts)
    return columns_of(sentences, " + ".join(part.source for part in parts))


def _read(name: str, format: FormatOrAuto, *, lenient: bool) -> Columns:  # noqa: A002
    reader = ColumnReader(name, format=format, lenient=lenient)
    columns = reader.read_all()
    say_skipped(reader.skipped, reader.source)
    return columns
