"""Models that come with Arbora, by name: `arbora.load("english")`, `arbora parse -m english`."""

from __future__ import annotations

import os
from pathlib import Path

from arbora.errors import ModelError

DEFAULT = "english"
BUNDLED = {DEFAULT: Path(__file__).parents[1] / "models" / "english.arbora"}

EXAMPLES = {DEFAULT: "She saw the man with the telescope. Nobody has read it yet!"}
"""Texts to begin with; the first sentence can be read in two ways."""
NO_MODEL = f"no such file, and no model that comes with Arbora ({', '.join(BUNDLED)})"


def is_bundled(given: str | os.PathLike[str]) -> bool:
    """Whether it is the name of a model that comes with Arbora; a file that is called so goes first."""
    return os.fspath(given) in BUNDLED and not Path(given).exists()


def find_model(given: str | os.PathLike[str] | None = None) -> str | os.PathLike[str]:
    """The model file of a name or path; without one, that of the default model."""
    name = DEFAULT if given is None else given
    if given is None or is_bundled(given):
        path = BUNDLED[os.fspath(name)]
        if not path.exists():
            raise ModelError("this model was not installed with Arbora; name a file", source=os.fspath(name))
        return path
    if not Path(name).suffix and not Path(name).exists():
        raise ModelError(f"{NO_MODEL}; check the name, or train a model first", source=os.fspath(name))
    return name
