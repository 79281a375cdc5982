"""Learning curves as pictures: the scores on dev, or the loss where there is no dev, epoch by epoch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from arbora.web.plots import Line, Panel, save_plot

STAGE = "tree"


def draw_curve(reports: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the epochs of the tree stage, as `Trained.reports` has them, into an .svg or .png file.

    The kept epoch is marked. The same reports give the same bytes; the file appears only when it is complete.
    """
    epochs = [report for report in reports if report["stage"] == STAGE]
    values, unit = _values(epochs)
    numbers = [report["epoch"] for report in epochs]
    lines = [Line(name, numbers, each, style=style) for style, (name, each) in enumerate(values.items())]
    kept = max((report["epoch"] for report in epochs if report["best"]), default=None)
    mark = None if kept is None else (float(kept), f"kept: epoch {kept}")
    save_plot([Panel("", "epoch", unit, lines, whole_x=True, marked=mark)], path)


def _values(epochs: Sequence[Mapping[str, Any]]) -> tuple[dict[str, list[float]], str]:
    """Values by name, and what they are."""
    names = list(epochs[0]["dev"]) if epochs else []
    if names:
        return {name.upper(): [epoch["dev"][name] for epoch in epochs] for name in names}, "percent on dev"
    return {"loss": [epoch["loss"] for epoch in epochs]}, "wrong heads while learning"
