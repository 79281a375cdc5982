"""Word vectors from files: fastText and word2vec text, compressed or not, and safetensors.

Text has one word per line, the most frequent first: the word, then its numbers, separated by spaces. A first
line with the counts of words and dimensions is optional. Words other than the first may contain spaces: the
numbers are taken from the end of a line. Of several vectors of a word the first counts.

A safetensors file has a matrix of floats (16, 32 or 64 bits), one row per word: the tensor `vectors`, or the
only one with two axes. The words are a JSON list of texts in the metadata, under the name `words`, or a
tensor `words` of bytes: UTF-8 text, one word per line.

A file that is read is taken to be hostile: memory grows with the vectors that were read, not with counts that
the file states. DataError names the file and the line.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arbora.errors import DataError, require_whole
from arbora.storage.files import naming_errors, open_file, open_input, read_bytes
from arbora.types import Floats

MOST_DIMENSIONS = 10_000
BLOCK = 1 << 22  # bytes that are parsed at once; no line may be longer
LARGEST = float(np.finfo(np.float32).max)
FLOATS = ("F16", "F32", "F64")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors."""

    words: tuple[str, ...]
    """In the order of the file, the most frequent first; distinct."""
    values: Floats
    """Finite; shape (words, dimensions)."""


def read_vectors(path: str | os.PathLike[str], *, most: int | None = None) -> WordVectors:
    """Read vectors, of the first `most` words if given; DataError for a malformed file. O(bytes read)."""
    if most is not None:
        require_whole("most", most, 1)
    source = os.fspath(path)
    with naming_errors(source), open_file(path) as stream:
        start = stream.read(9)
    # The length of a safetensors header is below 2^32, and text has no zero bytes.
    return _read_safetensors(source, most) if start[4:] == b"\0\0\0\0{" else _TextReader(source).read(most)


# ---------------------------------------------------------------- text


class _TextReader:
    """Reads vectors as text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0  # lines that were parsed
        self.dimensions = 0
        self.stated: int | None = None  # the number of words by the first line
        self.words: dict[str, None] = {}

    def error(self, what: str, line: int | None = None) -> DataError:
        return DataError(what, source=self.source, line=line)

    def read(self, most: int | None) -> WordVectors:
        values: list[Floats] = []
        is_whole = True
        with open_input(self.source) as stream:
            for lines in self._blocks(stream):
                if self.dimensions == 0:
                    del lines[: self._read_start(lines[0])]
                values += [self._parse(lines)] if lines else []
                if most is not None and len(self.words) >= most:
                    is_whole = False
                    break
        if not self.words:
            raise self.error("expected word vectors, got none; is it the right file?")
        found = self.line - (self.stated is not None)
        if is_whole and self.stated not in (None, found):
            raise self.error(f"expected {self.stated:,} words, as its first line says, got {found:,}")
        return WordVectors(tuple(islice(self.words, most)), np.concatenate(values)[:most])

    def _blocks(self, stream: io.BufferedIOBase) -> Iterator[list[bytes]]:
        """Whole lines, some thousands at a time."""
        rest = b""
        while data := read_bytes(stream, BLOCK, self.source):
            if not rest and not self.line:
                data = data.removeprefix(codecs.BOM_UTF8)
            head, newline, rest = (rest + data).rpartition(b"\n")
            if len(rest) > BLOCK:
                raise self.error(f"expected lines of at most {BLOCK:,} bytes, got a longer one")
            if newline:
                yield head.replace(b"\t", b" ").split(b"\n")
        if rest:
            yield [rest.replace(b"\t", b" ")]

    def _read_start(self, line: bytes) -> int:
        """Read the number of dimensions from the first line; return 1 if it holds the counts, else 0."""
        counts = _HEADER.fullmatch(line)
        self.dimensions = int(counts[2]) if counts else len(line.split()) - 1
        if not 1 <= self.dimensions <= MOST_DIMENSIONS:
            expected = f"a word and its vector of 1 to {MOST_DIMENSIONS:,} numbers"
            raise self.error(f"expected {expected}, got {self.dimensions:,} numbers", 1)
        if counts is None:
            return 0
        self.stated, self.line = int(counts[1]), 1
        return 1

    def _parse(self, lines: list[bytes]) -> Floats:
        """The vectors of words that are new, which are added to `words`."""
        words, numbers = [], []
        for line in lines:
            word, _, rest = line.rstrip().partition(b" ")
            if not word or rest.count(b" ") != self.dimensions - 1:  # a word with spaces, or a bad line
                word, _, rest = b" \n".join(line.rsplit(None, self.dimensions)).partition(b" \n")
            words.append(word)
            numbers.append(rest)
        try:
            texts = b"\n".join(words).decode().split("\n")
            values = _parse_numbers(b" ".join(numbers))
        except ValueError:
            raise self._fault(lines) from None
        if values.size != len(lines) * self.dimensions or not np.isfinite(values).all():
            raise self._fault(lines)
        new = []
        for row, text in enumerate(texts):
            if text not in self.words:
                self.words[text] = None
                new.append(row)
        self.line += len(lines)
        return values.reshape(len(lines), self.dimensions)[new]

    def _fault(self, lines: list[bytes]) -> DataError:
        """The error of the first bad line."""
        for number, line in enumerate(lines, start=self.line + 1):
            word, *numbers = line.rsplit(None, self.dimensions) or [b""]
            if len(numbers) != self.dimensions:
                expected = f"a word and {self.dimensions} numbers"
                return self.error(f"expected {expected}, got {len(line.split())} fields", number)
            try:
                word.decode()
            except UnicodeDecodeError as error:
                return self.error(f"expected UTF-8, got other bytes ({error.reason})", number)
            for text in numbers:
                if not _NUMBER.fullmatch(text) or abs(float(text)) > LARGEST:
                    got = text[:40].decode(errors="replace")
                    return self.error(f"expected finite numbers, got {got!r}", number)
        return self.error("expected words and their vectors, got something else", self.line + 1)


def _parse_numbers(text: bytes) -> Floats:
    """The numbers in a text, separated by spaces; ValueError if there is something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, np.float32, sep=" ")
        except DeprecationWarning as error:
            raise ValueError from error


# ---------------------------------------------------------------- safetensors


def _read_safetensors(source: str, most: int | None) -> WordVectors:
    from safetensors import SafetensorError, safe_open

    def error(what: str) -> DataError:
        return DataError(what, source=source)

    try:
        with safe_open(source, framework="numpy") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
            tables = [name for name, part in slices.items() if len(part.get_shape()) == 2]
            name = "vectors" if "vectors" in tables or len(tables) != 1 else tables[0]
            if name not in tables:
                raise error("expected a tensor 'vectors' with two axes, or only one such tensor")
            if slices[name].get_dtype() not in FLOATS:
                got = slices[name].get_dtype()
                raise error(f"tensor {name!r}: expected floats ({', '.join(FLOATS)}), got {got}")
            metadata, rows = opened.metadata() or {}, slices[name].get_shape()[0]
            listed = slices["words"][:] if "words" in slices and "words" not in metadata else None
            words = _words(metadata.get("words"), listed, error)
            with np.errstate(over="ignore"):  # reported below
                values = slices[name][:most].astype(np.float32)
    except SafetensorError as fault:
        raise error(f"damaged safetensors file: {fault}") from fault
    if len(words) != rows:
        raise error(f"tensor {name!r}: expected {len(words):,} rows, one per word, got {rows:,}")
    if not values.size:
        raise error("expected word vectors, got none; is it the right file?")
    if not (is_finite := np.isfinite(values)).all():
        got = f"{values[~is_finite][0]} in 32 bits"
        raise error(f"tensor {name!r}: expected finite numbers that fit into 32 bits, got {got}")
    first = {word: row for row, word in reversed([*enumerate(words[: len(values)])])}
    kept = sorted(first.values())
    return WordVectors(tuple(words[row] for row in kept), values[kept])


def _words(text: str | None, listed: NDArray[Any] | None, error: Callable[[str], DataError]) -> list[str]:
    """The words of a safetensors file."""
    words: Any = None
    try:
        if text is not None:
            words = json.loads(text)
        elif listed is not None and listed.dtype == np.uint8:
            words = listed.tobytes().decode().removesuffix("\n").split("\n")
    except (ValueError, RecursionError) as fault:
        raise error(f"words: expected JSON in the metadata, or UTF-8 text: {fault}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise error(
            "words: expected a JSON list of texts in the metadata entry 'words', or a tensor 'words' of "
            "bytes with one word per line"
        )
    return words
