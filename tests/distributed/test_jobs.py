"""Jobs: the same results, notes and errors here and on workers; lost workers; Ctrl-C."""

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from distributed_toys import doubled, partial
from errors import rejects
from training_toys import Recorder

from arbora.data.clusters import WordClusters
from arbora.data.columns import Columns, columns_of, parse_text
from arbora.data.synthetic import generate
from arbora.distributed.engines import Pool, WorkerLostError
from arbora.errors import InputError
from arbora.progress import Silent
from arbora.training.jobs import run_all, run_jobs

LOCAL = Pool("local", 2)


def run(numbers, folder=None, pool=LOCAL, observer=None):
    names = [f"job {number}" for number in numbers]
    return run_jobs(partial(doubled, folder=str(folder)), names, numbers, observer or Silent(), pool)


@pytest.mark.parametrize("pool", [None, Pool(), LOCAL, Pool("local", 9)])
def test_results_notes_and_warnings_are_the_same_on_workers(pool, caplog):
    observer = Recorder()
    names = [f"job {number}" for number in (5, 3, 1)]
    assert run_all(doubled, names, (5, 3, 1), observer, pool, task="jobs") == [10, 6, 2]
    assert sorted(observer.notes) == [f"job {n}: inner: note {n}" for n in (1, 3, 5)]
    assert sorted(caplog.messages) == [f"warning {n}" for n in (1, 3, 5)]
    assert observer.stages[0][:2] == ("jobs", 3)
    assert observer.examples == 3


def test_a_job_whose_worker_is_lost_is_tried_again_and_the_others_go_on(tmp_path):
    found = {job.place: job for job in run((1, 2, 3, 4), tmp_path)}
    assert [found[place].result for place in (0, 2, 3)] == [2, 6, 8]
    assert isinstance(found[1].lost, WorkerLostError)
    with pytest.raises(WorkerLostError):
        found[1].get()


@pytest.mark.parametrize("pool", [None, LOCAL])
def test_an_error_of_a_job_ends_all(pool):
    with pytest.raises(ValueError, match="6"), closing(run((6, 1), pool=pool)) as jobs:
        list(jobs)


def test_ray_gives_the_same_results(tmp_path):
    pytest.importorskip("ray", reason="ray is not installed")
    found = {job.place: job.result for job in run((1, 3, 4), tmp_path, Pool("ray", 2))}
    assert found == {0: 2, 1: 6, 2: 8}


def test_ray_must_be_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="pip install"):
        Pool("ray", 2)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"engine": "slurm"}, "engine"),
        ({"count": 0}, "workers"),
        ({"address": "auto"}, "address"),
    ],
)
def test_pools_check_their_settings(options, field):
    with rejects(InputError, field=field):
        Pool(**options)


TEXT = """\ufeff# text = It's
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_
1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
2\t's\tbe\tAUX\t_\tA=B\t0\troot\t_\tSpaceAfter=No


1\tword\t_\tNOUN\t_\t_\t_\t_\t_\t_
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n")])
def test_pickled_treebanks_are_equal(text):
    columns = parse_text(text)
    for given in (columns, columns.select(np.array([1, 0])), columns.select(np.array([], np.int64))):
        again = pickle.loads(pickle.dumps(given))
        assert again.to_bytes() == given.to_bytes()
        assert again.source == given.source
        assert np.array_equal(again.heads, given.heads)
        for column in ("form", "upos", "deprel", "misc"):
            assert again.strings(column) == given.strings(column)
            assert np.array_equal(again.ids(column), given.ids(column))
    assert np.array_equal(pickle.loads(pickle.dumps(columns)).lines, columns.lines)


def test_pickled_columns_of_arrays_are_equal():
    columns = columns_of(generate(20, seed=1), "synthetic")
    again = pickle.loads(pickle.dumps(columns))
    assert isinstance(again, Columns)
    assert list(again.sentences()) == list(columns.sentences())


def test_pickled_clusters_are_equal():
    clusters = WordClusters.of(["a", "b"], [0b10, 0b111])
    again = pickle.loads(pickle.dumps(clusters))
    assert [again.bits(word) for word in ("a", "b", "c")] == ["0", "11", ""]


def children_of(process):
    """The processes that a process has started."""
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_lists_complete_trials_and_leaves_no_process(tmp_path):
    for name, seed in (("train", 1), ("dev", 2)):
        (tmp_path / name).write_text("".join(each.to_conllu() for each in generate(60, seed=seed)))
    grid = "C=" + ",".join(str(number / 1000) for number in range(1, 400))
    command = ["tune", "train", "--dev", "dev", "--order", "1", "-p", "tree_bits=12", "--grid", grid]
    with subprocess.Popen(
        [sys.executable, "-m", "arbora", *command, "--only", "parser", "--workers", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        trials = (line for line in process.stderr if line.startswith("C="))
        assert "LAS" in next(trials) + next(trials)
        workers = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert len(workers) == 2
    assert process.returncode == 130
    assert "stopped by Ctrl-C after " in err
    assert out.splitlines()[0].split() == ["C", "LAS", "UAS", "epoch", "seconds"]
    assert "best: -p C=" in out
    end = time.monotonic() + 10
    while any(map(is_running, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def is_running(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
