"""Rows of a table from Columns, and sentences from the rows of tables; see `arbora.integrations.table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from arbora.data.columns import TEXT_COLUMNS, Columns, TextColumn
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.errors import DataError, InputError
from arbora.parsing.parsed import HEAD, LABEL, TREE
from arbora.types import Doubles

ROWS_AT_ONCE = 1 << 14
REQUIRED = ("sentence", "form")
READ = ("sentence", "id", "head", "sent_id", "other_lines", *TEXT_COLUMNS)

TOKEN_RANGE = r"TokenRange=(\d{1,9}):(\d{1,9})"
PROBABILITY = r"([01](?:\.\d+)?)"


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of the heads and labels of W words and of the trees of S sentences; NaN for unknown."""

    heads: Doubles
    labels: Doubles
    trees: Doubles


# Columns to rows


def arrays_of(pa: Any, columns: Columns, first: int, given: Probabilities | None) -> dict[str, Any]:
    """Return the arrays of a table by name; sentences are numbered from `first`. O(words)."""
    lengths = np.diff(columns.offsets)
    sentence = np.repeat(np.arange(len(columns)), lengths)
    misc, misc_ids = columns.strings("misc"), columns.ids("misc")
    start, end = _misc_numbers(misc, TOKEN_RANGE)[:, misc_ids]
    lines, sent_ids, in_comments = _other_lines(columns)
    if given is None:
        heads, labels = (_misc_numbers(misc, f"{name}={PROBABILITY}") for name in (HEAD, LABEL))
        given = Probabilities(heads[0, misc_ids], labels[0, misc_ids], in_comments)
    at_first_words: list[str | None] = [None] * columns.words
    for word, text in zip(columns.offsets[:-1].tolist(), lines, strict=True):
        at_first_words[word] = text
    unnamed = np.array([name is None for name in sent_ids], dtype=bool)[sentence]
    return {
        "sentence": pa.array(sentence + first),
        "sent_id": pa.DictionaryArray.from_arrays(
            pa.array(sentence.astype(np.int32), mask=unnamed),
            pa.array([name or "" for name in sent_ids], type=pa.string()),
        ),
        "id": pa.array((np.arange(columns.words) - columns.offsets[sentence] + 1).astype(np.int32)),
        **{name: _dictionary(pa, columns, name) for name in TEXT_COLUMNS[:5]},
        "head": pa.array(columns.heads, mask=columns.heads == NO_HEAD),
        **{name: _dictionary(pa, columns, name) for name in TEXT_COLUMNS[5:]},
        "start": _optional(pa, start, pa.int32()),
        "end": _optional(pa, end, pa.int32()),
        "head_probability": _optional(pa, given.heads, pa.float64()),
        "label_probability": _optional(pa, given.labels, pa.float64()),
        "tree_probability": _optional(pa, given.trees[sentence], pa.float64()),
        "other_lines": pa.array(at_first_words, type=pa.string()),
    }


def _optional(pa: Any, numbers: Doubles, kind: Any) -> Any:
    unknown = np.isnan(numbers)
    return pa.array(np.where(unknown, 0, numbers), mask=unknown).cast(kind)


def _dictionary(pa: Any, columns: Columns, name: TextColumn) -> Any:
    ids = columns.ids(name)
    missing = np.zeros(len(ids), dtype=bool) if name == "form" else ids == 0  # entry 0 is `_`
    strings = pa.array(columns.strings(name), type=pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(ids, mask=missing), strings)


def _misc_numbers(strings: Sequence[str], entry: str) -> Doubles:
    """Return the numbers in an entry of MISC of each string, NaN for none; shape (groups, strings)."""
    pattern = re.compile(rf"(?:^|\|){entry}(?![^|])")
    result = np.full((pattern.groups, len(strings)), np.nan)
    for i, text in enumerate(strings):
        if "=" in text and (match := pattern.search(text)) is not None:
            result[:, i] = [float(number) for number in match.groups()]
    return result


def _other_lines(columns: Columns) -> tuple[list[str | None], list[str | None], Doubles]:
    """Return of each sentence the lines that are not words, its sent_id, and the tree's probability."""
    texts = columns.native.extra_texts()
    joined: list[str | None] = []
    names: list[str | None] = []
    probabilities = np.full(len(columns), np.nan)
    for s, (first, last) in enumerate(pairwise(columns.native.extra_offsets.tolist())):
        own = texts[first:last]
        pairs = (line[1:].partition("=") for line in own if line.startswith("#"))
        values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
        joined.append("\n".join(own) if own else None)
        names.append(values.get("sent_id"))
        try:
            probabilities[s] = float(values.get(TREE, "nan"))
        except ValueError:
            continue
    return joined, names, probabilities


# Rows to sentences


def sentences_of(tables: Iterable[Any], source: str) -> Iterator[Sentence]:
    """Yield the sentences of consecutive tables; a sentence may begin in one and end in the next."""
    rows: dict[str, list[Any]] = {name: [] for name in READ}
    for table in tables:
        missing = [name for name in REQUIRED if name not in table.column_names]
        if missing:
            raise InputError(
                f"{source}: expected columns {' and '.join(REQUIRED)}, got none named {missing[0]}"
            )
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            for name, values in rows.items():
                values += _values(batch, name)
            starts = _starts(rows["sentence"])
            yield from _whole_sentences(rows, starts, source)
            rows = {name: values[starts[-1] :] for name, values in rows.items()}
    yield from _whole_sentences(rows, [0, len(rows["form"])], source)


def _starts(numbers: Sequence[Any]) -> list[int]:
    return [0, *(i for i, (one, two) in enumerate(pairwise(numbers), start=1) if one != two)]


def _values(batch: Any, name: str) -> list[Any]:
    """Return a column as Python objects; texts as strings, `_` for null."""
    clean = _text if name in TEXT_COLUMNS else lambda value: value
    if name not in batch.schema.names:
        return [clean(None)] * batch.num_rows
    array = batch.column(name)
    if not hasattr(array, "indices"):
        return [*map(clean, array.to_pylist())]
    values = [*map(clean, array.dictionary.to_pylist()), clean(None)]
    return [values[-1 if place is None else place] for place in array.indices.to_pylist()]


def _text(value: Any) -> str:
    return "_" if value is None or value != value else str(value)


def _head(value: Any) -> int | None:
    """Return a head as a number; None for anything else than numbers and nulls."""
    if type(value) is int:
        return value
    if value is None or value != value or value == "_":
        return NO_HEAD
    # Tables that have no nulls among integers turn integers into floats.
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return int(text) if re.fullmatch(r"-?\d{1,9}", text, re.ASCII) else None


def _whole_sentences(rows: dict[str, list[Any]], offsets: Sequence[int], source: str) -> Iterator[Sentence]:
    """Yield the sentences between `offsets`; InputError names the one at fault."""
    if offsets[-1] == 0:
        return
    try:
        yield from _columns(rows, offsets).sentences()
    except DataError as error:
        if len(offsets) == 2:
            raise InputError(f"{source}: sentence {rows['sentence'][0]}: {error.what}") from None
        for first, last in pairwise(offsets):
            own = {name: values[first:last] for name, values in rows.items()}
            yield from _whole_sentences(own, [0, last - first], source)


def _columns(rows: dict[str, list[Any]], offsets: Sequence[int]) -> Columns:
    ids = rows["id"]
    other_lines = []
    for first, last in pairwise(offsets):
        if any(ids[first:last]) and ids[first:last] != list(range(1, last - first + 1)):
            wanted = f"id 1 to {last - first} in order"
            raise DataError(f"expected rows with {wanted}; were some left out or sorted?")
        given, sent_id = rows["other_lines"][first], rows["sent_id"][first]
        lines = given.split("\n") if isinstance(given, str) else []
        if isinstance(sent_id, str) and not any(line.startswith("#") for line in lines):
            lines.insert(0, f"# sent_id = {sent_id}")
        other_lines.append(lines)
    texts = {name: rows[name][: offsets[-1]] for name in TEXT_COLUMNS}
    heads: Any = [_head(value) for value in rows["head"][: offsets[-1]]]
    return Columns.from_arrays(offsets, texts, heads=heads, other_lines=other_lines)
