"""Learning curves as pictures: the scores on dev, or the loss where there is no dev, epoch by epoch."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arbora.data.files import open_output
from arbora.errors import InputError

SUFFIXES = (".svg", ".png")
STAGE = "tree"


def require_matplotlib() -> None:
    """InputError that says how to get it where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"a plot needs matplotlib, which cannot be imported ({error}); install it with "
            "`pip install 'arbora[plot]'`"
        ) from None


def draw_curve(reports: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the epochs of the tree stage, as `Trained.reports` has them, into an .svg or .png file.

    The kept epoch is marked. The same reports give the same bytes; the file appears only when it is complete.
    """
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    epochs = [report for report in reports if report["stage"] == STAGE]
    lines, unit = _lines(epochs)
    kept = max((report["epoch"] for report in epochs if report["best"]), default=None)
    with rc_context({"svg.hashsalt": "arbora", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        numbers = [report["epoch"] for report in epochs]
        for name, values in lines.items():
            axes.plot(numbers, values, marker="o", label=name)
        if kept is not None:
            axes.axvline(kept, color="grey", linestyle=":", label=f"kept: epoch {kept}")
        axes.set_xlabel("epoch")
        axes.set_ylabel(unit)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend()
        picture = io.BytesIO()
        undated = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(picture, format=suffix[1:], metadata=undated, dpi=150)
    with open_output(path) as stream:
        stream.write(picture.getvalue())


def _lines(epochs: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[float]], str]:
    """Values by name, and what they are."""
    names = list(epochs[0]["dev"]) if epochs else []
    if names:
        return {name.upper(): [epoch["dev"][name] for epoch in epochs] for name in names}, "percent on dev"
    return {"loss": [epoch["loss"] for epoch in epochs]}, "wrong heads while learning"
