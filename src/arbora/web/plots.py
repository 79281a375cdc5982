"""Learning curves, reliability diagrams and other curves as SVG and PNG, in one style.

Needs matplotlib (extra `plot`). Colours suit every kind of colour vision (Okabe and Ito), and each line has
its own mark or dash, so figures can be printed in grey. The same data gives the same bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbora.errors import InputError, import_package
from arbora.storage.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arbora.evaluation.calibration import Calibration

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
BLACK = 6
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "arbora",
    "svg.fonttype": "none",  # text stays text
}
WIDTH, HEIGHT = 4.2, 3.2
SUFFIXES = (".svg", ".png")


@dataclass(frozen=True, slots=True)
class Line:
    """A curve with its name in the legend; `style` selects colour and mark."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A pair of axes with curves."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    whole_x: bool = False  # Only whole numbers on the x axis
    y_from: float | None = None  # The lowest y shown
    marked: tuple[float, str] | None = None  # A dotted line at this x, and its name in the legend


def require_matplotlib() -> None:
    """InputError if matplotlib is missing."""
    import_package("matplotlib", "pip install 'arbora-nlp[plot]'")


def save_plot(panels: Sequence[Panel], *paths: str | os.PathLike[str]) -> None:
    """Draw the panels side by side into each file: SVG or PNG, by its suffix."""
    require_matplotlib()
    kinds = {path: Path(path).suffix.lower() for path in paths}
    for path, kind in kinds.items():
        if kind not in SUFFIXES:
            raise InputError(f"{os.fspath(path)}: expected a name that ends in {' or '.join(SUFFIXES)}")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        # Not through pyplot, which keeps figures and a window system for the whole program.
        figure = Figure(figsize=(WIDTH * len(panels), HEIGHT), layout="constrained")
        for number, panel in enumerate(panels, start=1):
            _draw(figure.add_subplot(1, len(panels), number), panel)
        for path, kind in kinds.items():
            drawn = io.BytesIO()
            metadata = {"Date": None} if kind == ".svg" else {"Software": None}
            figure.savefig(drawn, format=kind[1:], dpi=160, metadata=metadata)
            with replacing(path) as stream:
                stream.write(drawn.getvalue())


def _draw(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        colour, mark = COLOURS[line.style % len(COLOURS)], MARKS[line.style % len(MARKS)]
        stroke, inside = ("--", "white") if line.dashed else ("-", None)
        marks: dict[str, Any] = {"marker": mark, "markersize": 3.5, "markerfacecolor": inside}
        axes.plot(line.x, line.y, stroke, label=line.label, color=colour, linewidth=1.4, **marks)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.y_from is not None:
        axes.set_ylim(bottom=panel.y_from)
    if panel.marked is not None:
        axes.axvline(panel.marked[0], color="grey", linestyle=":", label=panel.marked[1])
    if panel.whole_x:
        from matplotlib.ticker import MaxNLocator

        places = {place for line in panel.lines for place in line.x}
        if len(places) == 1:  # the locator would add fractions
            axes.set_xticks(list(places))
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.lines:
        axes.legend(loc="best")


def draw_curve(reports: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the learning curve of the trees from `Trained.reports`: scores on dev, or the loss without dev."""
    epochs = [report for report in reports if report["stage"] == "tree"]
    unit, values = "wrong heads while learning", {"loss": [epoch["loss"] for epoch in epochs]}
    if epochs and (names := list(epochs[0]["dev"])):
        unit = "percent on dev"
        values = {name.upper(): [each["dev"][name] for each in epochs] for name in names}
    numbers = [epoch["epoch"] for epoch in epochs]
    lines = [Line(name, numbers, each, style=style) for style, (name, each) in enumerate(values.items())]
    kept = max((epoch["epoch"] for epoch in epochs if epoch["best"]), default=None)
    mark = None if kept is None else (float(kept), f"kept: epoch {kept}")
    save_plot([Panel("", "epoch", unit, lines, whole_x=True, marked=mark)], path)


def draw_reliability(results: Mapping[str, Calibration], path: str | os.PathLike[str]) -> None:
    """Draw accuracy by probability, and the accuracy of the most certain predictions."""
    reliable = [Line("perfect", [0.0, 1.0], [0.0, 1.0], style=BLACK, dashed=True)]
    kept = []
    for style, (name, each) in enumerate(results.items()):
        bins = [one for one in each.bins if one.count]
        confidences, accuracies = [one.confidence for one in bins], [one.accuracy for one in bins]
        reliable.append(Line(f"{name}, ECE {each.ece:.4f}", confidences, accuracies, style=style))
        percents = [float(one.percent) for one in each.kept]
        kept.append(Line(name, percents, [100 * one.accuracy for one in each.kept], style=style))
    accuracy = Panel("", "most certain percent kept", "percent right", kept)
    save_plot([Panel("", "probability", "share right", reliable), accuracy], path)
