"""Curves as SVG and PNG: the one style of all figures.

Needs matplotlib, which is not among Arbora's own dependencies: `pip install arbora[plot]`. Colours can be
told apart with every kind of colour vision (Okabe and Ito's), and each line has a dash or a mark of its own,
so that a figure can be printed in grey. The same data gives the same bytes: no dates, no random names.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbora.errors import InputError
from arbora.storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
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
    # Text stays text: it can be searched, and is set in the reader's own font.
    "svg.fonttype": "none",
}
WIDTH, HEIGHT = 4.2, 3.2
SUFFIXES = (".svg", ".png")


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name in the legend and its points; `style` picks colour and mark, `dashed` the line."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with its curves; `y_from` cuts off what lies below it, such as a steep start.

    `marked` is a place on the x axis that a dotted line shows, with its name in the legend.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    whole_x: bool = False
    """Only whole numbers on the x axis."""
    y_from: float | None = None
    marked: tuple[float, str] | None = None


def require_matplotlib() -> None:
    """InputError that says how to get it where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"a plot needs matplotlib, which cannot be imported ({error}); install it with "
            "`pip install 'arbora[plot]'`"
        ) from None


def save_plot(panels: Sequence[Panel], *paths: str | os.PathLike[str]) -> None:
    """Draw the panels side by side, into each of the files: SVG or PNG, by their endings."""
    require_matplotlib()
    kinds = [Path(path).suffix.lower() for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind not in SUFFIXES:
            raise InputError(f"{os.fspath(path)}: expected a name that ends in {' or '.join(SUFFIXES)}")
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = _figure(panels)
        for path, kind in zip(paths, kinds, strict=True):
            drawn = io.BytesIO()
            about = {"Date": None} if kind == ".svg" else {"Software": None}
            figure.savefig(drawn, format=kind[1:], dpi=160, metadata=about)
            with replacing(path) as stream:
                stream.write(drawn.getvalue())


def _figure(panels: Sequence[Panel]) -> Figure:
    from matplotlib.figure import Figure

    # Not through pyplot, which keeps figures and a window system for the whole program.
    figure = Figure(figsize=(WIDTH * len(panels), HEIGHT), layout="constrained")
    for number, panel in enumerate(panels, start=1):
        _draw(figure.add_subplot(1, len(panels), number), panel)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        axes.plot(
            line.x,
            line.y,
            label=line.label,
            color=COLOURS[line.style % len(COLOURS)],
            marker=MARKS[line.style % len(MARKS)],
            markersize=3.5,
            markerfacecolor="white" if line.dashed else None,
            linewidth=1.4,
            linestyle="--" if line.dashed else "-",
        )
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.y_from is not None:
        axes.set_ylim(bottom=panel.y_from)
    if panel.marked is not None:
        place, name = panel.marked
        axes.axvline(place, color="grey", linestyle=":", label=name)
    if panel.whole_x:
        from matplotlib.ticker import MaxNLocator

        places = {place for line in panel.lines for place in line.x}
        if len(places) == 1:  # which the locator would put between fractions
            axes.set_xticks(list(places))
        else:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if panel.lines:
        axes.legend(loc="best")
