"""Engines: calls, errors, lost workers and limits are the same for processes and for Ray."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed_toys import Toy, broken, partial
from errors import rejects

from arbora.distributed.engines import (
    Outcome,
    TimeLimitError,
    WorkerLostError,
    engines,
    open_workers,
    run_tasks,
)
from arbora.errors import InputError


def ray_is_installed():
    return pytest.importorskip("ray", reason="ray is not installed")


@pytest.fixture(params=["local", "ray"])
def engine(request):
    if request.param == "ray":
        ray_is_installed()
    return request.param


pytestmark = pytest.mark.filterwarnings("ignore")  # ray has warnings of its own


def outcomes(workers, method, tasks, **options):
    found = [each for each in run_tasks(workers, method, tasks, **options) if each is not None]
    return dict(found)


def test_workers_keep_their_objects_and_replace_lost_ones(engine, tmp_path):
    with open_workers(engine, partial(Toy, str(tmp_path)), 2) as workers:
        assert workers.call_all("add", [(1,), (20,)]) == [1, 20]
        assert workers.call_all("add", [(1,), (20,)]) == [2, 40]
        pids = {outcome.get() for outcome in outcomes(workers, "process", range(8)).values()}
        assert len(pids) == 2
        assert os.getpid() not in pids

        failed = outcomes(workers, "fail", [3, 4])
        assert [(type(each.error), each.error.args) for each in failed.values()] == [
            (ValueError, (number,)) for number in failed
        ]
        with pytest.raises(ValueError, match="7"):
            workers.call_all("fail", [(7,), (7,)])

        found = outcomes(workers, "die_once", range(6))
        assert {number: outcome.get() for number, outcome in found.items()} == {n: n for n in range(6)}

        found = outcomes(workers, "die", range(4), attempts=2)
        assert isinstance(found.pop(2).error, WorkerLostError)
        assert sorted(outcome.get() for outcome in found.values()) == [0, 1, 3]

        limit = 1.0 if engine == "local" else 15.0  # an actor takes seconds to start
        found = outcomes(workers, "sleep", [0.01, 60.0, 0.02], limit=limit)
        assert isinstance(found[60.0].error, TimeLimitError)
        assert found[0.02] == Outcome(0.02)


def test_idle_waits_are_reported():
    with open_workers("local", Toy, 1) as workers:
        assert list(run_tasks(workers, "sleep", [0.3], idle=0.1)).count(None) >= 1


def test_what_workers_print_does_not_disturb_answers():
    with open_workers("local", Toy, 1) as workers:
        assert workers.call_all("shout", [("loud",)]) == ["loud"]


def test_errors_that_cannot_be_pickled_keep_their_text():
    with open_workers("local", Toy, 1) as workers, pytest.raises(RuntimeError, match="cannot be pickled"):
        workers.call_all("fail_strangely", [(1,)])


def test_an_object_that_cannot_be_made_is_the_error_of_every_call():
    with open_workers("local", broken, 2) as workers:
        found = outcomes(workers, "add", [1, 2, 3])
    assert all(isinstance(each.error, RuntimeError) for each in found.values())
    assert len(found) == 3


def test_unknown_engines_are_rejected():
    with rejects(InputError, field="engine"):
        engines.create("slurm", make=Toy, count=1)


@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_workers_end_with_the_process_that_started_them(ending):
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from distributed_toys import Toy
from arbora.distributed.engines import open_workers
with open_workers("local", Toy, 2) as workers:
    print(*workers.call_all("process", [(0,), (0,)]), flush=True)
    workers.call(0, "sleep", 60)
    {ending}
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pids = list(map(int, ran.stdout.split()))
    assert len(pids) == 2
    end = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
