"""Figures: the right files, the same bytes each time, clear errors."""

import sys
from xml.etree import ElementTree

import pytest

from arbora.errors import InputError
from arbora.web.plots import Line, Panel, draw_curve, save_plot

PANELS = [
    Panel("one", "time", "UAS", [Line("a", [1, 2], [80, 90]), Line("<b>", [1, 2], [70, 85], 1, dashed=True)]),
    Panel("two", "time", "UAS", [], log_x=True, y_from=70.0),
]


def test_svg_and_png(tmp_path):
    save_plot(PANELS, tmp_path / "x.svg", tmp_path / "x.PNG")
    text = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert all(word in text for word in ("one", "two", "time", "UAS", "<b>"))
    assert (tmp_path / "x.PNG").read_bytes().startswith(b"\x89PNG")


def test_same_data_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save_plot(PANELS, tmp_path / f"{name}.svg", tmp_path / f"{name}.png")
    for kind in ("svg", "png"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_other_suffixes_are_rejected_before_drawing(tmp_path):
    with pytest.raises(InputError):
        save_plot(PANELS, tmp_path / "x.svg", tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError):
        save_plot(PANELS, tmp_path / "x.svg")


def test_one_epoch_has_one_tick(tmp_path):
    pytest.importorskip("matplotlib")
    report = {"stage": "tree", "epoch": 1, "best": True, "dev": {"las": 50.0, "uas": 60.0}, "loss": 3.0}
    draw_curve([report], tmp_path / "one.svg")
    drawn = (tmp_path / "one.svg").read_text()
    assert drawn.count('<g id="xtick_') == 1
