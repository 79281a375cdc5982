"""The folder of a parsed corpus: outputs, and a journal of them.

NAME.conllu            the trees of a shard (or .jsonl, .parquet); it exists if and only if it is complete
_manifest.json         the model, the options and the inputs: a rerun must have the same
_journal/*.jsonl       a line for each shard that was parsed: its counts; written before the output appears
_failed.jsonl          a line for each shard that failed and for each row that was left out, with the reason
_report.json           counts, speed and failures so far
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from arbora.distributed.inputs import Input
from arbora.distributed.shards import is_shard_of
from arbora.errors import DataError, InputError
from arbora.storage.files import open_output

MANIFEST, FAILED, REPORT, JOURNAL = "_manifest.json", "_failed.jsonl", "_report.json", "_journal"
VERSION = 1


class CorpusFolder:
    """Reads and writes the state that a run leaves for the next one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder if there is none, and lock it; InputError if another run uses it."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.path)
        self.remove_temporary()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove_temporary(self) -> None:
        """Remove temporary files of this run, or of one that was killed."""
        for path in self.path.rglob(".*.tmp"):
            path.unlink(missing_ok=True)

    # What a rerun must share

    def check_manifest(
        self,
        about: Mapping[str, Any],
        inputs: Sequence[Input],
        outputs: Collection[str],
        repaired: Collection[str] = (),
        ending: str = "",
    ) -> set[str]:
        """Write or extend the manifest; return the names of inputs that have changed since they failed.

        `about`: the model and the options. Inputs may be added. A known input may change while it has no
        output, or if one of its outputs is `repaired`; then all of them are removed. InputError if the folder
        was made in another way.
        """
        path = self.path / MANIFEST
        known: dict[str, Any] = _read_json(path) if path.exists() else {}
        wanted = {"version": VERSION, **about}
        for name, value in wanted.items() if known else ():
            if known.get(name) != value:
                before, now = _difference(name, known.get(name), value)
                what = f"{self.path} was made with {before}, and this run has {now}"
                raise InputError(f"{what}; use the same, or another folder", field=name)
        sizes: dict[str, int] = known.get("inputs", {})
        changed = [each for each in inputs if each.name in sizes and sizes[each.name] != each.size]
        stale: list[str] = []
        for each in changed:
            own = [name for name in outputs if is_shard_of(name, each.name)]
            if own and not any(name in repaired for name in own):
                what = f"{each.path} had {sizes[each.name]:,} bytes, and has {each.size:,} now"
                listed = f"{own[0]}{ending}" + (", ..." if len(own) > 1 else "")
                advice = f"delete its outputs ({listed}), or parse it into another folder"
                raise InputError(f"{what}; {advice}", field="inputs")
            stale += own
        for name in stale:
            (self.path / f"{name}{ending}").unlink(missing_ok=True)
        if now_known := {each.name: each.size for each in inputs}:
            self._write(MANIFEST, {**wanted, "inputs": sizes | now_known})
        return {each.name for each in changed}

    # What is done

    def outputs(self, ending: str) -> set[str]:
        """The names of shards whose outputs exist. O(files)."""
        found: set[str] = set()
        waiting = [("", self.path)]
        while waiting:
            prefix, folder = waiting.pop()
            with os.scandir(folder) as listing:
                for entry in listing:
                    if entry.name.startswith((".", "_")):
                        continue
                    if entry.is_dir():
                        waiting.append((f"{prefix}{entry.name}/", Path(entry.path)))
                    elif entry.name.endswith(ending):
                        found.add(f"{prefix}{entry.name}".removesuffix(ending))
        return found

    def journal(self) -> dict[str, dict[str, Any]]:
        """The counts of shards by name; the last line of a shard counts. O(shards)."""
        lines = (line for path in sorted((self.path / JOURNAL).glob("*.jsonl")) for line in _read_lines(path))
        return {line["shard"]: line for line in lines}

    def failures(self) -> list[dict[str, Any]]:
        """Shards that failed and rows that were left out, so far."""
        return list(_read_lines(self.path / FAILED))

    def add_failure(self, line: Mapping[str, Any]) -> None:
        with (self.path / FAILED).open("ab") as stream:
            stream.write(_line(line))

    def write_failures(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Replace all failures; without any, there is no file."""
        given = list(lines)
        if not given:
            (self.path / FAILED).unlink(missing_ok=True)
            return
        with open_output(self.path / FAILED) as stream:
            stream.writelines(map(_line, given))

    def write_report(self, report: Mapping[str, Any]) -> None:
        self._write(REPORT, report)

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        with open_output(self.path / name) as stream:
            stream.write(json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")


class Journal:
    """The journal of one worker: a separate file, so that workers on any machine may write at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder, JOURNAL, f"{secrets.token_hex(8)}.jsonl")
        self._stream: IO[bytes] | None = None

    def write(self, line: Mapping[str, Any]) -> None:
        if self._stream is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._path.open("ab")
        self._stream.write(_line(line))
        self._stream.flush()


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("inputs", {}), dict):
        raise DataError("expected a manifest; delete it to parse everything again", source=str(path))
    return found


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that are whole: a killed run may have left half a line."""
    with suppress(FileNotFoundError), path.open("rb") as stream:
        for line in stream:
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and isinstance(found.get("shard"), str):
                    yield found


def _difference(name: str, before: Any, now: Any) -> tuple[str, str]:
    """Two values in words; of two objects, only the entries that differ."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return _named({name: before}), _named({name: now})
    names = [each for each in {**before, **now} if before.get(each) != now.get(each)]
    return _named({each: before.get(each) for each in names}), _named({each: now.get(each) for each in names})


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())


def _locked(path: Path) -> int | None:
    """Lock a folder until the process ends; None where this is not possible."""
    try:
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"{path}: another run parses into this folder; wait for it", field="folder"
        ) from None
    except OSError:  # some network file systems have no locks
        pass
    return descriptor
