"""Trained models in a folder: `ID.arbora`, and `ID.json` with the project that it belongs to and its scores.

The server chooses the IDs. A model is found by comparing names from a request with those in memory, so that
no such name ever becomes a path.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from arbora.errors import InputError
from arbora.storage.files import replacing

MOST_BYTES = 1_000_000  # of ID.json


class ModelInfo(msgspec.Struct, frozen=True):
    """How Arborator names a model."""

    project_name: str
    model_id: str


class Entry(msgspec.Struct):
    """A model in the list."""

    model_info: ModelInfo
    scores_best: dict[str, Any]


class Catalog:
    """The models of a folder; safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found = sorted(folder.glob("*.json"))
        except OSError as error:
            what = error.strerror or error
            raise InputError(f"{folder}: cannot store models there ({what}); name another folder") from None
        self.folder = folder
        self._lock = threading.Lock()
        entries = filter(None, map(self._read, found))
        self._entries = {entry.model_info: entry for entry in entries}

    def _read(self, path: Path) -> Entry | None:
        try:
            if path.stat().st_size > MOST_BYTES:
                raise msgspec.ValidationError("too large")
            entry = msgspec.json.decode(path.read_bytes(), type=Entry)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            print(f"note: {path} is not a description of a model, and is ignored: {error}", file=sys.stderr)
            return None
        is_model = entry.model_info.model_id == path.stem and path.with_suffix(".arbora").is_file()
        return entry if is_model else None

    def entries(self) -> list[Entry]:
        """All models, in the order in which they were trained."""
        with self._lock:
            return list(self._entries.values())

    def path(self, info: ModelInfo) -> Path | None:
        """The file of a model; None if there is no such model."""
        with self._lock:
            entry = self._entries.get(info)
        return None if entry is None else self.folder / f"{entry.model_info.model_id}.arbora"

    def add(self, model: Path, info: ModelInfo, scores: dict[str, Any]) -> None:
        """Move a model file into the folder under an ID that `new_id` made."""
        entry = Entry(info, scores)
        model.replace(self.folder / f"{info.model_id}.arbora")
        with replacing(self.folder / f"{info.model_id}.json") as stream:
            stream.write(msgspec.json.encode(entry))
        with self._lock:
            self._entries[info] = entry

    def remove(self, info: ModelInfo) -> bool:
        """Delete a model; False if there is no such model."""
        path = self.path(info)
        with self._lock:
            self._entries.pop(info, None)
        if path is None:
            return False
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        return True


def new_id() -> str:
    """The ID of a new model: the time, and letters that no other has."""
    return f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(4)}"
