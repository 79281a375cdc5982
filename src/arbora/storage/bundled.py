"""Models that come with Arbora, by name: `arbora.load("english")`, `arbora parse -m english`."""

from __future__ import annotations

import os
from pathlib import Path

from arbora.errors import ModelError

DEFAULT = "english"
BUNDLED = {DEFAULT: Path(__file__).parents[1] / "models" / "english.arbora"}
EXAMPLES = {DEFAULT: "She saw the man with the telescope. Nobody has read it yet!"}
"""Example texts; the first sentence is ambiguous."""
NO_MODEL = f"no such file, and no model that comes with Arbora ({', '.join(BUNDLED)})"


def is_bundled(given: str | os.PathLike[str]) -> bool:
    """Return whether this names a model that comes with Arbora; a file of that name takes precedence."""
    return os.fspath(given) in BUNDLED and not Path(given).exists()


def find_model(given: str | os.PathLike[str] | None = None) -> str | os.PathLike[str]:
    """Return the model file of a name or path; by default, that of the default model."""
    if given is None or is_bundled(given):
        name = DEFAULT if given is None else os.fspath(given)
        if not BUNDLED[name].exists():
            raise ModelError("this model was not installed with Arbora; name a file", source=name)
        return BUNDLED[name]
    if not Path(given).suffix and not Path(given).exists():
        raise ModelError(f"{NO_MODEL}; check the name, or train a model first", source=os.fspath(given))
    return given
