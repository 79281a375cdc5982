"""Names of pictures on the command line."""

from __future__ import annotations

from pathlib import Path

import typer

from arbora.cli.files import writable
from arbora.errors import InputError
from arbora.web.plots import SUFFIXES, require_matplotlib


def plot_name(name: str | None) -> str | None:
    """`name` if it can be a picture's and pictures can be drawn."""
    if name is None:
        return None
    if Path(name).suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{name}: expected a name that ends in {' or '.join(SUFFIXES)}")
    try:
        require_matplotlib()
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    return writable(name)
