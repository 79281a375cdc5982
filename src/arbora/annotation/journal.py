"""Edits as JSON lines, in an append-only file next to the treebank, for undo and after a crash.

    {"journal": 1, "file": "da.conllu", "digest": "..."}
    {"do": "edit", "what": "head of books", "splices": [[12, ["old"], ["new"]]], "digest": "..."}
    {"do": "undo", ...}    {"do": "redo", ...}    {"do": "parse", "digest": "..."}

`digest` is that of the whole treebank afterwards. A line counts once it is on the disk, which `append` waits
for; the treebank is replaced after that. So a crash between both leaves one line more than the treebank has,
and a torn line was never acknowledged. The parser's work (`parse`) has no text: after a crash it is done
again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

Kind: TypeAlias = Literal["edit", "undo", "redo", "parse"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAME = "journal.jsonl"


class Splice(NamedTuple):
    """The sentences from place `at` on, before and after a change."""

    at: int
    before: list[str]
    after: list[str]

    def reversed(self) -> Splice:
        return Splice(self.at, self.after, self.before)


class Entry(NamedTuple):
    """One line of the journal."""

    do: Kind
    what: str
    splices: list[Splice]
    digest: str

    def to_line(self) -> bytes:
        return _line({name: value for name, value in self._asdict().items() if value != []})


@dataclass
class Journal:
    """The lines of a journal, and its file, open for appending."""

    path: Path
    base: str = ""
    """The digest of the treebank when the journal began."""
    entries: list[Entry] = field(default_factory=list)
    undo: list[Entry] = field(default_factory=list)
    """Edits that can be undone, the next one last."""
    redo: list[Entry] = field(default_factory=list)
    """Edits that can be redone, the next one last."""
    _stream: Any = None

    def __post_init__(self) -> None:
        entries, self.entries = self.entries, []
        for entry in entries:
            self._add(entry)

    @classmethod
    def read(cls, path: Path) -> Journal | None:
        """The journal in a file, without a torn last line; None if there is none, or it is damaged."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        whole = data[: data.rfind(b"\n") + 1]
        try:
            first, *rest = [json.loads(line) for line in whole.splitlines()]
            if first["journal"] != 1:
                return None
            journal = cls(path, str(first["digest"]), [_entry(each) for each in rest])
        except (ValueError, KeyError, TypeError, IndexError):
            return None
        if len(whole) < len(data):
            os.truncate(path, len(whole))
        return journal

    @classmethod
    def begin(cls, path: Path, file: str, digest: str) -> Journal:
        """A new journal."""
        journal = cls(path, digest)
        journal._write(_line({"journal": 1, "file": file, "digest": digest}), "wb")
        return journal

    @property
    def digest(self) -> str:
        """That of the treebank after the last line."""
        return self.entries[-1].digest if self.entries else self.base

    def append(self, entry: Entry) -> None:
        """Write a line, and wait until it is on the disk."""
        self._write(entry.to_line(), "ab")
        self._add(entry)

    def drop_last(self) -> None:
        """Remove the last line: the treebank could not be written."""
        *entries, last = self.entries
        self.close()
        os.truncate(self.path, self.path.stat().st_size - len(last.to_line()))
        self.__init__(self.path, self.base, entries)  # type: ignore[misc]

    def archive(self) -> Path:
        """Give the file another name, so that a new journal can begin."""
        self.close()
        number = 1
        while (other := self.path.with_name(f"journal-{number}.jsonl")).exists():
            number += 1
        self.path.rename(other)
        return other

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        if entry.do == "edit":
            self.undo.append(entry)
            self.redo.clear()
        elif entry.do == "undo":
            self.redo.append(self.undo.pop())
        elif entry.do == "redo":
            self.undo.append(self.redo.pop())

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _write(self, line: bytes, mode: str) -> None:
        if self._stream is None or mode == "wb":
            self.close()
            self._stream = self.path.open(mode)
        before = 0 if mode == "wb" else self.path.stat().st_size
        try:
            self._stream.write(line)
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError:
            self.close()
            os.truncate(self.path, before)
            raise


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _entry(value: Any) -> Entry:
    if value["do"] not in KINDS:
        raise ValueError(value["do"])
    splices = [Splice(int(at), list(before), list(after)) for at, before, after in value.get("splices", [])]
    return Entry(value["do"], str(value["what"]), splices, str(value["digest"]))
