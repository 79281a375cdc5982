"""Models in other processes: `multiprocessing` pickles what it sends, and native code cannot be pickled.

A model that was loaded from a file is pickled as the file's name and checksum, so it costs nothing to send,
and is opened where it arrives: once, however often it comes, while somebody there still uses it. A model
that is in no file is pickled as what one would hold.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from arbora.errors import ModelError
from arbora.storage.model_file import FORMAT, ModelFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

Place = tuple[type["Reloaded"], str, str]
"""What it is, the absolute path of its file, and the file's checksum."""
_here: WeakValueDictionary[Place, Reloaded] = WeakValueDictionary()


class Reloaded(ABC):
    """What a model file holds, and is found again in it; never changed, so that copies may be shared."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Tensors and metadata for a model file."""

    @classmethod
    @abstractmethod
    def from_file(cls, file: ModelFile) -> Self:
        """The inverse."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The same of a file that is not read yet."""

    def remember(self, file: ModelFile) -> Self:
        """The same object, which now knows that it is what the file holds."""
        if file.checksum is not None:
            place = (type(self), str(Path(file.source).absolute()), file.checksum)
            object.__setattr__(self, "_place", place)
            _here[place] = self
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        place: Place | None = getattr(self, "_place", None)
        return (_rebuilt, (type(self), *self.to_parts())) if place is None else (_reloaded, place)


def _reloaded(kind: type[Reloaded], path: str, checksum: str) -> Reloaded:
    """The model at a place, loaded if it is not here yet."""
    found = _here.get((kind, path, checksum))
    if found is not None:
        return found
    loaded = kind.load(path)
    if getattr(loaded, "_place", None) != (kind, path, checksum):
        raise ModelError(
            "the file is another one than when the model was loaded from it; load it anew", source=path
        )
    return loaded


def _rebuilt(kind: type[Reloaded], tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Reloaded:
    return kind.from_file(ModelFile("the model", FORMAT, "", metadata, tensors))
