"""The input of `arbora parse`: a treebank, a file of raw text, or the text itself; always as `Columns`."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, TypeAlias, cast

import typer

from arbora.cli.files import existing
from arbora.cli.options import InputFormat
from arbora.data.columns import Columns, Format
from arbora.data.treebank import ColumnReader, is_treebank
from arbora.errors import DataError
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.segmenter import Segmenter
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


def is_typed(given: str) -> bool:
    """Whether an argument is stdin, and stdin a terminal."""
    return given == "-" and sys.stdin is not None and sys.stdin.isatty()


@dataclass
class TextReader:
    """Iterator over the `Columns` of a raw text, piece by piece; words alone, from the segmenter."""

    stream: Source
    segmenter: Segmenter
    offsets: bool
    """Whether MISC gets the positions of words."""
    lines: bool
    is_blank: bool = False
    answers: bool = False
    """Whether a blank line is an item without sentences."""
    format: ClassVar[Format] = "conllu"
    skipped: ClassVar[int] = 0

    @property
    def source(self) -> str:
        return name_of(self.stream)

    def __iter__(self) -> Iterator[Columns]:
        pieces = read_text(self.stream)
        for found in self.segmenter.segment_stream(pieces, lines=self.lines, blanks=self.answers):
            columns = found.with_offsets() if self.offsets else found.columns
            yield from columns.pieces() if len(columns) else [columns]


Watch: TypeAlias = Callable[[int], object]
"""Called with the number of bytes of a pipe that were read so far."""


def open_reader(
    given: str,
    pipeline: Pipeline,
    form: InputFormat,
    *,
    lenient: bool,
    offsets: bool,
    lines: bool,
    watch: Watch = lambda _: None,
) -> ColumnReader | TextReader:
    """Return a reader of the input, piece by piece; raw text needs a segmenter."""
    if is_text(given):
        if form not in ("auto", "text"):
            raise typer.BadParameter(f"--input-format {form}: expected the name of a file or -, got a text")
        stream = io.BytesIO(given.encode(errors="surrogateescape"))
        stream.name = THE_TEXT
        return TextReader(stream, pipeline.require_segmenter(), offsets, lines)
    source: Source = given
    if given == "-" or is_special(Path(given)):
        source = cast("IO[bytes]", _Pipe(given, watch))
    is_blank = False
    if form == "auto":
        start = _peek(source, waits=not lines)
        _reject_binary(start, name_of(source))
        is_blank = not start.strip()
        if is_blank and (offsets or lines or pipeline.segmenter is not None):
            start = b"text"  # an empty file is a text without words
        form = "auto" if is_treebank(given, start) else "text"
    if form == "text":
        answers = lines and given == "-"
        return TextReader(source, pipeline.require_segmenter(), offsets, lines, is_blank, answers)
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


def _peek(source: Source, *, waits: bool) -> bytes:
    """Return the first bytes of a file or a pipe, which stay there to be read.

    Unless it `waits` for a whole piece, they are the bytes available, such as a line.
    """
    if isinstance(source, _Pipe):
        return source.peek(waits=waits)
    with closing(open_input(source)) as file:
        return read_bytes(file, PIECE, name_of(source))


class _Pipe(io.RawIOBase):
    """A pipe or stdin, unzipped, of which the first bytes can be peeked at; it is closed at its end."""

    def __init__(self, given: str, watch: Watch) -> None:
        self.name, self._watch = name_of(given), watch
        self._given, self._rest = given, cast("io.BufferedIOBase | None", None)
        self._start, self._size = b"", 0

    def peek(self, *, waits: bool) -> bytes:
        """The first megabyte; without waiting, what is there."""
        while len(self._start) < PIECE and (data := self._next(PIECE - len(self._start))):
            self._start += data
            if not waits:
                break
        return self._start

    def read(self, size: int = -1) -> bytes:
        if self._start:
            taken, self._start = self._start[:size], self._start[size:]
            return taken
        return self._next(size)

    def _next(self, size: int) -> bytes:
        self._rest = self._rest or open_input(self._given)  # waits for the first bytes
        if self._rest.closed:
            return b""
        data = read_bytes(self._rest, size, self.name, waits=False)
        self._size += len(data)
        self._watch(self._size)
        if not data:
            self._rest.close()
        return data
