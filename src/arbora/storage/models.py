"""Models by name: those that come with Arbora, and those that `arbora get` has installed.

`arbora.load("english")`, `arbora parse -m danish`. A file of that name takes precedence.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from arbora.errors import ModelError
from arbora.storage.ud.folders import cache_folder

DEFAULT = "english"
BUNDLED = {DEFAULT: Path(__file__).parents[1] / "models" / "english.arbora"}
EXAMPLES = {DEFAULT: "She saw the man with the telescope. Nobody has read it yet!"}
"""Example texts; the first sentence is ambiguous."""
VARIABLE = "ARBORA_MODELS"
SUFFIX = ".arbora"
NAME = re.compile(r"(?a:[a-z0-9][a-z0-9_.-]*)")


def models_folder() -> Path:
    """The folder of installed models: ARBORA_MODELS, or a folder in the user's cache."""
    given = os.environ.get(VARIABLE)
    return Path(given).expanduser() if given else cache_folder("models")


def installed_models() -> dict[str, Path]:
    """The models in that folder, by name."""
    folder = models_folder()
    found = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return {path.stem: path for path in found if NAME.fullmatch(path.stem) and path.is_file()}


def model_path(name: str) -> Path:
    """Where a model of this name is installed."""
    return models_folder() / f"{name}{SUFFIX}"


def named_models() -> dict[str, Path]:
    """All models with a name: those that come with Arbora, then installed ones."""
    return {**installed_models(), **BUNDLED}


def is_named(given: str | os.PathLike[str]) -> bool:
    """Return whether this names a model that is there, in any case; a file of that name takes precedence."""
    name = os.fspath(given)
    return not Path(name).exists() and name.lower() in named_models()


def no_model() -> str:
    """The error message for an unknown name."""
    known = ", ".join(named_models())
    return f"no such file, and no model of that name (there are: {known}; `arbora get LANGUAGE` makes one)"


def find_model(given: str | os.PathLike[str] | None = None) -> str | os.PathLike[str]:
    """Return the model file of a name or path; by default, that of the default model."""
    if given is None or is_named(given):
        name = DEFAULT if given is None else os.fspath(given).lower()
        path = named_models()[name]
        if not path.exists():
            raise ModelError("this model was not installed with Arbora; name a file", source=name)
        return path
    if not Path(given).suffix and not Path(given).exists():
        raise ModelError(f"{no_model()}; check the name, or train a model first", source=os.fspath(given))
    return given
