"""Whole treebanks: streaming read and write, and the compact arrays.

Reading takes one pass and the memory of one piece (about a megabyte), however long the file. What
was read is written back byte for byte, since every sentence remembers its layout.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar, cast

from arbora.data import conllu, conllx
from arbora.data.columns import Columns, Format, Roots, columns_of, data_error, native_reader
from arbora.data.files import Source, name_of, open_input, open_output, read_bytes
from arbora.data.sentence import Origin, Sentence
from arbora.errors import DataError, InputError
from arbora.storage.atomic import naming_errors

logger = logging.getLogger("arbora")

PIECE = 1 << 20
LONGEST_SENTENCE = 1 << 28
MOST_WARNINGS = 1000
NO_TREEBANK = (
    "no line has ten columns separated by tabs: this does not look like CoNLL-U or CoNLL-X, "
    "is it the right file?"
)

TREEBANK_KINDS = "a path, sentences, or a list of these"

FormatOrAuto = Literal["auto", "conllu", "conllx"]
FORMAT_OF_ENDING: dict[str, Format] = {".conllu": "conllu", ".conllx": "conllx", ".conll": "conllx"}

Part = TypeVar("Part")
Treebank: TypeAlias = "Columns | Source | Iterable[Columns | Source | Sentence | Sequence[Sentence]]"
"""What training takes; see `gather`."""


class ColumnReader:
    """Iterator over `Columns`, one per piece of a file; the file is closed at the end.

    `format` is what was given or found. In lenient mode bad sentences are left out: `skipped`
    counts them so far, `warnings` keeps the first thousand as DataErrors, and each is logged.
    """

    def __init__(
        self,
        source: Source,
        *,
        format: FormatOrAuto = "auto",  # noqa: A002
        lenient: bool = False,
        roots: Roots = "multi",
    ) -> None:
        self.source = name_of(source)
        self.warnings: list[DataError] = []
        with naming_errors(self.source):
            self._stream = open_input(source)
        try:
            self._ahead = read_bytes(self._stream, PIECE, self.source)
            path = self.source if isinstance(source, str | os.PathLike) else ""
            self.format = detect_format(path, self._ahead) if format == "auto" else format
            self._native = native_reader(self.format, roots, lenient=lenient)
        except BaseException:
            self._stream.close()
            raise
        self._columns = self._run()

    @property
    def skipped(self) -> int:
        """Number of sentences left out so far."""
        return self._native.skipped

    def __iter__(self) -> Iterator[Columns]:
        return self

    def __next__(self) -> Columns:
        return next(self._columns)

    def close(self) -> None:
        """Closes the file early."""
        self._columns.close()
        self._stream.close()

    def __del__(self) -> None:
        if hasattr(self, "_columns"):
            self.close()

    def read_all(self) -> Columns:
        """All that is left as one `Columns`."""
        for _ in self._feed():
            pass
        columns = Columns(self._native.take(), self.source)
        self._raise_fault()
        return columns

    def _run(self) -> Generator[Columns, None, None]:
        for _ in self._feed():
            columns = Columns(self._native.take(), self.source)
            if len(columns):
                yield columns
        self._raise_fault()

    def _feed(self) -> Iterator[None]:
        """Hands the file to the core in pieces; stops after each, at the end, and at a fault."""
        data, pending = self._ahead, b""
        while True:
            text = pending + data if pending else data
            last = not data
            used = self._native.parse(text, last=last)
            self._log_problems()
            yield
            if last or self._native.failed:
                break
            pending = text[used:]
            if len(pending) > LONGEST_SENTENCE:
                raise DataError(
                    f"sentence too long: expected a blank line within {LONGEST_SENTENCE} bytes, "
                    "got none; is this a treebank?",
                    source=self.source,
                )
            # After a sentence longer than the piece read twice as much: time stays linear.
            data = read_bytes(self._stream, max(PIECE, len(pending)), self.source)
        self._stream.close()

    def _log_problems(self) -> None:
        if self._native.failed:
            return
        for problem in self._native.take_problems():
            warning = data_error(problem, self.source)
            logger.warning("%s (sentence skipped)", warning)
            if len(self.warnings) < MOST_WARNINGS:
                self.warnings.append(warning)

    def _raise_fault(self) -> None:
        if not self._native.failed:
            return
        self._stream.close()
        for problem in self._native.take_problems():
            error = data_error(problem, self.source)
            if not any(line.count(b"\t") == 9 for line in self._ahead.split(b"\n")):
                error = DataError(f"{error.what}; {NO_TREEBANK}", source=self.source, line=error.line)
            raise error


class SentenceReader:
    """Iterator over the sentences of a file; see `ColumnReader` for `skipped` and `warnings`."""

    def __init__(self, columns: ColumnReader) -> None:
        self.columns = columns
        self._sentences = (sentence for part in columns for sentence in part.sentences())

    @property
    def format(self) -> Format:
        """The format that was given or found."""
        return self.columns.format

    @property
    def skipped(self) -> int:
        """Number of sentences left out so far."""
        return self.columns.skipped

    @property
    def warnings(self) -> list[DataError]:
        """Why the first thousand of them were."""
        return self.columns.warnings

    def __iter__(self) -> Iterator[Sentence]:
        return self

    def __next__(self) -> Sentence:
        return next(self._sentences)


def read(
    source: Source,
    *,
    format: FormatOrAuto = "auto",  # noqa: A002
    lenient: bool = False,
    roots: Roots = "multi",
) -> SentenceReader:
    """Streams the sentences of a path, `-` (stdin) or file object, in O(bytes).

    Strict: DataError at the first fault, after the sentences before it. Lenient: bad sentences are
    left out, counted in `.skipped`, kept in `.warnings` and logged. `roots="single"`: a tree with
    two roots is a fault. Gzip and a byte order mark are recognized by themselves.
    """
    return SentenceReader(ColumnReader(source, format=format, lenient=lenient, roots=roots))


def read_columns(
    source: Source,
    *,
    format: FormatOrAuto = "auto",  # noqa: A002
    lenient: bool = False,
    roots: Roots = "multi",
) -> Columns:
    """The whole treebank as compact arrays: the fastest way in. O(bytes)."""
    return ColumnReader(source, format=format, lenient=lenient, roots=roots).read_all()


def gather(given: Treebank, check: Callable[[Columns], None], what: str = "treebank") -> Columns:
    """Read a treebank given as a path, a stream, sentences, Columns, or a list of these.

    Each part of a list that has lines of its own is passed to `check`. DataError if a file cannot be read.
    """
    if isinstance(given, Columns):
        return given
    if _is_file(given):
        source = cast("Source", given)
        try:
            return read_columns(source)
        except OSError as error:
            why = f"{error.strerror or error}; check the name".lower()
            raise DataError(why, source=name_of(source)) from None
    if not isinstance(given, Iterable):
        raise InputError(f"{what}: expected {TREEBANK_KINDS}, got {type(given).__name__}")
    parts: list[Columns] = []
    named: list[Columns] = []
    for loose, group in groupby(given, lambda part: _holds_sentences(part, what)):
        if loose:
            sentences = ([part] if isinstance(part, Sentence) else part for part in group)
            parts.append(columns_of(chain.from_iterable(cast("Iterable[Iterable[Sentence]]", sentences))))
        else:
            read = [gather(cast("Columns | Source", part), check, what) for part in group]
            named += read
            parts += read
    if len(parts) == 1:
        return parts[0]
    for part in named:
        check(part)
    return Columns.concat(parts, " + ".join(part.source for part in named) or "<sentences>")


def _is_file(given: object) -> bool:
    return isinstance(given, str | os.PathLike) or hasattr(given, "read")


def _holds_sentences(part: object, what: str) -> bool:
    if isinstance(part, Columns) or _is_file(part):
        return False
    if isinstance(part, Sentence) or (
        isinstance(part, Sequence) and all(isinstance(each, Sentence) for each in part)
    ):
        return True
    raise InputError(f"{what}: expected {TREEBANK_KINDS}, got a list of {type(part).__name__}")


def write(
    sentences: Iterable[Sentence], target: Source, *, layout: Literal["same", "standard"] = "same"
) -> int:
    """Writes sentences to a path, `-` (stdout) or file object; returns how many.

    The format is the sentences' own, whatever the target is called; `convert` changes it.
    `same`: each in the layout it was read in, so that what was read comes back byte for byte;
    `standard`: LF, one blank line after each, no byte order mark. `.gz` zips. A path is replaced
    only when all is written.
    """
    if layout not in ("same", "standard"):
        raise InputError(f"layout: expected same or standard, got {layout!r}")
    count = 0
    with open_output(target) as stream:
        waiting: Sentence | None = None  # one behind, since only the last may lack its blank line
        for sentence in sentences:
            if not isinstance(sentence, Sentence):
                raise InputError(
                    f"write: expected an iterable of Sentence, got one of {type(sentence).__name__}"
                )
            if waiting is not None:
                stream.write(_rendered(waiting, layout, first=count == 1, last=False))
            waiting, count = sentence, count + 1
        if waiting is not None:
            stream.write(_rendered(waiting, layout, first=count == 1, last=True))
    return count


def _rendered(sentence: Sentence, layout: str, *, first: bool, last: bool) -> bytes:
    origin = sentence.origin if layout == "same" else Origin()
    newline = origin.newline
    lines = sentence.lines()
    text = newline.join(lines)
    if not last:
        text += newline * (1 + max(1, origin.blank_lines_after))
    elif origin.final_newline:
        text += newline * (1 + origin.blank_lines_after)
    if first:
        mark = "\ufeff" if origin.byte_order_mark else ""
        text = mark + newline * origin.blank_lines_before + text
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"sentence: expected text that UTF-8 can hold, got {error}") from None


def convert(
    source: Source,
    target: Source,
    *,
    to: Literal["auto", "same", "conllu", "conllx"] = "auto",
    format: FormatOrAuto = "auto",  # noqa: A002
    lenient: bool = False,
    roots: Roots = "multi",
) -> SentenceReader:
    """Reads `source` and writes `target`; returns the reader, for `.format` and `.skipped`.

    `same` writes back what was read, byte for byte. `auto` is the format that the target's name
    asks for (.conllu, .conllx or .conll, before .gz), and `same` where it asks for none, or for what
    was read. See `conllx.from_conllu` for what CoNLL-X cannot hold.

    Strict: DataError at the first fault. Lenient: bad sentences are left out, and DataError where
    no other is there. No target is written or replaced then.
    """
    if to not in ("auto", "same", "conllu", "conllx"):
        raise InputError(f"to: expected auto, same, conllu or conllx, got {to!r}")
    reader = read(source, format=format, lenient=lenient, roots=roots)
    if to == "auto":
        to = format_by_name(reader.columns, target)
    if to == "same":
        with open_output(target) as stream:
            for columns in unless_all_bad(reader.columns, reader.columns):
                stream.write(columns.to_bytes())
        return reader
    change: dict[tuple[str, str], Callable[[Sentence], Sentence]] = {
        ("conllx", "conllu"): conllu.from_conllx,
        ("conllu", "conllx"): conllx.from_conllu,
    }
    step = change.get((reader.format, to))
    sentences = unless_all_bad(reader, reader.columns)
    write(map(step, sentences) if step else sentences, target, layout="standard")
    return reader


class HasFormat(Protocol):
    """What is read, and what it is called."""

    @property
    def source(self) -> str: ...

    @property
    def format(self) -> Format: ...


def format_by_name(reader: HasFormat, target: Source) -> Literal["same", "conllu", "conllx"]:
    """What the target's path asks for, as long as it differs from what is read."""
    ending = ending_of(os.fspath(target)) if isinstance(target, str | os.PathLike) else ""
    wanted = FORMAT_OF_ENDING.get(ending, reader.format)
    # A file named .conll may well be CoNLL-U: a copy under the same ending must not lose half of it.
    copied = ending == ".conll" == ending_of(reader.source)
    return "same" if copied or wanted == reader.format else wanted


def unless_all_bad(parts: Iterable[Part], reader: ColumnReader) -> Iterator[Part]:
    """Yield `parts`; DataError if there are none because the reader skipped every sentence."""
    some = False
    for part in parts:
        some = True
        yield part
    if reader.skipped and not some:
        raise DataError(
            f"no good sentence: expected at least one to write, got {reader.skipped} bad",
            source=reader.source,
        )


def ending_of(path: str) -> str:
    """The last suffix of a name before .gz, such as `.conllu`; empty where there is none."""
    return Path(path.lower().removesuffix(".gz")).suffix


def is_treebank(path: str, start: bytes) -> bool:
    """Whether a file is a treebank, not raw text: by its name, or by a line of ten columns in its start.

    A file of nothing but space is as good a treebank as any.
    """
    ending = ending_of(path)
    if ending in FORMAT_OF_ENDING or ending == ".txt":
        return ending != ".txt"
    return not start.strip() or any(line.count(b"\t") == 9 for line in start.split(b"\n"))


def detect_format(path: str, start: bytes) -> Format:
    """CoNLL-U or CoNLL-X, from the name and the first piece of a file.

    The endings .conllu and .conllx (before .gz) decide. Otherwise: comments, ranges, empty nodes or
    DEPS such as `2:obj` are CoNLL-U; a bare number in column 9 (PHEAD) is CoNLL-X; when neither
    shows, .conll is CoNLL-X and anything else CoNLL-U.
    """
    ending = ending_of(path)
    if ending in (".conllu", ".conllx"):
        return FORMAT_OF_ENDING[ending]
    for line in start.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]:
        fields = line.rstrip(b"\r").split(b"\t")
        if line.startswith(b"#"):
            return "conllu"
        if len(fields) != 10:
            continue
        if not fields[0].isdigit() or b":" in fields[8]:
            return "conllu"
        if fields[8].isdigit():
            return "conllx"
    return FORMAT_OF_ENDING.get(ending, "conllu")
