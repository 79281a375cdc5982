"""Trials, folds and restarts give the same bytes with two workers as with one."""

from dataclasses import replace

import pytest
from distributed_toys import DyingTrials
from training_toys import Recorder

from arbora.data.columns import columns_of
from arbora.data.synthetic import generate
from arbora.distributed.engines import Pool, WorkerLostError
from arbora.distributed.ray import connect
from arbora.induction.induce import InduceConfig, induce
from arbora.training import TrainConfig, train
from arbora.training.tune import tune

TRAIN, DEV = (columns_of(generate(40, seed=seed), f"treebank {seed}") for seed in (1, 2))
BASE = TrainConfig(order=1, tree_bits=12, label_bits=12, folds=2, parameters={"epochs": 2})
GRID = {"C": [1e-9, 0.1], "patience": [1, 2]}

pytestmark = pytest.mark.filterwarnings("ignore")  # ray has warnings of its own


@pytest.fixture(scope="module", params=["local", "ray"])
def pool(request):
    if request.param == "local":
        yield Pool("local", 2)
        return
    ray = pytest.importorskip("ray", reason="ray is not installed")
    connect(ray, None, 2)  # one cluster for all tests
    yield Pool("ray", 2)
    ray.shutdown()


def saved(trained, path):
    trained.save(path)
    return path.read_bytes()


def comparable(tuned):
    return [replace(trial, seconds=0.0) for trial in tuned.trials], tuned.best, tuned.failures


@pytest.mark.parametrize("dev", [DEV, None])
def test_trials(pool, dev):
    alone = tune(TRAIN, dev, grid=GRID, config=BASE, folds=2)
    observer = Recorder()
    found = tune(TRAIN, dev, grid=GRID, config=BASE, folds=2, pool=pool, observer=observer)
    assert comparable(found) == comparable(alone)
    assert observer.examples == (4 if dev is DEV else 8)
    assert any("jackknifing" in note for note in observer.notes)


def test_jackknifed_and_stacked_models(pool, tmp_path):
    guide = tmp_path / "guide"
    alone = saved(train(TRAIN, DEV, config=BASE), guide)
    assert saved(train(TRAIN, DEV, config=BASE, pool=pool), tmp_path / "a") == alone
    config = replace(BASE, stack=str(guide))
    stacked = saved(train(TRAIN, DEV, config=config), tmp_path / "b")
    assert saved(train(TRAIN, DEV, config=config, pool=pool), tmp_path / "c") == stacked


def test_restarts(pool, tmp_path):
    given = {"only": "parser", "restarts": 3, "seed": 4, "longest": 12, "rules": "none"}
    config = InduceConfig(parameters={"rounds": 2}, **given)
    alone = induce(TRAIN, config=config)
    found = induce(TRAIN, config=config, pool=pool)
    assert saved(found, tmp_path / "a") == saved(alone, tmp_path / "b")
    assert [start.seed for start in found.starts] == [4, 5, 6]
    assert found.chosen == alone.chosen


def test_a_trial_whose_worker_dies_fails_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr("arbora.training.tune.Trials", DyingTrials)
    config, pool = replace(BASE, only="parser"), Pool("local", 2)
    found = tune(TRAIN, grid={"patience": [1, 7, 2]}, config=config, folds=2, pool=pool)
    assert [trial.values["patience"] for trial in found.trials] == ["1", "2"]
    (failure,) = found.failures
    assert failure.values == {"patience": "7"}
    assert "SIGKILL" in failure.reason
    with pytest.raises(WorkerLostError):
        tune(TRAIN, grid={"patience": [7]}, folds=2, config=config, pool=pool)
