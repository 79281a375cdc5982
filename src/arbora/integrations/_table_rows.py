"""Sentences from the rows of tables; see `arbora.integrations.table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np

from arbora.data.columns import parse_text
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import DataError, InputError

NOTHING = "_"
ROWS_AT_ONCE = 1 << 14
REQUIRED = ("sentence", "form")


class _Row(NamedTuple):
    """A word of a table; None where a column is absent or null."""

    sentence: Any
    id: Any
    form: Any
    lemma: Any
    upos: Any
    xpos: Any
    feats: Any
    head: Any
    deprel: Any
    deps: Any
    misc: Any
    sent_id: Any
    other_lines: Any


def sentences_of(tables: Iterable[Any], source: str) -> Iterator[Sentence]:
    """Sentences of consecutive tables; one may begin in one and end in the next."""
    held: list[_Row] = []
    numbered = False
    for table in tables:
        numbered = "id" in table.column_names
        missing = [name for name in REQUIRED if name not in table.column_names]
        if missing:
            raise InputError(
                f"{source}: expected columns {' and '.join(REQUIRED)}, got none named {missing[0]}"
            )
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            rows = chain(held, _rows(batch))
            *whole, held = [list(of_one) for _, of_one in groupby(rows, lambda row: row.sentence)]
            yield from _parsed(whole, source, numbered=numbered)
    if held:
        yield from _parsed([held], source, numbered=numbered)


def _rows(batch: Any) -> Iterator[_Row]:
    return map(_Row._make, zip(*(_values(batch, name) for name in _Row._fields), strict=True))


def _values(batch: Any, name: str) -> list[Any]:
    """A column as Python objects, each distinct text once."""
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    array = batch.column(name)
    if not hasattr(array, "indices"):
        return list(array.to_pylist())
    texts = array.dictionary.to_pylist()
    return [None if place is None else texts[place] for place in array.indices.to_pylist()]


def _parsed(groups: Sequence[Sequence[_Row]], source: str, *, numbered: bool) -> Iterator[Sentence]:
    """Sentences from their rows in one native call; one by one where something is wrong, to say where."""
    names = [f"{source}: sentence {rows[0].sentence}" for rows in groups]
    texts = [_text_of(rows, where, numbered) for rows, where in zip(groups, names, strict=True)]
    try:
        columns = parse_text("".join(texts), "conllu")
    except DataError:
        columns = None
    if columns is not None and np.diff(columns.offsets).tolist() == list(map(len, groups)):
        yield from columns.sentences()
        return
    for rows, text, where in zip(groups, texts, names, strict=True):
        try:
            found = list(parse_text(text, "conllu").sentences())
        except DataError as error:
            raise InputError(f"{where}: {error.what}") from None
        if list(map(len, found)) != [len(rows)]:
            raise InputError(f"{where}: expected texts without line breaks, got others")
        yield from found


def _text_of(rows: Sequence[_Row], where: str, numbered: bool) -> str:
    """The lines of a sentence."""
    first = rows[0]
    if numbered and [row.id for row in rows] != list(range(1, len(rows) + 1)):
        wanted = f"id 1 to {len(rows)} in order"
        raise InputError(f"{where}: expected rows with {wanted}; were some left out or sorted?")
    lines = first.other_lines.split("\n") if isinstance(first.other_lines, str) else []
    text = [line for line in lines if line.startswith("#")]
    if not text and isinstance(first.sent_id, str):
        text.append(f"# sent_id = {first.sent_id}")
    before: dict[int, list[str]] = {}
    for line in (line for line in lines if not line.startswith("#")):
        number = re.match(r"(\d{1,9})([-.])\d+\t", line)
        if number is None:
            expected = "comments, multiword tokens or empty nodes"
            raise InputError(f"{where}: other_lines: expected {expected}, got {line!r}")
        before.setdefault(int(number[1]) + (number[2] == "."), []).append(line)
    for i, row in enumerate(rows, start=1):
        text += before.pop(i, ())
        fields = [str(i), *map(_cell, row[2:7]), _head(row.head), *map(_cell, row[8:11])]
        text.append("\t".join(fields))
    text += chain.from_iterable(before.values())
    return "\n".join([*text, "", ""])


def _head(value: Any) -> str:
    if value is None or value != value or value == NO_HEAD:
        return NOTHING
    # Tables that know no nulls among whole numbers have made floats of them.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _cell(value: Any) -> str:
    return NOTHING if value is None or value != value else str(value)
