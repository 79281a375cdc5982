"""Measures of calibration, by hand."""

import numpy as np
import pytest
from errors import rejects

from arbora.data.sentence import Sentence
from arbora.errors import DataError, InputError
from arbora.evaluation.calibration import BINS, SHARES, calibration, measure
from arbora.web.plots import draw_reliability


def test_measures_computed_by_hand():
    # Two bins: 0.9 and 0.95 in the 14th and 15th of 15, 0.5 in the 8th.
    found = measure([0.9, 0.9, 0.95, 0.5], [True, False, True, True])
    assert found.count == 4
    assert found.accuracy == 0.75
    assert found.confidence == pytest.approx(0.8125)
    assert found.ece == pytest.approx((2 * abs(0.9 - 0.5) + abs(0.95 - 1) + abs(0.5 - 1)) / 4)
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.0025 + 0.25) / 4)
    assert len(found.bins) == BINS
    assert [(each.count, each.accuracy) for each in found.bins if each.count] == [(1, 1), (2, 0.5), (1, 1)]
    kept = {each.percent: each for each in found.kept}
    assert kept[50].count == 2
    assert kept[50].accuracy == pytest.approx((1 + 0.5) / 2)  # equal ones share
    assert kept[50].threshold == 0.9
    assert kept[100].accuracy == 0.75
    assert tuple(kept) == SHARES
    assert found.to_json()["bins"][0]["count"] == 0


def test_edges_of_bins():
    found = measure([0.0, 1.0, 1 / 15, 0.999], [False, True, True, True])
    assert [each.count for each in found.bins] == [1, 1, *[0] * 12, 2]
    assert measure([1.0] * 3, [True] * 3).ece == 0.0
    assert measure([1.0] * 3, [False] * 3).brier == 1.0


def test_the_order_does_not_matter():
    random = np.random.default_rng(0)
    p = random.integers(0, 20, size=200) / 20
    r = random.random(200) < p
    order = random.permutation(200)
    one, other = measure(p, r), measure(p[order], r[order])
    assert [k.accuracy for k in one.kept] == pytest.approx([k.accuracy for k in other.kept])
    assert one.ece == pytest.approx(other.ece)


@pytest.mark.parametrize(("p", "r"), [([], []), ([1.5], [True]), ([np.nan], [True]), ([-0.1], [True])])
def test_bad_probabilities_are_rejected(p, r):
    with rejects(InputError, field="probabilities"):
        measure(p, r)


def test_lists_of_different_lengths_are_rejected():
    with pytest.raises(InputError):
        measure([0.5], [True, False])


def sentence(heads, deprels, misc=None):
    forms = ["a", "b", "c"]
    return Sentence.from_lists(forms, heads=heads, deprels=deprels, misc=misc)


GOLD = [sentence([2, 0, 2], ["x", "root", "y:z"])]
SURE = ["HeadProb=0.9|DeprelProb=0.8", "A=1|HeadProb=1|DeprelProb=1.0", "HeadProb=0.6|DeprelProb=0.5"]


def test_probabilities_in_files():
    parsed = [sentence([2, 0, 1], ["x", "root", "y"], SURE)]
    found = calibration(GOLD, parsed)
    assert list(found) == ["heads", "labels", "arcs"]
    assert found["heads"].brier == pytest.approx((0.01 + 0 + 0.36) / 3)
    assert found["labels"].count == 2
    assert found["labels"].brier == pytest.approx((0.04 + 0) / 2)
    assert found["arcs"].brier == pytest.approx((0.28**2 + 0 + 0.09) / 3)
    same = [sentence([2, 0, 2], ["x", "root", "y"], SURE)]
    assert calibration(GOLD, same)["arcs"].accuracy == 1.0
    assert calibration(GOLD, same, subtypes=True)["arcs"].accuracy == pytest.approx(2 / 3)
    heads_only = [sentence([2, 0, 1], ["x", "root", "y"], ["HeadProb=0.9"] * 3)]
    assert list(calibration(GOLD, heads_only)) == ["heads"]


@pytest.mark.parametrize(
    ("misc", "field"),
    [
        (None, "sentence 1, word 1"),
        (["HeadProb=0.5", "_", "HeadProb=0.5"], "sentence 1, word 2"),
        (["HeadProb=0.5|DeprelProb=1", "HeadProb=0.5", "HeadProb=0.5"], "sentence 1, word 2"),
        (["HeadProb=high"] * 3, "sentence 1, word 1"),
        (["HeadProb=1.1"] * 3, "sentence 1, word 1"),
        (["HeadProb=nan"] * 3, "sentence 1, word 1"),
    ],
)
def test_files_without_probabilities_are_rejected(misc, field):
    with rejects(DataError, field=field):
        calibration(GOLD, [sentence([2, 0, 2], ["x", "root", "y"], misc)])


def test_empty_files_are_rejected():
    with rejects(DataError, source="predicted"):
        calibration([], [])


def test_diagrams(tmp_path):
    pytest.importorskip("matplotlib")
    found = calibration(GOLD, [sentence([2, 0, 1], ["x", "root", "y"], SURE)])
    for name in ("one.svg", "two.svg", "three.png"):
        draw_reliability(found, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "ECE" in (tmp_path / "one.svg").read_text()
