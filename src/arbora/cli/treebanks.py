"""Treebanks that training reads whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arbora.cli.files import counted, say, say_skipped
from arbora.data.columns import Columns
from arbora.data.treebank import ColumnReader, FormatOrAuto
from arbora.training.annotation import check_treebank, is_complete


def read_treebanks(
    names: Sequence[str],
    format: FormatOrAuto,  # noqa: A002
    *,
    lenient: bool,
    labelled: bool,
    partial: bool = False,
    checked: bool = True,
) -> Columns:
    """One treebank of several files, in their order; DataError names the file and line at fault.

    `lenient` leaves out sentences that cannot be read, and those with a word that has no head, or no label
    where they are to be `labelled`. `partial`: some heads may be unknown, and none is left out for that.
    `checked`: DataError where trees lack what training needs.
    """
    parts = [_read(name, format, lenient=lenient, labelled=labelled, partial=partial) for name in names]
    if len(parts) == 1:
        return parts[0]
    for part in parts:  # while lines still have their numbers
        if checked:
            check_treebank(part, labelled=labelled, partial=partial)
    return Columns.concat(parts, " + ".join(part.source for part in parts))


def _read(
    name: str,
    format: FormatOrAuto,  # noqa: A002
    *,
    lenient: bool,
    labelled: bool,
    partial: bool,
) -> Columns:
    reader = ColumnReader(name, format=format, lenient=lenient)
    columns = reader.read_all()
    complete = is_complete(columns, labelled=labelled)
    incomplete = int(np.count_nonzero(~complete)) if lenient and not partial else 0
    if incomplete:
        what = "heads or labels" if labelled else "heads"
        say(f"warning: {columns.source}: {what} are missing in {counted(incomplete, 'sentence')}")
        columns = columns.select(np.flatnonzero(complete))
    say_skipped(reader.skipped + incomplete, reader.source)
    return columns
