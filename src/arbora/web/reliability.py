"""Reliability diagrams: how often predictions of each probability are right, and what the surest give."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from arbora.web.plots import Line, Panel, save_plot

if TYPE_CHECKING:
    from arbora.evaluation.calibration import Calibration

PERFECT = 6
"""The style of the line on which all points of a perfect parser lie."""


def draw_reliability(found: Mapping[str, Calibration], path: str | os.PathLike[str]) -> None:
    """Draw a reliability diagram into an .svg or .png file; the same data gives the same bytes."""
    reliable = [Line("perfect", [0.0, 1.0], [0.0, 1.0], style=PERFECT, dashed=True)]
    kept = []
    for style, (name, each) in enumerate(found.items()):
        bins = [one for one in each.bins if one.count]
        heading = f"{name}, ECE {each.ece:.4f}"
        reliable.append(
            Line(heading, [one.confidence for one in bins], [one.accuracy for one in bins], style=style)
        )
        percents = [float(one.percent) for one in each.kept]
        kept.append(Line(name, percents, [100 * one.accuracy for one in each.kept], style=style))
    panels = [
        Panel("", "probability", "share right", reliable),
        Panel("", "most certain percent kept", "percent right", kept),
    ]
    save_plot(panels, path)
