"""What `arbora parse` is given: a treebank, a file of raw text, or the text itself; always as `Columns`."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

import numpy as np
import typer

from arbora.cli.files import existing
from arbora.data.columns import Columns, Format
from arbora.data.files import Source, name_of, open_input, read_bytes
from arbora.data.treebank import ColumnReader, FormatOrAuto, is_treebank
from arbora.errors import DataError
from arbora.pipeline.pipeline import Pipeline
from arbora.pipeline.segmenter import Segmented

PIECE = 1 << 20
THE_TEXT = "<text>"
PLAIN = "save it as plain text first"
UTF_8 = "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"
BINARY = {
    b"%PDF-": ("a PDF", PLAIN),
    b"PK\x03\x04": ("a zip archive (as .docx and .odt files are)", PLAIN),
    b"PAR1": ("a Parquet table", "make a treebank of it first: arbora convert"),
    b"\xff\xfe": ("UTF-16", UTF_8),
    b"\xfe\xff": ("UTF-16", UTF_8),
}
"""How files begin that are neither text nor a treebank, what they are, and what to do."""


class InputFormat(StrEnum):
    """What can be parsed."""

    AUTO = "auto"
    CONLLU = "conllu"
    CONLLX = "conllx"
    TEXT = "text"


def text_or_file(given: str) -> str:
    """`given` if it is `-` or a text, else the file that it names; the command line is at fault otherwise."""
    if is_text(given):
        return given
    if not given.strip():
        raise typer.BadParameter("expected a text, the name of a file, or - for stdin, got nothing")
    try:
        return existing(given)
    except typer.BadParameter as error:
        if "no such file" not in error.message:
            raise
        advice = "a text to parse has a space in it, or comes by a pipe: echo ... | arbora parse -"
        raise typer.BadParameter(f"{error.message}; {advice}") from None


def is_text(given: str) -> bool:
    """Whether it is a text, not the name of a file: it has spaces in it, and no file is called so."""
    try:
        return any(c.isspace() for c in given.strip()) and not Path(given).exists()
    except OSError:  # longer than names can be
        return True


class TextReader:
    """Iterator over `Columns`, one per piece of a raw text; words alone, as the segmenter finds them."""

    format: Format = "conllu"
    skipped = 0

    def __init__(
        self, source: Source, pipeline: Pipeline, *, offsets: bool, lines: bool, is_blank: bool = False
    ) -> None:
        self.source = name_of(source)
        self.is_blank = is_blank
        self._segmenter = pipeline.require_segmenter()
        self._stream = open_input(source)
        self._lines = lines
        self.offsets = offsets
        """Whether MISC says where words stand."""

    def __iter__(self) -> Iterator[Columns]:
        for found in self._segmenter.segment_stream(self._pieces(), lines=self._lines):
            yield with_offsets(found) if self.offsets else found.columns

    def _pieces(self) -> Iterator[str]:
        """The text, decoded; DataError where it is not UTF-8."""
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        read = 0
        with closing(self._stream):
            while data := read_bytes(self._stream, PIECE, self.source):
                yield self._decoded(decoder, data, read)
                read += len(data)
            yield self._decoded(decoder, b"", read)

    def _decoded(self, decoder: codecs.IncrementalDecoder, data: bytes, before: int) -> str:
        """The text of the next bytes, none at the end; `before` is how many there were already."""
        try:
            return decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            pending = len(error.object) - len(data)
            raise DataError(
                f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at byte "
                f"{before - pending + error.start}; convert the text first, with iconv say",
                source=self.source,
            ) from None


def with_offsets(found: Segmented) -> Columns:
    """The words with `TokenRange=start:end` in MISC, in characters of the text."""
    old = found.columns.strings("misc")
    ranges = zip(found.columns.ids("misc").tolist(), found.starts.tolist(), found.ends.tolist(), strict=True)
    misc = [
        f"TokenRange={start}:{end}" if number == 0 else f"{old[number]}|TokenRange={start}:{end}"
        for number, start, end in ranges
    ]
    return found.columns.with_column("misc", np.arange(found.columns.words, dtype=np.int32), misc)


def open_reader(
    given: str,
    pipeline: Pipeline,
    format: InputFormat,  # noqa: A002
    *,
    lenient: bool,
    offsets: bool = False,
    lines: bool = False,
) -> ColumnReader | TextReader:
    """What reads the input piece by piece; raw text needs a segmenter."""
    if is_text(given):
        if format not in (InputFormat.AUTO, InputFormat.TEXT):
            raise typer.BadParameter(
                f"--input-format {format.value}: expected the name of a file or -, got a text"
            )
        stream = io.BytesIO(given.encode(errors="surrogateescape"))
        stream.name = THE_TEXT
        return TextReader(stream, pipeline, offsets=offsets, lines=lines)
    source: Source = given
    is_blank = False
    if format is InputFormat.AUTO:
        start, source = _looked_into(given)
        refuse_binary(start, name_of(source))
        is_blank = not start.strip()
        if is_blank and (offsets or lines or pipeline.segmenter is not None):
            start = b"text"  # nothing is a text without words
        format = InputFormat.AUTO if is_treebank(given, start) else InputFormat.TEXT  # noqa: A001
    if format is InputFormat.TEXT:
        return TextReader(source, pipeline, offsets=offsets, lines=lines, is_blank=is_blank)
    as_given = cast("FormatOrAuto", format.value)
    return ColumnReader(source, format=as_given, lenient=lenient)


def refuse_binary(start: bytes, source: str) -> None:
    """DataError where a file begins like one that is no text: the first bad byte of it says little."""
    found = next((told for mark, told in BINARY.items() if start.startswith(mark)), None)
    if found is None and b"\0" in start and not _is_utf8(start):
        found = "a binary file", "is it the right one?"
    if found is not None:
        what, advice = found
        raise DataError(f"expected a text or a treebank, got {what}; {advice}", source=source)


def _is_utf8(start: bytes) -> bool:
    """Whether it is, as far as it goes."""
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _looked_into(given: str) -> tuple[bytes, Source]:
    """The first bytes of a file or of stdin, and what can still be read from its beginning."""
    stream = open_input(given)
    start = read_bytes(stream, PIECE, name_of(given))
    if given != "-":
        stream.close()
        return start, given
    return start, cast("IO[bytes]", Continued(start, stream, name_of(given)))


class Continued(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, start: bytes, rest: object, name: str) -> None:
        self._start, self._rest, self.name = start, rest, name

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        if self._start:
            taken, self._start = self._start[:size], self._start[size:]
            return taken
        return self._rest.read(size)  # type: ignore[attr-defined]
