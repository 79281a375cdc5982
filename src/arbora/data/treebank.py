"""Whole treebanks: streaming read and write, and the compact arrays.

Reading takes one pass and the memory of one piece (about a megabyte), however long the file. Every sentence
remembers its layout, so treebanks round-trip byte for byte.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np

from arbora.data.columns import Columns, Format, columns_of, data_error, native_reader
from arbora.data.sentence import Origin, Sentence, unparsed
from arbora.errors import DataError, InputError, as_utf8, require_known
from arbora.interfaces import Roots
from arbora.storage.files import Source, name_of, naming_errors, open_input, open_output, read_bytes

logger = logging.getLogger("arbora")

PIECE = 3 << 17  # bytes, some 6,000 words: few enough for tags and trees to share a network's states
LONGEST_SENTENCE = 1 << 28
MOST_WARNINGS = 1000
NO_TREEBANK = (
    "no line has ten columns separated by tabs: this does not look like CoNLL-U or CoNLL-X, "
    "is it the right file?"
)

TREEBANK_KINDS = "a path, sentences, or a list of these"
FormatOrAuto = Literal["auto", "conllu", "conllx"]
FORMAT_OF_ENDING: dict[str, Format] = {".conllu": "conllu", ".conllx": "conllx", ".conll": "conllx"}
OTHER_ENDINGS = (".parquet", ".json", ".jsonl", ".svg", ".html")
"""Endings of names that state a format other than a treebank's."""

Item = TypeVar("Item")
Treebank: TypeAlias = "Columns | Source | Iterable[Columns | Source | Sentence | Sequence[Sentence]]"
"""The input of training; see `gather`."""


class Reader(Iterator[Item]):
    """Iterator over a file, which is closed at the end.

    `format` is the given or detected one. In lenient mode malformed sentences are skipped: `skipped` counts
    them so far, `warnings` keeps the first thousand as DataErrors, and each is logged.
    """

    _items: Callable[[Columns], Iterable[Item]]  # makes the items of a piece of the file

    def __init__(
        self, source: Source, *, format: FormatOrAuto = "auto", lenient: bool = False, roots: Roots = "multi"
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
        self._left = self._run()

    @property
    def skipped(self) -> int:
        """Number of sentences skipped so far."""
        return self._native.skipped

    def __next__(self) -> Item:
        return next(self._left)

    def close(self) -> None:
        """Close the file early."""
        self._left.close()
        self._stream.close()

    def __del__(self) -> None:
        if hasattr(self, "_left"):
            self.close()

    def read_all(self) -> Columns:
        """Read the rest as one `Columns`."""
        for _ in self._feed():
            pass
        columns = Columns(self._native.take(), self.source)
        self._raise_fault()
        return columns

    def _run(self) -> Generator[Item, None, None]:
        for _ in self._feed():
            columns = Columns(self._native.take(), self.source)
            if len(columns):
                yield from self._items(columns)
        self._raise_fault()

    def _feed(self) -> Iterator[None]:
        """Hand the file to the core in pieces; yield after each, at the end, and at a fault."""
        data, pending = self._ahead, b""
        while True:
            text = pending + data if pending else data
            last = not data
            used = self._native.parse(text, last=last)
            for problem in [] if self._native.failed else self._native.take_problems():
                warning = data_error(problem, self.source)
                logger.warning("%s (sentence skipped)", warning)
                if len(self.warnings) < MOST_WARNINGS:
                    self.warnings.append(warning)
            yield
            if last or self._native.failed:
                break
            pending = text[used:]
            if len(pending) > LONGEST_SENTENCE:
                expected = f"expected a blank line within {LONGEST_SENTENCE} bytes, got none"
                raise DataError(f"sentence too long: {expected}; is this a treebank?", source=self.source)
            # After a sentence longer than the piece, read twice as much: time stays linear.
            data = read_bytes(self._stream, max(PIECE, len(pending)), self.source)
        self._stream.close()

    def _raise_fault(self) -> None:
        for problem in self._native.take_problems():
            error = data_error(problem, self.source)
            if not _has_ten_columns(self._ahead):
                error = DataError(f"{error.what}; {NO_TREEBANK}", source=self.source, line=error.line)
            raise error


class ColumnReader(Reader[Columns]):
    """Reader of `Columns`, one per piece of a file."""

    _items = staticmethod(lambda columns: (columns,))


class SentenceReader(Reader[Sentence]):
    """Reader of the sentences of a file."""

    _items = staticmethod(Columns.sentences)


def read(
    source: Source, *, format: FormatOrAuto = "auto", lenient: bool = False, roots: Roots = "multi"
) -> SentenceReader:
    """Stream the sentences of a path, `-` (stdin) or file object, in O(bytes).

    Strict: DataError at the first fault, after the sentences before it. Lenient: malformed sentences are
    skipped, counted in `.skipped`, kept in `.warnings` and logged. `roots="single"`: a tree with two roots is
    a fault. Gzip and a byte order mark are detected.
    """
    return SentenceReader(source, format=format, lenient=lenient, roots=roots)


def read_columns(
    source: Source, *, format: FormatOrAuto = "auto", lenient: bool = False, roots: Roots = "multi"
) -> Columns:
    """Read the whole treebank as compact arrays, which is the fastest. O(bytes)."""
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
            sentences = ([part] if isinstance(unparsed(part), Sentence) else part for part in group)
            whole = chain.from_iterable(cast("Iterable[Iterable[Sentence]]", sentences))
            parts.append(columns_of(map(unparsed, whole)))
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
    if isinstance(unparsed(part), Sentence) or (
        isinstance(part, Sequence) and all(isinstance(unparsed(each), Sentence) for each in part)
    ):
        return True
    raise InputError(f"{what}: expected {TREEBANK_KINDS}, got a list of {type(part).__name__}")


def write(
    sentences: Iterable[Sentence], target: Source, *, layout: Literal["same", "standard"] = "same"
) -> int:
    """Write sentences to a path, `-` (stdout) or file object; return their number.

    The format is the sentences' own; `convert` changes it. InputError if the target's name states a format
    other than CoNLL-U and CoNLL-X, such as `.parquet` (see `arbora.integrations.table.write_parquet`). Parsed
    sentences get their probabilities in MISC and comments, as `arbora parse --probabilities` writes them.
    `same`: in the layout they were read in, byte for byte. `standard`: LF, one blank line after each, no byte
    order mark. `.gz` compresses. A path is replaced only when all is written.
    """
    require_known("layout", layout, ("same", "standard"))
    _require_treebank_name(target)
    count = 0
    with open_output(target) as stream:
        items: Iterable[Any] = chain(sentences, [None])
        for given, following in pairwise(items):
            sentence: Any = given.annotated() if hasattr(given, "annotated") else given
            if not isinstance(sentence, Sentence):
                got = type(sentence).__name__
                raise InputError(f"write: expected an iterable of Sentence, got one of {got}")
            origin = sentence.origin if layout == "same" else Origin()
            stream.write(_rendered(sentence, origin, first=count == 0, last=following is None))
            count += 1
    return count


def _require_treebank_name(target: Source) -> None:
    ending = ending_of(os.fspath(target)) if isinstance(target, str | os.PathLike) else ""
    if ending in OTHER_ENDINGS:
        known = ", ".join(FORMAT_OF_ENDING)
        how = "`arbora.integrations.table.write_parquet` or " if ending == ".parquet" else ""
        raise InputError(f"target: expected a name such as {known}, got {ending}; use {how}`arbora convert`")


def _rendered(sentence: Sentence, origin: Origin, *, first: bool, last: bool) -> bytes:
    newline = origin.newline
    text = newline.join(sentence.lines())
    if not last:  # only the last sentence may lack its blank line
        text += newline * (1 + max(1, origin.blank_lines_after))
    elif origin.final_newline:
        text += newline * (1 + origin.blank_lines_after)
    if first:
        mark = "\ufeff" if origin.byte_order_mark else ""
        text = mark + newline * origin.blank_lines_before + text
    return as_utf8("sentence", text)


def convert(
    source: Source,
    target: Source,
    *,
    to: Literal["auto", "same", "conllu", "conllx"] = "auto",
    format: FormatOrAuto = "auto",
    lenient: bool = False,
    roots: Roots = "multi",
) -> ColumnReader:
    """Read `source` and write `target`; return the reader, for `.format` and `.skipped`.

    `same` copies byte for byte. `auto` is the format of the target's name (.conllu, .conllx or .conll, before
    .gz), and `same` if the name has none or that of the source. See `conllu_to_conllx` for what CoNLL-X
    drops.

    Strict: DataError at the first fault. Lenient: malformed sentences are skipped; DataError if no others are
    left. On errors, no target is written or replaced.
    """
    require_known("to", to, ("auto", "same", "conllu", "conllx"))
    reader = ColumnReader(source, format=format, lenient=lenient, roots=roots)
    if to == "auto":
        to = format_by_name(reader.source, reader.format, target)
    if to == "same":
        with open_output(target) as stream:
            for columns in unless_all_bad(reader):
                stream.write(columns.to_bytes())
        return reader
    sentences: Iterator[Sentence] = chain.from_iterable(map(Columns.sentences, unless_all_bad(reader)))
    if to != reader.format:
        sentences = map(conllx_to_conllu if to == "conllu" else conllu_to_conllx, sentences)
    write(sentences, target, layout="standard")
    return reader


def conllx_to_conllu(sentence: Sentence) -> Sentence:
    """Convert a sentence read as CoNLL-X: PHEAD and PDEPREL move to MISC, as `PHead=` and `PDeprel=`."""
    misc = tuple(map(_to_misc, sentence.deps, sentence.misc))
    return replace(sentence, deps=("_",) * len(sentence), misc=misc)


def columns_to_conllu(columns: Columns, read_as: Format = "conllx") -> Columns:
    """Convert columns like `conllx_to_conllu` converts sentences, unless they were read as CoNLL-U. O(W)."""
    if read_as == "conllu":
        return columns
    deps, misc = columns.strings("deps"), columns.strings("misc")
    both = np.stack([columns.ids("deps"), columns.ids("misc")])
    pairs, ids = np.unique(both, axis=1, return_inverse=True)
    names = [_to_misc(deps[phead], misc[pdeprel]) for phead, pdeprel in pairs.T.tolist()]
    with_misc = columns.with_column("misc", ids.reshape(-1).astype(np.int32), names)
    return with_misc.with_column("deps", np.zeros(columns.words, dtype=np.int32), ["_"])


def conllu_to_conllx(sentence: Sentence) -> Sentence:
    """Convert a sentence read as CoNLL-U for writing as CoNLL-X.

    Comments, multiword tokens (not their words), empty nodes, DEPS and the rest of MISC are dropped. Spaces
    within a field become `_`, since readers of CoNLL-X split at any white space.
    """
    return replace(
        sentence,
        forms=tuple(re.sub(r"\s", "_", text) for text in sentence.forms),
        lemmas=tuple(re.sub(r"\s", "_", text) for text in sentence.lemmas),
        deps=tuple(_from_misc(misc, "PHead=") for misc in sentence.misc),
        misc=tuple(_from_misc(misc, "PDeprel=") for misc in sentence.misc),
        comments=(),
        multiword_tokens=(),
        empty_nodes=(),
    )


def _to_misc(phead: str, pdeprel: str) -> str:
    pairs = (("PHead", phead), ("PDeprel", pdeprel))
    return "|".join(f"{name}={value}" for name, value in pairs if value != "_") or "_"


def _from_misc(misc: str, prefix: str) -> str:
    values = (part.removeprefix(prefix) for part in misc.split("|") if part.startswith(prefix))
    return next(values, "") or "_"


def format_by_name(source: str, format: Format, target: Source) -> Literal["same", "conllu", "conllx"]:
    """Return the format of the target's name, or `same` if that is the format of the source."""
    ending = ending_of(os.fspath(target)) if isinstance(target, str | os.PathLike) else ""
    wanted = FORMAT_OF_ENDING.get(ending, format)
    # A file named .conll may well be CoNLL-U: a copy under the same ending must not lose half of it.
    is_copy = ending == ".conll" == ending_of(source)
    return "same" if is_copy or wanted == format else wanted


def unless_all_bad(reader: Reader[Item]) -> Iterator[Item]:
    """Yield what the reader yields; DataError if it skipped every sentence."""
    is_empty = True
    for item in reader:
        is_empty = False
        yield item
    if reader.skipped and is_empty:
        what = f"no good sentence: expected at least one to write, got {reader.skipped} bad"
        raise DataError(what, source=reader.source)


def ending_of(path: str) -> str:
    """Return the last suffix of a name before .gz, such as `.conllu`; empty if there is none."""
    return Path(path.lower().removesuffix(".gz")).suffix


def is_treebank(path: str, start: bytes) -> bool:
    """Tell a treebank from raw text, by its name or by a line of ten columns in its start.

    A blank file counts as a treebank.
    """
    ending = ending_of(path)
    if ending in FORMAT_OF_ENDING or ending == ".txt":
        return ending != ".txt"
    return not start.strip() or _has_ten_columns(start)


def _has_ten_columns(start: bytes) -> bool:
    return any(line.count(b"\t") == 9 for line in start.split(b"\n"))


def detect_format(path: str, start: bytes) -> Format:
    """Tell CoNLL-U from CoNLL-X by the name and the first piece of a file.

    The endings .conllu and .conllx (before .gz) decide. Otherwise comments, ranges, empty nodes or DEPS such
    as `2:obj` mean CoNLL-U, and a bare number in column 9 (PHEAD) means CoNLL-X. Without any of these, .conll
    is CoNLL-X and other names are CoNLL-U.
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
