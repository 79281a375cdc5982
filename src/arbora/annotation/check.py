"""List all faults of a treebank: its format, and optionally the rules of Universal Dependencies.

The reader stops at the first fault of a sentence. Here the faulty line is repaired, in the least invasive way
that gives another fault or none, and the sentence is read again, until nothing more is found. Other sentences
are not affected. `udtools`, the validator of Universal Dependencies, checks the sentences that can be read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from arbora.annotation.suspicious import SuspiciousArc
from arbora.data.columns import Columns, Format, data_error, native_reader
from arbora.data.treebank import NO_TREEBANK, FormatOrAuto, detect_format
from arbora.errors import DataError, InputError, import_package, require_whole
from arbora.interfaces import Roots
from arbora.storage.files import Source, name_of, naming_errors, open_input

WINDOW = 16_000
"""Bytes read at once: fewer faulty sentences than the reader keeps faults."""
MOST_FAULTS = 100
"""Of one sentence."""
ROWS = 10
"""Lines of words of which one must have ten columns."""
INSTALL = "pip install 'arbora-nlp[check]'"
LEVELS = 5

Problem: TypeAlias = tuple[int, str, str, str]  # line, what, expected, got
Lines: TypeAlias = list[tuple[int, bytes]]  # number in the file, and text


@dataclass(frozen=True, order=True)
class Fault:
    """One fault, at a line of the file."""

    line: int
    severity: Literal["error", "warning"]
    test: str
    """`format`, or the name of a test of `udtools`."""
    message: str
    node: str | None = None
    """The ID of the word, if `udtools` names one."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Report:
    """The problems of a treebank."""

    source: str
    faults: list[Fault]
    columns: Columns
    """The sentences that can be read."""
    bad_sentences: int
    suspicious: list[SuspiciousArc] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """The number of faults that are no mere warnings."""
        return sum(fault.severity == "error" for fault in self.faults)

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.source,
            "sentences": len(self.columns) + self.bad_sentences,
            "bad_sentences": self.bad_sentences,
            "errors": self.errors,
            "warnings": len(self.faults) - self.errors,
            "faults": [fault.to_json() for fault in self.faults],
            "suspicious": [arc.to_json() for arc in self.suspicious],
        }


def check(
    source: Source | bytes,
    *,
    format: FormatOrAuto = "auto",  # noqa: A002
    roots: Roots = "multi",
    language: str | None = None,
    level: int = LEVELS,
) -> Report:
    """List the faults of a file, or of bytes, by line.

    `language`: also validate with `udtools`, up to `level`: `da`, or `ud` for the rules that all languages
    share. InputError if `udtools` is not installed.
    """
    require_whole("level", level, 1, LEVELS)
    name = "<text>" if isinstance(source, bytes) else name_of(source)
    if isinstance(source, bytes):
        data = source
    else:
        with naming_errors(name), open_input(source) as stream:
            data = stream.read()
    known = detect_format(name, data[:WINDOW]) if format == "auto" else format
    columns, problems = _read(data, known, roots, name)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rows = [line for line in lines if line.strip() and not line.startswith(b"#")]
    if len(rows) >= ROWS and not any(line.count(b"\t") == 9 for line in rows):
        raise DataError(NO_TREEBANK, source=name)
    faults: list[Fault] = []
    bad_lines: set[int] = set()
    for problem in problems:
        block = _block(lines, problem[0])
        bad_lines.update(number for number, _ in block)
        faults += [_fault(each) for each in _all_problems(block, problem, known, roots)]
    if language is not None:
        faults += [each for each in _validate(data, language, level) if each.line not in bad_lines]
    else:
        faults += _repeated_names(columns)
    return Report(name, sorted(faults, key=lambda fault: fault.line), columns, len(problems))


def _read(data: bytes, form: Format, roots: Roots, source: str) -> tuple[Columns, list[Problem]]:
    """The good sentences, and the first fault of each of the others."""
    reader = native_reader(form, roots, lenient=True)
    problems: list[Problem] = []
    parts, at, window = [], 0, WINDOW
    while True:
        last = at + window >= len(data)
        used = reader.parse(data[at : at + window], last=last)
        problems += reader.take_problems()
        parts.append(reader.take())
        if last:
            break
        window = WINDOW if used else 2 * window
        at += used
    return Columns.concat([Columns(part, source) for part in parts], source), problems


def _fault(problem: Problem) -> Fault:
    return Fault(problem[0], "error", "format", data_error(problem, "").what)


def _repeated_names(columns: Columns) -> Iterator[Fault]:
    """A fault for each `# sent_id` that an earlier sentence has."""
    known: dict[str, int] = {}
    for first, (comments, _, _) in zip(columns.native.sentence_lines.tolist(), columns.extras(), strict=True):
        for line, comment in enumerate(comments, start=first):
            name, equals, value = (part.strip() for part in comment[1:].partition("="))
            if name == "sent_id" and equals and (before := known.setdefault(value, line)) != line:
                what = f"expected a new sent_id, got {value[:80]}, which line {before} has"
                yield Fault(line, "error", "format", what)


# Repairs


def _block(lines: list[bytes], line: int) -> Lines:
    """The lines of the sentence around a line, which counts from 1, without their endings."""

    def is_blank(number: int) -> bool:
        return lines[number - 1] in (b"", b"\r")

    first = last = min(max(line, 1), len(lines))
    while first > 1 and not is_blank(first - 1):
        first -= 1
    while last < len(lines) and not is_blank(last + 1):
        last += 1
    chosen = (number for number in range(first, last + 1) if not is_blank(number))
    return [(number, lines[number - 1].removesuffix(b"\r")) for number in chosen]


def _all_problems(block: Lines, first: Problem, form: Format, roots: Roots) -> Iterator[Problem]:
    """The first fault, and those that appear after repairs."""
    yield first
    seen = {first[:2]}
    problem = _first_problem(block, form, roots)
    if problem is not None and problem[:2] not in seen:  # the first was about line endings
        seen.add(problem[:2])
        yield problem
    while problem is not None and len(seen) < MOST_FAULTS:
        place = next(at for at, (number, _) in enumerate(block) if number >= problem[0])
        for repaired in _repairs(block, place):
            after = _first_problem(repaired, form, roots)
            if after is None or after[:2] not in seen | {problem[:2]}:
                break
        else:
            return
        block, problem = repaired, after
        if after is not None:
            seen.add(after[:2])
            yield after


def _first_problem(block: Lines, form: Format, roots: Roots) -> Problem | None:
    """The first fault of a sentence, with its line in the file."""
    if not block:
        return None
    reader = native_reader(form, roots, lenient=False)
    reader.parse(b"\n".join(line for _, line in block) + b"\n\n", last=True)
    for line, what, expected, got in reader.take_problems():
        return block[min(line, len(block)) - 1][0], what, expected, got
    return None


def _repairs(block: Lines, place: int) -> Iterator[Lines]:
    """The sentence with one line changed, from small changes to the line's removal."""
    line = block[place][1]
    if line.strip():
        for repair in (_clean, _without_head, _filled):
            yield _with(block, place, repair(line))
        if line.partition(b"\t")[0].isdigit():  # its number stays, and those of other words
            yield _with(block, place, _ten_columns(line))
        yield _renumbered(block)
        yield _renumbered(_with(block, place, _ten_columns(line)))
    yield _renumbered(block[:place] + block[place + 1 :])


def _with(block: Lines, place: int, line: bytes) -> Lines:
    return [*block[:place], (block[place][0], line), *block[place + 1 :]]


def _clean(line: bytes) -> bytes:
    return line.replace(b"\r", b"").decode(errors="replace").encode()


def _without_head(line: bytes) -> bytes:
    fields = line.split(b"\t")
    return b"\t".join([*fields[:6], b"_", b"_", *fields[8:]]) if len(fields) == 10 else line


def _filled(line: bytes) -> bytes:
    return b"\t".join(each or b"_" for each in line.split(b"\t"))


def _ten_columns(line: bytes) -> bytes:
    fields = line.split(b"\t") if b"\t" in line else line.split()
    return b"\t".join([*fields, *[b"_"] * 10][:6] + [b"_"] * 4)


def _renumbered(block: Lines) -> Lines:
    """The sentence with words that count from 1; ranges and empty nodes stay as they are."""
    renumbered, words = [], 0
    for number, line in block:
        first, tab, rest = line.partition(b"\t")
        if tab and not line.startswith(b"#") and not set(first) & set(b"-."):
            words += 1
            line = str(words).encode() + tab + rest
        renumbered.append((number, line))
    return renumbered


# Universal Dependencies


def _validate(data: bytes, language: str, level: int) -> list[Fault]:
    """The faults that `udtools` finds, in the order in which it does."""
    udtools = import_package("udtools", INSTALL)
    validator = udtools.Validator(lang=language, level=level, output=None)
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace")
    try:
        state = validator.validate_end(validator.validate_file_handle(text))
    except Exception as error:  # whatever a treebank makes it stumble over
        raise InputError(f"udtools stopped: {type(error).__name__}: {error}", field="language") from error
    return [
        Fault(
            line=max(1, int(each.lineno)),
            severity="error" if each.is_error() else "warning",
            test=f"{each.testclass_to_report()} {each.testid}".lower(),
            message=" ".join(str(each.message).split()),
            node=str(each.nodeid) if each.nodeid else None,
        )
        for each in state.error_tracker
    ]
