"""Parsers with different seeds as one model: their trees and weights, workers, and interruptions."""

import numpy as np
import pytest
from errors import rejects

import arbora
from arbora.data.columns import columns_of
from arbora.data.synthetic import generate
from arbora.distributed.engines import Pool
from arbora.errors import InputError
from arbora.parsing.ensemble_weights import fit_weights
from arbora.training import members
from arbora.training.pipeline import train

TREES = list(generate(90, seed=3))
TRAIN, DEV = TREES[:60], TREES[60:]
CONFIG = {
    "parser": "graph",
    "order": 1,
    "tree_bits": 12,
    "label_bits": 12,
    "tags": "gold",
    "parameters": {"epochs": 2},
}


def bytes_of(trained, path):
    trained.save(path)
    return path.read_bytes()


def test_members_are_the_parsers_of_their_seeds(tmp_path):
    both = train(TRAIN, DEV, config={**CONFIG, "seed": 4}, members=2)
    search = both.parser.search
    alone = [train(TRAIN, DEV, config={**CONFIG, "seed": seed}).parser for seed in (4, 5)]
    dev = columns_of(DEV)
    for member, own in zip(search.parsers, alone, strict=True):
        assert np.array_equal(member.trees(dev)[0], own.trees(dev)[0])
    assert search.weights == pytest.approx(fit_weights(alone, dev))
    heads, _ = both.parser.trees(dev)
    assert both.scores["uas"] == pytest.approx(100 * np.mean(heads == dev.heads))
    assert {report["stage"] for report in both.reports} >= {"tree", "tree 2"}
    both.save(tmp_path / "both.arbora")
    again = arbora.load(tmp_path / "both.arbora")
    assert np.array_equal(again.parser.trees(dev)[0], heads)
    assert again.parser.is_calibrated


def test_workers_give_the_same_model(tmp_path):
    one = train(TRAIN, DEV, config=CONFIG, members=3)
    two = train(TRAIN, DEV, config=CONFIG, members=3, pool=Pool("local", 2))
    assert bytes_of(one, tmp_path / "one") == bytes_of(two, tmp_path / "two")


def test_without_dev_weights_are_equal():
    found = train(TRAIN, config=CONFIG, members=2)
    assert found.parser.search.weights == (0.5, 0.5)
    assert found.scores == {}


@pytest.mark.parametrize("more", [{"members": 0}, {"checkpoint": "x"}, {"together": True}])
def test_impossible_members_are_rejected(more):
    with rejects(InputError, field="members"):
        train(TRAIN, DEV, config=CONFIG, **{"members": 2, **more})


@pytest.mark.parametrize(("stopped_at", "count"), [(1, 0), (2, 1), (3, 2)])
def test_complete_members_are_kept(monkeypatch, stopped_at, count):
    begun = []
    learn = members.train_parser

    def stop(*arguments, **more):
        begun.append(1)
        if len(begun) == stopped_at:
            raise KeyboardInterrupt
        return learn(*arguments, **more)

    monkeypatch.setattr(members, "train_parser", stop)
    if not count:
        with pytest.raises(KeyboardInterrupt):
            train(TRAIN, DEV, config=CONFIG, members=3)
        return
    found = train(TRAIN, DEV, config=CONFIG, members=3)
    assert found.interrupted
    assert len(getattr(found.parser.search, "parsers", [0])) == count
