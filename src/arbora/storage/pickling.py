"""Models in other processes: `multiprocessing` pickles what it sends, and native code cannot be pickled.

A model that was loaded from a file is pickled as the file's name and checksum, and opened where it arrives,
once per process while it is in use. Any other model is pickled as the tensors and metadata of its file.
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
"""The class of a model, the absolute path of its file, and the file's checksum."""
_loaded: WeakValueDictionary[Place, Reloaded] = WeakValueDictionary()


class Reloaded(ABC):
    """Base of models that can be saved; never changed, so that copies may be shared."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and metadata for a model file."""

    @classmethod
    @abstractmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model from a file that is read."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file and make the model."""

    def remember(self, file: ModelFile) -> Self:
        """Note that this model is in a file; return the model."""
        if file.checksum is not None:
            place = (type(self), str(Path(file.source).absolute()), file.checksum)
            object.__setattr__(self, "_place", place)
            _loaded[place] = self
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        place: Place | None = getattr(self, "_place", None)
        return (_rebuild, (type(self), *self.to_parts())) if place is None else (_reload, place)


def _reload(kind: type[Reloaded], path: str, checksum: str) -> Reloaded:
    place = (kind, path, checksum)
    model = _loaded[place] if place in _loaded else kind.load(path)
    if getattr(model, "_place", None) != place:
        raise ModelError("the file has changed since the model was loaded; load it again", source=path)
    return model


def _rebuild(kind: type[Reloaded], tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Reloaded:
    return kind.from_file(ModelFile("the model", FORMAT, "", metadata, tensors))
