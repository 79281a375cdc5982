"""The input of `arbora parse`: a treebank, a file of raw text, or the text itself; always as `Columns`."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, cast

import numpy as np
import typer

from arbora.cli.files import existing
from arbora.cli.options import InputFormat
from arbora.data.columns import Columns, Format
from arbora.data.treebank import ColumnReader, is_treebank
from arbora.errors import DataError
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.segmenter import Segmented, Segmenter
from arbora.storage.files import PIECE, Source, is_special, name_of, open_input, read_bytes, read_text

THE_TEXT = "<text>"
PLAIN = "save it as plain text first"
UTF_8 = "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"
BINARY = {
    b"%PDF-": ("a PDF", PLAIN),
    b"PK\x03\x04": ("a zip archive (as .docx and .odt files are)", PLAIN),
    b"PAR1": ("a Parquet table", "convert it to a treebank first: arbora convert"),
    b"\xff\xfe": ("UTF-16", UTF_8),
    b"\xfe\xff": ("UTF-16", UTF_8),
}
"""First bytes of files that are neither text nor a treebank, their kind, and the advice."""


def text_or_file(given: str) -> str:
    """Check that an argument is `-`, a text or a readable file."""
    if is_text(given):
        return given
    if not given.strip():
        raise typer.BadParameter("expected a text, the name of a file, or - for stdin, got nothing")
    try:
        return existing(given)
    except typer.BadParameter as error:
        if "no such file" not in error.message:
            raise
        advice = "a text to parse contains a space, or comes from a pipe: echo ... | arbora parse -"
        raise typer.BadParameter(f"{error.message}; {advice}") from None


def is_text(given: str) -> bool:
    """Whether an argument is a text, not a file name: it contains spaces, and no file has this name."""
    try:
        return any(c.isspace() for c in given.strip()) and not Path(given).exists()
    except OSError:  # longer than names can be
        return True


@dataclass
class TextReader:
    """Iterator over the `Columns` of a raw text, piece by piece; words alone, from the segmenter."""

    stream: Source
    segmenter: Segmenter
    offsets: bool
    """Whether MISC gets the positions of words."""
    lines: bool
    is_blank: bool = False
    format: ClassVar[Format] = "conllu"
    skipped: ClassVar[int] = 0

    @property
    def source(self) -> str:
        return name_of(self.stream)

    def __iter__(self) -> Iterator[Columns]:
        for found in self.segmenter.segment_stream(read_text(self.stream), lines=self.lines):
            yield from (_with_offsets(found) if self.offsets else found.columns).pieces()


def _with_offsets(found: Segmented) -> Columns:
    """Add `TokenRange=start:end` to MISC, in characters of the text."""
    words = zip(found.columns.texts("misc"), found.starts.tolist(), found.ends.tolist(), strict=True)
    misc = [f"{'' if old == '_' else f'{old}|'}TokenRange={start}:{end}" for old, start, end in words]
    return found.columns.with_column("misc", np.arange(found.columns.words, dtype=np.int32), misc)


def open_reader(
    given: str, pipeline: Pipeline, form: InputFormat, *, lenient: bool, offsets: bool, lines: bool
) -> ColumnReader | TextReader:
    """Return a reader of the input, piece by piece; raw text needs a segmenter."""
    if is_text(given):
        if form not in ("auto", "text"):
            raise typer.BadParameter(f"--input-format {form}: expected the name of a file or -, got a text")
        stream = io.BytesIO(given.encode(errors="surrogateescape"))
        stream.name = THE_TEXT
        return TextReader(stream, pipeline.require_segmenter(), offsets, lines)
    source: Source = given
    is_blank = False
    if form == "auto":
        start, source = _peek(given, waits=not lines)
        _reject_binary(start, name_of(source))
        is_blank = not start.strip()
        if is_blank and (offsets or lines or pipeline.segmenter is not None):
            start = b"text"  # an empty file is a text without words
        form = "auto" if is_treebank(given, start) else "text"
    if form == "text":
        return TextReader(source, pipeline.require_segmenter(), offsets, lines, is_blank)
    return ColumnReader(source, format=form, lenient=lenient)


def _reject_binary(start: bytes, source: str) -> None:
    """DataError if a file is neither text nor a treebank."""
    found = next((what for mark, what in BINARY.items() if start.startswith(mark)), None)
    if found is None and b"\0" in start:
        try:
            codecs.utf_8_decode(start)  # the last character may be cut
        except UnicodeDecodeError:
            found = "a binary file", "is it the right one?"
    if found is not None:
        what, advice = found
        raise DataError(f"expected a text or a treebank, got {what}; {advice}", source=source)


def _peek(given: str, *, waits: bool) -> tuple[bytes, Source]:
    """Return the first bytes of a file or of stdin, and a source that still starts with them.

    Unless it `waits` for a whole piece, they are the bytes available, such as a line.
    """
    if given != "-" and not is_special(Path(given)):
        with closing(open_input(given)) as file:
            return read_bytes(file, PIECE, given), given
    stream = open_input(given)
    start = read_bytes(stream, PIECE, name_of(given), waits=waits)
    return start, cast("IO[bytes]", _Continued(start, stream, name_of(given)))


class _Continued(io.RawIOBase):
    """A stream whose first bytes have been read already; its rest is closed at the end."""

    def __init__(self, start: bytes, rest: io.BufferedIOBase, name: str) -> None:
        self._start, self._rest, self.name = start, rest, name

    def read(self, size: int = -1) -> bytes:
        if self._start:
            taken, self._start = self._start[:size], self._start[size:]
            return taken
        if self._rest.closed:
            return b""
        taken = self._rest.read1(size)
        if not taken:
            self._rest.close()
        return taken
