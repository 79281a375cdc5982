"""The treebank on disk: sentences as texts, saved on every change, with undo across restarts.

A change is acknowledged when it is in the journal and in the treebank, both on the disk; see
`arbora.annotation.journal`. The treebank is replaced as a whole by renaming, so other programs never see half
of it. Sentences that do not change keep their bytes. If another program changes the file, nothing is written
until somebody decides which version to take.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from arbora.annotation.journal import NAME, Entry, Journal, Kind, Splice
from arbora.annotation.refusal import Refusal
from arbora.annotation.texts import split_texts
from arbora.errors import DataError
from arbora.storage.files import replacing
from arbora.storage.locks import locked


class Stamp(NamedTuple):
    """A fingerprint of a file's content from its status."""

    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """None if the file is gone."""
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Change:
    """A change: some sentences were replaced by others, `shift` more than before."""

    what: str
    splices: list[Splice]

    @property
    def shift(self) -> int:
        return sum(len(each.after) - len(each.before) for each in self.splices)


OPEN = "already open in another `arbora annotate`; close that first"


class Store:
    """The sentences of a CoNLL-U file as texts, with their blank lines; not safe for several threads."""

    def __init__(self, file: Path, folder: Path) -> None:
        """Open a project; InputError if another process has it open, DataError for a malformed treebank."""
        self.file, self.folder = file.resolve(), folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = ExitStack()
        try:
            for path in (self.file, self.folder / NAME):
                self._lock.enter_context(locked(path, OPEN))
            self.texts: list[str] = []
            self.revision = 0
            self.notes: list[str] = []
            for name in self.file.parent.glob(f".{self.file.name}.*.tmp"):  # of a process that was killed
                name.unlink(missing_ok=True)
            self._read()
            self._journal = self._open_journal()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others open the project."""
        if hasattr(self, "_journal"):
            self._journal.close()
        self._lock.close()

    # Reading

    def _read(self) -> None:
        stamp = Stamp.of(self.file)
        data = self.file.read_bytes()
        self.texts = split_texts(data, str(self.file))
        if not self.texts:
            raise DataError("expected sentences, got an empty file", source=str(self.file))
        self._stamp, self.digest = stamp, digest_of(data)

    def _open_journal(self) -> Journal:
        path = self.folder / NAME
        journal = Journal.read(path)
        if journal is not None and journal.digest != self.digest and journal.entries:
            self._finish_last(journal)
        if journal is not None and journal.digest == self.digest:
            return journal
        if path.exists():
            kept = Journal(path).archive()
            self.notes.append(
                f"{self.file.name} was changed by another program: undo starts again; the earlier journal is "
                f"{kept.name}"
            )
        return Journal.begin(path, self.file.name, self.digest)

    def _finish_last(self, journal: Journal) -> None:
        """Apply the last line if a crash came between the journal and the treebank."""
        *_, last = journal.entries
        before = journal.entries[-2].digest if len(journal.entries) > 1 else journal.base
        if before != self.digest:
            return
        if last.do == "parse":
            journal.drop_last()
            return
        texts = spliced(self.texts, last.splices)
        if texts is not None and digest_of(data := encoded(texts)) == last.digest:
            self._write(texts, data, last.digest)
            self.notes.append(f"finished after a crash: {last.what}")

    # Changing

    @property
    def is_changed_outside(self) -> bool:
        """Whether another program has changed the file."""
        now = Stamp.of(self.file)
        if now == self._stamp:
            return False
        if now is None or digest_of(self.file.read_bytes()) != self.digest:
            return True
        self._stamp = now
        return False

    def replace(self, kind: Kind, what: str, splices: list[Splice]) -> Change:
        """Make a change that lasts; Refusal if the file was changed outside or cannot be written."""
        if self.is_changed_outside:
            remedy = "reload it, or save this version under another name"
            if not self.file.exists():
                remedy = "save this version under another name"
            what = "changed" if self.file.exists() else "removed"
            raise Refusal("changed_outside", f"{self.file.name} was {what} by another program; {remedy}")
        texts = spliced(self.texts, splices)
        if texts is None:
            raise Refusal("stale", "the sentences have changed meanwhile; load them again")
        kept = [] if kind == "parse" else splices
        data = encoded(texts)
        digest = digest_of(data)
        try:
            self._journal.append(Entry(kind, what, kept, digest))
            try:
                self._write(texts, data, digest)
            except OSError:
                self._journal.drop_last()
                raise
        except OSError as error:
            why = f"{error.strerror or error}".lower()
            raise Refusal(
                "not_saved", f"{self.file.name} could not be saved ({why}); nothing changed"
            ) from None
        return Change(what, splices)

    def _write(self, texts: list[str], data: bytes, digest: str) -> None:
        with replacing(self.file, durable=True) as stream:
            stream.write(data)
        self._stamp, self.digest, self.texts = Stamp.of(self.file), digest, texts
        self.revision += 1

    @property
    def undoable(self) -> str | None:
        """The edit that `undo` would undo."""
        return self._journal.undo[-1].what if self._journal.undo else None

    @property
    def redoable(self) -> str | None:
        """The edit that `redo` would redo."""
        return self._journal.redo[-1].what if self._journal.redo else None

    def undo(self) -> Change:
        """Take back the last change that a human made; the parser's changes since then go with it."""
        if not self._journal.undo:
            raise Refusal("nothing_to_undo", "there is nothing to undo")
        last = self._journal.undo[-1]
        return self._again("undo", last.what, [each.reversed() for each in reversed(last.splices)])

    def redo(self) -> Change:
        """Redo the last undone edit."""
        if not self._journal.redo:
            raise Refusal("nothing_to_redo", "there is nothing to redo")
        last = self._journal.redo[-1]
        return self._again("redo", last.what, last.splices)

    def _again(self, kind: Kind, what: str, splices: list[Splice]) -> Change:
        # The parser may have changed the same sentences since, but not their number.
        now = [Splice(at, self.texts[at : at + len(before)], after) for at, before, after in splices]
        return self.replace(kind, what, now)

    # Versions

    def reload(self) -> None:
        """Reload the file from the disk; undo starts again."""
        self._read()
        self._journal.archive()
        self._journal = Journal.begin(self.folder / NAME, self.file.name, self.digest)
        self.revision += 1

    def save_copy(self, name: str) -> Path:
        """Write this version next to the file; Refusal if the name is taken or is not a plain name."""
        target = self.file.with_name(name) if name and name == Path(name).name else None
        if target is None or not name.isprintable() or name.startswith(".") or target.suffix != ".conllu":
            raise Refusal(
                "bad_request", f"name: expected a plain name such as copy.conllu, got {name[:80]!r}"
            )
        try:
            with target.open("xb") as stream:
                stream.write(encoded(self.texts))
                stream.flush()
                os.fsync(stream.fileno())
        except FileExistsError:
            raise Refusal("exists", f"{name} exists; choose another name") from None
        except OSError as error:
            with suppress(OSError):
                target.unlink(missing_ok=True)
            raise Refusal("not_saved", f"{name} could not be saved ({error.strerror or error})") from None
        return target


def spliced(texts: list[str], splices: list[Splice]) -> list[str] | None:
    """The texts with changes, made in order; None if they are not those that a change starts from."""
    texts = list(texts)
    for at, before, after in splices:
        if texts[at : at + len(before)] != before:
            return None
        texts[at : at + len(before)] = after
    return texts


def encoded(texts: list[str]) -> bytes:
    """The bytes of a file."""
    return "".join(texts).encode()


def digest_of(data: bytes) -> str:
    """A short name of some content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
